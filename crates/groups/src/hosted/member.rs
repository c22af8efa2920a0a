//! Heartbeat and SyncGroup of members whose group the coordinator assigns.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::{HeartbeatRequest, SyncGroupRequest, SyncGroupResponse};

use crate::formats::CONSUMER_PROTOCOL_TYPE;
use crate::model::{ConsumerMember, GroupTimer, MemberState, Refused};
use crate::step::Step;

/// Handles Heartbeat.
pub(crate) fn heartbeat(
    step: &mut Step<'_, '_>,
    request: &HeartbeatRequest,
) -> Result<ErrorCode, Refused> {
    let (member, classic) = step.classic_member(
        &request.member_id,
        request.group_instance_id.as_deref(),
        request.generation_id,
    )?;
    step.schedule_session(&member.id, classic.session_timeout_ms);
    step.look_after_target();
    if has_to_rejoin(step, &member) {
        step.expect_join(&member);
        return Ok(ErrorCode::REBALANCE_IN_PROGRESS);
    }
    if member.epoch < step.group.epochs().assignment {
        // What it was asked for may be taken back before it heard of it.
        step.cx.out.cancel(GroupTimer::ClassicJoin(step.id.clone(), member.id.clone()));
    }
    Ok(ErrorCode::NONE)
}

/// Whether a member has something to give up, or something to get that nobody has any more.
pub(crate) fn has_to_rejoin(step: &Step<'_, '_>, member: &ConsumerMember) -> bool {
    match member.state {
        MemberState::UnrevokedPartitions => return true,
        MemberState::Stable if member.epoch >= step.group.epochs().assignment => return false,
        _ => {}
    }
    let Some(target) = step.group.target(&member.id) else {
        return !member.assigned.is_empty();
    };
    let kept = member.assigned.iter().filter(|o| target.contains(o.topic_id, o.partition));
    let kept = kept.count();
    if kept < member.assigned.len() {
        return true;
    }
    let is_free = |topic_id, partition: &i32| {
        !member.assigned.contains(topic_id, *partition)
            && !step.group.is_owned(topic_id, *partition)
    };
    kept < target.len()
        && target.iter().any(|(id, partitions)| partitions.iter().any(|p| is_free(id, p)))
}

/// Handles SyncGroup. The session goes on when the answer leaves.
///
/// A member that `may_wait` and owns nothing is to join again if there is something to get now: its next
/// heartbeat, which would tell it, is due in a whole interval.
pub(crate) fn sync(
    step: &mut Step<'_, '_>,
    request: &SyncGroupRequest,
    may_wait: bool,
) -> Result<SyncGroupResponse, Refused> {
    let (member, classic) = step.classic_member(
        &request.member_id,
        request.group_instance_id.as_deref(),
        request.generation_id,
    )?;
    let said = request.protocol_name.as_deref();
    // The vote may have changed since the member joined. Its epoch is not the newest one then.
    let voted = (member.epoch >= step.group.epochs().group).then(|| step.voted()).flatten();
    let protocol = classic.protocols.iter().find(|(name, _)| match (said, voted) {
        (Some(said), Some(voted)) => **name == *said && said == voted,
        (Some(said), None) => **name == *said,
        (None, Some(voted)) => **name == *voted,
        (None, None) => true,
    });
    let is_consumer =
        request.protocol_type.as_deref().is_none_or(|name| name == CONSUMER_PROTOCOL_TYPE);
    let Some((_, metadata)) = protocol.filter(|_| is_consumer) else {
        let message = format!("Member {} has not offered the protocol of its request.", member.id);
        return Err(Refused::new(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, message));
    };
    let owns_nothing =
        member.assigned.is_empty() && member.state != MemberState::UnrevokedPartitions;
    if may_wait && owns_nothing && has_to_rejoin(step, &member) {
        step.cx.out.cancel(GroupTimer::ClassicSync(step.id.clone(), member.id.clone()));
        step.schedule_session(&member.id, classic.session_timeout_ms);
        step.expect_join(&member);
        let message = format!("Member {} is to join again.", member.id);
        return Err(Refused::new(ErrorCode::REBALANCE_IN_PROGRESS, message));
    }
    step.answer_sync(&member, metadata, classic.session_timeout_ms, request)
}
