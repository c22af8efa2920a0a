//! JoinGroup for a group that the coordinator assigns.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{ConsumerProtocolSubscription, JoinGroupRequest};

use super::newcomer::{Newcomer, has_to_wait, joined, newcomer_timeout_ms};
use crate::classic::{FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP, new_member_id};
use crate::consumer::{is_built_in, leaves_out, stored_assignor};
use crate::formats::{CONSUMER_PROTOCOL_TYPE, offer_of, subscription_of};
use crate::model::{ConsumerMember, Refused, RequestContext, join_error};
use crate::step::{Joined, Step, classic_metadata};

/// A join of a member that is in the group now.
pub(crate) enum Admitted {
    /// It has been answered.
    Joined(Box<Joined>),
    /// Its answer waits for the partitions of its target.
    Waits(Newcomer),
}

/// With this member the group votes for an assignor that only its members have, or only its leader can read the member's
/// subscription.
pub(crate) struct NeedsBarrier;

/// The member that joins.
enum Joining {
    /// A member that nothing is known of.
    New(Arc<str>),
    /// A member that comes again.
    Known(Arc<ConsumerMember>),
    /// A static member that has lost its id, if there is one of the instance; it gets this one.
    Static(Arc<str>),
    /// It is given this id, to come back with.
    WithoutId(Arc<str>),
}

fn refuse(code: ErrorCode, message: impl Into<String>) -> Refused {
    Refused::new(code, message)
}

/// Handles JoinGroup. The member `is_waiting` if its JoinGroup before has not been answered.
pub(crate) fn join(
    step: &mut Step<'_, '_>,
    context: &RequestContext,
    request: &JoinGroupRequest,
    is_waiting: bool,
) -> Result<Result<Admitted, NeedsBarrier>, Refused> {
    let instance_id = request.group_instance_id.as_deref();
    let before = match instance_id {
        Some(instance_id) => step.group.static_member(instance_id),
        None => step.group.member(&request.member_id),
    };
    let before = before.cloned();
    let max = step.cx.config.max_size;
    if before.is_none() && step.group.members().len() >= max {
        let message = format!("The group has reached its maximum size of {max} members.");
        return Err(refuse(ErrorCode::GROUP_MAX_SIZE_REACHED, message));
    }
    let is_consumer = request.protocol_type == CONSUMER_PROTOCOL_TYPE;
    let offer = offer_of(&request.protocols);
    let ballot = step.ballot(before.as_deref(), &offer).filter(|_| is_consumer);
    let Some(protocol) = ballot else {
        let message = "The member has no protocol in common with all others.";
        return Err(refuse(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, message));
    };
    let joining = joining(step, context, request)?;
    if let Joining::WithoutId(id) = joining {
        let joined = hand_out(step, id, request)?;
        return Ok(Ok(Admitted::Joined(Box::new(joined))));
    }
    let said = request.protocols.iter().find(|said| said.name == protocol);
    let subscription = said.and_then(|said| subscription_of(&said.metadata));
    let Some(subscription) = subscription.filter(|_| is_built_in(&protocol)) else {
        return Ok(Err(NeedsBarrier));
    };
    // At a barrier what a member says is not written before the group has come together.
    if said_bytes(request) > step.cx.config.batch_limit.bytes {
        let message = "What the member says does not fit a record.";
        return Err(refuse(ErrorCode::GROUP_MAX_SIZE_REACHED, message));
    }
    let member = match joining {
        Joining::New(id) | Joining::WithoutId(id) => Arc::new(ConsumerMember::new(id)),
        Joining::Known(member) => member,
        // Not refused: only a member of the consumer protocol can be there and keep its instance.
        Joining::Static(id) => step.join_static(&id, instance_id.unwrap_or_default(), true)?,
    };
    let is_newcomer = before.is_none() || is_waiting;
    enter(step, context, request, &member, &protocol, &subscription, is_newcomer).map(Ok)
}

/// Who a request is from.
fn joining(
    step: &mut Step<'_, '_>,
    context: &RequestContext,
    request: &JoinGroupRequest,
) -> Result<Joining, Refused> {
    let instance_id = request.group_instance_id.as_deref();
    let claimed = request.member_id.as_str();
    if claimed.is_empty() {
        let id = new_member_id(context, instance_id);
        let returns = context.api_version >= FIRST_VERSION_WITH_MEMBER_ID_ROUND_TRIP;
        return Ok(match instance_id {
            Some(_) => Joining::Static(id),
            None if returns => Joining::WithoutId(id),
            None => Joining::New(id),
        });
    }
    let pending = step.consumer_state().pending.get(claimed).cloned();
    let pending = pending.filter(|id| step.group.member(id).is_none());
    match (instance_id, pending) {
        (None, Some(id)) => Ok(Joining::New(id)),
        (None, None) => step.member(claimed, false).map(Joining::Known),
        (Some(id), _) => step.known_static(claimed, id).map(Joining::Known),
    }
}

