//! Groups that change their type while they live, as `group.consumer.migration.policy` allows.
//!
//! A classic group becomes a consumer group with its first member of that protocol: its members stay,
//! with what they own, as members of the classic protocol. It becomes a classic group again when the
//! last member of the consumer protocol is gone. Both are one batch of records.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::messages::ConsumerProtocolAssignment;
use thalweg_wire::messages::consumer_protocol_assignment::TopicPartition;
use thalweg_wire::{ErrorCode, Message as _, Uuid, prefixed};

use super::context::{Cx, Step};
use crate::assignor::MemberAssignment;
use crate::classic::{ClassicGroup, JoinedMember};
use crate::consumer::{ConsumerGroup, Epochs};
use crate::formats::{protocol_version, read_assignment, subscription_of};
use crate::model::{
    ClassicMetadata, ConsumerGroupRecord, ConsumerMember, GroupConfig, GroupRecord, MemberMetadata,
    MemberState, OwnedPartition, OwnedPartitions, Refused, topic_set,
};

/// A consumer group that has become a classic one.
pub(crate) struct Downgrade {
    /// The classic group, stable.
    pub(crate) group: ClassicGroup,
    /// Whether its members have to rebalance.
    pub(crate) rebalances: bool,
}

/// The bytes of a consumer's assignment (`ConsumerProtocolAssignment`), in `version`.
pub(crate) fn assignment_bytes(
    topics: impl Iterator<Item = (Uuid, Vec<i32>)>,
    version: i16,
    image: &MetadataImage,
) -> Result<Bytes, Refused> {
    let broken =
        || Refused::new(ErrorCode::UNKNOWN_SERVER_ERROR, "The assignment cannot be written.");
    if version < 0 {
        return Err(broken());
    }
    let assigned_partitions = topics
        .filter_map(|(id, partitions)| {
            let topic = image.topics.by_id(id)?;
            Some(TopicPartition { topic: topic.name.to_string(), partitions })
        })
        .collect();
    let assignment = ConsumerProtocolAssignment { assigned_partitions, user_data: None };
    let version = version.min(ConsumerProtocolAssignment::MAX_VERSION);
    prefixed::encode_version(&assignment, version).map_err(|_| broken())
}

/// The bytes of what a member owns, in the version in which it `said` what it subscribes to.
pub(crate) fn assigned_bytes(
    member: &ConsumerMember,
    said: &[u8],
    image: &MetadataImage,
) -> Result<Bytes, Refused> {
    let assigned = member
        .assigned
        .by_topic()
        .map(|(topic_id, owned)| (topic_id, owned.iter().map(|owned| owned.partition).collect()));
    assignment_bytes(assigned, protocol_version(said).unwrap_or(-1), image)
}

fn refuse_upgrade(group: &str, why: &str) -> Refused {
    let message = format!("Cannot upgrade classic group {group} to consumer group because {why}.");
    Refused::new(ErrorCode::GROUP_ID_NOT_FOUND, message)
}

/// Whether a group that is a classic one to its members may take one of the consumer protocol in.
pub(crate) fn may_upgrade(group: &str, config: &GroupConfig) -> Result<(), Refused> {
    if config.consumer_migration_policy.may_upgrade() {
        Ok(())
    } else {
        Err(refuse_upgrade(group, "online upgrade is disabled"))
    }
}

