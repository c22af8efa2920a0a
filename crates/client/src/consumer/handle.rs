//! What streams do with a consumer that a task of theirs looks after.
//!
//! Records are taken here without regard to whether the listener has something to hear: what it is
//! to hear of is held until then, and the other partitions go on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::commit;
use super::listener::Event;
use super::shared::Shared;
use super::why::Why;
use crate::cluster::Cluster;
use crate::coordinator::CommittedOffset;
use crate::core::fetch::{Chunk, FetchCounts, Records};
use crate::core::group::Member;
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;
use crate::offsets::{self, FoundOffset};

/// A handle to a consumer; it does not keep the consumer going.
#[derive(Clone)]
pub(crate) struct ConsumerHandle {
    shared: Arc<Shared>,
}

impl ConsumerHandle {
    pub(super) fn new(shared: Arc<Shared>) -> ConsumerHandle {
        ConsumerHandle { shared }
    }

    /// Takes up to `max` records of any partition, or waits for some.
    pub fn poll_take(&self, max: usize, cx: &Context<'_>) -> Poll<Result<Records, Error>> {
        for is_waiting in [false, true] {
            if is_waiting {
                self.shared.arrived.wait(cx.waker());
            }
            let taken = self.shared.with(|state| {
                if let Some(error) = state.errors.pop_front() {
                    return Err(error);
                }
                let mut records = Records::default();
                let taken = state.fetcher.take(max, &mut records);
                taken.map_err(|error| Error::Partition(Box::new(error)))?;
                Ok(records)
            })?;
            if !taken.is_empty() {
                return Poll::Ready(Ok(taken));
            }
        }
        Poll::Pending
    }

    /// Takes up to `max` records of one partition, or waits for some.
    pub fn poll_take_from(
        &self,
        partition: &TopicPartition,
        max: usize,
        cx: &Context<'_>,
    ) -> Poll<Result<Chunk, Error>> {
        let taken = self.shared.with(|state| state.fetcher.take_from(partition, max, cx.waker()));
        match taken {
            Ok(Some(chunk)) => Poll::Ready(Ok(chunk)),
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(Error::Partition(Box::new(error)))),
        }
    }

    /// Waits for an error that is not of one partition.
    pub fn poll_error(&self, cx: &Context<'_>) -> Poll<Error> {
        self.shared.arrived.wait(cx.waker());
        match self.shared.lock().errors.pop_front() {
            Some(error) => Poll::Ready(error),
            None => Poll::Pending,
        }
    }

    /// Wakes whoever waits in one of the above but [`Self::poll_take_from`].
    pub fn wake(&self) {
        self.shared.arrived.notify_one();
    }

    /// Commits offsets, and waits until the coordinator has them.
    pub async fn commit(
        &self,
        offsets: Vec<(TopicPartition, CommittedOffset)>,
    ) -> Result<BTreeMap<TopicPartition, Error>, Error> {
        commit::commit_each(&self.shared, offsets).await
    }

    /// What the group committed.
    pub async fn committed(
        &self,
        partitions: &[TopicPartition],
    ) -> Result<Vec<(TopicPartition, Option<CommittedOffset>)>, Error> {
        commit::committed(&self.shared, partitions).await
    }

    /// Looks offsets up by time, or by what stands for the beginning or the end.
    pub async fn look_up(
        &self,
        wanted: Vec<(TopicPartition, i64)>,
    ) -> Result<Vec<(TopicPartition, FoundOffset)>, Error> {
        let config = &self.shared.config;
        let deadline = tokio::time::Instant::now() + config.default_api_timeout;
        offsets::look_up_all(
            &self.shared.cluster,
            wanted,
            config.isolation_level,
            |failures| config.backoff(failures),
            deadline,
        )
        .await
    }

    /// Reads one more partition, from a position, or from where the group committed.
    pub fn add(&self, partition: TopicPartition, from: Option<Position>) {
        self.shared.with(|state| {
            match from {
                None if state.group.is_some() => state.fetcher.add_committed(partition),
                from => state.fetcher.add(partition, from),
            }
            state.fetcher.update_leaders(&self.shared.cluster.metadata());
        });
        self.shared.errand.notify_one();
    }

    /// Reads a partition no longer.
    pub fn remove(&self, partition: &TopicPartition) {
        self.shared.with(|state| state.fetcher.remove(partition));
    }

    /// Hands nothing of these partitions out any more, and fetches no more of them.
    pub fn pause<'a>(&self, partitions: impl IntoIterator<Item = &'a TopicPartition>) {
        self.shared.with(|state| {
            for partition in partitions {
                state.fetcher.pause(partition);
            }
        });
    }

    /// The first pause before something that failed is tried again, and how long it is tried.
    pub fn retries(&self) -> (Duration, Duration) {
        let config = &self.shared.config;
        (config.retry_backoff.max(Duration::from_millis(1)), config.default_api_timeout)
    }

    /// Waits until the group has taken one of these partitions away. For a listener at work, which
    /// is told of it only after this.
    pub async fn until_lost(&self, partitions: &[TopicPartition]) {
        let is_lost = |event: &Event| match event {
            Event::Lost(lost) => lost.iter().any(|partition| partitions.contains(partition)),
            _ => false,
        };
        while self.shared.with_group(|group, _| group.events.iter().any(is_lost)) == Some(false) {
            self.shared.rebalanced.notified().await;
        }
    }

    /// Records between a partition's position and its end.
    pub fn lag(&self, partition: &TopicPartition) -> Option<i64> {
        self.shared.lock().fetcher.lag(partition)
    }

    /// The partitions that are read, in no order.
    pub fn partitions(&self) -> Vec<TopicPartition> {
        self.shared.lock().fetcher.partitions().map(|partition| (**partition).clone()).collect()
    }

    /// Counts since the beginning.
    pub fn counts(&self) -> FetchCounts {
        self.shared.lock().fetcher.counts()
    }

    /// Bytes that count against the budget now, and the most that ever did.
    pub fn budget_used(&self) -> (usize, usize) {
        let state = self.shared.lock();
        let budget = state.fetcher.budget();
        (budget.used(), budget.peak())
    }

    /// What the consumer is doing, or waiting for.
    pub fn why(&self) -> Why {
        let state = self.shared.lock();
        let budget = state.fetcher.budget();
        let member = state.group.as_ref().and_then(|group| group.member.as_ref());
        Why {
            group: member.map(Member::why),
            partitions: state.fetcher.statuses(),
            budget: (budget.used(), budget.limit()),
        }
    }

    /// The cluster it reads from.
    pub fn cluster(&self) -> &Cluster {
        &self.shared.cluster
    }
}
