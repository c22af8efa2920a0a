//! The controller: a model of Kafka's, as far as one partition goes. What it decides goes to the brokers as the
//! records that Kafka's writes; it counts epochs itself.

use std::collections::BTreeMap;

use thalweg_metadata::image::{NO_LEADER_CHANGE, Partition};
use thalweg_replication::{AlterPartition, Altered, BrokerStatus, IsrMember, Replica};
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::{
    BrokerRegistrationChangeRecord, FeatureLevelRecord, PartitionChangeRecord, PartitionRecord,
    RegisterBrokerRecord, TopicRecord,
};
use thalweg_wire::{ErrorCode, Uuid};

use super::Cluster;
use super::log::Log;

pub const TOPIC: Uuid = Uuid::from_u128(0x7777);
pub const METADATA_VERSION: i16 = 30;

/// What the controller holds to be so.
#[derive(Clone, Debug)]
pub struct State {
    pub partition: Partition,
    pub brokers: BTreeMap<i32, BrokerStatus>,
}

/// What it holds to be so, and the records that made it so.
pub struct Decision {
    pub state: State,
    pub records: Vec<MetadataRecord>,
}

impl Decision {
    /// The partition is created: broker 1 leads, everybody is in sync.
    pub fn first(state: State) -> Decision {
        let level = FeatureLevelRecord {
            name: "metadata.version".into(),
            feature_level: METADATA_VERSION,
            ..FeatureLevelRecord::default()
        };
        let mut records = vec![level.into()];
        records.extend(state.brokers.iter().map(|(id, status)| registration(*id, status)));
        let topic = TopicRecord { name: "t".into(), topic_id: TOPIC, ..TopicRecord::default() };
        let partition = PartitionRecord {
            topic_id: TOPIC,
            partition_id: 0,
            replicas: state.partition.replicas.clone(),
            isr: state.partition.isr.clone(),
            leader: state.partition.leader,
            leader_epoch: state.partition.leader_epoch,
            partition_epoch: state.partition.partition_epoch,
            ..PartitionRecord::default()
        };
        records.extend([topic.into(), partition.into()]);
        Decision { state, records }
    }
}

fn registration(broker_id: i32, status: &BrokerStatus) -> MetadataRecord {
    let record = RegisterBrokerRecord {
        broker_id,
        broker_epoch: status.epoch,
        fenced: status.is_fenced,
        in_controlled_shutdown: status.is_in_controlled_shutdown,
        ..RegisterBrokerRecord::default()
    };
    record.into()
}

/// What became of a broker: fenced, unfenced, or about to stop.
fn broker_change(broker_id: i32, status: &BrokerStatus) -> MetadataRecord {
    let record = BrokerRegistrationChangeRecord {
        broker_id,
        broker_epoch: status.epoch,
        fenced: if status.is_fenced { 1 } else { -1 },
        in_controlled_shutdown: i8::from(status.is_in_controlled_shutdown),
        ..BrokerRegistrationChangeRecord::default()
    };
    record.into()
}

impl State {
    /// Whether a broker's replica may lead, or join the ISR.
    fn is_active(&self, id: i32) -> bool {
        let broker = &self.brokers[&id];
        !broker.is_fenced && !broker.is_in_controlled_shutdown
    }

    /// Whether a replica may be in an ISR that is asked for.
    pub fn is_eligible(&self, member: &IsrMember) -> bool {
        self.is_active(member.broker)
            && (member.epoch == -1 || member.epoch == self.brokers[&member.broker].epoch)
            && self.partition.replicas.contains(&member.broker)
    }

    /// Those that have all that is committed: any of them may be elected.
    pub fn complete(&self) -> impl Iterator<Item = i32> {
        self.partition.isr.iter().chain(&self.partition.elr).copied()
    }
}

