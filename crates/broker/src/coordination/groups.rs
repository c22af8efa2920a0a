//! The group coordinator of this broker: routes requests to the shard their group lives in.

use std::ops::ControlFlow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use thalweg_coordinator::{Account, TransactionEnd};
use thalweg_groups::{
    ConnectionId, GroupConfig, GroupCounters, GroupCounts, GroupEvent, GroupRequest, GroupResponse,
    GroupShard, RebalanceObserver, RequestContext, Submission, partition_for,
};
use thalweg_log::TransactionCheck;
use thalweg_metadata::image::{Changes, MetadataImage};
use thalweg_wire::ErrorCode;

use super::rebalance_log::RebalanceLog;
use super::runtime::{Coordinator, LoadFigures, RuntimeConfig, Submitted};
use crate::node::clock::Clock;
use crate::replicas::partition::Partition;

/// Groups that are counted while their shard waits.
const COUNTED_AT_ONCE: usize = 1_000;

/// Group coordination on the partitions of `__consumer_offsets` that this broker leads.
pub(crate) struct Groups {
    coordinator: Arc<Coordinator<GroupShard>>,
    current: Arc<Current>,
    /// Memory that members leave behind in all shards.
    account: Arc<Account>,
    rebalance_log: Arc<RebalanceLog>,
}

/// What is so now. It is brought up to date before shards are told of a change, so that one that
/// becomes active meanwhile misses nothing.
struct Current {
    config: ArcSwap<GroupConfig>,
    image: ArcSwap<MetadataImage>,
}

impl Current {
    /// What a shard that becomes active is told.
    fn events(&self) -> Vec<GroupEvent> {
        let image = self.image.load_full();
        let metadata = GroupEvent::Metadata { image, changes: None };
        vec![GroupEvent::Config(self.config.load_full()), metadata]
    }
}

impl Groups {
    pub(crate) fn new(
        config: GroupConfig,
        image: Arc<MetadataImage>,
        memory: usize,
        runtime: RuntimeConfig,
        clock: Clock,
    ) -> Groups {
        let config = ArcSwap::from_pointee(config);
        let current = Arc::new(Current { config, image: ArcSwap::new(image) });
        let account = Account::new(memory);
        let rebalance_log = Arc::new(RebalanceLog::default());
        let parts = (Arc::clone(&current), Arc::clone(&account), Arc::clone(&rebalance_log));
        let shard = move || {
            let (current, account, log) = &parts;
            GroupShard::with_account(current.config.load_full(), Arc::clone(account))
                .with_rebalance_observer(Arc::clone(log) as Arc<dyn RebalanceObserver>)
        };
        let known = Arc::clone(&current);
        let initial = move || known.events();
        let coordinator =
            Coordinator::new(runtime, clock, shard, initial, |_, effect| match effect {});
        Groups { coordinator, current, account, rebalance_log }
    }

