//! What streams do with a consumer that a task of theirs looks after.
//!
//! Records are taken here without regard to whether the listener has something to hear: what it is
//! to hear of is held until then, and the other partitions go on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use thalweg_wire::Uuid;

use super::commits::commit;
use super::commits::offsets::Offsets;
use super::handle::ConsumerHandle;
use super::state::group::Event;
use crate::cluster::coordinator::CommittedOffset;
use crate::core::fetch::{Chunk, Passed, Records};
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;
use crate::options::backoff;

impl ConsumerHandle {
    /// Takes up to `max` records of any partition, or waits for some.
    pub(crate) fn poll_take(&self, max: usize, cx: &Context<'_>) -> Poll<Result<Records, Error>> {
        for is_waiting in [false, true] {
            if is_waiting {
                self.shared.arrived.wait(cx.waker());
            }
            let taken = self.shared.with(|state| {
                if let Some(error) = state.next_error() {
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
    pub(crate) fn poll_take_from(
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
    pub(crate) fn poll_error(&self, cx: &Context<'_>) -> Poll<Error> {
        self.shared.arrived.wait(cx.waker());
        match self.shared.lock().next_error() {
            Some(error) => Poll::Ready(error),
            None => Poll::Pending,
        }
    }

    /// Wakes whoever waits in one of the above but [`Self::poll_take_from`].
    pub(crate) fn wake(&self) {
        self.shared.arrived.notify_one();
    }

    /// Commits offsets, and waits until the coordinator has them.
    pub(crate) async fn commit_each(
        &self,
        offsets: Vec<(TopicPartition, CommittedOffset)>,
        topic_ids: BTreeMap<Arc<str>, Uuid>,
    ) -> Result<BTreeMap<TopicPartition, Error>, Error> {
        let offsets = Offsets { topic_ids, ..Offsets::named(&self.shared, offsets) };
        commit::commit_each(&self.shared, offsets).await
    }

    /// See [`Passed`].
    pub(crate) fn passed(&self, partition: &TopicPartition) -> Option<Passed> {
        self.shared.lock().fetcher.passed(partition)
    }

    /// Another number whenever a position may have changed.
    pub(crate) fn moves(&self) -> u64 {
        self.shared.lock().fetcher.moves()
    }

    /// The id that a topic has in the cluster now, as far as that is known.
    pub(crate) fn topic_id(&self, topic: &str) -> Option<Uuid> {
        let metadata = self.shared.cluster.metadata();
        metadata.topics.get(topic).map(|topic| topic.id).filter(|id| !id.is_zero())
    }

    /// Reads one more partition, from a position, or from where the group committed.
    pub(crate) fn add(&self, partition: TopicPartition, from: Option<Position>) {
        self.shared.with(|state| {
            if state.is_closed {
                return;
            }
            match from {
                None if state.group.is_some() => state.fetcher.add_committed(partition),
                from => state.fetcher.add(partition, from),
            }
            state.fetcher.update_leaders(&self.shared.cluster.metadata());
        });
        self.shared.lookup.notify_one();
    }

    /// Gives back what was taken of a partition that is being given up, and not handed out.
    pub(crate) fn give_back(
        &self,
        partition: &TopicPartition,
        chunks: impl IntoIterator<Item = Chunk>,
    ) {
        self.shared.with(|state| state.fetcher.give_back(partition, chunks));
    }

    /// Reads a partition no longer.
    pub(crate) fn remove(&self, partition: &TopicPartition) {
        self.shared.with(|state| state.fetcher.remove(partition));
    }

    /// The pause after so many failures in a row (`retry.backoff.ms`).
    pub(crate) fn backoff(&self, failures: u32) -> Duration {
        self.shared.config.backoff(failures)
    }

    /// The same, for what may wait longer than `retry.backoff.max.ms`.
    pub(crate) fn backoff_up_to(&self, longest: Duration, failures: u32) -> Duration {
        backoff::pause(self.shared.config.retry_backoff, longest, failures)
    }

    /// How long something that failed is tried again.
    pub(crate) fn api_timeout(&self) -> Duration {
        self.shared.config.default_api_timeout
    }

    /// Waits until the group has taken one of these partitions away. For a listener at work, which
    /// is told of it only after this.
    pub(crate) async fn until_lost(&self, partitions: &[TopicPartition]) {
        let is_lost = |event: &Event| match event {
            Event::Lost(lost) => lost.iter().any(|partition| partitions.contains(partition)),
            _ => false,
        };
        while self.shared.with_group(|group, _| group.events.iter().any(is_lost)) == Some(false) {
            self.shared.rebalanced.notified().await;
        }
    }
}
