//! Commits what was acknowledged, many at a time.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::stream::Stream;
use futures_sink::Sink;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::Error;
use crate::options;
use crate::options::setters::setters;
use crate::stream::hub::committable::{Committable, Hubs};

/// Whether somebody waits for commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum CommitDelivery {
    /// A batch is done with when the coordinator has it, and a commit that fails is an error.
    #[default]
    WaitForAck,
    /// A batch is done with when its commit is due. One that fails is logged, and tried again.
    SendAndForget,
}

/// How a [`Committer`] commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CommitterSettings {
    /// Offsets in a batch; 1000.
    pub max_batch: usize,
    /// Longest time until a batch is committed, full or not; 10 s.
    pub max_interval: Duration,
    /// Batches whose commit may be under way before no more is taken; 100. A consumer's commits go
    /// out one after the other, so that what is committed never goes back: batches that wait are
    /// committed together.
    pub parallelism: usize,
    /// Whether commits are waited for; they are.
    pub delivery: CommitDelivery,
}

setters! {
    CommitterSettings {
        max_batch: usize => with_max_batch,
        max_interval: Duration => with_max_interval,
        parallelism: usize => with_parallelism,
        delivery: CommitDelivery => with_delivery,
    }
}

impl Default for CommitterSettings {
    fn default() -> CommitterSettings {
        CommitterSettings {
            max_batch: 1000,
            max_interval: Duration::from_secs(10),
            parallelism: 100,
            delivery: CommitDelivery::WaitForAck,
        }
    }
}

/// Takes offsets and commits the highest of each partition, in batches.
///
/// An offset that is given to it is acknowledged at once: should its partition be given up before
/// the batch is full it is committed then, within the group's deadline; likewise when its source is
/// drained or shut down. That holds as well when whatever takes the offsets is dropped. Offsets of
/// partitions that are gone already are left to those who have them now, and count as done.
///
/// ```no_run
/// use futures_util::TryStreamExt;
/// use thalweg::stream::{self, Committer, CommitterSettings, Subscription};
/// use thalweg::{Cluster, ConsumerConfig, Error, Options};
///
/// # async fn example() -> Result<(), Error> {
/// let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
/// let config = ConsumerConfig::default().with_group_id("billing");
/// let source = stream::committable_source(&cluster, config, Subscription::topics(["orders"]))?;
/// let done = source.map_ok(|message| {
///     println!("{:?}", message.record.value());
///     message.offset
/// });
/// Committer::new(CommitterSettings::default()).run(done).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Committer {
    settings: CommitterSettings,
}

impl Committer {
    /// A committer; [`Self::run`], [`Self::sink`] or [`Self::flow`] set it to work.
    pub fn new(settings: CommitterSettings) -> Committer {
        Committer { settings }
    }

    /// As a sink. Flushing it waits for the commits that are under way, but does not cut a batch
    /// short; closing it does, and waits for all of them.
    pub fn sink(&self) -> CommitterSink {
        CommitterSink { batches: OffsetBatches::new(self.settings) }
    }

    /// Takes a stream's offsets; gives what was committed, batch by batch. After an error of the
    /// stream, what came before it is committed, and then the error is given.
    pub fn flow<St, C, E>(&self, offsets: St) -> CommitterFlow<St, E>
    where
        St: Stream<Item = Result<C, E>>,
        C: Committable,
        E: From<Error>,
    {
        CommitterFlow {
            offsets: Some(Box::pin(offsets)),
            batches: OffsetBatches::new(self.settings),
            timer: None,
            error: None,
        }
    }

    /// Commits a stream's offsets until it ends; gives how many there were.
    ///
    /// # Errors
    /// The stream's, or a commit's: then nothing more is taken.
    pub async fn run<St, C, E>(&self, offsets: St) -> Result<u64, E>
    where
        St: Stream<Item = Result<C, E>>,
        C: Committable,
        E: From<Error>,
    {
        let mut flow = self.flow(offsets);
        let mut count = 0;
        while let Some(committed) =
            std::future::poll_fn(|cx| Pin::new(&mut flow).poll_next(cx)).await
        {
            count += committed?.offsets as u64;
        }
        Ok(count)
    }
}

/// A batch that a [`Committer`] is done with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// Offsets in it.
    pub offsets: usize,
}

/// The batch that is being gathered, and those whose commit is under way.
pub(in crate::stream) struct OffsetBatches {
    settings: CommitterSettings,
    hubs: Hubs,
    count: usize,
    due: Option<Instant>,
    under_way: VecDeque<UnderWay>,
}

struct UnderWay {
    count: usize,
    /// Goes on when this is dropped.
    commit: Option<JoinHandle<Result<(), Error>>>,
}

impl OffsetBatches {
    pub fn new(mut settings: CommitterSettings) -> OffsetBatches {
        settings.max_interval = options::bounded(settings.max_interval);
        settings.parallelism = settings.parallelism.max(1);
        let under_way = VecDeque::new();
        OffsetBatches { settings, hubs: Hubs::default(), count: 0, due: None, under_way }
    }

