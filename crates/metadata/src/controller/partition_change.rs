//! The change of one partition: who leads, who is in sync, whether a reassignment is complete.
//!
//! Callers say what they want - another ISR, other replicas, an election - and get the record that
//! brings it about, or nothing when everything already is as it should be.

use thalweg_wire::Uuid;
use thalweg_wire::messages::PartitionChangeRecord;

use super::Context;
use crate::image::{NO_LEADER, NO_LEADER_CHANGE, Partition, TopicImage};

/// How a leader is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Election {
    /// The preferred replica, if it can.
    Preferred,
    /// The leader stays if it can.
    Online,
    /// If nobody else can, a replica that is not in sync.
    Unclean,
}

/// A change of a partition that is being worked out.
pub(super) struct PartitionChange<'a> {
    context: &'a Context<'a>,
    topic_id: Uuid,
    partition_id: i32,
    partition: &'a Partition,
    acceptable: Box<dyn Fn(i32) -> bool + 'a>,
    min_isr: usize,
    elr_enabled: bool,
    pub(super) election: Election,
    pub(super) isr: Vec<i32>,
    pub(super) replicas: Vec<i32>,
    pub(super) removing: Vec<i32>,
    pub(super) adding: Vec<i32>,
    /// Whether the leader that stays has yet to recover from an unclean election.
    pub(super) is_recovering: bool,
    /// Brokers that lost what they had not flushed.
    pub(super) unclean_shutdown: Vec<i32>,
    /// Directories that replicas turned out to be in.
    pub(super) directories: Vec<(i32, Uuid)>,
    elr: Vec<i32>,
}

impl<'a> PartitionChange<'a> {
    /// Nothing changed yet; brokers that are active may lead.
    pub(super) fn new(
        context: &'a Context<'a>,
        topic: &TopicImage,
        partition_id: i32,
        partition: &'a Partition,
    ) -> PartitionChange<'a> {
        PartitionChange {
            context,
            topic_id: topic.id,
            partition_id,
            partition,
            acceptable: Box::new(move |broker| context.may_lead(partition, broker)),
            min_isr: context.min_isr(topic),
            elr_enabled: context.image.features.elr_enabled(),
            election: Election::Online,
            isr: partition.isr.clone(),
            replicas: partition.replicas.clone(),
            removing: partition.removing_replicas.clone(),
            adding: partition.adding_replicas.clone(),
            is_recovering: partition.is_recovering,
            unclean_shutdown: Vec::new(),
            directories: Vec::new(),
            elr: partition.elr.clone(),
        }
    }

    /// Other brokers may lead than those that are active.
    pub(super) fn acceptable(mut self, acceptable: impl Fn(i32) -> bool + 'a) -> Self {
        self.acceptable = Box::new(acceptable);
        self
    }

    /// The record, or `None` if nothing changes.
    pub(super) fn build(mut self) -> Option<PartitionChangeRecord> {
        let mut record = PartitionChangeRecord {
            topic_id: self.topic_id,
            partition_id: self.partition_id,
            ..PartitionChangeRecord::default()
        };
        self.complete_reassignment();
        self.update_elr();
        self.elect(&mut record);
        if record.leader == NO_LEADER_CHANGE
            && !contains_all(&self.replicas, &self.partition.replicas)
        {
            // Replicas that are taken away must not go on under the epoch in which they counted.
            record.leader = self.partition.leader;
        }
        if record.isr.is_some() || !self.elr_enabled {
            self.elr.clear();
        }
        if self.elr != self.partition.elr {
            record.eligible_leader_replicas = Some(self.elr.clone());
        }
        // With ELR nobody has to be in sync; without it somebody always is.
        if record.isr.is_none()
            && (!self.isr.is_empty() || self.elr_enabled)
            && self.isr != self.partition.isr
        {
            record.isr = Some(self.isr.clone());
        }
        if !self.context.metadata_version().keeps_epoch_on_shrink()
            && record.leader == NO_LEADER_CHANGE
            && record.isr.as_ref().is_some_and(|isr| !contains_all(isr, &self.partition.isr))
        {
            record.leader = self.partition.leader;
        }
        self.remember_last_leader(&mut record);
        self.assignment(&mut record);
        if self.is_recovering != self.partition.is_recovering {
            record.leader_recovery_state = i8::from(self.is_recovering);
        }
        (!is_no_op(&record)).then_some(record)
    }

    fn complete_reassignment(&mut self) {
        if self.removing.is_empty() && self.adding.is_empty() {
            return;
        }
        let stays = |replica: &i32| !self.removing.contains(replica);
        let isr: Vec<i32> = self.isr.iter().copied().filter(stays).collect();
        let replicas: Vec<i32> = self.replicas.iter().copied().filter(stays).collect();
        if !self.removing.is_empty() && (isr.is_empty() || replicas.is_empty()) {
            return;
        }
        if !contains_all(&isr, &self.adding) {
            return;
        }
        // With fewer replicas than before, all that remain must be in sync already.
        if self.adding.len() < self.removing.len() && !contains_all(&isr, &replicas) {
            return;
        }
        self.isr = isr;
        self.replicas = replicas;
        self.removing.clear();
        self.adding.clear();
    }

    fn update_elr(&mut self) {
        if !self.elr_enabled {
            return;
        }
        if self.isr.len() >= self.min_isr {
            self.elr.clear();
            return;
        }
        let mut candidates = self.elr.clone();
        candidates.extend(&self.partition.isr);
        candidates.sort_unstable();
        candidates.dedup();
        candidates.retain(|replica| {
            !self.isr.contains(replica) && !self.unclean_shutdown.contains(replica)
        });
        self.elr = candidates;
    }

    fn can_lead(&self, replica: i32) -> bool {
        let complete =
            self.isr.contains(&replica) || (self.isr.is_empty() && self.elr.contains(&replica));
        complete && (self.acceptable)(replica)
    }

    /// The next leader, and whether it might lack records.
    fn next_leader(&self) -> (i32, bool) {
        let preferred = self.replicas.first().copied();
        if self.election == Election::Preferred
            && let Some(preferred) = preferred.filter(|replica| self.can_lead(*replica))
        {
            return (preferred, false);
        }
        if self.can_lead(self.partition.leader) {
            return (self.partition.leader, false);
        }
        let skip = usize::from(self.election == Election::Preferred);
        if let Some(online) = self.replicas.iter().skip(skip).find(|r| self.can_lead(**r)) {
            return (*online, false);
        }
        if let Some(last) = self.last_leader() {
            return (last, true);
        }
        if self.election == Election::Unclean
            && let Some(any) = self.replicas.iter().find(|r| (self.acceptable)(**r))
        {
            return (*any, true);
        }
        (NO_LEADER, false)
    }

    /// The leader before the partition lost all that were complete, if it is back.
    fn last_leader(&self) -> Option<i32> {
        if !self.elr_enabled || !self.elr.is_empty() || !self.isr.is_empty() {
            return None;
        }
        match self.partition.last_known_elr[..] {
            [last] if (self.acceptable)(last) => Some(last),
            _ => None,
        }
    }

    fn elect(&mut self, record: &mut PartitionChangeRecord) {
        let (leader, unclean) = self.next_leader();
        if leader == self.partition.leader {
            return;
        }
        if self.elr.contains(&leader) {
            self.isr = vec![leader];
            self.elr.retain(|replica| *replica != leader);
        }
        record.leader = leader;
        if unclean {
            record.isr = Some(vec![leader]);
            if !self.partition.is_recovering {
                record.leader_recovery_state = 1;
            }
        }
    }

    fn remember_last_leader(&self, record: &mut PartitionChangeRecord) {
        if !self.elr_enabled {
            return;
        }
        let remembered = !self.partition.last_known_elr.is_empty();
        if record.leader == NO_LEADER && !remembered {
            record.last_known_elr = Some(vec![self.partition.leader]);
        } else if record.leader >= 0 && remembered {
            record.last_known_elr = Some(Vec::new());
        }
    }

    fn assignment(&self, record: &mut PartitionChangeRecord) {
        if !self.replicas.is_empty() {
            if self.context.metadata_version().has_directory_assignment() {
                let directories: Vec<Uuid> =
                    self.replicas.iter().map(|replica| self.directory(*replica)).collect();
                if directories != self.partition.directories {
                    record.directories = Some(directories);
                }
            }
            if self.replicas != self.partition.replicas {
                record.replicas = Some(self.replicas.clone());
            }
        }
        if self.removing != self.partition.removing_replicas {
            record.removing_replicas = Some(self.removing.clone());
        }
        if self.adding != self.partition.adding_replicas {
            record.adding_replicas = Some(self.adding.clone());
        }
    }

    fn directory(&self, replica: i32) -> Uuid {
        let chosen = self.directories.iter().find(|(broker, _)| *broker == replica);
        chosen
            .map(|(_, directory)| *directory)
            .or_else(|| self.partition.directory(replica))
            .unwrap_or_else(|| self.context.default_directory(replica))
    }
}

