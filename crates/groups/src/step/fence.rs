//! Members that go: by leaving, by being taken out, or because they were not heard of in time.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_wire::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};

use super::context::Step;
use super::migrate::Downgrade;
use crate::consumer::RETRY_MS;
use crate::model::{
    ConsumerGroupRecord, ConsumerMember, GroupTimer, LEAVE_GROUP_STATIC_MEMBER_EPOCH, MemberState,
    OwnedPartitions, Refused,
};

impl Step<'_, '_> {
    /// Handles the heartbeat of a member that leaves, for good or for a while.
    pub(crate) fn leave(
        &mut self,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> Result<(ConsumerGroupHeartbeatResponse, Option<Downgrade>), Refused> {
        let member = match request.instance_id.as_deref() {
            None => self.member(&request.member_id, false)?,
            Some(instance_id) => self.known_static(&request.member_id, instance_id)?,
        };
        let response = ConsumerGroupHeartbeatResponse {
            member_id: Some(member.id.to_string()),
            member_epoch: request.member_epoch,
            ..Default::default()
        };
        let is_away = request.instance_id.is_some()
            && request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH;
        if !is_away {
            return Ok((response, self.fence(&[member])?));
        }
        // It keeps what it has until its session ends, and gets it back if it comes back before.
        let away = ConsumerMember {
            epoch: LEAVE_GROUP_STATIC_MEMBER_EPOCH,
            assigned: member.assigned.with_epochs_zero(),
            pending_revocation: OwnedPartitions::default(),
            ..ConsumerMember::clone(&member)
        };
        self.record(ConsumerGroupRecord::current_assignment(self.id, &away.id, Some(&away)));
        Ok((response, None))
    }

    /// Takes members out. What is left may be a classic group then.
    pub(crate) fn fence(
        &mut self,
        members: &[Arc<ConsumerMember>],
    ) -> Result<Option<Downgrade>, Refused> {
        if members.is_empty() {
            return Ok(None);
        }
        if self.is_hosted() && members.len() == self.group.members().len() {
            self.end_hosted(members);
            return Ok(None);
        }
        // Members whose subscriptions cannot be read, or a group too large for the record of a classic one,
        // do not keep the one that goes: the group stays one of this type then.
        if self.is_classic_without(members)
            && let Some(downgrade) = self.downgrade_that_fits(members)
        {
            return Ok(Some(downgrade));
        }
        for member in members {
            self.remove_member(&member.id);
        }
        let mut counts: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for regex in members.iter().filter_map(|member| member.metadata.regex()) {
            *counts.entry(regex).or_default() += 1;
        }
        let subscribers = self.group.regex_members();
        counts.retain(|regex, count| subscribers.get(*regex) == Some(count));
        let regexes: Vec<Arc<str>> = counts.into_keys().cloned().collect();
        for regex in &regexes {
            self.record(ConsumerGroupRecord::regex(self.id, regex, None));
        }
        let topics = self.group.topics_without(members, &regexes);
        let hash = self.hash_of(&topics);
        // Not counted as a rebalance of its own: Kafka counts those that a heartbeat begins.
        let epoch = self.group.epochs().group.saturating_add(1);
        self.record(ConsumerGroupRecord::metadata(self.id, Some((epoch, hash))));
        if members.len() == self.group.members().len() {
            // Nothing is left to assign, and the assignment interval (KIP-1263) must not delay the next member.
            self.record(ConsumerGroupRecord::target_epoch(self.id, Some((epoch, 0))));
        }
        for member in members {
            self.cancel_timers(&member.id);
        }
        if self.is_hosted_without(members) {
            self.assign_soon();
        }
        Ok(None)
    }

    fn downgrade_that_fits(&mut self, leaving: &[Arc<ConsumerMember>]) -> Option<Downgrade> {
        let members = self.group.members().len().saturating_sub(leaving.len());
        if !self.cx.consumer_state.may_fit_barrier(self.id, members) {
            return None;
        }
        let before = self.records.len();
        let downgrade = self.downgrade(leaving, None, true).ok()?;
        if self.cx.config.batch_limit.fits(&self.records[before..]) {
            return Some(downgrade);
        }
        self.records.truncate(before);
        self.consumer_state().too_large_for_barrier = Some(members);
        None
    }

    pub(crate) fn cancel_timers(&mut self, member_id: &Arc<str>) {
        for timer in [
            GroupTimer::ConsumerSession,
            GroupTimer::Rebalance,
            GroupTimer::ClassicJoin,
            GroupTimer::ClassicSync,
        ] {
            self.cx.out.cancel(timer(self.id.clone(), member_id.clone()));
        }
    }

    /// A member has not been heard of, or has not done in time what it was asked to.
    pub(crate) fn fence_overdue(&mut self, member_id: &str) -> Result<Option<Downgrade>, Refused> {
        match self.group.member(member_id).cloned() {
            Some(member) => {
                self.consumer_state().pending.remove(member_id);
                self.fence(&[member])
            }
            None => {
                self.consumer_state().pending.remove(member_id);
                Ok(None)
            }
        }
    }

    /// The time that a member had to give partitions up has passed.
    pub(crate) fn rebalance_overdue(
        &mut self,
        member_id: &str,
    ) -> Result<Option<Downgrade>, Refused> {
        let owes = self.group.member(member_id).is_some_and(|member| {
            member.state == MemberState::UnrevokedPartitions
                && member.epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH
        });
        if owes { self.fence_overdue(member_id) } else { Ok(None) }
    }

    /// A member whose change was taken back has the timers that every member has.
    pub(crate) fn rearm(&mut self, member_id: &str) {
        let Some(member) = self.group.member(member_id) else { return };
        let session = GroupTimer::ConsumerSession(self.id.clone(), member.id.clone());
        self.cx.out.schedule_if_absent(session, RETRY_MS);
        if member.state == MemberState::UnrevokedPartitions && !member.is_classic() {
            let timeout_ms = u64::try_from(member.metadata.rebalance_timeout_ms).unwrap_or(0);
            let timer = GroupTimer::Rebalance(self.id.clone(), member.id.clone());
            self.cx.out.schedule_if_absent(timer, timeout_ms);
        }
    }

    /// Starts the session of every member, and the time of those that have to give partitions up.
    pub(crate) fn start_sessions(&mut self) {
        let session_ms = self.cx.config.of_group(self.id).session_timeout_ms;
        let group = self.group;
        let is_hosted = self.is_hosted();
        for member in group.members().values() {
            let own = member.metadata.classic.as_ref().filter(|_| is_hosted);
            self.schedule_session(&member.id, own.map_or(session_ms, |own| own.session_timeout_ms));
            if member.state == MemberState::UnrevokedPartitions && is_hosted {
                self.expect_join(member);
            } else if member.state == MemberState::UnrevokedPartitions {
                let timeout_ms = member.metadata.rebalance_timeout_ms;
                let timer = GroupTimer::Rebalance(self.id.clone(), member.id.clone());
                self.cx.out.schedule(timer, u64::try_from(timeout_ms).unwrap_or(0));
            }
        }
    }

    /// Records that end the group. A member that has just been replaced is in the log under its new
    /// id: `renamed` has the old one and the new one.
    pub(crate) fn end_group(&mut self, renamed: Option<(&Arc<str>, &Arc<str>)>) {
        let group = self.group;
        let names = || {
            group.members().keys().map(|id| match renamed {
                Some((old, new)) if old == id => new,
                _ => id,
            })
        };
        for member_id in names() {
            self.record(ConsumerGroupRecord::current_assignment(self.id, member_id, None));
        }
        for member_id in names() {
            self.record(ConsumerGroupRecord::target_assignment(self.id, member_id, None));
        }
        self.record(ConsumerGroupRecord::target_epoch(self.id, None));
        for member_id in names() {
            self.record(ConsumerGroupRecord::member_metadata(self.id, member_id, None));
        }
        for regex in group.regexes().keys() {
            self.record(ConsumerGroupRecord::regex(self.id, regex, None));
        }
        self.record(ConsumerGroupRecord::no_partition_metadata(self.id));
        self.record(ConsumerGroupRecord::metadata(self.id, None));
    }
}