    /// Takes offsets in.
    pub fn push(&mut self, offsets: impl Committable) {
        self.count += offsets.count();
        let known = self.hubs.iter().count();
        offsets.hand_to(&mut self.hubs);
        let now = Instant::now();
        let is_over = self.due.is_none_or(|due| due <= now);
        if is_over || self.hubs.iter().count() > known {
            let interval = self.settings.max_interval;
            if is_over {
                self.due = Some(now + interval);
            }
            // Also when nobody looks at this by then, as a sink does not.
            self.hubs.iter().for_each(|hub| hub.commit_within(interval));
        }
        if self.count >= self.settings.max_batch {
            self.cut();
        }
    }

    /// Has what was gathered committed.
    pub fn cut(&mut self) {
        self.due = None;
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return;
        }
        let hubs = std::mem::take(&mut self.hubs);
        let commit = match self.settings.delivery {
            CommitDelivery::WaitForAck => Some(tokio::spawn(async move { hubs.flush().await })),
            CommitDelivery::SendAndForget => {
                hubs.iter().for_each(|hub| hub.commit_within(Duration::ZERO));
                None
            }
        };
        self.under_way.push_back(UnderWay { count, commit });
    }

    /// Waits until what was gathered is due.
    fn poll_due(&self, timer: &mut Option<Pin<Box<Sleep>>>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(due) = self.due else { return Poll::Pending };
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        timer.as_mut().poll(cx)
    }

    /// Whether more may be taken in.
    pub fn has_room(&self) -> bool {
        self.under_way.len() < self.settings.parallelism
    }

    /// The oldest batch whose commit is under way; `None` when there is none.
    pub fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Committed, Error>>> {
        let Some(first) = self.under_way.front_mut() else { return Poll::Ready(None) };
        let result = match &mut first.commit {
            None => Ok(()),
            Some(commit) => match ready!(Pin::new(commit).poll(cx)) {
                Ok(result) => result,
                // The runtime is going down, and everything with it.
                Err(lost) => Err(Error::Callback {
                    what: "the task that commits".into(),
                    source: Arc::new(lost),
                }),
            },
        };
        let committed = Committed { offsets: first.count };
        self.under_way.pop_front();
        Poll::Ready(Some(result.map(|()| committed)))
    }

    /// Waits until there is room, or, with `all`, until nothing is under way.
    fn poll_room(&mut self, all: bool, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            match self.poll_done(cx) {
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Ready(Some(result)) => drop(result?),
                Poll::Pending if !all && self.has_room() => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_room(false, cx)
    }

    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_room(true, cx)
    }

    pub fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.cut();
        self.poll_room(true, cx)
    }
}

/// See [`Committer::sink`].
pub struct CommitterSink {
    batches: OffsetBatches,
}

impl<C: Committable> Sink<C> for CommitterSink {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.batches.poll_ready(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, offsets: C) -> Result<(), Error> {
        self.batches.push(offsets);
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.batches.poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.batches.poll_close(cx)
    }
}

impl fmt::Debug for CommitterSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.batches.fmt(f)
    }
}

impl fmt::Debug for OffsetBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OffsetBatches")
            .field("gathered", &self.count)
            .field("under_way", &self.under_way.len())
            .finish()
    }
}

/// See [`Committer::flow`].
pub struct CommitterFlow<St, E> {
    /// Until it ends.
    offsets: Option<Pin<Box<St>>>,
    batches: OffsetBatches,
    timer: Option<Pin<Box<Sleep>>>,
    error: Option<E>,
}

impl<St, E> Unpin for CommitterFlow<St, E> {}

impl<St, C, E> Stream for CommitterFlow<St, E>
where
    St: Stream<Item = Result<C, E>>,
    C: Committable,
    E: From<Error>,
{
    type Item = Result<Committed, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        while let Some(offsets) = &mut this.offsets
            && this.batches.has_room()
        {
            match offsets.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(offsets))) => this.batches.push(offsets),
                Poll::Ready(over) => {
                    this.error = over.and_then(Result::err);
                    this.offsets = None;
                    this.batches.cut();
                }
                Poll::Pending => break,
            }
        }
        if this.batches.poll_due(&mut this.timer, cx).is_ready() {
            this.batches.cut();
        }
        match ready!(this.batches.poll_done(cx)) {
            Some(Ok(committed)) => Poll::Ready(Some(Ok(committed))),
            Some(Err(error)) => Poll::Ready(Some(Err(error.into()))),
            None if this.offsets.is_some() => Poll::Pending,
            None => Poll::Ready(this.error.take().map(Err)),
        }
    }
}

impl<St, E> fmt::Debug for CommitterFlow<St, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.batches.fmt(f)
    }
}
