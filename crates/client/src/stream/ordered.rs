//! Working on several records at once, with the order kept where it counts.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::Stream;
use tokio::task::{JoinError, JoinSet};

use crate::error::Error;

/// Works on up to `parallelism` items at once, each in a task of its own, and on those with the
/// same key one after the other. What comes out is in the order of what went in, so that offsets
/// that travel along can be committed as they come: with the partition as the key that is
/// parallelism per partition, with the record's key parallelism per key.
///
/// Items that wait for another of their key count: at most `parallelism` are taken in before the
/// first of them is handed out. After an error, of the stream or of the work, what was before it
/// is handed out, then the error, and then it is over; so it is when the work panics. Dropping the
/// stream ends the tasks.
///
/// ```no_run
/// use futures_util::TryStreamExt;
/// use thalweg::stream::{self, Committer, CommittableMessage};
/// use thalweg::Error;
///
/// # async fn bill(_: &[u8]) {}
/// # async fn example(source: stream::Source<stream::WithOffset>) -> Result<(), Error> {
/// let key = |message: &CommittableMessage| message.record.key_bytes();
/// let done = stream::map_ordered_by(source, 64, key, |message| async move {
///     bill(message.record.value().unwrap_or_default()).await;
///     Ok::<_, Error>(message.offset)
/// });
/// Committer::default().run(done).await?;
/// # Ok(())
/// # }
/// ```
pub fn map_ordered_by<St, T, K, KF, F, Fut, U, E>(
    stream: St,
    parallelism: usize,
    key: KF,
    work: F,
) -> MapOrderedBy<St, K, KF, F, Fut, U, E>
where
    St: Stream<Item = Result<T, E>>,
    KF: FnMut(&T) -> K,
    K: Hash + Eq,
    F: FnMut(T) -> Fut,
    Fut: Future<Output = Result<U, E>> + Send + 'static,
    U: Send + 'static,
    E: From<Error> + Send + 'static,
{
    MapOrderedBy {
        stream: Some(Box::pin(stream)),
        parallelism: parallelism.max(1),
        key,
        work,
        hasher: RandomState::new(),
        lanes: HashMap::new(),
        tasks: JoinSet::new(),
        results: VecDeque::new(),
        first: 0,
        is_over: false,
        keys: std::marker::PhantomData,
    }
}

/// See [`map_ordered_by`].
pub struct MapOrderedBy<St, K, KF, F, Fut, U, E> {
    /// Until it ends.
    stream: Option<Pin<Box<St>>>,
    parallelism: usize,
    key: KF,
    work: F,
    hasher: RandomState,
    /// By the key's hash, what waits for its turn; there is an entry while one is worked on. Keys
    /// with the same hash wait for each other, which costs a little time and no order.
    lanes: HashMap<u64, VecDeque<(u64, Fut)>>,
    tasks: JoinSet<(u64, u64, Result<U, E>)>,
    /// In the order of what went in; `None` is not done.
    results: VecDeque<Option<Result<U, E>>>,
    /// Number of the first of them.
    first: u64,
    is_over: bool,
    keys: std::marker::PhantomData<fn(&K)>,
}

impl<St, K, KF, F, Fut, U, E> Unpin for MapOrderedBy<St, K, KF, F, Fut, U, E> {}

impl<St, K, KF, F, Fut, U, E> MapOrderedBy<St, K, KF, F, Fut, U, E>
where
    Fut: Future<Output = Result<U, E>> + Send + 'static,
    U: Send + 'static,
    E: From<Error> + Send + 'static,
{
    fn start(&mut self, lane: u64, number: u64, work: Fut) {
        self.tasks.spawn(async move { (lane, number, work.await) });
    }

    /// Something was done.
    fn finish(&mut self, done: Result<(u64, u64, Result<U, E>), JoinError>) {
        let (lane, number, result) = match done {
            Ok(done) => done,
            Err(lost) => {
                // Which one is not known: all that is not done is not to be taken for done.
                let source = std::sync::Arc::new(lost);
                let error = Error::Callback { what: "the work on a record".into(), source };
                let open = self.results.iter_mut().find(|result| result.is_none());
                if let Some(open) = open {
                    *open = Some(Err(error.into()));
                }
                return;
            }
        };
        match self.lanes.get_mut(&lane).map(VecDeque::pop_front) {
            Some(Some((next, work))) => self.start(lane, next, work),
            _ => drop(self.lanes.remove(&lane)),
        }
        let at = usize::try_from(number.wrapping_sub(self.first)).unwrap_or(usize::MAX);
        if let Some(open @ None) = self.results.get_mut(at) {
            *open = Some(result);
        }
    }
}

impl<St, T, K, KF, F, Fut, U, E> Stream for MapOrderedBy<St, K, KF, F, Fut, U, E>
where
    St: Stream<Item = Result<T, E>>,
    KF: FnMut(&T) -> K,
    K: Hash + Eq,
    F: FnMut(T) -> Fut,
    Fut: Future<Output = Result<U, E>> + Send + 'static,
    U: Send + 'static,
    E: From<Error> + Send + 'static,
{
    type Item = Result<U, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(None);
        }
        while this.results.len() < this.parallelism
            && let Some(stream) = &mut this.stream
        {
            match stream.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(item))) => {
                    let lane = this.hasher.hash_one((this.key)(&item));
                    let number = this.first.wrapping_add(this.results.len() as u64);
                    this.results.push_back(None);
                    let work = (this.work)(item);
                    if let Some(waiting) = this.lanes.get_mut(&lane) {
                        waiting.push_back((number, work));
                    } else {
                        this.lanes.insert(lane, VecDeque::new());
                        this.start(lane, number, work);
                    }
                }
                Poll::Ready(over) => {
                    this.stream = None;
                    if let Some(Err(error)) = over {
                        this.results.push_back(Some(Err(error)));
                    }
                }
                Poll::Pending => break,
            }
        }
        while let Poll::Ready(Some(done)) = this.tasks.poll_join_next(cx) {
            this.finish(done);
        }
        match this.results.front() {
            Some(Some(_)) => {}
            None if this.stream.is_none() => {
                this.is_over = true;
                return Poll::Ready(None);
            }
            _ => return Poll::Pending,
        }
        this.first = this.first.wrapping_add(1);
        let result = this.results.pop_front().flatten();
        if result.as_ref().is_some_and(Result::is_err) {
            this.is_over = true;
            this.stream = None;
            this.tasks.abort_all();
            this.lanes.clear();
        }
        Poll::Ready(result)
    }
}

impl<St, K, KF, F, Fut, U, E> fmt::Debug for MapOrderedBy<St, K, KF, F, Fut, U, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapOrderedBy").field("under_way", &self.results.len()).finish()
    }
}
