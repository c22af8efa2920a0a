//! What is known of a cluster: brokers, topics with their ids, and who leads each partition.
//!
//! Invariant: one answer never takes a partition's leader epoch back while the topic's id stays the
//! same, so that a broker that lags behind does not undo what is known. Only [`LOWER_ANSWERS_MIN`] answers
//! in a row that agree for [`LOWER_MS_MIN`] do: then the cluster itself went back, for example to an older
//! copy of a broker's data. Should those be of a broker that lags, the refusal of the leader that it names
//! puts that right (KIP-951).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use thalweg_wire::messages::MetadataResponse;
use thalweg_wire::messages::metadata_response::{MetadataResponsePartition, MetadataResponseTopic};
use thalweg_wire::{ErrorCode, Uuid};

use crate::core::partition::TopicPartition;

/// A broker and where it listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broker {
    /// Its id.
    pub id: i32,
    /// Host name or address, as the broker advertises it.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Rack, where it is set.
    pub rack: Option<String>,
}

impl Broker {
    /// `host:port`, with brackets around an IPv6 address.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// A broker as the metadata name it. A broker that is another one refuses the connection (KIP-1242).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeIdentity {
    pub cluster_id: String,
    pub node_id: i32,
}

/// Who leads a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leader {
    /// The broker's id.
    pub id: i32,
    /// Epoch of its leadership; -1 from brokers too old to tell.
    pub epoch: i32,
}

/// A partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Its leader; `None` while there is none.
    pub leader: Option<Leader>,
    /// Brokers that have a replica.
    pub replicas: Vec<i32>,
    /// Replicas in sync.
    pub isr: Vec<i32>,
}

/// A topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topic {
    /// Its id; zero from brokers too old to tell.
    pub id: Uuid,
    /// Whether it is one of Kafka's own.
    pub internal: bool,
    /// By index.
    pub partitions: BTreeMap<i32, Partition>,
}

/// Answers in a row that have to agree on a leader with an older epoch before it is believed.
const LOWER_ANSWERS_MIN: u32 = 5;
/// Time from the first of them to the last. A client that waits for a leader asks every few milliseconds, and a
/// broker may need longer than that for a change of its metadata.
const LOWER_MS_MIN: u64 = 3_000;

/// A leader epoch that went back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LoweredEpoch {
    pub partition: TopicPartition,
    pub from: Leader,
    pub to: Leader,
}

/// Answers in a row that name the same leader with an older epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Claim {
    leader: Leader,
    answers: u32,
    /// When the first of them came.
    since_ms: u64,
}

/// Leaders with older epochs than those that are known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OlderLeaders {
    /// What the last answers said of a partition.
    claims: HashMap<TopicPartition, Claim>,
    /// By which of all changes an epoch was lowered last, counted from 1.
    lowered_by: HashMap<TopicPartition, u64>,
    changes: u64,
    /// To be logged.
    news: Vec<LoweredEpoch>,
}

impl OlderLeaders {
    /// An answer named a leader with an older epoch; says whether it is to be believed.
    fn claim(
        &mut self,
        partition: TopicPartition,
        known: Leader,
        claimed: Leader,
        now_ms: u64,
    ) -> bool {
        let first = Claim { leader: claimed, answers: 0, since_ms: now_ms };
        let claim = self.claims.entry(partition.clone()).or_insert(first);
        if claim.leader != claimed {
            *claim = first;
        }
        claim.answers += 1;
        let is_brief = now_ms.saturating_sub(claim.since_ms) < LOWER_MS_MIN;
        if claimed.id < 0 || claim.answers < LOWER_ANSWERS_MIN || is_brief {
            return false;
        }
        self.claims.remove(&partition);
        self.changes += 1;
        self.lowered_by.insert(partition.clone(), self.changes);
        self.news.push(LoweredEpoch { partition, from: known, to: claimed });
        true
    }

