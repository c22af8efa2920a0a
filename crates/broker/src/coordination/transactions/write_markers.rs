//! WriteTxnMarkers: a transaction's coordinator, or an administrator who ends one that hangs, has its end written into
//! partitions that this broker leads (KIP-98, KIP-664).

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use thalweg_coordinator::{Producer, TransactionEnd};
use thalweg_log::TransactionCheck;
use thalweg_metadata::controller::OFFSETS_TOPIC;
use thalweg_records::TimestampType;
use thalweg_records::batch::set_max_timestamp;
use thalweg_records::control::{EndTxnMarker, end_txn_marker};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::write_txn_markers_request::WritableTxnMarker;
use thalweg_wire::messages::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};
use thalweg_wire::messages::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};

use crate::coordination::Coordination;
use crate::net::budget::Charge;
use crate::replicas::partition::{
    AppendFailure, AppendResultSlot, Appending, DelayedProduce, Partition, Uncommitted, Wakes,
};
use crate::replicas::topics::Topic;

/// What became of each marker, by producer, topic and partition.
type Results = BTreeMap<i64, BTreeMap<String, BTreeMap<i32, ErrorCode>>>;

/// What becomes of a marker that a group's coordinator writes.
type Ended = Pin<Box<dyn Future<Output = ErrorCode> + Send>>;

/// Appends after which others may run, and readers hear of what is there.
const APPENDS_AT_ONCE: usize = 64;

/// What the markers of a request have come to, and what is waited for.
#[derive(Default)]
struct Written {
    results: Results,
    /// Markers that other replicas have to get, with their producers.
    uncommitted: Vec<Uncommitted>,
    producers: Vec<i64>,
    /// What groups' coordinators write: producer and partition.
    of_groups: Vec<(i64, i32, Ended)>,
}

/// Writes markers into partitions that this broker leads.
pub(crate) async fn write(
    coordination: &Coordination,
    request: WriteTxnMarkersRequest,
) -> WriteTxnMarkersResponse {
    let timeout = u64::try_from(coordination.node.settings().request_timeout_ms()).unwrap_or(0);
    let timeout = Duration::from_millis(timeout);
    let written = write_all(coordination, request, timeout).await;
    let Written { mut results, uncommitted, producers, of_groups } = written;
    // Markers wait with memory of their own, as what is produced does.
    let mut held = Charge::new(&coordination.wait_budget);
    let bytes = uncommitted.len()
        * (size_of::<Uncommitted>() + size_of::<i64>() + DelayedProduce::BYTES_OF_APPEND);
    let has_room = held.try_raise_to(bytes);
    let waiting = Uncommitted::register(&uncommitted);
    // A stop that began before this wakes no waiter here.
    let timeout = match has_room && !coordination.node.is_stopping() {
        true => timeout,
        false => Duration::ZERO,
    };
    let codes = waiting.results(timeout).await;
    drop((waiting, held));
    for ((append, producer_id), code) in uncommitted.iter().zip(producers).zip(codes) {
        note(&mut results, producer_id, &append.partition.topic, append.partition.index, code);
    }
    for (producer_id, partition, ended) in of_groups {
        note(&mut results, producer_id, OFFSETS_TOPIC, partition, of_coordinator(ended.await));
    }
    response(results)
}

