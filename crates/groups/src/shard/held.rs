//! Which heartbeats are held, and what releases them (see `push`).

use std::sync::Arc;

use thalweg_coordinator::Now;
use thalweg_wire::Uuid;
use thalweg_wire::messages::{ConsumerGroupHeartbeatRequest, HeartbeatRequest, SyncGroupRequest};

use super::{GroupShard, Out};
use crate::classic::ClassicGroupState;
use crate::consumer::{ConsumerGroup, is_hosted, is_server_mode};
use crate::logged::GroupKind;
use crate::model::{
    ConsumerGroupRecord, ConsumerMember, GroupConfig, GroupRecord, GroupResponse, GroupTimer,
    MemberState, RequestContext,
};
use crate::push::{HeldHeartbeat, HeldMember, HoldLimits};
use crate::step::Heard;

/// Partitions that are to be a member's and that it does not have: others have not given them up, or it
/// does not subscribe to their topic as far as is known.
fn awaited(group: &ConsumerGroup, member: &ConsumerMember) -> Vec<(Uuid, i32)> {
    let Some(target) = group.target(&member.id) else { return Vec::new() };
    if target.len() == member.assigned.len() {
        // What a held member has is part of what it is to have.
        return Vec::new();
    }
    let mut awaited = Vec::new();
    for (topic_id, partitions) in target.iter() {
        for &partition in partitions {
            if !member.assigned.contains(topic_id, partition) {
                awaited.push((topic_id, partition));
            }
        }
    }
    awaited
}

/// How long it takes at most until others have the partitions of a member that was removed because its connection
/// was gone, in milliseconds. A hold that lasts longer than that waits in vain.
const FAIL_MS: u64 = 500;

