//! The consumer groups that the log holds: replay, commit and revert.
//!
//! Each part of a group (a member, a member's target, what a regular expression stands for, the
//! epochs) is kept by itself for what is in flight, so that a change of one member of ten thousand
//! costs one member.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_coordinator::{Account, UndoLog};
use thalweg_wire::messages::ConsumerGroupTargetAssignmentMemberValue;

use super::group::{ConsumerGroup, ConsumerGroupState, Epochs, NO_ASSIGNMENT_EPOCH};
use crate::assignor::MemberAssignment;
use crate::jobs::ResolvedRegex;
use crate::model::{ConsumerGroupRecord, ConsumerMember, MemberMetadata};

/// A group, and a member or regular expression of it.
type PartKey = (Arc<str>, Arc<str>);

/// What a member takes beside what it said of itself: its id, epochs, assignment and target.
const MEMBER_BYTES: usize = 512;

/// What was taken back: groups of which something was, and members that are as they were before.
#[derive(Debug, Default)]
pub(crate) struct Reverted {
    pub(crate) groups: BTreeSet<Arc<str>>,
    pub(crate) members: BTreeSet<(Arc<str>, Arc<str>)>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct ConsumerGroups {
    /// Those that the log says are there. None of the others has anything in here.
    groups: BTreeMap<Arc<str>, ConsumerGroup>,
    /// Holds what members leave behind.
    account: Option<Arc<Account>>,
    epochs_undo: UndoLog<Arc<str>, Epochs>,
    member_undo: UndoLog<PartKey, Option<Arc<ConsumerMember>>>,
    target_undo: UndoLog<PartKey, Option<Arc<MemberAssignment>>>,
    regex_undo: UndoLog<PartKey, Option<Arc<ResolvedRegex>>>,
}

fn target_of(value: &ConsumerGroupTargetAssignmentMemberValue) -> MemberAssignment {
    MemberAssignment::new(
        value.topic_partitions.iter().map(|t| (t.topic_id, t.partitions.iter().copied())),
    )
}

impl ConsumerGroups {
    /// What members leave behind is held of `account`.
    pub(crate) fn new(account: Arc<Account>) -> ConsumerGroups {
        ConsumerGroups { account: Some(account), ..ConsumerGroups::default() }
    }

    pub(crate) fn start_recording(&mut self) {
        self.epochs_undo.start();
        self.member_undo.start();
        self.target_undo.start();
        self.regex_undo.start();
    }

    /// Applies a record of a group that is there.
    pub(crate) fn replay(&mut self, offset: i64, group: &Arc<str>, record: &ConsumerGroupRecord) {
        use ConsumerGroupRecord as R;
        match record {
            R::Metadata { value: Some(value), .. } => self.change_epochs(offset, group, |epochs| {
                epochs.group = value.epoch;
                epochs.metadata_hash = value.metadata_hash;
            }),
            R::Metadata { value: None, .. } => self.clear(offset, group),
            R::PartitionMetadata { value, .. } => self.change_epochs(offset, group, |epochs| {
                epochs.has_partition_metadata = value.is_some();
            }),
            R::TargetAssignmentMetadata { value, .. } => {
                self.change_epochs(offset, group, |epochs| match value {
                    Some(value) => {
                        epochs.assignment = value.assignment_epoch;
                        epochs.assignment_timestamp_ms = value.assignment_timestamp;
                    }
                    None => {
                        epochs.assignment = NO_ASSIGNMENT_EPOCH;
                        epochs.assignment_timestamp_ms = 0;
                    }
                });
            }
            R::TargetAssignmentMember { key, value } => {
                let member = self.member_name(group, &key.member_id);
                let target = value.as_ref().map(|value| Arc::new(target_of(value)));
                self.set_target(offset, group, &member, target);
            }
            R::MemberMetadata { key, value } => {
                let id = self.member_name(group, &key.member_id);
                let before = self.groups.get(group).and_then(|g| g.member(&id)).cloned();
                let member = value.as_ref().map(|value| {
                    let mut said = MemberMetadata::from_record(value);
                    self.share(group, &mut said);
                    let account = self.account.as_ref();
                    let held = account.map(|account| account.hold(said.size() + MEMBER_BYTES));
                    said.held = held.map(Arc::new);
                    let before = before.as_deref().cloned();
                    let before = before.unwrap_or_else(|| ConsumerMember::new(id.clone()));
                    Arc::new(ConsumerMember { metadata: Arc::new(said), ..before })
                });
                self.set_member(offset, group, &id, member);
            }
            R::CurrentMemberAssignment { key, value } => {
                let id = self.member_name(group, &key.member_id);
                let before = self.groups.get(group).and_then(|g| g.member(&id)).cloned();
                let member = match (value, before) {
                    (Some(value), Some(before)) => before.with_assignment(value),
                    (Some(value), None) => ConsumerMember::new(id.clone()).with_assignment(value),
                    (None, Some(before)) => before.without_assignment(),
                    (None, None) => return,
                };
                self.set_member(offset, group, &id, Some(Arc::new(member)));
            }
            R::RegularExpression { key, value } => {
                let known = self.groups.get(group);
                let known = known.and_then(|g| {
                    let members = g.regex_members().get_key_value(key.regular_expression.as_str());
                    members.map(|(name, _)| name.clone())
                });
                let regex = known.unwrap_or_else(|| key.regular_expression.as_str().into());
                let resolved = value.as_ref().map(|value| {
                    Arc::new(ResolvedRegex {
                        topics: crate::model::topic_set(&value.topics),
                        version: value.version,
                        timestamp_ms: value.timestamp,
                    })
                });
                self.set_regex(offset, group, &regex, resolved);
            }
        }
    }

