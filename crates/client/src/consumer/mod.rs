//! A consumer: polls that cost nothing when there is something, nothing fetched twice, one limit on
//! memory.

mod aside;
mod commit;
mod config;
mod errands;
mod group;
mod handle;
mod listener;
mod membership;
mod receiver;
mod shared;
mod source;
mod why;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub(crate) use commit::is_passing;
pub use config::ConsumerConfig;
pub(crate) use handle::ConsumerHandle;
pub use listener::{ListenerFuture, Rebalance, RebalanceListener};
pub use why::Why;

use crate::cluster::Cluster;
use crate::coordinator::CommittedOffset;
use crate::core::fetch::{Budget, FetchCounts, Fetcher, Loan, OffsetReset, Reading, Records};
use crate::core::group::{GroupStatus, Member, Subscription};
use crate::core::partition::{Position, TopicPartition};
use crate::error::Error;
use crate::offsets::{self, FoundOffset};
use listener::Event;
use shared::{Shared, State};

/// A member's application is known to be polling with such a precision.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Reads partitions. Fetching goes on in the background, within
/// [`ConsumerConfig::fetch_budget`]; a poll takes what is there, without waking anybody.
///
/// Every method may be cancelled by dropping its future: no record is lost by it. A consumer that
/// is dropped commits nothing and leaves its group waiting for the session timeout:
/// [`Self::close`] it.
///
/// As a member of a group:
///
/// ```no_run
/// use thalweg::{Cluster, Consumer, ConsumerConfig, Options};
///
/// # async fn example() -> Result<(), thalweg::Error> {
/// let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
/// let config = ConsumerConfig { group_id: Some("billing".into()), ..Default::default() };
/// let mut consumer = Consumer::new(cluster, config)?;
/// consumer.subscribe(["orders"])?;
/// loop {
///     for record in &consumer.poll(500).await? {
///         println!("{} {:?}", record.offset(), record.value());
///     }
///     // The next poll means that these are done with; `auto_commit` commits them.
/// }
/// # }
/// ```
///
/// Of partitions chosen by hand:
///
/// ```no_run
/// use thalweg::{Cluster, Consumer, ConsumerConfig, Options, TopicPartition};
///
/// # async fn example() -> Result<(), thalweg::Error> {
/// let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
/// let mut consumer = Consumer::new(cluster, ConsumerConfig::default())?;
/// consumer.assign([(TopicPartition::new("orders", 0), None)])?;
/// loop {
///     for record in &consumer.poll(500).await? {
///         println!("{} {:?}", record.offset(), record.value());
///     }
/// }
/// # }
/// ```
pub struct Consumer {
    shared: Arc<Shared>,
    errands: [JoinHandle<()>; 2],
    membership: Option<JoinHandle<()>>,
    /// The listener at work, which a poll that was dropped left in the middle.
    hearing: Option<Hearing>,
    /// What polls take without a look at the rest.
    loan: Loan,
    /// When the last poll looked at the rest, for a member of a group.
    looked_ms: Option<u64>,
}

/// A listener at work.
struct Hearing {
    event: Event,
    future: ListenerFuture<'static>,
}

/// A poll that waits: the group must not take that for an application that is stuck.
struct InPoll<'a>(&'a Arc<Shared>);

impl Drop for InPoll<'_> {
    fn drop(&mut self) {
        self.0.with_group(|group, _| group.in_poll = false);
    }
}

impl Consumer {
    /// A consumer of nothing yet. Must be called within a tokio runtime, on which its tasks run.
    ///
    /// # Errors
    /// [`Error::Config`] when settings make no sense.
    pub fn new(cluster: Cluster, config: ConsumerConfig) -> Result<Consumer, Error> {
        let config = config.bounded();
        let settings = config.fetch_settings()?;
        let errand = Arc::new(Notify::new());
        let room = Arc::new(Notify::new());
        let told = Arc::clone(&room);
        let budget = Budget::new(config.fetch_budget, move || told.notify_one());
        let fetcher = Fetcher::new(settings, budget);
        let loan = fetcher.loan();
        let shared = Arc::new(Shared::new(cluster, config, fetcher, Arc::clone(&errand)));
        let errands = [
            tokio::spawn(errands::run(Arc::downgrade(&shared), errand)),
            tokio::spawn(errands::watch_room(Arc::downgrade(&shared), room)),
        ];
        Ok(Consumer { shared, errands, membership: None, hearing: None, loan, looked_ms: None })
    }

