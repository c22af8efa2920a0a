//! What leaders ask for: other ISRs, and the end of a recovery.

use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Uuid};

use alter_partition_request::{BrokerState, PartitionData, TopicData};

use super::oracle::Oracle;
use crate::support::fixtures::{Fake, assigned};

/// Topic, partition, and who shall be in sync.
type Wanted<'a> = (&'a str, i32, &'a [i32]);

/// What a leader asks for that has all epochs from the metadata.
fn request(oracle: &Oracle, leader: &Fake, wanted: &[Wanted<'_>]) -> AlterPartitionRequest {
    let image = oracle.image();
    let member = |broker_id: &i32| BrokerState {
        broker_id: *broker_id,
        broker_epoch: image.cluster.broker(*broker_id).map_or(-1, |broker| broker.epoch),
        ..Default::default()
    };
    let topics = wanted.iter().map(|(name, index, isr)| {
        let topic = image.topics.by_name(name).expect("a topic");
        let known = topic.partitions.get(index);
        TopicData {
            topic_id: topic.id,
            partitions: vec![PartitionData {
                partition_index: *index,
                leader_epoch: known.map_or(0, |partition| partition.leader_epoch),
                partition_epoch: known.map_or(0, |partition| partition.partition_epoch),
                new_isr_with_epochs: isr.iter().map(member).collect(),
                ..Default::default()
            }],
            ..Default::default()
        }
    });
    AlterPartitionRequest {
        broker_id: leader.id,
        broker_epoch: leader.epoch,
        topics: topics.collect(),
        ..Default::default()
    }
}

fn ask(oracle: &mut Oracle, request: &AlterPartitionRequest) -> Vec<ErrorCode> {
    let answer = oracle.decide(oracle.controller_port, request, |_| {});
    let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    match answer.error_code {
        ErrorCode::NONE => partitions.map(|partition| partition.error_code).collect(),
        code => vec![code],
    }
}

fn alter(oracle: &mut Oracle, leader: &Fake, wanted: &[Wanted<'_>]) -> Vec<ErrorCode> {
    let request = request(oracle, leader, wanted);
    ask(oracle, &request)
}

pub fn isr(oracle: &mut Oracle) {
    let mut five = Fake::new(5, &[5000 << 64]);
    let mut six = Fake::new(6, &[6000 << 64, 6001 << 64]);
    for fake in [&mut five, &mut six] {
        assert_eq!(oracle.register(fake, false), ErrorCode::NONE);
        oracle.heartbeat(fake, |_| {});
    }
    oracle.create_topics(
        vec![
            assigned("followed", &[(0, &[5, 6, 1]), (1, &[6, 5, 1]), (2, &[5, 6, 1])]),
            assigned("moving", &[(0, &[5]), (1, &[5]), (2, &[5])]),
            assigned("unclean", &[(0, &[5, 6])]),
        ],
        false,
    );
    let configs = vec![
        ("unclean.leader.election.enable", 0, Some("true")),
        ("min.insync.replicas", 0, Some("1")),
    ];
    oracle.alter(vec![(2, "unclean", configs)], false);
    // Out, out below min.insync.replicas, in again, and nothing new.
    for isr in [&[5, 6][..], &[5], &[5, 1, 6], &[5, 1, 6]] {
        assert_eq!(alter(oracle, &five, &[("followed", 0, isr)]), [ErrorCode::NONE]);
    }
    let several = [
        ("followed", 0, &[5, 1][..]),
        ("followed", 1, &[6, 5]),
        ("followed", 2, &[5]),
        ("followed", 9, &[5]),
    ];
    let mut mixed = request(oracle, &five, &several);
    mixed.topics.push(TopicData {
        topic_id: Uuid::from_u128(9 << 64),
        partitions: vec![PartitionData::default()],
        ..Default::default()
    });
    let said = ask(oracle, &mixed);
    let expected = [
        ErrorCode::NONE,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::NONE,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode::UNKNOWN_TOPIC_ID,
    ];
    assert_eq!(said, expected);

    not_as_it_is(oracle, &five);
    members(oracle, &five, &six);
    reassignments(oracle, &five);

    // A broker that is about to stop, and a new incarnation of it.
    oracle.heartbeat(&six, |request| request.want_shut_down = true);
    let said = alter(oracle, &five, &[("followed", 0, &[5, 6])]);
    assert_eq!(said, [ErrorCode::INELIGIBLE_REPLICA]);
    let unregister = UnregisterBrokerRequest { broker_id: six.id, ..Default::default() };
    oracle.decide(oracle.broker_port, &unregister, |answer| answer.error_message = None);
    let said = alter(oracle, &five, &[("followed", 0, &[5, 6])]);
    assert_eq!(said, [ErrorCode::INELIGIBLE_REPLICA]);
    let before = six.epoch;
    six.incarnation = Uuid::from_u128(81 << 90);
    assert_eq!(oracle.register(&mut six, false), ErrorCode::NONE);
    oracle.heartbeat(&six, |_| {});
    let mut stale = request(oracle, &five, &[("followed", 0, &[5, 6])]);
    stale.topics[0].partitions[0].new_isr_with_epochs[1].broker_epoch = before;
    assert_eq!(ask(oracle, &stale), [ErrorCode::INELIGIBLE_REPLICA]);
    stale.topics[0].partitions[0].new_isr_with_epochs[1].broker_epoch = -1;
    assert_eq!(ask(oracle, &stale), [ErrorCode::NONE]);

    recovery(oracle, &five, &six);
}

/// Epochs that are others, ISRs that cannot be.
fn not_as_it_is(oracle: &mut Oracle, leader: &Fake) {
    let wanted = [("followed", 0, &[5, 6][..])];
    for (leader_epoch, partition_epoch, code) in [
        (1, 0, ErrorCode::NOT_CONTROLLER),
        (0, 1, ErrorCode::NOT_CONTROLLER),
        (-1, 0, ErrorCode::FENCED_LEADER_EPOCH),
        (-1, 1, ErrorCode::NOT_CONTROLLER),
        (0, -1, ErrorCode::INVALID_UPDATE_VERSION),
    ] {
        let mut request = request(oracle, leader, &wanted);
        let partition = &mut request.topics[0].partitions[0];
        partition.leader_epoch += leader_epoch;
        partition.partition_epoch += partition_epoch;
        assert_eq!(ask(oracle, &request), [code]);
    }
    for isr in [&[5, 3][..], &[5, 5], &[6, 1], &[], &[5, -1]] {
        let said = alter(oracle, leader, &[("followed", 0, isr)]);
        assert_eq!(said, [ErrorCode::INVALID_REQUEST], "{isr:?}");
    }
    let mut request = request(oracle, leader, &wanted);
    request.topics[0].partitions[0].leader_recovery_state = 1;
    assert_eq!(ask(oracle, &request), [ErrorCode::INVALID_REQUEST]);
    request.topics[0].partitions[0].new_isr_with_epochs.truncate(1);
    assert_eq!(ask(oracle, &request), [ErrorCode::INVALID_REQUEST]);
    request.broker_epoch -= 1;
    assert_eq!(ask(oracle, &request), [ErrorCode::STALE_BROKER_EPOCH]);
    request.topics.clear();
    assert_eq!(ask(oracle, &request), []);
    request.broker_id = 77;
    assert_eq!(ask(oracle, &request), []);
}

/// Brokers that are fenced, or not registered.
fn members(oracle: &mut Oracle, five: &Fake, six: &Fake) {
    oracle.heartbeat(six, |request| request.want_fence = true);
    let said = alter(oracle, five, &[("followed", 0, &[5, 6]), ("followed", 2, &[5, 1])]);
    assert_eq!(said, [ErrorCode::INELIGIBLE_REPLICA, ErrorCode::NONE]);
    oracle.heartbeat(six, |_| {});
    let said = alter(oracle, five, &[("followed", 0, &[5, 6]), ("followed", 1, &[1, 5, 6])]);
    assert_eq!(said, [ErrorCode::NONE, ErrorCode::NONE]);
    oracle.create_topics(vec![assigned("half-there", &[(0, &[5, 4])])], false);
    let said = alter(oracle, five, &[("half-there", 0, &[5, 4])]);
    assert_eq!(said, [ErrorCode::INELIGIBLE_REPLICA]);
}

/// Reassignments that end with who is in sync now: with the same leader, and with another.
fn reassignments(oracle: &mut Oracle, leader: &Fake) {
    oracle.reassign(
        true,
        vec![
            ("moving", 0, Some(vec![5, 6])),
            ("moving", 1, Some(vec![6, 1])),
            ("moving", 2, Some(vec![6])),
        ],
    );
    let said = alter(oracle, leader, &[("moving", 0, &[5, 6]), ("moving", 1, &[5, 6])]);
    assert_eq!(said, [ErrorCode::NONE, ErrorCode::NONE]);
    let said = alter(oracle, leader, &[("moving", 1, &[1, 5, 6]), ("moving", 2, &[6, 5])]);
    assert_eq!(said, [ErrorCode::NEW_LEADER_ELECTED, ErrorCode::NEW_LEADER_ELECTED]);
    oracle.reassign(true, vec![("moving", 0, None)]);
}

/// A leader that was not in sync, alone until it says that it has recovered.
fn recovery(oracle: &mut Oracle, five: &Fake, six: &Fake) {
    assert_eq!(alter(oracle, five, &[("unclean", 0, &[5])]), [ErrorCode::NONE]);
    oracle.heartbeat(five, |request| request.want_fence = true);
    let partition = &oracle.image().topics.by_name("unclean").expect("a topic").partitions[&0];
    assert!(partition.is_recovering && partition.leader == six.id, "{partition:?}");
    oracle.heartbeat(five, |_| {});
    let mut recovering = request(oracle, six, &[("unclean", 0, &[6, 5])]);
    recovering.topics[0].partitions[0].leader_recovery_state = 1;
    assert_eq!(ask(oracle, &recovering), [ErrorCode::INVALID_REQUEST]);
    recovering.topics[0].partitions[0].new_isr_with_epochs.truncate(1);
    assert_eq!(ask(oracle, &recovering), [ErrorCode::NONE]);
    assert_eq!(alter(oracle, six, &[("unclean", 0, &[6, 5])]), [ErrorCode::NONE]);
    assert_eq!(alter(oracle, six, &[("unclean", 0, &[6])]), [ErrorCode::NONE]);
}
