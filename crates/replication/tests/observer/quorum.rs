//! A quorum of controllers that answers as Kafka's do: a model of KRaft without its messages.

use std::collections::BTreeMap;

use bytes::Bytes;
use thalweg_random::Random;
use thalweg_replication::observer::{Endpoint, SnapshotId};
use thalweg_replication::{EpochEnd, Epochs};
use thalweg_wire::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
    SnapshotId as WireSnapshotId,
};
use thalweg_wire::messages::{
    FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse,
    fetch_snapshot_response,
};
use thalweg_wire::{ErrorCode, Uuid};

/// A record: the epoch of its leader, and a value that no other has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub epoch: i32,
    pub value: u64,
}

const RECORD_LEN: usize = 12;

impl Record {
    pub fn encode(records: &[Record]) -> Bytes {
        let mut out = Vec::with_capacity(records.len() * RECORD_LEN);
        for record in records {
            out.extend_from_slice(&record.epoch.to_be_bytes());
            out.extend_from_slice(&record.value.to_be_bytes());
        }
        out.into()
    }

    pub fn decode(bytes: &[u8]) -> Vec<Record> {
        assert_eq!(bytes.len() % RECORD_LEN, 0, "whole records");
        let mut records = Vec::new();
        for record in bytes.chunks_exact(RECORD_LEN) {
            let (epoch, value) = record.split_at(4);
            records.push(Record {
                epoch: i32::from_be_bytes(epoch.try_into().unwrap()),
                value: u64::from_be_bytes(value.try_into().unwrap()),
            });
        }
        records
    }
}

/// A log that may begin behind a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// What the log begins with: everything before its end is in the snapshot.
    pub base: Option<SnapshotId>,
    pub records: Vec<Record>,
}

impl Log {
    pub fn start(&self) -> i64 {
        self.base.map_or(0, |base| base.end_offset)
    }

    pub fn from(&self, offset: i64) -> &[Record] {
        &self.records[(offset - self.start()) as usize..]
    }

    pub fn truncate(&mut self, to: i64) {
        let keep = (to - self.start()) as usize;
        self.records.truncate(keep);
    }

    /// The epochs that are known: that of the snapshot, and those of the records.
    fn epochs(&self) -> Vec<(i32, i64)> {
        let mut epochs: Vec<(i32, i64)> = Vec::new();
        for (offset, record) in (self.start()..).zip(&self.records) {
            if epochs.last().is_none_or(|(epoch, _)| *epoch < record.epoch) {
                epochs.push((record.epoch, offset));
            }
        }
        if let Some(base) = self.base
            && epochs.first().is_none_or(|(epoch, _)| *epoch > base.epoch)
        {
            epochs.insert(0, (base.epoch, base.end_offset));
        }
        epochs
    }
}

impl Epochs for Log {
    fn log_end(&self) -> i64 {
        self.start() + self.records.len() as i64
    }

    fn latest_epoch(&self) -> Option<i32> {
        self.epochs().last().map(|(epoch, _)| *epoch)
    }

    fn end_of(&self, epoch: i32) -> Option<EpochEnd> {
        let epochs = self.epochs();
        epochs.last().filter(|(last, _)| *last >= epoch)?;
        let next = epochs.partition_point(|(known, _)| *known <= epoch);
        let end_offset = epochs.get(next).map_or(self.log_end(), |(_, start)| *start);
        let epoch = next.checked_sub(1).map_or(epoch, |at| epochs[at].0);
        Some(EpochEnd { epoch, end_offset })
    }
}

/// One controller: what it knows of the quorum, and its log.
#[derive(Clone, Debug, Default)]
pub struct Controller {
    pub epoch: i32,
    pub leader: Option<i32>,
    pub log: Log,
    /// `None` until something of a new leader's epoch is committed.
    pub high_watermark: Option<i64>,
    /// Oldest first.
    pub snapshots: Vec<SnapshotId>,
    pub is_down: bool,
    /// It leads no more, and goes on to name itself, as one does that was removed.
    pub is_resigned: bool,
}

