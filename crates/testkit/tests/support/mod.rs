//! A client that asks one thing at a time and says what it got.

// Each test file uses its own part of it.
#![allow(dead_code)]

pub mod transactions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use thalweg::{Connection, Options};
use thalweg_records::BatchView;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::Compressor;
use thalweg_records::record::RecordContext;
use thalweg_testkit::TestBroker;
use thalweg_testkit::faults::Faults;
use thalweg_testkit::requests::{self, Resource};
use thalweg_wire::messages::create_partitions_request::CreatePartitionsTopic;
use thalweg_wire::messages::create_topics_request::CreatableTopic;
use thalweg_wire::messages::fetch_request::FetchPartition;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;
use thalweg_wire::messages::metadata_request::MetadataRequestTopic;
use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, Message as _, Reader, Request, Uuid, Writer};

/// For how long something is waited for that must come.
const WAIT: Duration = Duration::from_secs(60);

/// A place for the data that outlives its broker.
pub struct Data(pub PathBuf);

impl Data {
    pub fn new() -> Data {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("thalweg-faults-{}-{count}", std::process::id());
        let data = std::env::temp_dir().join(name);
        // A run that was killed may have left one, and process ids come again.
        let _ = std::fs::remove_dir_all(&data);
        Data(data)
    }

    /// Directories "a", which holds the metadata too, and "b".
    pub async fn start(&self, faults: &Arc<Faults>) -> (TestBroker, Client) {
        let builder = TestBroker::builder()
            .data(&self.0)
            .dirs(&["a", "b"])
            .config("offsets.topic.num.partitions", 4)
            .faults(faults);
        let broker = builder.start().await;
        let client = connect(&broker).await;
        (broker, client)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Client {
    pub connection: Connection,
}

/// A value on the page of metrics.
pub fn metric(broker: &TestBroker, name: &str) -> u64 {
    let page = broker.metrics_text();
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} in {page}"))
}

/// Asks in a version of one's own choice.
pub async fn send<R: Request>(connection: &Connection, request: &R, version: i16) -> R::Response {
    let mut frame = Writer::new();
    thalweg::raw::encode_request(&mut frame, request, version, "raw").unwrap();
    let body = connection.send_frame(frame, R::API_KEY, version).await.unwrap();
    R::Response::decode(&mut Reader::shared(&body), version).unwrap()
}

/// A batch as a producer with an id would send it, of one record.
pub fn producer_batch(
    producer_id: i64,
    producer_epoch: i16,
    sequence: i32,
    transactional: bool,
) -> Vec<u8> {
    producer_batch_at(1_000, producer_id, producer_epoch, sequence, transactional)
}

/// The same, of a record with this timestamp.
pub fn producer_batch_at(
    timestamp: i64,
    producer_id: i64,
    producer_epoch: i16,
    sequence: i32,
    transactional: bool,
) -> Vec<u8> {
    let options = BatchOptions {
        producer_id,
        producer_epoch,
        base_sequence: sequence,
        transactional,
        ..BatchOptions::default()
    };
    let mut builder = BatchBuilder::new(options);
    builder.append(timestamp, None, Some(b"x"), &[]);
    builder.finish(&mut Compressor::new()).unwrap()
}

/// The bytes of a partition's segments, one behind the other.
pub fn segments_of(dir: &Path, partition: &str) -> Vec<u8> {
    let mut segments: Vec<_> = std::fs::read_dir(dir.join(partition))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    segments.sort_unstable();
    segments.iter().flat_map(|segment| std::fs::read(segment).unwrap()).collect()
}

/// The bytes of a replica's records, without zeros at their end: Java makes room for the active segment ahead. Batches
/// may end with a zero themselves, in all replicas.
pub fn bytes_of(dir: &Path, partition: &str) -> Vec<u8> {
    let mut bytes = segments_of(dir, partition);
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    bytes.truncate(end);
    bytes
}

/// Waits until something is so, for half a minute.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{what} did not come");
}

/// A partition as Metadata shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    pub error: ErrorCode,
    pub leader: i32,
    pub offline: Vec<i32>,
}

pub async fn connect(broker: &TestBroker) -> Client {
    connect_to(&broker.bootstrap()).await
}

pub async fn connect_to(address: &str) -> Client {
    Client { connection: Connection::open(address, &Options::default()).await.unwrap() }
}

/// Creates a topic, which must succeed; gives its id.
pub async fn create(connection: &Connection, topic: CreatableTopic) -> Uuid {
    let response = connection.send(&requests::create(topic)).await.unwrap();
    assert_eq!(response.topics[0].error_code, ErrorCode::NONE, "{:?}", response.topics[0]);
    response.topics[0].topic_id
}

impl Client {
    pub async fn create(&self, name: &str, partitions: i32, configs: &[(&str, &str)]) -> Uuid {
        create(&self.connection, requests::topic(name, partitions, configs)).await
    }

