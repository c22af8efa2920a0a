//! Brokers' log directories, and moving replicas between them.

use std::collections::{BTreeMap, BTreeSet};

use thalweg_wire::ApiKey;
use thalweg_wire::messages::alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic,
};
use thalweg_wire::messages::describe_log_dirs_response::DescribeLogDirsResult;
use thalweg_wire::messages::{AlterReplicaLogDirsRequest, DescribeLogDirsRequest};

use super::attempt::{Answers, for_all, join};
use super::{Admin, AdminError, AdminFuture, Results};
use crate::core::partition::{TopicPartition, by_partition, by_topic};

/// A log directory of a broker.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogDir {
    /// Its path there.
    pub path: String,
    /// Why it cannot be used, where it cannot.
    pub error: Option<AdminError>,
    /// Size of its file system in bytes; not told by brokers before 3.3.
    pub total_bytes: Option<i64>,
    /// What is free of that.
    pub usable_bytes: Option<i64>,
    /// Whether nothing new is put there (KIP-1066).
    pub is_cordoned: bool,
    /// What is there.
    pub replicas: BTreeMap<TopicPartition, LogDirReplica>,
}

/// A replica in a log directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LogDirReplica {
    /// Bytes of its segments.
    pub size: i64,
    /// Records that it lacks, of what the leader or the replica it is to replace has.
    pub offset_lag: i64,
    /// Whether it is to replace one in another directory.
    pub is_future: bool,
}

/// A replica that is to go to another directory of its broker.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct ReplicaMove {
    /// The broker.
    pub broker: i32,
    /// The partition.
    pub partition: TopicPartition,
    /// The directory.
    pub path: String,
}

impl ReplicaMove {
    /// A broker's replica of a partition, to a log directory of that broker.
    pub fn new(broker: i32, partition: TopicPartition, path: impl Into<String>) -> ReplicaMove {
        ReplicaMove { broker, partition, path: path.into() }
    }
}

impl Admin {
    /// The log directories of brokers, by path; of all that are alive without `brokers`.
    pub fn describe_log_dirs(
        &self,
        brokers: Option<Vec<i32>>,
    ) -> AdminFuture<'_, Result<Results<i32, Vec<LogDir>>, AdminError>> {
        Box::pin(self.describe_log_dirs_inner(brokers))
    }

    async fn describe_log_dirs_inner(
        &self,
        brokers: Option<Vec<i32>>,
    ) -> Result<Results<i32, Vec<LogDir>>, AdminError> {
        let api = ApiKey::DESCRIBE_LOG_DIRS;
        let brokers = match brokers {
            Some(brokers) => brokers,
            None => self.broker_ids(api).await?,
        };
        let described = self.settle(api, brokers, |brokers, _| {
            let asking = brokers.into_iter().map(|broker| {
                let admin = self.clone();
                async move { (broker, admin.log_dirs_of(broker).await) }
            });
            join(asking.collect::<Vec<_>>())
        });
        Ok(described.await)
    }

    async fn log_dirs_of(&self, broker: i32) -> Result<Vec<LogDir>, AdminError> {
        let request = DescribeLogDirsRequest { topics: None, ..Default::default() };
        let response = self.cluster.send_to(broker, &request).await?;
        AdminError::check(ApiKey::DESCRIBE_LOG_DIRS, response.error_code, None)?;
        let mut dirs: Vec<LogDir> = response.results.into_iter().map(log_dir).collect();
        dirs.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(dirs)
    }

    /// Moves replicas to other directories of their brokers. It is accepted, not done, when this
    /// returns.
    pub fn alter_replica_log_dirs(
        &self,
        moves: impl IntoIterator<Item = ReplicaMove>,
    ) -> AdminFuture<'_, Results<ReplicaMove, ()>> {
        fn boxed(
            admin: &Admin,
            moves: Vec<ReplicaMove>,
        ) -> AdminFuture<'_, Results<ReplicaMove, ()>> {
            Box::pin(admin.alter_replica_log_dirs_inner(moves))
        }
        boxed(self, moves.into_iter().collect())
    }

    async fn alter_replica_log_dirs_inner(
        &self,
        moves: Vec<ReplicaMove>,
    ) -> Results<ReplicaMove, ()> {
        self.settle(ApiKey::ALTER_REPLICA_LOG_DIRS, moves, |moves, _| {
            let mut brokers: BTreeMap<i32, Vec<ReplicaMove>> = BTreeMap::new();
            for one in moves {
                brokers.entry(one.broker).or_default().push(one);
            }
            let asking = brokers
                .into_iter()
                .map(|(broker, moves)| self.clone().move_replicas_at(broker, moves));
            let asking: Vec<_> = asking.collect();
            async move { join(asking).await.into_iter().flatten().collect() }
        })
        .await
    }

    async fn move_replicas_at(
        self,
        broker: i32,
        moves: Vec<ReplicaMove>,
    ) -> Answers<ReplicaMove, ()> {
        let api = ApiKey::ALTER_REPLICA_LOG_DIRS;
        let mut seen = BTreeSet::new();
        if let Some(twice) = moves.iter().find(|one| !seen.insert(&one.partition)) {
            let reason = format!("{} is to go to two directories", twice.partition);
            return for_all(moves, AdminError::Invalid(reason));
        }
        let paths: BTreeSet<&str> = moves.iter().map(|one| one.path.as_str()).collect();
        let dirs = paths.into_iter().map(|path| {
            let to_there = moves.iter().filter(|one| one.path == path);
            let topics = by_topic(to_there.map(|one| &one.partition), |name, partitions| {
                AlterReplicaLogDirTopic { name, partitions, ..Default::default() }
            });
            AlterReplicaLogDir { path: path.to_owned(), topics, ..Default::default() }
        });
        let request = AlterReplicaLogDirsRequest { dirs: dirs.collect(), ..Default::default() };
        let response = match self.cluster.send_to(broker, &request).await {
            Ok(response) => response,
            Err(error) => return for_all(moves, error),
        };
        let mut codes = BTreeMap::new();
        for topic in response.results {
            for p in topic.partitions {
                codes.insert((topic.topic_name.clone(), p.partition_index), p.error_code);
            }
        }
        let answers = moves.into_iter().filter_map(|one| {
            let code = codes.get(&(one.partition.topic.to_string(), one.partition.partition))?;
            Some((one, AdminError::check(api, *code, None)))
        });
        answers.collect()
    }
}

fn log_dir(dir: DescribeLogDirsResult) -> LogDir {
    let told = |bytes: i64| (bytes >= 0).then_some(bytes);
    let topics = dir.topics.into_iter().map(|topic| (topic.name, topic.partitions));
    let replicas = by_partition(topics, |p| {
        let replica = LogDirReplica {
            size: p.partition_size,
            offset_lag: p.offset_lag,
            is_future: p.is_future_key,
        };
        (p.partition_index, replica)
    });
    LogDir {
        path: dir.log_dir,
        error: AdminError::check(ApiKey::DESCRIBE_LOG_DIRS, dir.error_code, None).err(),
        total_bytes: told(dir.total_bytes),
        usable_bytes: told(dir.usable_bytes),
        is_cordoned: dir.is_cordoned,
        replicas: replicas.into_iter().collect(),
    }
}
