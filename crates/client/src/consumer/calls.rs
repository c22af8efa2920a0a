//! What may be asked of a consumer besides polling, and of its handle by other tasks.

use super::{Consumer, ConsumerHandle, GroupMetadata, PendingCommit, Why};
use crate::cluster::Cluster;
use crate::cluster::coordinator::CommittedOffset;
use crate::cluster::offsets::FoundOffset;
use crate::core::fetch::FetchCounts;
use crate::core::group::GroupStatus;
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;

impl Consumer {
    /// A handle, with which other tasks commit, pause, seek, ask, and wake this up while it polls.
    pub fn handle(&self) -> ConsumerHandle {
        ConsumerHandle::new(self.shared.clone())
    }

    /// Commits everything that polls have given so far, and waits until the coordinator has it,
    /// behind what [`Self::commit_async`] began before. More than it takes at once, about 1 MiB of
    /// records, is sent in parts. Where something is refused, or this is dropped, others may be
    /// committed all the same.
    ///
    /// # Errors
    /// [`Error::Revoked`], once, when partitions were lost of which a poll had given records that
    /// were not committed: somebody else reads them again. [`Error::Group`] when this is no longer a
    /// member, or not of this generation: the partitions may be others' already.
    /// [`Error::Membership`] when it is out of the group for good, [`Error::Config`] without a group.
    /// [`Error::Timeout`], or the error of the last attempt, after
    /// [`ConsumerConfig::default_api_timeout`](super::ConsumerConfig::default_api_timeout).
    pub async fn commit(&self) -> Result<(), Error> {
        self.handle().commit().await
    }

    /// Commits everything that polls have given so far, without anybody waiting: what this gives is
    /// a future of what becomes of it, and the commit goes on when that is dropped. Such commits are
    /// made one after the other; what is asked for while one is under way goes with the next one.
    /// One that fails is logged. [`Self::close`] waits for them.
    pub fn commit_async(&self) -> PendingCommit {
        self.handle().commit_async()
    }

    /// Commits offsets: for each partition the next record to read.
    ///
    /// # Errors
    /// [`Error::Group`], [`Error::Membership`] and [`Error::Config`] as for [`Self::commit`]. A member that was
    /// thrown out of its group comes back by itself: what it lost is refused with `ILLEGAL_GENERATION` until
    /// the application has heard of that, by the next poll or by its listener.
    pub async fn commit_offsets(
        &self,
        offsets: impl IntoIterator<Item = (TopicPartition, Position)>,
    ) -> Result<(), Error> {
        let offsets: Vec<_> = offsets.into_iter().collect();
        self.handle().commit_offsets(offsets).await
    }

    /// As [`Self::commit_offsets`], with a text beside each offset.
    ///
    /// # Errors
    /// As [`Self::commit_offsets`].
    pub async fn commit_with_metadata(
        &self,
        offsets: impl IntoIterator<Item = (TopicPartition, CommittedOffset)>,
    ) -> Result<(), Error> {
        let offsets: Vec<_> = offsets.into_iter().collect();
        self.handle().commit_with_metadata(offsets).await
    }

    /// What the group has committed for partitions, whether or not this is a member of it.
    ///
    /// # Errors
    /// [`Error::Group`] when the coordinator refuses; [`Error::Config`] without a group;
    /// [`Error::Timeout`] as for [`Self::commit`].
    pub async fn committed<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<Vec<(TopicPartition, Option<CommittedOffset>)>, Error> {
        self.handle().committed(partitions).await
    }

    /// What the membership is doing, or waiting for; `None` for a consumer that does not subscribe.
    pub fn group_status(&self) -> Option<GroupStatus> {
        self.handle().group_status()
    }

    /// Who this is in its group; `None` without a group.
    pub fn group_metadata(&self) -> Option<GroupMetadata> {
        self.handle().group_metadata()
    }

    /// Has a classic group rebalance, as if the member had just come; the coordinator logs the
    /// reason. Does nothing while it is on its way into the group.
    ///
    /// # Errors
    /// [`Error::NotSubscribed`] for a consumer that does not subscribe, [`Error::Config`] in a group
    /// of KIP-848, whose coordinator decides that alone.
    pub fn enforce_rebalance(&self, reason: impl Into<String>) -> Result<(), Error> {
        self.handle().enforce_rebalance(reason)
    }

