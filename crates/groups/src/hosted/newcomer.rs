//! Members that are new to a group that the coordinator assigns. Their JoinGroup waits for the partitions of
//! their target, and is answered once, with all of them.
//!
//! A newcomer that were answered at once would start with nothing, and rejoin for each partition that another
//! member gives up: listeners would see an empty assignment first, as they do in no round of Kafka's. So it is
//! in the group, with the partitions that are free, and its answer is the shard's to give later
//! (`shard::newcomers`).
//!
//! The wait ends. Members that hold the partitions are told to rejoin by their next heartbeat, and are taken out
//! if they have not rejoined when their rebalance timeout is over, or when their session is.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_wire::messages::{JoinGroupRequest, JoinGroupResponse};
use thalweg_wire::{ErrorCode, Uuid};

use crate::formats::CONSUMER_PROTOCOL_TYPE;
use crate::model::{ClassicJoin, ConsumerMember, MemberState, Refused, join_error};
use crate::step::{Joined, Step};

/// The leader that a member is told of in a group in which it is alone. It must not take itself for one.
const NO_OTHER_MEMBER: &str = "coordinator";

/// A member whose JoinGroup has not been answered.
#[derive(Debug)]
pub(crate) struct Newcomer {
    pub(crate) member: Arc<str>,
    instance_id: Option<Arc<str>>,
    /// The group's epoch that its join led to. A target assignment of an earlier epoch has nothing for it.
    group_epoch: i32,
    protocol: String,
    session_timeout_ms: i32,
    rebalance_timeout_ms: i32,
}

/// What becomes of a newcomer that waits.
pub(crate) enum Admission {
    /// It waits on.
    Waits,
    /// It is answered with all that it is to have.
    Joined(Box<Joined>),
    /// It is no member any more.
    Gone(JoinGroupResponse),
}

impl Newcomer {
    /// Epochs of the group above this one were taken back.
    pub(crate) fn reverted_to(&mut self, group_epoch: i32) {
        self.group_epoch = self.group_epoch.min(group_epoch);
    }

    pub(crate) fn new(
        member: &ConsumerMember,
        request: &JoinGroupRequest,
        group_epoch: i32,
        protocol: &str,
    ) -> Newcomer {
        Newcomer {
            member: member.id.clone(),
            instance_id: member.metadata.instance_id.clone(),
            group_epoch,
            protocol: protocol.to_owned(),
            session_timeout_ms: request.session_timeout_ms,
            rebalance_timeout_ms: member.metadata.rebalance_timeout_ms,
        }
    }
}

/// How long a newcomer may wait. It sends nothing before it is answered, and holders have their rebalance timeouts from
/// when they are told, which they are within a session.
pub(super) fn newcomer_timeout_ms(step: &Step<'_, '_>, newcomer: &Newcomer) -> i32 {
    let kafkas = i32::try_from(step.cx.config.new_member_join_timeout_ms).unwrap_or(i32::MAX);
    let of_holders = newcomer.rebalance_timeout_ms.saturating_add(newcomer.session_timeout_ms);
    kafkas.max(of_holders)
}

/// Whether a newcomer has to wait, in the step that has brought it to `member` with a target of `epoch`.
pub(super) fn has_to_wait(newcomer: &Newcomer, member: &ConsumerMember, epoch: i32) -> bool {
    epoch < newcomer.group_epoch || member.state != MemberState::Stable
}

/// Looks again at a newcomer that waits: gives it what is free of its target by now. What was `granted` before in the
/// same outcome is not free, though no record says so yet.
pub(crate) fn admit(
    step: &mut Step<'_, '_>,
    newcomer: &Newcomer,
    granted: &mut HashSet<(Uuid, i32)>,
) -> Result<Admission, Refused> {
    let Some(member) = step.group.member(&newcomer.member).cloned() else {
        step.consumer_state().pending.remove(&newcomer.member);
        return Ok(Admission::Gone(farewell(step, newcomer)));
    };
    let epoch = step.group.epochs().assignment;
    let is_hosted = step.is_hosted();
    if is_hosted && epoch < step.group.epochs().group {
        // Where all members are newcomers that wait, no heartbeat asks for it.
        step.look_after_target();
    }
    let mut next = ConsumerMember::clone(&member);
    if epoch >= newcomer.group_epoch {
        let target = step.last_target(&member);
        let before = step.records.len();
        // The member has no assignment yet, so partitions that move count as revoked.
        next = step.reconcile(next, epoch, &target, false, Some(&[]))?;
        let gained: Vec<(Uuid, i32)> = next
            .assigned
            .iter()
            .map(|owned| (owned.topic_id, owned.partition))
            .filter(|(topic_id, partition)| !member.assigned.contains(*topic_id, *partition))
            .collect();
        if gained.iter().any(|partition| granted.contains(partition)) {
            step.records.truncate(before);
            return Ok(Admission::Waits);
        }
        granted.extend(gained);
    }
    let member = next;
    if is_hosted && has_to_wait(newcomer, &member, epoch) {
        return Ok(Admission::Waits);
    }
    let mut joined = joined(step, &member, newcomer);
    // The vote may have changed while it waited.
    if let Some(voted) = step.voted().filter(|_| is_hosted) {
        joined.response.protocol_name = Some(voted.to_owned());
    }
    Ok(Admission::Joined(Box::new(joined)))
}

/// The answer to a member that has joined, and what follows when it is committed.
pub(super) fn joined(
    step: &mut Step<'_, '_>,
    member: &ConsumerMember,
    newcomer: &Newcomer,
) -> Joined {
    // As long as the answer waits for the log, and longer if it comes too late for the client.
    step.schedule_session(&member.id, newcomer.session_timeout_ms);
    let response = JoinGroupResponse {
        member_id: member.id.to_string(),
        generation_id: member.epoch,
        leader: leader_for(step, &member.id),
        protocol_type: Some(CONSUMER_PROTOCOL_TYPE.to_owned()),
        protocol_name: Some(newcomer.protocol.clone()),
        ..Default::default()
    };
    let then = ClassicJoin {
        group: step.id.clone(),
        member: member.id.clone(),
        session_timeout_ms: newcomer.session_timeout_ms,
        rebalance_timeout_ms: newcomer.rebalance_timeout_ms,
    };
    Joined { response, then: Some(then), downgrade: None }
}

/// The leader that a member is told of: never itself, because it would assign, and never none, because
/// clients take that for an error.
fn leader_for(step: &Step<'_, '_>, member_id: &str) -> String {
    let mut members = step.group.members().keys();
    let other = members.find(|id| ***id != *member_id);
    other.map_or_else(|| NO_OTHER_MEMBER.to_owned(), ToString::to_string)
}

/// The answer to a newcomer that is not in the group any more.
fn farewell(step: &Step<'_, '_>, newcomer: &Newcomer) -> JoinGroupResponse {
    let instance_id = newcomer.instance_id.as_deref();
    let is_replaced = instance_id.is_some_and(|id| step.group.static_member(id).is_some());
    if is_replaced {
        join_error(&newcomer.member, ErrorCode::FENCED_INSTANCE_ID)
    } else {
        join_error("", ErrorCode::UNKNOWN_MEMBER_ID)
    }
}
