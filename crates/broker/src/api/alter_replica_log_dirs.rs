//! AlterReplicaLogDirs: replicas of this broker go to other log directories.

use std::collections::BTreeMap;

use thalweg_wire::ErrorCode;
use thalweg_wire::messages::alter_replica_log_dirs_response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult,
};
use thalweg_wire::messages::{AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse};

use crate::api::context::Context;

pub(super) async fn handle(
    context: Context,
    request: AlterReplicaLogDirsRequest,
) -> AlterReplicaLogDirsResponse {
    // Where a partition is named twice, the last one counts, as in Kafka.
    let mut wanted: BTreeMap<(String, i32), String> = BTreeMap::new();
    for dir in request.dirs {
        for topic in dir.topics {
            for partition in topic.partitions {
                wanted.insert((topic.name.clone(), partition), dir.path.clone());
            }
        }
    }
    let replicas = std::sync::Arc::clone(&context.services.replicas);
    let named: Vec<(String, i32)> = wanted.keys().cloned().collect();
    // Makes directories and files, on several disks.
    let altered = context.services.replicas.disk_moves().of_all().run(move || {
        let alter = |((topic, index), path): ((String, i32), String)| {
            let code =
                replicas.alter_log_dir(&topic, index, &path).err().unwrap_or(ErrorCode::NONE);
            ((topic, index), code)
        };
        wanted.into_iter().map(alter).collect::<Vec<_>>()
    });
    let altered = altered.await.unwrap_or_else(|_| {
        named.into_iter().map(|key| (key, ErrorCode::UNKNOWN_SERVER_ERROR)).collect()
    });
    let mut results: Vec<AlterReplicaLogDirTopicResult> = Vec::new();
    for ((topic_name, partition_index), error_code) in altered {
        if results.last().is_none_or(|last| last.topic_name != topic_name) {
            results.push(AlterReplicaLogDirTopicResult { topic_name, ..Default::default() });
        }
        if let Some(topic) = results.last_mut() {
            topic.partitions.push(AlterReplicaLogDirPartitionResult {
                partition_index,
                error_code,
                ..Default::default()
            });
        }
    }
    AlterReplicaLogDirsResponse { results, ..Default::default() }
}