impl Cluster {
    /// Makes what is in `next` so. `records` say what became of brokers; of the partition only what is different is
    /// written, and neither epoch. A leader that is elected begins an epoch, also if it is the same.
    fn decide(&mut self, mut next: State, is_election: bool, mut records: Vec<MetadataRecord>) {
        let before = &self.newest().partition;
        let after = &mut next.partition;
        let different = |old: &Vec<i32>, new: &Vec<i32>| (old != new).then(|| new.clone());
        let is_election = is_election || after.leader != before.leader;
        let unchanged = PartitionChangeRecord {
            topic_id: TOPIC,
            partition_id: 0,
            ..PartitionChangeRecord::default()
        };
        let change = PartitionChangeRecord {
            leader: if is_election { after.leader } else { NO_LEADER_CHANGE },
            isr: different(&before.isr, &after.isr),
            replicas: different(&before.replicas, &after.replicas),
            adding_replicas: different(&before.adding_replicas, &after.adding_replicas),
            removing_replicas: different(&before.removing_replicas, &after.removing_replicas),
            eligible_leader_replicas: different(&before.elr, &after.elr),
            leader_recovery_state: match after.is_recovering == before.is_recovering {
                true => -1,
                false => i8::from(after.is_recovering),
            },
            ..unchanged.clone()
        };
        if change != unchanged {
            after.leader_epoch += i32::from(is_election);
            after.partition_epoch += 1;
            records.push(change.into());
        }
        if !records.is_empty() {
            self.history.push(Decision { state: next, records });
            self.look_at_complete();
        }
    }

    pub(super) fn alter(
        &mut self,
        from: i32,
        broker_epoch: i64,
        alter: &AlterPartition,
    ) -> Result<Altered, ErrorCode> {
        let mut next = self.newest().clone();
        if next.brokers[&from].epoch != broker_epoch {
            return Err(ErrorCode::STALE_BROKER_EPOCH);
        }
        let partition = &next.partition;
        if partition.leader_epoch != alter.leader_epoch || partition.leader != from {
            return Err(ErrorCode::FENCED_LEADER_EPOCH);
        }
        if partition.partition_epoch != alter.partition_epoch {
            return Err(ErrorCode::INVALID_UPDATE_VERSION);
        }
        // That is said only of what was not done before, either: a leader may take it back.
        if self.random.chance(2) {
            return Err(ErrorCode::OPERATION_NOT_ATTEMPTED);
        }
        if !alter.isr.iter().all(|member| next.is_eligible(member)) {
            return Err(ErrorCode::INELIGIBLE_REPLICA);
        }
        let isr = alter.isr.iter().map(|member| member.broker).collect();
        self.set_isr(&mut next, isr, None);
        next.partition.is_recovering = false;
        let is_smaller = self.complete_reassignment(&mut next);
        self.decide(next, is_smaller, Vec::new());
        let partition = &self.newest().partition;
        if partition.leader != from || partition.leader_epoch != alter.leader_epoch {
            return Err(ErrorCode::NEW_LEADER_ELECTED);
        }
        Ok(Altered {
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            isr: partition.isr.clone(),
        })
    }

    /// The in-sync replicas are these now. Without them a partition has no leader; below `min.insync.replicas`
    /// those that leave are still complete, unless `lost` has lost something.
    fn set_isr(&self, next: &mut State, isr: Vec<i32>, lost: Option<i32>) {
        let complete: Vec<i32> = next.complete().collect();
        let partition = &mut next.partition;
        partition.isr = isr;
        partition.elr.clear();
        let everybody = partition.replicas.len();
        if self.has_elr && partition.isr.len() < self.settings.min_insync_replicas.min(everybody) {
            let stays = |id: &i32| !partition.isr.contains(id) && Some(*id) != lost;
            partition.elr = complete.into_iter().filter(stays).collect();
        }
    }

    /// A broker leaves the ISR, unless it is the last one and nobody may take its place, and leads no more.
    fn expel(&mut self, next: &mut State, id: i32, lost: Option<i32>) {
        let isr: Vec<i32> =
            next.partition.isr.iter().copied().filter(|member| *member != id).collect();
        if self.has_elr || !isr.is_empty() {
            self.set_isr(next, isr, lost);
        }
        if next.partition.leader == id {
            next.partition.leader = -1;
        }
        self.find_leader(next);
    }

