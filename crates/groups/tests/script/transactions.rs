//! Operations of producers: offsets in transactions, and their ends. `oracle/TxnOracle.java` has them, too.

use thalweg_coordinator::{Producer, TransactionEnd};
use thalweg_groups::GroupRequest;
use thalweg_random::Random;
use thalweg_wire::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use thalweg_wire::messages::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};

use super::consumer::Metadata;
use super::random::Operations;
use super::{Names, Op, World, set};

fn producer(op: &Op<'_>) -> Producer {
    Producer { id: op.number("pid", 7), epoch: op.number("pe", 0) }
}

/// `tcommit g=g v=5 pid=7 pe=0 o=t1:0:12:text:3`, with `m`, `gen` and `i` of a member.
pub fn commit(op: &Op<'_>, metadata: &Metadata) -> GroupRequest {
    let producer = producer(op);
    let topic = |offset: &str| {
        let parts: Vec<&str> = offset.split(':').collect();
        TxnOffsetCommitRequestTopic {
            name: parts[0].to_owned(),
            topic_id: metadata.topic_id(parts[0]),
            partitions: vec![TxnOffsetCommitRequestPartition {
                partition_index: parts[1].parse().expect("partition"),
                committed_offset: parts[2].parse().expect("offset"),
                committed_metadata: parts.get(3).map(|text| (*text).to_owned()),
                committed_leader_epoch: parts.get(4).map_or(-1, |e| e.parse().expect("epoch")),
                ..Default::default()
            }],
            ..Default::default()
        }
    };
    GroupRequest::TxnOffsetCommit(TxnOffsetCommitRequest {
        transactional_id: op.text("txn", "txn"),
        group_id: op.text("g", ""),
        producer_id: producer.id,
        producer_epoch: producer.epoch,
        generation_id_or_member_epoch: op.number("gen", -1),
        member_id: op.text("m", ""),
        group_instance_id: op.get("i").map(str::to_owned),
        topics: op.list("o").into_iter().map(topic).collect(),
        ..Default::default()
    })
}

/// `txnend pid=7 pe=0 ce=1 tv=2 commit=1`
pub fn end(op: &Op<'_>) -> GroupRequest {
    GroupRequest::CompleteTransaction(TransactionEnd {
        producer: producer(op),
        coordinator_epoch: op.number("ce", 0),
        transaction_version: op.number("tv", 0),
        commit: op.number("commit", 1) == 1,
    })
}

pub fn show_response(r: &TxnOffsetCommitResponse) -> String {
    let partitions = r.topics.iter().flat_map(|topic| {
        let topic_id = topic.topic_id;
        let name = &topic.name;
        let partitions = topic.partitions.iter();
        partitions
            .map(move |p| format!("{name}/{topic_id}/{}/{}", p.partition_index, p.error_code.0))
    });
    format!("tcommit topics={}", set(partitions))
}

pub fn show_marker(end: &TransactionEnd) -> String {
    let Producer { id, epoch } = end.producer;
    let result = if end.commit { "COMMIT" } else { "ABORT" };
    format!("log marker pid={id} pe={epoch} {result} ce={}", end.coordinator_epoch)
}

/// What belongs to a producer's transaction in the log ends with this.
pub fn show_producer(producer: Option<Producer>) -> String {
    producer.map_or_else(String::new, |p| format!(" pid={} pe={}", p.id, p.epoch))
}

/// Operations of another stream, with those of three producers in between.
pub struct WithProducers<G> {
    inner: G,
    random: Random,
    /// What comes next whatever happens.
    next: Option<String>,
}

impl<G> WithProducers<G> {
    pub fn new(seed: u64, inner: G) -> WithProducers<G> {
        WithProducers { inner, random: Random::new(seed ^ 0x7e57), next: None }
    }
}

const GROUPS: [&str; 2] = ["g", "h"];
const TOPICS: [&str; 4] = ["t1", "t2", "t3", "nowhere"];

impl<G: Operations> Operations for WithProducers<G> {
    fn random(&mut self) -> &mut Random {
        self.inner.random()
    }

    fn config(&mut self) -> String {
        self.inner.config()
    }

    fn attempt(&mut self, world: &World, names: &Names) -> Option<String> {
        if let Some(next) = self.next.take() {
            return Some(next);
        }
        match self.random.below(100) {
            0..18 => {
                let commit = self.commit(world, names);
                Some(self.maybe_failing(world, commit))
            }
            18..28 => {
                let (pid, commit) = (self.random.below(3), self.random.below(3).min(1));
                let end = format!("txnend pid={pid} pe=0 ce=1 tv=0 commit={commit}");
                Some(self.maybe_failing(world, end))
            }
            28..32 => {
                let group = self.random.pick(&GROUPS);
                Some(format!("fetch g={group} v=8 o=t1:0,t1:1,t2:0,t2:1 stable=1"))
            }
            _ => self.inner.attempt(world, names),
        }
    }
}

impl<G> WithProducers<G> {
    /// `op`, or before it that the log is to refuse it.
    fn maybe_failing(&mut self, world: &World, op: String) -> String {
        if !world.memory.failures.is_empty() || !self.random.chance(12) {
            return op;
        }
        self.next = Some(op);
        // INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED, NOT_ENOUGH_REPLICAS.
        format!("fail code={}", self.random.pick(&[47, 48, 52, 19]))
    }

    fn commit(&mut self, world: &World, names: &Names) -> String {
        let random = &mut self.random;
        let group_id = *random.pick(&GROUPS);
        let (offset, partition) = (random.below(1000), random.below(2));
        let mut offsets = format!("{}:{partition}:{offset}:m", random.pick(&TOPICS));
        if random.chance(15) {
            offsets.push_str(&format!(",t1:0:{offset}:toolong"));
        }
        if random.chance(20) {
            offsets.push_str(",t2:1:5:x:3");
        }
        let pid = random.below(3);
        let version = random.pick(&[0, 2, 3, 4, 5, 6]);
        let mut op = format!("tcommit g={group_id} v={version} pid={pid} pe=0 o={offsets}");
        // Somebody's who is in the group, mostly.
        let shard = world.shard();
        let mut members: Vec<(String, i32, Option<String>)> = Vec::new();
        if let Some(group) = shard.group(group_id) {
            let of_classic =
                |m: &thalweg_groups::Member| m.instance_id.as_deref().map(str::to_owned);
            members.extend(
                group.members().map(|m| (m.id.to_string(), group.generation(), of_classic(m))),
            );
        }
        if let Some(group) = shard.logged().consumer_group(group_id) {
            members.extend(group.members().values().map(|m| {
                let instance = m.metadata.instance_id.as_deref().map(str::to_owned);
                (m.id.to_string(), m.epoch, instance)
            }));
        }
        let member = match members.len() {
            0 => None,
            _ if random.chance(25) => None,
            _ => Some(random.pick(&members).clone()),
        };
        match member {
            Some((id, generation, instance)) => {
                if let Some(number) = names.number(&id) {
                    let generation = match random.below(10) {
                        0 => generation - 1,
                        1 => generation + 1,
                        2 => 1,
                        _ => generation,
                    };
                    op.push_str(&format!(" m=@{number} gen={generation}"));
                }
                if let Some(instance) = instance.filter(|_| random.chance(60)) {
                    op.push_str(&format!(" i={instance}"));
                }
            }
            None => match random.below(10) {
                0 => op.push_str(" m=stranger gen=1"),
                1 => op.push_str(" gen=2"),
                2 => op.push_str(" i=ia"),
                _ => {}
            },
        }
        op
    }
}