fn contains_all(haystack: &[i32], needles: &[i32]) -> bool {
    needles.iter().all(|needle| haystack.contains(needle))
}

fn is_no_op(record: &PartitionChangeRecord) -> bool {
    *record
        == PartitionChangeRecord {
            topic_id: record.topic_id,
            partition_id: record.partition_id,
            ..PartitionChangeRecord::default()
        }
}

/// Whom an event among the brokers takes out of ISRs, or brings back.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BrokerEvent {
    /// Leaves ISRs and leaderships.
    pub(super) removed: Option<i32>,
    /// May lead from now on.
    pub(super) added: Option<i32>,
    /// Came back without what it had not flushed: leaves ISRs and ELRs.
    pub(super) unclean: Option<i32>,
}

/// The changes an event causes in the partitions that `concerns` picks.
pub(super) fn leader_and_isr_changes<'a>(
    context: &'a Context<'a>,
    event: BrokerEvent,
    concerns: impl Fn(&Partition) -> bool,
) -> Vec<PartitionChangeRecord> {
    let mut records = Vec::new();
    for topic in context.image.topics.iter() {
        // Looked up once per topic that has any such partition.
        let mut unclean = None;
        for (index, partition) in &topic.partitions {
            if !concerns(partition) {
                continue;
            }
            let unclean = *unclean.get_or_insert_with(|| context.unclean_elections(&topic.name));
            records
                .extend(leader_and_isr_change(context, event, unclean, topic, *index, partition));
        }
    }
    records
}

/// The change an event causes in one partition.
pub(super) fn leader_and_isr_change<'a>(
    context: &'a Context<'a>,
    event: BrokerEvent,
    unclean_elections: bool,
    topic: &TopicImage,
    index: i32,
    partition: &'a Partition,
) -> Option<PartitionChangeRecord> {
    let gone = move |broker| event.removed == Some(broker) || event.unclean == Some(broker);
    let mut change =
        PartitionChange::new(context, topic, index, partition).acceptable(move |broker| {
            !gone(broker)
                && (event.added == Some(broker) || context.image.cluster.is_active(broker))
                && context.has_online_replica(partition, broker)
        });
    if unclean_elections {
        change.election = Election::Unclean;
    }
    change.unclean_shutdown.extend(event.unclean);
    change.isr.retain(|broker| !gone(*broker));
    change.build()
}
