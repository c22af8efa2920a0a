//! DeleteRecords: moves the start of partitions.

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsTopicResult,
};
use thalweg_wire::messages::{DeleteRecordsRequest, DeleteRecordsResponse};

use crate::api::request::Context;
use thalweg_metadata::controller::is_internal_topic;

/// "Up to the high watermark."
const HIGH_WATERMARK: i64 = -1;

pub(super) async fn handle(
    context: Context,
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for wanted in topic.partitions {
            let result = delete(&context, &topic.name, wanted.partition_index, wanted.offset).await;
            partitions.push(match result {
                Ok(low_watermark) => DeleteRecordsPartitionResult {
                    partition_index: wanted.partition_index,
                    low_watermark,
                    ..Default::default()
                },
                Err(error_code) => DeleteRecordsPartitionResult {
                    partition_index: wanted.partition_index,
                    low_watermark: -1,
                    error_code,
                    ..Default::default()
                },
            });
        }
        topics.push(DeleteRecordsTopicResult {
            name: topic.name,
            partitions,
            ..Default::default()
        });
    }
    DeleteRecordsResponse { topics, ..Default::default() }
}

async fn delete(context: &Context, topic: &str, index: i32, offset: i64) -> Result<i64, ErrorCode> {
    let (partition, may_delete) = {
        let table = context.broker.topics();
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
    context
        .broker
        .disk_reads
        .of(partition.log.dir())
        .run(move || log.delete_records(upto))
        .await
        .map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)?
        .map_err(|error| error.code())
}
