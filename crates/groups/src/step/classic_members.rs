//! Classic members of a consumer group, by Kafka's rules: JoinGroup, SyncGroup, Heartbeat and LeaveGroup.
//!
//! Such a member's generation is its member epoch. It is told to join again whenever its heartbeats
//! would otherwise bring it something new, and each join is a step of its reconciliation.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;
use thalweg_wire::messages::leave_group_response::MemberResponse;
use thalweg_wire::messages::{
    ConsumerProtocolSubscription, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
    LeaveGroupRequest, LeaveGroupResponse, SyncGroupRequest, SyncGroupResponse,
};
use thalweg_wire::{ErrorCode, Uuid};

use super::context::Step;
use super::migrate::{Downgrade, assigned_bytes};
use super::regexes::RegexUpdate;
use crate::consumer::is_server_mode;
use crate::formats::{CONSUMER_PROTOCOL_TYPE, subscription_of};
use crate::model::{
    ClassicJoin, ClassicMetadata, ConsumerMember, GroupTimer, MemberMetadata, MemberState, Refused,
    RequestContext, join_error, left_member, topic_set,
};

/// First version in which a member must come back with the id it was given.
const FIRST_VERSION_WITH_KNOWN_ID: i16 = 4;

/// A join that has been answered.
pub(crate) struct Joined {
    pub(crate) response: JoinGroupResponse,
    pub(crate) then: Option<ClassicJoin>,
    pub(crate) downgrade: Option<Downgrade>,
}

fn refuse(code: ErrorCode, message: impl Into<String>) -> Refused {
    Refused::new(code, message)
}

impl Step<'_, '_> {
    /// Handles JoinGroup.
    pub(crate) fn classic_join(
        &mut self,
        context: &RequestContext,
        request: &JoinGroupRequest,
    ) -> Result<Joined, Refused> {
        // A group that the coordinator has assigned is a classic one to its members.
        let lets_join = self.cx.config.consumer_migration_policy.lets_classic_members_join();
        if !lets_join && !self.was_hosted() {
            let message = format!(
                "Cannot join the consumer group {} with the classic protocol because the group \
                 migration is disabled.",
                self.id
            );
            return Err(refuse(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, message));
        }
        let is_unknown = request.member_id.is_empty();
        let member_id = if is_unknown {
            Uuid::from_u128(context.random).to_string()
        } else {
            request.member_id.clone()
        };
        let instance_id = request.group_instance_id.as_deref();
        self.refuse_if_full(&member_id, instance_id)?;
        let supported = request.protocol_type == CONSUMER_PROTOCOL_TYPE
            && request.protocols.iter().any(|protocol| {
                self.group.classic_supporters(&protocol.name) == self.group.classic_members()
            });
        let Some(first) = request.protocols.first().filter(|_| supported) else {
            let message = format!("Member {member_id}'s protocols are not supported.");
            return Err(refuse(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, message));
        };
        if is_unknown && instance_id.is_none() && context.api_version >= FIRST_VERSION_WITH_KNOWN_ID
        {
            let response = join_error(&member_id, ErrorCode::MEMBER_ID_REQUIRED);
            return Ok(Joined { response, then: None, downgrade: None });
        }
        let replaced = instance_id.and_then(|id| self.group.static_member(id)).cloned();
        let member = match instance_id {
            None => self.member(&member_id, true)?,
            Some(instance_id) if is_unknown => self.join_static(&member_id, instance_id, true)?,
            Some(instance_id) => self.known_static(&member_id, instance_id)?,
        };
        let subscription = subscription_of(&first.metadata).ok_or_else(|| {
            let message = "Malformed embedded consumer protocol in subscription deserialization.";
            refuse(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, message)
        })?;
        let metadata = classic_metadata(&member.metadata, context, request, &subscription);
        let mut updated = ConsumerMember::clone(&member);
        if metadata != *member.metadata {
            self.refuse_without_room(&metadata, &member)?;
            updated.metadata = Arc::new(metadata);
        }
        let downgrades =
            replaced.as_ref().is_some_and(|old| self.is_classic_with_replaced(old, &updated));
        let renamed = self.update_metadata(&member, &updated);
        let regex = self.update_regex(&member, &updated)?;
        let bump = renamed || regex != RegexUpdate::None;
        let found = self.subscription(bump, &member, &updated);
        let owned = self.owned_by_id(&subscription);
        let mut downgrade = None;
        let updated = if downgrades {
            let rebalances = self.group.epochs().assignment < found.group_epoch;
            let mut updated = updated;
            if !rebalances {
                let target = self.last_target(&updated);
                let epoch = self.group.epochs().assignment;
                updated = self.reconcile(updated, epoch, &target, bump, Some(&owned))?;
            }
            downgrade = Some(self.downgrade(&[], Some(&updated), rebalances)?);
            updated
        } else {
            let (epoch, target) = self.update_target(&found, &member, &updated);
            self.reconcile(updated, epoch, &target, bump, Some(&owned))?
        };
        if downgrade.is_none() {
            // As long as the answer waits for the log, and longer if it comes too late for the client.
            self.schedule_session(&updated.id, request.session_timeout_ms);
        }
        let then = ClassicJoin {
            group: self.id.clone(),
            member: updated.id.clone(),
            session_timeout_ms: request.session_timeout_ms,
            rebalance_timeout_ms: request.rebalance_timeout_ms,
        };
        let response = JoinGroupResponse {
            member_id: updated.id.to_string(),
            generation_id: updated.epoch,
            protocol_type: Some(CONSUMER_PROTOCOL_TYPE.to_owned()),
            protocol_name: Some(first.name.clone()),
            ..Default::default()
        };
        Ok(Joined { response, then: downgrade.is_none().then_some(then), downgrade })
    }

