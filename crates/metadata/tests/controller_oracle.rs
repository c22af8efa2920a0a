//! The controller's decisions against Kafka's: the same requests to both, the same answers and the
//! same records expected; and directories that go from one to the other.
//!
//! A Kafka node is started, its metadata log read along into an image; each request is decided on
//! that image and sent to the node, then the node's answer and the records it appended are compared
//! with the decision. Two more brokers exist only as registrations that the test sends.
//!
//! Needs Java 17 and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.3. Without the
//! variable the tests say that they are skipped.

mod support;

use std::collections::BTreeMap;
use std::fmt::Debug;

use support::kafka::{Kafka, Log};
use support::{class_path, scratch};
use thalweg_metadata::bootstrap::{self, MetaProperties, SoleVoter};
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::config::broker::Mode;
use thalweg_metadata::controller::{self, Context, Decision, HeartbeatState, Registration};
use thalweg_metadata::features::{MetadataVersion, SUPPORTED};
use thalweg_metadata::image::{Delta, Provenance, snapshot_records};
use thalweg_metadata::records::BatchWriter;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Request, Uuid};

use alter_client_quotas_request::{EntityData, EntryData, OpData};
use alter_partition_reassignments_request::{ReassignablePartition, ReassignableTopic};
use assign_replicas_to_dirs_request as assign;
use broker_registration_request::{Feature, Listener};
use create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsTopic};
use create_topics_request::{CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig};
use delete_topics_request::DeleteTopicState;
use describe_client_quotas_request::ComponentData;
use describe_configs_request::DescribeConfigsResource;
use elect_leaders_request::TopicPartitions;
use update_features_request::FeatureUpdateKey;

struct Oracle {
    kafka: Kafka,
    log: Log,
    compared: usize,
}

impl Oracle {
    fn config(&self) -> BrokerConfig {
        self.log.config(&self.kafka.props)
    }

