//! A consumer group as its records say, and what follows from them.
//!
//! The second half of the fields (who subscribes to what, who owns what) is counted from the first
//! whenever a part changes, back and forth alike: taking a change back is making the opposite one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use thalweg_wire::Uuid;

use crate::assignor::{MemberAssignment, SubscriptionType};
use crate::formats::{Offer, vote_of};
use crate::jobs::ResolvedRegex;
use crate::model::ConsumerMember;

/// A group's epoch before its first record.
pub(crate) const INITIAL_EPOCH: i32 = 1;
/// The epoch of a target assignment that was removed.
pub(crate) const NO_ASSIGNMENT_EPOCH: i32 = -1;

/// What a group has one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epochs {
    /// Epoch of the group: raised whenever a new target assignment is due.
    pub group: i32,
    /// Hash of the group's topics when that was last done.
    pub metadata_hash: i64,
    /// Epoch of the group that the target assignment is of.
    pub assignment: i32,
    /// When the target assignment was computed, in milliseconds since the epoch; 0 if that is not
    /// known.
    pub assignment_timestamp_ms: i64,
    /// Whether the log has a record of its topics, from before 4.1, that has to be removed.
    pub has_partition_metadata: bool,
}

impl Default for Epochs {
    fn default() -> Epochs {
        Epochs {
            group: INITIAL_EPOCH,
            metadata_hash: 0,
            assignment: INITIAL_EPOCH,
            assignment_timestamp_ms: 0,
            has_partition_metadata: false,
        }
    }
}

/// How many subscribe to a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subscribers {
    /// Members that name it.
    pub by_name: usize,
    /// Regular expressions that stand for it.
    pub by_regex: usize,
}

/// State of a group, as ListGroups and ConsumerGroupDescribe name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerGroupState {
    /// It has no members.
    Empty,
    /// A new target assignment is due.
    Assigning,
    /// Some member has not come to its target assignment.
    Reconciling,
    /// Every member owns what it is to own.
    Stable,
}

