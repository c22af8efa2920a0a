//! Operations on consumer groups and on topics, and what they come to as text.

use std::collections::BTreeSet;
use std::sync::Arc;

use thalweg_groups::assignor::{Assignor, GroupSpec, MemberAssignment};
use thalweg_groups::consumer::{
    ClassicMetadata, ConsumerGroup, ConsumerGroupRecord, OwnedPartitions,
};
use thalweg_groups::{
    Assignors, ClassicRebalanceMode, ConsumerGroupConfig, ConsumerMigrationPolicy, GroupConfig,
    GroupEvent, GroupRequest, java_string_hash,
};
use thalweg_metadata::image::{Delta, MetadataImage, Provenance};
use thalweg_wire::Uuid;
use thalweg_wire::messages::consumer_group_current_member_assignment_value::TopicPartitions as Current;
use thalweg_wire::messages::consumer_group_describe_response::{Assignment, DescribedGroup};
use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;
use thalweg_wire::messages::consumer_group_member_metadata_value::ClassicMemberMetadata;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, PartitionRecord,
    RegisterBrokerRecord, RemoveTopicRecord, TopicRecord,
};

use super::{Op, hex, null, set};

/// Deals partitions to the subscribed members in the order of their ids, or backwards.
#[derive(Debug)]
pub struct Dealer {
    backwards: bool,
}

pub static DEALER: Dealer = Dealer { backwards: false };
pub static BACKWARDS_DEALER: Dealer = Dealer { backwards: true };

impl Assignor for Dealer {
    fn name(&self) -> &'static str {
        if self.backwards { "backwards" } else { "dealer" }
    }

    fn assign(&self, group: &GroupSpec<'_>) -> Vec<Arc<MemberAssignment>> {
        let mut order: Vec<usize> = (0..group.members.len()).collect();
        order.sort_by_key(|&at| group.members[at].id);
        let mut dealt: Vec<Vec<(Uuid, i32)>> = vec![Vec::new(); group.members.len()];
        for (topic, &partitions) in group.topics {
            let subscribed = |at: &&usize| group.members[**at].topic_ids.contains(topic);
            let members: Vec<usize> = order.iter().filter(subscribed).copied().collect();
            if members.is_empty() {
                continue;
            }
            for partition in 0..partitions {
                let at = partition as usize % members.len();
                let at = if self.backwards { members.len() - 1 - at } else { at };
                dealt[members[at]].push((*topic, partition));
            }
        }
        dealt
            .into_iter()
            .map(|all| MemberAssignment::new(all.into_iter().map(|(t, p)| (t, [p]))))
            .map(Arc::new)
            .collect()
    }
}

pub fn configure(op: &Op<'_>, config: GroupConfig) -> GroupConfig {
    let consumer = config.consumer;
    GroupConfig {
        consumer: ConsumerGroupConfig {
            session_timeout_ms: op.number("csession", consumer.session_timeout_ms),
            heartbeat_interval_ms: op.number("chb", consumer.heartbeat_interval_ms),
            assignment_interval_ms: op.number("cint", consumer.assignment_interval_ms),
            classic_rebalance_mode: op
                .get("mode")
                .map_or(consumer.classic_rebalance_mode, |name| {
                    ClassicRebalanceMode::named(name).expect("a mode")
                }),
            heartbeat_push: op.get("push").map_or(consumer.heartbeat_push, |on| on == "true"),
            disconnect_grace_ms: op.number("grace", consumer.disconnect_grace_ms),
        },
        consumer_max_size: op.number("cmax", config.consumer_max_size),
        consumer_assignors: Assignors(vec![&DEALER, &BACKWARDS_DEALER]),
        consumer_migration_policy: op
            .get("policy")
            .map_or(config.consumer_migration_policy, |name| {
                ConsumerMigrationPolicy::named(name).expect("a policy")
            }),
        ..config
    }
}

/// A configuration in which a group has something of its own.
pub fn configure_group(op: &Op<'_>, config: &GroupConfig) -> GroupConfig {
    let mut groups = (*config.consumer_groups).clone();
    let consumer = config.consumer;
    let own = ConsumerGroupConfig {
        session_timeout_ms: op.number("session.timeout", consumer.session_timeout_ms),
        heartbeat_interval_ms: op.number("heartbeat.interval", consumer.heartbeat_interval_ms),
        assignment_interval_ms: op.number("assignment.interval", consumer.assignment_interval_ms),
        heartbeat_push: op.get("push").map_or(consumer.heartbeat_push, |on| on == "true"),
        disconnect_grace_ms: op.number("grace", consumer.disconnect_grace_ms),
        ..consumer
    };
    groups.insert(op.text("g", ""), own);
    GroupConfig { consumer_groups: Arc::new(groups), ..config.clone() }
}

