//! Newcomers to groups that the coordinator assigns, whose JoinGroups wait (`hosted::newcomer`).
//!
//! Whatever is written of a group may be what its newcomers wait for. So each outcome with records of such a
//! group sets a timer that is due at once, and the newcomers are looked at when the records are applied.
//!
//! Invariant: every token here is answered: with the partitions, with an error when the member is gone or its
//! records were not written, or when the group's partition moves away.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use thalweg_coordinator::{Now, Token, append_error};
use thalweg_wire::ErrorCode;

use super::{GroupShard, Out};
use crate::consumer::RETRY_MS;
use crate::hosted::{self, Admission, Newcomer};
use crate::model::{GroupRecord, GroupResponse, GroupTimer, Then, join_error};

/// So many newcomers of a group are answered in one step, with so many records. They are one batch.
const ANSWERS_MAX: usize = 64;
const RECORDS_MAX: usize = 256;

/// For so many newcomers of a group they are looked at a millisecond later: each look is at all of them.
const LOOKS_MS_PART: usize = 64;

/// The newcomers of a group by member.
type GroupNewcomers = BTreeMap<Arc<str>, (Token, Newcomer)>;

/// The newcomers of a shard, by group.
#[derive(Debug, Default)]
pub(super) struct Newcomers {
    groups: BTreeMap<Arc<str>, GroupNewcomers>,
}

impl Newcomers {
    /// Whether a member waits.
    pub(super) fn has(&self, group: &str, member: &str) -> bool {
        self.groups.get(group).is_some_and(|members| members.contains_key(member))
    }

    /// The requests that wait.
    pub(super) fn tokens(&self) -> impl Iterator<Item = Token> {
        self.groups.values().flat_map(GroupNewcomers::values).map(|(token, _)| *token)
    }

    fn take(&mut self, group: &str, member: &str) -> Option<Token> {
        let members = self.groups.get_mut(group)?;
        let (token, _) = members.remove(member)?;
        if members.is_empty() {
            self.groups.remove(group);
        }
        Some(token)
    }

    fn complete(&mut self, group: &str, member: &str, error: ErrorCode, out: &mut Out) {
        if let Some(token) = self.take(group, member) {
            let member = if error == ErrorCode::UNKNOWN_MEMBER_ID { "" } else { member };
            out.complete(token, GroupResponse::JoinGroup(join_error(member, error)));
        }
    }

    /// Answers the newcomers of a group with an error.
    pub(super) fn fail_group(&mut self, group: &str, error: ErrorCode, out: &mut Out) {
        for (member, (token, _)) in self.groups.remove(group).into_iter().flatten() {
            out.complete(token, GroupResponse::JoinGroup(join_error(&member, error)));
        }
    }

    /// Answers all newcomers with an error.
    pub(super) fn fail_all(&mut self, error: ErrorCode, out: &mut Out) {
        let groups: Vec<Arc<str>> = self.groups.keys().cloned().collect();
        for group in groups {
            self.fail_group(&group, error, out);
        }
    }
}

impl GroupShard {
    /// Lets a newcomer wait. A JoinGroup that it has sent before, and that waits, is answered with
    /// REBALANCE_IN_PROGRESS, as at a barrier.
    pub(super) fn wait_as_newcomer(
        &mut self,
        group: &Arc<str>,
        token: Token,
        newcomer: Newcomer,
        out: &mut Out,
    ) {
        let member = newcomer.member.clone();
        self.newcomers.complete(group, &member, ErrorCode::REBALANCE_IN_PROGRESS, out);
        self.newcomers.groups.entry(group.clone()).or_default().insert(member, (token, newcomer));
    }

    /// The newcomer has been answered by another request of its own.
    pub(super) fn waits_no_more(&mut self, group: &str, member: &str, out: &mut Out) {
        self.newcomers.complete(group, member, ErrorCode::REBALANCE_IN_PROGRESS, out);
    }

