//! One decision held against Kafka's, or against what Kafka said when it was asked before.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thalweg_metadata::MetadataImage;
use thalweg_metadata::config::{BrokerConfig, Properties, properties};
use thalweg_metadata::controller::{self, Context, ControllerRequest, Decision, HeartbeatState};
use thalweg_metadata::image::Delta;
use thalweg_random::Random;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Message, Reader, Request, Uuid, Writer};

use alter_partition_reassignments_request::{ReassignablePartition, ReassignableTopic};
use create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsTopic};
use create_topics_request::CreatableTopic;
use delete_topics_request::DeleteTopicState;
use describe_configs_request::DescribeConfigsResource;
use elect_leaders_request::TopicPartitions;
use update_features_request::FeatureUpdateKey;

use crate::support::fixtures::{self, Fake, NOT_HEARD_OF};
use crate::support::kafka::{CLUSTER_ID, Kafka, Log, settings};
use crate::support::{base64, from_base64};

/// The node that is asked: a running one, or what one said.
enum Side {
    Running(Kafka),
    Recorded(std::vec::IntoIter<String>),
}

/// Asks both sides and compares them.
pub struct Oracle {
    side: Side,
    pub log: Log,
    pub props: Properties,
    pub cluster_id: String,
    pub broker_port: u16,
    pub controller_port: u16,
    pub compared: usize,
    /// What the other side said: a line for the start, then one for each request.
    pub tape: Vec<String>,
}

impl Oracle {
    /// Starts a node.
    pub fn start(class_path: &str, directory: &Path, settings: &str) -> Oracle {
        let mut kafka = Kafka::configure(class_path, directory, settings);
        kafka.format();
        kafka.start();
        let mut log = Log::new(kafka.log_path());
        kafka.wait_ready(&mut log);
        // What the broker says of itself once it is ready.
        std::thread::sleep(Duration::from_secs(1));
        log.read();
        let mut bytes = std::fs::read(kafka.log_path()).expect("the log");
        bytes.truncate(log.position());
        Oracle {
            tape: vec![format!(
                "start {} {} {}",
                kafka.broker_port,
                kafka.controller_port,
                base64(bytes)
            )],
            props: kafka.props.clone(),
            cluster_id: kafka.cluster_id.clone(),
            broker_port: kafka.broker_port,
            controller_port: kafka.controller_port,
            side: Side::Running(kafka),
            log,
            compared: 0,
        }
    }

    /// Goes by what a node with these settings said.
    pub fn recorded(tape: &str, more: &str) -> Oracle {
        let lines: Vec<String> =
            tape.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        let mut lines = lines.into_iter();
        let start = lines.next().expect("a line for the start");
        let words: Vec<&str> = start.split(' ').collect();
        let [_, broker_port, controller_port, bytes] = words[..] else { panic!("{start}") };
        let broker_port = broker_port.parse().expect("a port");
        let controller_port = controller_port.parse().expect("a port");
        let mut log = Log::new(PathBuf::new());
        log.take(&from_base64(bytes));
        let text = settings(broker_port, controller_port, more);
        Oracle {
            side: Side::Recorded(lines),
            log,
            props: properties::parse(text.as_bytes()).expect("properties"),
            cluster_id: CLUSTER_ID.into(),
            broker_port,
            controller_port,
            compared: 0,
            tape: Vec::new(),
        }
    }

    /// Ends; nothing that was said may be left.
    pub fn finish(self) -> Vec<String> {
        if let Side::Recorded(lines) = self.side {
            assert_eq!(lines.len(), 0, "more was recorded than asked");
        }
        self.tape
    }

