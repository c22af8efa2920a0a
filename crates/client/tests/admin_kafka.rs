//! The admin client against Apache Kafka. One broker for all: it takes seconds to start.
//!
//! Needs Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable there is nothing to do, and the test says so.

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg::admin::{
    AclBinding, AclFilter, AclOperation, AclPattern, AclPatternFilter, AclPermission, AclResource,
    Admin, AdminConfig, AdminError, ConfigChange, ConfigDetails, ConfigResource, ConfigSource,
    Election, FeatureUpdate, GroupFilter, GroupKind, Mode, NewPartitions, NewTopic, OffsetSpec,
    QuotaMatch, ReplicaMove, ResourceType, ScramChange, TopicRef, UpgradeType,
};
use thalweg::{
    Cluster, CommittedOffset, Consumer, ConsumerConfig, GroupProtocol, IsolationLevel, Mechanism,
    OffsetReset, Options, Position, Producer, ProducerConfig, ProducerRecord, SaslOptions,
    TopicPartition,
};
use thalweg_testkit::kafka::Kafka;
use thalweg_wire::{ApiKey, ErrorCode};

const AUTHORIZER: &str = "org.apache.kafka.metadata.authorizer.StandardAuthorizer";
const SCRAM_JAAS: &str = "org.apache.kafka.common.security.scram.ScramLoginModule required;";

fn tp(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition::new(topic, partition)
}

#[track_caller]
fn code<T: std::fmt::Debug>(result: &Result<T, AdminError>) -> ErrorCode {
    result.as_ref().unwrap_err().code().unwrap_or_else(|| panic!("no code in {result:?}"))
}

