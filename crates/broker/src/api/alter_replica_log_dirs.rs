//! AlterReplicaLogDirs: replicas of this broker go to other log directories.

use std::collections::BTreeMap;

use thalweg_wire::ErrorCode;
use thalweg_wire::grouped::by_sorted_topic;
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
    let results = altered.into_iter().map(|((topic_name, partition_index), error_code)| {
        let partition =
            AlterReplicaLogDirPartitionResult { partition_index, error_code, ..Default::default() };
        (topic_name, partition)
    });
    let results = by_sorted_topic(results, |topic_name, partitions| {
        AlterReplicaLogDirTopicResult { topic_name, partitions, ..Default::default() }
    });
    AlterReplicaLogDirsResponse { results, ..Default::default() }
}