    /// Whether there is nothing, as mostly.
    fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.lowered_by.is_empty()
    }

    /// Forgets a topic that is not there any more.
    fn forget(&mut self, topic: &str) {
        if !self.is_empty() {
            self.claims.retain(|partition, _| *partition.topic != *topic);
            self.lowered_by.retain(|partition, _| *partition.topic != *topic);
        }
    }
}

/// What is known of a cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Metadata {
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The broker that stands for the controller, where one is known.
    pub controller_id: Option<i32>,
    /// Brokers by id.
    pub brokers: BTreeMap<i32, Broker>,
    /// Topics by name.
    pub topics: HashMap<String, Topic>,
    pub(crate) older: OlderLeaders,
}

impl Metadata {
    /// Takes in an answer that came at `now_ms`, by any clock that never goes back. Brokers are replaced; of
    /// topics, those in the answer are. Returns the topics that came with an error, which are forgotten where
    /// the error says they are gone.
    pub fn apply(&mut self, response: &MetadataResponse, now_ms: u64) -> Vec<(String, ErrorCode)> {
        self.take_over(response, now_ms)
    }

    /// As [`Self::apply`], for an answer about all topics there are: others are forgotten.
    pub fn apply_all(
        &mut self,
        response: &MetadataResponse,
        now_ms: u64,
    ) -> Vec<(String, ErrorCode)> {
        let named: HashSet<&str> =
            response.topics.iter().filter_map(|topic| topic.name.as_deref()).collect();
        let older = &mut self.older;
        self.topics.retain(|name, _| {
            let is_named = named.contains(&**name);
            if !is_named {
                older.forget(name);
            }
            is_named
        });
        self.take_over(response, now_ms)
    }

    fn take_over(&mut self, response: &MetadataResponse, now_ms: u64) -> Vec<(String, ErrorCode)> {
        self.cluster_id.clone_from(&response.cluster_id);
        self.controller_id = (response.controller_id >= 0).then_some(response.controller_id);
        self.brokers = response
            .brokers
            .iter()
            .filter_map(|broker| {
                // A port out of range cannot be connected to; the broker is as good as absent.
                let port = u16::try_from(broker.port).ok()?;
                let (host, rack) = (broker.host.clone(), broker.rack.clone());
                Some((broker.node_id, Broker { id: broker.node_id, host, port, rack }))
            })
            .collect();
        let mut failed = Vec::new();
        for topic in &response.topics {
            // Topics asked for by id that nobody has come without a name.
            let Some(name) = &topic.name else { continue };
            if topic.error_code == ErrorCode::NONE {
                let known = self.topics.remove(name);
                let known = known.filter(|known| known.id == topic.topic_id);
                if known.is_none() {
                    self.older.forget(name);
                }
                self.topics.insert(name.clone(), merge(known, topic, &mut self.older, now_ms));
                continue;
            }
            if topic.error_code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION {
                self.topics.remove(name);
                self.older.forget(name);
            }
            failed.push((name.clone(), topic.error_code));
        }
        failed
    }

    /// The cluster's id and the id of the broker at this address; nothing where one is not known, or several brokers
    /// share the address.
    pub(crate) fn identity(&self, address: &str) -> Option<NodeIdentity> {
        let cluster_id = self.cluster_id.clone()?;
        let mut at = self.brokers.values().filter(|broker| broker.address() == address);
        match (at.next(), at.next()) {
            (Some(Broker { id, .. }), None) if *id >= 0 => {
                Some(NodeIdentity { cluster_id, node_id: *id })
            }
            _ => None,
        }
    }

    /// Forgets the brokers, and of which cluster they were.
    pub(crate) fn forget_brokers(&mut self) {
        self.brokers.clear();
        self.controller_id = None;
        self.cluster_id = None;
    }

    /// Whether a partition is there, whoever leads it.
    pub fn has(&self, partition: &TopicPartition) -> bool {
        let topic = self.topics.get(&*partition.topic);
        topic.is_some_and(|topic| topic.partitions.contains_key(&partition.partition))
    }

    /// Whether the topic of this name has another id than this one: it was deleted and created again.
    pub(crate) fn is_recreated(&self, topic: &str, id: Uuid) -> bool {
        let now = self.topics.get(topic).map_or(Uuid::ZERO, |topic| topic.id);
        !id.is_zero() && !now.is_zero() && now != id
    }

