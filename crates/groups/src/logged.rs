//! The state that the log holds: which groups exist and of which type, their last written metadata,
//! their offsets.
//!
//! Invariant: only [`replay`](Logged::replay), [`replay_marker`](Logged::replay_marker) and
//! [`revert`](Logged::revert) change it, so that the same log gives the same state. There is no other
//! `&mut` method that touches it, and its fields are private.

mod kind;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use thalweg_coordinator::{Account, Position, UndoLog};
use thalweg_wire::Uuid;
use thalweg_wire::messages::{GroupMetadataValue, OffsetCommitValue};

use crate::consumer::{
    CommittedGroup, ConsumerGroup, ConsumerGroupState, ConsumerGroups, Reverted,
};
use crate::model::{
    ConsumerGroupRecord, ConsumerMember, GroupRecord, ReservedRecord, ReservedType,
};

pub(crate) use kind::GroupKind;

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The offset.
    pub offset: i64,
    /// Leader epoch of the last record consumed; -1 if the client did not say.
    pub leader_epoch: i32,
    /// The client's own text.
    pub metadata: Box<str>,
    /// When it was committed.
    pub commit_timestamp_ms: i64,
    /// When it expires, if the client set a retention time.
    pub expire_timestamp_ms: Option<i64>,
    /// The topic's id; zero in records from before topic ids.
    pub topic_id: Uuid,
    /// Where the record stands. Decides between a transactional and a plain commit.
    pub record_offset: i64,
}

impl CommittedOffset {
    fn from_record(record_offset: i64, value: &OffsetCommitValue) -> CommittedOffset {
        CommittedOffset {
            offset: value.offset,
            leader_epoch: value.leader_epoch,
            metadata: value.metadata.as_str().into(),
            commit_timestamp_ms: value.commit_timestamp,
            expire_timestamp_ms: (value.expire_timestamp != -1).then_some(value.expire_timestamp),
            topic_id: value.topic_id,
            record_offset,
        }
    }
}

/// Offsets of one group by topic and partition. No inner map is empty.
pub type GroupOffsets = BTreeMap<Arc<str>, BTreeMap<i32, CommittedOffset>>;

/// A group, as the log knows it.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupEntry {
    /// It only commits offsets and has no record of its own.
    Offsets,
    /// A classic group, as of its last completed rebalance.
    Classic(Arc<GroupMetadataValue>),
    /// A consumer group; what it consists of is in [`Logged::consumer_group`].
    Consumer,
    /// A group of a type that this release does not run.
    Reserved(ReservedType),
}

impl GroupEntry {
    /// Whether it is run by the classic state machine.
    pub fn is_classic(&self) -> bool {
        matches!(self, GroupEntry::Offsets | GroupEntry::Classic(_))
    }

    /// Whether it never had members, so that it may become a group of any type.
    fn is_simple(&self) -> bool {
        match self {
            GroupEntry::Offsets => true,
            GroupEntry::Classic(value) => {
                value.protocol_type.is_empty() && value.members.is_empty()
            }
            GroupEntry::Consumer | GroupEntry::Reserved(_) => false,
        }
    }
}

type PartitionKey = (Arc<str>, Arc<str>, i32);

/// What a replayed or reverted record did to the existence of a classic group.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Existence {
    /// There is a classic group of that name, and was none before.
    Appeared(Arc<str>),
    /// There was one, and now is none, or one of another type.
    Vanished(Arc<str>),
}

/// See the module.
#[derive(Default)]
pub struct Logged {
    groups: BTreeMap<Arc<str>, GroupEntry>,
    consumers: ConsumerGroups,
    offsets: BTreeMap<Arc<str>, GroupOffsets>,
    /// Offsets of transactions that have not ended, by producer.
    pending: BTreeMap<i64, BTreeMap<PartitionKey, CommittedOffset>>,
    /// The producers of `pending` by partition.
    open: BTreeMap<PartitionKey, BTreeSet<i64>>,
    offset_count: usize,
    /// Of `groups`, of `offsets` and of `pending` what is not committed yet. No two of them hold the
    /// same, so each is reverted by itself; `consumers` has undo logs of its own.
    group_undo: UndoLog<Arc<str>, Option<GroupEntry>>,
    offset_undo: UndoLog<PartitionKey, Option<CommittedOffset>>,
    pending_undo: UndoLog<(i64, PartitionKey), Option<CommittedOffset>>,
}

