//! The admin client against the broker in this process.

use crate::support::hostile::{Fate, Hostile};

use std::collections::BTreeMap;
use std::time::Duration;

use thalweg::admin::{
    Admin, AdminConfig, AdminError, ConfigChange, ConfigDetails, ConfigKind, ConfigOperation,
    ConfigResource, ConfigSource, Election, FeatureUpdate, GroupFilter, GroupKind, MemberToRemove,
    Mode, NewPartitions, NewTopic, OffsetSpec, ReplicaMove, ResourceType, TopicRef,
};
use thalweg::{
    Cluster, CommittedOffset, Consumer, ConsumerConfig, Error, IsolationLevel, OffsetReset,
    Options, Position, Producer, ProducerConfig, ProducerRecord, TopicPartition,
};
use thalweg_testkit::TestBroker;
use thalweg_wire::messages::DeleteGroupsResponse;
use thalweg_wire::{ApiKey, ErrorCode, Uuid};

struct Bench {
    broker: TestBroker,
    admin: Admin,
}

impl Bench {
    async fn start() -> Bench {
        let broker = TestBroker::builder().config("broker.rack", "r1").start().await;
        let cluster = Cluster::connect(&broker.bootstrap(), Options::default()).await.unwrap();
        let config = AdminConfig::default().with_timeout(Duration::from_secs(20));
        Bench { broker, admin: Admin::new(cluster, config) }
    }

    async fn topic(&self, name: &str, partitions: i32) -> Uuid {
        let topic = NewTopic::new(name).with_partitions(partitions);
        let mut created = self.admin.create_topics(vec![topic], Mode::Apply).await;
        created.remove(name).unwrap().unwrap().id
    }

    /// Records with the timestamps 1000, 2000, ...
    async fn produce(&self, topic: &str, partition: i32, count: i64) {
        let cluster = Cluster::connect(&self.broker.bootstrap(), Options::default()).await.unwrap();
        let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
        for at in 1..=count {
            let record = ProducerRecord {
                topic,
                partition: Some(partition),
                timestamp: Some(at * 1_000),
                value: Some(b"value"),
                ..ProducerRecord::default()
            };
            producer.send(record).await.unwrap().await.unwrap();
        }
    }

    async fn consumer(&self, group: &str) -> Consumer {
        let cluster = Cluster::connect(&self.broker.bootstrap(), Options::default()).await.unwrap();
        let config = ConsumerConfig::default()
            .with_group_id(group)
            .with_auto_offset_reset(OffsetReset::Earliest)
            .with_auto_commit(false);
        Consumer::new(cluster, config).unwrap()
    }
}

fn tp(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition::new(topic, partition)
}