/// The id of a topic in one of its lives.
pub fn topic_id_of_life(name: &str, life: u128) -> Uuid {
    let low = i64::from(java_string_hash(name)).cast_unsigned();
    Uuid::from_u128(((0x7000_0000_0000_0000u128 + life) << 64) | u128::from(low))
}

/// The metadata of a script.
pub struct Metadata {
    pub image: Arc<MetadataImage>,
    version: i64,
}

impl Default for Metadata {
    fn default() -> Metadata {
        let at = Provenance { offset: 0, epoch: 0, timestamp_ms: 0 };
        let image = MetadataImage { provenance: at, ..MetadataImage::empty() };
        Metadata { image: Arc::new(image), version: 0 }
    }
}

impl Metadata {
    /// Brokers from 1 on, in these racks; an empty one is none.
    pub fn brokers(&mut self, racks: &[&str]) -> GroupEvent {
        let records = (1..).zip(racks).map(|(broker_id, rack)| {
            MetadataRecord::RegisterBroker(RegisterBrokerRecord {
                broker_id,
                rack: Some(rack.to_string()).filter(|rack| !rack.is_empty()),
                ..Default::default()
            })
        });
        self.publish(&records.collect::<Vec<_>>())
    }

    /// Makes a topic, or gives it more partitions. Each has one replica, on the first broker or, if there are
    /// several, on each in turn.
    pub fn topic(&mut self, op: &Op<'_>) -> GroupEvent {
        let name = op.text("n", "");
        let known = self.image.topics.by_name(&name).cloned();
        let mut records = Vec::new();
        let topic_id = match &known {
            Some(topic) => topic.id,
            None => {
                let topic_id = topic_id_of_life(&name, op.number("life", 0));
                records.push(MetadataRecord::Topic(TopicRecord {
                    name,
                    topic_id,
                    ..Default::default()
                }));
                topic_id
            }
        };
        let from = known.map_or(0, |topic| topic.partitions.len() as i32);
        for partition_id in from..op.number("p", 1) {
            let broker = 1 + partition_id % (self.image.cluster.brokers.len() as i32).max(1);
            records.push(MetadataRecord::Partition(PartitionRecord {
                partition_id,
                topic_id,
                replicas: vec![broker],
                isr: vec![broker],
                leader: broker,
                directories: vec![Uuid::ZERO],
                ..Default::default()
            }));
        }
        self.publish(&records)
    }

    /// Deletes a topic, if there is one.
    pub fn untopic(&mut self, op: &Op<'_>) -> Option<GroupEvent> {
        let topic_id = self.image.topics.by_name(&op.text("n", ""))?.id;
        let record = RemoveTopicRecord { topic_id, ..Default::default() };
        Some(self.publish(&[MetadataRecord::RemoveTopic(record)]))
    }

    fn publish(&mut self, records: &[MetadataRecord]) -> GroupEvent {
        let mut delta = Delta::new((*self.image).clone());
        for record in records {
            delta.replay(record).expect("a record that fits");
        }
        self.version += 1;
        let at = Provenance { offset: self.version, epoch: 0, timestamp_ms: 0 };
        let (image, changes) = delta.apply(at);
        self.image = Arc::new(image);
        GroupEvent::Metadata { image: self.image.clone(), changes: Some(Arc::new(changes)) }
    }

    /// Everything that is so.
    pub fn whole(&self) -> GroupEvent {
        GroupEvent::Metadata { image: self.image.clone(), changes: None }
    }

    /// The id of a topic now.
    pub fn topic_id(&self, name: &str) -> Uuid {
        self.image.topics.by_name(name).map_or_else(|| super::topic_id(name), |topic| topic.id)
    }
}