impl Logged {
    /// Nothing yet. What members leave behind is held of `account`.
    pub(crate) fn new(account: Arc<Account>) -> Logged {
        Logged { consumers: ConsumerGroups::new(account), ..Logged::default() }
    }

    /// From now on changes can be reverted.
    pub(crate) fn start_recording(&mut self) {
        self.consumers.start_recording();
        self.group_undo.start();
        self.offset_undo.start();
        self.pending_undo.start();
    }

    /// Applies a record.
    pub(crate) fn replay(&mut self, at: Position, record: &GroupRecord) -> Option<Existence> {
        match record {
            GroupRecord::GroupMetadata { key, value } => {
                let group = self.name_of(&key.group);
                let entry =
                    value.as_ref().map(|value| GroupEntry::Classic(Arc::new(value.clone())));
                self.consumers.clear(at.offset, &group);
                self.set_group(at.offset, group, entry)
            }
            GroupRecord::ConsumerGroup(record) => self.replay_consumer(at.offset, record),
            GroupRecord::Reserved(record) => self.replay_reserved(at.offset, record),
            GroupRecord::OffsetCommit { key, value } => {
                let group = self.name_of(&key.group);
                let topic = self.topic_of(&group, &key.topic);
                let key = (group.clone(), topic, key.partition);
                let Some(value) = value else {
                    self.set_offset(at.offset, key.clone(), None);
                    self.forget_pending(at.offset, &key);
                    return None;
                };
                let committed = CommittedOffset::from_record(at.offset, value);
                match at.producer_id {
                    None => self.set_offset(at.offset, key, Some(committed)),
                    Some(producer_id) => {
                        self.set_pending(at.offset, producer_id, key, Some(committed));
                    }
                }
                // A consumer that only commits has a group without a record of its own.
                if self.groups.contains_key(&group) {
                    return None;
                }
                self.set_group(at.offset, group, Some(GroupEntry::Offsets))
            }
        }
    }

    fn replay_consumer(&mut self, offset: i64, record: &ConsumerGroupRecord) -> Option<Existence> {
        let group = self.name_of(record.group_id());
        let is_end = matches!(record, ConsumerGroupRecord::Metadata { value: None, .. });
        let mut existence = None;
        match self.groups.get(&group) {
            Some(GroupEntry::Consumer) => {}
            None if record.is_tombstone() => return None,
            Some(entry) if record.is_tombstone() => {
                // What is left of a group whose name one without members has taken.
                if is_end && entry.is_simple() {
                    return self.set_group(offset, group, None);
                }
                return None;
            }
            // Records of two types never overlap: one type's are removed in the batch that begins the
            // other. So this is a log that no broker wrote, and the classic group stays.
            Some(entry) if !entry.is_simple() => return None,
            _ => {
                existence = self.set_group(offset, group.clone(), Some(GroupEntry::Consumer));
            }
        }
        self.consumers.replay(offset, &group, record);
        if is_end {
            return self.set_group(offset, group, None);
        }
        existence
    }

    fn replay_reserved(&mut self, offset: i64, record: &ReservedRecord) -> Option<Existence> {
        let group = self.name_of(&record.group_id);
        let reserved = GroupEntry::Reserved(record.group_type);
        match self.groups.get(&group) {
            Some(GroupEntry::Reserved(_)) if record.ends_group() => {
                self.set_group(offset, group, None)
            }
            Some(entry) if !entry.is_simple() => None,
            _ if record.is_tombstone() => None,
            _ => self.set_group(offset, group, Some(reserved)),
        }
    }

    /// Applies the end of a transaction.
    pub(crate) fn replay_marker(&mut self, offset: i64, producer_id: i64, commit: bool) {
        let Some(pending) = self.pending.get(&producer_id) else { return };
        let keys: Vec<PartitionKey> = pending.keys().cloned().collect();
        for key in keys {
            let Some(committed) = self.set_pending(offset, producer_id, key.clone(), None) else {
                continue;
            };
            // Of a plain and a transactional commit the one that stands later in the log wins,
            // whenever its transaction ended.
            let newer = self
                .offset(&key.0, &key.1, key.2)
                .is_none_or(|existing| existing.record_offset < committed.record_offset);
            if commit && newer {
                self.set_offset(offset, key, Some(committed));
            }
        }
    }

