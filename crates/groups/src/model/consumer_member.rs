//! A member of a consumer group, as its records say.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::Held;
use thalweg_wire::Uuid;
use thalweg_wire::grouped::by_topic;
use thalweg_wire::messages::consumer_group_current_member_assignment_value::TopicPartitions;
use thalweg_wire::messages::consumer_group_member_metadata_value::{
    ClassicMemberMetadata, ClassicProtocol,
};
use thalweg_wire::messages::{
    ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMemberMetadataValue,
};

use crate::formats::{Offer, java_string_cmp};

/// Epoch of a member that leaves, and of one that has left but for its last record.
pub(crate) const LEAVE_GROUP_MEMBER_EPOCH: i32 = -1;
/// Epoch of a static member that is away and will come back.
pub(crate) const LEAVE_GROUP_STATIC_MEMBER_EPOCH: i32 = -2;

/// How far a member has come with its target assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It owns what it has been given, and owes nothing.
    Stable,
    /// It has been asked to give partitions up and has not said that it did.
    UnrevokedPartitions,
    /// It waits for partitions that others have not given up.
    UnreleasedPartitions,
    /// A later release wrote a state that this one does not know.
    Unknown,
}

impl MemberState {
    pub(crate) fn from_record(state: i8) -> MemberState {
        match state {
            0 => MemberState::Stable,
            1 => MemberState::UnrevokedPartitions,
            2 => MemberState::UnreleasedPartitions,
            _ => MemberState::Unknown,
        }
    }

    pub(crate) fn to_record(self) -> i8 {
        match self {
            MemberState::Stable => 0,
            MemberState::UnrevokedPartitions => 1,
            MemberState::UnreleasedPartitions => 2,
            MemberState::Unknown => 127,
        }
    }
}

/// A partition that a member owns, and the epoch in which it was assigned to it (KIP-1251).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnedPartition {
    /// Topic.
    pub topic_id: Uuid,
    /// Partition.
    pub partition: i32,
    /// Commits of older member epochs are not taken.
    pub assignment_epoch: i32,
}

/// Partitions of a member, each once, sorted by topic id and partition.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct OwnedPartitions(Arc<[OwnedPartition]>);

impl OwnedPartitions {
    /// These partitions, in any order. Of one that is there twice the last one counts.
    pub(crate) fn new(mut all: Vec<OwnedPartition>) -> OwnedPartitions {
        all.reverse();
        all.sort_by_key(|owned| (owned.topic_id, owned.partition));
        all.dedup_by_key(|owned| (owned.topic_id, owned.partition));
        OwnedPartitions(all.into())
    }

    pub(crate) fn from_record(topics: &[TopicPartitions], default_epoch: i32) -> OwnedPartitions {
        let default_epoch = default_epoch.max(0);
        let mut all = Vec::with_capacity(topics.iter().map(|t| t.partitions.len()).sum());
        for topic in topics {
            let epochs = topic.assignment_epochs.as_deref();
            // Records from before KIP-1251 have no epochs; a list of another length says nothing.
            let epochs = epochs.filter(|epochs| epochs.len() == topic.partitions.len());
            for (at, &partition) in topic.partitions.iter().enumerate() {
                let epoch = epochs.and_then(|epochs| epochs.get(at)).copied();
                all.push(OwnedPartition {
                    topic_id: topic.topic_id,
                    partition,
                    assignment_epoch: epoch.unwrap_or(default_epoch),
                });
            }
        }
        OwnedPartitions::new(all)
    }

    pub(crate) fn to_record(&self) -> Vec<TopicPartitions> {
        self.by_topic()
            .map(|(topic_id, owned)| TopicPartitions {
                topic_id,
                partitions: owned.iter().map(|o| o.partition).collect(),
                assignment_epochs: Some(owned.iter().map(|o| o.assignment_epoch).collect()),
                ..Default::default()
            })
            .collect()
    }

    /// Each topic with its part.
    pub fn by_topic(&self) -> impl Iterator<Item = (Uuid, &[OwnedPartition])> {
        self.0.chunk_by(|a, b| a.topic_id == b.topic_id).map(|part| (part[0].topic_id, part))
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, OwnedPartition> {
        self.0.iter()
    }

    /// Number of partitions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The epoch in which a partition was assigned, if it is among them.
    pub fn assignment_epoch(&self, topic_id: Uuid, partition: i32) -> Option<i32> {
        let at = self.0.binary_search_by_key(&(topic_id, partition), |o| (o.topic_id, o.partition));
        at.ok().and_then(|at| self.0.get(at)).map(|owned| owned.assignment_epoch)
    }

    /// Whether a partition of a topic is among them.
    pub(crate) fn has_topic(&self, topic_id: Uuid) -> bool {
        let at = self.0.partition_point(|owned| owned.topic_id < topic_id);
        self.0.get(at).is_some_and(|owned| owned.topic_id == topic_id)
    }

    pub(crate) fn contains(&self, topic_id: Uuid, partition: i32) -> bool {
        self.assignment_epoch(topic_id, partition).is_some()
    }

    /// The same partitions, as if they had been assigned in epoch 0.
    pub(crate) fn with_epochs_zero(&self) -> OwnedPartitions {
        OwnedPartitions(
            self.0.iter().map(|o| OwnedPartition { assignment_epoch: 0, ..*o }).collect(),
        )
    }
}

impl fmt::Debug for OwnedPartitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|o| ((o.topic_id, o.partition), o.assignment_epoch));
        f.debug_map().entries(shown).finish()
    }
}

