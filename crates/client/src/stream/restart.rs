//! Streams that are begun again when they fail or end.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use futures_core::stream::Stream;
use tokio::time::{Instant, Sleep, sleep};

use super::sources::control::Control;
use super::sources::drain::{self, Drain};
use crate::options;
use crate::options::backoff;
use crate::options::setters::setters;

/// When a stream is begun again.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct RestartSettings {
    /// First pause; 3 s. It doubles with each failure in a row.
    pub min_backoff: Duration,
    /// Longest pause; 30 s.
    pub max_backoff: Duration,
    /// Up to this part of a pause is added by chance, so that not all begin again at once; 0.2.
    pub random_factor: f64,
    /// Times that it is begun again within [`Self::max_restarts_within`]; without limit.
    pub max_restarts: Option<usize>,
    /// A stream that has handed something out, and has gone on for this long since, has recovered:
    /// pauses and restarts count from the beginning. Joining a group, and failing at the first
    /// record, is no recovery however long it takes. As long as `min_backoff`, unless set.
    pub max_restarts_within: Option<Duration>,
}

setters! {
    RestartSettings {
        min_backoff: Duration => with_min_backoff,
        max_backoff: Duration => with_max_backoff,
        random_factor: f64 => with_random_factor,
        max_restarts: Option<usize> => with_max_restarts,
        max_restarts_within: Option<Duration> => with_max_restarts_within,
    }
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
/// what was committed. The old one is dropped before the pause. It is given the [`RestartControl`]
/// of all of them, and has that [watch](RestartControl::watch) the control of the source that it
/// makes: then what lasts can be stopped and drained whichever source is at work, or none.
///
/// ```no_run
/// use std::time::Duration;
/// use futures_util::TryStreamExt;
/// use thalweg::stream::{self, Committer, RestartSettings, Subscription};
/// use thalweg::{Cluster, ConsumerConfig, Error};
///
/// # async fn example(cluster: Cluster) -> Result<(), Error> {
/// let begin = move |control: stream::RestartControl| {
///     let cluster = cluster.clone();
///     async move {
///         let config = ConsumerConfig::default().with_group_id("billing");
///         let source =
///             stream::committable_source(&cluster, config, Subscription::topics(["orders"]))?;
///         control.watch(source.control());
///         let done = source.map_ok(|message| message.offset);
///         Ok::<_, Error>(Committer::default().flow(done))
///     }
/// };
/// let committed = stream::with_backoff(RestartSettings::default(), begin, |error| {
///     error.is_some_and(Error::is_retriable)
/// });
/// let control = committed.control();
/// let running = tokio::spawn(committed.try_for_each(|_| async { Ok(()) }));
/// let interrupted = tokio::signal::ctrl_c();
/// control.drain_when(interrupted, running, Duration::from_secs(30)).await;
/// # Ok(())
/// # }
/// ```
pub fn with_backoff<F, Fut, St, T, E, W>(
    settings: RestartSettings,
    begin: F,
    is_worth_it: W,
) -> RestartSource<F, Fut, St, W>
where
    F: FnMut(RestartControl) -> Fut,
    Fut: Future<Output = Result<St, E>>,
    St: Stream<Item = Result<T, E>>,
    W: FnMut(Option<&E>) -> bool,
{
    RestartSource {
        settings,
        begin,
        is_worth_it,
        state: State::Idle,
        progress: None,
        control: RestartControl::default(),
    }
}

/// Controls all that a [`RestartSource`] begins, one after the other, and its pauses. Clones control
/// the same one.
#[derive(Clone, Default)]
pub struct RestartControl {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    is_stopped: bool,
    /// The source at work, or the last one.
    current: Option<Control>,
    /// Whoever waits for the source to be begun, or for a pause to be over.
    waker: Option<Waker>,
    /// See [`RestartControl::restarts`].
    restarts: usize,
}

impl RestartControl {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The source at work is from now on the one that this controls.
    pub fn watch(&self, control: Control) {
        let mut shared = self.lock();
        if shared.is_stopped {
            control.stop();
        }
        shared.current = Some(control);
    }

    /// The control of the source at work, or of the last one.
    pub fn current(&self) -> Option<Control> {
        self.lock().current.clone()
    }

    /// Times that the stream was begun again since it last recovered. Also after its end, and while
    /// something else reads it.
    pub fn restarts(&self) -> usize {
        self.lock().restarts
    }

    /// Begins nothing again, ends the pause, and [stops](Control::stop) the source at work.
    pub fn stop(&self) {
        let (current, waker) = {
            let mut shared = self.lock();
            shared.is_stopped = true;
            (shared.current.clone(), shared.waker.take())
        };
        if let Some(current) = current {
            current.stop();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// As [`Control::drain_and_shutdown`], whichever source is at work.
    pub async fn drain_and_shutdown<F: Future>(
        &self,
        completion: F,
        limit: Duration,
    ) -> Option<F::Output> {
        drain::drain(self, completion, limit).await
    }

    /// As [`Control::drain_when`], whichever source is at work.
    pub async fn drain_when<S: Future, F: Future>(
        &self,
        signal: S,
        completion: F,
        limit: Duration,
    ) -> Option<F::Output> {
        drain::drain_when(self, signal, completion, limit).await
    }

    /// As [`Control::run_until`], whichever source is at work.
    ///
    /// # Errors
    /// The same.
    pub async fn run_until<S: Future, T, E: From<crate::error::Error>>(
        &self,
        signal: S,
        task: tokio::task::JoinHandle<Result<T, E>>,
        limit: Duration,
    ) -> Result<T, E> {
        drain::run_until(self, signal, task, limit).await
    }

    /// As [`Control::shutdown`], whichever source is at work.
    pub async fn shutdown(&self, limit: Duration) {
        self.stop();
        if let Some(current) = self.current() {
            current.shutdown(limit).await;
        }
    }

    /// Whether it was stopped; whoever asks is woken when it is.
    fn poll_stopped(&self, cx: &Context<'_>) -> bool {
        let mut shared = self.lock();
        if !shared.is_stopped {
            match &mut shared.waker {
                Some(known) => known.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
        }
        shared.is_stopped
    }
}

impl Drain for RestartControl {
    fn stop(&self) {
        self.stop();
    }

    fn at_work(&self) -> Option<Control> {
        self.current()
    }
}

impl fmt::Debug for RestartControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.lock();
        f.debug_struct("RestartControl")
            .field("is_stopped", &shared.is_stopped)
            .field("current", &shared.current)
            .field("restarts", &shared.restarts)
            .finish_non_exhaustive()
    }
}

/// See [`with_backoff`].
pub struct RestartSource<F, Fut, St, W> {
    settings: RestartSettings,
    begin: F,
    is_worth_it: W,
    state: State<Fut, St>,
    /// When the stream at work handed something out for the first time.
    progress: Option<Instant>,
    control: RestartControl,
}

enum State<Fut, St> {
    Idle,
    Beginning(Pin<Box<Fut>>),
    Running(Pin<Box<St>>),
    Waiting(Pin<Box<Sleep>>),
    Over,
}

impl<F, Fut, St, W> RestartSource<F, Fut, St, W> {
    /// As [`RestartControl::restarts`].
    pub fn restarts(&self) -> usize {
        self.control.restarts()
    }

    /// Stops and ends it, from wherever.
    pub fn control(&self) -> RestartControl {
        self.control.clone()
    }

    /// The pause before the next beginning; `None` when there is to be none.
    fn pause(&mut self) -> Option<Duration> {
        let RestartSettings { min_backoff, max_backoff, random_factor, .. } = self.settings;
        let recovered_after = self.settings.max_restarts_within.unwrap_or(min_backoff);
        let recovered_after = options::bounded(recovered_after);
        let has_recovered =
            self.progress.take().is_some_and(|since| since.elapsed() >= recovered_after);
        let restarts = {
            let mut shared = self.control.lock();
            if has_recovered {
                shared.restarts = 0;
            }
            if self.settings.max_restarts.is_some_and(|max| shared.restarts >= max) {
                return None;
            }
            shared.restarts = shared.restarts.saturating_add(1);
            shared.restarts
        };
        let failures = u32::try_from(restarts).unwrap_or(u32::MAX);
        let pause = backoff::pause_without_chance(min_backoff, max_backoff, failures);
        let draw = backoff::random() as f64 / u64::MAX as f64;
        let factor = if random_factor.is_finite() { random_factor.clamp(0.0, 10.0) } else { 0.0 };
        Some(options::bounded(pause.mul_f64(1.0 + factor * draw)))
    }
}

impl<F, Fut, St, W> Unpin for RestartSource<F, Fut, St, W> {}

impl<F, Fut, St, T, E, W> Stream for RestartSource<F, Fut, St, W>
where
    F: FnMut(RestartControl) -> Fut,
    Fut: Future<Output = Result<St, E>>,
    St: Stream<Item = Result<T, E>>,
    W: FnMut(Option<&E>) -> bool,
{
    type Item = Result<T, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let is_running = matches!(this.state, State::Running(_));
            if !is_running && this.control.poll_stopped(cx) {
                // What was being begun goes with it.
                this.state = State::Over;
            }
            let over = match &mut this.state {
                State::Over => return Poll::Ready(None),
                State::Idle => {
                    this.progress = None;
                    this.state = State::Beginning(Box::pin((this.begin)(this.control.clone())));
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
                    Some(Ok(item)) => {
                        this.progress.get_or_insert_with(Instant::now);
                        return Poll::Ready(Some(Ok(item)));
                    }
                    Some(Err(error)) => Some(error),
                    None => None,
                },
            };
            // Gone before the pause, not after it.
            this.state = State::Over;
            let goes_on = !this.control.is_stopped() && (this.is_worth_it)(over.as_ref());
            let pause = if goes_on { this.pause() } else { None };
            match pause {
                Some(pause) => this.state = State::Waiting(Box::pin(sleep(pause))),
                None => return Poll::Ready(over.map(Err)),
            }
        }
    }
}

impl<F, Fut, St, W> fmt::Debug for RestartSource<F, Fut, St, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestartSource").field("restarts", &self.restarts()).finish_non_exhaustive()
    }
}