/// The consumer group that a classic group becomes, of `max_size` members at most, and the records of
/// that. With a `server_assignor` its members are stored with it, and it is one that the coordinator
/// assigns: no partition moves and the generation stays. It is refused if the assignment is one that the
/// coordinator cannot go on from.
///
/// What sticky members say that they had is not looked at: their leader knew it when it assigned, so the
/// assignments in the record are newer.
pub(crate) fn upgraded(
    classic: &ClassicGroup,
    max_size: usize,
    server_assignor: Option<&str>,
    cx: &mut Cx<'_>,
) -> Result<(ConsumerGroup, Vec<GroupRecord>), Refused> {
    let server_assignor: Option<Arc<str>> = server_assignor.map(Arc::from);
    if !classic.uses_consumer_protocol() {
        return Err(refuse_upgrade(
            classic.id(),
            "the group does not use the consumer embedded protocol",
        ));
    }
    if classic.members().len() > max_size {
        return Err(refuse_upgrade(
            classic.id(),
            "the group size exceeds the consumer group maximum size",
        ));
    }
    let malformed = || refuse_upgrade(classic.id(), "the embedded consumer protocol is malformed");
    let generation = classic.generation();
    // A group in its first round has not chosen a protocol; its members have said what they would.
    // (Kafka answers UNKNOWN_SERVER_ERROR there.)
    let protocol =
        classic.protocol_name().map_or_else(|| classic.selected_protocol(), str::to_owned);
    let mut group = ConsumerGroup::default();
    let mut order = Vec::new();
    let mut claims = Vec::new();
    let mut named: HashSet<(Uuid, i32)> = HashSet::new();
    for joined in classic.members() {
        let said = classic.metadata_of(joined, &protocol);
        let subscription = subscription_of(&said);
        let mut owned: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
        if !joined.assignment.is_empty() {
            let assignment = read_assignment(&joined.assignment).ok_or_else(malformed)?;
            if assignment.user_data.is_some_and(|data| !data.is_empty()) {
                return Err(refuse_upgrade(
                    classic.id(),
                    "an unsupported custom assignor is in use. Please refer to the documentation \
                     or switch to a default assignor before re-attempting the upgrade",
                ));
            }
            for topic in assignment.assigned_partitions {
                if server_assignor.is_some() {
                    let subscribes =
                        subscription.as_ref().is_some_and(|s| s.topics.contains(&topic.topic));
                    let known = cx.image.topics.by_name(&topic.topic).map(|topic| topic.id);
                    check_assigned(subscribes, known, &topic.partitions, &mut named)
                        .map_err(|why| refuse_upgrade(classic.id(), why))?;
                }
                if let Some(known) = cx.image.topics.by_name(&topic.topic) {
                    let partitions = owned.entry(known.id).or_default();
                    if server_assignor.is_none() {
                        partitions.clear(); // As in Kafka, the last one counts.
                    }
                    partitions.extend(topic.partitions);
                }
            }
        }
        let subscription = subscription.ok_or_else(malformed)?;
        let target = Arc::new(MemberAssignment::new(
            owned.iter().map(|(id, partitions)| (*id, partitions.iter().copied())),
        ));
        let assigned = owned.iter().flat_map(|(topic_id, partitions)| {
            partitions.iter().map(|&partition| OwnedPartition {
                topic_id: *topic_id,
                partition,
                assignment_epoch: generation,
            })
        });
        let claimed: Vec<_> = if server_assignor.is_some() {
            let owned = subscription.owned_partitions.iter();
            let owned = owned.filter_map(|t| Some((cx.image.topics.by_name(&t.topic)?.id, t)));
            owned.flat_map(|(id, t)| t.partitions.iter().map(move |p| (id, *p))).collect()
        } else {
            Vec::new()
        };
        let metadata = MemberMetadata {
            instance_id: joined.instance_id.clone(),
            rack_id: subscription.rack_id.filter(|rack| !rack.is_empty()).map(Box::from),
            client_id: (&*joined.client_id).into(),
            client_host: (&*joined.client_host).into(),
            topics: topic_set(&subscription.topics),
            rebalance_timeout_ms: joined.rebalance_timeout_ms,
            server_assignor: server_assignor.clone(),
            classic: Some(Arc::new(ClassicMetadata {
                session_timeout_ms: joined.session_timeout_ms,
                protocols: joined
                    .protocols
                    .iter()
                    .map(|protocol| (protocol.name.as_str().into(), protocol.metadata.clone()))
                    .collect(),
            })),
            ..MemberMetadata::default()
        };
        let member = ConsumerMember {
            id: joined.id.clone(),
            metadata: Arc::new(metadata),
            epoch: generation,
            previous_epoch: generation,
            state: MemberState::Stable,
            assigned: OwnedPartitions::new(assigned.collect()),
            pending_revocation: OwnedPartitions::default(),
        };
        group.put_target(&joined.id, Some(target));
        group.put_member(&joined.id, Some(Arc::new(member)));
        order.push(joined.id.clone());
        claims.push((joined.id.clone(), claimed));
    }
    hold_claimed(&mut group, claims, generation);
    let hash = cx.hashes.group_hash(group.topics().keys(), cx.image);
    group.put_epochs(Epochs {
        group: generation,
        metadata_hash: hash,
        assignment: generation,
        assignment_timestamp_ms: 0,
        has_partition_metadata: false,
    });
    let id = classic.id();
    let mut records = vec![GroupRecord::group_metadata(id, None)];
    let members = || order.iter().filter_map(|id| group.member(id));
    for member in members() {
        records.push(
            ConsumerGroupRecord::member_metadata(id, &member.id, Some(&member.metadata)).into(),
        );
    }
    records.push(ConsumerGroupRecord::metadata(id, Some((generation, hash))).into());
    for member in members() {
        let target = group.target(&member.id).map(|target| &**target);
        records.push(ConsumerGroupRecord::target_assignment(id, &member.id, target).into());
    }
    records.push(ConsumerGroupRecord::target_epoch(id, Some((generation, 0))).into());
    for member in members() {
        records.push(ConsumerGroupRecord::current_assignment(id, &member.id, Some(member)).into());
    }
    Ok((group, records))
}