    /// Who leads a partition, when that is known.
    pub fn leader(&self, topic: &str, partition: i32) -> Option<Leader> {
        self.topics.get(topic)?.partitions.get(&partition)?.leader
    }

    /// By which of all such changes a partition's leader epoch went back last; 0 for none. Who knows an
    /// older number follows to a leader with an older epoch.
    pub(crate) fn lowered_by(&self, partition: &TopicPartition) -> u64 {
        self.older.lowered_by.get(partition).copied().unwrap_or(0)
    }

    /// Whether [`Self::take_lowered`] has something.
    pub(crate) fn has_lowered(&self) -> bool {
        !self.older.news.is_empty()
    }

    /// Takes the leader epochs that went back since this was called last.
    pub(crate) fn take_lowered(&mut self) -> Vec<LoweredEpoch> {
        std::mem::take(&mut self.older.news)
    }

    /// Takes a hint from a Produce or Fetch response (KIP-951). Only that one partition changes
    /// (KAFKA-16012), and only to a newer epoch; says whether it did.
    pub fn hint_leader(&mut self, topic: &str, partition: i32, leader: Leader) -> bool {
        let (topic_name, partition_index) = (topic, partition);
        let is_news = self.is_news(topic, partition, leader);
        if is_news
            && let Some(topic) = self.topics.get_mut(topic)
            && let Some(partition) = topic.partitions.get_mut(&partition)
        {
            partition.leader = Some(leader);
        }
        if is_news && !self.older.claims.is_empty() {
            self.older.claims.retain(|claimed, _| {
                claimed.partition != partition_index || *claimed.topic != *topic_name
            });
        }
        is_news
    }

    /// Whether [`Self::hint_leader`] would change anything.
    pub fn is_news(&self, topic: &str, partition: i32, leader: Leader) -> bool {
        let known = self.topics.get(topic).and_then(|topic| topic.partitions.get(&partition));
        let is_newer = |known: Option<Leader>| known.is_none_or(|known| leader.epoch > known.epoch);
        leader.id >= 0 && known.is_some_and(|partition| is_newer(partition.leader))
    }
}

fn merge(
    known: Option<Topic>,
    topic: &MetadataResponseTopic,
    older: &mut OlderLeaders,
    now_ms: u64,
) -> Topic {
    let name: Arc<str> = topic.name.as_deref().unwrap_or_default().into();
    let partitions = topic
        .partitions
        .iter()
        .map(|partition| {
            let index = partition.partition_index;
            let before = known.as_ref().and_then(|known| known.partitions.get(&index));
            let name = TopicPartition::new(Arc::clone(&name), index);
            (index, merge_partition(before, partition, name, older, now_ms))
        })
        .collect();
    Topic { id: topic.topic_id, internal: topic.is_internal, partitions }
}

fn merge_partition(
    before: Option<&Partition>,
    now: &MetadataResponsePartition,
    name: TopicPartition,
    older: &mut OlderLeaders,
    now_ms: u64,
) -> Partition {
    let claimed = Leader { id: now.leader_id, epoch: now.leader_epoch };
    let leader = (now.leader_id >= 0).then_some(claimed);
    let leader = match before.and_then(|before| before.leader) {
        Some(known)
            if now.leader_epoch >= 0
                && known.epoch > now.leader_epoch
                && !older.claim(name.clone(), known, claimed, now_ms) =>
        {
            Some(known)
        }
        _ => {
            if !older.claims.is_empty() {
                older.claims.remove(&name);
            }
            leader
        }
    };
    Partition { leader, replicas: now.replica_nodes.clone(), isr: now.isr_nodes.clone() }
}

#[cfg(test)]
mod tests {
    use thalweg_wire::messages::metadata_response::MetadataResponseBroker;

    use super::*;