/// Waits until a broker has heard of what the controller did.
async fn eventually(what: &str, mut check: impl AsyncFnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !check().await {
        assert!(std::time::Instant::now() < deadline, "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

struct Bench {
    bootstrap: String,
    admin: Admin,
}

impl Bench {
    async fn cluster(&self) -> Cluster {
        Cluster::connect(&self.bootstrap, Options::default()).await.unwrap()
    }

    async fn produce(&self, topic: &str, count: i64) {
        let producer = Producer::new(self.cluster().await, ProducerConfig::default()).unwrap();
        for at in 1..=count {
            let record = ProducerRecord {
                topic,
                partition: Some(0),
                timestamp: Some(at * 1_000),
                value: Some(b"value"),
                ..ProducerRecord::default()
            };
            producer.send(record).await.unwrap().await.unwrap();
        }
    }

    /// A member that has read and committed.
    async fn member(&self, group: &str, group_protocol: GroupProtocol) -> Consumer {
        let config = ConsumerConfig::default()
            .with_group_id(group)
            .with_group_protocol(group_protocol)
            .with_auto_offset_reset(OffsetReset::Earliest)
            .with_auto_commit(false);
        let mut consumer = Consumer::new(self.cluster().await, config).unwrap();
        consumer.subscribe(["t"]).unwrap();
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while consumer.poll_timeout(100, Duration::from_secs(1)).await.unwrap().is_empty() {
            assert!(std::time::Instant::now() < deadline, "{group} reads nothing");
        }
        consumer.commit().await.unwrap();
        consumer
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_one_broker_can_be_asked() {
    let Some(builder) = Kafka::builder() else { return };
    let kafka = builder
        .config("authorizer.class.name", AUTHORIZER)
        .config("super.users", "User:ANONYMOUS;User:alice")
        .listener("SCRAM", "SASL_PLAINTEXT")
        .config("listener.name.scram.sasl.enabled.mechanisms", "SCRAM-SHA-512")
        .config("listener.name.scram.scram-sha-512.sasl.jaas.config", SCRAM_JAAS)
        .start();
    let scram = kafka.bootstrap("SCRAM");
    let bootstrap = kafka.bootstrap(Kafka::INTERNAL);
    let cluster = Cluster::connect(&bootstrap, Options::default()).await.unwrap();
    let bench = Bench { bootstrap, admin: Admin::new(cluster, AdminConfig::default()) };
    topics(&bench).await;
    brokers(&bench).await;
    configs(&bench).await;
    groups(&bench).await;
    records(&bench).await;
    users(&bench, &scram).await;
    limits(&bench.admin).await;
    acls(&bench.admin).await;
}

async fn topics(bench: &Bench) {
    let admin = &bench.admin;
    let topics = vec![
        NewTopic::new("t").with_partitions(2),
        NewTopic::new("gone").with_assignment(0, [1]),
        NewTopic::new("wide").with_replication_factor(2),
        NewTopic::new("strange").with_config("no.such.config", "1"),
    ];
    let tried = admin.create_topics(topics.clone(), Mode::ValidateOnly).await;
    assert!(tried["t"].is_ok());
    let created = admin.create_topics(topics, Mode::Apply).await;
    let id = created["gone"].as_ref().unwrap().id;
    assert_eq!(created["t"].as_ref().unwrap().partitions, Some(2));
    assert_eq!(code(&created["wide"]), ErrorCode::INVALID_REPLICATION_FACTOR);
    assert_eq!(code(&created["strange"]), ErrorCode::INVALID_CONFIG);
    let described = admin.describe_topics(["gone".into(), id.into(), "none".into()]).await;
    assert_eq!(described[&"gone".into()].as_ref().unwrap().id, id);
    assert_eq!(described[&"gone".into()].as_ref().unwrap().partitions[0].elr, Some(Vec::new()));
    assert_eq!(described[&TopicRef::Id(id)].as_ref().unwrap().name, "gone");
    assert!(described[&"none".into()].as_ref().unwrap_err().is_not_found());
    let more = |topic: &str, total| NewPartitions::new(topic, total);
    let wider = vec![more("gone", 2), more("t", 1), more("none", 2)];
    let wider = admin.create_partitions(wider, Mode::Apply).await;
    assert!(wider["gone"].is_ok());
    assert_eq!(code(&wider["t"]), ErrorCode::INVALID_PARTITIONS);
    assert!(wider["none"].as_ref().unwrap_err().is_not_found());
    let deleted = admin.delete_topics([id.into(), "none".into()]).await;
    assert!(deleted[&TopicRef::Id(id)].is_ok());
    assert!(deleted[&"none".into()].as_ref().unwrap_err().is_not_found());

    let targets = BTreeMap::from([(tp("t", 0), Some(vec![1])), (tp("t", 1), Some(vec![9]))]);
    let altered = admin.alter_partition_reassignments(targets).await;
    assert!(altered[&tp("t", 0)].is_ok());
    assert_eq!(code(&altered[&tp("t", 1)]), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
    assert!(admin.list_partition_reassignments(None).await.unwrap().is_empty());
    let elected = admin.elect_leaders(Election::Preferred, Some(vec![tp("t", 0)])).await.unwrap();
    assert_eq!(code(&elected[&tp("t", 0)]), ErrorCode::ELECTION_NOT_NEEDED);
    assert!(admin.elect_leaders(Election::Unclean, None).await.unwrap().is_empty());
}

async fn brokers(bench: &Bench) {
    let admin = &bench.admin;
    let cluster = admin.describe_cluster(true).await.unwrap();
    assert_eq!((cluster.brokers.len(), cluster.brokers[0].id), (1, 1));
    assert!(!cluster.id.is_empty() && !cluster.brokers[0].is_fenced);
    let versions = admin.broker_versions().await.unwrap();
    let versions = versions[&1].as_ref().unwrap();
    assert!(versions.apis.contains_key(&ApiKey::CONSUMER_GROUP_DESCRIBE));
    let features = admin.describe_features().await.unwrap();
    let level = features.features["metadata.version"].level.unwrap();
    assert!(level > 0 && features.epoch.is_some());
    let update = |name: &str, level, upgrade| FeatureUpdate::new(name, level).with_upgrade(upgrade);
    let same = vec![update("metadata.version", level, UpgradeType::Upgrade)];
    assert!(admin.update_features(same, Mode::ValidateOnly).await["metadata.version"].is_ok());
    let beyond = vec![update("metadata.version", 9_999, UpgradeType::Upgrade)];
    let beyond = admin.update_features(beyond, Mode::Apply).await;
    assert!(beyond["metadata.version"].as_ref().unwrap_err().to_string().contains("9999"));
    let quorum = admin.describe_quorum().await.unwrap();
    assert_eq!((quorum.leader, quorum.voters.len()), (1, 1));
    assert!(quorum.high_watermark > 0 && !quorum.nodes.is_empty(), "{quorum:?}");
    let unknown = admin.unregister_controller(7).await;
    assert_eq!(code(&unknown), ErrorCode::CONTROLLER_ID_NOT_REGISTERED);
    let active = admin.unregister_controller(1).await;
    assert_eq!(code(&active), ErrorCode::INVALID_REQUEST);

    let dirs = admin.describe_log_dirs(None).await.unwrap();
    let dir = &dirs[&1].as_ref().unwrap()[0];
    assert!(dir.error.is_none() && dir.replicas.contains_key(&tp("t", 1)));
    let same = ReplicaMove::new(1, tp("t", 0), &dir.path);
    let elsewhere = ReplicaMove::new(1, tp("t", 1), "/no/such");
    let moved = admin.alter_replica_log_dirs([same.clone(), elsewhere.clone()]).await;
    assert!(moved[&same].is_ok(), "{moved:?}");
    assert_eq!(code(&moved[&elsewhere]), ErrorCode::LOG_DIR_NOT_FOUND);
}

async fn configs(bench: &Bench) {
    let admin = &bench.admin;
    let (topic, group) = (ConfigResource::topic("t"), ConfigResource::group("configured"));
    let metrics = ConfigResource::new(ResourceType::ClientMetrics, "all");
    let changes = BTreeMap::from([
        (topic.clone(), vec![ConfigChange::set("retention.ms", "86400000")]),
        (group.clone(), vec![ConfigChange::set("consumer.heartbeat.interval.ms", "6000")]),
        (metrics.clone(), vec![ConfigChange::set("interval.ms", "60000")]),
        (ConfigResource::broker(1), vec![ConfigChange::set("log.cleaner.threads", "2")]),
        (ConfigResource::topic("none"), vec![ConfigChange::set("retention.ms", "1")]),
    ]);
    let altered = admin.alter_configs(changes, Mode::Apply).await;
    let good = [&topic, &group, &metrics, &ConfigResource::broker(1)];
    assert!(good.iter().all(|resource| altered[resource].is_ok()), "{altered:?}");
    assert!(altered[&ConfigResource::topic("none")].is_err());
    let details = ConfigDetails::default().with_synonyms(true).with_documentation(true);
    let loggers = ConfigResource::new(ResourceType::BrokerLogger, "1");
    let wanted =
        [topic.clone(), group.clone(), metrics.clone(), ConfigResource::broker(1), loggers.clone()];
    let described = admin.describe_configs(wanted, details).await;
    for (resource, name, source) in [
        (&topic, "retention.ms", ConfigSource::Topic),
        (&group, "consumer.heartbeat.interval.ms", ConfigSource::Group),
        (&metrics, "interval.ms", ConfigSource::ClientMetrics),
        (&ConfigResource::broker(1), "log.cleaner.threads", ConfigSource::DynamicBroker),
    ] {
        let entries = described[resource].as_ref().unwrap();
        let entry = entries.iter().find(|entry| entry.name == name).unwrap();
        assert_eq!(entry.source, source, "{resource}");
        assert!(!entry.synonyms.is_empty(), "{resource}");
    }
    assert!(described[&loggers].is_ok());
    let kinds = [ResourceType::Topic, ResourceType::Group, ResourceType::ClientMetrics];
    let listed = admin.list_config_resources(&kinds).await.unwrap();
    for resource in [&topic, &group, &metrics] {
        assert!(listed.contains(resource), "{listed:?}");
    }
}

async fn groups(bench: &Bench) {
    let admin = &bench.admin;
    bench.produce("t", 5).await;
    let mut modern =
        bench.member("modern", GroupProtocol::Consumer { server_assignor: None }).await;
    let mut classic = bench.member("classic", GroupProtocol::default()).await;
    let (groups, failed) = admin.list_groups(&GroupFilter::default()).await.unwrap();
    assert!(failed.is_empty());
    let kinds: Vec<(&str, Option<&str>)> =
        groups.iter().map(|group| (&*group.id, group.kind.as_deref())).collect();
    assert_eq!(kinds, [("classic", Some("Classic")), ("modern", Some("Consumer"))]);
    let only = GroupFilter::default().with_kinds(vec!["Consumer".into()]);
    assert_eq!(admin.list_groups(&only).await.unwrap().0.len(), 1);

    // It does not know the field, and answers as if it had not been asked for it.
    let why = admin.describe_rebalances(["modern", "classic"]).await;
    for (group, told) in why {
        let error = told.unwrap_err().to_string();
        let (unknown, does_not) = ("GROUP_ID_NOT_FOUND", "does not tell why groups rebalance");
        assert!(error.contains(if group == "modern" { unknown } else { does_not }), "{error}");
    }
    let described = admin.describe_groups(["modern", "classic", "none"]).await;
    let found = described["modern"].as_ref().unwrap();
    assert_eq!(
        (found.kind, &*found.state, &*found.assignor),
        (GroupKind::Consumer, "Stable", "uniform")
    );
    assert!(found.epoch.is_some() && found.epoch == found.assignment_epoch);
    let member = &found.members[0];
    assert_eq!(member.assignment, [tp("t", 0), tp("t", 1)]);
    assert_eq!(member.target_assignment.as_ref(), Some(&member.assignment));
    assert_eq!((member.topics.as_slice(), member.is_classic), (&["t".to_owned()][..], Some(false)));
    let found = described["classic"].as_ref().unwrap();
    assert_eq!((found.kind, &*found.assignor), (GroupKind::Classic, "range"));
    assert_eq!(found.members[0].assignment, [tp("t", 0), tp("t", 1)]);
    assert_eq!(code(&described["none"]), ErrorCode::GROUP_ID_NOT_FOUND);

    let offsets = admin.list_group_offsets(["modern", "classic"]).await;
    for group in ["modern", "classic"] {
        let offsets = offsets[group].as_ref().unwrap();
        assert_eq!(offsets[&tp("t", 0)].as_ref().unwrap().position.offset, 5, "{group}");
    }
    let offset = CommittedOffset { position: Position::at(2), metadata: None };
    let one = BTreeMap::from([(tp("t", 0), offset)]);
    assert!(admin.alter_group_offsets("modern", one.clone()).await[&tp("t", 0)].is_err());
    assert_eq!(code(&admin.delete_groups(["modern"]).await["modern"]), ErrorCode::NON_EMPTY_GROUP);
    modern.close(Duration::from_secs(20)).await.unwrap();
    classic.close(Duration::from_secs(20)).await.unwrap();
    assert!(admin.alter_group_offsets("modern", one).await[&tp("t", 0)].is_ok());
    let offsets = admin.list_group_offsets(["modern".to_owned()]).await;
    let offsets = offsets["modern"].as_ref().unwrap();
    assert_eq!(offsets[&tp("t", 0)].as_ref().unwrap().position.offset, 2);
    assert!(admin.delete_group_offsets("modern", [tp("t", 0)]).await[&tp("t", 0)].is_ok());
    let deleted = admin.delete_groups(["modern", "classic", "none"]).await;
    assert!(deleted["modern"].is_ok() && deleted["classic"].is_ok(), "{deleted:?}");
    assert_eq!(code(&deleted["none"]), ErrorCode::GROUP_ID_NOT_FOUND);
}

async fn records(bench: &Bench) {
    let admin = &bench.admin;
    for (spec, expected) in [
        (OffsetSpec::Earliest, 0),
        (OffsetSpec::Latest, 5),
        (OffsetSpec::Timestamp(2_500), 2),
        (OffsetSpec::Timestamp(99_000), -1),
        (OffsetSpec::MaxTimestamp, 4),
        (OffsetSpec::EarliestLocal, 0),
        (OffsetSpec::LatestTiered, -1),
    ] {
        let wanted = BTreeMap::from([(tp("t", 0), spec)]);
        let found = admin.list_offsets(wanted, IsolationLevel::ReadCommitted).await;
        assert_eq!(found[&tp("t", 0)].as_ref().unwrap().offset, expected, "{spec:?}");
    }
    let producers = admin.describe_producers([tp("t", 0)]).await;
    assert_eq!(producers[&tp("t", 0)].as_ref().unwrap()[0].last_sequence, 4);
    let deleted = admin.delete_records(BTreeMap::from([(tp("t", 0), 3), (tp("t", 1), 9)])).await;
    assert_eq!(*deleted[&tp("t", 0)].as_ref().unwrap(), 3);
    assert_eq!(code(&deleted[&tp("t", 1)]), ErrorCode::OFFSET_OUT_OF_RANGE);
}

async fn users(bench: &Bench, listener: &str) {
    let admin = &bench.admin;
    let set = |iterations, password: &str| ScramChange::Set {
        mechanism: Mechanism::ScramSha512,
        iterations,
        password: password.into(),
    };
    let changes = BTreeMap::from([
        ("alice".to_owned(), vec![set(8_192, "wonderland")]),
        ("bob".to_owned(), vec![set(1, "builder")]),
        ("carol".to_owned(), vec![ScramChange::Delete(Mechanism::ScramSha256)]),
        ("dave".to_owned(), vec![ScramChange::Delete(Mechanism::Plain)]),
    ]);
    assert!(!format!("{changes:?}").contains("wonderland"));
    let altered = admin.alter_user_scram_credentials(changes).await;
    assert!(altered["alice"].is_ok(), "{altered:?}");
    assert!(matches!(altered["bob"], Err(AdminError::Invalid(_))));
    assert_eq!(code(&altered["carol"]), ErrorCode::RESOURCE_NOT_FOUND);
    assert!(matches!(altered["dave"], Err(AdminError::Invalid(_))));
    eventually("a user", async || {
        admin.describe_user_scram_credentials(None).await.unwrap().len() == 1
    })
    .await;
    let users = Some(vec!["alice".to_owned(), "nobody".to_owned()]);
    let described = admin.describe_user_scram_credentials(users).await.unwrap();
    let alice = described["alice"].as_ref().unwrap();
    assert_eq!((alice[0].mechanism, alice[0].iterations), (Some(Mechanism::ScramSha512), 8_192));
    assert_eq!(code(&described["nobody"]), ErrorCode::RESOURCE_NOT_FOUND);
    assert_eq!(admin.describe_user_scram_credentials(None).await.unwrap().len(), 1);
    // The password works.
    let sasl = SaslOptions::new(Mechanism::ScramSha512, "alice", "wonderland");
    let options = Options::default().with_sasl(sasl);
    eventually("the login", async || Cluster::connect(listener, options.clone()).await.is_ok())
        .await;
    let gone = vec![ScramChange::Delete(Mechanism::ScramSha512)];
    let gone = admin.alter_user_scram_credentials(BTreeMap::from([("alice".into(), gone)])).await;
    assert!(gone["alice"].is_ok());
    // Kafka refuses a request that names a user twice. A change that fails ends those of its user.
    let [first, second] = [Mechanism::ScramSha256, Mechanism::ScramSha512];
    let set = |mechanism| ScramChange::Set { mechanism, iterations: 4_096, password: "p".into() };
    let changes = BTreeMap::from([
        ("erin".to_owned(), vec![set(first), set(second)]),
        ("frank".to_owned(), vec![set(first), ScramChange::Delete(second), set(second)]),
        ("grace".to_owned(), vec![set(first), ScramChange::Delete(first), set(second)]),
    ]);
    let altered = admin.alter_user_scram_credentials(changes).await;
    assert!(altered["erin"].is_ok() && altered["grace"].is_ok(), "{altered:?}");
    assert_eq!(code(&altered["frank"]), ErrorCode::RESOURCE_NOT_FOUND);
    let names = || Some(["erin", "frank", "grace", "erin"].map(str::to_owned).to_vec());
    let expected = [("erin", vec![first, second]), ("frank", vec![first]), ("grace", vec![second])];
    eventually("the users", async || {
        let described = admin.describe_user_scram_credentials(names()).await.unwrap();
        expected.iter().all(|(user, mechanisms)| {
            // Kafka has them in the order of a hash table.
            let found = described[*user].as_ref().map(Vec::as_slice).unwrap_or_default();
            let has = |mechanism| found.iter().any(|one| one.mechanism == Some(mechanism));
            found.len() == mechanisms.len() && mechanisms.iter().copied().all(has)
        })
    })
    .await;
}

async fn limits(admin: &Admin) {
    let user = BTreeMap::from([("user".to_owned(), Some("alice".to_owned()))]);
    let default = BTreeMap::from([("client-id".to_owned(), None)]);
    let strange = BTreeMap::from([("planet".to_owned(), None)]);
    let rate = |value| BTreeMap::from([("producer_byte_rate".to_owned(), value)]);
    let changes = BTreeMap::from([
        (user.clone(), rate(Some(1e6))),
        (default.clone(), rate(Some(2e6))),
        (strange.clone(), rate(Some(1.0))),
    ]);
    let altered = admin.alter_client_quotas(changes, Mode::Apply).await;
    assert!(altered[&user].is_ok() && altered[&default].is_ok(), "{altered:?}");
    assert_eq!(code(&altered[&strange]), ErrorCode::INVALID_REQUEST);
    let all = async || admin.describe_client_quotas(BTreeMap::new(), false).await.unwrap();
    eventually("two limits", async || all().await.len() == 2).await;
    let all = all().await;
    assert_eq!((all.len(), all[&user]["producer_byte_rate"]), (2, 1e6));
    for (kind, wanted, found) in [
        ("user", QuotaMatch::Exact("alice".into()), Some(&user)),
        ("user", QuotaMatch::Default, None),
        ("client-id", QuotaMatch::Any, Some(&default)),
    ] {
        let filter = BTreeMap::from([(kind.to_owned(), wanted.clone())]);
        let some = admin.describe_client_quotas(filter, true).await.unwrap();
        assert_eq!(some.keys().next(), found, "{kind} {wanted:?}");
    }
    let back = BTreeMap::from([(user.clone(), rate(None))]);
    assert!(admin.alter_client_quotas(back, Mode::Apply).await[&user].is_ok());
    eventually("one limit", async || {
        let all = admin.describe_client_quotas(BTreeMap::new(), false).await.unwrap();
        all.into_keys().collect::<Vec<_>>() == [default.clone()]
    })
    .await;
}

async fn acls(admin: &Admin) {
    let binding = |name: &str, pattern, operation| AclBinding {
        resource: AclResource::Topic,
        name: name.into(),
        pattern,
        principal: "User:bob".into(),
        host: "*".into(),
        operation,
        permission: AclPermission::Allow,
    };
    let read = binding("t", AclPattern::Literal, AclOperation::Read);
    let write = binding("t", AclPattern::Literal, AclOperation::Write);
    let prefixed = binding("te", AclPattern::Prefixed, AclOperation::Describe);
    let nameless = binding("", AclPattern::Literal, AclOperation::Read);
    let all = [&read, &write, &prefixed, &nameless].map(Clone::clone);
    let created = admin.create_acls(all).await;
    assert!(created[&read].is_ok() && created[&write].is_ok() && created[&prefixed].is_ok());
    assert!(created[&nameless].is_err());
    let all = async || admin.describe_acls(AclFilter::default()).await.unwrap();
    eventually("three bindings", async || all().await.len() == 3).await;
    assert_eq!(all().await, [read.clone(), write.clone(), prefixed.clone()]);
    let about = AclFilter::default()
        .with_name(Some("test".into()))
        .with_resource(Some(AclResource::Topic))
        .with_pattern(AclPatternFilter::Match);
    assert_eq!(admin.describe_acls(about).await.unwrap(), [prefixed]);
    let writes = AclFilter::default().with_operation(Some(AclOperation::Write));
    let none = AclFilter::default().with_principal(Some("User:nobody".into()));
    let deleted = admin.delete_acls([writes.clone(), none.clone()]).await;
    assert!(deleted[&writes].as_ref().unwrap()[&write].is_ok());
    assert!(deleted[&none].as_ref().unwrap().is_empty());
    eventually("two bindings", async || all().await.len() == 2).await;
}
