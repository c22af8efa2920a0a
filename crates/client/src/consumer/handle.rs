//! What can be done with a consumer from elsewhere than where it is polled.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::commits::offsets::Offsets;
use super::commits::pending::PendingCommit;
use super::commits::{commit, pending};
use super::state::shared::{Shared, State};
use super::why::{Unanswered, Why};
use crate::cluster::Cluster;
use crate::cluster::coordinator::CommittedOffset;
use crate::cluster::offsets::{self, FoundOffset};
use crate::core::fetch::{FetchCounts, OffsetReset, PartitionStatus};
use crate::core::group::{GroupMetadata, GroupStatus, Member};
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;

/// A handle to a [`Consumer`](super::Consumer): commits, pauses, seeks and asks while another task
/// polls. Clones are handles to the same consumer. It does not keep the consumer going: once that is
/// closed or dropped, commits and polls are refused with [`Error::ConsumerClosed`].
///
/// ```no_run
/// use thalweg::{Consumer, Error};
///
/// # async fn example(mut consumer: Consumer) -> Result<(), Error> {
/// let handle = consumer.handle();
/// let polling = tokio::spawn(async move {
///     loop {
///         match consumer.poll(500).await {
///             Ok(records) => println!("{} records", records.len()),
///             Err(Error::Wakeup) => return consumer.close(std::time::Duration::from_secs(10)).await,
///             Err(error) => return Err(error),
///         }
///     }
/// });
/// eprint!("{}", handle.why());
/// handle.commit().await?;
/// handle.wake_up();
/// polling.await.expect("the task did not panic")
/// # }
/// ```
#[derive(Clone)]
pub struct ConsumerHandle {
    pub(super) shared: Arc<Shared>,
}

impl ConsumerHandle {
    pub(super) fn new(shared: Arc<Shared>) -> ConsumerHandle {
        ConsumerHandle { shared }
    }

    /// As [`Consumer::commit`](super::Consumer::commit).
    ///
    /// # Errors
    /// The same.
    pub async fn commit(&self) -> Result<(), Error> {
        commit::commit_handed_out(&self.shared).await
    }

    /// As [`Consumer::commit_async`](super::Consumer::commit_async).
    pub fn commit_async(&self) -> PendingCommit {
        pending::begin(&self.shared)
    }

    /// As [`Consumer::commit_offsets`](super::Consumer::commit_offsets).
    ///
    /// # Errors
    /// The same.
    pub async fn commit_offsets(
        &self,
        offsets: impl IntoIterator<Item = (TopicPartition, Position)>,
    ) -> Result<(), Error> {
        commit::commit(&self.shared, Offsets::at(&self.shared, offsets)).await
    }

    /// As [`Consumer::commit_with_metadata`](super::Consumer::commit_with_metadata).
    ///
    /// # Errors
    /// The same.
    pub async fn commit_with_metadata(
        &self,
        offsets: impl IntoIterator<Item = (TopicPartition, CommittedOffset)>,
    ) -> Result<(), Error> {
        commit::commit(&self.shared, Offsets::named(&self.shared, offsets)).await
    }

    /// As [`Consumer::committed`](super::Consumer::committed).
    ///
    /// # Errors
    /// The same.
    pub async fn committed<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<Vec<(TopicPartition, Option<CommittedOffset>)>, Error> {
        let partitions: Vec<TopicPartition> = partitions.into_iter().cloned().collect();
        commit::committed(&self.shared, &partitions).await
    }

    /// Ends the poll under way, or the next one, with [`Error::Wakeup`], once.
    pub fn wake_up(&self) {
        self.shared.lock().is_woken = true;
        self.shared.woken.notify_one();
        self.shared.arrived.notify_one();
    }

    /// As [`Consumer::assignment`](super::Consumer::assignment).
    pub fn assignment(&self) -> Vec<TopicPartition> {
        let mut assignment = self.partitions();
        assignment.sort_unstable();
        assignment
    }

    /// As [`Consumer::paused`](super::Consumer::paused).
    pub fn paused(&self) -> Vec<TopicPartition> {
        let state = self.shared.lock();
        let fetcher = &state.fetcher;
        let paused = fetcher.partitions().filter(|partition| fetcher.is_paused(partition));
        let mut paused: Vec<_> = paused.map(|partition| (**partition).clone()).collect();
        paused.sort_unstable();
        paused
    }

    /// As [`Consumer::pause`](super::Consumer::pause).
    ///
    /// # Errors
    /// The same.
    pub fn pause<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<(), Error> {
        self.each(partitions, |state, partition| state.fetcher.pause(partition))
    }