    /// Everything below `offset` is committed.
    pub(crate) fn commit(&mut self, offset: i64) {
        self.consumers.commit(offset);
        self.group_undo.forget_below(offset);
        self.offset_undo.forget_below(offset);
        self.pending_undo.forget_below(offset);
    }

    /// Takes back the records at and above `offset`: of classic groups what came and went, and what was
    /// touched of consumer groups.
    pub(crate) fn revert(&mut self, offset: i64) -> (Vec<Existence>, Reverted) {
        while let Some((key, previous)) = self.offset_undo.pop_from(offset) {
            self.put_offset(key, previous);
        }
        while let Some(((producer_id, key), previous)) = self.pending_undo.pop_from(offset) {
            self.put_pending(producer_id, key, previous);
        }
        let reverted = self.consumers.revert(offset);
        let mut changes = Vec::new();
        let mut touched = BTreeSet::new();
        while let Some((group, previous)) = self.group_undo.pop_from(offset) {
            touched.insert(group.clone());
            changes.extend(self.put_group(group, previous).1);
        }
        for group in touched {
            if !matches!(self.groups.get(&group), Some(GroupEntry::Consumer)) {
                self.consumers.drop_blank(&group);
            }
        }
        (changes, reverted)
    }

    fn set_group(
        &mut self,
        offset: i64,
        group: Arc<str>,
        entry: Option<GroupEntry>,
    ) -> Option<Existence> {
        let (previous, existence) = self.put_group(group.clone(), entry);
        self.group_undo.push(offset, group, previous);
        existence
    }

    fn put_group(
        &mut self,
        group: Arc<str>,
        entry: Option<GroupEntry>,
    ) -> (Option<GroupEntry>, Option<Existence>) {
        let exists = entry.as_ref().is_some_and(GroupEntry::is_classic);
        if matches!(entry, Some(GroupEntry::Consumer)) {
            self.consumers.create(&group);
        }
        let previous = match entry {
            Some(entry) => self.groups.insert(group.clone(), entry),
            None => self.groups.remove(&group),
        };
        let existed = previous.as_ref().is_some_and(GroupEntry::is_classic);
        let existence = match (existed, exists) {
            (false, true) => Some(Existence::Appeared(group)),
            (true, false) => Some(Existence::Vanished(group)),
            _ => None,
        };
        (previous, existence)
    }

    fn set_offset(&mut self, offset: i64, key: PartitionKey, value: Option<CommittedOffset>) {
        let previous = self.put_offset(key.clone(), value);
        self.offset_undo.push(offset, key, previous);
    }

    fn put_offset(
        &mut self,
        (group, topic, partition): PartitionKey,
        value: Option<CommittedOffset>,
    ) -> Option<CommittedOffset> {
        if let Some(value) = value {
            let topics = self.offsets.entry(group).or_default();
            let previous = topics.entry(topic).or_default().insert(partition, value);
            self.offset_count += usize::from(previous.is_none());
            return previous;
        }
        let topics = self.offsets.get_mut(&group)?;
        let partitions = topics.get_mut(&topic)?;
        let previous = partitions.remove(&partition);
        if partitions.is_empty() {
            topics.remove(&topic);
        }
        if topics.is_empty() {
            self.offsets.remove(&group);
        }
        self.offset_count -= usize::from(previous.is_some());
        previous
    }

    fn set_pending(
        &mut self,
        offset: i64,
        producer_id: i64,
        key: PartitionKey,
        value: Option<CommittedOffset>,
    ) -> Option<CommittedOffset> {
        let previous = self.put_pending(producer_id, key.clone(), value);
        self.pending_undo.push(offset, (producer_id, key), previous.clone());
        previous
    }

    fn put_pending(
        &mut self,
        producer_id: i64,
        key: PartitionKey,
        value: Option<CommittedOffset>,
    ) -> Option<CommittedOffset> {
        if let Some(value) = value {
            self.open.entry(key.clone()).or_default().insert(producer_id);
            return self.pending.entry(producer_id).or_default().insert(key, value);
        }
        let offsets = self.pending.get_mut(&producer_id)?;
        let previous = offsets.remove(&key);
        if offsets.is_empty() {
            self.pending.remove(&producer_id);
        }
        if let Some(producers) = self.open.get_mut(&key) {
            producers.remove(&producer_id);
            if producers.is_empty() {
                self.open.remove(&key);
            }
        }
        previous
    }

