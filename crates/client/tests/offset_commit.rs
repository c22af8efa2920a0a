//! An OffsetCommit is one batch in the group coordinator's log, or it fails as a whole: how large
//! it may be, on this broker and on Apache Kafka. This client commits any number of offsets, in as
//! many requests as that takes.
//!
//! Kafka's half needs Java and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4.
//! Without the variable it is left out, and the test says so.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use thalweg::admin::{Admin, AdminConfig, Mode, NewTopic};
use thalweg::raw::encode_request;
use thalweg::{
    Cluster, CommittedOffset, Connection, Consumer, ConsumerConfig, Error, Options, Position,
    TopicPartition,
};
use thalweg_testkit::kafka::Shared;
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::{OffsetCommitRequest, OffsetCommitResponse};
use thalweg_wire::{ApiKey, ErrorCode, Message, Reader, Uuid, Writer};

const PARTITIONS: i32 = 300;
/// What the partitions' metadata may take: `offset.metadata.max.bytes` of each.
const METADATA_MAX: usize = 300 * 4_096;

/// The last version that names topics, and the first that knows them by their ids.
const VERSIONS: [i16; 2] = [9, 10];

/// A connection to the only broker, where there are the topic and the group's coordinator.
struct Bench {
    bootstrap: String,
    admin: Admin,
    connection: Connection,
    topic: Topic,
    /// The group of somebody who is no member.
    group: String,
}

struct Topic {
    name: String,
    id: Uuid,
}

