//! Requests about topics, configs and quotas.

use thalweg_metadata::controller::{self, Decision};
use thalweg_wire::Uuid;
use thalweg_wire::messages::*;

use alter_client_quotas_request::{EntityData, EntryData, OpData};
use create_topics_request::CreatableTopic;
use describe_client_quotas_request::ComponentData;

use super::oracle::Oracle;
use crate::support::fixtures::{assigned, topic, with_configs};

pub fn topics(oracle: &mut Oracle) {
    let all = || {
        vec![
            topic("plain", 1, 1),
            topic("defaults", -1, -1),
            with_configs(
                topic("configured", 3, 1),
                &[("retention.ms", Some(" 7 ")), ("cleanup.policy", Some("compact,delete"))],
            ),
            // With eligible leader replicas that is a record more.
            with_configs(
                topic("in-sync", 1, 1),
                &[("min.insync.replicas", Some("1")), ("segment.ms", Some("9000000"))],
            ),
            assigned("assigned", &[(1, &[1]), (0, &[1])]),
            topic("", 1, 1),
            topic("..", 1, 1),
            topic("not legal", 1, 1),
            topic("with.dot", 1, 1),
            topic("too-many-replicas", 1, 2),
            topic("no-partitions", 0, 1),
            topic("fewer-partitions", -2, 1),
            topic("no-replicas", 1, 0),
            topic("fewer-replicas", 1, -2),
            CreatableTopic { num_partitions: 1, ..assigned("both", &[(0, &[1])]) },
            CreatableTopic { replication_factor: 1, ..assigned("both-2", &[(0, &[1])]) },
            assigned("strange-broker", &[(0, &[9])]),
            assigned("twice", &[(0, &[1]), (0, &[1])]),
            assigned("same-broker", &[(0, &[1, 1])]),
            assigned("gap", &[(0, &[1]), (2, &[1])]),
            assigned("nobody", &[(0, &[])]),
            assigned("uneven", &[(0, &[1]), (1, &[])]),
            topic("double", 1, 1),
            topic("double", 2, 1),
            topic("__cluster_metadata", 1, 1),
            with_configs(topic("bad-value", 1, 1), &[("retention.ms", Some("x"))]),
            with_configs(topic("bad-name", 1, 1), &[("retention.hours", Some("1"))]),
            with_configs(topic("no-value", 1, 1), &[("retention.ms", None)]),
            with_configs(topic("tiered", 1, 1), &[("remote.storage.enable", Some("true"))]),
            with_configs(
                topic("conflict", 1, 1),
                &[("min.compaction.lag.ms", Some("2")), ("max.compaction.lag.ms", Some("1"))],
            ),
        ]
    };
    oracle.create_topics(all(), true);
    oracle.create_topics(all(), false);
    oracle.create_topics(all(), false);
    oracle.create_topics(vec![topic("with_dot", 1, 1), topic("__share_group_state", 1, 1)], false);
    oracle.create_topics(vec![topic("huge", 10_001, 1), topic("plain", 1, 1)], false);
    oracle.create_topics(vec![topic("not legal", 20_000, 1)], false);
    oracle.create_topics(vec![topic("large", 9_999, 1)], true);
    oracle.create_topics(vec![], false);

    oracle.create_partitions(vec![
        ("plain", 3, None),
        ("configured", 3, None),
        ("defaults", 1, None),
        ("defaults-", 5, None),
        ("assigned", 4, Some(vec![vec![1], vec![1]])),
        ("with.dot", 4, Some(vec![vec![1]])),
        ("with.dot", 5, None),
    ]);
    oracle.create_partitions(vec![
        ("plain", 4, Some(vec![vec![9]])),
        ("assigned", 5, Some(vec![vec![1, 1]])),
        ("defaults", 3, Some(vec![vec![]])),
        ("configured", 0, None),
        ("__share_group_state", -1, None),
    ]);

    let id = |oracle: &Oracle, name: &str| oracle.image().topics.by_name(name).expect("a topic").id;
    let (plain, with_dot) = (id(oracle, "plain"), id(oracle, "with.dot"));
    oracle.delete_topics(vec![
        (Some("assigned"), Uuid::ZERO),
        (Some("unknown"), Uuid::ZERO),
        (None, Uuid::from_u128(12_345)),
        (None, with_dot),
        (None, Uuid::ZERO),
        (Some("configured"), plain),
        (Some("defaults"), Uuid::ZERO),
        (Some("defaults"), Uuid::ZERO),
        (Some("plain"), Uuid::ZERO),
        (None, plain),
    ]);
    oracle.delete_topics(vec![(None, plain), (None, plain)]);
}