    /// What it is doing, or waiting for: its membership, each partition, its memory. For logs, and
    /// for finding out why nothing comes.
    pub fn why(&self) -> Why {
        self.handle().why()
    }

    /// For each partition the first record that is not older than a time, in milliseconds since
    /// 1970; `None` where there is none.
    ///
    /// # Errors
    /// [`Error::Partition`] when a broker refuses; others when a leader cannot be asked in time
    /// ([`ConsumerConfig::default_api_timeout`](super::ConsumerConfig::default_api_timeout)).
    pub async fn offsets_for_times(
        &self,
        wanted: impl IntoIterator<Item = (TopicPartition, i64)>,
    ) -> Result<Vec<(TopicPartition, Option<FoundOffset>)>, Error> {
        let wanted: Vec<_> = wanted.into_iter().collect();
        self.handle().offsets_for_times(wanted).await
    }

    /// The first offset of each partition.
    ///
    /// # Errors
    /// As [`Self::offsets_for_times`].
    pub async fn beginning_offsets<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<Vec<(TopicPartition, i64)>, Error> {
        self.handle().beginning_offsets(partitions).await
    }

    /// The offset behind the last record of each partition; behind the last one that is committed,
    /// where only those are read.
    ///
    /// # Errors
    /// As [`Self::offsets_for_times`].
    pub async fn end_offsets<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<Vec<(TopicPartition, i64)>, Error> {
        self.handle().end_offsets(partitions).await
    }

    /// The partitions that are read, in order.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.handle().assignment()
    }

    /// The partitions that are paused, in order.
    pub fn paused(&self) -> Vec<TopicPartition> {
        self.handle().paused()
    }

    /// Hands nothing of these partitions out any more, and fetches no more of them. What is
    /// buffered stays, and is not fetched again.
    ///
    /// # Errors
    /// [`Error::NotAssigned`] where one of them is not read here: the others are paused.
    /// [`Error::ConsumerClosed`] after [`Self::close`].
    pub fn pause<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<(), Error> {
        self.handle().pause(partitions)
    }

    /// Ends the pause of these partitions.
    ///
    /// # Errors
    /// As [`Self::pause`].
    pub fn resume<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<(), Error> {
        self.handle().resume(partitions)
    }

    /// Whether a partition is paused.
    pub fn is_paused(&self, partition: &TopicPartition) -> bool {
        self.shared.lock().fetcher.is_paused(partition)
    }

    /// The next record of a partition that a poll hands out; `None` until it was looked up, or for
    /// a partition that is not read here.
    pub fn position(&self, partition: &TopicPartition) -> Option<Position> {
        self.handle().position(partition)
    }

    /// Goes on reading a partition elsewhere. What is buffered there is used.
    ///
    /// # Errors
    /// As [`Self::pause`].
    pub fn seek(&self, partition: &TopicPartition, to: Position) -> Result<(), Error> {
        self.handle().seek(partition, to)
    }

    /// Goes to the first record of these partitions.
    ///
    /// # Errors
    /// As [`Self::pause`].
    pub fn seek_to_beginning<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<(), Error> {
        self.handle().seek_to_beginning(partitions)
    }

    /// Goes behind the last record of these partitions.
    ///
    /// # Errors
    /// As [`Self::pause`].
    pub fn seek_to_end<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<(), Error> {
        self.handle().seek_to_end(partitions)
    }

    /// Records between a partition's position and its end, as of the last answer; `None` until
    /// there was one.
    pub fn lag(&self, partition: &TopicPartition) -> Option<i64> {
        self.handle().lag(partition)
    }

    /// Counts since the beginning: requests, bytes, records.
    pub fn counts(&self) -> FetchCounts {
        self.handle().counts()
    }

    /// Bytes that count against the budget now, and the most that ever did.
    pub fn budget_used(&self) -> (usize, usize) {
        self.handle().budget_used()
    }

    /// The cluster it reads from.
    pub fn cluster(&self) -> &Cluster {
        &self.shared.cluster
    }
}
