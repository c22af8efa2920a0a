//! The state that the log holds: which groups exist, their last written metadata, their offsets.
//!
//! Invariant: only [`replay`](Logged::replay), [`replay_marker`](Logged::replay_marker) and
//! [`revert`](Logged::revert) change it, so that the same log gives the same state. There is no other
//! `&mut` method that touches it, and its fields are private.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_coordinator::{Position, UndoLog};
use thalweg_wire::Uuid;
use thalweg_wire::messages::{GroupMetadataValue, OffsetCommitValue};

use crate::GroupRecord;

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

/// A group's record, if it has one: groups that only commit offsets do not.
pub type GroupEntry = Option<Arc<GroupMetadataValue>>;

type PartitionKey = (Arc<str>, Arc<str>, i32);

/// What a replayed or reverted record did to a group's existence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Existence {
    /// It is there now and was not before.
    Appeared(Arc<str>),
    /// It was there and is gone.
    Vanished(Arc<str>),
}

/// See the module.
#[derive(Default)]
pub struct Logged {
    groups: BTreeMap<Arc<str>, GroupEntry>,
    offsets: BTreeMap<Arc<str>, GroupOffsets>,
    /// Offsets of transactions that have not ended, by producer.
    pending: BTreeMap<i64, BTreeMap<PartitionKey, CommittedOffset>>,
    /// The producers of `pending` by partition.
    open: BTreeMap<PartitionKey, BTreeSet<i64>>,
    offset_count: usize,
    /// Of `groups`, of `offsets` and of `pending` what is not committed yet. No two of them hold the
    /// same, so each is reverted by itself.
    group_undo: UndoLog<Arc<str>, Option<GroupEntry>>,
    offset_undo: UndoLog<PartitionKey, Option<CommittedOffset>>,
    pending_undo: UndoLog<(i64, PartitionKey), Option<CommittedOffset>>,
}

impl Logged {
    /// From now on changes can be reverted.
    pub(crate) fn start_recording(&mut self) {
        self.group_undo.start();
        self.offset_undo.start();
        self.pending_undo.start();
    }

    /// Applies a record.
    pub(crate) fn replay(&mut self, at: Position, record: &GroupRecord) -> Option<Existence> {
        match record {
            GroupRecord::GroupMetadata { key, value } => {
                let group = self.name_of(&key.group);
                let entry = value.as_ref().map(|value| Some(Arc::new(value.clone())));
                self.set_group(at.offset, group, entry)
            }
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
                self.set_group(at.offset, group, Some(None))
            }
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
        self.group_undo.forget_below(offset);
        self.offset_undo.forget_below(offset);
        self.pending_undo.forget_below(offset);
    }