    /// Elects one who has everything, if nobody leads; anybody if that is allowed and there is no other.
    fn find_leader(&mut self, next: &mut State) {
        if next.partition.leader != -1 {
            return;
        }
        let can_lead = |id: &&i32| next.is_active(**id);
        let of_isr = next.partition.isr.iter().find(can_lead).copied();
        let of_elr = next.partition.elr.iter().find(can_lead).copied();
        let any: Vec<i32> = next.partition.replicas.iter().filter(can_lead).copied().collect();
        if let Some(leader) = of_isr {
            next.partition.leader = leader;
        } else if let Some(leader) = of_elr {
            self.set_isr(next, vec![leader], None);
            next.partition.leader = leader;
        } else if self.may_lose && !any.is_empty() {
            let leader = *self.random.pick(&any);
            next.partition.elr.clear();
            next.partition.isr = vec![leader];
            next.partition.leader = leader;
            next.partition.is_recovering = true;
            self.has_lost = true;
            self.note(|_| format!("broker {leader} is elected though it may lack something"));
        }
    }

    /// The controller has not heard of a broker for too long; it may be well.
    pub(super) fn fence(&mut self, at: usize) {
        let mut next = self.newest().clone();
        let id = self.brokers[at].id;
        let broker = next.brokers.get_mut(&id).unwrap();
        if !std::mem::replace(&mut broker.is_fenced, true) {
            let records = vec![broker_change(id, broker)];
            self.expel(&mut next, id, None);
            self.note(|_| format!("broker {id} is fenced: {:?}", next.partition));
            self.decide(next, false, records);
        }
    }

    /// The same of all that have what is committed.
    pub(super) fn fence_complete(&mut self) {
        let complete: Vec<i32> = self.newest().complete().collect();
        complete.into_iter().for_each(|id| self.fence(self.at(id)));
    }

    pub(super) fn unfence(&mut self, at: usize) {
        let mut next = self.newest().clone();
        let id = self.brokers[at].id;
        let broker = next.brokers.get_mut(&id).unwrap();
        if !broker.is_in_controlled_shutdown && std::mem::replace(&mut broker.is_fenced, false) {
            let records = vec![broker_change(id, broker)];
            self.find_leader(&mut next);
            self.note(|_| format!("broker {id} is unfenced: {:?}", next.partition));
            self.decide(next, false, records);
        }
    }

    /// A broker is about to stop. It goes on with what it does until it does.
    pub(super) fn shut_down(&mut self, at: usize) {
        let mut next = self.newest().clone();
        let id = self.brokers[at].id;
        let broker = next.brokers.get_mut(&id).unwrap();
        if !broker.is_fenced && !std::mem::replace(&mut broker.is_in_controlled_shutdown, true) {
            let records = vec![broker_change(id, broker)];
            self.expel(&mut next, id, None);
            self.note(|_| format!("broker {id} is about to stop: {:?}", next.partition));
            self.decide(next, false, records);
        }
    }

    /// An operator elects somebody else, or the same one again.
    pub(super) fn elect_any(&mut self) {
        let isr = self.newest().partition.isr.clone();
        if !isr.is_empty() {
            let chosen = *self.random.pick(&isr);
            self.elect(chosen);
        }
    }

    /// The same, and changes his mind before the leader that was replaced hears of it.
    pub(super) fn elect_for_a_while(&mut self) {
        let leader = self.newest().partition.leader;
        if leader != -1 && self.back.is_none() {
            self.back = Some((leader, 100 + self.random.below(300)));
            // Who has least lets the others cut off what they had from the leader that was replaced.
            let others = self.newest().partition.isr.iter().copied().filter(|id| *id != leader);
            match others.min_by_key(|id| self.brokers[self.at(*id)].log.end()) {
                Some(shortest) if self.random.chance(70) => self.elect(shortest),
                _ => self.elect_any(),
            }
        }
    }