/// What a member said of itself (ConsumerGroupMemberMetadata).
#[derive(Clone, Debug)]
pub struct MemberMetadata {
    /// `group.instance.id` of a static member.
    pub instance_id: Option<Arc<str>>,
    /// `client.rack`.
    pub rack_id: Option<Box<str>>,
    /// Client id of its requests.
    pub client_id: Arc<str>,
    /// Its address, as Kafka writes it: `/127.0.0.1`.
    pub client_host: Arc<str>,
    /// Names of the topics it subscribes to, each once, in Java's order of strings.
    pub topics: Arc<[Arc<str>]>,
    /// Regular expression that it subscribes with. Empty, or none in old records: it does not.
    pub topic_regex: Option<Arc<str>>,
    /// How long it may take to give partitions up.
    pub rebalance_timeout_ms: i32,
    /// The assignor it asks for.
    pub server_assignor: Option<Arc<str>>,
    /// What a member of the classic protocol said in JoinGroup.
    pub classic: Option<Arc<ClassicMetadata>>,
    /// What all this holds of the memory of groups.
    pub(crate) held: Option<Arc<Held>>,
}

/// What a member of the classic protocol said in JoinGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicMetadata {
    /// `session.timeout.ms`.
    pub session_timeout_ms: i32,
    /// Names and subscriptions of its assignors, the one it likes best first.
    pub protocols: Vec<(Box<str>, Bytes)>,
}

impl ClassicMetadata {
    /// See [`Offer`].
    pub(crate) fn offer(&self) -> Offer {
        self.protocols.iter().map(|(name, _)| name.clone()).collect()
    }
}

impl Default for MemberMetadata {
    fn default() -> MemberMetadata {
        MemberMetadata {
            instance_id: None,
            rack_id: None,
            client_id: "".into(),
            client_host: "".into(),
            topics: Arc::default(),
            topic_regex: Some("".into()),
            rebalance_timeout_ms: -1,
            server_assignor: None,
            classic: None,
            held: None,
        }
    }
}

/// What it holds of the memory of groups does not count.
impl PartialEq for MemberMetadata {
    fn eq(&self, other: &MemberMetadata) -> bool {
        self.instance_id == other.instance_id
            && self.rack_id == other.rack_id
            && self.client_id == other.client_id
            && self.client_host == other.client_host
            && self.topics == other.topics
            && self.topic_regex == other.topic_regex
            && self.rebalance_timeout_ms == other.rebalance_timeout_ms
            && self.server_assignor == other.server_assignor
            && self.classic == other.classic
    }
}

/// Topic names, each once and sorted.
pub(crate) fn topic_set(names: &[String]) -> Arc<[Arc<str>]> {
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_by(|a, b| java_string_cmp(a, b));
    sorted.dedup();
    sorted.into_iter().map(Arc::from).collect()
}

impl MemberMetadata {
    pub(crate) fn from_record(value: &ConsumerGroupMemberMetadataValue) -> MemberMetadata {
        MemberMetadata {
            instance_id: value.instance_id.as_deref().map(Arc::from),
            rack_id: value.rack_id.as_deref().map(Box::from),
            client_id: value.client_id.as_str().into(),
            client_host: value.client_host.as_str().into(),
            topics: topic_set(&value.subscribed_topic_names),
            topic_regex: value.subscribed_topic_regex.as_deref().map(Arc::from),
            rebalance_timeout_ms: value.rebalance_timeout_ms,
            server_assignor: value.server_assignor.as_deref().map(Arc::from),
            classic: value.classic_member_metadata.as_ref().map(|classic| {
                Arc::new(ClassicMetadata {
                    session_timeout_ms: classic.session_timeout_ms,
                    // The record's bytes may be a slice of a whole batch.
                    protocols: classic
                        .supported_protocols
                        .iter()
                        .map(|p| (p.name.as_str().into(), Bytes::copy_from_slice(&p.metadata)))
                        .collect(),
                })
            }),
            held: None,
        }
    }

