//! Partitions that move to another log directory of this broker (AlterReplicaLogDirs, KIP-113).
//!
//! `thalweg_log` has the future replicas and what is done to them. Here is which of them there are, who works on them
//! and when: `plan` says what comes next, `throttle` how fast, `run` does it. The controller is told first where a
//! partition goes (KIP-858), and told back if it comes to nothing.

mod plan;
mod run;
mod throttle;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_log::{CreateError, Log, LogDir};
use thalweg_wire::{ErrorCode, Uuid};
use tokio::sync::Notify;

use crate::node::internal_topics::InternalTopic;
use crate::replicas::Replicas;
use crate::replicas::partition::Partition;
pub(crate) use run::run;
use throttle::MoveThrottle;

/// Topic and partition.
type Key = (Uuid, i32);

/// A partition that moves.
#[derive(Debug)]
struct Move {
    partition: Arc<Partition>,
    future: Arc<Log>,
    is_caught_up: bool,
    told_ms: Option<u64>,
    /// A thread works on it.
    is_busy: bool,
    /// What was lacking may be there by then.
    retry_ms: u64,
    /// It does not continue before it is asked for again, or the broker starts again.
    has_failed: bool,
}

/// All moves of a broker.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    moves: Mutex<Table>,
    throttle: Mutex<MoveThrottle>,
    /// Held while a request is carried out: one looks at what another one changes.
    altering: Mutex<()>,
    /// There is something to do.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    by_partition: BTreeMap<Key, Move>,
    /// The partition that had the last turn.
    last: Option<Key>,
}

/// What `/metrics` shows of moves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MoveFigures {
    /// Partitions that move.
    pub(crate) moving: usize,
    /// Those of them that are not gone on with.
    pub(crate) failed: usize,
    /// Records that the one lacks that lacks most.
    pub(crate) max_lag: i64,
}

impl Moves {
    /// A partition is served here whose move was begun, by this process or one before.
    pub(crate) fn found(&self, replicas: &Replicas, topic: Uuid, partition: &Arc<Partition>) {
        let future = replicas.logs().future(&partition.topic, partition.index);
        let Some(future) = future.filter(|it| it.topic_id() == Some(topic)) else { return };
        let key = (topic, partition.index);
        let mut table = self.moves.lock();
        let known = table.by_partition.get(&key);
        if known.is_some_and(|known| Arc::ptr_eq(&known.future, &future)) {
            return;
        }
        let told = assigned(replicas, key) == Some(future.dir().id());
        let told_ms = told.then(|| replicas.node.clock().monotonic_ms());
        let partition = Arc::clone(partition);
        table.by_partition.insert(
            key,
            Move {
                partition,
                future,
                is_caught_up: false,
                told_ms,
                is_busy: false,
                retry_ms: 0,
                has_failed: false,
            },
        );
        drop(table);
        self.changed.notify_waiters();
    }

    /// A partition is not here any more; its future replica goes with its log.
    pub(crate) fn forget(&self, topic: Uuid, index: i32) {
        self.moves.lock().by_partition.remove(&(topic, index));
    }

    /// Moves to or from directories that are offline come to nothing. To be called before these are reported to the
    /// controller: it looks for their partitions by what was reported. Gives the future replicas that are to be given up,
    /// on a thread that may wait: a thread whose disk hangs may work on them.
    pub(crate) fn give_up_offline(&self, replicas: &Replicas) -> Vec<Arc<Log>> {
        let mut back = Vec::new();
        let mut gone = Vec::new();
        {
            let mut table = self.moves.lock();
            table.by_partition.retain(|key, it| {
                let is_to_offline = it.future.dir().check().is_err();
                let is_from_offline = it.partition.log.dir().check().is_err();
                if (is_to_offline || is_from_offline) && it.told_ms.take().is_some() {
                    back.push((*key, it.partition.log.dir().id()));
                }
                it.has_failed |= is_from_offline;
                if is_to_offline {
                    gone.push(Arc::clone(&it.future));
                }
                !is_to_offline
            });
        }
        for ((topic, index), dir) in back {
            replicas.news.assign(topic, vec![(index, dir)]);
        }
        for future in &gone {
            tracing::error!(topic = %future.topic(), partition = future.partition(),
                to = %future.dir().path().display(),
                "the partition does not move: the directory is offline");
        }
        gone
    }