    fn partition(index: i32, leader: i32, epoch: i32) -> MetadataResponsePartition {
        MetadataResponsePartition {
            partition_index: index,
            leader_id: leader,
            leader_epoch: epoch,
            ..MetadataResponsePartition::default()
        }
    }

    fn answer(id: u128, partitions: Vec<MetadataResponsePartition>) -> MetadataResponse {
        MetadataResponse {
            brokers: vec![MetadataResponseBroker {
                node_id: 1,
                host: "::1".into(),
                port: 9092,
                ..MetadataResponseBroker::default()
            }],
            topics: vec![MetadataResponseTopic {
                name: Some("t".into()),
                topic_id: Uuid::from_u128(id),
                partitions,
                ..MetadataResponseTopic::default()
            }],
            ..MetadataResponse::default()
        }
    }

    #[test]
    fn leaders_never_go_back_to_an_older_epoch() {
        let mut metadata = Metadata::default();
        metadata.apply(&answer(7, vec![partition(0, 1, 5)]), 0);
        metadata.apply(&answer(7, vec![partition(0, 2, 4)]), 0);
        assert_eq!(metadata.leader("t", 0), Some(Leader { id: 1, epoch: 5 }));
        metadata.apply(&answer(7, vec![partition(0, 2, 6)]), 0);
        assert_eq!(metadata.leader("t", 0), Some(Leader { id: 2, epoch: 6 }));
        // A topic of the same name with another id starts over.
        metadata.apply(&answer(8, vec![partition(0, 1, 0)]), 0);
        assert_eq!(metadata.leader("t", 0), Some(Leader { id: 1, epoch: 0 }));
    }

    #[test]
    fn epochs_go_back_when_answers_in_a_row_agree() {
        let mut metadata = Metadata::default();
        let (t, known) = (TopicPartition::new("t", 0), Leader { id: 1, epoch: 5 });
        metadata.apply(&answer(7, vec![partition(0, 1, 5)]), 0);
        // Every answer comes a second after the one before it.
        let mut now_ms = 0;
        let mut older = |metadata: &mut Metadata, times: u32| {
            for _ in 0..times {
                now_ms += 1_000;
                metadata.apply(&answer(7, vec![partition(0, 1, 3)]), now_ms);
            }
        };
        older(&mut metadata, LOWER_ANSWERS_MIN - 1);
        // One that says something else is the first of others.
        metadata.apply(&answer(7, vec![partition(0, 2, 4)]), 0);
        older(&mut metadata, LOWER_ANSWERS_MIN - 1);
        // A broker that knows better.
        metadata.apply(&answer(7, vec![partition(0, 1, 5)]), 0);
        older(&mut metadata, LOWER_ANSWERS_MIN - 1);
        assert_eq!(metadata.leader("t", 0), Some(known));
        assert_eq!((metadata.lowered_by(&t), metadata.has_lowered()), (0, false));
        older(&mut metadata, 1);
        let to = Leader { id: 1, epoch: 3 };
        assert_eq!(metadata.leader("t", 0), Some(to));
        assert_eq!(metadata.lowered_by(&t), 1);
        let lowered = LoweredEpoch { partition: t.clone(), from: known, to };
        assert_eq!(metadata.take_lowered(), [lowered]);
        assert!(!metadata.has_lowered());
        // Nothing is kept of a topic that is gone.
        metadata.apply(&answer(8, vec![partition(0, 1, 0)]), 0);
        assert!(metadata.older.is_empty());
    }

    #[test]
    fn epochs_do_not_go_back_for_a_broker_that_lags_a_moment() {
        let mut metadata = Metadata::default();
        let known = Leader { id: 1, epoch: 5 };
        metadata.apply(&answer(7, vec![partition(0, 1, 5)]), 0);
        let mut older = |now_ms: u64| {
            metadata.apply(&answer(7, vec![partition(0, 1, 3)]), now_ms);
            metadata.leader("t", 0)
        };
        for nth in 0..u64::from(4 * LOWER_ANSWERS_MIN) {
            assert_eq!(older(1_000 + nth), Some(known));
        }
        assert_eq!(older(1_000 + LOWER_MS_MIN - 1), Some(known));
        assert_eq!(older(1_000 + LOWER_MS_MIN), Some(Leader { id: 1, epoch: 3 }));
    }