    /// What a classic member says that it owns, by id; topics that do not exist are left out.
    pub(crate) fn owned_by_id(
        &self,
        subscription: &ConsumerProtocolSubscription,
    ) -> Vec<TopicPartitions> {
        let topics = &self.cx.image.topics;
        let owned = subscription.owned_partitions.iter().filter_map(|topic| {
            Some(TopicPartitions {
                topic_id: topics.by_name(&topic.topic)?.id,
                partitions: topic.partitions.clone(),
                ..Default::default()
            })
        });
        owned.collect()
    }

    /// A classic member's join is committed: it has to sync and to send heartbeats.
    pub(crate) fn classic_joined(&mut self, joined: &ClassicJoin) {
        let ClassicJoin { group, member, .. } = joined;
        self.consumer_state().pending.remove(member);
        self.cx.out.cancel(GroupTimer::ClassicJoin(group.clone(), member.clone()));
        self.schedule_session(member, joined.session_timeout_ms);
        let timeout_ms = u64::try_from(joined.rebalance_timeout_ms).unwrap_or(0);
        let timer = GroupTimer::ClassicSync(group.clone(), member.clone());
        self.cx.out.schedule(timer, timeout_ms);
    }

    /// The member that a request of the classic protocol is from.
    pub(crate) fn classic_member(
        &self,
        member_id: &str,
        instance_id: Option<&str>,
        generation: i32,
    ) -> Result<(Arc<ConsumerMember>, Arc<ClassicMetadata>), Refused> {
        let member = match instance_id {
            None => self.member(member_id, false)?,
            Some(instance_id) => self.known_static(member_id, instance_id)?,
        };
        let Some(classic) = member.metadata.classic.clone() else {
            let message = format!("Member {member_id} does not use the classic protocol.");
            return Err(refuse(ErrorCode::UNKNOWN_MEMBER_ID, message));
        };
        if member.epoch != generation {
            let message = format!(
                "The request generation id {generation} is not equal to the member epoch {} of \
                 member {member_id}.",
                member.epoch
            );
            return Err(refuse(ErrorCode::ILLEGAL_GENERATION, message));
        }
        Ok((member, classic))
    }

    /// Handles SyncGroup. The session goes on when the answer leaves.
    pub(crate) fn classic_sync(
        &mut self,
        request: &SyncGroupRequest,
    ) -> Result<SyncGroupResponse, Refused> {
        let (member, classic) = self.classic_member(
            &request.member_id,
            request.group_instance_id.as_deref(),
            request.generation_id,
        )?;
        let inconsistent = |what: &str| {
            let message = format!("The {what} of member {}'s request is another one.", member.id);
            refuse(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, message)
        };
        if request.protocol_type.as_deref().is_some_and(|name| name != CONSUMER_PROTOCOL_TYPE) {
            return Err(inconsistent("protocol type"));
        }
        let first = classic.protocols.first();
        let name = first.map_or("", |(name, _)| name);
        // A member that joined when the coordinator assigned the group was told what the group had voted for.
        let offers = |said: &str| classic.protocols.iter().any(|(name, _)| **name == *said);
        let is_known =
            |said: &str| said == name || is_server_mode(self.cx.config, self.id) && offers(said);
        if request.protocol_name.as_deref().is_some_and(|said| !is_known(said)) {
            return Err(inconsistent("protocol name"));
        }
        if self.group.epochs().assignment > member.epoch
            && member.state != MemberState::UnrevokedPartitions
        {
            self.expect_join(&member);
            let message = format!(
                "A new rebalance is triggered in group {} and member {} should rejoin to catch up.",
                self.id, member.id
            );
            return Err(refuse(ErrorCode::REBALANCE_IN_PROGRESS, message));
        }
        let said: &[u8] = first.map_or(&[], |(_, metadata)| metadata);
        self.answer_sync(&member, said, classic.session_timeout_ms, request)
    }

    /// The answer to the SyncGroup of a member that `said` what it subscribes to.
    pub(crate) fn answer_sync(
        &mut self,
        member: &ConsumerMember,
        said: &[u8],
        session_timeout_ms: i32,
        request: &SyncGroupRequest,
    ) -> Result<SyncGroupResponse, Refused> {
        let assignment = assigned_bytes(member, said, self.cx.image)?;
        self.cx.out.cancel(GroupTimer::ClassicSync(self.id.clone(), member.id.clone()));
        self.schedule_session(&member.id, session_timeout_ms);
        Ok(SyncGroupResponse {
            protocol_type: request.protocol_type.clone(),
            protocol_name: request.protocol_name.clone(),
            assignment,
            ..Default::default()
        })
    }