    /// Members that subscribe to the same topics share the list of them, which is most groups' case.
    fn share(&self, group: &Arc<str>, said: &mut MemberMetadata) {
        let Some(group) = self.groups.get(group) else { return };
        let any = group.members().values().next().map(|member| &member.metadata.topics);
        if let Some(topics) = any
            && *topics == said.topics
        {
            said.topics = topics.clone();
        }
    }

    /// Takes everything out of a group that is gone.
    pub(crate) fn clear(&mut self, offset: i64, group: &Arc<str>) {
        let Some(all) = self.groups.get(group) else { return };
        let members: Vec<Arc<str>> = all.members().keys().cloned().collect();
        let targets: Vec<Arc<str>> = all.targets().keys().cloned().collect();
        let regexes: Vec<Arc<str>> = all.regexes().keys().cloned().collect();
        for id in members {
            self.set_member(offset, group, &id, None);
        }
        for id in targets {
            self.set_target(offset, group, &id, None);
        }
        for regex in regexes {
            self.set_regex(offset, group, &regex, None);
        }
        self.change_epochs(offset, group, |epochs| *epochs = Epochs::default());
        self.groups.remove(group);
    }

    pub(crate) fn commit(&mut self, offset: i64) {
        self.epochs_undo.forget_below(offset);
        self.member_undo.forget_below(offset);
        self.target_undo.forget_below(offset);
        self.regex_undo.forget_below(offset);
    }

    /// Takes back the records at and above `offset`. Groups that are not there any more must be
    /// [dropped](ConsumerGroups::drop_blank) after that.
    pub(crate) fn revert(&mut self, offset: i64) -> Reverted {
        let mut reverted = Reverted::default();
        while let Some(((group, id), before)) = self.member_undo.pop_from(offset) {
            self.group_mut(&group).put_member(&id, before);
            reverted.groups.insert(group.clone());
            reverted.members.insert((group, id));
        }
        while let Some(((group, id), before)) = self.target_undo.pop_from(offset) {
            self.group_mut(&group).put_target(&id, before);
            reverted.groups.insert(group);
        }
        while let Some(((group, regex), before)) = self.regex_undo.pop_from(offset) {
            self.group_mut(&group).put_regex(&regex, before);
            reverted.groups.insert(group);
        }
        while let Some((group, before)) = self.epochs_undo.pop_from(offset) {
            self.group_mut(&group).put_epochs(before);
            reverted.groups.insert(group);
        }
        reverted
    }

    /// A group that the log says is there. It may hold nothing yet.
    pub(crate) fn create(&mut self, group: &Arc<str>) {
        self.group_mut(group);
    }

    /// Forgets a group that is not there any more and holds nothing.
    pub(crate) fn drop_blank(&mut self, group: &str) {
        if let Some(gone) = self.groups.remove(group) {
            debug_assert!(gone.is_blank(), "{group} is gone and holds {gone:?}");
        }
    }

    fn group_mut(&mut self, group: &Arc<str>) -> &mut ConsumerGroup {
        self.groups.entry(group.clone()).or_default()
    }

    fn change_epochs(&mut self, offset: i64, group: &Arc<str>, change: impl FnOnce(&mut Epochs)) {
        let here = self.group_mut(group);
        let mut epochs = *here.epochs();
        change(&mut epochs);
        let before = here.put_epochs(epochs);
        self.epochs_undo.push(offset, group.clone(), before);
    }

    fn set_member(
        &mut self,
        offset: i64,
        group: &Arc<str>,
        id: &Arc<str>,
        member: Option<Arc<ConsumerMember>>,
    ) {
        let before = self.group_mut(group).put_member(id, member);
        self.member_undo.push(offset, (group.clone(), id.clone()), before);
    }