impl Bench {
    async fn on(bootstrap: &str) -> Bench {
        let cluster = Cluster::connect(bootstrap, Options::default()).await.unwrap();
        let admin = Admin::new(cluster, AdminConfig::default());
        // Kafka is shared with other tests.
        let name = format!("offset-commit-{}", std::process::id());
        let topic = NewTopic::new(&name).with_partitions(PARTITIONS);
        let created = admin.create_topics(vec![topic], Mode::Apply).await;
        let id = created[&name].as_ref().unwrap().id;
        let group = format!("{name}-nobody");
        let topic = Topic { name, id };
        let connection = Connection::open(bootstrap, &Options::default()).await.unwrap();
        let bench = Bench { bootstrap: bootstrap.to_owned(), admin, connection, topic, group };
        let find = requests::find_group_coordinator(&bench.group);
        let deadline = Instant::now() + Duration::from_secs(60);
        // The coordinator loads, and hears of the topic.
        while bench.connection.send(&find).await.unwrap().coordinators[0].error_code.is_err()
            || bench.commit(9, 0).await != ErrorCode::NONE
        {
            assert!(Instant::now() < deadline, "no coordinator");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bench
    }

    /// Commits an offset of every partition as somebody who is no member, with so many bytes of
    /// metadata in all. All partitions must get the same answer, which is given.
    async fn commit(&self, version: i16, metadata: usize) -> ErrorCode {
        let count = PARTITIONS as usize;
        let partition = |index: usize| OffsetCommitRequestPartition {
            partition_index: index as i32,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: Some("m".repeat((metadata + index) / count)),
            ..Default::default()
        };
        let request = OffsetCommitRequest {
            group_id: self.group.as_str().into(),
            topics: vec![OffsetCommitRequestTopic {
                name: self.topic.name.as_str().into(),
                topic_id: self.topic.id,
                partitions: (0..count).map(partition).collect(),
                ..Default::default()
            }],
            ..Default::default()
        };
        let mut frame = Writer::new();
        encode_request(&mut frame, &request, version, "test").unwrap();
        let body = self.connection.send_frame(frame, ApiKey::OFFSET_COMMIT, version).await;
        let response =
            OffsetCommitResponse::decode(&mut Reader::new(&body.unwrap()), version).unwrap();
        let answers = &response.topics[0].partitions;
        assert_eq!(answers.len(), count);
        let first = answers[0].error_code;
        assert!(answers.iter().all(|answer| answer.error_code == first), "{answers:?}");
        first
    }

    /// More than fits, which is all there afterwards: by an admin client, and by a consumer, which is
    /// not kept from it by a partition that is not there.
    async fn commit_as_this_client_does(&self) {
        let offset = |partition| {
            let position = Position::at(i64::from(partition));
            let metadata = Some(format!("{partition:04096}"));
            (
                TopicPartition::new(self.topic.name.as_str(), partition),
                CommittedOffset { position, metadata },
            )
        };
        let offsets: BTreeMap<_, _> = (0..PARTITIONS).map(offset).collect();
        let done = self.admin.alter_group_offsets(self.group.as_str(), offsets.clone()).await;
        assert!(done.values().all(Result::is_ok), "{done:?}");
        assert!(self.committed(&self.group).await == offsets, "what is there is something else");

        let cluster = Cluster::connect(&self.bootstrap, Options::default()).await.unwrap();
        let group = format!("{}-consumer", self.topic.name);
        let config = ConsumerConfig::default().with_group_id(group.as_str());
        let consumer = Consumer::new(cluster, config).unwrap();
        let absent = TopicPartition::new(format!("{}-absent", self.topic.name), 0);
        let nothing = CommittedOffset { position: Position::at(0), metadata: None };
        let with_absent = offsets.clone().into_iter().chain([(absent.clone(), nothing)]);
        let refused = consumer.commit_with_metadata(with_absent).await.unwrap_err();
        let Error::Group { partition: Some(partition), .. } = &refused else { panic!("{refused}") };
        assert_eq!(**partition, absent);
        assert!(self.committed(&group).await == offsets, "not all the others are committed");
        // Another commit, begun while the parts of this one are under way, is the later one.
        let last = TopicPartition::new(self.topic.name.as_str(), PARTITIONS - 1);
        let (one, other) = tokio::join!(
            consumer.commit_with_metadata(offsets),
            consumer.commit_offsets([(last.clone(), Position::at(1_000))])
        );
        one.and(other).unwrap();
        assert_eq!(self.committed(&group).await[&last].position, Position::at(1_000));
    }

    async fn committed(&self, group: &str) -> BTreeMap<TopicPartition, CommittedOffset> {
        let found = self.admin.list_group_offsets([group.to_owned()]).await;
        let found = found[group].as_ref().unwrap().iter();
        found.map(|(at, found)| (at.clone(), found.as_ref().unwrap().clone())).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_no_batch_fails_as_in_kafka() {
    let broker = TestBroker::start().await;
    let ours = Bench::on(&broker.bootstrap()).await;
    // How much fits: what does not is taken back, and is not in the way of the next one.
    let (mut fits, mut too_much) = (0, METADATA_MAX);
    while fits + 1 < too_much {
        let half = fits.midpoint(too_much);
        match ours.commit(VERSIONS[0], half).await {
            ErrorCode::NONE => fits = half,
            ErrorCode::UNKNOWN_SERVER_ERROR => too_much = half,
            other => panic!("{half} bytes: {other:?}"),
        }
    }
    // message.max.bytes, but for some 63 bytes and the names of each record, and 61 of the batch.
    let names = 300 * (ours.group.len() + ours.topic.name.len());
    let rest = 1_048_588 - fits - names;
    assert!((300 * 60..300 * 70).contains(&rest), "{fits}");
    let mut benches = vec![ours];
    let kafka = tokio::task::block_in_place(Shared::get);
    if let Some(kafka) = &kafka {
        benches.push(Bench::on(kafka.bootstrap()).await);
    }
    for bench in &benches {
        for version in VERSIONS {
            let refused = bench.commit(version, fits + 1).await;
            assert_eq!(refused, ErrorCode::UNKNOWN_SERVER_ERROR, "version {version}");
            assert_eq!(bench.commit(version, fits).await, ErrorCode::NONE, "version {version}");
        }
        bench.commit_as_this_client_does().await;
    }
}
