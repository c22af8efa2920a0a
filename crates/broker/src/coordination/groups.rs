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
use super::runtime::{LoadFigures, PartitionRunners, RuntimeConfig, Submitted};
use crate::node::clock::Clock;
use crate::replicas::partition::Partition;

/// Groups that are counted while their shard waits.
const COUNTED_AT_ONCE: usize = 1_000;

/// Group coordination on the partitions of `__consumer_offsets` that this broker leads.
pub(crate) struct Groups {
    runners: Arc<PartitionRunners<GroupShard>>,
    current: Arc<Current>,
    /// Memory that members leave behind in all shards.
    account: Arc<Account>,
    rebalance_log: Arc<RebalanceLog>,
}

/// The settings and the image. They are stored before shards get an event, so that a shard that becomes active misses
/// none.
struct Current {
    config: ArcSwap<GroupConfig>,
    image: ArcSwap<MetadataImage>,
}

impl Current {
    /// Events for a shard that becomes active.
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
        let runners =
            PartitionRunners::new(runtime, clock, shard, initial, |_, effect| match effect {});
        Groups { runners, current, account, rebalance_log }
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
        self.runners.panics()
    }

    /// This broker leads a partition of the topic from now on.
    pub(crate) fn elected(&self, partition: Arc<Partition>, leader_epoch: i32) {
        self.runners.elected(partition, leader_epoch);
    }

    /// It does not any more.
    pub(crate) fn resigned(&self, index: i32, leader_epoch: Option<i32>) {
        self.runners.resigned(index, leader_epoch);
    }

    /// The broker stops.
    pub(crate) fn close(&self) {
        self.runners.close();
    }

    /// Asks the shard of a partition of the topic, if there is one. `proof` is of a request in a producer's transaction:
    /// the log of the partition is shown it.
    pub(crate) fn submit(
        &self,
        partition: Option<i32>,
        submission: Submission,
        proof: Option<TransactionCheck>,
    ) -> Submitted<GroupResponse> {
        // The only check: shards do not repeat it. These settings are the newest, and shards follow them.
        if let Some(refused) = submission.precheck(&self.current.config.load()) {
            return Submitted::Now(refused);
        }
        match partition {
            Some(partition) => self.runners.submit(partition, submission, proof),
            None => Submitted::Now(submission.refused(ErrorCode::NOT_COORDINATOR)),
        }
    }

    /// A partition of the topic that this broker coordinates the groups of.
    pub(crate) fn partition(&self, index: i32) -> Option<Arc<Partition>> {
        self.runners.partition(index)
    }

    /// Ends a producer's transaction in a partition of the topic: writes the marker, and has what the transaction
    /// committed count, or forgets it. The answer is given when the marker is committed: NONE, the log's error, the
    /// runner's own, or NOT_COORDINATOR where no shard is.
    pub(crate) fn complete_transaction(
        &self,
        partition: i32,
        end: TransactionEnd,
    ) -> impl Future<Output = ErrorCode> + Send + use<> {
        let request = GroupRequest::CompleteTransaction(end);
        let submission = Submission { context: RequestContext::default(), request };
        let submitted = self.runners.submit(partition, submission, None);
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

    /// Whether the end of a member's connection is reported to its group's coordinator.
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
            self.runners.event_to(index, event);
        }
    }

    /// Asks every shard led here.
    pub(crate) fn submit_all(&self, submission: &Submission) -> Vec<Submitted<GroupResponse>> {
        self.runners
            .partitions()
            .into_iter()
            .map(|index| self.runners.submit(index, submission.clone(), None))
            .collect()
    }

    /// The metadata that the first shards begin with.
    pub(crate) fn begin(&self, image: Arc<MetadataImage>) {
        self.current.image.store(image);
    }

    /// The metadata changed. Shards get an event if topics, partitions or brokers did: assignors look at the racks of
    /// brokers. On a thread that may wait.
    pub(crate) fn metadata_changed(&self, image: Arc<MetadataImage>, changes: &Arc<Changes>) {
        self.current.image.store(Arc::clone(&image));
        let matters = !changes.created_topics.is_empty()
            || !changes.deleted_topics.is_empty()
            || !changes.partitions.is_empty()
            || !changes.brokers.is_empty();
        if matters {
            self.runners.event(|| GroupEvent::Metadata {
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
        self.runners.event(|| GroupEvent::Config(Arc::clone(&config)));
    }

    /// How long loads of partitions took of late.
    pub(crate) fn load_figures(&self) -> LoadFigures {
        self.runners.load_figures()
    }

    /// What the shards led here hold, and what they have done.
    pub(crate) fn counts(&self) -> (GroupCounts, GroupCounters) {
        let mut counts = GroupCounts::default();
        let mut counters = GroupCounters::default();
        let mut after = None;
        self.runners.each_shard(|_, shard| {
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
