//! Random histories of a log: what is there, what is committed, and what is left when the end of it is
//! taken back, must be what the log alone says.

use thalweg_random::{Random, seeds::seeds};

use super::*;
use crate::assignor::MemberAssignment;
use crate::consumer::{MemberMetadata, OwnedPartition, OwnedPartitions, ResolvedRegex};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// What stands in the log: a record, or the end of a transaction.
#[derive(Clone, Debug)]
enum Entry {
    Record(Option<i64>, GroupRecord),
    Marker(i64, bool),
}

/// A record of a consumer group, or its tombstone.
fn consumer_record(random: &mut Random, group: &str) -> ConsumerGroupRecord {
    use ConsumerGroupRecord as R;
    let member = NAMES[random.below(3)];
    let number = random.below(5);
    let topic_id = Uuid::from_u128(1 + random.below(2) as u128);
    let is_tombstone = random.below(4) == 0;
    match random.below(8) {
        0 => R::metadata(group, (!is_tombstone).then_some((number, 7))),
        1 => R::no_partition_metadata(group),
        2 | 3 => {
            let said = MemberMetadata {
                instance_id: (number > 2).then(|| member.into()),
                topics: NAMES[..random.below(4)].iter().map(|name| Arc::from(*name)).collect(),
                topic_regex: (number == 1).then(|| NAMES[random.below(3)].into()),
                server_assignor: (number == 2).then(|| NAMES[random.below(2)].into()),
                ..MemberMetadata::default()
            };
            R::member_metadata(group, member, (!is_tombstone).then_some(&said))
        }
        4 => R::target_epoch(group, (!is_tombstone).then_some((number, 9))),
        5 => {
            let target = MemberAssignment::new([(topic_id, [number])]);
            R::target_assignment(group, member, (!is_tombstone).then_some(&target))
        }
        6 => {
            // Each partition belongs to one member, as in a log that a coordinator wrote.
            let partition =
                number * 3 + NAMES.iter().position(|name| *name == member).unwrap() as i32;
            let owned = OwnedPartition { topic_id, partition, assignment_epoch: number };
            let current = ConsumerMember {
                epoch: number,
                assigned: OwnedPartitions::new(vec![owned]),
                ..ConsumerMember::new(member.into())
            };
            R::current_assignment(group, member, (!is_tombstone).then_some(&current))
        }
        _ => {
            let resolved = ResolvedRegex {
                topics: NAMES[..random.below(4)].iter().map(|name| Arc::from(*name)).collect(),
                version: 3,
                timestamp_ms: i64::from(number),
            };
            R::regex(group, NAMES[random.below(2)], (!is_tombstone).then_some(&resolved))
        }
    }
}

fn entry(random: &mut Random) -> Entry {
    let producer_id = random.below(3) as i64;
    let group = NAMES[random.below(3)];
    if random.below(2) == 0 {
        return Entry::Record(None, consumer_record(random, group).into());
    }
    match random.below(8) {
        0 => Entry::Marker(producer_id, random.below(2) == 0),
        1 => Entry::Record(None, GroupRecord::group_metadata(group, None)),
        2 => {
            let value = GroupMetadataValue { generation: 7, ..Default::default() };
            Entry::Record(None, GroupRecord::group_metadata(group, Some(value)))
        }
        which => {
            let value = OffsetCommitValue { offset: random.below(99) as i64, ..Default::default() };
            let (value, producer_id) = match which {
                3 => (None, None),
                4 | 5 => (Some(value), Some(producer_id)),
                _ => (Some(value), None),
            };
            let topic = NAMES[random.below(2)];
            let partition = random.below(2);
            Entry::Record(producer_id, GroupRecord::offset_commit(group, topic, partition, value))
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
        is_committed_consumer_group(logged, committed, group);
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

fn is_committed_consumer_group(logged: &Logged, committed: &Logged, group: &str) {
    let expected = committed.consumer_group(group);
    let found = logged.committed_consumer_group(group);
    assert_eq!(found.is_some(), expected.is_some(), "whether {group} is a consumer group");
    let (Some(found), Some(expected)) = (found, expected) else { return };
    assert_eq!(logged.committed_consumer_state(group), Some(expected.state()));
    assert_eq!(found.epochs, *expected.epochs(), "epochs of {group}");
    assert_eq!(found.members, expected.members().iter().collect(), "members of {group}");
    assert_eq!(found.targets, expected.targets().iter().collect(), "targets of {group}");
    for member in NAMES {
        let expected = expected.member(member).map(|member| &**member);
        assert_eq!(logged.committed_member(group, member), expected, "{member} of {group}");
    }
}

#[test]
fn what_is_committed_and_what_is_reverted_is_what_the_log_says() {
    for seed in seeds(200) {
        let mut random = Random::new(seed);
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
            logged.check().unwrap_or_else(|broken| panic!("seed {seed}: {broken} after {log:?}"));
            is_committed(&logged, &of(&log[..committed]));
        }
    }
}
