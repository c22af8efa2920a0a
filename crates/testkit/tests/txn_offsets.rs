//! Offsets in transactions, as producers ask for them on the wire. A node on its own has nobody who coordinates
//! transactions; these tests have the log take what nobody was asked about, where they do not say otherwise.

use std::path::Path;
use std::time::Duration;

use thalweg::{Connection, Options};
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::metadata_request::MetadataRequestTopic;
use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Uuid};

use crate::support::{Data, create, segments_of, send};

struct Session {
    broker: TestBroker,
    connection: Connection,
}

impl Session {
    async fn start(dir: &Path, verifies: bool) -> Session {
        let broker = TestBroker::builder()
            .data(dir)
            .config("offsets.topic.num.partitions", 1)
            .config("transaction.partition.verification.enable", verifies)
            .start()
            .await;
        let connection = Connection::open(&broker.bootstrap(), &Options::default()).await.unwrap();
        Session { broker, connection }
    }

    /// One that has a topic `t` with two partitions, and a coordinator that is loaded.
    async fn with_topic(dir: &Path, verifies: bool) -> Session {
        let session = Session::start(dir, verifies).await;
        create(&session.connection, requests::topic("t", 2, &[])).await;
        session.find_coordinator().await;
        session
    }

    async fn find_coordinator(&self) {
        let request = requests::find_group_coordinator("g");
        let found = self.connection.send(&request).await.unwrap();
        assert_eq!(found.coordinators[0].error_code, ErrorCode::NONE);
        self.loaded().await;
    }

    async fn loaded(&self) {
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while self.fetch(false).await.1 == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS {
            assert!(std::time::Instant::now() < deadline, "the coordinator does not load");
            tokio::task::yield_now().await;
        }
    }