    /// The offset of the record, or why there is none.
    pub async fn produce(&self, topic: Uuid, index: i32, value: &str) -> Result<i64, ErrorCode> {
        self.try_produce(topic, index, value).await.expect("the connection is open")
    }

    /// The same, where the broker may go away meanwhile.
    pub async fn try_produce(
        &self,
        topic: Uuid,
        index: i32,
        value: &str,
    ) -> Option<Result<i64, ErrorCode>> {
        self.try_send(topic, index, requests::batch(BatchOptions::default(), &[value])).await
    }

    /// A record with a key, which must be taken.
    pub async fn produce_keyed(&self, topic: Uuid, key: &str, value: &str) -> i64 {
        let mut builder = BatchBuilder::new(BatchOptions::default());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let at = now.as_millis() as i64;
        builder.append(at, Some(key.as_bytes()), Some(value.as_bytes()), &[]);
        let records = builder.finish(&mut Compressor::new()).unwrap();
        let sent = self.try_send(topic, 0, Bytes::from(records)).await;
        sent.expect("the connection is open").expect("the record is taken")
    }

    async fn try_send(
        &self,
        topic: Uuid,
        index: i32,
        records: Bytes,
    ) -> Option<Result<i64, ErrorCode>> {
        let request = requests::produce(topic, [(index, records)]);
        let response = self.connection.send(&request).await.ok()?;
        let result = &response.responses[0].partition_responses[0];
        let ok = result.error_code.is_ok();
        Some(if ok { Ok(result.base_offset) } else { Err(result.error_code) })
    }

    /// The values of all records, or the error.
    pub async fn fetch(&self, topic: Uuid, partition: i32) -> Result<Vec<String>, ErrorCode> {
        self.fetch_from(topic, partition, 0).await
    }

    /// The same, from an offset on, which must be the first of a batch.
    pub async fn fetch_from(
        &self,
        topic: Uuid,
        partition: i32,
        fetch_offset: i64,
    ) -> Result<Vec<String>, ErrorCode> {
        self.fetch_waiting(topic, partition, fetch_offset, 0).await
    }

    /// The same, which waits so long for something.
    pub async fn fetch_waiting(
        &self,
        topic: Uuid,
        partition: i32,
        fetch_offset: i64,
        max_wait_ms: i32,
    ) -> Result<Vec<String>, ErrorCode> {
        let partition = FetchPartition {
            partition_max_bytes: 16 << 20,
            ..requests::partition(partition, fetch_offset)
        };
        let request = FetchRequest {
            max_wait_ms,
            min_bytes: i32::from(max_wait_ms > 0),
            ..requests::fetch(topic, [partition])
        };
        let response = self.connection.send(&request).await.unwrap();
        let part = &response.responses[0].partitions[0];
        if part.error_code.is_err() {
            return Err(part.error_code);
        }
        let mut rest = &part.records.as_ref().unwrap()[..];
        let mut values = Vec::new();
        while !rest.is_empty() {
            let batch = BatchView::parse(rest).unwrap();
            assert!(batch.crc_is_valid());
            for record in RecordContext::of(&batch).iter(batch.payload()) {
                let value = record.unwrap().value.unwrap().to_vec();
                values.push(String::from_utf8(value).unwrap());
            }
            rest = &rest[batch.total_len()..];
        }
        Ok(values)
    }

    /// The end of a partition, or the error.
    pub async fn end(&self, topic: &str, partition: i32) -> Result<i64, ErrorCode> {
        let request = requests::list_offsets(topic, partition, -1);
        let response = self.connection.send(&request).await.unwrap();
        let part = &response.topics[0].partitions[0];
        if part.error_code.is_ok() { Ok(part.offset) } else { Err(part.error_code) }
    }

    pub async fn metadata(&self, topic: &str) -> BTreeMap<i32, Shown> {
        let request = MetadataRequest {
            topics: Some(vec![MetadataRequestTopic {
                name: Some(topic.into()),
                ..Default::default()
            }]),
            ..Default::default()
        };
        let response = self.connection.send(&request).await.unwrap();
        assert_eq!(response.topics[0].error_code, ErrorCode::NONE);
        let shown = response.topics[0].partitions.iter().map(|p| {
            let shown = Shown {
                error: p.error_code,
                leader: p.leader_id,
                offline: p.offline_replicas.clone(),
            };
            (p.partition_index, shown)
        });
        shown.collect()
    }

    /// Asks until the metadata says that nobody leads the partition.
    pub async fn until_leaderless(&self, topic: &str, partition: i32) {
        let expected =
            Shown { error: ErrorCode::LEADER_NOT_AVAILABLE, leader: -1, offline: vec![1] };
        let leaderless = async {
            while self.metadata(topic).await[&partition] != expected {
                tokio::task::yield_now().await;
            }
        };
        if tokio::time::timeout(WAIT, leaderless).await.is_err() {
            let shown = self.metadata(topic).await;
            panic!("partition {partition} still has a leader: {shown:?}");
        }
    }