/// All of them.
pub struct Quorum {
    pub controllers: BTreeMap<i32, Controller>,
    /// What is committed, from offset 0 on.
    pub committed: Vec<Record>,
    /// Who was elected in which epoch.
    pub elected: BTreeMap<i32, i32>,
    /// Controllers have lost what was committed.
    pub has_forgotten: bool,
    next_value: u64,
    /// Whether answers name endpoints, as controllers from 3.9 on do.
    pub names_endpoints: bool,
    /// Whether who does not lead says so before it looks at the epoch that it is asked in.
    pub ignores_epochs: bool,
}

pub const CLUSTER: &str = "cluster";

pub fn endpoint(id: i32) -> Endpoint {
    Endpoint { host: format!("controller-{id}"), port: 9093 }
}

impl Quorum {
    pub fn new(count: i32, names_endpoints: bool) -> Quorum {
        let controllers = (100..100 + count).map(|id| (id, Controller::default())).collect();
        Quorum {
            controllers,
            committed: Vec::new(),
            elected: BTreeMap::new(),
            has_forgotten: false,
            next_value: 1,
            names_endpoints,
            ignores_epochs: false,
        }
    }

    fn majority(&self) -> usize {
        self.controllers.len() / 2 + 1
    }

    pub fn leader(&self) -> Option<i32> {
        let leads = |(id, it): &(&i32, &Controller)| {
            it.leader == Some(**id) && !it.is_down && !it.is_resigned
        };
        let leaders = self.controllers.iter().filter(leads);
        leaders.max_by_key(|(_, it)| it.epoch).map(|(id, _)| *id)
    }

    /// Whoever can be is elected, in a new epoch that some hear of.
    pub fn elect(&mut self, random: &mut Random) {
        let alive: Vec<i32> =
            self.controllers.iter().filter(|(_, it)| !it.is_down).map(|(id, _)| *id).collect();
        if alive.len() < self.majority() {
            return;
        }
        let candidate = *random.pick(&alive);
        let newest = |it: &Controller| (it.log.latest_epoch().unwrap_or(0), it.log.log_end());
        let own = newest(&self.controllers[&candidate]);
        let voters: Vec<i32> =
            alive.into_iter().filter(|id| newest(&self.controllers[id]) <= own).collect();
        if voters.len() < self.majority() {
            return;
        }
        let epoch = self.controllers.values().map(|it| it.epoch).max().unwrap_or(0) + 1;
        // A vote is known to who gave it, the result perhaps not yet.
        for id in voters {
            let voter = self.controllers.get_mut(&id).unwrap();
            voter.epoch = epoch;
            voter.is_resigned = false;
            voter.leader = (id == candidate || random.chance(50)).then_some(candidate);
            if id == candidate {
                voter.high_watermark = None;
            }
        }
        self.elected.insert(epoch, candidate);
        // Its first record; before that is committed, nothing of it counts.
        self.append(candidate);
    }

    /// The leader is removed, and does not know who leads instead.
    pub fn resign(&mut self) {
        if let Some(leader) = self.leader() {
            self.controllers.get_mut(&leader).unwrap().is_resigned = true;
        }
    }

    /// All disks lose the end of what was committed.
    pub fn forget(&mut self, random: &mut Random) {
        // A log that does not reach back needs a snapshot.
        let needed = |it: &Controller| {
            it.snapshots.first().filter(|_| it.log.base.is_some()).map_or(0, |id| id.end_offset)
        };
        let lowest = self.controllers.values().map(needed).max().unwrap_or(0);
        let keep =
            lowest + random.below((self.committed.len() as i64 - lowest) as usize + 1) as i64;
        self.has_forgotten = true;
        self.committed.truncate(keep as usize);
        for controller in self.controllers.values_mut() {
            controller.log.truncate(keep.min(controller.log.log_end()));
            controller.snapshots.retain(|snapshot| snapshot.end_offset <= keep);
            controller.high_watermark = None;
            controller.leader = None;
        }
    }

    fn append(&mut self, leader: i32) {
        let value = self.next_value;
        self.next_value += 1;
        let leader = self.controllers.get_mut(&leader).unwrap();
        leader.log.records.push(Record { epoch: leader.epoch, value });
    }

    pub fn write(&mut self, random: &mut Random) {
        if let Some(leader) = self.leader() {
            for _ in 0..=random.below(3) {
                self.append(leader);
            }
        }
    }