/// Why a group is not taken over that the coordinator may take over when it has heard of more topics.
pub(crate) const UNKNOWN_TOPIC: &str =
    "a member is assigned a topic that the coordinator does not know yet";

/// Refuses partitions of a topic that a leader assigned to a member if another member has one of them, too,
/// or the member does not subscribe to the topic. A leader that does so has an assignor of its own under the
/// name of a built-in one.
fn check_assigned(
    subscribes: bool,
    topic: Option<Uuid>,
    partitions: &[i32],
    named: &mut HashSet<(Uuid, i32)>,
) -> Result<(), &'static str> {
    if !subscribes {
        return Err("a member is assigned a topic that it does not subscribe to");
    }
    if partitions.iter().any(|partition| *partition < 0) {
        return Err("a member is assigned a partition below 0");
    }
    let Some(topic) = topic else { return Err(UNKNOWN_TOPIC) };
    if partitions.iter().all(|partition| named.insert((topic, *partition))) {
        Ok(())
    } else {
        Err("a partition is assigned twice")
    }
}

/// A member, and the partitions that it said it has.
type Claim = (Arc<str>, Vec<(Uuid, i32)>);

/// Cooperative members give partitions up between two rounds: what one said that it has, and nobody was
/// assigned, it may have still. It has until its next join to give it up.
fn hold_claimed(group: &mut ConsumerGroup, claims: Vec<Claim>, generation: i32) {
    for (id, claimed) in claims {
        let free = claimed.into_iter().filter(|(topic, p)| *p >= 0 && !group.is_owned(*topic, *p));
        let held: Vec<OwnedPartition> = free
            .map(|(topic_id, partition)| OwnedPartition {
                topic_id,
                partition,
                assignment_epoch: generation,
            })
            .collect();
        let Some(member) = group.member(&id).filter(|_| !held.is_empty()) else { continue };
        let member = ConsumerMember {
            state: MemberState::UnrevokedPartitions,
            pending_revocation: OwnedPartitions::new(held),
            ..ConsumerMember::clone(member)
        };
        group.put_member(&id, Some(Arc::new(member)));
    }
}