    /// Whether the member that a JoinGroup is from, or whose place it takes, waits.
    pub(super) fn is_waiting_newcomer(
        &self,
        group: &str,
        member: &str,
        instance_id: Option<&str>,
    ) -> bool {
        let of_instance = instance_id
            .and_then(|instance_id| self.logged.consumer_group(group)?.static_member(instance_id));
        let id = of_instance.map_or(member, |member| &member.id);
        self.newcomers.has(group, id)
    }

    /// Has the newcomers of the groups that this outcome changes looked at.
    pub(super) fn look_after_newcomers(&mut self, out: &mut Out) {
        if self.newcomers.groups.is_empty() {
            return;
        }
        let mut changed: BTreeSet<&Arc<str>> = BTreeSet::new();
        for record in &out.records {
            let group = match record {
                GroupRecord::ConsumerGroup(record) => record.group_id(),
                GroupRecord::GroupMetadata { key, .. } => &key.group,
                _ => continue,
            };
            changed.extend(self.newcomers.groups.get_key_value(group).map(|(id, _)| id));
        }
        let delay_ms =
            |group| self.newcomers.groups.get(group).map_or(0, BTreeMap::len) / LOOKS_MS_PART;
        let timers: Vec<(GroupTimer, usize)> = changed
            .into_iter()
            .map(|group| (GroupTimer::Newcomers(group.clone()), delay_ms(group)))
            .collect();
        for (timer, delay_ms) in timers {
            out.schedule_if_absent(timer, delay_ms as u64);
        }
    }

    /// Gives the newcomers of a group what is free of their targets, and answers those that have all of it.
    pub(super) fn admit_newcomers(&mut self, group: &Arc<str>, now: Now, out: &mut Out) {
        if self.logged.consumer_group(group).is_none() {
            // Its members have to join the classic group that it is now.
            return self.newcomers.fail_group(group, ErrorCode::REBALANCE_IN_PROGRESS, out);
        }
        let Some(waiting) = self.newcomers.groups.remove(group) else { return };
        let mut left = BTreeMap::new();
        let mut joined = Vec::new();
        let mut granted = HashSet::new();
        for (member, (token, newcomer)) in waiting {
            if joined.len() >= ANSWERS_MAX || out.records.len() >= RECORDS_MAX {
                out.schedule_if_absent(GroupTimer::Newcomers(group.clone()), 0);
                left.insert(member, (token, newcomer));
                continue;
            }
            let admission = self.with_consumer_group(group, now, out, |step| {
                hosted::admit(step, &newcomer, &mut granted).map(|admission| (admission, None))
            });
            let response = match admission {
                Some(Ok(Admission::Waits)) => {
                    left.insert(member, (token, newcomer));
                    continue;
                }
                Some(Ok(Admission::Joined(answer))) => {
                    joined.extend(answer.then);
                    answer.response
                }
                Some(Ok(Admission::Gone(response))) => response,
                Some(Err(refused)) => join_error(&member, refused.code),
                None => join_error("", ErrorCode::UNKNOWN_MEMBER_ID),
            };
            out.complete(token, GroupResponse::JoinGroup(response));
        }
        if !left.is_empty() {
            self.newcomers.groups.insert(group.clone(), left);
        }
        if !joined.is_empty() {
            out.then = Some(Then::ClassicJoins(joined));
        }
    }

    /// Records were taken back, with members that wait for an answer.
    pub(super) fn revert_newcomers(&mut self, error: ErrorCode, out: &mut Out) {
        let mut gone = Vec::new();
        for (id, members) in &mut self.newcomers.groups {
            let group = self.logged.consumer_group(id);
            if let Some(group) = group {
                let group_epoch = group.epochs().group;
                members.values_mut().for_each(|(_, newcomer)| newcomer.reverted_to(group_epoch));
            }
            let is_gone = |member: &&Arc<str>| group.is_none_or(|g| g.member(member).is_none());
            gone.extend(members.keys().filter(is_gone).map(|member| (id.clone(), member.clone())));
            // At once the log may refuse the same again.
            out.schedule_if_absent(GroupTimer::Newcomers(id.clone()), RETRY_MS);
        }
        for (group, member) in gone {
            self.newcomers.complete(&group, &member, append_error(error), out);
        }
    }
}