    /// As [`Consumer::resume`](super::Consumer::resume).
    ///
    /// # Errors
    /// The same.
    pub fn resume<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<(), Error> {
        let all = self.each(partitions, |state, partition| state.fetcher.resume(partition));
        // Somebody may be waiting in a poll.
        self.shared.arrived.notify_one();
        all
    }

    fn each<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
        act: impl Fn(&mut State, &TopicPartition) -> bool,
    ) -> Result<(), Error> {
        self.shared.with(|state| {
            if state.is_closed {
                return Err(Error::ConsumerClosed);
            }
            let mut missing = None;
            for partition in partitions {
                if !act(state, partition) {
                    missing.get_or_insert_with(|| Box::new(partition.clone()));
                }
            }
            missing.map_or(Ok(()), |partition| Err(Error::NotAssigned(partition)))
        })
    }

    /// As [`Consumer::position`](super::Consumer::position).
    pub fn position(&self, partition: &TopicPartition) -> Option<Position> {
        self.shared.lock().fetcher.position(partition)
    }

    /// As [`Consumer::seek`](super::Consumer::seek).
    ///
    /// # Errors
    /// The same.
    pub fn seek(&self, partition: &TopicPartition, to: Position) -> Result<(), Error> {
        let found = self.each([partition], |state, partition| state.fetcher.seek(partition, to));
        self.shared.arrived.notify_one();
        found
    }

    /// As [`Consumer::seek_to_beginning`](super::Consumer::seek_to_beginning).
    ///
    /// # Errors
    /// The same.
    pub fn seek_to_beginning<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<(), Error> {
        self.seek_to(partitions, OffsetReset::Earliest)
    }

    /// As [`Consumer::seek_to_end`](super::Consumer::seek_to_end).
    ///
    /// # Errors
    /// The same.
    pub fn seek_to_end<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<(), Error> {
        self.seek_to(partitions, OffsetReset::Latest)
    }

    fn seek_to<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
        to: OffsetReset,
    ) -> Result<(), Error> {
        let found = self.each(partitions, |state, partition| state.fetcher.seek_to(partition, to));
        self.shared.lookup.notify_one();
        found
    }

    /// As [`Consumer::lag`](super::Consumer::lag).
    pub fn lag(&self, partition: &TopicPartition) -> Option<i64> {
        self.shared.lock().fetcher.lag(partition)
    }

    /// As [`Consumer::offsets_for_times`](super::Consumer::offsets_for_times).
    ///
    /// # Errors
    /// The same.
    pub async fn offsets_for_times(
        &self,
        wanted: impl IntoIterator<Item = (TopicPartition, i64)>,
    ) -> Result<Vec<(TopicPartition, Option<FoundOffset>)>, Error> {
        let wanted = wanted.into_iter().collect();
        let found = self.look_up(wanted).await?;
        let some = |found: FoundOffset| (found.offset >= 0).then_some(found);
        Ok(found.into_iter().map(|(partition, found)| (partition, some(found))).collect())
    }

    /// As [`Consumer::beginning_offsets`](super::Consumer::beginning_offsets).
    ///
    /// # Errors
    /// The same.
    pub async fn beginning_offsets<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<Vec<(TopicPartition, i64)>, Error> {
        let wanted = partitions.into_iter().map(|known| (known.clone(), offsets::EARLIEST));
        self.ends(wanted.collect()).await
    }

    /// As [`Consumer::end_offsets`](super::Consumer::end_offsets).
    ///
    /// # Errors
    /// The same.
    pub async fn end_offsets<'a>(
        &self,
        partitions: impl IntoIterator<Item = &'a TopicPartition>,
    ) -> Result<Vec<(TopicPartition, i64)>, Error> {
        let wanted = partitions.into_iter().map(|known| (known.clone(), offsets::LATEST));
        self.ends(wanted.collect()).await
    }

    async fn ends(
        &self,
        wanted: Vec<(TopicPartition, i64)>,
    ) -> Result<Vec<(TopicPartition, i64)>, Error> {
        let found = self.look_up(wanted).await?;
        Ok(found.into_iter().map(|(partition, found)| (partition, found.offset)).collect())
    }

    /// Looks offsets up by time, or by what stands for the beginning or the end.
    async fn look_up(
        &self,
        wanted: Vec<(TopicPartition, i64)>,
    ) -> Result<Vec<(TopicPartition, FoundOffset)>, Error> {
        let config = &self.shared.config;
        offsets::look_up_all(
            &self.shared.cluster,
            wanted,
            config.isolation_level,
            |failures| config.backoff(failures),
            config.default_api_timeout,
        )
        .await
    }

    /// As [`Consumer::group_metadata`](super::Consumer::group_metadata).
    pub fn group_metadata(&self) -> Option<GroupMetadata> {
        let state = self.shared.lock();
        let group = state.group.as_ref()?;
        let member = group.member.as_ref();
        let identity = member.and_then(Member::identity);
        let has_lost = group.losses() != group.heard_losses();
        Some(GroupMetadata {
            is_lost: member.is_some() && (identity.is_none() || has_lost),
            group_id: Arc::clone(&group.id),
            generation_id: identity.map_or(-1, |identity| identity.generation_or_epoch),
            member_id: member.map_or_else(String::new, |member| member.member_id().to_owned()),
            group_instance_id: group.instance.clone(),
        })
    }

    /// As [`Consumer::group_status`](super::Consumer::group_status).
    pub fn group_status(&self) -> Option<GroupStatus> {
        let state = self.shared.lock();
        Some(state.group.as_ref()?.member.as_ref()?.why())
    }

    /// As [`Consumer::enforce_rebalance`](super::Consumer::enforce_rebalance).
    ///
    /// # Errors
    /// The same.
    pub fn enforce_rebalance(&self, reason: impl Into<String>) -> Result<(), Error> {
        let reason = reason.into();
        let is_done = self.shared.with_group(|group, _| {
            let is_done = group.member.as_mut()?.enforce_rebalance(reason);
            group.wake.notify_one();
            Some(is_done)
        });
        match is_done.flatten() {
            Some(true) => Ok(()),
            Some(false) => Err(Error::Config {
                name: "group.protocol".into(),
                reason: "leaves it to the coordinator when a group is rebalanced".to_owned(),
            }),
            None => Err(Error::NotSubscribed),
        }
    }

    /// As [`Consumer::why`](super::Consumer::why).
    pub fn why(&self) -> Why {
        let metadata = self.shared.cluster.metadata();
        let now_ms = self.shared.now_ms();
        let state = self.shared.lock();
        let budget = state.fetcher.budget();
        let group = state.group.as_ref();
        let member = group.and_then(|group| group.member.as_ref());
        let mut partitions = state.fetcher.statuses();
        for (partition, status) in &mut partitions {
            let has_been_read = matches!(
                status,
                PartitionStatus::Failed(_)
                    | PartitionStatus::Revoking
                    | PartitionStatus::Paused { .. }
                    | PartitionStatus::Buffered { .. }
            );
            if has_been_read {
                continue;
            }
            let known = metadata.topics.get(&*partition.topic);
            if state.absent.contains_key(&partition.topic) {
                *status = PartitionStatus::UnknownTopic;
            } else if let Some(topic) = known
                && !topic.partitions.contains_key(&partition.partition)
            {
                *status = PartitionStatus::UnknownPartition { partitions: topic.partitions.len() };
            }
        }
        Why {
            group: member.map(Member::why),
            group_error: member.and_then(|member| member.last_error().cloned()),
            unanswered: group.and_then(|group| group.unanswered(now_ms)).map(|asked| Unanswered {
                api: asked.api,
                broker: asked.broker,
                since: Duration::from_millis(now_ms.saturating_sub(asked.since_ms)),
            }),
            absent: state.absent.iter().map(|(topic, code)| (Arc::clone(topic), *code)).collect(),
            position_resets: state.fetcher.last_resets(),
            partitions,
            budget: (budget.used(), budget.limit()),
        }
    }

    /// As [`Consumer::counts`](super::Consumer::counts).
    pub fn counts(&self) -> FetchCounts {
        self.shared.lock().fetcher.counts()
    }

    /// As [`Consumer::budget_used`](super::Consumer::budget_used).
    pub fn budget_used(&self) -> (usize, usize) {
        let state = self.shared.lock();
        let budget = state.fetcher.budget();
        (budget.used(), budget.peak())
    }

    /// As [`Consumer::cluster`](super::Consumer::cluster).
    pub fn cluster(&self) -> &Cluster {
        &self.shared.cluster
    }

    /// The partitions that are read, in no order.
    pub(crate) fn partitions(&self) -> Vec<TopicPartition> {
        self.shared.lock().fetcher.partitions().map(|partition| (**partition).clone()).collect()
    }
}

impl fmt::Debug for ConsumerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