    /// For `/metrics`.
    pub(crate) fn figures(&self) -> MoveFigures {
        let table = self.moves.lock();
        let lag = |it: &Move| it.partition.log.log_end_offset() - it.future.log_end_offset();
        MoveFigures {
            moving: table.by_partition.len(),
            failed: table.by_partition.values().filter(|it| it.has_failed).count(),
            max_lag: table.by_partition.values().map(lag).max().unwrap_or(0).max(0),
        }
    }

    /// Ends a move, before its partition has moved.
    fn cancel(&self, replicas: &Replicas, key: Key, future: &Arc<Log>) -> Result<(), ErrorCode> {
        let removed = replicas.logs().remove_future(future, replicas.node.clock().wall_ms());
        let told = {
            let mut table = self.moves.lock();
            let is_it = |it: &Move| Arc::ptr_eq(&it.future, future);
            let known = table.by_partition.get(&key).is_some_and(is_it);
            let ended = if known { table.by_partition.remove(&key) } else { None };
            ended.filter(|it| it.told_ms.is_some()).map(|it| it.partition)
        };
        if let Some(partition) = told {
            replicas.news.assign(key.0, vec![(key.1, partition.log.dir().id())]);
        }
        removed.map(|_| ()).map_err(|_| ErrorCode::KAFKA_STORAGE_ERROR)
    }

    /// Tries again what has failed, from the log's beginning. Waits for disks.
    fn go_on(&self, replicas: &Replicas, key: Key) -> Result<(), ErrorCode> {
        let failed = {
            let table = self.moves.lock();
            let failed = table.by_partition.get(&key).filter(|it| it.has_failed);
            failed.map(|it| (Arc::clone(&it.partition), Arc::clone(&it.future)))
        };
        if let Some((partition, future)) = failed {
            let now_ms = replicas.node.clock().wall_ms();
            let resumed = replicas.logs().resume_move(&partition.log, &future, now_ms);
            resumed.map_err(|_| ErrorCode::KAFKA_STORAGE_ERROR)?;
            if let Some(it) = self.moves.lock().by_partition.get_mut(&key) {
                (it.has_failed, it.is_caught_up) = (false, false);
            }
        }
        self.changed.notify_waiters();
        Ok(())
    }
}

/// Where the metadata says that a partition is on this broker; `None` where it says nothing of directories.
fn assigned(replicas: &Replicas, (topic, index): Key) -> Option<Uuid> {
    let image = replicas.node.image();
    if !image.metadata_version().has_directory_assignment() {
        return None;
    }
    image.topics.partition(topic, index)?.directory(replicas.node.id())
}

impl Replicas {
    /// Whether a partition is on its way to where the metadata says that it is.
    pub(crate) fn is_moving_to(&self, topic: &str, index: i32, dir: Option<Uuid>) -> bool {
        let future = self.logs.future(topic, index);
        dir.is_some() && future.map(|future| future.dir().id()) == dir
    }