    /// The last part of each log directory's name with its error and what lies in it.
    pub async fn dirs(&self) -> BTreeMap<String, (ErrorCode, Vec<(String, i32)>)> {
        let request = DescribeLogDirsRequest { topics: None, ..Default::default() };
        let response = self.connection.send(&request).await.unwrap();
        let dirs = response.results.into_iter().map(|dir| {
            let name = dir.log_dir.rsplit('/').next().unwrap_or_default().to_owned();
            let mut inside: Vec<(String, i32)> = dir
                .topics
                .into_iter()
                .flat_map(|t| {
                    t.partitions.into_iter().map(move |p| (t.name.clone(), p.partition_index))
                })
                .collect();
            inside.sort();
            (name, (dir.error_code, inside))
        });
        dirs.collect()
    }

    /// Partitions of a topic by the directory they lie in.
    pub async fn placed(&self, topic: &str) -> BTreeMap<String, Vec<i32>> {
        let dirs = self.dirs().await.into_iter().map(|(name, (_, inside))| {
            let ours = inside.into_iter().filter(|(t, _)| t == topic).map(|(_, index)| index);
            (name, ours.collect())
        });
        dirs.collect()
    }

    pub async fn coordinator(&self, group: &str) -> ErrorCode {
        let request = requests::find_group_coordinator(group);
        self.connection.send(&request).await.unwrap().coordinators[0].error_code
    }

    /// Commits an offset from outside of the group.
    pub async fn commit(&self, group: &str, topic: Uuid, offset: i64) -> ErrorCode {
        let request = OffsetCommitRequest {
            group_id: group.into(),
            generation_id_or_member_epoch: -1,
            topics: vec![OffsetCommitRequestTopic {
                topic_id: topic,
                partitions: vec![OffsetCommitRequestPartition {
                    partition_index: 0,
                    committed_offset: offset,
                    committed_leader_epoch: -1,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        let response = self.connection.send(&request).await.unwrap();
        response.topics[0].partitions[0].error_code
    }

    /// The same, once the coordinator has loaded its groups.
    pub async fn until_loaded(&self, group: &str, topic: Uuid, offset: i64) -> ErrorCode {
        let loaded = async {
            loop {
                match self.commit(group, topic, offset).await {
                    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => tokio::task::yield_now().await,
                    code => return code,
                }
            }
        };
        tokio::time::timeout(WAIT, loaded).await.expect("the group is loaded in time")
    }

    pub async fn add_partitions(&self, topic: &str, count: i32) -> ErrorCode {
        let request = CreatePartitionsRequest {
            topics: vec![CreatePartitionsTopic {
                name: topic.into(),
                count,
                assignments: None,
                ..Default::default()
            }],
            timeout_ms: 10_000,
            ..Default::default()
        };
        self.connection.send(&request).await.unwrap().results[0].error_code
    }

    pub async fn delete(&self, topic: &str) -> ErrorCode {
        self.connection.send(&requests::delete(topic)).await.unwrap().responses[0].error_code
    }

    /// What becomes of a change of a config.
    pub async fn set(&self, resource: Resource<'_>, config: &str, value: &str) -> ErrorCode {
        let request = requests::set_config(resource, config, Some(value));
        self.connection.send(&request).await.unwrap().responses[0].error_code
    }

    /// What becomes of a deletion of the records before an offset.
    pub async fn delete_records(&self, topic: &str, partition: i32, offset: i64) -> ErrorCode {
        let request = requests::delete_records(topic, partition, offset);
        self.connection.send(&request).await.unwrap().topics[0].partitions[0].error_code
    }

    /// A member with an instance id of its own asks to join, saying `metadata`; the answer's error.
    pub async fn join(&self, group: &str, instance: &str, metadata: Bytes) -> ErrorCode {
        let request = JoinGroupRequest {
            group_id: group.into(),
            session_timeout_ms: 30_000,
            rebalance_timeout_ms: 30_000,
            group_instance_id: Some(instance.into()),
            protocol_type: "consumer".into(),
            protocols: vec![JoinGroupRequestProtocol {
                name: "range".into(),
                metadata,
                ..Default::default()
            }],
            ..Default::default()
        };
        self.connection.send(&request).await.unwrap().error_code
    }

    /// A heartbeat of nobody: what the coordinator of the group says to it.
    pub async fn heartbeat(&self, group: &str) -> ErrorCode {
        let request = HeartbeatRequest {
            group_id: group.into(),
            generation_id: 1,
            member_id: "nobody".into(),
            ..Default::default()
        };
        self.connection.send(&request).await.unwrap().error_code
    }
}
