//! Streams that are begun again when they fail or end.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::stream::Stream;
use tokio::time::{Instant, Sleep, sleep};

use crate::backoff;
use crate::options;

/// When a stream is begun again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RestartSettings {
    /// First pause; 3 s. It doubles with each failure in a row.
    pub min_backoff: Duration,
    /// Longest pause; 30 s.
    pub max_backoff: Duration,
    /// Up to this part of a pause is added by chance, so that not all begin again at once; 0.2.
    pub random_factor: f64,
    /// Times that it is begun again within [`Self::max_restarts_within`]; without limit.
    pub max_restarts: Option<usize>,
    /// A stream that runs for this long has recovered: pauses and restarts count from the
    /// beginning. As long as `min_backoff`, unless set.
    pub max_restarts_within: Option<Duration>,
}

impl Default for RestartSettings {
    fn default() -> RestartSettings {
        RestartSettings {
            min_backoff: Duration::from_secs(3),
            max_backoff: Duration::from_secs(30),
            random_factor: 0.2,
            max_restarts: None,
            max_restarts_within: None,
        }
    }
}

/// A stream of what `begin` gives, which is called again, after a pause, whenever its stream has
/// failed or ended: whoever reads on sees no end of it. Which errors a restart may help against the
/// caller decides by `is_worth_it`; others are handed out, and so is the last one when there were
/// too many. An ordinary end counts as `None`.
///
/// `begin` makes the whole chain, from the source on: each time a new consumer, which goes on from
/// what was committed. The old one is dropped before the pause.
pub fn with_backoff<F, Fut, St, T, E, W>(
    settings: RestartSettings,
    begin: F,
    is_worth_it: W,
) -> RestartSource<F, Fut, St, W>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<St, E>>,
    St: Stream<Item = Result<T, E>>,
    W: FnMut(Option<&E>) -> bool,
{
    RestartSource {
        settings,
        begin,
        is_worth_it,
        state: State::Idle,
        began: Instant::now(),
        restarts: 0,
    }
}

/// See [`with_backoff`].
pub struct RestartSource<F, Fut, St, W> {
    settings: RestartSettings,
    begin: F,
    is_worth_it: W,
    state: State<Fut, St>,
    began: Instant,
    restarts: usize,
}

enum State<Fut, St> {
    Idle,
    Beginning(Pin<Box<Fut>>),
    Running(Pin<Box<St>>),
    Waiting(Pin<Box<Sleep>>),
    Over,
}

impl<F, Fut, St, W> RestartSource<F, Fut, St, W> {
    /// Times that the stream was begun again since it last recovered.
    pub fn restarts(&self) -> usize {
        self.restarts
    }

    /// The pause before the next beginning; `None` when there is to be none.
    fn pause(&mut self) -> Option<Duration> {
        let RestartSettings { min_backoff, max_backoff, random_factor, .. } = self.settings;
        let recovered_after = self.settings.max_restarts_within.unwrap_or(min_backoff);
        if self.began.elapsed() >= options::bounded(recovered_after) {
            self.restarts = 0;
        }
        if self.settings.max_restarts.is_some_and(|max| self.restarts >= max) {
            return None;
        }
        self.restarts = self.restarts.saturating_add(1);
        let failures = u32::try_from(self.restarts).unwrap_or(u32::MAX);
        let pause = backoff::pause_without_chance(min_backoff, max_backoff, failures);
        // What the standard library draws for its hash tables is chance enough.
        let draw = RandomState::new().hash_one(self.restarts) as f64 / u64::MAX as f64;
        let factor = if random_factor.is_finite() { random_factor.clamp(0.0, 10.0) } else { 0.0 };
        Some(options::bounded(pause.mul_f64(1.0 + factor * draw)))
    }
}

impl<F, Fut, St, W> Unpin for RestartSource<F, Fut, St, W> {}

impl<F, Fut, St, T, E, W> Stream for RestartSource<F, Fut, St, W>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<St, E>>,
    St: Stream<Item = Result<T, E>>,
    W: FnMut(Option<&E>) -> bool,
{
    type Item = Result<T, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let over = match &mut this.state {
                State::Over => return Poll::Ready(None),
                State::Idle => {
                    this.began = Instant::now();
                    this.state = State::Beginning(Box::pin((this.begin)()));
                    continue;
                }
                State::Waiting(sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    this.state = State::Idle;
                    continue;
                }
                State::Beginning(begun) => match ready!(begun.as_mut().poll(cx)) {
                    Ok(stream) => {
                        this.state = State::Running(Box::pin(stream));
                        continue;
                    }
                    Err(error) => Some(error),
                },
                State::Running(stream) => match ready!(stream.as_mut().poll_next(cx)) {
                    Some(Ok(item)) => return Poll::Ready(Some(Ok(item))),
                    Some(Err(error)) => Some(error),
                    None => None,
                },
            };
            // Gone before the pause, not after it.
            this.state = State::Over;
            let pause = if (this.is_worth_it)(over.as_ref()) { this.pause() } else { None };
            match pause {
                Some(pause) => this.state = State::Waiting(Box::pin(sleep(pause))),
                None => return Poll::Ready(over.map(Err)),
            }
        }
    }
}

impl<F, Fut, St, W> fmt::Debug for RestartSource<F, Fut, St, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestartSource").field("restarts", &self.restarts).finish_non_exhaustive()
    }
}