#[track_caller]
fn code<T: std::fmt::Debug>(result: &Result<T, AdminError>) -> ErrorCode {
    result.as_ref().unwrap_err().code().unwrap_or_else(|| panic!("no code in {result:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_are_made_described_widened_and_deleted() {
    let bench = Bench::start().await;
    let admin = &bench.admin;
    let good = NewTopic::new("good").with_partitions(3).with_config("retention.ms", "1000");
    let validated = admin.create_topics(vec![good.clone()], Mode::ValidateOnly).await;
    assert_eq!(validated["good"].as_ref().unwrap().partitions, Some(3));
    assert!(admin.list_topics(false).await.unwrap().is_empty(), "validation makes nothing");

    let created = admin
        .create_topics(
            vec![
                good.clone(),
                NewTopic::new("wide").with_replication_factor(3),
                NewTopic::new("bad name!"),
                NewTopic::new("strange").with_config("no.such.config", "1"),
                NewTopic::new("twice"),
                NewTopic::new("twice"),
                NewTopic::new("assigned").with_assignment(0, [1]).with_assignment(1, [1]),
            ],
            Mode::Apply,
        )
        .await;
    let good_id = created["good"].as_ref().unwrap().id;
    assert_ne!(good_id, Uuid::ZERO);
    let retention = created["good"].as_ref().unwrap().configs.iter();
    let retention = retention.clone().find(|c| c.name == "retention.ms").unwrap();
    assert_eq!(retention.source, ConfigSource::Topic);
    assert_eq!(code(&created["wide"]), ErrorCode::INVALID_REPLICATION_FACTOR);
    assert!(created["wide"].as_ref().unwrap_err().to_string().contains(": "), "has a reason");
    assert_eq!(code(&created["bad name!"]), ErrorCode::INVALID_TOPIC_EXCEPTION);
    assert_eq!(code(&created["strange"]), ErrorCode::INVALID_CONFIG);
    assert!(matches!(created["twice"], Err(AdminError::Invalid(_))));
    assert_eq!(created["assigned"].as_ref().unwrap().partitions, Some(2));
    let again = admin.create_topics(vec![good], Mode::Apply).await;
    assert_eq!(code(&again["good"]), ErrorCode::TOPIC_ALREADY_EXISTS);

    let names: Vec<String> =
        admin.list_topics(false).await.unwrap().into_iter().map(|topic| topic.name).collect();
    assert_eq!(names, ["assigned", "good"]);

    let missing = Uuid::from_u128(77);
    let wanted = ["good".into(), "missing".into(), good_id.into(), missing.into()];
    let described = admin.describe_topics(wanted).await;
    assert_eq!(described.len(), 4);
    let good = described[&TopicRef::from("good")].as_ref().unwrap();
    assert_eq!((good.id, good.partitions.len(), good.is_internal), (good_id, 3, false));
    assert_eq!(good.partitions[2].replicas, [1]);
    assert_eq!(good.partitions[2].leader, Some(1));
    let by_id = described[&TopicRef::Id(good_id)].as_ref().unwrap();
    assert_eq!((&*by_id.name, by_id.partitions.len()), ("good", 3));
    assert_eq!(code(&described[&"missing".into()]), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(code(&described[&missing.into()]), ErrorCode::UNKNOWN_TOPIC_ID);

    let more = |topic: &str, total| NewPartitions::new(topic, total);
    let widened = vec![more("good", 5), more("assigned", 1), more("missing", 2), more("twice", 1)];
    let tried = admin.create_partitions(widened.clone(), Mode::ValidateOnly).await;
    assert!(tried["good"].is_ok());
    let widened = admin.create_partitions(widened, Mode::Apply).await;
    assert!(widened["good"].is_ok());
    assert_eq!(code(&widened["assigned"]), ErrorCode::INVALID_PARTITIONS);
    assert_eq!(code(&widened["missing"]), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let described = admin.describe_topics(["good".into()]).await;
    assert_eq!(described[&"good".into()].as_ref().unwrap().partitions.len(), 5);

    let deleted = admin
        .delete_topics(["assigned".into(), good_id.into(), "missing".into(), missing.into()])
        .await;
    assert!(deleted[&"assigned".into()].is_ok() && deleted[&good_id.into()].is_ok());
    assert_eq!(code(&deleted[&"missing".into()]), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(code(&deleted[&missing.into()]), ErrorCode::UNKNOWN_TOPIC_ID);
    assert!(admin.list_topics(true).await.unwrap().is_empty());
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn descriptions_come_in_pages() {
    let bench = Bench::start().await;
    // More than one answer holds, and so that a page ends inside a topic.
    bench.topic("a", 1_500).await;
    bench.topic("b", 1_100).await;
    bench.topic("c", 1).await;
    let wanted = ["c".into(), "a".into(), "b".into(), "none".into()];
    let described = bench.admin.describe_topics(wanted).await;
    for (name, count) in [("a", 1_500), ("b", 1_100), ("c", 1)] {
        let partitions = &described[&name.into()].as_ref().unwrap().partitions;
        assert_eq!(partitions.len(), count, "{name}");
        assert!(partitions.iter().zip(0..).all(|(partition, index)| partition.index == index));
    }
    assert!(described[&"none".into()].as_ref().unwrap_err().is_not_found());
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configs_are_described_and_changed() {
    let bench = Bench::start().await;
    let admin = &bench.admin;
    bench.topic("t", 1).await;
    let topic = ConfigResource::topic("t");
    let changes = BTreeMap::from([
        (
            topic.clone(),
            vec![
                ConfigChange::set("retention.ms", "5000"),
                ConfigChange::new("cleanup.policy", ConfigOperation::Append("compact".into())),
            ],
        ),
        (ConfigResource::topic("none"), vec![ConfigChange::set("retention.ms", "1")]),
        (ConfigResource::broker(99), vec![ConfigChange::set("log.retention.ms", "1")]),
        (
            ConfigResource::new(ResourceType::Broker, "one"),
            vec![ConfigChange::delete("log.retention.ms")],
        ),
    ]);
    let validated = admin.alter_configs(changes.clone(), Mode::ValidateOnly).await;
    assert!(validated[&topic].is_ok());
    let details = ConfigDetails::default()
        .with_names(["retention.ms", "cleanup.policy"])
        .with_synonyms(true)
        .with_documentation(true);
    let described = admin.describe_configs([topic.clone()], details.clone()).await;
    let entries = described[&topic].as_ref().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1].source, ConfigSource::Default, "validation changes nothing");

    let altered = admin.alter_configs(changes, Mode::Apply).await;
    assert!(altered[&topic].is_ok());
    let none = code(&altered[&ConfigResource::topic("none")]);
    assert_eq!(none, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let absent = &altered[&ConfigResource::broker(99)];
    assert!(matches!(absent, Err(AdminError::Client(Error::UnknownBroker(99)))), "{absent:?}");
    let named = &altered[&ConfigResource::new(ResourceType::Broker, "one")];
    assert!(matches!(named, Err(AdminError::Invalid(_))), "{named:?}");

    let described = admin.describe_configs([topic.clone()], details.clone()).await;
    let entries = described[&topic].as_ref().unwrap();
    assert_eq!(entries[0].value.as_deref(), Some("delete,compact"));
    assert_eq!(entries[0].kind, ConfigKind::List);
    assert_eq!(entries[1].value.as_deref(), Some("5000"));
    assert_eq!(entries[1].source, ConfigSource::Topic);
    let synonyms: Vec<(&str, ConfigSource)> =
        entries[0].synonyms.iter().map(|synonym| (&*synonym.name, synonym.source)).collect();
    let default = ("log.cleanup.policy", ConfigSource::Default);
    assert_eq!(synonyms, [("cleanup.policy", ConfigSource::Topic), default]);
    assert!(entries[1].documentation.as_ref().is_some_and(|text| !text.is_empty()));
    let bad = BTreeMap::from([(
        topic.clone(),
        vec![ConfigChange::new("retention.ms", ConfigOperation::Subtract("5000".into()))],
    )]);
    let bad = admin.alter_configs(bad, Mode::Apply).await;
    assert_eq!(code(&bad[&topic]), ErrorCode::INVALID_CONFIG);
    let back = vec![ConfigChange::delete("retention.ms")];
    let back = admin.alter_configs(BTreeMap::from([(topic.clone(), back)]), Mode::Apply).await;
    assert!(back[&topic].is_ok());

    let broker = ConfigResource::broker(1);
    let all = ConfigResource::all_brokers();
    let wanted = [topic.clone(), broker.clone(), all.clone(), ConfigResource::topic("none")];
    let described = admin.describe_configs(wanted, ConfigDetails::default()).await;
    let retention = described[&topic].as_ref().unwrap();
    let retention = retention.iter().find(|entry| entry.name == "retention.ms").unwrap();
    assert_eq!(retention.source, ConfigSource::Default);
    let rack = described[&broker].as_ref().unwrap();
    let rack = rack.iter().find(|entry| entry.name == "broker.rack").unwrap();
    assert_eq!(rack.value.as_deref(), Some("r1"));
    assert!(rack.is_read_only);
    assert!(described[&all].is_ok());
    assert!(described[&ConfigResource::topic("none")].as_ref().unwrap_err().is_not_found());

    let listed = admin.list_config_resources(&[ResourceType::Topic]).await.unwrap();
    assert_eq!(listed, [topic]);
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_are_listed_described_and_deleted() {
    let bench = Bench::start().await;
    let admin = &bench.admin;
    bench.topic("t", 2).await;
    bench.produce("t", 0, 3).await;
    let mut consumer = bench.consumer("live").await;
    consumer.subscribe(["t"]).unwrap();
    while consumer.poll_timeout(10, Duration::from_secs(10)).await.unwrap().is_empty() {}
    consumer.commit().await.unwrap();
    let metadata = Some("by hand".to_owned());
    let offset = CommittedOffset { position: Position::at(2), metadata };
    let by_hand = BTreeMap::from([(tp("t", 1), offset.clone()), (tp("none", 0), offset.clone())]);
    let altered = admin.alter_group_offsets("idle", by_hand).await;
    assert!(altered[&tp("t", 1)].is_ok());
    assert!(altered[&tp("none", 0)].as_ref().unwrap_err().is_not_found());

    let (groups, failed) = admin.list_groups(&GroupFilter::default()).await.unwrap();
    assert!(failed.is_empty());
    let listed: Vec<(&str, Option<&str>)> =
        groups.iter().map(|group| (&*group.id, group.state.as_deref())).collect();
    assert_eq!(listed, [("idle", Some("Empty")), ("live", Some("Stable"))]);
    let stable = GroupFilter::default().with_states(vec!["Stable".into()]);
    assert_eq!(admin.list_groups(&stable).await.unwrap().0[0].id, "live");
    let offsets_only = GroupFilter::default().with_protocols(vec![String::new()]);
    assert_eq!(admin.list_groups(&offsets_only).await.unwrap().0[0].id, "idle");

    let ids = ["live", "idle", "none"].map(str::to_owned);
    let described = admin.describe_groups(ids.clone()).await;
    let live = described["live"].as_ref().unwrap();
    assert_eq!(
        (live.kind, &*live.state, &*live.protocol),
        (GroupKind::Classic, "Stable", "consumer")
    );
    assert_eq!((&*live.assignor, live.coordinator, live.members.len()), ("range", 1, 1));
    assert_eq!(live.members[0].assignment, [tp("t", 0), tp("t", 1)]);
    assert_eq!(live.members[0].client_id, "thalweg");
    assert_eq!(described["idle"].as_ref().unwrap().state, "Empty");
    assert_eq!(code(&described["none"]), ErrorCode::GROUP_ID_NOT_FOUND);

    let offsets = admin.list_group_offsets(ids.clone()).await;
    let live = offsets["live"].as_ref().unwrap();
    assert_eq!(live[&tp("t", 0)].as_ref().unwrap().position.offset, 3);
    assert_eq!(offsets["idle"].as_ref().unwrap()[&tp("t", 1)].as_ref().unwrap(), &offset);
    assert!(offsets["none"].as_ref().unwrap().is_empty());

    let refused =
        admin.alter_group_offsets("live", BTreeMap::from([(tp("t", 0), offset.clone())])).await;
    assert_eq!(code(&refused[&tp("t", 0)]), ErrorCode::UNKNOWN_MEMBER_ID);
    let refused = admin.delete_group_offsets("live", [tp("t", 0)]).await;
    assert_eq!(code(&refused[&tp("t", 0)]), ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC);
    let refused = admin.delete_group_offsets("none", [tp("t", 0)]).await;
    assert_eq!(code(&refused[&tp("t", 0)]), ErrorCode::GROUP_ID_NOT_FOUND);
    let deleted = admin.delete_group_offsets("idle", [tp("t", 1)]).await;
    assert!(deleted[&tp("t", 1)].is_ok());

    let deleted = admin.delete_groups(ids).await;
    assert_eq!(code(&deleted["live"]), ErrorCode::NON_EMPTY_GROUP);
    assert!(deleted["idle"].is_ok() || code(&deleted["idle"]) == ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(code(&deleted["none"]), ErrorCode::GROUP_ID_NOT_FOUND);

    let member = admin.describe_groups(["live".to_owned()]).await["live"].as_ref().unwrap().members
        [0]
    .id
    .clone();
    let stranger = MemberToRemove::Member("stranger".into());
    let instance = MemberToRemove::Instance("static".into());
    let leaving = MemberToRemove::Member(member);
    let removed = admin
        .remove_members("live", [leaving.clone(), stranger.clone(), instance.clone()], "a test")
        .await;
    assert!(removed[&leaving].is_ok());
    assert_eq!(code(&removed[&stranger]), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(code(&removed[&instance]), ErrorCode::UNKNOWN_MEMBER_ID);
    drop(consumer);
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_are_found_and_records_deleted() {
    let bench = Bench::start().await;
    let admin = &bench.admin;
    bench.topic("t", 2).await;
    bench.produce("t", 0, 5).await;
    let all = [
        (OffsetSpec::Earliest, 0),
        (OffsetSpec::Latest, 5),
        (OffsetSpec::Timestamp(2_500), 2),
        (OffsetSpec::Timestamp(9_000), -1),
        (OffsetSpec::MaxTimestamp, 4),
        (OffsetSpec::EarliestLocal, 0),
    ];
    for (spec, expected) in all {
        let wanted = BTreeMap::from([(tp("t", 0), spec)]);
        let found = admin.list_offsets(wanted, IsolationLevel::ReadUncommitted).await;
        assert_eq!(found[&tp("t", 0)].as_ref().unwrap().offset, expected, "{spec:?}");
    }
    let wanted = BTreeMap::from([
        (tp("t", 1), OffsetSpec::Latest),
        (tp("t", 9), OffsetSpec::Latest),
        (tp("none", 0), OffsetSpec::Earliest),
        (tp("t", 0), OffsetSpec::Timestamp(-7)),
    ]);
    let found = admin.list_offsets(wanted, IsolationLevel::ReadCommitted).await;
    assert_eq!(found[&tp("t", 1)].as_ref().unwrap().offset, 0);
    assert_eq!(code(&found[&tp("t", 9)]), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(code(&found[&tp("none", 0)]), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert!(matches!(found[&tp("t", 0)], Err(AdminError::Invalid(_))));

    let before = BTreeMap::from([(tp("t", 0), 3), (tp("t", 1), 7), (tp("none", 0), 1)]);
    let deleted = admin.delete_records(before).await;
    assert_eq!(*deleted[&tp("t", 0)].as_ref().unwrap(), 3);
    assert_eq!(code(&deleted[&tp("t", 1)]), ErrorCode::OFFSET_OUT_OF_RANGE);
    assert!(deleted[&tp("none", 0)].as_ref().unwrap_err().is_not_found());

    let producers = admin.describe_producers([tp("t", 0), tp("t", 1), tp("t", 8)]).await;
    let at_0 = producers[&tp("t", 0)].as_ref().unwrap();
    assert_eq!((at_0.len(), at_0[0].last_sequence, at_0[0].last_timestamp), (1, 4, 5_000));
    assert_eq!(at_0[0].transaction_start, None);
    assert!(producers[&tp("t", 1)].as_ref().unwrap().is_empty());
    assert!(producers[&tp("t", 8)].as_ref().unwrap_err().is_not_found());
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cluster_describes_itself() {
    let bench = Bench::start().await;
    let admin = &bench.admin;
    bench.topic("t", 1).await;
    bench.produce("t", 0, 2).await;
    let cluster = admin.describe_cluster(true).await.unwrap();
    assert_eq!((cluster.controller, cluster.brokers.len()), (Some(1), 1));
    assert_eq!(cluster.brokers[0].rack.as_deref(), Some("r1"));
    assert!(!cluster.brokers[0].is_fenced && !cluster.id.is_empty());

    let versions = admin.broker_versions().await.unwrap();
    let versions = versions[&1].as_ref().unwrap();
    assert_eq!(versions.apis[&ApiKey::METADATA].end(), &13);
    assert!(versions.apis.contains_key(&ApiKey::ALTER_REPLICA_LOG_DIRS));
    assert!(!versions.apis.contains_key(&ApiKey::SHARE_FETCH));

    let features = admin.describe_features().await.unwrap();
    let level = features.features["metadata.version"];
    assert!(level.level.is_some() && level.max_supported >= level.level, "{level:?}");
    let update = |level| [FeatureUpdate::new("metadata.version", level)];
    let same = admin.update_features(update(level.level.unwrap()), Mode::ValidateOnly).await;
    assert!(same["metadata.version"].is_ok(), "{same:?}");
    let beyond = admin.update_features(update(9_999), Mode::Apply).await;
    assert!(beyond["metadata.version"].is_err());

    let quorum = admin.describe_quorum().await.unwrap();
    assert_eq!((quorum.leader, quorum.voters.len(), quorum.voters[0].id), (1, 1, 1));
    assert!(quorum.high_watermark > 0 && quorum.voters[0].log_end_offset > 0);

    let dirs = admin.describe_log_dirs(None).await.unwrap();
    let dirs = dirs[&1].as_ref().unwrap();
    assert!(dirs[0].error.is_none() && dirs[0].total_bytes > dirs[0].usable_bytes);
    assert!(dirs[0].replicas[&tp("t", 0)].size > 0);
    let absent = admin.describe_log_dirs(Some(vec![1, 9])).await.unwrap();
    assert!(absent[&1].is_ok());
    assert!(matches!(absent[&9], Err(AdminError::Client(Error::UnknownBroker(9)))));

    let entity = BTreeMap::from([("user".to_owned(), Some("alice".to_owned()))]);
    let limit = |value| BTreeMap::from([("consumer_byte_rate".to_owned(), value)]);
    let set = BTreeMap::from([(entity.clone(), limit(Some(5e5)))]);
    assert!(admin.alter_client_quotas(set, Mode::Apply).await[&entity].is_ok());
    let all = admin.describe_client_quotas(BTreeMap::new(), false).await.unwrap();
    assert_eq!(all[&entity]["consumer_byte_rate"], 5e5);
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_and_leaders() {
    let bench = Bench::start().await;
    let admin = &bench.admin;
    bench.topic("t", 2).await;
    let targets = BTreeMap::from([
        (tp("t", 0), Some(vec![1])),
        (tp("t", 1), Some(vec![1, 9])),
        (tp("none", 0), None),
    ]);
    let altered = admin.alter_partition_reassignments(targets).await;
    assert!(altered[&tp("t", 0)].is_ok());
    assert_eq!(code(&altered[&tp("t", 1)]), ErrorCode::INVALID_REPLICA_ASSIGNMENT);
    assert!(altered[&tp("none", 0)].as_ref().unwrap_err().is_not_found());
    let stop = admin.alter_partition_reassignments(BTreeMap::from([(tp("t", 0), None)])).await;
    assert_eq!(code(&stop[&tp("t", 0)]), ErrorCode::NO_REASSIGNMENT_IN_PROGRESS);
    assert!(admin.list_partition_reassignments(None).await.unwrap().is_empty());
    let some = admin.list_partition_reassignments(Some(vec![tp("t", 0)])).await.unwrap();
    assert!(some.is_empty());

    let elected =
        admin.elect_leaders(Election::Preferred, Some(vec![tp("t", 0), tp("t", 7)])).await;
    let elected = elected.unwrap();
    assert_eq!(code(&elected[&tp("t", 0)]), ErrorCode::ELECTION_NOT_NEEDED);
    assert!(elected[&tp("t", 7)].as_ref().unwrap_err().is_not_found());
    assert!(admin.elect_leaders(Election::Preferred, None).await.unwrap().is_empty());

    let one = ReplicaMove::new(1, tp("t", 0), "/elsewhere");
    let moved = admin.alter_replica_log_dirs([one.clone()]).await;
    assert_eq!(code(&moved[&one]), ErrorCode::LOG_DIR_NOT_FOUND);
    let here = admin.describe_log_dirs(None).await.unwrap()[&1].as_ref().unwrap()[0].path.clone();
    let one = ReplicaMove::new(1, tp("t", 0), here);
    let moved = admin.alter_replica_log_dirs([one.clone()]).await;
    assert!(moved[&one].is_ok(), "{moved:?}");
    let unknown = admin.unregister_broker(7).await;
    assert_eq!(code(&unknown), ErrorCode::BROKER_ID_NOT_REGISTERED);
    let unknown = admin.unregister_controller(7).await;
    assert_eq!(code(&unknown), ErrorCode::CONTROLLER_ID_NOT_REGISTERED);
    bench.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delete_groups_error_has_the_coordinators_message() {
    let hostile = Hostile::start().await;
    hostile.judge(|answer| match answer.api {
        ApiKey::DELETE_GROUPS => {
            assert_eq!(answer.version, 3);
            answer.change(|it: &mut DeleteGroupsResponse| {
                it.results[0].error_code = ErrorCode::GROUP_DELETION_FAILED;
                it.results[0].error_message = Some("the plugin is away".into());
            })
        }
        _ => Fate::Pass,
    });
    let admin = Admin::new(hostile.cluster().await, AdminConfig::default());
    let deleted = admin.delete_groups(["g"]).await;
    let error = deleted["g"].as_ref().unwrap_err();
    assert_eq!(error.to_string(), "GROUP_DELETION_FAILED: the plugin is away");
    hostile.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_end_in_time_when_nobody_answers() {
    let bench = Bench::start().await;
    let config = AdminConfig::default().with_timeout(Duration::from_millis(700));
    let admin = Admin::new(bench.admin.cluster().clone(), config);
    bench.broker.shut_down().await;
    let began = std::time::Instant::now();
    // In a task of its own: what comes from an admin can be sent elsewhere.
    let asking = tokio::spawn(async move {
        let described = admin.describe_topics(["t".into()]).await;
        let listed = admin.list_groups(&GroupFilter::default()).await;
        (described, listed)
    });
    let (described, listed) = asking.await.unwrap();
    assert!(matches!(described[&"t".into()], Err(AdminError::Client(_))), "{described:?}");
    assert!(matches!(listed, Err(AdminError::Client(_))), "{listed:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