    /// Memory that members leave behind in all shards.
    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// Logs rebalances that are over, for as long as it is polled.
    pub(crate) fn log_rebalances(&self) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.rebalance_log).write()
    }

    /// Panics that took a shard down.
    pub(crate) fn panics(&self) -> u64 {
        self.coordinator.panics()
    }

    /// This broker leads a partition of the topic from now on.
    pub(crate) fn elected(&self, partition: Arc<Partition>, leader_epoch: i32) {
        self.coordinator.elected(partition, leader_epoch);
    }

    /// It does not any more.
    pub(crate) fn resigned(&self, index: i32, leader_epoch: Option<i32>) {
        self.coordinator.resigned(index, leader_epoch);
    }

    /// The broker stops.
    pub(crate) fn close(&self) {
        self.coordinator.close();
    }

    /// Asks the shard of a partition of the topic, if there is one.
    pub(crate) fn submit(
        &self,
        partition: Option<i32>,
        submission: Submission,
    ) -> Submitted<GroupResponse> {
        self.submit_with(partition, submission, None)
    }

    /// The same for a request of a producer's transaction, with what the log of the partition is shown of it.
    pub(crate) fn submit_transactional(
        &self,
        partition: Option<i32>,
        submission: Submission,
        check: TransactionCheck,
    ) -> Submitted<GroupResponse> {
        self.submit_with(partition, submission, Some(check))
    }

    fn submit_with(
        &self,
        partition: Option<i32>,
        submission: Submission,
        check: Option<TransactionCheck>,
    ) -> Submitted<GroupResponse> {
        // The only check: shards do not repeat it. These settings are the newest, and shards follow them.
        if let Some(refused) = submission.precheck(&self.current.config.load()) {
            return Submitted::Now(refused);
        }
        match partition {
            Some(partition) => self.coordinator.submit_verified(partition, submission, check),
            None => Submitted::Now(submission.refused(ErrorCode::NOT_COORDINATOR)),
        }
    }

    /// A partition of the topic that this broker coordinates the groups of.
    pub(crate) fn partition(&self, index: i32) -> Option<Arc<Partition>> {
        self.coordinator.partition(index)
    }

    /// Ends a producer's transaction in a partition of the topic: writes the marker, and has what the transaction
    /// committed count, or forgets it. What the transaction's coordinator is told comes when the marker is committed;
    /// it is the log's error or the runner's own, and NOT_COORDINATOR where no shard is.
    pub(crate) fn complete_transaction(
        &self,
        partition: i32,
        end: TransactionEnd,
    ) -> impl Future<Output = ErrorCode> + Send + use<> {
        let request = GroupRequest::CompleteTransaction(end);
        let submission = Submission { context: RequestContext::default(), request };
        let submitted = self.coordinator.submit(partition, submission);
        async {
            match submitted.wait().await {
                Some(GroupResponse::CompleteTransaction(code)) => code,
                _ => ErrorCode::NOT_COORDINATOR,
            }
        }
    }

    /// Whether heartbeats of a group's members are held back until there is something to say.
    pub(crate) fn holds_heartbeats(&self, group: &str) -> bool {
        self.current.config.load().of_group(group).heartbeat_push
    }

    /// Whether the coordinator of a group is to hear of connections of its members that end.
    pub(crate) fn hears_of_disconnects(&self, group: &str) -> bool {
        self.current.config.load().of_group(group).disconnect_grace_ms > 0
    }

    /// A connection has ended that requests of a member came over; the groups' topic has so many partitions.
    pub(crate) fn disconnected(
        &self,
        group: &Arc<str>,
        partitions: u32,
        member: &Arc<str>,
        connection: ConnectionId,
    ) {
        if partitions > 0 {
            let (group, member) = (Arc::clone(group), Arc::clone(member));
            let index = partition_for(&group, partitions);
            let event = GroupEvent::Disconnected { group, member, connection };
            self.coordinator.event_to(index, event);
        }
    }

    /// Asks every shard led here.
    pub(crate) fn submit_all(&self, submission: &Submission) -> Vec<Submitted<GroupResponse>> {
        self.coordinator
            .partitions()
            .into_iter()
            .map(|index| self.coordinator.submit(index, submission.clone()))
            .collect()
    }

    /// The metadata that the first shards begin with.
    pub(crate) fn begin(&self, image: Arc<MetadataImage>) {
        self.current.image.store(image);
    }

    /// The metadata changed. Shards hear of what may matter to groups: topics, their partitions, and the
    /// brokers, whose racks assignors look at. On a thread that may wait.
    pub(crate) fn metadata_changed(&self, image: Arc<MetadataImage>, changes: &Arc<Changes>) {
        self.current.image.store(Arc::clone(&image));
        let matters = !changes.created_topics.is_empty()
            || !changes.deleted_topics.is_empty()
            || !changes.partitions.is_empty()
            || !changes.brokers.is_empty();
        if matters {
            self.coordinator.event(|| GroupEvent::Metadata {
                image: Arc::clone(&image),
                changes: Some(Arc::clone(changes)),
            });
        }
    }

    /// The settings may have changed.
    pub(crate) fn configure(&self, config: GroupConfig) {
        if **self.current.config.load() == config {
            return;
        }
        let config = Arc::new(config);
        self.current.config.store(Arc::clone(&config));
        self.coordinator.event(|| GroupEvent::Config(Arc::clone(&config)));
    }

    /// How long loads of partitions took of late.
    pub(crate) fn load_figures(&self) -> LoadFigures {
        self.coordinator.load_figures()
    }

    /// What the shards led here hold, and what they have done.
    pub(crate) fn counts(&self) -> (GroupCounts, GroupCounters) {
        let mut counts = GroupCounts::default();
        let mut counters = GroupCounters::default();
        let mut after = None;
        self.coordinator.each_shard(|_, shard| {
            if after.is_none() {
                counters += shard.counters();
            }
            let (some, last) = shard.counts_after(after.as_ref(), COUNTED_AT_ONCE);
            counts += some;
            after = last;
            match after {
                Some(_) => ControlFlow::Continue(()),
                None => ControlFlow::Break(()),
            }
        });
        (counts, counters)
    }
}

#[cfg(test)]
mod tests;