impl ConsumerGroupState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ConsumerGroupState::Empty => "Empty",
            ConsumerGroupState::Assigning => "Assigning",
            ConsumerGroupState::Reconciling => "Reconciling",
            ConsumerGroupState::Stable => "Stable",
        }
    }

    pub(crate) fn of<'a>(
        epochs: &Epochs,
        members: impl IntoIterator<Item = &'a Arc<ConsumerMember>>,
    ) -> ConsumerGroupState {
        let mut members = members.into_iter().peekable();
        if members.peek().is_none() {
            ConsumerGroupState::Empty
        } else if epochs.group > epochs.assignment {
            ConsumerGroupState::Assigning
        } else if members.all(|member| member.is_reconciled_to(epochs.assignment)) {
            ConsumerGroupState::Stable
        } else {
            ConsumerGroupState::Reconciling
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConsumerGroup {
    epochs: Epochs,
    members: BTreeMap<Arc<str>, Arc<ConsumerMember>>,
    targets: BTreeMap<Arc<str>, Arc<MemberAssignment>>,
    /// Both once more: every request looks some up, and ids that begin alike, as those of one client's members do,
    /// are slow to compare.
    by_id: HashMap<Arc<str>, ById>,
    regexes: BTreeMap<Arc<str>, Arc<ResolvedRegex>>,
    /// Static members by instance id.
    static_members: BTreeMap<Arc<str>, Arc<str>>,
    topics: BTreeMap<Arc<str>, Subscribers>,
    /// Members by the regular expression they subscribe with.
    regex_members: BTreeMap<Arc<str>, usize>,
    /// Members by the assignor they ask for.
    assignors: BTreeMap<Arc<str>, usize>,
    /// How many members own a partition, or have not given it up. Never more than one.
    owners: HashMap<(Uuid, i32), u32>,
    classic_members: usize,
    /// Members of the classic protocol by the assignor that they support.
    classic_protocols: BTreeMap<Box<str>, usize>,
    /// Members of the classic protocol by all assignors that they offer, in their order.
    classic_offers: BTreeMap<Offer, usize>,
    /// The assignor that they vote for.
    classic_vote: Option<Box<str>>,
}

/// What there is under one member id.
#[derive(Clone, Debug, Default, PartialEq)]
struct ById {
    member: Option<Arc<ConsumerMember>>,
    target: Option<Arc<MemberAssignment>>,
}

/// Counts `key` up or down; what is counted down to nothing is removed.
fn count<K: Ord, N>(counts: &mut BTreeMap<K, N>, key: K, by: impl FnOnce(&mut N))
where
    N: Default + PartialEq,
{
    use std::collections::btree_map::Entry;
    match counts.entry(key) {
        Entry::Vacant(entry) => {
            let mut value = N::default();
            by(&mut value);
            if value != N::default() {
                entry.insert(value);
            }
        }
        Entry::Occupied(mut entry) => {
            by(entry.get_mut());
            if *entry.get() == N::default() {
                entry.remove();
            }
        }
    }
}

fn step(up: bool) -> impl FnOnce(&mut usize) {
    move |count| *count = if up { *count + 1 } else { count.saturating_sub(1) }
}

impl ConsumerGroup {
    /// Sets a member, or takes it out. Gives back what was there.
    pub(crate) fn put_member(
        &mut self,
        id: &Arc<str>,
        member: Option<Arc<ConsumerMember>>,
    ) -> Option<Arc<ConsumerMember>> {
        let before = self.member(id).cloned();
        self.put_by_id(id, |by_id| by_id.member.clone_from(&member));
        if let Some(before) = &before {
            self.count_member(before, member.as_deref(), false);
        }
        if let Some(member) = &member {
            self.count_member(member, before.as_deref(), true);
        }
        let said = |member: &Option<Arc<ConsumerMember>>| {
            member.as_ref().map(|member| Arc::as_ptr(&member.metadata))
        };
        if said(&before) != said(&member) {
            let vote = vote_of(&self.classic_offers);
            if vote != self.classic_vote.as_deref() {
                self.classic_vote = vote.map(Box::from);
            }
        }
        match member {
            Some(member) => self.members.insert(id.clone(), member),
            None => self.members.remove(id),
        }
    }

    fn put_by_id(&mut self, id: &Arc<str>, put: impl FnOnce(&mut ById)) {
        let by_id = self.by_id.entry(id.clone()).or_default();
        put(by_id);
        if by_id.member.is_none() && by_id.target.is_none() {
            self.by_id.remove(id);
        }
    }

    /// Counts a member in or out. What `other`, which takes its place or whose place it takes, has in
    /// common with it is left as it is.
    fn count_member(&mut self, member: &ConsumerMember, other: Option<&ConsumerMember>, up: bool) {
        if other.is_none_or(|other| !Arc::ptr_eq(&other.metadata, &member.metadata)) {
            self.count_metadata(member, up);
        }
        for owned in member.assigned.iter().chain(member.pending_revocation.iter()) {
            let key = (owned.topic_id, owned.partition);
            if up {
                *self.owners.entry(key).or_default() += 1;
            } else if let Some(owners) = self.owners.get_mut(&key) {
                *owners -= 1;
                if *owners == 0 {
                    self.owners.remove(&key);
                }
            }
        }
    }

    fn count_metadata(&mut self, member: &ConsumerMember, up: bool) {
        let said = &member.metadata;
        for topic in said.topics.iter() {
            count(&mut self.topics, topic.clone(), |s| step(up)(&mut s.by_name));
        }
        if let Some(regex) = said.regex() {
            count(&mut self.regex_members, regex.clone(), step(up));
        }
        if let Some(assignor) = &said.server_assignor {
            count(&mut self.assignors, assignor.clone(), step(up));
        }
        if let Some(classic) = &said.classic {
            step(up)(&mut self.classic_members);
            for (name, _) in &classic.protocols {
                count(&mut self.classic_protocols, name.clone(), step(up));
            }
            count(&mut self.classic_offers, classic.offer(), step(up));
        }
        if let Some(instance_id) = &said.instance_id {
            if up {
                self.static_members.insert(instance_id.clone(), member.id.clone());
            } else if self.static_members.get(instance_id) == Some(&member.id) {
                self.static_members.remove(instance_id);
            }
        }
    }

    pub(crate) fn put_target(
        &mut self,
        member: &Arc<str>,
        target: Option<Arc<MemberAssignment>>,
    ) -> Option<Arc<MemberAssignment>> {
        self.put_by_id(member, |by_id| by_id.target.clone_from(&target));
        match target {
            Some(target) => self.targets.insert(member.clone(), target),
            None => self.targets.remove(member),
        }
    }

    pub(super) fn put_regex(
        &mut self,
        regex: &Arc<str>,
        resolved: Option<Arc<ResolvedRegex>>,
    ) -> Option<Arc<ResolvedRegex>> {
        let before = match &resolved {
            Some(resolved) => self.regexes.insert(regex.clone(), resolved.clone()),
            None => self.regexes.remove(regex),
        };
        for (resolved, up) in [(&before, false), (&resolved, true)] {
            for topic in resolved.iter().flat_map(|resolved| resolved.topics.iter()) {
                count(&mut self.topics, topic.clone(), |s| step(up)(&mut s.by_regex));
            }
        }
        before
    }

    pub(crate) fn put_epochs(&mut self, epochs: Epochs) -> Epochs {
        std::mem::replace(&mut self.epochs, epochs)
    }

    /// Whether it holds nothing that a record said.
    pub(super) fn is_blank(&self) -> bool {
        self.members.is_empty()
            && self.targets.is_empty()
            && self.regexes.is_empty()
            && self.epochs == Epochs::default()
    }

    /// What it has one of.
    pub fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    /// Its members by id.
    pub fn members(&self) -> &BTreeMap<Arc<str>, Arc<ConsumerMember>> {
        &self.members
    }

    /// A member.
    pub fn member(&self, id: &str) -> Option<&Arc<ConsumerMember>> {
        self.by_id.get(id)?.member.as_ref()
    }

    /// The static member of an instance.
    pub fn static_member(&self, instance_id: &str) -> Option<&Arc<ConsumerMember>> {
        self.member(self.static_members.get(instance_id)?)
    }

    /// What a member is to own.
    pub fn target(&self, id: &str) -> Option<&Arc<MemberAssignment>> {
        self.by_id.get(id)?.target.as_ref()
    }

    /// What its members are to own.
    pub fn targets(&self) -> &BTreeMap<Arc<str>, Arc<MemberAssignment>> {
        &self.targets
    }

    /// What its regular expressions stand for.
    pub fn regexes(&self) -> &BTreeMap<Arc<str>, Arc<ResolvedRegex>> {
        &self.regexes
    }

    /// Number of members by the regular expression they subscribe with.
    pub fn regex_members(&self) -> &BTreeMap<Arc<str>, usize> {
        &self.regex_members
    }

    /// The topics that it subscribes to.
    pub fn topics(&self) -> &BTreeMap<Arc<str>, Subscribers> {
        &self.topics
    }

    /// Its state.
    pub fn state(&self) -> ConsumerGroupState {
        ConsumerGroupState::of(&self.epochs, self.members.values())
    }

    /// Whether a member owns a partition, or has not said that it gave it up.
    pub fn is_owned(&self, topic_id: Uuid, partition: i32) -> bool {
        self.owners.contains_key(&(topic_id, partition))
    }

    /// Number of members of the classic protocol.
    pub fn classic_members(&self) -> usize {
        self.classic_members
    }

    /// What members of the classic protocol offer, and how many offer the same.
    pub(crate) fn classic_offers(&self) -> &BTreeMap<Offer, usize> {
        &self.classic_offers
    }

    /// The assignor that the members of the classic protocol vote for.
    pub(crate) fn classic_vote(&self) -> Option<&str> {
        self.classic_vote.as_deref()
    }

    /// Number of members that ask for an assignor.
    pub(crate) fn members_with_assignor(&self) -> usize {
        self.assignors.values().sum()
    }

    /// How many members of the classic protocol support an assignor.
    pub(crate) fn classic_supporters(&self, protocol: &str) -> usize {
        self.classic_protocols.get(protocol).copied().unwrap_or(0)
    }

    /// The assignor that most members ask for once `joining` has taken the place of `leaving`.
    pub(crate) fn preferred_assignor(
        &self,
        leaving: Option<&Arc<str>>,
        joining: Option<&Arc<str>>,
    ) -> Option<Arc<str>> {
        let mut counts = self.assignors.clone();
        for (name, up) in [(leaving, false), (joining, true)] {
            if let Some(name) = name {
                count(&mut counts, name.clone(), step(up));
            }
        }
        most_wanted(counts.iter())
    }

    /// Who subscribes to what once a member has changed.
    pub(crate) fn topics_with(
        &self,
        before: &ConsumerMember,
        after: &ConsumerMember,
    ) -> BTreeMap<Arc<str>, Subscribers> {
        let mut topics = self.topics.clone();
        // A member that is not in the group yet has not been counted.
        for topic in before.metadata.topics.iter() {
            count(&mut topics, topic.clone(), |s| step(false)(&mut s.by_name));
        }
        for topic in after.metadata.topics.iter() {
            count(&mut topics, topic.clone(), |s| step(true)(&mut s.by_name));
        }
        if let Some(regex) = before.metadata.regex()
            && after.metadata.regex() != Some(regex)
            && self.regex_members.get(regex) == Some(&1)
        {
            self.drop_regex(&mut topics, regex);
        }
        topics
    }

    /// Who subscribes to what without these members and regular expressions.
    pub(crate) fn topics_without(
        &self,
        members: &[Arc<ConsumerMember>],
        regexes: &[Arc<str>],
    ) -> BTreeMap<Arc<str>, Subscribers> {
        let mut topics = self.topics.clone();
        for topic in members.iter().flat_map(|member| member.metadata.topics.iter()) {
            count(&mut topics, topic.clone(), |s| step(false)(&mut s.by_name));
        }
        for regex in regexes {
            self.drop_regex(&mut topics, regex);
        }
        topics
    }

    fn drop_regex(&self, topics: &mut BTreeMap<Arc<str>, Subscribers>, regex: &Arc<str>) {
        for topic in self.regexes.get(regex).iter().flat_map(|resolved| resolved.topics.iter()) {
            count(topics, topic.clone(), |s| step(false)(&mut s.by_regex));
        }
    }

    /// Whether all of `members` subscribe to the same, from the numbers.
    pub(crate) fn subscription_type(
        topics: &BTreeMap<Arc<str>, Subscribers>,
        regex_members: &BTreeMap<Arc<str>, usize>,
        members: usize,
    ) -> SubscriptionType {
        let same = match regex_members.values().next() {
            None => topics.values().all(|s| s.by_name == members),
            Some(&by_regex) => {
                by_regex == members && topics.values().all(|s| s.by_regex == 1 && s.by_name == 0)
            }
        };
        if same { SubscriptionType::Homogeneous } else { SubscriptionType::Heterogeneous }
    }

    /// What must hold of the numbers; says what does not.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut counted = ConsumerGroup { epochs: self.epochs, ..ConsumerGroup::default() };
        for (id, member) in &self.members {
            counted.put_member(id, Some(member.clone()));
        }
        for (id, target) in &self.targets {
            counted.put_target(id, Some(target.clone()));
        }
        for (regex, resolved) in &self.regexes {
            counted.put_regex(regex, Some(resolved.clone()));
        }
        if *self != counted {
            return Err(format!("counted {counted:?}, have {self:?}"));
        }
        match self.owners.iter().find(|(_, owners)| **owners > 1) {
            Some(((topic, partition), _)) => Err(format!("{topic}-{partition} has two owners")),
            None => Ok(()),
        }
    }
}

/// The name with the highest count, the first of those that are equal.
pub(crate) fn most_wanted<'a>(
    counts: impl Iterator<Item = (&'a Arc<str>, &'a usize)>,
) -> Option<Arc<str>> {
    let mut best: Option<(&Arc<str>, usize)> = None;
    for (name, &count) in counts {
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((name, count));
        }
    }
    best.map(|(name, _)| name.clone())
}