impl Step<'_, '_> {
    /// Whether the group becomes a classic one without these members.
    pub(crate) fn is_classic_without(&self, members: &[Arc<ConsumerMember>]) -> bool {
        let left = self.group.members().len().saturating_sub(members.len());
        let classic = members.iter().filter(|member| member.is_classic()).count();
        left > 0
            && self.group.classic_members().saturating_sub(classic) == left
            && self.may_downgrade(left)
            && !self.is_hosted_without(members)
    }

    /// Whether the group becomes a classic one when the classic member `joining` takes the place of `replaced`.
    /// It does not if the coordinator assigns it then.
    pub(crate) fn is_classic_with_replaced(
        &self,
        replaced: &ConsumerMember,
        joining: &ConsumerMember,
    ) -> bool {
        let members = self.group.members().len();
        !replaced.is_classic()
            && self.group.classic_members() + 1 == members
            && self.may_downgrade(members)
            && self.voted_with(joining).is_none()
    }

    pub(crate) fn may_downgrade(&self, members: usize) -> bool {
        let config = self.cx.config;
        config.consumer_migration_policy.may_downgrade() && members <= config.max_size
    }

    /// The classic group that is left without `leaving`, with `joining` in the place of the static
    /// member of its instance. Members are put down with what they are to own, as in Kafka, for which they
    /// have to join again; those of a group that the coordinator assigned with what they own, since that
    /// is believed if the coordinator takes the group over again before they have.
    pub(crate) fn downgrade(
        &mut self,
        leaving: &[Arc<ConsumerMember>],
        joining: Option<&ConsumerMember>,
        rebalances: bool,
    ) -> Result<Downgrade, Refused> {
        let broken = || {
            let message = format!("Cannot downgrade the consumer group {}.", self.id);
            Refused::new(ErrorCode::GROUP_ID_NOT_FOUND, message)
        };
        let instance_id = joining.and_then(|joining| joining.metadata.instance_id.as_ref());
        let replaced = instance_id.and_then(|id| self.group.static_member(id));
        let leaving: HashSet<&str> = leaving.iter().map(|member| &*member.id).collect();
        let is_hosted = self.is_hosted() || self.was_hosted();
        let mut members = Vec::new();
        let staying = self.group.members().values().map(|member| &**member).filter(|member| {
            !leaving.contains(&*member.id)
                && replaced.is_none_or(|replaced| replaced.id != member.id)
        });
        for member in staying.chain(joining) {
            let said = &member.metadata;
            let classic = said.classic.as_ref().ok_or_else(broken)?;
            let target_of = match replaced {
                Some(replaced) if joining.is_some_and(|joining| joining.id == member.id) => {
                    &replaced.id
                }
                _ => &member.id,
            };
            let target = if is_hosted {
                member.held_partitions()
            } else {
                let target = self.group.target(target_of).into_iter();
                let target = target.flat_map(|target| target.iter());
                target.map(|(id, partitions)| (id, partitions.to_vec())).collect()
            };
            members.push((
                JoinedMember {
                    id: member.id.clone(),
                    instance_id: said.instance_id.clone(),
                    client_id: &said.client_id,
                    client_host: &said.client_host,
                    rebalance_timeout_ms: said.rebalance_timeout_ms,
                    session_timeout_ms: classic.session_timeout_ms,
                    protocols: &classic.protocols,
                },
                target,
            ));
        }
        let image = Arc::clone(self.cx.image);
        let mut group = ClassicGroup::from_members(
            self.id.clone(),
            self.group.epochs().group,
            members,
            |target, said| {
                let version = protocol_version(said).ok_or_else(broken)?;
                assignment_bytes(target.into_iter(), version, &image)
            },
            self.cx.account,
            self.cx.now,
        )?;
        if is_hosted {
            let members = self.group.members().values();
            group.hosted_epochs = members.map(|m| (m.id.clone(), m.epoch)).collect();
        }
        self.end_group(replaced.zip(joining).map(|(old, new)| (&old.id, &new.id)));
        self.records.push(GroupRecord::group_metadata(self.id, Some(group.stable_record())));
        Ok(Downgrade { group, rebalances })
    }
}