    /// A follower takes the leader's log over; what a majority has of the leader's epoch is committed.
    pub fn replicate(&mut self, random: &mut Random) {
        let Some(leader_id) = self.leader() else { return };
        let leader = self.controllers[&leader_id].clone();
        let others: Vec<i32> =
            self.controllers.keys().copied().filter(|id| *id != leader_id).collect();
        if !others.is_empty() {
            let follower = self.controllers.get_mut(random.pick(&others)).unwrap();
            if !follower.is_down && follower.epoch <= leader.epoch {
                follower.epoch = leader.epoch;
                follower.leader = Some(leader_id);
                follower.is_resigned = false;
                follower.log = leader.log.clone();
                follower.snapshots = leader.snapshots.clone();
            }
        }
        let mut ends: Vec<i64> = self
            .controllers
            .values()
            // What is of its epoch came from it, and all before that with it.
            .filter(|it| it.epoch == leader.epoch && it.log.latest_epoch() == Some(leader.epoch))
            .map(|it| it.log.log_end())
            .collect();
        ends.sort_unstable_by(|one, other| other.cmp(one));
        let Some(&end) = ends.get(self.majority() - 1) else { return };
        let is_own = end > leader.log.start()
            && leader.log.from(end - 1).first().is_some_and(|last| last.epoch == leader.epoch);
        if is_own {
            let from = self.committed.len() as i64;
            if end > from {
                self.committed.extend_from_slice(&leader.log.from(from)[..(end - from) as usize]);
            }
            let leader = self.controllers.get_mut(&leader_id).unwrap();
            leader.high_watermark = leader.high_watermark.max(Some(end));
        }
    }

    /// Somebody writes a snapshot of what is committed, or takes away what is in one.
    pub fn snapshot(&mut self, random: &mut Random) {
        let ids: Vec<i32> = self.controllers.keys().copied().collect();
        let id = *random.pick(&ids);
        let controller = self.controllers.get_mut(&id).unwrap();
        if random.chance(60) {
            let end = controller.high_watermark.unwrap_or(0);
            let is_new = controller.snapshots.last().is_none_or(|last| last.end_offset < end);
            if end > controller.log.start() && is_new {
                let epoch = self.committed[end as usize - 1].epoch;
                controller.snapshots.push(SnapshotId { end_offset: end, epoch });
            }
        } else if controller.snapshots.len() > 1 {
            controller.snapshots.remove(0);
        } else if let Some(&first) = controller.snapshots.first()
            && first.end_offset > controller.log.start()
        {
            let records = controller.log.from(first.end_offset).to_vec();
            controller.log = Log { base: Some(first), records };
        }
    }

    pub fn content(&self, id: SnapshotId) -> Bytes {
        Record::encode(&self.committed[..id.end_offset as usize])
    }

    /// What the one at `endpoint` answers, if there is one.
    pub fn fetch(
        &self,
        endpoint: &Endpoint,
        request: &FetchRequest,
        random: &mut Random,
    ) -> Option<FetchResponse> {
        let (&id, controller) = self.at(endpoint)?;
        assert_eq!(request.cluster_id.as_deref(), Some(CLUSTER));
        let asked = &request.topics[0].partitions[0];
        assert!(asked.current_leader_epoch >= 0 && asked.last_fetched_epoch >= 0);
        let mut partition = PartitionData {
            current_leader: LeaderIdAndEpoch {
                leader_id: controller.leader.unwrap_or(-1),
                leader_epoch: controller.epoch,
                ..LeaderIdAndEpoch::default()
            },
            high_watermark: -1,
            ..PartitionData::default()
        };
        partition.error_code = match self.ignores_epochs && !controller.leads(id) {
            true => ErrorCode::NOT_LEADER_OR_FOLLOWER,
            false => controller.check(id, asked.current_leader_epoch),
        };
        if partition.error_code.is_ok() {
            let log = &controller.log;
            let (offset, epoch) = (asked.fetch_offset, asked.last_fetched_epoch);
            partition.high_watermark = controller.high_watermark.unwrap_or(-1);
            let is_behind = controller.snapshots.first().is_some_and(|earliest| {
                offset < log.start()
                    || offset == log.start() && epoch != earliest.epoch
                    || epoch < earliest.epoch
            });
            let end = log.end_of(epoch).unwrap_or(EpochEnd {
                epoch: log.latest_epoch().unwrap_or(0),
                end_offset: log.log_end(),
            });
            if log.start() == 0 && offset == 0 && epoch == 0 && controller.snapshots.is_empty() {
                partition.records = Some(Record::encode(&log.records));
            } else if is_behind || offset == 0 && !controller.snapshots.is_empty() {
                let latest = controller.snapshots.last().unwrap();
                partition.snapshot_id = WireSnapshotId {
                    end_offset: latest.end_offset,
                    epoch: latest.epoch,
                    ..WireSnapshotId::default()
                };
            } else if end.epoch != epoch || end.end_offset < offset {
                partition.diverging_epoch = EpochEndOffset {
                    epoch: end.epoch,
                    end_offset: end.end_offset,
                    ..EpochEndOffset::default()
                };
            } else {
                // To the log's end, or not as far.
                let records = log.from(offset);
                let count = if random.chance(70) { records.len() } else { records.len() / 2 };
                partition.records = Some(Record::encode(&records[..count]));
            }
        }
        let node_endpoints = self.named(controller.leader, |id, it| NodeEndpoint {
            node_id: id,
            host: it.host,
            port: i32::from(it.port),
            ..NodeEndpoint::default()
        });
        Some(FetchResponse {
            responses: vec![FetchableTopicResponse {
                topic_id: Uuid::ONE,
                partitions: vec![partition],
                ..FetchableTopicResponse::default()
            }],
            node_endpoints,
            ..FetchResponse::default()
        })
    }