    /// Time for a node to take note of what is in its log.
    pub fn pause(&self) {
        if let Side::Running(_) = self.side {
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    pub fn image(&self) -> &MetadataImage {
        self.log.image()
    }

    fn config(&self) -> BrokerConfig {
        self.log.config(&self.props)
    }

    /// The other side's answer, as `normal` leaves it, and the batches it appended.
    fn ask<R>(
        &mut self,
        port: u16,
        request: &R,
        normal: impl Fn(&mut R::Response),
    ) -> (R::Response, Vec<u8>)
    where
        R: Request + Debug,
    {
        let version = R::MAX_VERSION;
        match &mut self.side {
            Side::Running(kafka) => {
                let mut answer = kafka.ask(port, request);
                normal(&mut answer);
                let appended = self.log.unread();
                let mut w = Writer::new();
                answer.encode(&mut w, version).expect("an answer");
                let line = format!("{} {} {}", R::NAME, base64(w.to_vec()), base64(&appended));
                self.tape.push(line.trim_end().to_owned());
                (answer, appended)
            }
            Side::Recorded(lines) => {
                let line = lines.next().expect("more was asked than recorded");
                let mut words = line.split(' ');
                assert_eq!(words.next(), Some(R::NAME));
                let answer = from_base64(words.next().expect("an answer"));
                let appended = words.next().map(from_base64).unwrap_or_default();
                let mut r = Reader::new(&answer);
                (R::Response::decode(&mut r, version).expect("an answer"), appended)
            }
        }
    }

    /// Decides, asks the other side, compares answers as `normal` leaves them, and the records.
    pub fn compare<R>(
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
        let (theirs, appended) = self.ask(port, request, &normal);
        let appended = self.log.take(&appended);
        let mut ours = decision.response;
        normal(&mut ours);
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
        let ours_sorted = sorted(&decision.records, &BTreeMap::new());
        let theirs_sorted = sorted(&appended, &ids);
        assert_eq!(ours_sorted, theirs_sorted, "records for {request:#?}");
        if decision.records.len() < 20 {
            // Whole batches of topics come in the order of the request, brokers in any.
            let (ours, theirs) = (kinds(&decision.records), kinds(&appended));
            assert_eq!(ours, theirs, "order of records for {request:#?}");
        }
        self.compared += 1;
        theirs
    }

    /// The same for a request that a controller decides about.
    pub fn decide<R>(
        &mut self,
        port: u16,
        request: &R,
        normal: impl Fn(&mut R::Response),
    ) -> R::Response
    where
        R: ControllerRequest,
    {
        self.decide_about(port, request, NOT_HEARD_OF, normal)
    }

    /// The same for a request of a broker that the controller may have heard of.
    pub fn decide_about<R>(
        &mut self,
        port: u16,
        request: &R,
        heartbeats: HeartbeatState,
        normal: impl Fn(&mut R::Response),
    ) -> R::Response
    where
        R: ControllerRequest,
    {
        let (cluster_id, next_offset) = (self.cluster_id.clone(), self.log.next_offset());
        let mut numbers = Random::new(next_offset as u64);
        let decide = |context: &Context<'_>, request: &R| {
            fixtures::decide(context, request, &mut || numbers.next_u64(), |given| {
                given.next_offset = next_offset;
                given.heartbeats = heartbeats;
                given.cluster_id = &cluster_id;
            })
        };
        self.compare(port, request, decide, normal)
    }

    pub fn create_topics(&mut self, topics: Vec<CreatableTopic>, validate_only: bool) {
        let request =
            CreateTopicsRequest { topics, timeout_ms: 10_000, validate_only, ..Default::default() };
        self.decide(self.broker_port, &request, |response| {
            for topic in &mut response.topics {
                topic.error_message = None;
                // Validated or refused, both give ids and configs of nothing.
                topic.topic_id = Uuid::ZERO;
                if topic.error_code != ErrorCode::NONE {
                    topic.configs = None;
                }
                let configs = topic.configs.iter_mut();
                configs.for_each(|all| all.retain(|config| is_kafkas(&config.name)));
            }
            response.topics.sort_by(|a, b| a.name.cmp(&b.name));
        });
    }

    pub fn alter(&mut self, resources: Vec<Change<'_>>, validate_only: bool) {
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
        self.decide(self.broker_port, &request, |response| {
            response.responses.iter_mut().for_each(|r| r.error_message = None)
        });
    }

    pub fn alter_legacy(&mut self, resources: Vec<LegacyChange<'_>>) {
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
        self.decide(self.broker_port, &request, |response| {
            response.responses.iter_mut().for_each(|r| r.error_message = None)
        });
    }

    pub fn delete_topics(&mut self, topics: Vec<(Option<&str>, Uuid)>) {
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
        self.decide(self.broker_port, &request, |response| {
            response.responses.iter_mut().for_each(|r| r.error_message = None);
            response.responses.sort_by_key(|r| (r.name.clone(), r.topic_id, r.error_code));
        });
    }

    pub fn create_partitions(&mut self, topics: Vec<NewPartitions<'_>>) {
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
        self.decide(self.broker_port, &request, |response| {
            response.results.iter_mut().for_each(|r| r.error_message = None);
            response.results.sort_by(|a, b| a.name.cmp(&b.name));
        });
    }

    pub fn elect(&mut self, election_type: i8, topics: Option<Vec<(&str, Vec<i32>)>>) {
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
        self.decide(self.broker_port, &request, |response| {
            for topic in &mut response.replica_election_results {
                topic.partition_result.iter_mut().for_each(|p| p.error_message = None);
                topic.partition_result.sort_by_key(|p| p.partition_id);
            }
            response.replica_election_results.sort_by(|a, b| a.topic.cmp(&b.topic));
        });
    }

    pub fn reassign(&mut self, allow: bool, changes: Vec<(&str, i32, Option<Vec<i32>>)>) {
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
        self.decide(self.broker_port, &request, |response| {
            for topic in &mut response.responses {
                topic.partitions.iter_mut().for_each(|p| p.error_message = None);
            }
        });
        let request = ListPartitionReassignmentsRequest {
            timeout_ms: 10_000,
            topics: None,
            ..Default::default()
        };
        self.decide(self.broker_port, &request, |response| {
            response.topics.sort_by(|a, b| a.name.cmp(&b.name));
            for topic in &mut response.topics {
                topic.partitions.sort_by_key(|p| p.partition_index);
            }
        });
    }

    pub fn update_features(&mut self, updates: &[(&str, i16, i8)], validate_only: bool) {
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
        self.decide(self.broker_port, &request, |response| response.error_message = None);
    }

    pub fn register(&mut self, fake: &mut Fake, has_session: bool) -> ErrorCode {
        let request = fake.registration(&self.cluster_id);
        let heartbeats = HeartbeatState { has_session, ..NOT_HEARD_OF };
        let response = self.decide_about(self.controller_port, &request, heartbeats, |_| {});
        if response.error_code == ErrorCode::NONE {
            fake.epoch = response.broker_epoch;
            fake.registration_offset = self.log.next_offset() - 1;
        }
        response.error_code
    }

    pub fn heartbeat(
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
        let heartbeats =
            HeartbeatState { registration_offset: fake.registration_offset, ..NOT_HEARD_OF };
        self.decide_about(self.controller_port, &request, heartbeats, |_| {})
    }

    pub fn describe(&mut self, kind: i8, name: &str) {
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
        let normal = |response: &mut DescribeConfigsResponse| {
            for result in &mut response.results {
                result.error_message = None;
                result.configs.retain(|config| is_kafkas(&config.name));
                result.configs.sort_by(|a, b| a.name.cmp(&b.name));
            }
        };
        let mut ours = {
            let config = self.config();
            let context = Context { image: self.log.image(), config: &config };
            controller::describe_configs(&context, &request)
        };
        normal(&mut ours);
        let (kafkas, _) = self.ask(self.broker_port, &request, normal);
        for (ours, kafkas) in ours.results.iter().zip(&kafkas.results) {
            for (ours, kafkas) in ours.configs.iter().zip(&kafkas.configs) {
                assert_eq!(ours, kafkas, "config of {kind} {name:?}");
            }
        }
        assert_eq!(ours, kafkas, "configs of {kind} {name:?}");
        self.compared += 1;
    }
}

/// Whether Kafka has this config, too: those of our own are not compared.
fn is_kafkas(config: &str) -> bool {
    !config.starts_with("thalweg.")
}

/// A topic, how many partitions it should have, and on which brokers the new ones.
pub type NewPartitions<'a> = (&'a str, i32, Option<Vec<Vec<i32>>>);
pub type Change<'a> = (i8, &'a str, Vec<(&'a str, i8, Option<&'a str>)>);
pub type LegacyChange<'a> = (i8, &'a str, Vec<(&'a str, Option<&'a str>)>);

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