    /// The id of a topic.
    async fn id_of(&self, name: &str) -> Uuid {
        let topic = MetadataRequestTopic { name: Some(name.to_owned()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
        self.connection.send(&request).await.unwrap().topics[0].topic_id
    }

    /// Commits in a producer's transaction; gives topic, partition and error of each. From version 6 on topics go by
    /// their ids.
    async fn commit_all(
        &self,
        request: &TxnOffsetCommitRequest,
        version: i16,
    ) -> Vec<(String, i32, ErrorCode)> {
        let mut request = request.clone();
        let known = self.id_of("t").await;
        for topic in request.topics.iter_mut().filter(|_| version >= 6) {
            topic.topic_id = if topic.name == "t" { known } else { UNKNOWN };
        }
        let mut response = send(&self.connection, &request, version).await;
        for topic in response.topics.iter_mut().filter(|_| version >= 6) {
            topic.name = if topic.topic_id == known { "t" } else { "no" }.into();
        }
        let mut all: Vec<_> = response
            .topics
            .iter()
            .flat_map(|t| {
                let partitions = t.partitions.iter();
                partitions.map(move |p| (t.name.clone(), p.partition_index, p.error_code))
            })
            .collect();
        all.sort_unstable();
        all
    }

    async fn commit(&self, request: &TxnOffsetCommitRequest, version: i16) -> ErrorCode {
        let all = self.commit_all(request, version).await;
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].2
    }

    /// Of partition 0 of `t`.
    async fn fetch(&self, require_stable: bool) -> (i64, ErrorCode) {
        let request = OffsetFetchRequest { require_stable, ..requests::fetch_offset("g", "t", 0) };
        let response = send(&self.connection, &request, 8).await;
        let group = &response.groups[0];
        if group.error_code.is_err() {
            return (-1, group.error_code);
        }
        let partition = &group.topics[0].partitions[0];
        (partition.committed_offset, partition.error_code)
    }

    async fn plain_commit(&self, offset: i64) -> ErrorCode {
        let request = OffsetCommitRequest {
            group_id: "g".into(),
            generation_id_or_member_epoch: -1,
            topics: vec![OffsetCommitRequestTopic {
                name: "t".into(),
                partitions: vec![OffsetCommitRequestPartition {
                    partition_index: 0,
                    committed_offset: offset,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        send(&self.connection, &request, 8).await.topics[0].partitions[0].error_code
    }

    /// Ends a transaction where the group's offsets are.
    async fn end(&self, producer_epoch: i16, commit: bool) -> ErrorCode {
        let producer = (PRODUCER, producer_epoch);
        let request = requests::write_marker(producer, 1, commit, &["__consumer_offsets"]);
        let response = self.connection.send(&request).await.unwrap();
        response.markers[0].topics[0].partitions[0].error_code
    }
}

/// The id of no topic.
const UNKNOWN: Uuid = Uuid::from_u128(0x11);
const PRODUCER: i64 = 4_711;
const UNSTABLE: (i64, ErrorCode) = (-1, ErrorCode::UNSTABLE_OFFSET_COMMIT);

fn request(producer_epoch: i16, offsets: &[(&str, i32, i64)]) -> TxnOffsetCommitRequest {
    let topic = |(name, partition_index, committed_offset): &(&str, i32, i64)| {
        TxnOffsetCommitRequestTopic {
            name: (*name).into(),
            partitions: vec![TxnOffsetCommitRequestPartition {
                partition_index: *partition_index,
                committed_offset: *committed_offset,
                ..Default::default()
            }],
            ..Default::default()
        }
    };
    TxnOffsetCommitRequest {
        transactional_id: "txn".into(),
        group_id: "g".into(),
        producer_id: PRODUCER,
        producer_epoch,
        generation_id_or_member_epoch: -1,
        topics: offsets.iter().map(topic).collect(),
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_of_an_open_transaction_are_unstable_also_after_a_restart() {
    let data = Data::new();
    let session = Session::with_topic(&data.0, false).await;
    assert_eq!(session.plain_commit(5).await, ErrorCode::NONE);
    for version in 0..=4 {
        let offset = 10 + i64::from(version);
        let said = session.commit(&request(1, &[("t", 0, offset)]), version).await;
        assert_eq!(said, ErrorCode::NONE, "version {version}");
    }
    assert_eq!(session.fetch(false).await, (5, ErrorCode::NONE));
    assert_eq!(session.fetch(true).await, UNSTABLE);
    session.broker.shut_down().await;
    let session = Session::start(&data.0, false).await;
    session.loaded().await;
    assert_eq!(session.fetch(false).await, (5, ErrorCode::NONE));
    assert_eq!(session.fetch(true).await, UNSTABLE);
    // Its producer of before is a zombie there, too.
    let zombie = session.commit(&request(0, &[("t", 0, 99)]), 3).await;
    assert_eq!(zombie, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(session.plain_commit(6).await, ErrorCode::NONE, "others go on");
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_count_when_the_transaction_commits_and_never_if_it_aborts() {
    let data = Data::new();
    let session = Session::with_topic(&data.0, false).await;
    assert_eq!(session.commit(&request(1, &[("t", 0, 10)]), 3).await, ErrorCode::NONE);
    assert_eq!(session.fetch(true).await, UNSTABLE);
    assert_eq!(session.end(0, true).await, ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(session.fetch(true).await, UNSTABLE);
    assert_eq!(session.end(1, true).await, ErrorCode::NONE);
    assert_eq!(session.fetch(true).await, (10, ErrorCode::NONE));
    assert_eq!(session.commit(&request(1, &[("t", 0, 20)]), 3).await, ErrorCode::NONE);
    assert_eq!(session.end(1, false).await, ErrorCode::NONE);
    assert_eq!(session.fetch(true).await, (10, ErrorCode::NONE));
    session.broker.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_refused_and_the_rest_is_taken() {
    let data = Data::new();
    let session = Session::with_topic(&data.0, false).await;
    let asked = request(0, &[("t", 0, 1), ("t", 7, 1), ("t", -1, 1), ("no", 0, 1)]);
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    // The first commit makes the group's partition part of the transaction, which the second finds in the log.
    for (version, of_topic) in [(3, unknown), (6, ErrorCode::UNKNOWN_TOPIC_ID)] {
        let said = session.commit_all(&asked, version).await;
        let expected = [
            ("no".to_owned(), 0, of_topic),
            ("t".to_owned(), -1, unknown),
            ("t".to_owned(), 0, ErrorCode::NONE),
            ("t".to_owned(), 7, unknown),
        ];
        assert_eq!(said, expected, "version {version}");
        let said = session.commit(&request(0, &[("no", 0, 1)]), version).await;
        assert_eq!(said, of_topic, "version {version}");
    }
    let nameless = TxnOffsetCommitRequest { group_id: String::new(), ..request(0, &[("t", 0, 1)]) };
    assert_eq!(session.commit(&nameless, 3).await, ErrorCode::INVALID_GROUP_ID);
    let member = TxnOffsetCommitRequest {
        generation_id_or_member_epoch: 3,
        member_id: "nobody".into(),
        ..request(0, &[("t", 0, 1)])
    };
    assert_eq!(session.commit(&member, 3).await, ErrorCode::UNKNOWN_MEMBER_ID);
    let elsewhere = TxnOffsetCommitRequest { group_id: "other".into(), ..member };
    assert_eq!(session.commit(&elsewhere, 3).await, ErrorCode::ILLEGAL_GENERATION);
    session.broker.shut_down().await;
}

/// Nobody could end their transaction: the group's partition would have one that is open for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_of_a_producer_without_id_or_epoch_are_refused_and_not_written() {
    let data = Data::new();
    let session = Session::with_topic(&data.0, false).await;
    let nameless = ErrorCode::INVALID_PRODUCER_ID_MAPPING;
    for (producer_id, producer_epoch, expected) in [
        (-1, 0, nameless),
        (-1, -1, nameless),
        (i64::MIN, i16::MIN, nameless),
        (PRODUCER, -1, ErrorCode::INVALID_PRODUCER_EPOCH),
        (PRODUCER, i16::MIN, ErrorCode::INVALID_PRODUCER_EPOCH),
    ] {
        for version in 0..=6 {
            let asked = TxnOffsetCommitRequest {
                producer_id,
                producer_epoch,
                ..request(0, &[("t", 0, 1)])
            };
            let said = session.commit(&asked, version).await;
            // From version 5 on the transaction's coordinator is asked first, of which there is none here.
            let is_asked = version >= 5 && expected != nameless;
            let expected = if is_asked { ErrorCode::COORDINATOR_NOT_AVAILABLE } else { expected };
            assert_eq!(said, expected, "{producer_id}, {producer_epoch}, version {version}");
        }
    }
    assert_eq!(session.fetch(true).await, (-1, ErrorCode::NONE));
    session.broker.shut_down().await;
    assert!(segments_of(&data.0, "__consumer_offsets-0").is_empty());
}

/// The coordinator of transactions has to be asked, and there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_on_its_own_finds_nobody_to_ask() {
    let data = Data::new();
    let session = Session::with_topic(&data.0, true).await;
    for version in 0..=6 {
        let said = session.commit(&request(0, &[("t", 0, 1)]), version).await;
        assert_eq!(said, ErrorCode::COORDINATOR_NOT_AVAILABLE, "version {version}");
    }
    assert_eq!(session.fetch(true).await, (-1, ErrorCode::NONE));
    session.broker.shut_down().await;
    // Whoever leaves it to the broker to make the partition part of the transaction needs it in any case.
    let session = Session::start(&data.0, false).await;
    session.loaded().await;
    let said = session.commit(&request(0, &[("t", 0, 1)]), 5).await;
    assert_eq!(said, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    session.broker.shut_down().await;
}