/// Gives an id to a member that has to come back with it.
fn hand_out(
    step: &mut Step<'_, '_>,
    id: Arc<str>,
    request: &JoinGroupRequest,
) -> Result<Joined, Refused> {
    if step.consumer_state().pending.len() >= step.cx.config.max_pending_members {
        let message = "Too many members were given an id and have not joined.";
        return Err(refuse(ErrorCode::GROUP_MAX_SIZE_REACHED, message));
    }
    step.consumer_state().pending.insert(id.clone());
    step.schedule_session(&id, request.session_timeout_ms);
    let response = join_error(&id, ErrorCode::MEMBER_ID_REQUIRED);
    Ok(Joined { response, then: None, downgrade: None })
}

/// Lets a member in, or takes note of what it says now, and makes its next step.
fn enter(
    step: &mut Step<'_, '_>,
    context: &RequestContext,
    request: &JoinGroupRequest,
    member: &Arc<ConsumerMember>,
    protocol: &str,
    subscription: &ConsumerProtocolSubscription,
    is_newcomer: bool,
) -> Result<Admitted, Refused> {
    let is_new_vote = step.voted().is_some_and(|voted| voted != protocol);
    let mut metadata = classic_metadata(&member.metadata, context, request, subscription);
    metadata.server_assignor = Some(stored_assignor(protocol).into());
    if context.api_version == 0 {
        // It has no rebalance timeout; the session's is meant.
        metadata.rebalance_timeout_ms = request.session_timeout_ms;
    }
    if let Some(classic) = metadata.classic.as_mut().map(Arc::make_mut) {
        first_of_each(&mut classic.protocols);
    }
    let mut updated = ConsumerMember::clone(member);
    let says_otherwise = metadata != *member.metadata;
    if says_otherwise {
        step.refuse_without_room(&metadata, member)?;
        updated.metadata = Arc::new(metadata);
    }
    let renamed = step.update_metadata(member, &updated);
    let is_new = member.metadata.classic.is_none();
    let starts_round = starts_round_for_left_out(step, &member.id, says_otherwise);
    let bump = renamed || is_new || is_new_vote || starts_round;
    let found = step.subscription(bump, member, &updated);
    let owned = step.owned_by_id(subscription);
    let (epoch, target) = step.update_target(&found, member, &updated);
    let updated = step.reconcile(updated, epoch, &target, renamed, Some(&owned))?;
    if epoch < found.group_epoch {
        step.assign_soon();
    }
    let newcomer = Newcomer::new(&updated, request, found.group_epoch, protocol);
    if is_newcomer && has_to_wait(&newcomer, &updated, epoch) {
        let timeout_ms = newcomer_timeout_ms(step, &newcomer);
        step.schedule_session(&updated.id, timeout_ms);
        return Ok(Admitted::Waits(newcomer));
    }
    Ok(Admitted::Joined(Box::new(joined(step, &updated, &newcomer))))
}

/// Whether partitions are to be assigned that the leader left out before the coordinator took the group over.
/// That is done where a classic group would have a round: its leader, which watches the topics, rejoins, or a
/// member says something else than before, as a cooperative one does that has given partitions up.
fn starts_round_for_left_out(
    step: &mut Step<'_, '_>,
    member_id: &str,
    says_otherwise: bool,
) -> bool {
    let epochs = *step.group.epochs();
    if !step.consumer_state().knows_left_out && epochs.assignment == epochs.group {
        // The group was loaded: its leader is not known.
        let is_left_out = leaves_out(step.group, step.cx.image);
        let live = step.consumer_state();
        live.knows_left_out = true;
        live.left_out = is_left_out.then_some((epochs.group, None));
    }
    let Some((epoch, leader)) = &step.consumer_state().left_out else { return false };
    let is_leader = leader.as_ref().is_none_or(|leader| **leader == *member_id);
    *epoch == epochs.group && (says_otherwise || is_leader)
}

/// No less than the length of the records of a member that joins.
fn said_bytes(request: &JoinGroupRequest) -> usize {
    let protocols = request.protocols.iter().map(|said| said.name.len() + said.metadata.len() + 16);
    // The topics stand in it twice; and a static member that comes back is written twice.
    let times = if request.group_instance_id.is_some() { 4 } else { 2 };
    times * (protocols.sum::<usize>() + 1_024)
}

/// A protocol that a member names twice counts once, as it is said first.
fn first_of_each<T>(protocols: &mut Vec<(Box<str>, T)>) {
    let mut seen = HashSet::new();
    protocols.retain(|(name, _)| seen.insert(name.clone()));
}