    /// Reads exactly these partitions from now on, each from the position given or, without one,
    /// from where [`ConsumerConfig::group_id`] committed, or else from where
    /// [`ConsumerConfig::auto_offset_reset`] says. Those that were read already stay as they are,
    /// with what is buffered.
    ///
    /// What was read of partitions that are gone now is not committed by this.
    ///
    /// # Errors
    /// [`Error::Config`] for a consumer that subscribes: there the group assigns.
    pub fn assign(
        &mut self,
        partitions: impl IntoIterator<Item = (TopicPartition, Option<Position>)>,
    ) -> Result<(), Error> {
        let wanted: Vec<_> = partitions.into_iter().collect();
        self.shared.with(|state| {
            if state.group.as_ref().is_some_and(|group| group.member.is_some()) {
                return Err(Error::Config {
                    name: "group.id".into(),
                    reason: "has a subscription, whose partitions the group assigns".to_owned(),
                });
            }
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
                match from {
                    None if state.group.is_some() => state.fetcher.add_committed(partition),
                    from => state.fetcher.add(partition, from),
                }
            }
            // What other consumers of this cluster learned is known here, too.
            state.fetcher.update_leaders(&self.shared.cluster.metadata());
            Ok(())
        })?;
        self.shared.errand.notify_one();
        Ok(())
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
    /// [`Error::Topic`] for a topic that cannot be read at all, [`Error::Authentication`] while a
    /// broker does not trust this client, [`Error::Membership`] when the member is out of its group
    /// for good. What may pass by itself is tried again instead: [`Self::why`] shows it.
    pub async fn poll(&mut self, max: usize) -> Result<Records, Error> {
        let records = self.try_poll(max)?;
        if !records.is_empty() || max == 0 {
            return Ok(records);
        }
        let shared = Arc::clone(&self.shared);
        shared.with_group(|group, _| group.in_poll = true);
        let _in_poll = InPoll(&shared);
        loop {
            self.hear().await;
            let records = self.try_poll(max)?;
            if !records.is_empty() {
                return Ok(records);
            }
            if self.shared.with_group(|group, _| group.is_waiting_for_listener()) != Some(true) {
                self.shared.arrived.notified().await;
            }
        }
    }

    /// As [`Self::poll`], but returns without records when none came in time.
    pub async fn poll_timeout(&mut self, max: usize, limit: Duration) -> Result<Records, Error> {
        let records = self.try_poll(max)?;
        if !records.is_empty() || max == 0 {
            return Ok(records);
        }
        let waits = self.hearing.is_some()
            || self.shared.with_group(|group, _| group.is_waiting_for_listener()) == Some(true);
        if limit.is_zero() && !waits {
            return Ok(records);
        }
        match tokio::time::timeout(limit, self.poll(max)).await {
            Ok(polled) => polled,
            Err(_) => Ok(Records::default()),
        }
    }

