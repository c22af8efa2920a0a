//! Requests about brokers, the leaders on them, and features.

use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Uuid};

use assign_replicas_to_dirs_request as assign;

use super::oracle::Oracle;
use crate::support::fixtures::{Fake, assigned, topic};

pub fn brokers(oracle: &mut Oracle) {
    let mut two = Fake::new(2, &[1000 << 64]);
    let mut three = Fake::new(3, &[2000 << 64, 2001 << 64]);
    // Registrations that are refused.
    let cluster_id = std::mem::replace(&mut oracle.cluster_id, "other".into());
    let mut request = two.registration(&oracle.cluster_id);
    oracle.cluster_id = cluster_id;
    let refuse = |oracle: &mut Oracle, request: &BrokerRegistrationRequest| {
        let response = oracle.decide(oracle.controller_port, request, |_| {});
        assert_ne!(response.error_code, ErrorCode::NONE);
    };
    refuse(oracle, &request);
    let good = two.registration(&oracle.cluster_id);
    request = good.clone();
    request.log_dirs.clear();
    refuse(oracle, &request);
    request.log_dirs = vec![Uuid::TWO];
    refuse(oracle, &request);
    request.log_dirs = vec![two.directories[0], two.directories[0]];
    refuse(oracle, &request);
    request.log_dirs = oracle.image().cluster.broker(1).expect("broker 1").directories.clone();
    refuse(oracle, &request);
    request = good.clone();
    request.features[0].max_supported_version = 0;
    refuse(oracle, &request);
    for name in ["metadata.version", "group.version", "kraft.version"] {
        two.leave_out = name;
        request = two.registration(&oracle.cluster_id);
        if name == "kraft.version" {
            // Not a feature of the log: Kafka does not miss it, and neither do we then.
            continue;
        }
        refuse(oracle, &request);
    }
    two.leave_out = "";

    assert_eq!(oracle.register(&mut two, false), ErrorCode::NONE);
    assert_eq!(oracle.register(&mut three, false), ErrorCode::NONE);
    // Not read far enough; then unfenced; then again, with nothing to change.
    let behind = two.registration_offset - 1;
    oracle.heartbeat(&two, |request| request.current_metadata_offset = behind);
    oracle.heartbeat(&two, |request| request.want_fence = true);
    oracle.heartbeat(&two, |_| {});
    oracle.heartbeat(&three, |request| request.cordoned_log_dirs = None);
    oracle.heartbeat(&two, |_| {});
    let stale = Fake { epoch: 1, ..Fake::new(2, &[1]) };
    oracle.heartbeat(&stale, |_| {});
    oracle.heartbeat(&Fake { epoch: 1, ..Fake::new(8, &[1]) }, |_| {});
    let mut other = Fake::new(2, &[1000 << 64]);
    other.incarnation = Uuid::from_u128(77 << 90);
    assert_eq!(oracle.register(&mut other, true), ErrorCode::DUPLICATE_BROKER_REGISTRATION);
    two.rack = Some("r".into());
    assert_eq!(oracle.register(&mut two, true), ErrorCode::NONE);

    oracle.create_topics(
        vec![
            assigned("spread", &[(0, &[1, 2, 3]), (1, &[2, 3, 1]), (2, &[3, 1, 2])]),
            assigned("pair", &[(0, &[2, 3]), (1, &[3, 2])]),
            assigned("single", &[(0, &[2]), (1, &[3])]),
            topic("four-replicas", 1, 4),
        ],
        false,
    );
    oracle.alter(vec![(2, "spread", vec![("min.insync.replicas", 0, Some("2"))])], false);
    oracle.elect(0, None);
    oracle.elect(0, Some(vec![("spread", vec![0, 1, 9]), ("unknown", vec![0])]));
    oracle.elect(7, Some(vec![("spread", vec![0])]));
    oracle.elect(0, Some(vec![]));

    // Broker 2 goes and comes back: leaders move, ISRs shrink, eligible leader replicas grow.
    oracle.heartbeat(&two, |request| request.want_fence = true);
    oracle.elect(0, None);
    oracle.elect(1, Some(vec![("single", vec![0]), ("pair", vec![0]), ("spread", vec![1])]));
    oracle.create_topics(vec![assigned("on-fenced", &[(0, &[2])])], false);
    oracle.create_topics(vec![assigned("half-fenced", &[(0, &[2, 3])])], false);
    oracle.heartbeat(&three, |request| request.want_fence = true);
    oracle.heartbeat(&three, |_| {});
    oracle.heartbeat(&two, |_| {});
    oracle.elect(0, None);

    // Reassignments.
    oracle.reassign(
        false,
        vec![
            ("spread", 0, Some(vec![3, 2, 1])),
            ("pair", 0, Some(vec![3, 1])),
            ("pair", 1, Some(vec![3])),
            ("single", 1, Some(vec![1])),
            ("single", 0, None),
            ("single", 7, Some(vec![1])),
            ("unknown", 0, Some(vec![1])),
            ("spread", 1, Some(vec![])),
            ("spread", 2, Some(vec![1, 1, 2])),
            ("half-fenced", 0, Some(vec![9, 1])),
        ],
    );
    oracle.reassign(true, vec![("pair", 1, Some(vec![3])), ("spread", 2, Some(vec![2]))]);
    oracle.reassign(false, vec![("pair", 0, Some(vec![1, 2])), ("single", 1, Some(vec![3, 1]))]);
    oracle.reassign(true, vec![("pair", 0, None), ("single", 1, None), ("spread", 0, None)]);
    oracle.elect(0, None);

    // Directories.
    let id = |oracle: &Oracle, name: &str| oracle.image().topics.by_name(name).expect("a topic").id;
    let (spread, single) = (id(oracle, "spread"), id(oracle, "single"));
    let assign =
        |fake: &Fake, directory: Uuid, topics: Vec<(Uuid, Vec<i32>)>| AssignReplicasToDirsRequest {
            broker_id: fake.id,
            broker_epoch: fake.epoch,
            directories: vec![assign::DirectoryData {
                id: directory,
                topics: topics
                    .into_iter()
                    .map(|(topic_id, partitions)| assign::TopicData {
                        topic_id,
                        partitions: partitions
                            .into_iter()
                            .map(|partition_index| assign::PartitionData {
                                partition_index,
                                ..Default::default()
                            })
                            .collect(),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            }],
            ..Default::default()
        };
    for request in [
        assign(&three, three.directories[0], vec![(spread, vec![0, 1, 2, 9])]),
        assign(&three, three.directories[0], vec![(spread, vec![0])]),
        assign(&three, three.directories[1], vec![(single, vec![0, 1])]),
        assign(&three, Uuid::from_u128(5), vec![(Uuid::from_u128(6), vec![0])]),
        assign(&stale, two.directories[0], vec![(spread, vec![0])]),
    ] {
        oracle.decide(oracle.controller_port, &request, |_| {});
    }
    oracle.heartbeat(&three, |request| request.offline_log_dirs = vec![three.directories[0]]);
    oracle.heartbeat(&three, |request| request.offline_log_dirs = vec![three.directories[0]]);
    let left = three.directories[1];
    oracle.heartbeat(&three, |request| request.cordoned_log_dirs = Some(vec![left]));
    oracle.create_topics(vec![topic("three-replicas", 1, 3)], false);
    // By hand, too, nothing is put on a broker without other directories.
    oracle.create_topics(
        vec![assigned("on-cordoned", &[(0, &[1, 3])]), assigned("twice", &[(0, &[3, 3])])],
        false,
    );
    oracle.create_partitions(vec![("single", 3, Some(vec![vec![3]]))]);
    oracle.reassign(false, vec![("single", 0, Some(vec![3]))]);
    oracle.heartbeat(&three, |_| {});
    // More partitions than one request may add.
    oracle.create_partitions(vec![
        ("spread", 6_000, None),
        ("pair", 6_000, None),
        ("unknown", 20_000, None),
    ]);

    // Controllers that are forgotten: the active one, one that is not there, one that is.
    for controller_id in [1, 9, 9] {
        let request = UnregisterControllerRequest { controller_id, ..Default::default() };
        oracle.decide(oracle.broker_port, &request, |response| response.error_message = None);
        let registration = ControllerRegistrationRequest {
            controller_id: 9,
            incarnation_id: Uuid::from_u128(81 << 90),
            ..Default::default()
        };
        if !oracle.image().cluster.controllers.contains_key(&9) && controller_id == 9 {
            oracle.decide(oracle.controller_port, &registration, |response| {
                response.error_message = None;
            });
        }
    }

    // Producer ids.
    let broker_one = oracle.image().cluster.broker(1).expect("broker 1").epoch;
    for (broker_id, broker_epoch) in
        [(1, broker_one), (2, two.epoch), (2, two.epoch + 1), (8, 1), (1, broker_one)]
    {
        let request = AllocateProducerIdsRequest { broker_id, broker_epoch, ..Default::default() };
        oracle.decide(oracle.controller_port, &request, |_| {});
    }

    // A controlled shutdown, and new incarnations: after a clean stop, and after none.
    oracle.heartbeat(&two, |request| request.want_shut_down = true);
    oracle.create_topics(vec![assigned("on-stopping", &[(0, &[2])])], false);
    let mut again = Fake::new(3, &[2001 << 64]);
    again.incarnation = Uuid::from_u128(78 << 90);
    again.previous_epoch = three.epoch;
    oracle.heartbeat(&three, |request| request.want_fence = true);
    oracle.heartbeat(&three, |request| request.want_shut_down = true);
    assert_eq!(oracle.register(&mut again, true), ErrorCode::DUPLICATE_BROKER_REGISTRATION);

    for broker_id in [3, 2, 9] {
        let request = UnregisterBrokerRequest { broker_id, ..Default::default() };
        oracle.decide(oracle.broker_port, &request, |response| response.error_message = None);
    }
    assert_eq!(oracle.register(&mut again, false), ErrorCode::NONE);
    oracle.heartbeat(&again, |_| {});
    oracle.elect(1, None);
    oracle.elect(0, None);
    // Registered, but never heard of: the next incarnation may come.
    let mut third = Fake::new(4, &[3000 << 64]);
    assert_eq!(oracle.register(&mut third, false), ErrorCode::NONE);
    third.previous_epoch = third.epoch;
    third.incarnation = Uuid::from_u128(79 << 90);
    assert_eq!(oracle.register(&mut third, false), ErrorCode::NONE);
    third.previous_epoch = 5;
    third.incarnation = Uuid::from_u128(80 << 90);
    assert_eq!(oracle.register(&mut third, false), ErrorCode::NONE);
}

pub fn features(oracle: &mut Oracle) {
    const UP: i8 = 1;
    const DOWN: i8 = 2;
    const UNSAFE: i8 = 3;
    for updates in [
        [("share.version", 0, UP)].as_slice(),
        &[("share.version", 0, DOWN)],
        &[("share.version", 0, DOWN)],
        &[("share.version", 1, DOWN)],
        &[("share.version", 1, UP)],
        &[("share.version", 2, UP)],
        &[("share.version", -1, DOWN)],
        &[("no.such.feature", 1, UP)],
        &[("no.such.feature", 0, UP)],
        &[("metadata.version", 29, UP)],
        &[("metadata.version", 29, DOWN)],
        &[("metadata.version", 29, UNSAFE)],
        &[("metadata.version", 30, UP)],
        &[("metadata.version", 31, UP)],
        &[("metadata.version", 3, DOWN)],
        &[("kraft.version", 1, UP)],
        &[("kraft.version", 0, DOWN)],
        &[("group.version", 1, 9)],
        &[("transaction.version", 1, DOWN), ("streams.version", 7, UP)],
        &[("transaction.version", 1, DOWN), ("streams.version", 0, DOWN)],
        &[("eligible.leader.replicas.version", 0, DOWN)],
        &[("eligible.leader.replicas.version", 1, UP)],
    ] {
        // Where the level does not change Kafka's quorum writes a record that says nothing.
        oracle.update_features(updates, true);
        oracle.update_features(updates, false);
    }
}