impl GroupShard {
    /// The heartbeat of a classic member, or its SyncGroup, if it may be held: what it wrote would release it.
    fn may_hold<'c>(
        &self,
        context: &'c RequestContext,
        group: &str,
        out: &Out,
    ) -> Option<&'c Arc<HeldHeartbeat>> {
        let heartbeat = context.hold.as_ref()?;
        (out.records.is_empty() && self.config.of_group(group).heartbeat_push).then_some(heartbeat)
    }

    /// Holds the answer to a classic member's heartbeat if it says nothing. Not for classic members of a consumer group by
    /// Kafka's rules: other code answers those.
    pub(super) fn hold_classic(
        &mut self,
        context: &RequestContext,
        request: &HeartbeatRequest,
        response: &GroupResponse,
        out: &Out,
    ) {
        let is_nothing =
            matches!(response, GroupResponse::Heartbeat(answer) if answer.error_code.is_ok());
        let Some(heartbeat) = self.may_hold(context, &request.group_id, out).filter(|_| is_nothing)
        else {
            return;
        };
        match self.kind(&request.group_id) {
            // The rules of Kafka tell members by other means than a held heartbeat.
            GroupKind::Absent
            | GroupKind::EmptyConsumer
            | GroupKind::Consumer
            | GroupKind::Reserved(_) => {}
            GroupKind::Classic => {
                let Some(group) = self.classic_groups.get(request.group_id.as_str()) else {
                    return;
                };
                let member = group.member(&request.member_id);
                if let Some(member) = member.filter(|_| group.is(ClassicGroupState::Stable)) {
                    let limits = HoldLimits::of_classic(member.session_timeout_ms);
                    let held = HeldMember {
                        heartbeat: heartbeat.clone(),
                        awaits: Vec::new(),
                        is_hosted: false,
                        is_spare: false,
                        epochs: None,
                    };
                    self.held.hold(group.id(), &member.id, held, limits);
                }
            }
            GroupKind::Hosted => {
                let Some((id, _)) = self.logged.group_with_id(&request.group_id) else { return };
                let Some(group) = self.logged.consumer_group(id) else { return };
                let Some(member) = group.member(&request.member_id) else { return };
                let Some(classic) = &member.metadata.classic else { return };
                let limits = HoldLimits::of_classic(classic.session_timeout_ms);
                let awaits = awaited(group, member);
                let held = HeldMember {
                    heartbeat: heartbeat.clone(),
                    awaits,
                    is_hosted: true,
                    is_spare: false,
                    epochs: None,
                };
                self.held.hold(id, &member.id, held, limits);
            }
        }
    }

    /// Holds the answer to the SyncGroup of a member that the coordinator assigns if it owns nothing, and
    /// waits for what others have not given up, or for a target assignment: it would ask again in a heartbeat
    /// interval. It may wait for one although there is none to compute: it may have come in the place of a
    /// member whose connection is gone, and which counts as failed in a moment.
    pub(super) fn hold_sync(
        &mut self,
        context: &RequestContext,
        request: &SyncGroupRequest,
        now: Now,
        out: &Out,
    ) {
        let Some(held) = self.may_hold(context, &request.group_id, out) else { return };
        let Some((id, _)) = self.logged.group_with_id(&request.group_id) else { return };
        let Some(group) = self.logged.consumer_group(id) else { return };
        let Some(member) = group.member(&request.member_id) else { return };
        let Some(classic) = &member.metadata.classic else { return };
        if !is_hosted(group, &self.config, id) || !member.assigned.is_empty() {
            return;
        }
        let awaits = awaited(group, member);
        // What it is to get may be being computed.
        let is_assigned = group.epochs().assignment >= group.epochs().group;
        let mut interval_ms = i32::MAX;
        let is_spare = awaits.is_empty() && is_assigned;
        if is_spare {
            let Some(failure_ms) = self.next_failure_ms(id) else { return };
            let wait_ms = failure_ms.saturating_sub(now.monotonic_ms).saturating_add(FAIL_MS);
            interval_ms = i32::try_from(wait_ms).unwrap_or(i32::MAX);
        }
        let limits = HoldLimits {
            interval_ms: Some(interval_ms),
            session_timeout_ms: classic.session_timeout_ms,
            longest_ms: None,
        };
        let held =
            HeldMember { heartbeat: held.clone(), awaits, is_hosted: true, is_spare, epochs: None };
        self.held.hold(id, &member.id, held, limits);
    }

    /// Holds the answer to a heartbeat of a member of the consumer protocol if it says nothing, and the
    /// member has nothing left to acknowledge, nor waits for the answer to what it acknowledges. Or if the member
    /// joins, and the answer is not the whole of what it is to get.
    pub(super) fn hold_consumer(
        &mut self,
        context: &RequestContext,
        request: &ConsumerGroupHeartbeatRequest,
        heard: &Heard,
        now: Now,
        out: &mut Out,
    ) {
        let Some(heartbeat) = &context.hold else { return };
        let answer = &heard.response;
        // A member that has left is told so.
        if !answer.error_code.is_ok() || answer.member_epoch <= 0 {
            return;
        }
        if heartbeat.joins() {
            let assignment = answer.assignment.as_ref();
            let is_empty = assignment.is_none_or(|answer| answer.topic_partitions.is_empty());
            if !heard.has_less || (!is_empty && !heartbeat.waits_for_all()) {
                return;
            }
        } else {
            let is_nothing =
                answer.assignment.is_none() && answer.member_epoch == request.member_epoch;
            // A member may wait to be told that its acknowledgement was heard.
            let is_heard = request.topic_partitions.is_none() || heartbeat.holds_acknowledgements();
            if !is_nothing || !is_heard {
                return;
            }
        }
        let config = self.config.of_group(&request.group_id);
        if !config.heartbeat_push {
            return;
        }
        let limits = HoldLimits {
            interval_ms: Some(config.heartbeat_interval_ms),
            session_timeout_ms: config.session_timeout_ms,
            longest_ms: None,
        };
        let interval_ms = config.assignment_interval_ms;
        if request.member_epoch == 0 {
            let group = self.logged.group_with_id(&request.group_id).map(|(id, _)| id.clone());
            let group = group.unwrap_or_else(|| request.group_id.as_str().into());
            let member = answer.member_id.as_deref().unwrap_or(&request.member_id).into();
            return heartbeat.hold_until_written((&group, &member), limits);
        }
        let Some((id, _)) = self.logged.group_with_id(&request.group_id) else { return };
        let Some(group) = self.logged.consumer_group(id) else { return };
        let Some(member) = group.member(&request.member_id) else { return };
        let is_settled =
            matches!(member.state, MemberState::Stable | MemberState::UnreleasedPartitions);
        if !is_settled && !heartbeat.joins() {
            return;
        }
        let epochs = *group.epochs();
        // Its answer is there when what it wrote is committed; that releases it if it concerns the member.
        let awaits = awaited(group, member);
        let held = HeldMember {
            heartbeat: heartbeat.clone(),
            awaits,
            is_hosted: false,
            is_spare: false,
            epochs: Some((member.epoch, epochs.assignment)),
        };
        self.held.hold(id, &member.id, held, limits);
        // What is being computed elsewhere asks for a heartbeat itself if it does not count.
        let (_, assigning) = self.consumer_state.jobs(id);
        if epochs.assignment < epochs.group && assigning.is_none() {
            // The last target assignment is too young for another one, and the heartbeat that would have
            // found it old enough may be one that is held.
            let last_ms = epochs.assignment_timestamp_ms;
            let left_ms = self.consumer_state.assignment_delay_ms(id, last_ms, interval_ms, now);
            out.schedule_if_absent(GroupTimer::Assign(id.clone()), left_ms.max(1));
        }
    }

    /// The settings are others now. What follows from them is found out with a heartbeat of one member, unless
    /// other rules hold for all.
    pub(super) fn release_for_config(&mut self, before: &GroupConfig) {
        for group in self.held.groups() {
            let (was, is) = (before.of_group(&group), self.config.of_group(&group));
            if is_server_mode(before, &group) != is_server_mode(&self.config, &group)
                || was.heartbeat_push != is.heartbeat_push
                || was.heartbeat_interval_ms != is.heartbeat_interval_ms
                || was.session_timeout_ms != is.session_timeout_ms
            {
                self.held.release_all(&group);
            } else {
                self.held.release_one(&group);
            }
        }
    }

    /// There are new topics: groups with regular expressions resolve them again, by a heartbeat.
    pub(super) fn release_for_new_topics(&mut self) {
        for id in self.held.groups() {
            let group = self.logged.consumer_group(&id);
            if group.is_some_and(|group| !group.regex_members().is_empty()) {
                self.held.release_one(&id);
            }
        }
    }

    /// The members of a group are due a target assignment which only a heartbeat computes.
    pub(super) fn assign_by_heartbeat(&mut self, group_id: &str) {
        let Some(group) = self.logged.consumer_group(group_id) else { return };
        let epochs = group.epochs();
        if epochs.assignment < epochs.group && !is_hosted(group, &self.config, group_id) {
            self.held.release_one(group_id);
        }
    }

    /// What is to be known of the state before a record is replayed, to see what it frees.
    pub(super) fn held_before(&self, record: &GroupRecord) -> Option<Arc<ConsumerMember>> {
        let GroupRecord::ConsumerGroup(record) = record else { return None };
        let ConsumerGroupRecord::CurrentMemberAssignment { key, .. } = &**record else {
            return None;
        };
        if !self.held.awaits_any(&key.group_id) {
            return None;
        }
        self.logged.consumer_group(&key.group_id)?.member(&key.member_id).cloned()
    }

    /// Releases the heartbeats that a record has something to say to.
    pub(super) fn release_held(
        &mut self,
        record: &GroupRecord,
        before: Option<Arc<ConsumerMember>>,
    ) {
        use ConsumerGroupRecord as R;
        let GroupRecord::ConsumerGroup(record) = record else { return };
        let id = record.group_id();
        if !self.held.has_group(id) {
            return;
        }
        let Some(group) = self.logged.consumer_group(id) else {
            return self.held.release_all(id);
        };
        match &**record {
            R::TargetAssignmentMember { key, .. } => self.held.retargeted(id, &key.member_id),
            R::TargetAssignmentMetadata { .. } => {
                self.held.assignment_epoch_raised(id, group.epochs().assignment);
                if group.classic_members() > 0 && !is_hosted(group, &self.config, id) {
                    // Members that Kafka's rules host are all to join again.
                    self.held.release_hosted(id);
                }
            }
            R::CurrentMemberAssignment { key, .. } => {
                // Another request of the member did that. What it said before is out of date.
                self.held.release(id, &key.member_id);
                let Some(before) = before else { return };
                let owned = before.assigned.iter().chain(before.pending_revocation.iter());
                for owned in owned {
                    if !group.is_owned(owned.topic_id, owned.partition) {
                        self.held.freed(id, (owned.topic_id, owned.partition));
                    }
                }
            }
            // It is gone, or speaks another protocol; then other rules may hold for all.
            R::MemberMetadata { key, .. } => {
                self.held.release(id, &key.member_id);
                if group.classic_members() > 0 && !is_hosted(group, &self.config, id) {
                    self.held.release_hosted(id);
                }
            }
            R::Metadata { value: Some(_), .. } => self.assign_by_heartbeat(id),
            _ => {}
        }
    }
}
