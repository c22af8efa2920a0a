//! Groups of the consumer protocol (KIP-848) as their members see them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thalweg::{
    Cluster, Consumer, ConsumerConfig, GroupProtocol, OffsetReset, Options, Producer,
    ProducerConfig, ProducerRecord,
};
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::consumer_group_describe_response::DescribedGroup;
use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;
use thalweg_wire::messages::update_features_request::FeatureUpdateKey;
use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Uuid};
use tokio::sync::Barrier;

use crate::support::{Client, Data, connect, metric};

/// For how long something is waited for that must come.
const WAIT: Duration = Duration::from_secs(60);
const GROUP: &str = "g";

type Partitions = BTreeSet<(Uuid, i32)>;

/// A member that answers for itself: it gives up and takes over at once.
struct Member<'a> {
    client: &'a Client,
    request: ConsumerGroupHeartbeatRequest,
    owned: Partitions,
    interval_ms: i32,
}

impl<'a> Member<'a> {
    fn new(client: &'a Client, id: &str, topics: &[&str]) -> Member<'a> {
        let request = ConsumerGroupHeartbeatRequest {
            group_id: GROUP.into(),
            member_id: id.into(),
            rebalance_timeout_ms: 60_000,
            subscribed_topic_names: Some(topics.iter().map(|&name| name.into()).collect()),
            ..Default::default()
        };
        Member { client, request, owned: Partitions::new(), interval_ms: 0 }
    }

    fn with_regex(client: &'a Client, id: &str, regex: &str) -> Member<'a> {
        let mut member = Member::new(client, id, &[]);
        member.request.subscribed_topic_names = Some(Vec::new());
        member.request.subscribed_topic_regex = Some(regex.into());
        member
    }

    fn epoch(&self) -> i32 {
        self.request.member_epoch
    }

    /// One heartbeat, once the coordinator is there; whether it was told another assignment.
    async fn beat(&mut self) -> Result<bool, ErrorCode> {
        let mut by_topic: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
        for &(topic, partition) in &self.owned {
            by_topic.entry(topic).or_default().push(partition);
        }
        let owned = by_topic.into_iter().map(|(topic_id, partitions)| TopicPartitions {
            topic_id,
            partitions,
            ..Default::default()
        });
        self.request.topic_partitions = Some(owned.collect());
        let response = self.client.beat(&self.request).await;
        if response.error_code.is_err() {
            return Err(response.error_code);
        }
        self.request.member_epoch = response.member_epoch;
        self.interval_ms = response.heartbeat_interval_ms;
        let Some(assignment) = response.assignment else { return Ok(false) };
        let assigned = assignment.topic_partitions.iter().flat_map(|topic| {
            topic.partitions.iter().map(move |&partition| (topic.topic_id, partition))
        });
        let before = std::mem::replace(&mut self.owned, assigned.collect());
        Ok(before != self.owned)
    }

    /// Heartbeats until it owns so many partitions.
    async fn until_owns(&mut self, count: usize) {
        let owns = async {
            while self.owned.len() != count {
                self.beat().await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let owns = tokio::time::timeout(WAIT, owns).await;
        owns.unwrap_or_else(|_| panic!("{count} partitions are not owned, but {:?}", self.owned));
    }

    async fn leave(&mut self) {
        self.request.member_epoch = -1;
        assert_eq!(self.beat().await, Ok(false));
    }
}

impl Client {
    /// Answers once the coordinator has loaded its groups.
    async fn beat(
        &self,
        request: &ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse {
        let loaded = async {
            loop {
                let response = self.connection.send(request).await.unwrap();
                if response.error_code != ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
                    return response;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(WAIT, loaded).await.expect("the group is loaded in time")
    }

    async fn describe(&self, groups: &[&str]) -> Vec<DescribedGroup> {
        let request = ConsumerGroupDescribeRequest {
            group_ids: groups.iter().map(|&group| group.into()).collect(),
            include_authorized_operations: true,
            ..Default::default()
        };
        self.connection.send(&request).await.unwrap().groups
    }

    /// Groups of a type, with their states.
    async fn list(&self, of_type: &str) -> Vec<(String, String)> {
        let request =
            ListGroupsRequest { types_filter: vec![of_type.into()], ..Default::default() };
        let response = self.connection.send(&request).await.unwrap();
        assert_eq!(response.error_code, ErrorCode::NONE);
        response.groups.into_iter().map(|group| (group.group_id, group.group_state)).collect()
    }

    async fn delete_group(&self) -> ErrorCode {
        let request =
            DeleteGroupsRequest { groups_names: vec![GROUP.into()], ..Default::default() };
        self.connection.send(&request).await.unwrap().results[0].error_code
    }

    async fn alter(&self, resource_type: i8, name: &str, config: &str, value: Option<&str>) {
        let operation = i8::from(value.is_none());
        let request = requests::set_config_of(resource_type, name, config, operation, value);
        let response = self.connection.send(&request).await.unwrap();
        assert_eq!(response.responses[0].error_code, ErrorCode::NONE, "{response:?}");
    }

    async fn set_group_version(&self, level: i16, upgrade_type: i8) {
        let request = UpdateFeaturesRequest {
            timeout_ms: 10_000,
            feature_updates: vec![FeatureUpdateKey {
                feature: "group.version".into(),
                max_version_level: level,
                upgrade_type,
                ..Default::default()
            }],
            ..Default::default()
        };
        let response = self.connection.send(&request).await.unwrap();
        assert_eq!(response.error_code, ErrorCode::NONE, "{response:?}");
    }
}

/// Groups' topic in few partitions, and assignments as soon as something changes.
fn quick() -> thalweg_testkit::Builder {
    TestBroker::builder()
        .config("offsets.topic.num.partitions", 4)
        .config("group.consumer.assignment.interval.ms", 0)
        // A heartbeat that is not held asks for the next one soon.
        .config("thalweg.group.heartbeat.push", false)
}

async fn begin() -> (TestBroker, Client) {
    let broker = quick().start().await;
    let client = connect(&broker).await;
    assert_eq!(client.coordinator(GROUP).await, ErrorCode::NONE);
    (broker, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_member_takes_over_what_the_first_gives_up_and_a_restart_changes_nothing() {
    let data = Data::new();
    let broker = quick().data(&data.0).start().await;
    let client = connect(&broker).await;
    assert_eq!(client.coordinator(GROUP).await, ErrorCode::NONE);
    let topic = client.create("t", 4, &[]).await;
    let all: Partitions = (0..4).map(|partition| (topic, partition)).collect();

    let mut first = Member::new(&client, "first", &["t"]);
    assert_eq!(first.beat().await, Ok(true));
    // The first epoch with members is Kafka's second.
    assert_eq!((first.epoch(), &first.owned), (2, &all));
    assert_eq!(first.interval_ms, 5_000);

    // There is nothing for the second as long as the first has everything.
    let mut second = Member::new(&client, "second", &["t"]);
    assert_eq!(second.beat().await, Ok(false));
    assert_eq!(second.epoch(), 3);
    assert!(client.list("consumer").await.contains(&(GROUP.into(), "Reconciling".into())));
    assert_eq!(second.beat().await, Ok(false));
    // The first is told to give two up, and keeps its epoch until it has.
    assert_eq!(first.beat().await, Ok(true));
    assert_eq!((first.epoch(), first.owned.len()), (2, 2));
    assert_eq!(second.beat().await, Ok(false));
    assert_eq!(first.beat().await, Ok(false));
    assert_eq!(first.epoch(), 3);
    assert_eq!(second.beat().await, Ok(true));
    assert_eq!(second.owned.len(), 2);
    assert_eq!(first.owned.union(&second.owned).copied().collect::<Partitions>(), all);
    assert_eq!(metric(&broker, "kafka_coordinator_group_consumer_group_rebalances_total"), 2);
    let states = "kafka_coordinator_group_consumer_group_count";
    assert_eq!(metric(&broker, &format!("{states}{{state=\"Stable\"}}")), 1);
    assert_eq!(metric(&broker, &format!("{states}{{state=\"Reconciling\"}}")), 0);
    let protocols = "kafka_coordinator_group_group_count";
    assert_eq!(metric(&broker, &format!("{protocols}{{protocol=\"consumer\"}}")), 1);
    assert_eq!(metric(&broker, &format!("{protocols}{{protocol=\"classic\"}}")), 0);
    let before = client.describe(&[GROUP]).await;
    let (first, second) = ((first.request, first.owned), (second.request, second.owned));
    broker.shut_down().await;

    let broker = quick().data(&data.0).start().await;
    let client = connect(&broker).await;
    let again = |(request, owned): (ConsumerGroupHeartbeatRequest, Partitions)| Member {
        client: &client,
        request,
        owned,
        interval_ms: 0,
    };
    let (mut first, mut second) = (again(first), again(second));
    // They go on in their epochs, with what they own.
    for member in [&mut first, &mut second] {
        assert_eq!(member.beat().await, Ok(false));
        assert_eq!((member.epoch(), member.owned.len()), (3, 2));
    }
    assert_eq!(client.describe(&[GROUP]).await, before);
    assert_eq!((before[0].group_epoch, before[0].group_state.as_str()), (3, "Stable"));
    // The assignments of an epoch that is no longer are not taken.
    second.leave().await;
    first.until_owns(4).await;
    assert_eq!(second.owned.len(), 2);
    second.request.member_epoch = 3;
    assert_eq!(second.beat().await, Err(ErrorCode::UNKNOWN_MEMBER_ID));
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_that_come_and_grow_and_go_are_assigned_anew() {
    let (broker, client) = begin().await;
    let topic = client.create("t", 1, &[]).await;
    let mut member = Member::new(&client, "m", &["t", "later"]);
    member.until_owns(1).await;
    let epoch = member.epoch();
    let later = client.create("later", 2, &[]).await;
    // The very next heartbeat knows of it.
    assert_eq!(member.beat().await, Ok(true));
    assert_eq!(member.epoch(), epoch + 1);
    assert_eq!(member.owned, [(topic, 0), (later, 0), (later, 1)].into());
    assert_eq!(client.add_partitions("t", 2).await, ErrorCode::NONE);
    assert_eq!(member.beat().await, Ok(true));
    assert_eq!((member.epoch(), member.owned.len()), (epoch + 2, 4));
    // What was committed goes with the topic.
    assert_eq!(client.until_loaded("other", later, 5).await, ErrorCode::NONE);
    assert_eq!(metric(&broker, "kafka_coordinator_group_groupmetadatamanager_numoffsets"), 1);
    assert_eq!(client.delete("later").await, ErrorCode::NONE);
    member.until_owns(2).await;
    assert_eq!(member.owned, [(topic, 0), (topic, 1)].into());
    crate::support::until("the end of the offset", || {
        metric(&broker, "kafka_coordinator_group_groupmetadatamanager_numoffsets") == 0
    })
    .await;
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_regular_expression_is_resolved_beside_the_requests() {
    let (broker, client) = begin().await;
    let mine = client.create("logs-a", 2, &[]).await;
    client.create("other", 2, &[]).await;
    let mut member = Member::with_regex(&client, "m", "logs-.*");
    member.until_owns(2).await;
    assert_eq!(member.owned, [(mine, 0), (mine, 1)].into());
    let described = client.describe(&[GROUP]).await;
    assert_eq!(described[0].members[0].subscribed_topic_regex.as_deref(), Some("logs-.*"));

    let mut wrong = Member::with_regex(&client, "wrong", "logs-(");
    assert_eq!(wrong.beat().await, Err(ErrorCode::INVALID_REGULAR_EXPRESSION));
    assert_eq!(metric(&broker, "thalweg_panics_total"), 0);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn administrators_see_the_group() {
    let (broker, client) = begin().await;
    let topic = client.create("t", 1, &[]).await;
    let mut member = Member::new(&client, "m", &["t"]);
    member.until_owns(1).await;
    assert_eq!(client.list("consumer").await, [(GROUP.to_owned(), "Stable".to_owned())]);
    assert_eq!(client.list("classic").await, []);

    let described = client.describe(&["nobody", "", GROUP, GROUP]).await;
    let codes: Vec<_> =
        described.iter().map(|group| (group.group_id.as_str(), group.error_code)).collect();
    assert_eq!(
        codes,
        [
            ("nobody", ErrorCode::GROUP_ID_NOT_FOUND),
            ("", ErrorCode::INVALID_GROUP_ID),
            (GROUP, ErrorCode::NONE)
        ]
    );
    let group = &described[2];
    assert_eq!((group.assignor_name.as_str(), group.members.len()), ("uniform", 1));
    let assigned = &group.members[0].assignment.topic_partitions[0];
    assert_eq!((assigned.topic_id, assigned.topic_name.as_str()), (topic, "t"));
    // READ, DELETE, DESCRIBE and the configs.
    assert_eq!(group.authorized_operations, 0b1101_0100_1000);
    assert_eq!(described[0].authorized_operations, i32::MIN);

    assert_eq!(client.delete_group().await, ErrorCode::NON_EMPTY_GROUP);
    member.leave().await;
    assert_eq!(client.list("consumer").await, [(GROUP.to_owned(), "Empty".to_owned())]);
    assert_eq!(client.delete_group().await, ErrorCode::NONE);
    assert_eq!(client.describe(&[GROUP]).await[0].error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(client.list("consumer").await, []);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configs_of_a_group_act_at_its_next_heartbeat() {
    const OF_GROUP: i8 = 32;
    const OF_BROKER: i8 = 4;
    let (broker, client) = begin().await;
    client.create("t", 2, &[]).await;
    let mut member = Member::new(&client, "m", &["t"]);
    member.until_owns(2).await;
    assert_eq!(member.interval_ms, 5_000);
    let name = "consumer.heartbeat.interval.ms";
    client.alter(OF_GROUP, GROUP, name, Some("7000")).await;
    member.beat().await.unwrap();
    assert_eq!(member.interval_ms, 7_000);
    client.alter(OF_GROUP, GROUP, name, None).await;
    member.beat().await.unwrap();
    assert_eq!(member.interval_ms, 5_000);

    // With a long interval the next assignment waits, and with none it does not.
    let interval = "group.consumer.assignment.interval.ms";
    client.alter(OF_BROKER, "", interval, Some("15000")).await;
    let mut second = Member::new(&client, "second", &["t"]);
    second.beat().await.unwrap();
    assert_eq!(client.list("consumer").await, [(GROUP.to_owned(), "Assigning".to_owned())]);
    client.alter(OF_BROKER, "", interval, Some("0")).await;
    second.beat().await.unwrap();
    assert_eq!(client.list("consumer").await, [(GROUP.to_owned(), "Reconciling".to_owned())]);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_feature_the_protocol_is_refused() {
    let (broker, client) = begin().await;
    client.create("t", 1, &[]).await;
    let refused = Err(ErrorCode::UNSUPPORTED_VERSION);
    let mut member = Member::new(&client, "m", &["t"]);
    client.set_group_version(0, 2).await;
    assert_eq!(member.beat().await, refused);
    let described = client.describe(&[GROUP]).await;
    assert_eq!(described[0].error_code, ErrorCode::UNSUPPORTED_VERSION);
    client.set_group_version(1, 1).await;
    assert_eq!(member.beat().await, Ok(true));
    assert_eq!(client.describe(&[GROUP]).await[0].error_code, ErrorCode::NONE);
    broker.shut_down().await;

    // The configuration can leave it out as well.
    let protocols = "group.coordinator.rebalance.protocols";
    let broker = quick().config(protocols, "classic").start().await;
    let client = connect(&broker).await;
    assert_eq!(client.coordinator(GROUP).await, ErrorCode::NONE);
    assert_eq!(Member::new(&client, "m", &["t"]).beat().await, refused);
    broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_are_the_configurations() {
    let assignors = "group.consumer.assignors";
    let refused = quick().config(assignors, "uniform,my.Assignor").try_start().await;
    let reason = refused.err().map(|error| error.to_string()).unwrap_or_default();
    for word in [assignors, "my.Assignor", "uniform and range"] {
        assert!(reason.contains(word), "{reason}");
    }
    let broker = quick()
        .config(assignors, "org.apache.kafka.coordinator.group.assignor.RangeAssignor")
        .config("group.consumer.max.size", 1)
        .start()
        .await;
    let client = connect(&broker).await;
    assert_eq!(client.coordinator(GROUP).await, ErrorCode::NONE);
    client.create("t", 1, &[]).await;
    let mut member = Member::new(&client, "m", &["t"]);
    member.request.server_assignor = Some("uniform".into());
    assert_eq!(member.beat().await, Err(ErrorCode::UNSUPPORTED_ASSIGNOR));
    member.request.server_assignor = None;
    member.until_owns(1).await;
    assert_eq!(client.describe(&[GROUP]).await[0].assignor_name, "range");
    let mut second = Member::new(&client, "second", &["t"]);
    assert_eq!(second.beat().await, Err(ErrorCode::GROUP_MAX_SIZE_REACHED));
    broker.shut_down().await;
}

/// How often each record was read.
type Seen = Arc<Mutex<BTreeMap<(i32, i64), usize>>>;

/// Reads as one of two members of the group until everything is read.
async fn read(bootstrap: String, expected: usize, seen: Seen, both: Arc<Barrier>) {
    let cluster = Cluster::connect(&bootstrap, Options::default()).await.unwrap();
    let config = ConsumerConfig::default()
        .with_group_id(GROUP)
        .with_group_protocol(GroupProtocol::Consumer { server_assignor: None })
        .with_auto_offset_reset(OffsetReset::Earliest);
    let mut consumer = Consumer::new(cluster, config).unwrap();
    consumer.subscribe(["t"]).unwrap();
    let soon = Duration::from_millis(50);
    while consumer.assignment().len() != 2 {
        assert!(consumer.poll_timeout(100, soon).await.unwrap().is_empty());
    }
    both.wait().await;
    while seen.lock().unwrap().len() < expected {
        for record in &consumer.poll_timeout(100, soon).await.unwrap() {
            let at = (record.partition(), record.offset());
            *seen.lock().unwrap().entry(at).or_default() += 1;
        }
    }
    consumer.close(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_consumers_read_every_record_once() {
    let broker = quick()
        .config("group.consumer.min.heartbeat.interval.ms", 50)
        .config("group.consumer.heartbeat.interval.ms", 50)
        .start()
        .await;
    let client = connect(&broker).await;
    client.create("t", 4, &[]).await;
    let cluster = Cluster::connect(&broker.bootstrap(), Options::default()).await.unwrap();
    let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
    let seen = Seen::default();
    let expected = 400;
    let both = Arc::new(Barrier::new(3));
    let readers = [0, 1].map(|_| {
        tokio::spawn(read(broker.bootstrap(), expected, Arc::clone(&seen), Arc::clone(&both)))
    });
    tokio::time::timeout(WAIT, both.wait()).await.expect("both have a share");
    for number in 0..expected {
        let value = number.to_string();
        let partition = i32::try_from(number % 4).unwrap();
        let record = ProducerRecord::new("t").with_partition(partition).with_value(&value);
        drop(producer.send(record).await.unwrap());
    }
    for reader in readers {
        tokio::time::timeout(WAIT, reader).await.expect("everything is read").unwrap();
    }
    let all = (0..4).flat_map(|partition| (0..100).map(move |offset| ((partition, offset), 1)));
    assert_eq!(*seen.lock().unwrap(), all.collect());
    broker.shut_down().await;
}
