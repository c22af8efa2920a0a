//! A consumer: polls that cost nothing when there is something, nothing fetched twice, one limit on
//! memory.

mod config;
mod errands;
mod receiver;
mod shared;
mod source;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use config::ConsumerConfig;

use crate::cluster::Cluster;
use crate::core::fetch::{Budget, FetchCounts, Fetcher, OffsetReset, Records};
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;
use shared::{Shared, State};

/// Reads partitions. Fetching goes on in the background, within
/// [`ConsumerConfig::fetch_budget`]; a poll takes what is there, without waking anybody.
///
/// Every method may be cancelled by dropping its future: no record is lost by it.
///
/// ```no_run
/// use thalweg::{Cluster, Consumer, ConsumerConfig, Options, TopicPartition};
///
/// # async fn example() -> Result<(), thalweg::Error> {
/// let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
/// let mut consumer = Consumer::new(cluster, ConsumerConfig::default())?;
/// consumer.assign([(TopicPartition::new("orders", 0), None)]);
/// loop {
///     for record in &consumer.poll(500).await? {
///         println!("{} {:?}", record.offset(), record.value());
///     }
/// }
/// # }
/// ```
pub struct Consumer {
    shared: Arc<Shared>,
    errands: JoinHandle<()>,
}

impl Consumer {
    /// A consumer of nothing yet. Must be called within a tokio runtime, on which its tasks run.
    pub fn new(cluster: Cluster, config: ConsumerConfig) -> Result<Consumer, Error> {
        let settings = config.fetch_settings()?;
        let errand = Arc::new(Notify::new());
        let told = Arc::clone(&errand);
        let budget = Budget::new(config.fetch_budget, move || told.notify_one());
        let fetcher = Fetcher::new(settings, budget);
        let shared = Arc::new(Shared::new(cluster, config, fetcher, Arc::clone(&errand)));
        let errands = tokio::spawn(errands::run(Arc::downgrade(&shared), errand));
        Ok(Consumer { shared, errands })
    }

    /// Reads exactly these partitions from now on, each from the position given or, without one,
    /// from where [`ConsumerConfig::auto_offset_reset`] says. Those that were read already stay as
    /// they are, with what is buffered.
    pub fn assign(
        &mut self,
        partitions: impl IntoIterator<Item = (TopicPartition, Option<Position>)>,
    ) {
        let wanted: Vec<_> = partitions.into_iter().collect();
        self.shared.with(|state| {
            let gone: Vec<_> = state
                .fetcher
                .partitions()
                .filter(|known| !wanted.iter().any(|(partition, _)| *partition == ***known))
                .cloned()
                .collect();
            for partition in gone {
                state.fetcher.remove(&partition);
            }
            for (partition, from) in wanted {
                state.fetcher.add(partition, from);
            }
            // What other consumers of this cluster learned is known here, too.
            state.fetcher.update_leaders(&self.shared.cluster.metadata());
        });
        self.shared.errand.notify_one();
    }

