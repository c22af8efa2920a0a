//! DeleteRecords: moves the start of partitions.

use std::sync::Arc;
use std::time::Duration;

use thalweg_log::LogDir;
use thalweg_metadata::controller::is_internal_topic;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsTopicResult,
};
use thalweg_wire::messages::{DeleteRecordsRequest, DeleteRecordsResponse};
use tokio::time::Instant;

use crate::api::context::Context;
use crate::replicas::partition::Partition;

/// "Up to the high watermark."
const HIGH_WATERMARK: i64 = -1;

/// Where a partition is in the answer: the topic, and which of it.
type AnswerPlace = (usize, usize);

pub(super) async fn handle(
    context: Context,
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse {
    let time = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0));
    let deadline = Instant::now() + time;
    let mut waited: Vec<(AnswerPlace, Arc<Partition>, i64)> = Vec::new();
    let mut topics = Vec::with_capacity(request.topics.len());
    // Which partitions of the answer have their log in which directory.
    let mut changed: Vec<(Arc<LogDir>, Vec<AnswerPlace>)> = Vec::new();
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in topic.partitions {
            let result = delete(&context, &topic.name, wanted.partition_index, wanted.offset).await;
            partitions.push(match result {
                Ok((low_watermark, partition)) => {
                    let at = (topics.len(), partitions.len());
                    let dir = Arc::clone(partition.log.dir());
                    if !partition.is_alone() {
                        waited.push((at, partition, low_watermark));
                    }
                    match changed.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &dir)) {
                        Some((_, places)) => places.push(at),
                        None => changed.push((dir, vec![at])),
                    }
                    DeleteRecordsPartitionResult {
                        partition_index: wanted.partition_index,
                        low_watermark,
                        ..Default::default()
                    }
                }
                Err(error_code) => refused(wanted.partition_index, error_code),
            });
        }
        topics.push(DeleteRecordsTopicResult {
            name: topic.name,
            partitions,
            ..Default::default()
        });
    }
    // Where a log starts is not in its files: without this, what was deleted would come back after a kill,
    // as it does in Apache Kafka, which writes that down once a minute.
    for (dir, places) in changed {
        if let Err(error_code) = flush_starts(&context, dir).await {
            for (topic, partition) in places {
                let result = &mut topics[topic].partitions[partition];
                *result = refused(result.partition_index, error_code);
            }
        }
    }
    // Nobody can read any more what is gone once all replicas have heard of it.
    for ((topic, partition), deleted, offset) in waited {
        let result = &mut topics[topic].partitions[partition];
        if result.error_code.is_err() {
            continue;
        }
        let mut shutdown = context.services.node.subscribe_shutdown();
        let lowest = tokio::select! {
            lowest = deleted.wait_deleted(offset, deadline) => lowest,
            _ = shutdown.wait_for(|stop| *stop) => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
        };
        match lowest {
            Ok(low_watermark) => result.low_watermark = low_watermark,
            Err(error_code) => *result = refused(result.partition_index, error_code),
        }
    }
    DeleteRecordsResponse { topics, ..Default::default() }
}

fn refused(partition_index: i32, error_code: ErrorCode) -> DeleteRecordsPartitionResult {
    DeleteRecordsPartitionResult {
        partition_index,
        low_watermark: -1,
        error_code,
        ..Default::default()
    }
}

/// Flushes where a directory's logs start.
async fn flush_starts(context: &Context, dir: Arc<LogDir>) -> Result<(), ErrorCode> {
    let services = Arc::clone(&context.services);
    let pool = context.services.replicas.disk_changes().of(&dir);
    pool.run(move || services.replicas.logs().flush_log_starts(&dir))
        .await
        .map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)?
        .map_err(|_| ErrorCode::KAFKA_STORAGE_ERROR)
}

async fn delete(
    context: &Context,
    topic: &str,
    index: i32,
    offset: i64,
) -> Result<(i64, Arc<Partition>), ErrorCode> {
    let (partition, may_delete) = {
        let table = context.services.replicas.topics();
        let known = table.by_name(topic).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        let partition = known.hosted(index)?;
        let config = &known.settings().log;
        (partition.clone(), config.delete || !config.compact)
    };
    if is_internal_topic(topic) {
        return Err(ErrorCode::INVALID_TOPIC_EXCEPTION);
    }
    partition.led_epoch().map_err(|_| partition.not_led_code())?;
    if !may_delete {
        // Compacted topics without "delete" keep all their keys.
        return Err(ErrorCode::POLICY_VIOLATION);
    }
    let log = partition.log.clone();
    let upto = if offset == HIGH_WATERMARK { log.high_watermark() } else { offset };
    if upto < 0 || upto > log.high_watermark() {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    let start = context
        .services
        .replicas
        .disk_changes()
        .of(partition.log.dir())
        .run(move || log.delete_records(upto))
        .await
        .map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)?
        .map_err(|error| error.code())?;
    Ok((start, partition))
}