    fn forget_pending(&mut self, offset: i64, key: &PartitionKey) {
        let producers: Vec<i64> = self.open.get(key).into_iter().flatten().copied().collect();
        for producer_id in producers {
            self.set_pending(offset, producer_id, key.clone(), None);
        }
    }

    /// The shared text of a group's id.
    fn name_of(&self, group: &str) -> Arc<str> {
        match self.groups.get_key_value(group) {
            Some((name, _)) => name.clone(),
            None => group.into(),
        }
    }

    fn topic_of(&self, group: &str, topic: &str) -> Arc<str> {
        match self.offsets.get(group).and_then(|topics| topics.get_key_value(topic)) {
            Some((name, _)) => name.clone(),
            None => topic.into(),
        }
    }

    /// The groups that exist, committed or not.
    pub fn groups(&self) -> impl Iterator<Item = (&Arc<str>, &GroupEntry)> {
        self.groups.iter()
    }

    /// A group that exists, committed or not.
    pub fn group(&self, group: &str) -> Option<&GroupEntry> {
        self.groups.get(group)
    }

    /// The same, with the shared text of its id.
    pub(crate) fn group_with_id(&self, group: &str) -> Option<(&Arc<str>, &GroupEntry)> {
        self.groups.get_key_value(group)
    }

    /// A group as of the last commit.
    pub fn committed_group(&self, group: &str) -> Option<&GroupEntry> {
        let now = self.groups.get(group);
        if self.group_undo.is_empty() {
            return now;
        }
        self.group_undo.committed(&self.name_of(group)).map_or(now, Option::as_ref)
    }

    /// The parts of a consumer group, committed or not.
    pub fn consumer_group(&self, group: &str) -> Option<&ConsumerGroup> {
        self.consumers.get(group)
    }