    /// A member that has been told to join again has its rebalance timeout for it, from the first
    /// time on.
    pub(crate) fn expect_join(&mut self, member: &ConsumerMember) {
        let timeout_ms = u64::try_from(member.metadata.rebalance_timeout_ms).unwrap_or(0);
        let timer = GroupTimer::ClassicJoin(self.id.clone(), member.id.clone());
        self.cx.out.schedule_if_absent(timer, timeout_ms);
    }

    /// Handles Heartbeat.
    pub(crate) fn classic_heartbeat(
        &mut self,
        request: &HeartbeatRequest,
    ) -> Result<ErrorCode, Refused> {
        let (member, classic) = self.classic_member(
            &request.member_id,
            request.group_instance_id.as_deref(),
            request.generation_id,
        )?;
        self.schedule_session(&member.id, classic.session_timeout_ms);
        let has_news = member.epoch < self.group.epochs().assignment
            || match member.state {
                MemberState::UnrevokedPartitions => true,
                MemberState::UnreleasedPartitions => !self.waits_for_others(&member),
                MemberState::Stable | MemberState::Unknown => false,
            };
        if !has_news {
            return Ok(ErrorCode::NONE);
        }
        self.expect_join(&member);
        Ok(ErrorCode::REBALANCE_IN_PROGRESS)
    }

    /// Whether a partition that a member is to own has not been given up by another one.
    fn waits_for_others(&self, member: &ConsumerMember) -> bool {
        let target = self.group.target(&member.id);
        target.is_some_and(|target| {
            target.iter().any(|(topic_id, partitions)| {
                partitions.iter().any(|&partition| {
                    !member.assigned.contains(topic_id, partition)
                        && self.group.is_owned(topic_id, partition)
                })
            })
        })
    }

    /// Handles LeaveGroup, of members of either protocol.
    pub(crate) fn leave_group(
        &mut self,
        request: &LeaveGroupRequest,
        api_version: i16,
    ) -> Result<(LeaveGroupResponse, Option<Downgrade>), Refused> {
        let mut leaving: Vec<Arc<ConsumerMember>> = Vec::new();
        let mut named: HashSet<Arc<str>> = HashSet::new();
        let mut forgotten: Vec<String> = Vec::new();
        let mut leave = |member_id: &str, instance_id: Option<&str>| -> MemberResponse {
            let found = match instance_id {
                None => self.member(member_id, false),
                // Administrators take static members out by their instance id alone.
                Some(instance_id) if member_id.is_empty() => {
                    let member = self.group.static_member(instance_id).cloned();
                    member.ok_or_else(|| self.unknown_member(instance_id))
                }
                Some(instance_id) => self.known_static(member_id, instance_id),
            };
            let code = match found {
                Ok(member) => {
                    if named.insert(member.id.clone()) {
                        leaving.push(member);
                    }
                    ErrorCode::NONE
                }
                Err(_) if self.cx.consumer_state.is_pending(self.id, member_id) => {
                    forgotten.push(member_id.to_owned());
                    ErrorCode::NONE
                }
                Err(refused) => refused.code,
            };
            left_member(member_id, instance_id, code)
        };
        let members = if api_version < 3 {
            vec![leave(&request.member_id, None)]
        } else {
            let members = request.members.iter();
            members.map(|m| leave(&m.member_id, m.group_instance_id.as_deref())).collect()
        };
        for member_id in forgotten {
            self.consumer_state().pending.remove(member_id.as_str());
        }
        let downgrade = self.fence(&leaving)?;
        Ok((LeaveGroupResponse { members, ..Default::default() }, downgrade))
    }
}

/// What a classic member says of itself in a join.
pub(crate) fn classic_metadata(
    before: &MemberMetadata,
    context: &RequestContext,
    request: &JoinGroupRequest,
    subscription: &ConsumerProtocolSubscription,
) -> MemberMetadata {
    let rack_id = subscription.rack_id.as_deref().filter(|rack| !rack.is_empty());
    let timeout_ms = request.rebalance_timeout_ms;
    MemberMetadata {
        instance_id: request
            .group_instance_id
            .as_deref()
            .map(Arc::from)
            .or_else(|| before.instance_id.clone()),
        rack_id: rack_id.map(Box::from).or_else(|| before.rack_id.clone()),
        client_id: context.client_id.clone(),
        client_host: context.client_host.clone(),
        topics: topic_set(&subscription.topics),
        topic_regex: Some("".into()),
        rebalance_timeout_ms: if timeout_ms == -1 {
            before.rebalance_timeout_ms
        } else {
            timeout_ms
        },
        server_assignor: before.server_assignor.clone(),
        classic: Some(Arc::new(ClassicMetadata {
            session_timeout_ms: request.session_timeout_ms,
            protocols: request
                .protocols
                .iter()
                .map(|protocol| {
                    let metadata = bytes::Bytes::copy_from_slice(&protocol.metadata);
                    (protocol.name.as_str().into(), metadata)
                })
                .collect(),
        })),
        held: None,
    }
}
