//! DescribeProducers: the producers a partition remembers (KIP-664).

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::describe_producers_response::{
    PartitionResponse, ProducerState, TopicResponse,
};
use thalweg_wire::messages::{DescribeProducersRequest, DescribeProducersResponse};

use crate::api::context::Context;
use crate::replicas::Replicas;
use thalweg_metadata::controller::is_legal_topic_name;

pub(super) async fn handle(
    context: Context,
    request: DescribeProducersRequest,
) -> DescribeProducersResponse {
    let replicas = std::sync::Arc::clone(&context.services.replicas);
    // Takes the partitions' locks, which an append holds while it writes.
    let described =
        context.services.replicas.disk_reads().of_all().run(move || describe(&replicas, request));
    described.await.unwrap_or_default()
}

fn describe(replicas: &Replicas, request: DescribeProducersRequest) -> DescribeProducersResponse {
    let table = replicas.topics();
    let topics = request
        .topics
        .into_iter()
        .map(|topic| {
            let known = table.by_name(&topic.name);
            let partitions = topic
                .partition_indexes
                .iter()
                .map(|&partition_index| {
                    let refuse = |error_code: ErrorCode| PartitionResponse {
                        partition_index,
                        error_code,
                        ..Default::default()
                    };
                    if !is_legal_topic_name(&topic.name) {
                        return refuse(ErrorCode::INVALID_TOPIC_EXCEPTION);
                    }
                    let hosted = known
                        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
                        .and_then(|topic| topic.hosted(partition_index));
                    let partition = match hosted {
                        Ok(partition) => partition,
                        Err(code) => return refuse(code),
                    };
                    // Followers answer, too: `kafka-transactions.sh` asks them with --broker-id.
                    if partition.log.dir().check().is_err() {
                        return refuse(ErrorCode::KAFKA_STORAGE_ERROR);
                    }
                    let active_producers = partition
                        .log
                        .active_producers()
                        .into_iter()
                        .map(|producer| ProducerState {
                            producer_id: producer.producer_id,
                            producer_epoch: i32::from(producer.producer_epoch),
                            last_sequence: producer.last_sequence,
                            last_timestamp: producer.last_timestamp,
                            coordinator_epoch: producer.coordinator_epoch,
                            current_txn_start_offset: producer.txn_start_offset,
                            ..Default::default()
                        })
                        .collect();
                    PartitionResponse { partition_index, active_producers, ..Default::default() }
                })
                .collect();
            TopicResponse { name: topic.name, partitions, ..Default::default() }
        })
        .collect();
    DescribeProducersResponse { topics, ..Default::default() }
}