    /// The partitions that are read, in order.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        let state = self.shared.lock();
        let mut assignment: Vec<_> = state.fetcher.partitions().map(|p| (**p).clone()).collect();
        assignment.sort_unstable();
        assignment
    }

    /// Waits for records and takes up to `max` of them; never returns none, but for `max` = 0.
    ///
    /// # Errors
    /// [`Error::Partition`] when a partition cannot be read; the others go on with the next poll.
    pub async fn poll(&mut self, max: usize) -> Result<Records, Error> {
        loop {
            let records = self.try_poll(max)?;
            if !records.is_empty() || max == 0 {
                return Ok(records);
            }
            self.shared.arrived.notified().await;
        }
    }

    /// As [`Self::poll`], but returns without records when none came in time.
    pub async fn poll_timeout(&mut self, max: usize, limit: Duration) -> Result<Records, Error> {
        let records = self.try_poll(max)?;
        if !records.is_empty() || max == 0 || limit.is_zero() {
            return Ok(records);
        }
        match tokio::time::timeout(limit, self.poll(max)).await {
            Ok(polled) => polled,
            Err(_) => Ok(Records::default()),
        }
    }

    /// Takes up to `max` of the records that are there.
    ///
    /// # Errors
    /// As for [`Self::poll`].
    pub fn try_poll(&mut self, max: usize) -> Result<Records, Error> {
        self.shared.with(|state| {
            if let Some(error) = state.error.take() {
                return Err(error);
            }
            let mut records = Records::default();
            state
                .fetcher
                .take(max, &mut records)
                .map_err(|error| Error::Partition(Box::new(error)))?;
            Ok(records)
        })
    }

    /// Hands nothing of these partitions out any more, and fetches no more of them. What is
    /// buffered stays, and is not fetched again. Says whether all of them are read here.
    pub fn pause<'a>(&self, partitions: impl IntoIterator<Item = &'a TopicPartition>) -> bool {
        self.each(partitions, |state, partition| state.fetcher.pause(partition))
    }

    /// Ends the pause of these partitions. Says whether all of them are read here.
    pub fn resume<'a>(&self, partitions: impl IntoIterator<Item = &'a TopicPartition>) -> bool {
        let all = self.each(partitions, |state, partition| state.fetcher.resume(partition));
        // Somebody may be waiting in a poll.
        self.shared.arrived.notify_one();
        all
    }

    fn each<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
        act: impl Fn(&mut State, &TopicPartition) -> bool,
    ) -> bool {
        self.shared.with(|state| {
            // All of them, whatever becomes of the first.
            partitions.into_iter().fold(true, |all, partition| act(state, partition) && all)
        })
    }

    /// Whether a partition is paused.
    pub fn is_paused(&self, partition: &TopicPartition) -> bool {
        self.shared.lock().fetcher.is_paused(partition)
    }

    /// The next record of a partition that a poll hands out; `None` until it was looked up, or for
    /// a partition that is not read here.
    pub fn position(&self, partition: &TopicPartition) -> Option<Position> {
        self.shared.lock().fetcher.position(partition)
    }

    /// Goes on reading a partition elsewhere. What is buffered there is used. Says whether the
    /// partition is read here.
    pub fn seek(&mut self, partition: &TopicPartition, to: Position) -> bool {
        let found = self.shared.with(|state| state.fetcher.seek(partition, to));
        self.shared.arrived.notify_one();
        found
    }

    /// Goes to the first record of these partitions.
    pub fn seek_to_beginning<'a>(
        &mut self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> bool {
        self.seek_to(partitions, OffsetReset::Earliest)
    }

    /// Goes behind the last record of these partitions.
    pub fn seek_to_end<'a>(
        &mut self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> bool {
        self.seek_to(partitions, OffsetReset::Latest)
    }

    fn seek_to<'a>(
        &mut self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
        to: OffsetReset,
    ) -> bool {
        let found = self.each(partitions, |state, partition| state.fetcher.seek_to(partition, to));
        self.shared.errand.notify_one();
        found
    }

    /// Records between a partition's position and its end, as of the last answer; `None` until
    /// there was one.
    pub fn lag(&self, partition: &TopicPartition) -> Option<i64> {
        self.shared.lock().fetcher.lag(partition)
    }

    /// Counts since the beginning: requests, bytes, records.
    pub fn counts(&self) -> FetchCounts {
        self.shared.lock().fetcher.counts()
    }

    /// Bytes that count against the budget now, and the most that ever did.
    pub fn budget_used(&self) -> (usize, usize) {
        let state = self.shared.lock();
        let budget = state.fetcher.budget();
        (budget.used(), budget.peak())
    }

    /// The cluster it reads from.
    pub fn cluster(&self) -> &Cluster {
        &self.shared.cluster
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.errands.abort();
        self.shared.stop();
    }
}