pub fn heartbeat(op: &Op<'_>) -> GroupRequest {
    let owned = op.get("o").map(|text| {
        text.split(',')
            .filter(|topic| !topic.is_empty())
            .map(|topic| {
                let parts: Vec<&str> = topic.split(':').collect();
                let life = parts[1].parse().expect("a life");
                TopicPartitions {
                    topic_id: topic_id_of_life(parts[0], life),
                    partitions: parts[2..].iter().map(|p| p.parse().expect("partition")).collect(),
                    ..Default::default()
                }
            })
            .collect()
    });
    GroupRequest::ConsumerGroupHeartbeat(ConsumerGroupHeartbeatRequest {
        group_id: op.text("g", ""),
        member_id: op.text("m", ""),
        member_epoch: op.number("e", 0),
        instance_id: op.get("i").map(str::to_owned),
        rack_id: op.get("rack").map(str::to_owned),
        rebalance_timeout_ms: op.number("rt", -1),
        subscribed_topic_names: op.get("t").map(|text| {
            text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
        }),
        subscribed_topic_regex: op.get("x").map(str::to_owned),
        server_assignor: op.get("a").map(str::to_owned),
        topic_partitions: owned,
        ..Default::default()
    })
}

pub fn show_heartbeat(r: &ConsumerGroupHeartbeatResponse) -> String {
    let assignment = r.assignment.as_ref().map_or("null".to_owned(), |assignment| {
        set(assignment
            .topic_partitions
            .iter()
            .flat_map(|t| t.partitions.iter().map(|p| format!("{}-{p}", t.topic_id))))
    });
    format!(
        "chb err={} id={} epoch={} every={} assignment={assignment}",
        r.error_code.0,
        null(r.member_id.as_deref()),
        r.member_epoch,
        r.heartbeat_interval_ms,
    )
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: BTreeSet<String> = items.into_iter().collect();
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", "))
}

fn described(assignment: &Assignment) -> String {
    list(
        assignment.topic_partitions.iter().flat_map(|t| {
            t.partitions.iter().map(|p| format!("{}-{}-{p}", t.topic_name, t.topic_id))
        }),
    )
}

pub fn show_description(g: &DescribedGroup) -> String {
    let members = g.members.iter().map(|m| {
        format!(
            "{}/{}/{}/{}/{}/{}/{}/{}/{}/{}/{}",
            m.member_id,
            null(m.instance_id.as_deref()),
            null(m.rack_id.as_deref()),
            m.member_epoch,
            m.client_id,
            m.client_host,
            list(m.subscribed_topic_names.iter().cloned()),
            null(m.subscribed_topic_regex.as_deref()),
            m.member_type,
            described(&m.assignment),
            described(&m.target_assignment),
        )
    });
    format!(
        "cdesc g={} err={} msg={} state={} epoch={} aepoch={} assignor={} members={}",
        g.group_id,
        g.error_code.0,
        null(g.error_message.as_deref()),
        g.group_state,
        g.group_epoch,
        g.assignment_epoch,
        g.assignor_name,
        set(members)
    )
}

fn classic_record(classic: Option<&ClassicMemberMetadata>) -> String {
    classic.map_or("null".to_owned(), |classic| {
        let protocols = classic
            .supported_protocols
            .iter()
            .map(|p| format!("{}={}", p.name, hex(&p.metadata)))
            .collect::<Vec<_>>();
        format!("{}:[{}]", classic.session_timeout_ms, protocols.join(", "))
    })
}

fn classic_state(classic: Option<&ClassicMetadata>) -> String {
    classic.map_or("null".to_owned(), |classic| {
        let protocols = classic
            .protocols
            .iter()
            .map(|(name, metadata)| format!("{name}={}", hex(metadata)))
            .collect::<Vec<_>>();
        format!("{}:[{}]", classic.session_timeout_ms, protocols.join(", "))
    })
}

fn current(topics: &[Current]) -> String {
    set(topics.iter().flat_map(|t| {
        let epochs = t.assignment_epochs.as_deref().expect("assignment epochs");
        t.partitions.iter().zip(epochs).map(|(p, e)| format!("{}-{p}@{e}", t.topic_id))
    }))
}