    /// The same for a piece of a snapshot.
    pub fn fetch_snapshot(
        &self,
        endpoint: &Endpoint,
        request: &FetchSnapshotRequest,
        random: &mut Random,
    ) -> Option<FetchSnapshotResponse> {
        use fetch_snapshot_response as wire;
        let (&id, controller) = self.at(endpoint)?;
        let asked = &request.topics[0].partitions[0];
        let wanted =
            SnapshotId { end_offset: asked.snapshot_id.end_offset, epoch: asked.snapshot_id.epoch };
        let error_code = controller.check(id, asked.current_leader_epoch);
        if error_code.is_err() || !controller.snapshots.contains(&wanted) {
            // As 4.3.0 answers what it means to refuse by partition.
            let error_code = ErrorCode::UNKNOWN_SERVER_ERROR;
            return Some(FetchSnapshotResponse { error_code, ..FetchSnapshotResponse::default() });
        }
        let content = self.content(wanted);
        let position = asked.position as usize;
        let len = (1 + random.below(40)).min(content.len() - position);
        let partition = wire::PartitionSnapshot {
            snapshot_id: wire::SnapshotId {
                end_offset: wanted.end_offset,
                epoch: wanted.epoch,
                ..wire::SnapshotId::default()
            },
            current_leader: wire::LeaderIdAndEpoch {
                leader_id: controller.leader.unwrap_or(-1),
                leader_epoch: controller.epoch,
                ..wire::LeaderIdAndEpoch::default()
            },
            size: content.len() as i64,
            position: asked.position,
            unaligned_records: content.slice(position..position + len),
            ..wire::PartitionSnapshot::default()
        };
        Some(FetchSnapshotResponse {
            topics: vec![wire::TopicSnapshot {
                name: "__cluster_metadata".into(),
                partitions: vec![partition],
                ..wire::TopicSnapshot::default()
            }],
            ..FetchSnapshotResponse::default()
        })
    }

    fn at(&self, wanted: &Endpoint) -> Option<(&i32, &Controller)> {
        let mut all = self.controllers.iter();
        all.find(|(id, it)| endpoint(**id) == *wanted && !it.is_down)
    }

    fn named<T>(&self, leader: Option<i32>, make: impl Fn(i32, Endpoint) -> T) -> Vec<T> {
        let named = leader.filter(|_| self.names_endpoints);
        named.into_iter().map(|id| make(id, endpoint(id))).collect()
    }
}

impl Controller {
    fn leads(&self, id: i32) -> bool {
        self.leader == Some(id) && !self.is_resigned
    }

    fn check(&self, id: i32, epoch: i32) -> ErrorCode {
        if epoch < self.epoch {
            ErrorCode::FENCED_LEADER_EPOCH
        } else if epoch > self.epoch {
            ErrorCode::UNKNOWN_LEADER_EPOCH
        } else if !self.leads(id) {
            ErrorCode::NOT_LEADER_OR_FOLLOWER
        } else {
            ErrorCode::NONE
        }
    }
}