pub fn configs(oracle: &mut Oracle) {
    const TOPIC: i8 = 2;
    const BROKER: i8 = 4;
    const METRICS: i8 = 16;
    const GROUP: i8 = 32;
    const SET: i8 = 0;
    const DELETE: i8 = 1;
    const APPEND: i8 = 2;
    const SUBTRACT: i8 = 3;
    let fitting = "a".repeat(32_767);
    let replicas =
        |from: u32, to: u32| (from..to).map(|n| format!("{n}:1")).collect::<Vec<_>>().join(",");
    let (long, more) = (replicas(10_000, 14_000), replicas(14_000, 14_100));
    oracle.alter(
        vec![
            (
                TOPIC,
                "plain",
                vec![("retention.ms", SET, Some("5")), ("cleanup.policy", APPEND, Some("compact"))],
            ),
            (
                TOPIC,
                "configured",
                vec![("cleanup.policy", SUBTRACT, Some("delete")), ("retention.ms", DELETE, None)],
            ),
            (TOPIC, "unknown", vec![("retention.ms", SET, Some("5"))]),
            (TOPIC, "", vec![("retention.ms", SET, Some("5"))]),
            (TOPIC, "not legal", vec![("retention.ms", SET, Some("5"))]),
            (BROKER, "", vec![("log.retention.ms", SET, Some("77"))]),
            (BROKER, "1", vec![("message.max.bytes", SET, Some("1234567"))]),
            (BROKER, "2", vec![("message.max.bytes", SET, Some("1"))]),
            (BROKER, "x", vec![("message.max.bytes", SET, Some("1"))]),
            (GROUP, "g", vec![("consumer.session.timeout.ms", SET, Some("46000"))]),
            (GROUP, "", vec![("consumer.session.timeout.ms", SET, Some("46000"))]),
            (GROUP, "h", vec![("consumer.session.timeout.ms", SET, Some("1"))]),
            (METRICS, "m", vec![("metrics", SET, Some("a,b")), ("interval.ms", SET, Some("200"))]),
            (METRICS, "", vec![("metrics", SET, Some("a,b"))]),
            (METRICS, "n", vec![("interval.ms", SET, Some("1"))]),
            (99, "what", vec![("a", SET, Some("b"))]),
        ],
        false,
    );
    for change in [
        (TOPIC, "plain", vec![("retention.ms", SET, Some("5"))]),
        (TOPIC, "plain", vec![("retention.ms", SET, Some("6")), ("retention.ms", SET, Some("7"))]),
        (TOPIC, "plain", vec![("retention.ms", SET, None)]),
        (TOPIC, "plain", vec![("retention.ms", DELETE, None), ("segment.ms", SET, Some("0"))]),
        (TOPIC, "plain", vec![("retention.ms", APPEND, Some("1"))]),
        (TOPIC, "plain", vec![("cleanup.policy", APPEND, Some("compact"))]),
        (TOPIC, "plain", vec![("cleanup.policy", APPEND, Some("nonsense"))]),
        (TOPIC, "plain", vec![("cleanup.policy", SUBTRACT, Some("compact,delete"))]),
        (TOPIC, "plain", vec![("cleanup.policy", SUBTRACT, Some("absent"))]),
        (TOPIC, "plain", vec![("leader.replication.throttled.replicas", APPEND, Some("0:1,1:1"))]),
        (TOPIC, "plain", vec![("leader.replication.throttled.replicas", APPEND, Some("0:1,2:1,"))]),
        (TOPIC, "plain", vec![("leader.replication.throttled.replicas", SUBTRACT, Some("0:1"))]),
        (TOPIC, "plain", vec![("no.such.config", SET, Some("1"))]),
        (TOPIC, "plain", vec![("no.such.config", DELETE, None)]),
        (TOPIC, "plain", vec![("min.insync.replicas", SET, Some("3"))]),
        (TOPIC, "plain", vec![("min.insync.replicas", DELETE, None)]),
        (TOPIC, "plain", vec![("remote.storage.enable", SET, Some("true"))]),
        (
            TOPIC,
            "plain",
            vec![("compression.type", SET, Some("lz4")), ("segment.bytes", SET, Some("1"))],
        ),
        (TOPIC, "plain", vec![("leader.replication.throttled.replicas", SET, Some(&long))]),
        (TOPIC, "plain", vec![("leader.replication.throttled.replicas", APPEND, Some(&more))]),
        (TOPIC, "plain", vec![("leader.replication.throttled.replicas", DELETE, None)]),
        (TOPIC, "plain", vec![]),
        (GROUP, "g", vec![("consumer.session.timeout.ms", APPEND, Some("1"))]),
        (GROUP, "g", vec![("no.such.config", SET, Some("1"))]),
        (GROUP, "g", vec![("consumer.heartbeat.interval.ms", SET, Some("6000"))]),
        (GROUP, "g", vec![("share.auto.offset.reset", SET, Some("earliest"))]),
        (METRICS, "m", vec![("metrics", APPEND, Some("c"))]),
        (METRICS, "m", vec![("match", SET, Some("client_id=["))]),
        (METRICS, "m", vec![("what", SET, Some("1"))]),
        (METRICS, "m", vec![("metrics", DELETE, None), ("interval.ms", DELETE, None)]),
        (BROKER, "", vec![("num.partitions", SET, Some("3"))]),
        (BROKER, "", vec![("log.retention.ms", SET, Some("x"))]),
        (BROKER, "", vec![("log.retention.ms", SET, Some("78"))]),
        (BROKER, "", vec![("log.retention.ms", SET, Some("78"))]),
        (BROKER, "1", vec![("log.cleaner.threads", SET, Some("2"))]),
        (BROKER, "1", vec![("log.cleaner.threads", SET, Some("5"))]),
        (BROKER, "1", vec![("num.io.threads", SET, Some("17"))]),
        (BROKER, "1", vec![("num.io.threads", SET, Some("12"))]),
        (BROKER, "1", vec![("num.network.threads", SET, Some("0"))]),
        (BROKER, "", vec![("cordoned.log.dirs", SET, Some("*"))]),
        (BROKER, "1", vec![("cordoned.log.dirs", SET, Some("/nowhere"))]),
        (BROKER, "1", vec![("ssl.keystore.location", SET, Some("/a"))]),
        (BROKER, "1", vec![("listener.name.plaintext.max.connections", SET, Some("5555"))]),
        (BROKER, "1", vec![("listener.name.other.ssl.keystore.type", SET, Some("PEM"))]),
        (BROKER, "", vec![("listener.name.other.ssl.keystore.type", SET, Some("PEM"))]),
        (BROKER, "1", vec![("plugin.setting", SET, Some("x"))]),
        (BROKER, "1", vec![("plugin.setting", SET, Some(&fitting))]),
        (BROKER, "1", vec![("plugin.setting", APPEND, Some("x"))]),
        (BROKER, "1", vec![("plugin.setting", DELETE, None)]),
        (BROKER, "1", vec![("min.insync.replicas", SET, Some("1"))]),
        (BROKER, "", vec![("min.insync.replicas", DELETE, None)]),
        (BROKER, "", vec![("min.insync.replicas", SET, Some("1"))]),
        (BROKER, "", vec![("log.cleanup.policy", APPEND, Some("compact"))]),
        (BROKER, "", vec![("log.cleanup.policy", SUBTRACT, Some("compact"))]),
        (BROKER, "", vec![("log.cleanup.policy", DELETE, None)]),
        (BROKER, "1", vec![("log.local.retention.ms", SET, Some("9999999999"))]),
        (BROKER, "1", vec![("leader.replication.throttled.rate", SET, Some("1000"))]),
        (BROKER, "1", vec![("group.consumer.assignment.interval.ms", SET, Some("99999"))]),
        (BROKER, "1", vec![("group.consumer.assignment.interval.ms", DELETE, None)]),
        (BROKER, "1", vec![("max.connections.per.ip", SET, Some("0"))]),
    ] {
        oracle.alter(vec![change.clone()], true);
        oracle.alter(vec![change], false);
    }
    oracle.alter(
        vec![
            (TOPIC, "plain", vec![("retention.ms", SET, Some("8"))]),
            (TOPIC, "plain", vec![("retention.ms", SET, Some("9"))]),
            (TOPIC, "defaults", vec![("retention.ms", SET, Some("9"))]),
        ],
        false,
    );
    oracle.alter_legacy(vec![
        (TOPIC, "plain", vec![("segment.ms", Some("9")), ("min.insync.replicas", Some("2"))]),
        (TOPIC, "defaults", vec![]),
        (TOPIC, "configured", vec![("retention.ms", Some("-5"))]),
        (TOPIC, "unknown", vec![]),
        (BROKER, "1", vec![("message.max.bytes", Some("2222"))]),
        (GROUP, "g", vec![]),
        (METRICS, "m", vec![("interval.ms", Some("1000"))]),
        (99, "what", vec![]),
    ]);
    oracle.alter_legacy(vec![(TOPIC, "plain", vec![("segment.ms", None)])]);
    oracle.alter_legacy(vec![(
        TOPIC,
        "plain",
        vec![("segment.ms", Some("1")), ("segment.ms", Some("2"))],
    )]);
    // A resource twice is not asked for here: Kafka never answers that.
    oracle.alter_legacy(vec![(BROKER, "", vec![("log.retention.ms", Some("100"))])]);
    oracle.alter_legacy(vec![(
        BROKER,
        "",
        vec![("log.retention.ms", Some("79")), ("min.insync.replicas", Some("1"))],
    )]);
    // The broker hears of its configs a moment after they are in the log.
    oracle.pause();
    for (kind, name) in [
        (TOPIC, "plain"),
        (TOPIC, "configured"),
        (TOPIC, "unknown"),
        (TOPIC, "not legal"),
        (BROKER, "1"),
        (BROKER, ""),
        (BROKER, "2"),
        (BROKER, "x"),
        (GROUP, "g"),
        (GROUP, "never-seen"),
        (GROUP, ""),
        (METRICS, "m"),
        (METRICS, ""),
    ] {
        oracle.describe(kind, name);
    }
}