    /// Names of groups of any kind behind `after`, in order.
    pub(crate) fn names_after(&self, after: Option<&Arc<str>>) -> impl Iterator<Item = &Arc<str>> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.groups.range::<Arc<str>, _>((from, Bound::Unbounded)).map(|(name, _)| name)
    }

    /// All consumer groups, committed or not.
    pub fn consumer_groups(&self) -> impl Iterator<Item = (&Arc<str>, &ConsumerGroup)> {
        self.consumers.iter()
    }

    /// The parts of a consumer group as of the last commit, if it was one then.
    pub(crate) fn committed_consumer_group(&self, group: &str) -> Option<CommittedGroup<'_>> {
        match self.committed_group(group)? {
            GroupEntry::Consumer => Some(self.consumers.committed(&self.name_of(group))),
            _ => None,
        }
    }

    /// A consumer group of which everything is committed.
    pub(crate) fn unchanged_consumer_group(&self, group: &str) -> Option<&ConsumerGroup> {
        let (id, entry) = self.groups.get_key_value(group)?;
        let is_consumer = *entry == GroupEntry::Consumer && self.group_undo.committed(id).is_none();
        is_consumer.then(|| self.consumers.unchanged(id))?
    }

    /// The state of a consumer group as of the last commit, if it was one then.
    pub(crate) fn committed_consumer_state(&self, group: &str) -> Option<ConsumerGroupState> {
        match self.committed_group(group)? {
            GroupEntry::Consumer => Some(self.consumers.committed_state(&self.name_of(group))),
            _ => None,
        }
    }

    /// A member of a consumer group as of the last commit.
    pub(crate) fn committed_member(&self, group: &str, member: &str) -> Option<&ConsumerMember> {
        self.consumers.committed_member(&self.name_of(group), member)
    }

    /// What must hold of the parts of all groups; says what does not.
    pub(crate) fn check(&self) -> Result<(), String> {
        let consumers: BTreeSet<&Arc<str>> = self.consumers.iter().map(|(id, _)| id).collect();
        let expected: BTreeSet<&Arc<str>> = self
            .groups
            .iter()
            .filter(|(_, entry)| matches!(entry, GroupEntry::Consumer))
            .map(|(id, _)| id)
            .collect();
        if consumers != expected {
            return Err(format!("consumer groups {expected:?}, parts of {consumers:?}"));
        }
        self.consumers.check()
    }

    /// Ids of the groups as of the last commit.
    pub fn committed_groups(&self) -> BTreeSet<Arc<str>> {
        let mut groups: BTreeSet<Arc<str>> = self.groups.keys().cloned().collect();
        for (group, committed) in self.group_undo.committed_in(..) {
            if committed.is_some() {
                groups.insert(group.clone());
            } else {
                groups.remove(group);
            }
        }
        groups
    }

    /// An offset, committed or not.
    pub fn offset(&self, group: &str, topic: &str, partition: i32) -> Option<&CommittedOffset> {
        self.offsets.get(group)?.get(topic)?.get(&partition)
    }

    /// All offsets of a group, committed or not.
    pub fn offsets_of(&self, group: &str) -> Option<&GroupOffsets> {
        self.offsets.get(group)
    }

    /// An offset as of the last commit.
    pub fn committed_offset(
        &self,
        group: &str,
        topic: &str,
        partition: i32,
    ) -> Option<&CommittedOffset> {
        let now = self.offset(group, topic, partition);
        if self.offset_undo.is_empty() {
            return now;
        }
        let group = self.name_of(group);
        let topic = self.topic_of(&group, topic);
        self.offset_undo.committed(&(group, topic, partition)).map_or(now, Option::as_ref)
    }

    /// All offsets of a group as of the last commit, by topic and partition.
    pub fn committed_offsets_of(
        &self,
        group: &str,
    ) -> BTreeMap<&str, BTreeMap<i32, &CommittedOffset>> {
        let mut topics: BTreeMap<&str, BTreeMap<i32, &CommittedOffset>> = BTreeMap::new();
        for (topic, partitions) in self.offsets.get(group).into_iter().flatten() {
            topics
                .insert(topic, partitions.iter().map(|(index, offset)| (*index, offset)).collect());
        }
        let in_flight = self.offset_undo.committed_in(first_key(group)..);
        for ((_, topic, partition), committed) in in_flight.take_while(|(key, _)| *key.0 == *group)
        {
            let partitions = topics.entry(topic).or_default();
            match committed {
                Some(offset) => partitions.insert(*partition, offset),
                None => partitions.remove(partition),
            };
        }
        topics.retain(|_, partitions| !partitions.is_empty());
        topics
    }

    /// Whether a transaction that has not ended holds an offset of this partition.
    pub fn has_pending(&self, group: &str, topic: &str, partition: i32) -> bool {
        !self.open.is_empty() && self.open.contains_key(&(group.into(), topic.into(), partition))
    }

    /// The partitions of a group that transactions hold offsets of.
    pub fn pending_of(&self, group: &str) -> impl Iterator<Item = (&Arc<str>, i32)> {
        let from = first_key(group);
        let group = from.0.clone();
        self.open
            .range(from..)
            .take_while(move |((name, _, _), _)| *name == group)
            .map(|((_, topic, partition), _)| (topic, *partition))
    }

    /// Every offset of a transaction that has not ended: group, topic, partition, topic id.
    pub fn pending(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, i32, Uuid)> {
        self.pending
            .values()
            .flatten()
            .map(|((group, topic, partition), offset)| (group, topic, *partition, offset.topic_id))
    }

    /// Every group that has offsets.
    pub fn offset_groups(&self) -> impl Iterator<Item = (&Arc<str>, &GroupOffsets)> {
        self.offsets.iter()
    }

    /// Number of offsets held.
    pub fn offset_count(&self) -> usize {
        self.offset_count
    }
}

/// Where a group's partitions begin.
fn first_key(group: &str) -> PartitionKey {
    (group.into(), "".into(), i32::MIN)
}

/// Equality of what the log says; what is in flight does not count.
impl PartialEq for Logged {
    fn eq(&self, other: &Self) -> bool {
        self.groups == other.groups
            && self.consumers == other.consumers
            && self.offsets == other.offsets
            && self.pending == other.pending
            && self.open == other.open
            && self.offset_count == other.offset_count
    }
}

impl std::fmt::Debug for Logged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logged")
            .field("groups", &self.groups)
            .field("consumers", &self.consumers.iter().collect::<Vec<_>>())
            .field("offsets", &self.offsets)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
