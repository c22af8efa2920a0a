//! Names of files and directories as Kafka has them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub(crate) const LOG: &str = ".log";
pub(crate) const INDEX: &str = ".index";
pub(crate) const TIME_INDEX: &str = ".timeindex";
pub(crate) const TXN_INDEX: &str = ".txnindex";
pub(crate) const SNAPSHOT: &str = ".snapshot";
pub(crate) const DELETED: &str = ".deleted";
pub(crate) const CLEANED: &str = ".cleaned";
pub(crate) const SWAP: &str = ".swap";

pub(crate) const LOCK: &str = ".lock";
pub(crate) const META_PROPERTIES: &str = "meta.properties";
pub(crate) const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";
pub(crate) const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
pub(crate) const HIGH_WATERMARKS: &str = "replication-offset-checkpoint";
pub(crate) const LOG_STARTS: &str = "log-start-offset-checkpoint";
pub(crate) const CLEANED_OFFSETS: &str = "cleaner-offset-checkpoint";
pub(crate) const LEADER_EPOCHS: &str = "leader-epoch-checkpoint";
/// File that says that this copy of a partition replaces the one in another log directory.
pub(crate) const REPLACES: &str = "replaces.directory";
/// File that names the topic of a partition by its id.
pub const PARTITION_METADATA: &str = "partition.metadata";

/// The topic of KRaft's metadata log, which is no ordinary partition.
pub const CLUSTER_METADATA_TOPIC: &str = "__cluster_metadata";

const MAX_FILE_NAME: usize = 255;

/// `<20 digits><suffix>` in `dir`.
pub(crate) fn segment_file(dir: &Path, base_offset: i64, suffix: &str) -> PathBuf {
    let mut name = String::with_capacity(40);
    let _ = write!(name, "{base_offset:020}{suffix}");
    dir.join(name)
}

/// The offset a file name begins with, and the rest from the first dot on.
pub(crate) fn split_offset(name: &str) -> Option<(i64, &str)> {
    let dot = name.find('.')?;
    let (digits, rest) = name.split_at(dot);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

/// What a directory inside a log directory is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum DirName {
    Partition(String, i32),
    /// Left from a deletion.
    Delete,
    /// Set aside because the cluster's metadata did not know it.
    Stray,
    /// A future replica: an unfinished move between log directories.
    Future(String, i32),
    /// None of Kafka's.
    Other,
}

pub(crate) fn parse_dir(name: &str) -> DirName {
    for suffix in ["-delete", "-stray", FUTURE] {
        if let Some(rest) = name.strip_suffix(suffix) {
            let partition = rest.rsplit_once('.').filter(|(_, unique)| !unique.is_empty());
            let partition = partition.and_then(|(partition, _)| parse_partition(partition));
            return match (suffix, partition) {
                (_, None) => DirName::Other,
                ("-delete", _) => DirName::Delete,
                ("-stray", _) => DirName::Stray,
                (_, Some((topic, partition))) => DirName::Future(topic.to_owned(), partition),
            };
        }
    }
    match parse_partition(name) {
        Some((topic, partition)) => DirName::Partition(topic.to_owned(), partition),
        None => DirName::Other,
    }
}

/// Whether a directory of that name inside a log directory is a partition's, other than the metadata
/// log's.
pub fn is_partition_dir(name: &str) -> bool {
    matches!(parse_dir(name), DirName::Partition(topic, _) if topic != CLUSTER_METADATA_TOPIC)
}

fn parse_partition(name: &str) -> Option<(&str, i32)> {
    let (topic, partition) = name.rsplit_once('-')?;
    if topic.is_empty() || partition.is_empty() || !partition.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((topic, partition.parse().ok()?))
}

/// Whether a topic's name can be part of a directory's: what Kafka allows topics to be called.
pub(crate) fn valid_topic(topic: &str) -> bool {
    !topic.is_empty()
        && topic != "."
        && topic != ".."
        && topic.len() <= 249
        && topic.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

pub(crate) fn partition_dir(topic: &str, partition: i32) -> String {
    format!("{topic}-{partition}")
}

/// `<topic>-<n>.<32 hex digits><suffix>`, the topic cut so that the name stays a file name.
pub(crate) fn marked_dir(topic: &str, partition: i32, unique: u128, suffix: &str) -> String {
    let tail = format!("-{partition}.{unique:032x}{suffix}");
    let mut keep = topic.len().min(MAX_FILE_NAME.saturating_sub(tail.len()));
    while !topic.is_char_boundary(keep) {
        keep -= 1;
    }
    format!("{}{tail}", &topic[..keep])
}

/// What a future replica's directory ends with.
pub(crate) const FUTURE: &str = "-future";

/// The directory of a future replica; `None` where the topic's name is too long for it (KAFKA-4893): it cannot be cut,
/// because it is read back from there.
pub(crate) fn future_dir(topic: &str, partition: i32, unique: u128) -> Option<String> {
    let name = marked_dir(topic, partition, unique, FUTURE);
    name.starts_with(&format!("{topic}-{partition}.")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_and_their_marked_forms() {
        assert_eq!(parse_dir("a-b-0"), DirName::Partition("a-b".into(), 0));
        assert_eq!(parse_dir("my.topic-12"), DirName::Partition("my.topic".into(), 12));
        assert_eq!(parse_dir("lost+found"), DirName::Other);
        assert_eq!(parse_dir("-3"), DirName::Other);
        assert_eq!(parse_dir("t-"), DirName::Other);
        assert_eq!(parse_dir("t-x"), DirName::Other);
        assert_eq!(parse_dir("t-99999999999"), DirName::Other);
        assert_eq!(parse_dir(&marked_dir("t", 3, 7, "-delete")), DirName::Delete);
        assert_eq!(parse_dir(&marked_dir("t", 3, 7, "-stray")), DirName::Stray);
        assert_eq!(parse_dir(&future_dir("t", 3, 7).unwrap()), DirName::Future("t".into(), 3));
        assert_eq!(parse_dir("t-3-future"), DirName::Other);
        assert_eq!(parse_dir("t-delete"), DirName::Other);
    }

    #[test]
    fn a_marked_name_is_never_longer_than_a_file_name() {
        let topic = "x".repeat(249);
        let name = marked_dir(&topic, 12_345, u128::MAX, "-delete");
        assert_eq!(name.len(), 255);
        assert!(name.ends_with("-12345.ffffffffffffffffffffffffffffffff-delete"));
    }

    #[test]
    fn a_future_replica_keeps_the_whole_name_of_its_topic() {
        assert_eq!(future_dir(&"x".repeat(213), 3, 7).map(|name| name.len()), Some(255));
        assert_eq!(future_dir(&"x".repeat(214), 3, 7), None);
    }

    #[test]
    fn offsets_of_files() {
        assert_eq!(split_offset("00000000000000000042.log"), Some((42, ".log")));
        assert_eq!(split_offset("00000000000000000042.log.deleted"), Some((42, ".log.deleted")));
        assert_eq!(split_offset("leader-epoch-checkpoint"), None);
        assert_eq!(split_offset("partition.metadata"), None);
        assert_eq!(split_offset("99999999999999999999.log"), None);
    }
}
