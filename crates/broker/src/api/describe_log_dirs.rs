//! DescribeLogDirs: what lies in which log directory, and how full the disks are.

use std::collections::{BTreeMap, HashSet};

use thalweg_wire::ErrorCode;
use thalweg_wire::grouped::by_topic;
use thalweg_wire::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use thalweg_wire::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse};

use crate::api::context::Context;
use crate::control::membership;

pub(super) async fn handle(
    context: Context,
    request: DescribeLogDirsRequest,
) -> DescribeLogDirsResponse {
    let wanted: Option<HashSet<(String, i32)>> = request.topics.map(|topics| {
        topics
            .into_iter()
            .flat_map(|t| t.partitions.into_iter().map(move |p| (t.topic.clone(), p)))
            .collect()
    });
    let services = std::sync::Arc::clone(&context.services);
    // Asks the file systems, which may be slow.
    let results = context.services.replicas.disk_reads().of_all().run(move || {
        let table = services.replicas.topics();
        let image = services.node.image();
        let has_cordoned_dirs = image.metadata_version().has_cordoned_dirs();
        // Features that this broker does not serve have all its directories cordoned.
        let levels = image.features.levels.iter().map(|(name, level)| (name.as_str(), *level));
        let is_joined = services.control.is_joined();
        let all_cordoned = is_joined && membership::must_be_cordoned(levels);
        let mut by_dir: BTreeMap<_, Vec<(String, DescribeLogDirsPartition)>> = BTreeMap::new();
        for topic in table.iter() {
            for partition in topic.partitions() {
                let named = wanted
                    .as_ref()
                    .is_none_or(|w| w.contains(&(topic.name.to_string(), partition.index)));
                if !named {
                    continue;
                }
                // The future replica first: should it be the log by then, it is told once, or as being both.
                let future = services.replicas.logs().future(&topic.name, partition.index);
                for (log, is_future_key) in
                    future.iter().map(|log| (log, true)).chain([(&partition.log, false)])
                {
                    let lag = match is_future_key {
                        true => partition.log.log_end_offset() - log.log_end_offset(),
                        false => 0,
                    };
                    let described = DescribeLogDirsPartition {
                        partition_index: partition.index,
                        partition_size: i64::try_from(log.size()).unwrap_or(i64::MAX),
                        offset_lag: lag,
                        is_future_key,
                        ..Default::default()
                    };
                    let in_dir = by_dir.entry(log.dir().path().to_path_buf()).or_default();
                    in_dir.push((topic.name.to_string(), described));
                }
            }
        }
        services
            .replicas
            .logs()
            .dirs()
            .iter()
            .map(|dir| {
                let log_dir = crate::replicas::moves::absolute(dir.path());
                let space = dir.check().ok().and_then(|()| rustix::fs::statvfs(dir.path()).ok());
                let Some(space) = space else {
                    return DescribeLogDirsResult {
                        error_code: ErrorCode::KAFKA_STORAGE_ERROR,
                        log_dir,
                        ..Default::default()
                    };
                };
                let bytes = |blocks: u64| {
                    i64::try_from(blocks.saturating_mul(space.f_frsize)).unwrap_or(i64::MAX)
                };
                let in_dir = by_dir.remove(dir.path()).unwrap_or_default();
                let topics = by_topic(in_dir, |name, partitions| DescribeLogDirsTopic {
                    name,
                    partitions,
                    ..Default::default()
                });
                DescribeLogDirsResult {
                    log_dir,
                    topics,
                    total_bytes: bytes(space.f_blocks),
                    usable_bytes: bytes(space.f_bavail),
                    is_cordoned: has_cordoned_dirs
                        && (all_cordoned || services.replicas.logs().is_cordoned(dir.id())),
                    ..Default::default()
                }
            })
            .collect()
    });
    match results.await {
        Ok(results) => DescribeLogDirsResponse { results, ..Default::default() },
        Err(_) => DescribeLogDirsResponse {
            error_code: ErrorCode::UNKNOWN_SERVER_ERROR,
            ..Default::default()
        },
    }
}