    /// Takes back the records at and above `offset`.
    pub(crate) fn revert(&mut self, offset: i64) -> Vec<Existence> {
        while let Some((key, previous)) = self.offset_undo.pop_from(offset) {
            self.put_offset(key, previous);
        }
        while let Some(((producer_id, key), previous)) = self.pending_undo.pop_from(offset) {
            self.put_pending(producer_id, key, previous);
        }
        let mut changes = Vec::new();
        while let Some((group, previous)) = self.group_undo.pop_from(offset) {
            changes.extend(self.put_group(group, previous).1);
        }
        changes
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
        let exists = entry.is_some();
        let previous = match entry {
            Some(entry) => self.groups.insert(group.clone(), entry),
            None => self.groups.remove(&group),
        };
        let existence = match (previous.is_some(), exists) {
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

    /// A group as of the last commit.
    pub fn committed_group(&self, group: &str) -> Option<&GroupEntry> {
        let now = self.groups.get(group);
        if self.group_undo.is_empty() {
            return now;
        }
        self.group_undo.committed(&self.name_of(group)).map_or(now, Option::as_ref)
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
            .field("offsets", &self.offsets)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "../../wire/tests/common/random.rs"]
mod random;

#[cfg(test)]
mod tests {
    use super::random::Random;
    use super::*;

    const NAMES: [&str; 3] = ["a", "b", "c"];

    /// What stands in the log: a record, or the end of a transaction.
    #[derive(Clone, Debug)]
    enum Entry {
        Record(Option<i64>, GroupRecord),
        Marker(i64, bool),
    }

    fn entry(random: &mut Random) -> Entry {
        let producer_id = random.below(3) as i64;
        let group = NAMES[random.below(3)];
        match random.below(8) {
            0 => Entry::Marker(producer_id, random.below(2) == 0),
            1 => Entry::Record(None, GroupRecord::group_metadata(group, None)),
            2 => {
                let value = GroupMetadataValue { generation: 7, ..Default::default() };
                Entry::Record(None, GroupRecord::group_metadata(group, Some(value)))
            }
            which => {
                let value =
                    OffsetCommitValue { offset: random.below(99) as i64, ..Default::default() };
                let (value, producer_id) = match which {
                    3 => (None, None),
                    4 | 5 => (Some(value), Some(producer_id)),
                    _ => (Some(value), None),
                };
                let topic = NAMES[random.below(2)];
                let partition = random.below(2) as i32;
                Entry::Record(
                    producer_id,
                    GroupRecord::offset_commit(group, topic, partition, value),
                )
            }
        }
    }

    fn apply(logged: &mut Logged, offset: usize, entry: &Entry) {
        let offset = offset as i64;
        match entry {
            Entry::Record(producer_id, record) => {
                logged.replay(Position { offset, producer_id: *producer_id }, record);
            }
            Entry::Marker(producer_id, commit) => {
                logged.replay_marker(offset, *producer_id, *commit);
            }
        }
    }

    /// What a log that holds just this says.
    fn of(log: &[Entry]) -> Logged {
        let mut logged = Logged::default();
        log.iter().enumerate().for_each(|(offset, entry)| apply(&mut logged, offset, entry));
        logged
    }

    fn is_committed(logged: &Logged, committed: &Logged) {
        let groups: BTreeSet<Arc<str>> = committed.groups.keys().cloned().collect();
        assert_eq!(logged.committed_groups(), groups);
        for group in NAMES {
            assert_eq!(logged.committed_group(group), committed.group(group));
            assert_eq!(
                logged.committed_offsets_of(group),
                committed.committed_offsets_of(group),
                "all offsets of {group}"
            );
            for (topic, partition) in NAMES.iter().flat_map(|topic| [(*topic, 0), (*topic, 1)]) {
                assert_eq!(
                    logged.committed_offset(group, topic, partition),
                    committed.offset(group, topic, partition),
                    "{group}, {topic}-{partition}"
                );
            }
        }
    }

    #[test]
    fn what_is_committed_and_what_is_reverted_is_what_the_log_says() {
        let base =
            std::env::var("THALWEG_SEED_BASE").map_or(1, |text| text.parse().expect("a number"));
        eprintln!("THALWEG_SEED_BASE={base} repeats this run");
        for seed in (0..200).map(|at| base + at) {
            let mut random = Random(seed);
            let mut log: Vec<Entry> = (0..random.below(9)).map(|_| entry(&mut random)).collect();
            let mut logged = of(&log);
            logged.start_recording();
            let mut committed = log.len();
            for _ in 0..60 {
                match random.below(8) {
                    0 => {
                        committed += random.below(log.len() - committed + 1);
                        logged.commit(committed as i64);
                    }
                    1 => {
                        log.truncate(committed + random.below(log.len() - committed + 1));
                        logged.revert(log.len() as i64);
                    }
                    _ => {
                        let next = entry(&mut random);
                        apply(&mut logged, log.len(), &next);
                        log.push(next);
                    }
                }
                assert!(logged == of(&log), "seed {seed}: {logged:?} after {log:?}");
                is_committed(&logged, &of(&log[..committed]));
            }
        }
    }
}