    /// Takes up to `max` of the records that are there. A listener is not called by this: after a
    /// rebalance one of the others has to be, or nothing more comes.
    ///
    /// # Errors
    /// As for [`Self::poll`].
    pub fn try_poll(&mut self, max: usize) -> Result<Records, Error> {
        if self.hearing.is_some() {
            return Ok(Records::default());
        }
        // A member's polls have to be heard of, though not each.
        let is_heard = self.looked_ms.is_none_or(|at| {
            let most = self.shared.config.max_poll_interval / 2;
            let since = Duration::from_millis(self.shared.now_ms() - at);
            since < LOOK_EVERY.min(most)
        });
        if is_heard && let Some(records) = self.loan.take(max) {
            return Ok(records);
        }
        let (loan, looked_ms) = (&mut self.loan, &mut self.looked_ms);
        self.shared.with(|state| {
            if let Some(error) = state.errors.pop_front() {
                return Err(error);
            }
            if let Some(group) = &mut state.group {
                // What earlier polls gave is done with.
                state.fetcher.acknowledge();
                let now = self.shared.now_ms();
                *looked_ms = Some(now);
                group.polled(now);
                if group.is_waiting_for_listener() {
                    return Ok(Records::default());
                }
            }
            let mut records = Records::default();
            state
                .fetcher
                .take(max, &mut records)
                .map_err(|error| Error::Partition(Box::new(error)))?;
            state.fetcher.lend(loan, max);
            if let Some(group) = &mut state.group
                && !records.is_empty()
            {
                // At once, not when the poll returns: what is given up from here on waits until
                // the application is done with these.
                group.in_poll = false;
            }
            Ok(records)
        })
    }

