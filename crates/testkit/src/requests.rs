//! Requests that tests send, as most of them do. What is special about one is said where it is sent:
//! `FetchRequest { max_wait_ms: 500, ..requests::fetch(topic, [requests::partition(0, 0)]) }`.

use bytes::Bytes;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::Compressor;
use thalweg_wire::Uuid;
use thalweg_wire::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use thalweg_wire::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use thalweg_wire::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use thalweg_wire::messages::delete_topics_request::DeleteTopicState;
use thalweg_wire::messages::fetch_request::{FetchPartition, FetchTopic};
use thalweg_wire::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use thalweg_wire::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use thalweg_wire::messages::produce_request::{PartitionProduceData, TopicProduceData};
use thalweg_wire::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use thalweg_wire::messages::*;

/// For how long a broker may work on a request.
const TIMEOUT_MS: i32 = 10_000;

/// What [`set_config`] changes, by its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource<'a> {
    /// A topic, by its name.
    Topic(&'a str),
    /// A broker, by its id.
    Broker(&'a str),
    /// All brokers.
    AllBrokers,
}

/// A topic to be created, with one replica.
pub fn topic(name: &str, partitions: i32, configs: &[(&str, &str)]) -> CreatableTopic {
    let configs = configs.iter().map(|(name, value)| CreatableTopicConfig {
        name: (*name).into(),
        value: Some((*value).into()),
        ..Default::default()
    });
    CreatableTopic {
        name: name.into(),
        num_partitions: partitions,
        replication_factor: 1,
        configs: configs.collect(),
        ..Default::default()
    }
}

/// Creates a topic.
pub fn create(topic: CreatableTopic) -> CreateTopicsRequest {
    CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, ..Default::default() }
}

/// Deletes a topic.
pub fn delete(topic: &str) -> DeleteTopicsRequest {
    let topic = DeleteTopicState { name: Some(topic.into()), ..Default::default() };
    DeleteTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, ..Default::default() }
}

/// A batch with a record of each value, at a time long ago.
///
/// # Panics
/// If the batch is too large.
pub fn batch(options: BatchOptions, values: &[impl AsRef<[u8]>]) -> Bytes {
    let mut builder = BatchBuilder::new(options);
    for value in values {
        builder.append(1_000, None, Some(value.as_ref()), &[]);
    }
    builder.finish(&mut Compressor::new()).expect("a batch").into()
}

/// Appends batches to partitions of a topic, for all in-sync replicas. From version 13 on a topic goes by its
/// id, before that by its name ([`produce_by_name`]).
pub fn produce<B: Into<Bytes>>(
    topic_id: Uuid,
    batches: impl IntoIterator<Item = (i32, B)>,
) -> ProduceRequest {
    produce_to(TopicProduceData { topic_id, ..Default::default() }, batches)
}

/// The same, in a version before 13.
pub fn produce_by_name<B: Into<Bytes>>(
    topic: &str,
    batches: impl IntoIterator<Item = (i32, B)>,
) -> ProduceRequest {
    produce_to(TopicProduceData { name: topic.into(), ..Default::default() }, batches)
}

fn produce_to<B: Into<Bytes>>(
    mut topic: TopicProduceData,
    batches: impl IntoIterator<Item = (i32, B)>,
) -> ProduceRequest {
    let partitions = batches.into_iter().map(|(index, batch)| PartitionProduceData {
        index,
        records: Some(batch.into()),
        ..Default::default()
    });
    topic.partition_data = partitions.collect();
    ProduceRequest {
        acks: -1,
        timeout_ms: TIMEOUT_MS,
        topic_data: vec![topic],
        ..Default::default()
    }
}

/// What is fetched of a partition: up to a mebibyte, whatever the leader's epoch is.
pub fn partition(partition: i32, fetch_offset: i64) -> FetchPartition {
    FetchPartition {
        partition,
        fetch_offset,
        current_leader_epoch: -1,
        partition_max_bytes: 1 << 20,
        ..Default::default()
    }
}

/// Fetches what there is at once, without a session.
pub fn fetch(topic_id: Uuid, partitions: impl IntoIterator<Item = FetchPartition>) -> FetchRequest {
    let partitions = partitions.into_iter().collect();
    FetchRequest {
        max_bytes: 50 << 20,
        topics: vec![FetchTopic { topic_id, partitions, ..Default::default() }],
        session_epoch: -1,
        ..Default::default()
    }
}