    #[test]
    fn answers_without_a_leader_take_no_epoch_back() {
        let mut metadata = Metadata::default();
        metadata.apply(&answer(7, vec![partition(0, 1, 5)]), 0);
        for nth in 0..2 * LOWER_ANSWERS_MIN {
            metadata.apply(&answer(7, vec![partition(0, -1, 3)]), 10_000 * u64::from(nth));
        }
        assert_eq!(metadata.leader("t", 0), Some(Leader { id: 1, epoch: 5 }));
    }

    #[test]
    fn hints_change_one_partition_and_only_forward() {
        let mut metadata = Metadata::default();
        metadata.apply(&answer(7, vec![partition(0, 1, 5), partition(1, 1, 5)]), 0);
        assert!(!metadata.hint_leader("t", 0, Leader { id: 2, epoch: 5 }));
        assert!(!metadata.hint_leader("t", 0, Leader { id: -1, epoch: 9 }));
        assert!(!metadata.hint_leader("t", 9, Leader { id: 2, epoch: 9 }));
        assert!(metadata.hint_leader("t", 0, Leader { id: 2, epoch: 6 }));
        assert_eq!(metadata.leader("t", 0), Some(Leader { id: 2, epoch: 6 }));
        assert_eq!(metadata.leader("t", 1), Some(Leader { id: 1, epoch: 5 }));
    }

    #[test]
    fn deleted_topics_are_forgotten_and_reported() {
        let mut metadata = Metadata::default();
        metadata.apply(&answer(7, vec![partition(0, 1, 5)]), 0);
        let mut gone = answer(0, vec![]);
        gone.topics[0].error_code = ErrorCode::LEADER_NOT_AVAILABLE;
        assert_eq!(metadata.apply(&gone, 0), [("t".into(), ErrorCode::LEADER_NOT_AVAILABLE)]);
        assert!(metadata.topics.contains_key("t"), "a passing error forgets nothing");
        gone.topics[0].error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        metadata.apply(&gone, 0);
        assert!(metadata.topics.is_empty());
    }

    #[test]
    fn an_answer_about_all_topics_forgets_those_that_are_not_in_it() {
        let mut metadata = Metadata::default();
        metadata.apply(&answer(7, vec![partition(0, 1, 5)]), 0);
        let mut other = answer(8, vec![partition(0, 1, 0)]);
        other.topics[0].name = Some("u".into());
        metadata.apply(&other, 0);
        assert_eq!(metadata.topics.len(), 2, "one topic's answer says nothing of others");
        assert!(metadata.apply_all(&other, 0).is_empty());
        assert!(metadata.topics.keys().eq(["u"]));
    }

    #[test]
    fn broker_identity_needs_a_cluster_id_and_an_address_of_its_own() {
        let mut metadata = Metadata::default();
        let mut response = answer(7, vec![]);
        metadata.apply(&response, 0);
        assert_eq!(metadata.identity("[::1]:9092"), None, "the cluster has no id");
        response.cluster_id = Some("c".into());
        metadata.apply(&response, 0);
        let identity = NodeIdentity { cluster_id: "c".into(), node_id: 1 };
        assert_eq!(metadata.identity("[::1]:9092"), Some(identity));
        assert_eq!(metadata.identity("[::1]:9093"), None);
        let second = MetadataResponseBroker { node_id: 2, ..response.brokers[0].clone() };
        response.brokers.push(second);
        metadata.apply(&response, 0);
        assert_eq!(metadata.identity("[::1]:9092"), None, "two brokers share it");
        metadata.forget_brokers();
        assert_eq!((metadata.brokers.len(), metadata.cluster_id), (0, None));
    }

    #[test]
    fn addresses_can_be_connected_to() {
        let mut metadata = Metadata::default();
        metadata.apply(&answer(7, vec![]), 0);
        assert_eq!(metadata.brokers[&1].address(), "[::1]:9092");
    }
}