    fn set_target(
        &mut self,
        offset: i64,
        group: &Arc<str>,
        id: &Arc<str>,
        target: Option<Arc<MemberAssignment>>,
    ) {
        let before = self.group_mut(group).put_target(id, target);
        self.target_undo.push(offset, (group.clone(), id.clone()), before);
    }

    fn set_regex(
        &mut self,
        offset: i64,
        group: &Arc<str>,
        regex: &Arc<str>,
        resolved: Option<Arc<ResolvedRegex>>,
    ) {
        let before = self.group_mut(group).put_regex(regex, resolved);
        self.regex_undo.push(offset, (group.clone(), regex.clone()), before);
    }

    /// The shared text of a member's id.
    fn member_name(&self, group: &str, id: &str) -> Arc<str> {
        let group = self.groups.get(group);
        let known = group.and_then(|group| {
            let member = group.members().get_key_value(id).map(|(name, _)| name);
            member.or_else(|| group.targets().get_key_value(id).map(|(name, _)| name))
        });
        known.cloned().unwrap_or_else(|| id.into())
    }

    /// A group, committed or not.
    pub(crate) fn get(&self, group: &str) -> Option<&ConsumerGroup> {
        self.groups.get(group)
    }

    /// All groups, committed or not.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &ConsumerGroup)> {
        self.groups.iter()
    }

    /// A group as of the last commit, if it was there then, which the caller knows.
    pub(crate) fn committed(&self, group: &Arc<str>) -> CommittedGroup<'_> {
        let now = self.groups.get(group);
        let from = (group.clone(), "".into());
        let mut members: BTreeMap<&Arc<str>, &Arc<ConsumerMember>> =
            now.into_iter().flat_map(|group| group.members()).collect();
        let in_flight = self.member_undo.committed_in(from.clone()..);
        for ((_, id), committed) in in_flight.take_while(|(key, _)| key.0 == *group) {
            match committed {
                Some(member) => members.insert(id, member),
                None => members.remove(id),
            };
        }
        let mut targets: BTreeMap<&Arc<str>, &Arc<MemberAssignment>> =
            now.into_iter().flat_map(|group| group.targets()).collect();
        let in_flight = self.target_undo.committed_in(from..);
        for ((_, id), committed) in in_flight.take_while(|(key, _)| key.0 == *group) {
            match committed {
                Some(target) => targets.insert(id, target),
                None => targets.remove(id),
            };
        }
        let epochs = self.epochs_undo.committed(group);
        let epochs = epochs.or_else(|| now.map(ConsumerGroup::epochs)).copied();
        CommittedGroup { epochs: epochs.unwrap_or_default(), members, targets }
    }

    /// A group of which everything is committed.
    pub(crate) fn unchanged(&self, group: &Arc<str>) -> Option<&ConsumerGroup> {
        let from = (group.clone(), "".into());
        let member = self.member_undo.committed_in(from.clone()..).next();
        let target = self.target_undo.committed_in(from..).next();
        let is_changed = member.is_some_and(|(key, _)| key.0 == *group)
            || target.is_some_and(|(key, _)| key.0 == *group)
            || self.epochs_undo.committed(group).is_some();
        if is_changed { None } else { self.groups.get(group) }
    }

    /// State of a group as of the last commit, if it was there then, which the caller knows.
    pub(crate) fn committed_state(&self, group: &Arc<str>) -> ConsumerGroupState {
        match self.unchanged(group) {
            Some(now) => now.state(),
            None => self.committed(group).state(),
        }
    }

    /// A member as of the last commit.
    pub(crate) fn committed_member(&self, group: &Arc<str>, id: &str) -> Option<&ConsumerMember> {
        let now = self.groups.get(group).and_then(|group| group.member(id));
        if self.member_undo.is_empty() {
            return now.map(|member| &**member);
        }
        let key = (group.clone(), self.member_name(group, id));
        let committed = self.member_undo.committed(&key).map_or(now, Option::as_ref);
        committed.map(|member| &**member)
    }

    /// What must hold of each group; says what does not.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (id, group) in &self.groups {
            group.check().map_err(|broken| format!("group {id}: {broken}"))?;
        }
        Ok(())
    }
}

/// A consumer group as of the last commit.
pub(crate) struct CommittedGroup<'a> {
    pub(crate) epochs: Epochs,
    pub(crate) members: BTreeMap<&'a Arc<str>, &'a Arc<ConsumerMember>>,
    pub(crate) targets: BTreeMap<&'a Arc<str>, &'a Arc<MemberAssignment>>,
}

impl CommittedGroup<'_> {
    pub(crate) fn state(&self) -> ConsumerGroupState {
        ConsumerGroupState::of(&self.epochs, self.members.values().copied())
    }
}

/// Equality of what the log says; what is in flight does not count.
impl PartialEq for ConsumerGroups {
    fn eq(&self, other: &ConsumerGroups) -> bool {
        self.groups == other.groups
    }
}