/// Where a partition ends (timestamp -1), begins (-2), or has a record of a time.
pub fn list_offsets(topic: &str, partition_index: i32, timestamp: i64) -> ListOffsetsRequest {
    let partition = ListOffsetsPartition {
        partition_index,
        current_leader_epoch: -1,
        timestamp,
        ..Default::default()
    };
    ListOffsetsRequest {
        replica_id: -1,
        topics: vec![ListOffsetsTopic {
            name: topic.into(),
            partitions: vec![partition],
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Deletes the records before an offset.
pub fn delete_records(topic: &str, partition_index: i32, offset: i64) -> DeleteRecordsRequest {
    let partition = DeleteRecordsPartition { partition_index, offset, ..Default::default() };
    DeleteRecordsRequest {
        topics: vec![DeleteRecordsTopic {
            name: topic.into(),
            partitions: vec![partition],
            ..Default::default()
        }],
        timeout_ms: TIMEOUT_MS,
        ..Default::default()
    }
}

/// Sets a config, or unsets it.
pub fn set_config(
    resource: Resource<'_>,
    config: &str,
    value: Option<&str>,
) -> IncrementalAlterConfigsRequest {
    let (resource_type, resource_name) = match resource {
        Resource::Topic(name) => (2, name),
        Resource::Broker(id) => (4, id),
        Resource::AllBrokers => (4, ""),
    };
    set_config_of(resource_type, resource_name, config, i8::from(value.is_none()), value)
}

/// The same of any resource and with any operation, by their numbers.
pub fn set_config_of(
    resource_type: i8,
    resource: &str,
    config: &str,
    config_operation: i8,
    value: Option<&str>,
) -> IncrementalAlterConfigsRequest {
    let config = AlterableConfig {
        name: config.into(),
        config_operation,
        value: value.map(Into::into),
        ..Default::default()
    };
    IncrementalAlterConfigsRequest {
        resources: vec![AlterConfigsResource {
            resource_type,
            resource_name: resource.into(),
            configs: vec![config],
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Who coordinates a group.
pub fn find_group_coordinator(group: &str) -> FindCoordinatorRequest {
    FindCoordinatorRequest { coordinator_keys: vec![group.into()], ..Default::default() }
}

/// Who coordinates the transactions of an id.
pub fn find_transaction_coordinator(transactional_id: &str) -> FindCoordinatorRequest {
    FindCoordinatorRequest { key_type: 1, ..find_group_coordinator(transactional_id) }
}

/// The committed offset of a partition, up to version 9, in which topics go by their names.
pub fn fetch_offset(group: &str, topic: &str, partition: i32) -> OffsetFetchRequest {
    let topic = OffsetFetchRequestTopics {
        name: topic.into(),
        partition_indexes: vec![partition],
        ..Default::default()
    };
    let group = OffsetFetchRequestGroup {
        group_id: group.into(),
        member_epoch: -1,
        topics: Some(vec![topic]),
        ..Default::default()
    };
    OffsetFetchRequest { groups: vec![group], ..Default::default() }
}

/// A producer begins, or takes over from the one before of its transactional id.
pub fn init_producer(transactional_id: &str, timeout_ms: i32) -> InitProducerIdRequest {
    InitProducerIdRequest {
        transactional_id: Some(transactional_id.into()),
        transaction_timeout_ms: timeout_ms,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    }
}

/// Adds a partition to a transaction, as clients do up to version 3.
pub fn add_partition(
    transactional_id: &str,
    (producer_id, producer_epoch): (i64, i16),
    topic: &str,
    partition: i32,
) -> AddPartitionsToTxnRequest {
    AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: transactional_id.into(),
        v3_and_below_producer_id: producer_id,
        v3_and_below_producer_epoch: producer_epoch,
        v3_and_below_topics: vec![AddPartitionsToTxnTopic {
            name: topic.into(),
            partitions: vec![partition],
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Commits a transaction.
pub fn commit_transaction(
    transactional_id: &str,
    (producer_id, producer_epoch): (i64, i16),
) -> EndTxnRequest {
    EndTxnRequest {
        transactional_id: transactional_id.into(),
        producer_id,
        producer_epoch,
        committed: true,
        ..Default::default()
    }
}

/// Ends the transaction that a producer has in partition 0 of each topic.
pub fn write_marker(
    (producer_id, producer_epoch): (i64, i16),
    coordinator_epoch: i32,
    is_commit: bool,
    topics: &[&str],
) -> WriteTxnMarkersRequest {
    let topics = topics.iter().map(|name| WritableTxnMarkerTopic {
        name: (*name).into(),
        partition_indexes: vec![0],
        ..Default::default()
    });
    let marker = WritableTxnMarker {
        producer_id,
        producer_epoch,
        coordinator_epoch,
        transaction_result: is_commit,
        topics: topics.collect(),
        ..Default::default()
    };
    WriteTxnMarkersRequest { markers: vec![marker], ..Default::default() }
}