    pub(crate) fn to_record(&self) -> ConsumerGroupMemberMetadataValue {
        let text = |text: &Arc<str>| text.to_string();
        ConsumerGroupMemberMetadataValue {
            instance_id: self.instance_id.as_ref().map(text),
            rack_id: self.rack_id.as_ref().map(ToString::to_string),
            client_id: self.client_id.to_string(),
            client_host: self.client_host.to_string(),
            subscribed_topic_names: self.topics.iter().map(text).collect(),
            subscribed_topic_regex: self.topic_regex.as_ref().map(text),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            server_assignor: self.server_assignor.as_ref().map(text),
            classic_member_metadata: self.classic.as_ref().map(|classic| ClassicMemberMetadata {
                session_timeout_ms: classic.session_timeout_ms,
                supported_protocols: classic
                    .protocols
                    .iter()
                    .map(|(name, metadata)| ClassicProtocol {
                        name: name.to_string(),
                        metadata: metadata.clone(),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    /// The regular expression it subscribes with, if it does.
    pub fn regex(&self) -> Option<&Arc<str>> {
        self.topic_regex.as_ref().filter(|regex| !regex.is_empty())
    }

    /// Whether it speaks the classic protocol (JoinGroup, SyncGroup, Heartbeat).
    pub fn is_classic(&self) -> bool {
        self.classic.is_some()
    }

    /// About how much memory it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        let classic = self.classic.iter().flat_map(|classic| &classic.protocols);
        size_of::<MemberMetadata>()
            + self.instance_id.as_ref().map_or(0, |text| text.len() + 16)
            + self.rack_id.as_ref().map_or(0, |text| text.len())
            + self.client_id.len()
            + self.client_host.len()
            + self.topics.iter().map(|topic| topic.len() + 32).sum::<usize>()
            + self.topic_regex.as_ref().map_or(0, |text| text.len() + 16)
            + self.server_assignor.as_ref().map_or(0, |text| text.len() + 16)
            + classic.map(|(name, metadata)| name.len() + metadata.len() + 64).sum::<usize>()
    }
}

/// A member of a consumer group.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerMember {
    /// Its id.
    pub id: Arc<str>,
    /// What it said of itself.
    pub metadata: Arc<MemberMetadata>,
    /// Its epoch: that of the target assignment it has come to.
    pub epoch: i32,
    /// Its epoch before; one lost answer later it may still say so.
    pub previous_epoch: i32,
    /// How far it has come.
    pub state: MemberState,
    /// What it owns.
    pub assigned: OwnedPartitions,
    /// What it has been asked to give up.
    pub pending_revocation: OwnedPartitions,
}

impl ConsumerMember {
    /// A member of which nothing is known.
    pub(crate) fn new(id: Arc<str>) -> ConsumerMember {
        ConsumerMember {
            id,
            metadata: Arc::default(),
            epoch: 0,
            previous_epoch: -1,
            state: MemberState::Stable,
            assigned: OwnedPartitions::default(),
            pending_revocation: OwnedPartitions::default(),
        }
    }

    /// Whether it speaks the classic protocol.
    pub fn is_classic(&self) -> bool {
        self.metadata.is_classic()
    }

    /// What it owns or has not given up, by topic.
    pub(crate) fn held_partitions(&self) -> Vec<(Uuid, Vec<i32>)> {
        let held = self.assigned.iter().chain(self.pending_revocation.iter());
        let held = held.map(|owned| (owned.topic_id, owned.partition));
        by_topic(held, |topic_id, partitions| (topic_id, partitions))
    }

    /// Whether it owns its target assignment of `epoch` and nothing else.
    pub fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }

    /// The same member with what a record says of its assignment.
    pub(crate) fn with_assignment(
        &self,
        value: &ConsumerGroupCurrentMemberAssignmentValue,
    ) -> ConsumerMember {
        let epoch = value.member_epoch;
        ConsumerMember {
            epoch,
            previous_epoch: value.previous_member_epoch,
            state: MemberState::from_record(value.state),
            assigned: OwnedPartitions::from_record(&value.assigned_partitions, epoch),
            pending_revocation: OwnedPartitions::from_record(
                &value.partitions_pending_revocation,
                epoch,
            ),
            ..self.clone()
        }
    }

    /// The same member after the record that says that it owns nothing any more.
    pub(crate) fn without_assignment(&self) -> ConsumerMember {
        ConsumerMember {
            epoch: LEAVE_GROUP_MEMBER_EPOCH,
            previous_epoch: LEAVE_GROUP_MEMBER_EPOCH,
            assigned: OwnedPartitions::default(),
            pending_revocation: OwnedPartitions::default(),
            ..self.clone()
        }
    }

    pub(crate) fn assignment_record(&self) -> ConsumerGroupCurrentMemberAssignmentValue {
        ConsumerGroupCurrentMemberAssignmentValue {
            member_epoch: self.epoch,
            previous_member_epoch: self.previous_epoch,
            state: self.state.to_record(),
            assigned_partitions: self.assigned.to_record(),
            partitions_pending_revocation: self.pending_revocation.to_record(),
            ..Default::default()
        }
    }
}