    pub(super) fn elect(&mut self, chosen: i32) {
        let mut next = self.newest().clone();
        if next.partition.isr.contains(&chosen) && next.is_active(chosen) {
            next.partition.leader = chosen;
            self.note(|_| format!("broker {chosen} is elected: {:?}", next.partition));
            self.decide(next, true, Vec::new());
        }
    }

    /// An operator gives the partition another replica, or takes one away.
    pub(super) fn reassign(&mut self, at: usize) {
        let mut next = self.newest().clone();
        let id = self.brokers[at].id;
        let partition = &mut next.partition;
        if partition.is_reassigning() {
            return;
        }
        if !partition.replicas.contains(&id) {
            partition.replicas.push(id);
            partition.adding_replicas.push(id);
        } else if partition.replicas.len() > 2 {
            partition.removing_replicas.push(id);
        }
        let is_smaller = self.complete_reassignment(&mut next);
        self.note(|_| format!("another assignment: {:?}", next.partition));
        self.decide(next, is_smaller, Vec::new());
    }

    /// Once those that are added are in sync, or enough are without those that leave, a reassignment is complete.
    /// Whether somebody has left: that begins an epoch, because fetches of who is away must not count.
    fn complete_reassignment(&mut self, next: &mut State) -> bool {
        let partition = &next.partition;
        let leave = partition.removing_replicas.clone();
        let stays = |id: &i32| !leave.contains(id);
        let isr: Vec<i32> = partition.isr.iter().copied().filter(stays).collect();
        let replicas: Vec<i32> = partition.replicas.iter().copied().filter(stays).collect();
        let must_be_in_sync = if leave.is_empty() { &partition.adding_replicas } else { &replicas };
        if !partition.is_reassigning() || !must_be_in_sync.iter().all(|id| isr.contains(id)) {
            return false;
        }
        next.partition.elr.retain(stays);
        next.partition.replicas = replicas;
        self.set_isr(next, isr, None);
        next.partition.elr.retain(stays);
        next.partition.adding_replicas.clear();
        next.partition.removing_replicas.clear();
        if leave.contains(&next.partition.leader) {
            next.partition.leader = -1;
            self.find_leader(next);
        }
        self.has_moved |= !leave.is_empty();
        !leave.is_empty()
    }

    /// A broker's process dies and comes back: what it wrote is there, and an older high watermark. Where its
    /// machine dies, and others have all that is committed, the end of its log is lost. One that was told to stop
    /// loses nothing.
    pub(super) fn restart(&mut self, at: usize) {
        self.next_broker_epoch += 1;
        let epoch = self.next_broker_epoch;
        let mut next = self.newest().clone();
        let id = self.brokers[at].id;
        let has_others = next.complete().any(|other| other != id);
        let is_kind = next.brokers[&id].is_in_controlled_shutdown;
        let is_lossy = !is_kind && has_others && self.random.chance(50);
        if self.random.chance(50) {
            self.delay_fetches(id);
        }
        let broker = &mut self.brokers[at];
        if is_lossy {
            let lost = self.random.below(broker.log.records.len() + 1).min(4);
            broker.log.truncate(broker.log.end() - lost as i64);
        }
        broker.process += 1;
        broker.epoch = epoch;
        (broker.is_asking, broker.follower) = (false, None);
        broker.replica = Replica::new(id);
        broker.log.high_watermark = broker.log.checkpoint;
        broker.waiting.clear();
        (broker.asked, broker.fenced) = (None, -1);
        broker.led = (-1, 0);
        // What the metadata said before it registered was for its earlier process: it would lead again, with less.
        self.catch_up(at);
        if !self.newest().partition.replicas.contains(&id) {
            self.brokers[at].log = Log::default();
        }
        let status = BrokerStatus { epoch, is_fenced: true, is_in_controlled_shutdown: false };
        let records = vec![registration(id, &status)];
        next.brokers.insert(id, status);
        self.expel(&mut next, id, is_lossy.then_some(id));
        self.note(|_| format!("broker {id} restarts: {:?}", next.partition));
        self.decide(next, false, records);
    }
}
