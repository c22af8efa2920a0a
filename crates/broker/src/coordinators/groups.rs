//! The group coordinator of this broker: routes requests to the shard their group lives in.

use std::sync::Arc;

use thalweg_coordinator::Account;
use thalweg_groups::{
    GroupConfig, GroupCounters, GroupCounts, GroupRequest, GroupResponse, GroupShard,
    RequestContext, Submission, partition_for,
};
use thalweg_wire::{ErrorCode, Uuid};

use super::runtime::{Coordinator, RuntimeConfig, Submitted};
use crate::clock::Clock;
use crate::partition::Partition;

/// Group coordination on the partitions of `__consumer_offsets` that this broker leads.
pub(crate) struct Groups {
    coordinator: Arc<Coordinator<GroupShard>>,
    config: Arc<GroupConfig>,
    /// Memory that members leave behind in all shards.
    account: Arc<Account>,
}

impl Groups {
    pub(crate) fn new(
        config: GroupConfig,
        memory: usize,
        runtime: RuntimeConfig,
        clock: Clock,
    ) -> Groups {
        let config = Arc::new(config);
        let account = Account::new(memory);
        let parts = (Arc::clone(&config), Arc::clone(&account));
        let shard = move || GroupShard::with_account(Arc::clone(&parts.0), Arc::clone(&parts.1));
        Groups { coordinator: Coordinator::new(runtime, clock, shard), config, account }
    }

    /// Memory that members leave behind in all shards.
    pub(crate) fn account(&self) -> &Account {
        &self.account
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

    /// Asks the shard of `group`, out of `partitions` that the topic has.
    pub(crate) fn submit(
        &self,
        group: &str,
        partitions: u32,
        submission: Submission,
    ) -> Submitted<GroupResponse> {
        if let Some(refused) = submission.precheck(&self.config) {
            return Submitted::Now(refused);
        }
        if partitions == 0 {
            return Submitted::Now(submission.refused(ErrorCode::NOT_COORDINATOR));
        }
        self.coordinator.submit(partition_for(group, partitions), submission)
    }

    /// Asks every shard led here.
    pub(crate) fn submit_all(&self, submission: &Submission) -> Vec<Submitted<GroupResponse>> {
        self.coordinator
            .partitions()
            .into_iter()
            .map(|index| self.coordinator.submit(index, submission.clone()))
            .collect()
    }

    /// Topics are gone: their offsets go too.
    pub(crate) fn topics_deleted(&self, topics: Vec<(Uuid, String)>) {
        let submission = Submission {
            context: RequestContext::default(),
            request: GroupRequest::TopicsDeleted(topics),
        };
        // Nobody waits for the answers; shards that are loading replay the topics as they are.
        drop(self.submit_all(&submission));
    }

    /// What the shards led here hold, and what they have done.
    pub(crate) fn counts(&self) -> (GroupCounts, GroupCounters) {
        let mut counts = GroupCounts::default();
        let mut counters = GroupCounters::default();
        self.coordinator.each_shard(|_, shard| {
            counts += shard.counts();
            counters += shard.counters();
        });
        (counts, counters)
    }
}
