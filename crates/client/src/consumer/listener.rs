//! What an application does when partitions come and go.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use super::commits::commit;
use super::commits::offsets::Offsets;
use super::state::group::Event;
use super::state::shared::Shared;
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;

/// A future that a [`RebalanceListener`] returns.
pub type ListenerFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Hears of partitions that come and go, and is waited for. It is called from within
/// [`Consumer::poll`](super::Consumer::poll), so never while the application is busy with records
/// that an earlier poll gave it.
pub trait RebalanceListener: Send + Sync + 'static {
    /// Partitions were assigned. Nothing of them is handed out before this is done: the place to
    /// seek to offsets that are kept elsewhere.
    fn assigned<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        let _ = rebalance;
        Box::pin(async {})
    }

    /// Partitions are to be given up. They are the consumer's until this is done, or until
    /// [`Rebalance::deadline`]: finish what is under way, and commit it.
    fn revoked<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        let _ = rebalance;
        Box::pin(async {})
    }

    /// Partitions are gone, and others may read them already. There is nothing left to commit.
    fn lost<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        let _ = rebalance;
        Box::pin(async {})
    }
}

impl<L: RebalanceListener + ?Sized> RebalanceListener for Arc<L> {
    fn assigned<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        (**self).assigned(rebalance)
    }

    fn revoked<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        (**self).revoked(rebalance)
    }

    fn lost<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        (**self).lost(rebalance)
    }
}

/// The partitions a [`RebalanceListener`] hears of, and what it can do about them.
pub struct Rebalance {
    pub(super) shared: Arc<Shared>,
    pub(super) partitions: Vec<TopicPartition>,
    pub(super) deadline: Option<Instant>,
}

impl Rebalance {
    /// Which partitions.
    pub fn partitions(&self) -> &[TopicPartition] {
        &self.partitions
    }

    /// When the group will not wait any longer for partitions that are to be given up.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The next record of a partition that would be handed out.
    pub fn position(&self, partition: &TopicPartition) -> Option<Position> {
        self.shared.lock().fetcher.position(partition)
    }

    /// Goes on reading a partition elsewhere.
    ///
    /// # Errors
    /// [`Error::NotAssigned`] for a partition that is not read here.
    pub fn seek(&self, partition: &TopicPartition, to: Position) -> Result<(), Error> {
        let is_here = self.shared.with(|state| state.fetcher.seek(partition, to));
        is_here.then_some(()).ok_or_else(|| Error::NotAssigned(Box::new(partition.clone())))
    }

    /// Commits offsets.
    ///
    /// # Errors
    /// As [`Consumer::commit`](super::Consumer::commit).
    pub async fn commit(
        &self,
        offsets: impl IntoIterator<Item = (TopicPartition, Position)>,
    ) -> Result<(), Error> {
        commit::commit(&self.shared, Offsets::at(&self.shared, offsets)).await
    }
}

impl fmt::Debug for Rebalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rebalance")
            .field("partitions", &self.partitions)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// A listener at work.
pub(super) struct Hearing {
    pub event: Event,
    pub future: ListenerFuture<'static>,
}
