//! ListOffsets: where a partition begins and ends, and which offset belongs to a time.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_log::ReadError;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::list_offsets_request::ListOffsetsPartition;
use thalweg_wire::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use thalweg_wire::messages::{ListOffsetsRequest, ListOffsetsResponse};

use crate::api::context::Context;
use crate::node::record_scan::Scan;
use crate::replicas::partition::{Partition, ReadFailure};

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const EARLIEST_PENDING_UPLOAD: i64 = -6;

/// A consumer; a tool that looks at any replica.
const CONSUMER: i32 = -1;
const DEBUGGING: i32 = -2;

/// The first version in which a special timestamp means something.
fn first_version(timestamp: i64) -> Option<i16> {
    Some(match timestamp {
        LATEST | EARLIEST => 1,
        MAX_TIMESTAMP => 7,
        EARLIEST_LOCAL => 8,
        LATEST_TIERED => 9,
        EARLIEST_PENDING_UPLOAD => 11,
        _ => return None,
    })
}

/// Timestamp, offset and leader epoch of an answer.
type Located = (i64, i64, i32);

pub(super) async fn handle(context: Context, request: ListOffsetsRequest) -> ListOffsetsResponse {
    let mut seen = HashSet::new();
    let mut twice = HashSet::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            if !seen.insert((topic.name.as_str(), partition.partition_index)) {
                twice.insert((topic.name.clone(), partition.partition_index));
            }
        }
    }
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in topic.partitions {
            let index = wanted.partition_index;
            let duplicate = twice.contains(&(topic.name.clone(), index));
            let found = if duplicate {
                Err(ErrorCode::INVALID_REQUEST)
            } else {
                let from = From {
                    replica_id: request.replica_id,
                    committed_only: request.isolation_level == 1,
                };
                locate(&context, &topic.name, wanted, from).await
            };
            partitions.push(match found {
                Ok(located) => {
                    let (timestamp, offset, leader_epoch) = located.unwrap_or((-1, -1, -1));
                    ListOffsetsPartitionResponse {
                        partition_index: index,
                        timestamp,
                        offset,
                        leader_epoch: if context.version >= 4 { leader_epoch } else { -1 },
                        ..Default::default()
                    }
                }
                Err(error_code) => ListOffsetsPartitionResponse {
                    partition_index: index,
                    error_code,
                    timestamp: -1,
                    offset: -1,
                    ..Default::default()
                },
            });
        }
        topics.push(ListOffsetsTopicResponse {
            name: topic.name,
            partitions,
            ..Default::default()
        });
    }
    ListOffsetsResponse { topics, ..Default::default() }
}

/// Who asks, and what it may see.
#[derive(Clone, Copy)]
struct From {
    replica_id: i32,
    committed_only: bool,
}

async fn locate(
    context: &Context,
    topic: &str,
    wanted: ListOffsetsPartition,
    from: From,
) -> Result<Option<Located>, ErrorCode> {
    if wanted.timestamp < 0
        && first_version(wanted.timestamp).is_none_or(|first| context.version < first)
    {
        return Err(ErrorCode::UNSUPPORTED_VERSION);
    }
    let partition = {
        let table = context.services.replicas.topics();
        let known = table.by_name(topic).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        Arc::clone(known.hosted(wanted.partition_index)?)
    };
    if from.replica_id != DEBUGGING {
        partition.check_epoch(wanted.current_leader_epoch).map_err(|failure| match failure {
            ReadFailure::NotLeader { .. } => ErrorCode::NOT_LEADER_OR_FOLLOWER,
            ReadFailure::Fenced { .. } => ErrorCode::FENCED_LEADER_EPOCH,
            ReadFailure::UnknownEpoch => ErrorCode::UNKNOWN_LEADER_EPOCH,
            ReadFailure::Log(error) => error.code(),
        })?;
    }
    if let Err(error) = partition.log.dir().check() {
        tracing::debug!(%error, "list offsets");
        return Err(ErrorCode::KAFKA_STORAGE_ERROR);
    }
    let offsets = partition.log.offsets();
    let last_fetchable = match (from.replica_id, from.committed_only) {
        (CONSUMER, true) => offsets.last_stable_offset,
        (CONSUMER, false) => offsets.high_watermark,
        _ => offsets.log_end_offset,
    };
    let not_available = match context.version {
        ..5 => ErrorCode::LEADER_NOT_AVAILABLE,
        _ => ErrorCode::OFFSET_NOT_AVAILABLE,
    };
    let is_behind = || from.replica_id == CONSUMER && partition.is_high_watermark_behind();
    match wanted.timestamp {
        LATEST if is_behind() => Err(not_available),
        LATEST => Ok(Some((-1, last_fetchable, partition.leader().epoch))),
        EARLIEST | EARLIEST_LOCAL => {
            let start = offsets.log_start_offset;
            let epoch = partition
                .log
                .earliest_epoch()
                .filter(|(_, first)| *first <= start)
                .map_or(-1, |(epoch, _)| epoch);
            Ok(Some((-1, start, epoch)))
        }
        // Nothing is in tiered storage.
        LATEST_TIERED | EARLIEST_PENDING_UPLOAD => Ok(Some((-1, -1, -1))),
        timestamp => {
            let is_behind = is_behind();
            // Looks into batches on disk: not on a worker thread.
            let located = context
                .services
                .replicas
                .disk_reads()
                .of(partition.log.dir())
                .run(move || search(&partition, timestamp))
                .await
                .map_err(|_| ErrorCode::KAFKA_STORAGE_ERROR)?
                .map_err(|error| error.code())?;
            match located {
                Some((_, offset, _)) if offset >= last_fetchable && is_behind => Err(not_available),
                located => Ok(located.filter(|(_, offset, _)| *offset < last_fetchable)),
            }
        }
    }
}

fn search(partition: &Partition, timestamp: i64) -> Result<Option<Located>, ReadError> {
    let found = match timestamp {
        MAX_TIMESTAMP => partition.log.offset_of_max_timestamp(&Scan)?,
        timestamp => partition.log.offset_for_timestamp(timestamp, &Scan)?,
    };
    Ok(found.map(|found| (found.timestamp, found.offset, found.leader_epoch.unwrap_or(-1))))
}