    /// Lets the listener hear of all that it has to.
    async fn hear(&mut self) {
        loop {
            if self.hearing.is_none() {
                let next = self.shared.with_group(|group, _| {
                    let event = group.events.front()?.clone();
                    Some((event, Arc::clone(group.listener.as_ref()?)))
                });
                let Some((event, listener)) = next.flatten() else { return };
                let (partitions, deadline) = match &event {
                    Event::Assigned(partitions) | Event::Lost(partitions) => (partitions, None),
                    Event::Revoked { partitions, deadline_ms } => {
                        (partitions, Some(self.shared.instant_of(*deadline_ms)))
                    }
                };
                let rebalance = Rebalance {
                    shared: Arc::clone(&self.shared),
                    partitions: partitions.clone(),
                    deadline,
                };
                let kind = event.clone();
                let future: ListenerFuture<'static> = Box::pin(async move {
                    match kind {
                        Event::Assigned(_) => listener.assigned(&rebalance).await,
                        Event::Revoked { .. } => listener.revoked(&rebalance).await,
                        Event::Lost(_) => listener.lost(&rebalance).await,
                    }
                });
                self.hearing = Some(Hearing { event, future });
            }
            let Some(hearing) = &mut self.hearing else { return };
            hearing.future.as_mut().await;
            let Some(Hearing { event, .. }) = self.hearing.take() else { return };
            self.shared.with_group(|group, fetcher| group.heard(fetcher, &event));
        }
    }

    /// Keeps the member in its group, and lets the listener hear of what it has to, for as long as
    /// this is polled: records are taken elsewhere, by a [`ConsumerHandle`].
    pub(crate) async fn attend(&mut self) {
        let shared = Arc::clone(&self.shared);
        shared.with_group(|group, _| group.in_poll = true);
        let _in_poll = InPoll(&shared);
        loop {
            let now = shared.now_ms();
            shared.with_group(|group, _| group.polled(now));
            self.hear().await;
            shared.rebalanced.notified().await;
        }
    }

    /// Takes records, commits and asks while another task looks after this.
    pub(crate) fn handle(&self) -> ConsumerHandle {
        ConsumerHandle::new(Arc::clone(&self.shared))
    }

    /// Says how records will be taken; before there is any partition.
    pub(crate) fn set_reading(&mut self, reading: Reading) {
        self.shared.with(|state| state.fetcher.set_reading(reading));
    }

    /// Joins the group of [`ConsumerConfig::group_id`] and reads what it assigns of these topics,
    /// from where the group committed.
    ///
    /// # Errors
    /// [`Error::Config`] without a group, or after [`Self::assign`].
    pub fn subscribe<T: Into<Arc<str>>>(
        &mut self,
        topics: impl IntoIterator<Item = T>,
    ) -> Result<(), Error> {
        let topics = topics.into_iter().map(Into::into).collect();
        self.subscribe_to(Subscription::Topics(topics))
    }

    /// As [`Self::subscribe`], to the topics that match a pattern, also those that come later. In a
    /// classic group the pattern is a regular expression of this client's, in one of KIP-848 of the
    /// broker's (RE2); both match whole names.
    ///
    /// # Errors
    /// As [`Self::subscribe`], and for a pattern that is none.
    pub fn subscribe_pattern(&mut self, pattern: &str) -> Result<(), Error> {
        self.shared.config.check_pattern(pattern)?;
        self.subscribe_to(Subscription::Pattern(pattern.to_owned()))
    }

    fn subscribe_to(&mut self, subscription: Subscription) -> Result<(), Error> {
        let now = self.shared.now_ms();
        let settings = {
            let state = self.shared.lock();
            let group = state.group.as_ref().ok_or_else(|| Error::Config {
                name: "group.id".into(),
                reason: "is needed to subscribe".to_owned(),
            })?;
            if group.member.is_none() && state.fetcher.partitions().next().is_some() {
                return Err(Error::Config {
                    name: "group.id".into(),
                    reason:
                        "is of no use while partitions are assigned by hand; unassign them first"
                            .to_owned(),
                });
            }
            let options = self.shared.cluster.options();
            self.shared.config.group_settings(&group.id, options.request_timeout)
        };
        let random = random_bytes();
        let started = self.shared.with(|state| {
            state.subscription = Some(subscription.clone());
            state.wants_metadata = true;
            let group = state.group.as_mut()?;
            match &mut group.member {
                Some(member) if !member.is_done() => {
                    member.set_subscription(subscription, now);
                    group.wake.notify_one();
                    None
                }
                _ => {
                    group.member = Some(Member::new(settings, subscription, random, now));
                    Some(Arc::clone(&group.wake))
                }
            }
        });
        if let Some(wake) = started {
            let shared = Arc::downgrade(&self.shared);
            let task = tokio::spawn(membership::run(shared, wake));
            if let Some(before) = self.membership.replace(task) {
                // Its member is out of the group; what it still waits for concerns nobody.
                before.abort();
            }
        }
        self.shared.errand.notify_one();
        Ok(())
    }

    /// Hears of partitions that come and go. To be set before subscribing.
    pub fn set_listener(&mut self, listener: impl RebalanceListener) {
        self.shared.with_group(|group, _| group.listener = Some(Arc::new(listener)));
    }

    /// Commits everything that polls have given so far, and waits until the coordinator has it. More
    /// than it takes at once, about 1 MiB of records, is sent in parts. Where something is refused, or
    /// this is dropped, others may be committed all the same.
    ///
    /// # Errors
    /// [`Error::Group`] when this is no longer a member, or not of this generation: the partitions
    /// may be others' already. [`Error::Config`] without a group.
    pub async fn commit(&mut self) -> Result<(), Error> {
        let offsets = self.shared.with(|state| {
            let partitions: Vec<_> = state.fetcher.partitions().cloned().collect();
            partitions
                .into_iter()
                .filter_map(|partition| {
                    Some(((*partition).clone(), state.fetcher.position(&partition)?))
                })
                .collect::<Vec<_>>()
        });
        self.commit_offsets(offsets).await
    }

    /// Commits offsets: for each partition the next record to read.
    ///
    /// # Errors
    /// As [`Self::commit`].
    pub async fn commit_offsets(
        &self,
        offsets: impl IntoIterator<Item = (TopicPartition, Position)>,
    ) -> Result<(), Error> {
        self.commit_with_metadata(
            offsets.into_iter().map(|(partition, position)| {
                (partition, CommittedOffset { position, metadata: None })
            }),
        )
        .await
    }

    /// As [`Self::commit_offsets`], with a text beside each offset.
    ///
    /// # Errors
    /// As [`Self::commit`].
    pub async fn commit_with_metadata(
        &self,
        offsets: impl IntoIterator<Item = (TopicPartition, CommittedOffset)>,
    ) -> Result<(), Error> {
        commit::commit(&self.shared, offsets.into_iter().collect()).await
    }

    /// What the group has committed for partitions.
    ///
    /// # Errors
    /// [`Error::Group`] when the coordinator refuses; [`Error::Config`] without a group.
    pub async fn committed(
        &self,
        partitions: &[TopicPartition],
    ) -> Result<Vec<(TopicPartition, Option<CommittedOffset>)>, Error> {
        commit::committed(&self.shared, partitions).await
    }

    /// What the membership is doing, or waiting for; `None` for a consumer that does not subscribe.
    pub fn group_status(&self) -> Option<GroupStatus> {
        let state = self.shared.lock();
        Some(state.group.as_ref()?.member.as_ref()?.why())
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
    /// ([`ConsumerConfig::default_api_timeout`]).
    pub async fn offsets_for_times(
        &self,
        wanted: impl IntoIterator<Item = (TopicPartition, i64)>,
    ) -> Result<Vec<(TopicPartition, Option<FoundOffset>)>, Error> {
        let found = self.handle().look_up(wanted.into_iter().collect()).await?;
        let some = |found: FoundOffset| (found.offset >= 0).then_some(found);
        Ok(found.into_iter().map(|(partition, found)| (partition, some(found))).collect())
    }

    /// The first offset of each partition.
    ///
    /// # Errors
    /// As [`Self::offsets_for_times`].
    pub async fn beginning_offsets(
        &self,
        partitions: &[TopicPartition],
    ) -> Result<Vec<(TopicPartition, i64)>, Error> {
        let wanted = partitions.iter().map(|partition| (partition.clone(), offsets::EARLIEST));
        let found = self.handle().look_up(wanted.collect()).await?;
        Ok(found.into_iter().map(|(partition, found)| (partition, found.offset)).collect())
    }

    /// The offset behind the last record of each partition; behind the last one that is committed,
    /// where only those are read.
    ///
    /// # Errors
    /// As [`Self::offsets_for_times`].
    pub async fn end_offsets(
        &self,
        partitions: &[TopicPartition],
    ) -> Result<Vec<(TopicPartition, i64)>, Error> {
        let wanted = partitions.iter().map(|partition| (partition.clone(), offsets::LATEST));
        let found = self.handle().look_up(wanted.collect()).await?;
        Ok(found.into_iter().map(|(partition, found)| (partition, found.offset)).collect())
    }

    /// Leaves the group: hands everything over, with a commit if [`ConsumerConfig::auto_commit`] is
    /// set, and waits until the coordinator knows, `limit` at most. Without this the group waits
    /// for the session timeout.
    pub async fn close(mut self, limit: Duration) {
        let now = self.shared.now_ms();
        let leaving = self.shared.with_group(|group, fetcher| {
            fetcher.acknowledge();
            group.in_poll = true;
            let member = group.member.as_mut()?;
            member.leave(now);
            group.wake.notify_one();
            Some(())
        });
        if leaving.flatten().is_none() {
            // No member: there may be something to commit all the same.
            let all = self.assignment();
            let commit = membership::commit_acknowledged(&self.shared, &all);
            if tokio::time::timeout(limit, commit).await.is_err() {
                tracing::warn!("what was read was not committed in time");
            }
            return;
        }
        let left = async {
            loop {
                self.hear().await;
                let is_done = self.shared.with_group(|group, _| {
                    group.polled(now);
                    group.member.as_ref().is_none_or(Member::is_done)
                });
                if is_done != Some(false) {
                    return;
                }
                // The membership's task tells of everything that happens.
                let moment = Duration::from_millis(20);
                drop(tokio::time::timeout(moment, self.shared.arrived.notified()).await);
            }
        };
        if tokio::time::timeout(limit, left).await.is_err() {
            tracing::warn!("the group was not left in time");
        }
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
            let mut all = true;
            for partition in partitions {
                all &= act(state, partition);
            }
            all
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
        self.errands.iter().for_each(JoinHandle::abort);
        if let Some(membership) = &self.membership {
            membership.abort();
        }
        self.shared.stop();
    }
}

/// Bytes that nobody can guess, from what the standard library draws for its hash tables.
fn random_bytes() -> [u8; 16] {
    use std::hash::{BuildHasher as _, RandomState};
    let draw = || RandomState::new().hash_one(std::time::Instant::now());
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&draw().to_le_bytes());
    bytes[8..].copy_from_slice(&draw().to_le_bytes());
    bytes
}