    /// Has a partition move to the log directory of this path, or go back to where it is. Waits for disks.
    ///
    /// # Errors
    /// As Kafka's brokers answer.
    pub(crate) fn alter_log_dir(
        &self,
        topic: &str,
        index: i32,
        path: &str,
    ) -> Result<(), ErrorCode> {
        let _one_at_a_time = self.moves.altering.lock();
        if !thalweg_log::can_be_future(topic, index) {
            return Err(ErrorCode::INVALID_TOPIC_EXCEPTION);
        }
        let dir = self.logs.dirs().iter().find(|dir| absolute(dir.path()) == path);
        let dir = dir.ok_or(ErrorCode::LOG_DIR_NOT_FOUND)?;
        dir.check().map_err(|_| ErrorCode::KAFKA_STORAGE_ERROR)?;
        if self.logs.is_cordoned(dir.id()) {
            return Err(ErrorCode::INVALID_REPLICA_ASSIGNMENT);
        }
        let hosted = {
            let table = self.topics();
            match table.by_name(topic).map(|known| (known.id, known.hosted(index).cloned())) {
                Some((id, Ok(partition))) => Some((id, partition)),
                Some((_, Err(ErrorCode::KAFKA_STORAGE_ERROR))) => {
                    return Err(ErrorCode::KAFKA_STORAGE_ERROR);
                }
                _ => None,
            }
        };
        let Some((id, partition)) = hosted else {
            self.logs.prefer_dir(topic, index, dir);
            let exists = self
                .node
                .image()
                .topics
                .by_name(topic)
                .is_some_and(|topic| topic.partitions.contains_key(&index));
            return Err(match exists {
                true => ErrorCode::REPLICA_NOT_AVAILABLE,
                false => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            });
        };
        partition.log.dir().check().map_err(|_| ErrorCode::KAFKA_STORAGE_ERROR)?;
        let key = (id, index);
        if let Some(future) = self.logs.future(topic, index)
            && !Arc::ptr_eq(future.dir(), dir)
        {
            self.moves.cancel(self, key, &future)?;
        }
        // After that: it may just have moved.
        if Arc::ptr_eq(partition.log.dir(), dir) {
            return Ok(());
        }
        let begun = self.logs.create_future(&partition.log, dir, self.node.clock().wall_ms());
        begun.map_err(|error| {
            tracing::warn!(topic, partition = index, to = path, %error, "the partition does not move");
            match error {
                CreateError::InvalidTopic(_) => ErrorCode::INVALID_TOPIC_EXCEPTION,
                _ => ErrorCode::KAFKA_STORAGE_ERROR,
            }
        })?;
        self.moves.found(self, id, &partition);
        self.moves.go_on(self, key)
    }
}

impl Replicas {
    /// Whether a log directory is offline.
    pub(crate) fn has_offline_dir(&self) -> bool {
        self.logs.dirs().iter().any(|dir| dir.check().is_err())
    }

    /// Ends moves from or to directories that went offline. A partition that has moved off such a directory comes online
    /// again.
    pub(crate) fn settle_moves(self: &Arc<Self>) {
        if !self.has_offline_dir() {
            return;
        }
        for topic in self.topics().iter() {
            topic.partitions().for_each(|partition| partition.come_online_if_moved());
        }
        // Not waited for: the failure is to be reported however long the disk hangs.
        for future in self.moves.give_up_offline(self) {
            let (replicas, pool) = (Arc::clone(self), self.disk_changes.of(future.dir()).clone());
            tokio::spawn(async move {
                // A later start finds what is left of it.
                let remove =
                    move || replicas.logs.remove_future(&future, replicas.node.clock().wall_ms());
                let _ = pool.run(remove).await;
            });
        }
    }

    /// Gives up the coordinators of partitions in directories that are offline: what cannot be written must not be
    /// answered for, and groups look for their coordinator again.
    pub(crate) fn resign_offline(&self) {
        let table = self.topics();
        for internal in InternalTopic::ALL {
            for partition in table.by_name(internal.name()).iter().flat_map(|t| t.partitions()) {
                if partition.log.dir().check().is_err() {
                    self.leadership.resigned(internal, partition.index, None);
                }
            }
        }
    }
}

/// A log directory as brokers name it to clients, and clients to brokers.
pub(crate) fn absolute(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    // As Java's File has it.
    let text = whole.display().to_string();
    match text.trim_end_matches('/') {
        "" => text,
        trimmed => trimmed.to_owned(),
    }
}

/// Threads that move replicas: one for each log directory, unless `num.replica.alter.log.dirs.threads` says otherwise.
pub(crate) fn threads(
    config: &thalweg_metadata::config::BrokerConfig,
    dirs: &[Arc<LogDir>],
) -> usize {
    let set = config.num_replica_alter_log_dirs_threads().and_then(|set| usize::try_from(set).ok());
    set.unwrap_or(dirs.len()).max(1)
}