pub fn show_record(record: &ConsumerGroupRecord, version: i16) -> String {
    use ConsumerGroupRecord as R;
    let tail =
        if record.is_tombstone() { " tombstone".to_owned() } else { format!(" v={version} ") };
    let or_nothing = |shown: Option<String>| shown.unwrap_or_default();
    let group = record.group_id();
    match record {
        R::Metadata { value, .. } => {
            let shown =
                value.as_ref().map(|v| format!("epoch={} hash={}", v.epoch, v.metadata_hash));
            format!("log cgroup g={group}{tail}{}", or_nothing(shown))
        }
        R::PartitionMetadata { .. } => format!("log cpartitions g={group}{tail}"),
        R::MemberMetadata { key, value } => {
            let shown = value.as_ref().map(|v| {
                format!(
                    "i={} rack={} c={} h={} t=[{}] x={} rt={} a={} classic={}",
                    null(v.instance_id.as_deref()),
                    null(v.rack_id.as_deref()),
                    v.client_id,
                    v.client_host,
                    v.subscribed_topic_names.join(", "),
                    null(v.subscribed_topic_regex.as_deref()),
                    v.rebalance_timeout_ms,
                    null(v.server_assignor.as_deref()),
                    classic_record(v.classic_member_metadata.as_ref()),
                )
            });
            format!("log cmember g={group} id={}{tail}{}", key.member_id, or_nothing(shown))
        }
        R::TargetAssignmentMetadata { value, .. } => {
            let shown = value
                .as_ref()
                .map(|v| format!("epoch={} ts={}", v.assignment_epoch, v.assignment_timestamp));
            format!("log ctepoch g={group}{tail}{}", or_nothing(shown))
        }
        R::TargetAssignmentMember { key, value } => {
            let shown = value.as_ref().map(|v| {
                set(v
                    .topic_partitions
                    .iter()
                    .flat_map(|t| t.partitions.iter().map(|p| format!("{}-{p}", t.topic_id))))
            });
            format!("log ctarget g={group} id={}{tail}{}", key.member_id, or_nothing(shown))
        }
        R::CurrentMemberAssignment { key, value } => {
            let shown = value.as_ref().map(|v| {
                format!(
                    "epoch={} prev={} state={} assigned={} pending={}",
                    v.member_epoch,
                    v.previous_member_epoch,
                    v.state,
                    current(&v.assigned_partitions),
                    current(&v.partitions_pending_revocation)
                )
            });
            format!("log ccurrent g={group} id={}{tail}{}", key.member_id, or_nothing(shown))
        }
        R::RegularExpression { key, value } => {
            let shown = value.as_ref().map(|v| {
                format!("t=[{}] version={} ts={}", v.topics.join(", "), v.version, v.timestamp)
            });
            format!("log cregex g={group} x={}{tail}{}", key.regular_expression, or_nothing(shown))
        }
    }
}

fn owned(owned: &OwnedPartitions) -> String {
    list(owned.iter().map(|o| format!("{}-{}@{}", o.topic_id, o.partition, o.assignment_epoch)))
}

pub fn show_group(id: &str, group: &ConsumerGroup) -> String {
    let members = group.members().values().map(|m| {
        let said = &m.metadata;
        let state = match m.state {
            thalweg_groups::consumer::MemberState::Stable => 0,
            thalweg_groups::consumer::MemberState::UnrevokedPartitions => 1,
            thalweg_groups::consumer::MemberState::UnreleasedPartitions => 2,
            thalweg_groups::consumer::MemberState::Unknown => 127,
        };
        format!(
            "{}/{}/{}/{}/{}/{}/{}/{}/{}/{}/{state}/{}/{}/{}",
            m.id,
            null(said.instance_id.as_deref()),
            null(said.rack_id.as_deref()),
            said.client_id,
            list(said.topics.iter().map(ToString::to_string)),
            null(said.topic_regex.as_deref()),
            said.rebalance_timeout_ms,
            null(said.server_assignor.as_deref()),
            m.epoch,
            m.previous_epoch,
            owned(&m.assigned),
            owned(&m.pending_revocation),
            classic_state(said.classic.as_deref()),
        )
    });
    let targets = group.targets().iter().map(|(id, target)| {
        let partitions = target
            .iter()
            .flat_map(|(topic, partitions)| partitions.iter().map(move |p| format!("{topic}-{p}")));
        format!("{id}/{}", list(partitions))
    });
    let regexes = group.regexes().iter().map(|(regex, resolved)| {
        format!(
            "{regex}/{}/{}/{}",
            list(resolved.topics.iter().map(ToString::to_string)),
            resolved.version,
            resolved.timestamp_ms
        )
    });
    let epochs = group.epochs();
    format!(
        "cgroup {id} {} epoch={} hash={} aepoch={} at={} topics={} members={} targets={} regexes={}",
        group.state().name(),
        epochs.group,
        epochs.metadata_hash,
        epochs.assignment,
        epochs.assignment_timestamp_ms,
        list(group.topics().keys().map(ToString::to_string)),
        set(members),
        set(targets),
        set(regexes),
    )
}