    /// Decides, asks Kafka, compares answers as `normal` leaves them, and the records.
    fn compare<R>(
        &mut self,
        port: u16,
        request: &R,
        decide: impl FnOnce(&Context<'_>, &R) -> Decision<R::Response>,
        normal: impl Fn(&mut R::Response),
    ) -> R::Response
    where
        R: Request + Debug,
        R::Response: Debug + PartialEq + Clone,
    {
        let strays = self.log.read();
        assert!(strays.is_empty(), "records nobody asked for: {strays:?}");
        let config = self.config();
        let context = Context { image: self.log.image(), config: &config };
        let decision = decide(&context, request);
        let mut delta = Delta::new(self.log.image().clone());
        for record in &decision.records {
            delta.replay(record).expect("records of a decision fit the image");
        }
        let kafkas = self.kafka.ask(port, request);
        let appended = self.log.read();
        let (mut ours, mut theirs) = (decision.response.clone(), kafkas.clone());
        normal(&mut ours);
        normal(&mut theirs);
        assert_eq!(ours, theirs, "answers to {request:#?}");
        // New topics have other ids; by their names they are the same.
        let names = topic_names(&decision.records);
        let ids: BTreeMap<Uuid, Uuid> = topic_names(&appended)
            .iter()
            .filter_map(|(name, theirs)| Some((*theirs, *names.get(name)?)))
            .collect();
        let kinds = |records: &[MetadataRecord]| -> Vec<i16> {
            let mut kinds: Vec<i16> = records.iter().map(MetadataRecord::key).collect();
            kinds.dedup();
            kinds
        };
        let ours = sorted(&decision.records, &BTreeMap::new());
        let theirs = sorted(&appended, &ids);
        assert_eq!(ours, theirs, "records for {request:#?}");
        if decision.records.len() < 20 {
            // Whole batches of topics come in the order of the request, brokers in any.
            let (ours, theirs) = (kinds(&decision.records), kinds(&appended));
            assert_eq!(ours, theirs, "order of records for {request:#?}");
        }
        self.compared += 1;
        kafkas
    }

    fn broker(&self) -> u16 {
        self.kafka.broker_port
    }

    fn controller(&self) -> u16 {
        self.kafka.controller_port
    }

    fn create_topics(&mut self, topics: Vec<CreatableTopic>, validate_only: bool) {
        let request =
            CreateTopicsRequest { topics, timeout_ms: 10_000, validate_only, ..Default::default() };
        let mut numbers = support::Numbers(self.log.next_offset() as u64);
        self.compare(
            self.broker(),
            &request,
            |context, request| controller::create_topics(context, request, &mut || numbers.next()),
            |response| {
                for topic in &mut response.topics {
                    topic.error_message = None;
                    // Validated or refused, both give ids and configs of nothing.
                    topic.topic_id = Uuid::ZERO;
                    if topic.error_code != ErrorCode::NONE {
                        topic.configs = None;
                    }
                }
                response.topics.sort_by(|a, b| a.name.cmp(&b.name));
            },
        );
    }

    fn alter(&mut self, resources: Vec<Change<'_>>, validate_only: bool) {
        use incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
        let request = IncrementalAlterConfigsRequest {
            resources: resources
                .iter()
                .map(|(kind, name, configs)| AlterConfigsResource {
                    resource_type: *kind,
                    resource_name: (*name).into(),
                    configs: configs
                        .iter()
                        .map(|(name, operation, value)| AlterableConfig {
                            name: (*name).into(),
                            config_operation: *operation,
                            value: value.map(Into::into),
                            ..Default::default()
                        })
                        .collect(),
                    ..Default::default()
                })
                .collect(),
            validate_only,
            ..Default::default()
        };
        self.compare(
            self.broker(),
            &request,
            |context, request| controller::incremental_alter_configs(context, request),
            |response| response.responses.iter_mut().for_each(|r| r.error_message = None),
        );
    }

    fn alter_legacy(&mut self, resources: Vec<LegacyChange<'_>>) {
        use alter_configs_request::{AlterConfigsResource, AlterableConfig};
        let request = AlterConfigsRequest {
            resources: resources
                .iter()
                .map(|(kind, name, configs)| AlterConfigsResource {
                    resource_type: *kind,
                    resource_name: (*name).into(),
                    configs: configs
                        .iter()
                        .map(|(name, value)| AlterableConfig {
                            name: (*name).into(),
                            value: value.map(Into::into),
                            ..Default::default()
                        })
                        .collect(),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        };
        self.compare(
            self.broker(),
            &request,
            |context, request| controller::alter_configs(context, request),
            |response| response.responses.iter_mut().for_each(|r| r.error_message = None),
        );
    }

    fn delete_topics(&mut self, topics: Vec<(Option<&str>, Uuid)>) {
        let request = DeleteTopicsRequest {
            topics: topics
                .iter()
                .map(|(name, id)| DeleteTopicState {
                    name: name.map(Into::into),
                    topic_id: *id,
                    ..Default::default()
                })
                .collect(),
            timeout_ms: 10_000,
            ..Default::default()
        };
        self.compare(
            self.broker(),
            &request,
            |context, request| {
                controller::delete_topics(context, request, DeleteTopicsRequest::MAX_VERSION)
            },
            |response| {
                response.responses.iter_mut().for_each(|r| r.error_message = None);
                response.responses.sort_by_key(|r| (r.name.clone(), r.topic_id, r.error_code));
            },
        );
    }

    fn create_partitions(&mut self, topics: Vec<(&str, i32, Option<Vec<Vec<i32>>>)>) {
        let request = CreatePartitionsRequest {
            topics: topics
                .into_iter()
                .map(|(name, count, assignments)| CreatePartitionsTopic {
                    name: name.into(),
                    count,
                    assignments: assignments.map(|assignments| {
                        assignments
                            .into_iter()
                            .map(|broker_ids| CreatePartitionsAssignment {
                                broker_ids,
                                ..Default::default()
                            })
                            .collect()
                    }),
                    ..Default::default()
                })
                .collect(),
            timeout_ms: 10_000,
            ..Default::default()
        };
        self.compare(
            self.broker(),
            &request,
            |context, request| controller::create_partitions(context, request, &mut || 5),
            |response| {
                response.results.iter_mut().for_each(|r| r.error_message = None);
                response.results.sort_by(|a, b| a.name.cmp(&b.name));
            },
        );
    }

    fn elect(&mut self, election_type: i8, topics: Option<Vec<(&str, Vec<i32>)>>) {
        let request = ElectLeadersRequest {
            election_type,
            topic_partitions: topics.map(|topics| {
                topics
                    .into_iter()
                    .map(|(topic, partitions)| TopicPartitions {
                        topic: topic.into(),
                        partitions,
                        ..Default::default()
                    })
                    .collect()
            }),
            timeout_ms: 10_000,
            ..Default::default()
        };
        self.compare(
            self.broker(),
            &request,
            |context, request| controller::elect_leaders(context, request),
            |response| {
                for topic in &mut response.replica_election_results {
                    topic.partition_result.iter_mut().for_each(|p| p.error_message = None);
                    topic.partition_result.sort_by_key(|p| p.partition_id);
                }
                response.replica_election_results.sort_by(|a, b| a.topic.cmp(&b.topic));
            },
        );
    }

    fn reassign(&mut self, allow: bool, changes: Vec<(&str, i32, Option<Vec<i32>>)>) {
        let request = AlterPartitionReassignmentsRequest {
            timeout_ms: 10_000,
            allow_replication_factor_change: allow,
            topics: changes
                .into_iter()
                .map(|(name, partition_index, replicas)| ReassignableTopic {
                    name: name.into(),
                    partitions: vec![ReassignablePartition {
                        partition_index,
                        replicas,
                        ..Default::default()
                    }],
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        };
        self.compare(
            self.broker(),
            &request,
            |context, request| controller::alter_partition_reassignments(context, request),
            |response| {
                for topic in &mut response.responses {
                    topic.partitions.iter_mut().for_each(|p| p.error_message = None);
                }
            },
        );
        let request = ListPartitionReassignmentsRequest {
            timeout_ms: 10_000,
            topics: None,
            ..Default::default()
        };
        self.compare(
            self.broker(),
            &request,
            |context, request| {
                Decision::answer(controller::list_partition_reassignments(context, request))
            },
            |response| {
                response.topics.sort_by(|a, b| a.name.cmp(&b.name));
                for topic in &mut response.topics {
                    topic.partitions.sort_by_key(|p| p.partition_index);
                }
            },
        );
    }

    fn update_features(&mut self, updates: &[(&str, i16, i8)], validate_only: bool) {
        let request = UpdateFeaturesRequest {
            timeout_ms: 10_000,
            feature_updates: updates
                .iter()
                .map(|(feature, level, upgrade)| FeatureUpdateKey {
                    feature: (*feature).into(),
                    max_version_level: *level,
                    upgrade_type: *upgrade,
                    ..Default::default()
                })
                .collect(),
            validate_only,
            ..Default::default()
        };
        self.compare(
            self.broker(),
            &request,
            |context, request| {
                controller::update_features(context, request, 1, UpdateFeaturesRequest::MAX_VERSION)
            },
            |response| response.error_message = None,
        );
    }

    fn register(&mut self, fake: &mut Fake, has_session: bool) -> ErrorCode {
        let request = fake.registration(&self.kafka.cluster_id);
        let new_epoch = self.log.next_offset();
        let cluster_id = self.kafka.cluster_id.clone();
        let registration = Registration {
            cluster_id: &cluster_id,
            new_epoch,
            has_session,
            version: BrokerRegistrationRequest::MAX_VERSION,
            kraft_version: 1,
        };
        let response = self.compare(
            self.controller(),
            &request,
            |context, request| controller::register_broker(context, request, registration),
            |_| {},
        );
        if response.error_code == ErrorCode::NONE {
            fake.epoch = response.broker_epoch;
            fake.registration_offset = self.log.next_offset() - 1;
        }
        response.error_code
    }

    fn heartbeat(
        &mut self,
        fake: &Fake,
        change: impl FnOnce(&mut BrokerHeartbeatRequest),
    ) -> BrokerHeartbeatResponse {
        let mut request = BrokerHeartbeatRequest {
            broker_id: fake.id,
            broker_epoch: fake.epoch,
            current_metadata_offset: self.log.next_offset() + 1000,
            want_fence: false,
            want_shut_down: false,
            offline_log_dirs: Vec::new(),
            cordoned_log_dirs: Some(Vec::new()),
            ..Default::default()
        };
        change(&mut request);
        let state = HeartbeatState {
            registration_offset: fake.registration_offset,
            lowest_active_offset: None,
            shutdown_offset: None,
        };
        self.compare(
            self.controller(),
            &request,
            |context, request| controller::broker_heartbeat(context, request, state),
            |_| {},
        )
    }

    fn describe(&mut self, kind: i8, name: &str) {
        let request = DescribeConfigsRequest {
            resources: vec![DescribeConfigsResource {
                resource_type: kind,
                resource_name: name.into(),
                configuration_keys: None,
                ..Default::default()
            }],
            include_synonyms: true,
            include_documentation: false,
            ..Default::default()
        };
        let mut ours = {
            let config = self.config();
            let context = Context { image: self.log.image(), config: &config };
            controller::describe_configs(&context, &request)
        };
        let mut kafkas = self.kafka.ask(self.broker(), &request);
        for response in [&mut ours, &mut kafkas] {
            for result in &mut response.results {
                result.error_message = None;
                result.configs.sort_by(|a, b| a.name.cmp(&b.name));
            }
        }
        for (ours, kafkas) in ours.results.iter().zip(&kafkas.results) {
            for (ours, kafkas) in ours.configs.iter().zip(&kafkas.configs) {
                assert_eq!(ours, kafkas, "config of {kind} {name:?}");
            }
        }
        assert_eq!(ours, kafkas, "configs of {kind} {name:?}");
        self.compared += 1;
    }
}

type Change<'a> = (i8, &'a str, Vec<(&'a str, i8, Option<&'a str>)>);
type LegacyChange<'a> = (i8, &'a str, Vec<(&'a str, Option<&'a str>)>);

fn topic_names(records: &[MetadataRecord]) -> BTreeMap<String, Uuid> {
    let topics = records.iter().filter_map(|record| match record {
        MetadataRecord::Topic(topic) => Some((topic.name.clone(), topic.topic_id)),
        _ => None,
    });
    topics.collect()
}

/// Records as texts, sorted, with other ids for topics.
fn sorted(records: &[MetadataRecord], ids: &BTreeMap<Uuid, Uuid>) -> Vec<String> {
    let mut texts: Vec<String> = records
        .iter()
        .map(|record| {
            let mut record = record.clone();
            if let MetadataRecord::RegisterBroker(record) = &mut record {
                // Kafka's come out of hash maps.
                record.features.sort_by(|a, b| a.name.cmp(&b.name));
                record.end_points.sort_by(|a, b| a.name.cmp(&b.name));
            }
            if let MetadataRecord::ClientQuota(record) = &mut record {
                record.entity.sort_by(|a, b| a.entity_type.cmp(&b.entity_type));
            }
            let mut text = format!("{record:?}");
            for (from, to) in ids {
                text = text.replace(&from.to_string(), &to.to_string());
            }
            text
        })
        .collect();
    texts.sort();
    texts
}

/// A broker that exists only as a registration.
struct Fake {
    id: i32,
    epoch: i64,
    previous_epoch: i64,
    registration_offset: i64,
    incarnation: Uuid,
    directories: Vec<Uuid>,
    rack: Option<String>,
    leave_out: &'static str,
}

impl Fake {
    fn new(id: i32, directories: &[u128]) -> Fake {
        Fake {
            id,
            epoch: -1,
            previous_epoch: -1,
            registration_offset: -1,
            incarnation: Uuid::from_u128(1 << 100 | id as u128),
            directories: directories.iter().map(|id| Uuid::from_u128(*id)).collect(),
            rack: None,
            leave_out: "",
        }
    }

    fn registration(&self, cluster_id: &str) -> BrokerRegistrationRequest {
        BrokerRegistrationRequest {
            broker_id: self.id,
            cluster_id: cluster_id.into(),
            incarnation_id: self.incarnation,
            listeners: vec![Listener {
                name: "PLAINTEXT".into(),
                host: "127.0.0.1".into(),
                port: 9,
                security_protocol: 0,
                ..Default::default()
            }],
            features: SUPPORTED
                .iter()
                .filter(|range| range.name != self.leave_out)
                .map(|range| Feature {
                    name: range.name.into(),
                    min_supported_version: range.min,
                    max_supported_version: range.max,
                    ..Default::default()
                })
                .collect(),
            rack: self.rack.clone(),
            is_migrating_zk_broker: false,
            log_dirs: self.directories.clone(),
            previous_broker_epoch: self.previous_epoch,
            ..Default::default()
        }
    }
}

fn topic(name: &str, partitions: i32, replication_factor: i16) -> CreatableTopic {
    CreatableTopic {
        name: name.into(),
        num_partitions: partitions,
        replication_factor,
        ..Default::default()
    }
}

fn with_configs(mut topic: CreatableTopic, configs: &[(&str, Option<&str>)]) -> CreatableTopic {
    topic.configs = configs
        .iter()
        .map(|(name, value)| CreatableTopicConfig {
            name: (*name).into(),
            value: value.map(Into::into),
            ..Default::default()
        })
        .collect();
    topic
}

fn assigned(name: &str, assignments: &[(i32, &[i32])]) -> CreatableTopic {
    CreatableTopic {
        assignments: assignments
            .iter()
            .map(|(index, brokers)| CreatableReplicaAssignment {
                partition_index: *index,
                broker_ids: brokers.to_vec(),
                ..Default::default()
            })
            .collect(),
        ..topic(name, -1, -1)
    }
}

const SETTINGS: &str = "metadata.max.idle.interval.ms=0\nbroker.session.timeout.ms=6000000\n\
     broker.heartbeat.interval.ms=200\nauto.leader.rebalance.enable=false\n\
     replica.lag.time.max.ms=6000000\nlog.retention.hours=5\nnum.partitions=2\n\
     log.roll.hours=7\nmin.insync.replicas=2\n";

#[test]
fn decisions_are_kafkas() {
    let Some(class_path) = class_path() else { return };
    let directory = scratch("controller-oracle");
    let mut kafka = Kafka::configure(&class_path, &directory, SETTINGS);
    kafka.format();
    kafka.start();
    let mut log = Log::new(kafka.log_path());
    kafka.wait_ready(&mut log);
    // What the broker says of itself once it is ready.
    std::thread::sleep(std::time::Duration::from_secs(1));
    log.read();
    let mut oracle = Oracle { kafka, log, compared: 0 };
    topics(&mut oracle);
    configs(&mut oracle);
    quotas(&mut oracle);
    brokers(&mut oracle);
    features(&mut oracle);
    state(&oracle);
    eprintln!("{} requests compared", oracle.compared);
    assert!(oracle.compared > 100, "{}", oracle.compared);
}

fn topics(oracle: &mut Oracle) {
    let all = || {
        vec![
            topic("plain", 1, 1),
            topic("defaults", -1, -1),
            with_configs(
                topic("configured", 3, 1),
                &[("retention.ms", Some(" 7 ")), ("cleanup.policy", Some("compact,delete"))],
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

    let id =
        |oracle: &Oracle, name: &str| oracle.log.image().topics.by_name(name).expect("a topic").id;
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

fn configs(oracle: &mut Oracle) {
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
    // A resource twice is not asked for here: Kafka 4.3 never answers that.
    oracle.alter_legacy(vec![(BROKER, "", vec![("log.retention.ms", Some("100"))])]);
    oracle.alter_legacy(vec![(
        BROKER,
        "",
        vec![("log.retention.ms", Some("79")), ("min.insync.replicas", Some("1"))],
    )]);
    // The broker hears of its configs a moment after they are in the log.
    std::thread::sleep(std::time::Duration::from_secs(1));
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
fn quotas(oracle: &mut Oracle) {
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
            oracle.compare(
                oracle.broker(),
                &request,
                |context, request| controller::alter_client_quotas(context, request),
                |response| {
                    for entry in &mut response.entries {
                        entry.error_message = None;
                        entry.entity.sort_by(|a, b| a.entity_type.cmp(&b.entity_type));
                    }
                    response.entries.sort_by_key(|entry| format!("{:?}", entry.entity));
                },
            );
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
                oracle.broker(),
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

fn brokers(oracle: &mut Oracle) {
    let mut two = Fake::new(2, &[1000 << 64]);
    let mut three = Fake::new(3, &[2000 << 64, 2001 << 64]);
    // Registrations that are refused.
    let cluster_id = std::mem::replace(&mut oracle.kafka.cluster_id, "other".into());
    let mut request = two.registration(&oracle.kafka.cluster_id);
    oracle.kafka.cluster_id = cluster_id;
    let refuse = |oracle: &mut Oracle, request: &BrokerRegistrationRequest| {
        let (id, epoch) = (oracle.kafka.cluster_id.clone(), oracle.log.next_offset());
        let response = oracle.compare(
            oracle.controller(),
            request,
            |context, request| {
                let registration = Registration {
                    cluster_id: &id,
                    new_epoch: epoch,
                    has_session: false,
                    version: BrokerRegistrationRequest::MAX_VERSION,
                    kraft_version: 1,
                };
                controller::register_broker(context, request, registration)
            },
            |_| {},
        );
        assert_ne!(response.error_code, ErrorCode::NONE);
    };
    refuse(oracle, &request);
    let good = two.registration(&oracle.kafka.cluster_id);
    request = good.clone();
    request.log_dirs.clear();
    refuse(oracle, &request);
    request.log_dirs = vec![Uuid::TWO];
    refuse(oracle, &request);
    request.log_dirs = vec![two.directories[0], two.directories[0]];
    refuse(oracle, &request);
    request.log_dirs = oracle.log.image().cluster.broker(1).expect("broker 1").directories.clone();
    refuse(oracle, &request);
    request = good.clone();
    request.features[0].max_supported_version = 0;
    refuse(oracle, &request);
    for name in ["metadata.version", "group.version", "kraft.version"] {
        two.leave_out = name;
        request = two.registration(&oracle.kafka.cluster_id);
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
    let id =
        |oracle: &Oracle, name: &str| oracle.log.image().topics.by_name(name).expect("a topic").id;
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
        oracle.compare(
            oracle.controller(),
            &request,
            |context, request| controller::assign_replicas_to_dirs(context, request),
            |_| {},
        );
    }
    oracle.heartbeat(&three, |request| request.offline_log_dirs = vec![three.directories[0]]);
    oracle.heartbeat(&three, |request| request.offline_log_dirs = vec![three.directories[0]]);
    let left = three.directories[1];
    oracle.heartbeat(&three, |request| request.cordoned_log_dirs = Some(vec![left]));
    oracle.create_topics(vec![topic("three-replicas", 1, 3)], false);
    oracle.heartbeat(&three, |_| {});

    // Producer ids.
    let broker_one = oracle.log.image().cluster.broker(1).expect("broker 1").epoch;
    for (broker_id, broker_epoch) in
        [(1, broker_one), (2, two.epoch), (2, two.epoch + 1), (8, 1), (1, broker_one)]
    {
        let request = AllocateProducerIdsRequest { broker_id, broker_epoch, ..Default::default() };
        oracle.compare(
            oracle.controller(),
            &request,
            |context, request| controller::allocate_producer_ids(context, request),
            |_| {},
        );
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
        oracle.compare(
            oracle.broker(),
            &request,
            |context, request| controller::unregister_broker(context, request),
            |response| response.error_message = None,
        );
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

fn features(oracle: &mut Oracle) {
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

/// The image itself: a snapshot of it gives it back.
fn state(oracle: &Oracle) {
    let image = oracle.log.image();
    let brokers: Vec<_> = image.cluster.brokers.keys().copied().collect();
    assert!(image.topics.len() >= 8, "only {} topics are left", image.topics.len());
    assert_eq!(brokers, [1, 3, 4]);
    let mut delta = Delta::new(thalweg_metadata::MetadataImage::empty());
    for record in snapshot_records(image) {
        delta.replay(&record).expect("a snapshot's record");
    }
    let (back, _) = delta.apply(image.provenance);
    assert_eq!(&back, image);
}

#[test]
fn directories_go_from_us_to_kafka() {
    let Some(class_path) = class_path() else { return };
    let directory = scratch("format-oracle");
    let mut kafka = Kafka::configure(&class_path, &directory, "min.insync.replicas=2\n");
    let data = directory.join("data");
    let log_dir = data.join("__cluster_metadata-0");
    std::fs::create_dir_all(&log_dir).expect("a directory");
    let directory_id = Uuid::from_u128(0x1234_5678_9abc_4def_8123_4567_89ab_cdef);
    let meta = MetaProperties { cluster_id: kafka.cluster_id.clone(), node_id: 1, directory_id };
    let voter = SoleVoter {
        node_id: 1,
        directory_id,
        listener: "CONTROLLER".into(),
        host: "127.0.0.1".into(),
        port: kafka.controller_port,
    };
    let write = |path: std::path::PathBuf, bytes: &[u8]| {
        std::fs::write(path, bytes).expect("a file");
    };
    // Not long ago, or Kafka would begin a new segment.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
    let now = i64::try_from(now.as_millis()).expect("a time");
    write(data.join("meta.properties"), bootstrap::meta_properties(&meta).as_bytes());
    let bootstrap_file = bootstrap::bootstrap_checkpoint(now).expect("batches").concat();
    write(data.join("bootstrap.checkpoint"), &bootstrap_file);
    let quorum = bootstrap::quorum_checkpoint(&voter, now).expect("batches").concat();
    write(log_dir.join(bootstrap::QUORUM_CHECKPOINT), &quorum);

    // A log of our own: the first epoch, the bootstrap records, and two topics.
    let config = BrokerConfig::new(kafka.props.clone(), Mode::Kafka).expect("a configuration");
    let writer =
        BatchWriter { epoch: 1, timestamp_ms: now, metadata_version: MetadataVersion::LATEST };
    let mut bytes = writer.control(0, &voter.first_epoch_records()).expect("a batch").to_vec();
    let mut offset = 3;
    let mut append = |records: &[MetadataRecord]| {
        bytes.extend(writer.data(offset, records).expect("a batch"));
        offset += records.len() as i64;
    };
    let records = bootstrap::activation_records(&config, &bootstrap::bootstrap_records(), false);
    append(&records);
    let mut delta = Delta::new(thalweg_metadata::MetadataImage::empty());
    for record in records.iter().filter(|r| {
        !matches!(r, MetadataRecord::BeginTransaction(_) | MetadataRecord::EndTransaction(_))
    }) {
        delta.replay(record).expect("a record");
    }
    let mut fake = Fake::new(1, &[directory_id.as_u128()]);
    fake.rack = Some("somewhere".into());
    let registration = Registration {
        cluster_id: &kafka.cluster_id,
        new_epoch: 12,
        has_session: false,
        version: 4,
        kraft_version: 1,
    };
    let (image, _) = delta.apply(Provenance::NONE);
    let context = Context { image: &image, config: &config };
    let registered =
        controller::register_broker(&context, &fake.registration(&kafka.cluster_id), registration);
    append(&registered.records);
    let mut delta = Delta::new(image.clone());
    for record in &registered.records {
        delta.replay(record).expect("a record");
    }
    fake.epoch = registered.response.broker_epoch;
    let (image, _) = delta.apply(Provenance::NONE);
    let context = Context { image: &image, config: &config };
    let heartbeat = BrokerHeartbeatRequest {
        broker_id: 1,
        broker_epoch: fake.epoch,
        current_metadata_offset: 100,
        cordoned_log_dirs: Some(Vec::new()),
        ..Default::default()
    };
    let state = HeartbeatState {
        registration_offset: 12,
        lowest_active_offset: None,
        shutdown_offset: None,
    };
    let unfenced = controller::broker_heartbeat(&context, &heartbeat, state);
    append(&unfenced.records);
    let mut delta = Delta::new(image.clone());
    for record in &unfenced.records {
        delta.replay(record).expect("a record");
    }
    let (image, _) = delta.apply(Provenance::NONE);
    let context = Context { image: &image, config: &config };
    let request = CreateTopicsRequest {
        topics: vec![
            with_configs(topic("ours", 2, 1), &[("retention.ms", Some("123456"))]),
            topic("second", 1, 1),
        ],
        ..Default::default()
    };
    let mut numbers = support::Numbers(9);
    let created = controller::create_topics(&context, &request, &mut || numbers.next());
    assert_eq!(created.records.len(), 6);
    append(&created.records);
    write(kafka.log_path(), &bytes);
    let quorum_state = "{\"leaderId\":1,\"leaderEpoch\":1,\"votedId\":-1,\
         \"votedDirectoryId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}";
    write(log_dir.join("quorum-state"), quorum_state.as_bytes());

    kafka.start();
    let mut log = Log::new(kafka.log_path());
    log.read();
    let topics_before: Vec<String> =
        log.image().topics.iter().map(|topic| topic.name.to_string()).collect();
    assert_eq!(topics_before, ["ours", "second"]);
    let first_epoch = log.image().cluster.broker(1).expect("our broker").epoch;
    // Ready is Kafka when it has registered anew.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    loop {
        kafka.wait_ready(&mut log);
        if log.image().cluster.broker(1).is_some_and(|broker| broker.epoch != first_epoch) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "Kafka does not register");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    kafka.wait_ready(&mut log);
    let described =
        kafka.tool("org.apache.kafka.tools.TopicCommand", &["--describe", "--topic", "ours"]);
    assert!(described.contains("PartitionCount: 2"), "{described}");
    assert!(described.contains("retention.ms=123456"), "{described}");
    assert!(described.contains("Leader: 1"), "{described}");
}

#[test]
fn formatted_files_are_kafkas() {
    let Some(class_path) = class_path() else { return };
    let directory = scratch("files-oracle");
    let kafka = Kafka::configure(&class_path, &directory, SETTINGS);
    kafka.format();
    let data = directory.join("data");
    let read = |path: &str| std::fs::read(data.join(path)).expect("a file of Kafka's");
    let meta = bootstrap::read_meta_properties(&read("meta.properties")).expect("meta.properties");
    assert_eq!((meta.node_id, &meta.cluster_id), (1, &kafka.cluster_id));
    let ours = bootstrap::meta_properties(&meta);
    assert_eq!(bootstrap::read_meta_properties(ours.as_bytes()), Ok(meta.clone()));
    // The same bytes but for the times, and what follows from them.
    let voter = SoleVoter {
        node_id: 1,
        directory_id: meta.directory_id,
        listener: "CONTROLLER".into(),
        host: "127.0.0.1".into(),
        port: kafka.controller_port,
    };
    let kafkas = batches(&read("bootstrap.checkpoint"));
    let ours = batches(&bootstrap::bootstrap_checkpoint(0).expect("batches").concat());
    assert_eq!(ours, kafkas);
    let path = format!("__cluster_metadata-0/{}", bootstrap::QUORUM_CHECKPOINT);
    let kafkas = batches(&read(&path));
    let ours = batches(&bootstrap::quorum_checkpoint(&voter, 0).expect("batches").concat());
    assert_eq!(ours, kafkas);
}

/// The batches of a file as texts, without times.
fn batches(mut bytes: &[u8]) -> Vec<String> {
    use thalweg_metadata::records::{Batch, BatchContents, ControlRecord};
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let length = i32::from_be_bytes(bytes[8..12].try_into().expect("four bytes"));
        let (first, rest) = bytes.split_at(12 + length as usize);
        let mut batch =
            Batch::read(first, &mut thalweg_records::Decompressor::new()).expect("a batch");
        batch.timestamp_ms = 0;
        if let BatchContents::Control(records) = &mut batch.contents {
            for record in records {
                if let ControlRecord::SnapshotHeader(header) = record {
                    header.last_contained_log_timestamp = 0;
                }
            }
        }
        texts.push(format!("{} bytes {batch:?}", first.len()));
        bytes = rest;
    }
    texts
}

use thalweg_wire::Message as _;