async fn write_all(
    coordination: &Coordination,
    request: WriteTxnMarkersRequest,
    timeout: Duration,
) -> Written {
    let mut written = Written::default();
    let append_result = Arc::new(AppendResultSlot::default());
    let mut wakes = Wakes::default();
    let transaction = TransactionCheck::Waived;
    let mut appending = Appending { slot: &append_result, wakes: &mut wakes, timeout, transaction };
    let mut appends = 0;
    for marker in &request.markers {
        // A transaction ends once in each partition.
        let mut ended = BTreeSet::new();
        for named in &marker.topics {
            let topic = coordination.replicas.topics().by_name(&named.name).cloned();
            for &partition in &named.partition_indexes {
                if !ended.insert((named.name.as_str(), partition)) {
                    continue;
                }
                appends += 1;
                if appends % APPENDS_AT_ONCE == 0 {
                    appending.wakes.wake();
                    tokio::task::yield_now().await;
                }
                // A marker without a producer ends nothing, and stays in the log.
                if marker.producer_id < 0 || marker.producer_epoch < 0 {
                    let code = ErrorCode::INVALID_REQUEST;
                    note(&mut written.results, marker.producer_id, &named.name, partition, code);
                    continue;
                }
                if named.name == OFFSETS_TOPIC
                    && topic.as_ref().is_some_and(|topic| topic.partition(partition).is_some())
                {
                    // Nobody but the group coordinator writes there.
                    let end = TransactionEnd {
                        producer: Producer { id: marker.producer_id, epoch: marker.producer_epoch },
                        coordinator_epoch: marker.coordinator_epoch,
                        transaction_version: i16::from(marker.transaction_version),
                        commit: marker.transaction_result,
                    };
                    let ended = coordination.groups().complete_transaction(partition, end);
                    written.of_groups.push((marker.producer_id, partition, Box::pin(ended)));
                    continue;
                }
                let appended =
                    append(coordination, marker, topic.as_deref(), partition, &mut appending).await;
                let code = match appended {
                    Ok(Some(append)) => {
                        let part = written.uncommitted.len();
                        written.uncommitted.push(Uncommitted { part, ..append });
                        written.producers.push(marker.producer_id);
                        continue;
                    }
                    Ok(None) => ErrorCode::NONE,
                    Err(code) => code,
                };
                note(&mut written.results, marker.producer_id, &named.name, partition, code);
            }
        }
    }
    wakes.wake();
    written
}

/// The coordinator of a transaction knows no errors of coordinators: here they mean that another broker leads, or that
/// this one is not ready.
fn of_coordinator(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::NOT_COORDINATOR => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        code => code,
    }
}

fn note(results: &mut Results, producer_id: i64, topic: &str, partition: i32, code: ErrorCode) {
    let topics = results.entry(producer_id).or_default();
    match topics.get_mut(topic) {
        Some(partitions) => {
            partitions.insert(partition, code);
        }
        None => {
            topics.insert(topic.to_owned(), BTreeMap::from([(partition, code)]));
        }
    }
}

/// Appends a marker to one partition; gives what has to be waited for where there are other replicas.
async fn append(
    coordination: &Coordination,
    marker: &WritableTxnMarker,
    topic: Option<&Topic>,
    partition: i32,
    appending: &mut Appending<'_>,
) -> Result<Option<Uncommitted>, ErrorCode> {
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let topic = topic.ok_or(unknown)?;
    let partition: &Arc<Partition> = topic.partition(partition).ok_or(unknown)?;
    let too_few = ErrorCode::NOT_ENOUGH_REPLICAS;
    if partition.check_in_sync() == Err(too_few) {
        return Err(too_few);
    }
    let now = coordination.node.clock().wall_ms();
    let end = EndTxnMarker {
        commit: marker.transaction_result,
        coordinator_epoch: marker.coordinator_epoch,
    };
    let mut batch = end_txn_marker(marker.producer_id, marker.producer_epoch, end, now);
    if topic.settings().validation.timestamp_type == TimestampType::LogAppendTime {
        set_max_timestamp(&mut batch, TimestampType::LogAppendTime, now);
    }
    let version = i16::from(marker.transaction_version);
    let appended = partition.append_marker(&mut batch, version, now, appending).await;
    let appended = appended.map_err(|failure| {
        if let AppendFailure::Log(error) = &failure {
            tracing::info!(topic = %partition.topic, partition = partition.index,
                producer_id = marker.producer_id, %error, "a transaction marker was refused");
        }
        failure.code()
    })?;
    coordination.node.metrics().transaction_markers.add(1);
    Ok((!partition.is_alone()).then(|| Uncommitted {
        partition: Arc::clone(partition),
        part: 0,
        leader_epoch: appended.leader_epoch,
        required: appended.end_offset,
    }))
}

fn response(results: Results) -> WriteTxnMarkersResponse {
    let markers = results.into_iter().map(|(producer_id, topics)| {
        let topics = topics.into_iter().map(|(name, partitions)| {
            let partitions = partitions.into_iter().map(|(partition_index, error_code)| {
                WritableTxnMarkerPartitionResult {
                    partition_index,
                    error_code,
                    ..Default::default()
                }
            });
            let partitions = partitions.collect();
            WritableTxnMarkerTopicResult { name, partitions, ..Default::default() }
        });
        let topics = topics.collect();
        WritableTxnMarkerResult { producer_id, topics, ..Default::default() }
    });
    WriteTxnMarkersResponse { markers: markers.collect(), ..Default::default() }
}
