//! ConsumerGroupHeartbeat of members that stay or come.

use std::sync::Arc;

use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;
use thalweg_wire::messages::consumer_group_heartbeat_response::{
    Assignment, TopicPartitions as AssignedPartitions,
};
use thalweg_wire::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use thalweg_wire::{ErrorCode, Uuid};

use super::context::Step;
use super::regexes::RegexUpdate;
use super::subscription::Subscription;
use crate::assignor::MemberAssignment;
use crate::consumer::Reconciliation;
use crate::model::{
    ConsumerGroupRecord, ConsumerMember, GroupTimer, LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    MemberMetadata, MemberState, OwnedPartitions, Refused, RequestContext, topic_set,
};
use crate::push::HeldHeartbeat;

/// What a request says that a member owns is part of what it owns.
fn is_subset(owned: Option<&[TopicPartitions]>, of: &OwnedPartitions) -> bool {
    owned.is_some_and(|owned| {
        owned.iter().all(|topic| {
            let mut partitions = topic.partitions.iter();
            // A topic that the member has nothing of does not belong, even without partitions.
            of.has_topic(topic.topic_id)
                && partitions.all(|&partition| of.contains(topic.topic_id, partition))
        })
    })
}

fn response_assignment(assigned: &OwnedPartitions) -> Assignment {
    Assignment {
        topic_partitions: assigned
            .by_topic()
            .map(|(topic_id, owned)| AssignedPartitions {
                topic_id,
                partitions: owned.iter().map(|owned| owned.partition).collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

/// What a heartbeat came to.
pub(crate) struct Heard {
    pub(crate) response: ConsumerGroupHeartbeatResponse,
    /// The answer is not the whole of what the member is to get: others have not given it up, or it is still to be
    /// computed.
    pub(crate) has_less: bool,
}

impl Step<'_, '_> {
    /// Handles a heartbeat.
    pub(crate) fn heartbeat(
        &mut self,
        context: &RequestContext,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<Heard, Refused> {
        let joins = request.member_epoch == 0;
        self.refuse_if_full(&request.member_id, request.instance_id.as_deref())?;
        let member_id = match request.member_id.as_str() {
            // Below version 1 the coordinator gives out ids.
            "" => Uuid::from_u128(context.random).to_string(),
            id => id.to_owned(),
        };
        let owned = request.topic_partitions.as_deref();
        let replaces =
            joins && self.takes_instance_over(&member_id, request.instance_id.as_deref());
        let member = match request.instance_id.as_deref() {
            None => {
                let member = self.member(&member_id, joins)?;
                check_epoch(&member, request.member_epoch, owned)?;
                member
            }
            Some(instance_id) if joins => self.join_static(&member_id, instance_id, false)?,
            Some(instance_id) => {
                let member = self.known_static(&member_id, instance_id)?;
                check_epoch(&member, request.member_epoch, owned)?;
                member
            }
        };
        let mut updated = ConsumerMember::clone(&member);
        if let Some(metadata) = changed_metadata(&member.metadata, context, request) {
            self.refuse_without_room(&metadata, &member)?;
            updated.metadata = Arc::new(metadata);
        }
        let renamed = self.update_metadata(&member, &updated);
        let regex = self.update_regex(&member, &updated)?;
        if replaces && let Some(replaced) = self.group.member(&member_id).cloned() {
            self.drop_regex_of_replaced(&replaced, &updated);
        }
        let bump = renamed
            || replaces
            || regex == RegexUpdate::ChangedAndResolved
            || self.changes_preferred_assignor(&member, &updated);
        let subscription = self.subscription(bump, &member, &updated);
        let (epoch, target) = self.update_target(&subscription, &member, &updated);
        let group_epoch = subscription.group_epoch;
        let changed = renamed || regex != RegexUpdate::None;
        let interval = self.cx.config.of_group(self.id);
        // What may be held is told of a new epoch when the hold ends (see `push`). A first heartbeat that is handled
        // once more is to come as far as the member can.
        let may_hold = |held: &Arc<HeldHeartbeat>| {
            !held.joins() && (owned.is_none() || held.holds_acknowledgements())
        };
        let may_lag = !joins
            && !changed
            && context.hold.as_ref().is_some_and(may_hold)
            && interval.heartbeat_push;
        let next = self.next_step(&updated, epoch, &target, changed, owned)?;
        let updated = match next {
            Some(next) if !(may_lag && is_epoch_alone(&updated, &next)) => self.take_step(next),
            _ => updated,
        };
        self.schedule_session(&updated.id, interval.session_timeout_ms);
        let is_full = request.rebalance_timeout_ms != -1
            && (request.subscribed_topic_names.is_some()
                || request.subscribed_topic_regex.is_some())
            && owned.is_some();
        let tells = joins || is_full || member.assigned != updated.assigned;
        let is_resolving =
            updated.metadata.regex().is_some() && self.consumer_state().resolving.is_some();
        let has_less = is_resolving
            || epoch < group_epoch
            || updated.state == MemberState::UnreleasedPartitions;
        let response = ConsumerGroupHeartbeatResponse {
            member_id: Some(updated.id.to_string()),
            member_epoch: updated.epoch,
            heartbeat_interval_ms: interval.heartbeat_interval_ms,
            assignment: tells.then(|| response_assignment(&updated.assigned)),
            ..Default::default()
        };
        Ok(Heard { response, has_less })
    }

    /// The group's epoch and kind of subscription, looked up again if `bump` or the time says so.
    pub(crate) fn subscription(
        &mut self,
        bump: bool,
        before: &ConsumerMember,
        after: &ConsumerMember,
    ) -> Subscription {
        if bump || self.has_metadata_expired() {
            return self.refresh_subscription(bump, before, after);
        }
        Subscription {
            group_epoch: self.group.epochs().group,
            subscription_type: self.subscription_type(),
        }
    }

    /// A static member that comes back is in the group already, under its instance id.
    pub(crate) fn refuse_if_full(
        &self,
        member_id: &str,
        instance_id: Option<&str>,
    ) -> Result<(), Refused> {
        let max = self.cx.config.consumer_max_size;
        let is_member = !member_id.is_empty() && self.group.member(member_id).is_some()
            || instance_id.is_some_and(|id| self.group.static_member(id).is_some());
        if self.group.members().len() >= max && !is_member {
            let message =
                format!("The consumer group has reached its maximum capacity of {max} members.");
            return Err(Refused::new(ErrorCode::GROUP_MAX_SIZE_REACHED, message));
        }
        Ok(())
    }

    /// What a member leaves behind must fit the memory of groups.
    pub(crate) fn refuse_without_room(
        &self,
        metadata: &MemberMetadata,
        before: &ConsumerMember,
    ) -> Result<(), Refused> {
        let more = metadata.size().saturating_sub(before.metadata.size());
        if more > 0 && self.cx.account.try_hold(more).is_none() {
            return Err(Refused::new(
                ErrorCode::COORDINATOR_NOT_AVAILABLE,
                "There is no memory left for members of groups.",
            ));
        }
        Ok(())
    }

    /// The member of that id; a new one if there is none and it may come.
    pub(crate) fn member(&self, id: &str, create: bool) -> Result<Arc<ConsumerMember>, Refused> {
        match self.group.member(id) {
            Some(member) => Ok(member.clone()),
            None if create => Ok(Arc::new(ConsumerMember::new(id.into()))),
            None => Err(self.unknown_member(id)),
        }
    }

    pub(crate) fn unknown_member(&self, id: &str) -> Refused {
        let message = format!("Member {id} is not a member of group {}.", self.id);
        Refused::new(ErrorCode::UNKNOWN_MEMBER_ID, message)
    }

    /// Whether a known member joins with the instance id of another one. The two are one member from now on,
    /// and what one of them was to own goes to others.
    fn takes_instance_over(&self, member_id: &str, instance_id: Option<&str>) -> bool {
        let other = instance_id.and_then(|id| self.group.static_member(id));
        other.is_some_and(|other| *other.id != *member_id && self.group.member(member_id).is_some())
    }

    /// A static member that comes, or comes back.
    pub(crate) fn join_static(
        &mut self,
        member_id: &str,
        instance_id: &str,
        is_classic: bool,
    ) -> Result<Arc<ConsumerMember>, Refused> {
        let Some(existing) = self.group.static_member(instance_id).cloned() else {
            return self.member(member_id, true);
        };
        if !is_classic
            && !existing.is_classic()
            && existing.epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH
        {
            let message = format!(
                "Static member {member_id} with instance id {instance_id} cannot join the group \
                 because the instance id is owned by {} member.",
                existing.id
            );
            return Err(Refused::new(ErrorCode::UNRELEASED_INSTANCE_ID, message));
        }
        let member = Arc::new(ConsumerMember {
            id: member_id.into(),
            epoch: 0,
            previous_epoch: 0,
            ..ConsumerMember::clone(&existing)
        });
        self.remove_member(&existing.id);
        let target = self.group.target(&existing.id).cloned().unwrap_or_default();
        self.record(ConsumerGroupRecord::member_metadata(
            self.id,
            member_id,
            Some(&member.metadata),
        ));
        self.record(ConsumerGroupRecord::target_assignment(self.id, member_id, Some(&target)));
        self.record(ConsumerGroupRecord::current_assignment(self.id, member_id, Some(&member)));
        Ok(member)
    }

    /// The static member of an instance, if its id is the one it says.
    pub(crate) fn known_static(
        &self,
        member_id: &str,
        instance_id: &str,
    ) -> Result<Arc<ConsumerMember>, Refused> {
        let Some(member) = self.group.static_member(instance_id) else {
            let message = format!("Instance id {instance_id} is unknown.");
            return Err(Refused::new(ErrorCode::UNKNOWN_MEMBER_ID, message));
        };
        if &*member.id != member_id {
            let message = format!(
                "Static member {member_id} with instance id {instance_id} was fenced by member {}.",
                member.id
            );
            return Err(Refused::new(ErrorCode::FENCED_INSTANCE_ID, message));
        }
        Ok(member.clone())
    }

    /// The member after its next step towards its target, and its record if there is one to make.
    pub(crate) fn reconcile(
        &mut self,
        member: ConsumerMember,
        target_epoch: i32,
        target: &MemberAssignment,
        subscription_changed: bool,
        owned: Option<&[TopicPartitions]>,
    ) -> Result<ConsumerMember, Refused> {
        let next = self.next_step(&member, target_epoch, target, subscription_changed, owned)?;
        Ok(next.map_or(member, |next| self.take_step(next)))
    }

    /// The member's next step towards its target, if there is one to make.
    fn next_step(
        &self,
        member: &ConsumerMember,
        target_epoch: i32,
        target: &MemberAssignment,
        subscription_changed: bool,
        owned: Option<&[TopicPartitions]>,
    ) -> Result<Option<ConsumerMember>, Refused> {
        if !subscription_changed && member.is_reconciled_to(target_epoch) {
            return Ok(None);
        }
        let subscribed = self.subscribed_ids(member);
        let names_nothing = self.subscribed_names(member).next().is_none();
        let group = self.group;
        Reconciliation {
            target_epoch,
            target,
            subscribed: &subscribed,
            names_nothing,
            subscription_changed,
            owned,
            is_owned: &|topic_id, partition| group.is_owned(topic_id, partition),
        }
        .next(member)
    }

    fn take_step(&mut self, next: ConsumerMember) -> ConsumerMember {
        self.record(ConsumerGroupRecord::current_assignment(self.id, &next.id, Some(&next)));
        if !next.is_classic() {
            let timer = GroupTimer::Rebalance(self.id.clone(), next.id.clone());
            if next.state == MemberState::UnrevokedPartitions {
                let timeout_ms = next.metadata.rebalance_timeout_ms;
                self.cx.out.schedule(timer, u64::try_from(timeout_ms).unwrap_or(0));
            } else {
                self.cx.out.cancel(timer);
            }
        }
        next
    }

    pub(crate) fn schedule_session(&mut self, member_id: &Arc<str>, timeout_ms: i32) {
        let timer = GroupTimer::ConsumerSession(self.id.clone(), member_id.clone());
        self.cx.out.schedule(timer, u64::try_from(timeout_ms).unwrap_or(0));
    }
}

/// Whether a step has nothing to tell a member but an epoch.
fn is_epoch_alone(member: &ConsumerMember, next: &ConsumerMember) -> bool {
    let is_held = |state| matches!(state, MemberState::Stable | MemberState::UnreleasedPartitions);
    is_held(member.state)
        && is_held(next.state)
        && member.epoch != next.epoch
        && member.assigned == next.assigned
}

/// A member that says another epoch than the group's must give everything up, but for one that has
/// missed its last answer: it still says the epoch before, and owns nothing that it should not.
fn check_epoch(
    member: &ConsumerMember,
    epoch: i32,
    owned: Option<&[TopicPartitions]>,
) -> Result<(), Refused> {
    let than = match epoch {
        0 => return Ok(()),
        epoch if epoch > member.epoch => "greater",
        epoch if epoch < member.epoch => {
            if epoch == member.previous_epoch && is_subset(owned, &member.assigned) {
                return Ok(());
            }
            "smaller"
        }
        _ => return Ok(()),
    };
    let message = format!(
        "The consumer group member has a {than} member epoch ({epoch}) than the one known by the \
         group coordinator ({}). The member must abandon all its partitions and rejoin.",
        member.epoch
    );
    Err(Refused::new(ErrorCode::FENCED_MEMBER_EPOCH, message))
}

/// What the member says of itself now; `None` if that is what it said before, which is what almost
/// every heartbeat says.
fn changed_metadata(
    before: &MemberMetadata,
    context: &RequestContext,
    request: &ConsumerGroupHeartbeatRequest,
) -> Option<MemberMetadata> {
    fn same(before: Option<&str>, said: Option<&str>) -> bool {
        said.is_none() || before == said
    }
    let topics = request.subscribed_topic_names.as_deref();
    let topics = topics.filter(|names| {
        // A client that says the same again says it in the same way.
        let same = names.len() == before.topics.len()
            && names.iter().zip(before.topics.iter()).all(|(name, topic)| **name == **topic);
        !same
    });
    let topics = topics.map(topic_set).filter(|topics| *topics != before.topics);
    let timeout_ms = request.rebalance_timeout_ms;
    let unchanged = topics.is_none()
        && before.classic.is_none()
        && same(before.instance_id.as_deref(), request.instance_id.as_deref())
        && same(before.rack_id.as_deref(), request.rack_id.as_deref())
        && same(before.topic_regex.as_deref(), request.subscribed_topic_regex.as_deref())
        && same(before.server_assignor.as_deref(), request.server_assignor.as_deref())
        && (timeout_ms == -1 || timeout_ms == before.rebalance_timeout_ms)
        && *before.client_id == *context.client_id
        && *before.client_host == *context.client_host;
    if unchanged {
        return None;
    }
    let said = |said: &Option<String>, before: &Option<Arc<str>>| {
        said.as_deref().map(Arc::from).or_else(|| before.clone())
    };
    Some(MemberMetadata {
        instance_id: said(&request.instance_id, &before.instance_id),
        rack_id: request.rack_id.as_deref().map(Box::from).or_else(|| before.rack_id.clone()),
        client_id: context.client_id.clone(),
        client_host: context.client_host.clone(),
        topics: topics.unwrap_or_else(|| before.topics.clone()),
        topic_regex: said(&request.subscribed_topic_regex, &before.topic_regex),
        rebalance_timeout_ms: if timeout_ms == -1 {
            before.rebalance_timeout_ms
        } else {
            timeout_ms
        },
        server_assignor: said(&request.server_assignor, &before.server_assignor),
        classic: None,
        held: None,
    })
}
