//! OffsetForLeaderEpoch: where an epoch ended, for readers that check for truncation (KIP-320).

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderTopicResult,
};
use thalweg_wire::messages::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

use crate::api::context::Context;
use crate::replicas::partition::ReadFailure;

pub(super) async fn handle(
    context: Context,
    request: OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse {
    let table = context.services.replicas.topics();
    let topics = request
        .topics
        .into_iter()
        .map(|topic| {
            let known = table.by_name(&topic.topic);
            let partitions = topic
                .partitions
                .iter()
                .map(|wanted| {
                    let refuse = |error_code: ErrorCode| EpochEndOffset {
                        partition: wanted.partition,
                        error_code,
                        ..Default::default()
                    };
                    let hosted = known
                        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
                        .and_then(|topic| topic.hosted(wanted.partition));
                    let partition = match hosted {
                        Ok(partition) => partition,
                        Err(code) => return refuse(code),
                    };
                    if partition.log.dir().check().is_err() {
                        return refuse(ErrorCode::KAFKA_STORAGE_ERROR);
                    }
                    match partition.check_epoch(wanted.current_leader_epoch) {
                        Ok(_) => {}
                        Err(ReadFailure::NotLeader { .. }) => {
                            return refuse(ErrorCode::NOT_LEADER_OR_FOLLOWER);
                        }
                        Err(ReadFailure::Fenced { .. }) => {
                            return refuse(ErrorCode::FENCED_LEADER_EPOCH);
                        }
                        Err(ReadFailure::UnknownEpoch) => {
                            return refuse(ErrorCode::UNKNOWN_LEADER_EPOCH);
                        }
                        Err(ReadFailure::Log(error)) => return refuse(error.code()),
                    }
                    let (leader_epoch, end_offset) =
                        partition.log.end_offset_for_epoch(wanted.leader_epoch).unwrap_or((-1, -1));
                    EpochEndOffset {
                        partition: wanted.partition,
                        leader_epoch,
                        end_offset,
                        ..Default::default()
                    }
                })
                .collect();
            OffsetForLeaderTopicResult { topic: topic.topic, partitions, ..Default::default() }
        })
        .collect();
    OffsetForLeaderEpochResponse { topics, ..Default::default() }
}