/// Quotas act on Kafka's side: none of these may hold up the test.
pub fn quotas(oracle: &mut Oracle) {
    type Entity<'a> = &'a [(&'a str, Option<&'a str>)];
    type Ops<'a> = &'a [(&'a str, Option<f64>)];
    let entry = |entity: Entity<'_>, ops: Ops<'_>| EntryData {
        entity: entity
            .iter()
            .map(|(kind, name)| EntityData {
                entity_type: (*kind).into(),
                entity_name: name.map(Into::into),
                ..Default::default()
            })
            .collect(),
        ops: ops
            .iter()
            .map(|(key, value)| OpData {
                key: (*key).into(),
                value: value.unwrap_or_default(),
                remove: value.is_none(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    let requests: Vec<Vec<EntryData>> = vec![
        vec![
            entry(&[("user", Some("a"))], &[("producer_byte_rate", Some(1000.0))]),
            entry(&[("user", None)], &[("consumer_byte_rate", Some(5.0))]),
            entry(
                &[("user", Some("a")), ("client-id", Some("b"))],
                &[("request_percentage", Some(12.5))],
            ),
            entry(&[("client-id", None)], &[("controller_mutation_rate", Some(5000.5))]),
            entry(&[("ip", Some("10.0.0.1"))], &[("connection_creation_rate", Some(7.0))]),
            entry(&[("ip", None)], &[("connection_creation_rate", Some(8000.0))]),
        ],
        vec![entry(&[("user", Some("a"))], &[("producer_byte_rate", Some(1000.0))])],
        vec![entry(
            &[("user", Some("a"))],
            &[("producer_byte_rate", None), ("consumer_byte_rate", None)],
        )],
        vec![entry(&[("user", Some("a"))], &[("producer_byte_rate", Some(1.5))])],
        vec![entry(&[("user", Some("a"))], &[("producer_byte_rate", Some(0.0))])],
        vec![entry(&[("user", Some("a"))], &[("producer_byte_rate", Some(1e30))])],
        vec![entry(&[("user", Some("a"))], &[("producer_byte_rate", Some(f64::NAN))])],
        vec![entry(&[("user", Some("a"))], &[("request_percentage", Some(f64::INFINITY))])],
        vec![entry(&[("user", Some("a"))], &[("request_percentage", Some(f64::NEG_INFINITY))])],
        vec![entry(&[("user", Some("a"))], &[("connection_creation_rate", Some(1.0))])],
        vec![entry(&[("ip", Some("10.0.0.1"))], &[("producer_byte_rate", Some(1.0))])],
        vec![entry(&[("ip", Some("10.0.0.1"))], &[("connection_creation_rate", Some(3e9))])],
        vec![entry(
            &[("ip", Some("10.0.0.1")), ("user", Some("a"))],
            &[("connection_creation_rate", Some(3.0))],
        )],
        vec![entry(&[("group", Some("a"))], &[("producer_byte_rate", Some(1.0))])],
        vec![entry(&[], &[("producer_byte_rate", Some(1.0))])],
        vec![entry(&[("user", Some(""))], &[("producer_byte_rate", Some(1.0))])],
        vec![entry(&[("user", Some("a"))], &[("no_such_rate", Some(1.0))])],
        vec![entry(&[("user", Some("a"))], &[("no_such_rate", None)])],
        vec![entry(
            &[("user", Some("c"))],
            &[("producer_byte_rate", Some(2.0)), ("consumer_byte_rate", Some(1.5))],
        )],
    ];
    for entries in requests {
        for validate_only in [true, false] {
            let request = AlterClientQuotasRequest {
                entries: entries.clone(),
                validate_only,
                ..Default::default()
            };
            oracle.decide(oracle.broker_port, &request, |response| {
                for entry in &mut response.entries {
                    entry.error_message = None;
                    entry.entity.sort_by(|a, b| a.entity_type.cmp(&b.entity_type));
                }
                response.entries.sort_by_key(|entry| format!("{:?}", entry.entity));
            });
        }
    }
    let components: [&[(&str, i8, Option<&str>)]; 10] = [
        &[],
        &[("user", 0, Some("a"))],
        &[("user", 1, None)],
        &[("user", 2, None)],
        &[("user", 2, None), ("client-id", 2, None)],
        &[("ip", 2, None)],
        &[("ip", 2, None), ("user", 2, None)],
        &[("user", 0, None)],
        &[("user", 3, None)],
        &[("group", 2, None)],
    ];
    for components in components {
        for strict in [false, true] {
            let request = DescribeClientQuotasRequest {
                components: components
                    .iter()
                    .map(|(kind, match_type, name)| ComponentData {
                        entity_type: (*kind).into(),
                        match_type: *match_type,
                        match_: name.map(Into::into),
                        ..Default::default()
                    })
                    .collect(),
                strict,
                ..Default::default()
            };
            oracle.compare(
                oracle.broker_port,
                &request,
                |context, request| {
                    Decision::answer(controller::describe_client_quotas(context, request))
                },
                |response| {
                    response.error_message = None;
                    for entry in response.entries.iter_mut().flatten() {
                        entry.entity.sort_by(|a, b| a.entity_type.cmp(&b.entity_type));
                        entry.values.sort_by(|a, b| a.key.cmp(&b.key));
                    }
                    if let Some(entries) = &mut response.entries {
                        entries.sort_by_key(|entry| format!("{:?}", entry.entity));
                    }
                },
            );
        }
    }
}
