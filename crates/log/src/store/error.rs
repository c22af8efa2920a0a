//! Why log directories or partitions cannot be opened or made.

use std::path::PathBuf;

use crate::partition::error::StorageError;

/// Why log directories could not be taken into use at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No log directory is usable.
    #[error("none of the log directories can be used: {0}")]
    NoUsableDirectory(String),
    /// The same directory is named twice.
    #[error("log directory {0} is named twice")]
    Duplicate(PathBuf),
    /// The system has no descriptor or no memory for what has to be opened.
    #[error("log directory {dir} cannot be opened now: {reason}")]
    Exhausted {
        /// The log directory.
        dir: PathBuf,
        /// What could not be opened, and why.
        reason: String,
    },
    /// Another process holds the directory.
    #[error("log directory {0} is in use by another process (its .lock file is locked)")]
    Locked(PathBuf),
    /// `meta.properties` says that the directory belongs to something else.
    #[error("{path}: {reason}")]
    MetaProperties {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// Two directories hold the same partition.
    #[error("partition {topic}-{partition} is in both {first} and {second}; remove one of the two")]
    PartitionTwice {
        /// Topic.
        topic: String,
        /// Partition.
        partition: i32,
        /// One place.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
}

/// Why a partition's log could not be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There is such a log, with another topic id.
    #[error("the log of {topic}-{partition} has topic id {found}, not {expected}")]
    InconsistentTopicId {
        /// Topic.
        topic: String,
        /// Partition.
        partition: i32,
        /// In `partition.metadata`.
        found: thalweg_wire::Uuid,
        /// Asked for.
        expected: thalweg_wire::Uuid,
    },
    /// No directory has this id.
    #[error("no log directory has id {0}")]
    UnknownDirectory(thalweg_wire::Uuid),
    /// The topic's name cannot be a directory's.
    #[error("{0:?} cannot be a topic's name")]
    InvalidTopic(String),
    /// What is there cannot be loaded.
    #[error("cannot load {path}: {reason}")]
    Load {
        /// The partition's directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl OpenError {
    pub(crate) fn exhausted(failure: &StorageError) -> OpenError {
        OpenError::Exhausted { dir: failure.dir.clone(), reason: failure.reason.to_string() }
    }
}
