//! The broker's configuration as the data path reads it: what is asked on every request stands
//! ready in its final form.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use thalweg_log::{CleanerConfig, LogDir};
use thalweg_metadata::config::BrokerConfig;
use thalweg_wire::Uuid;

/// A configuration and what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) config: BrokerConfig,
    pub(crate) fetch_max: usize,
    pub(crate) frame_max: usize,
    pub(crate) idle_max: Option<Duration>,
    /// Whether `group.coordinator.rebalance.protocols` names the consumer protocol (KIP-848).
    pub(crate) has_consumer_protocol: bool,
    /// Whether `replica.selector.class` has consumers read from replicas in their rack (KIP-392).
    pub(crate) selects_replicas_by_rack: bool,
}

impl Settings {
    pub(crate) fn new(config: BrokerConfig) -> Settings {
        let positive = |value: i32| usize::try_from(value).unwrap_or(0);
        Settings {
            fetch_max: positive(config.fetch_max_bytes()),
            frame_max: positive(config.socket_request_max_bytes()),
            idle_max: u64::try_from(config.connections_max_idle_ms())
                .ok()
                .map(Duration::from_millis),
            has_consumer_protocol: config
                .group_coordinator_rebalance_protocols()
                .iter()
                .any(|protocol| protocol == "consumer"),
            selects_replicas_by_rack: config.selects_replicas_by_rack(),
            config,
        }
    }
}

impl Deref for Settings {
    type Target = BrokerConfig;
    fn deref(&self) -> &BrokerConfig {
        &self.config
    }
}

/// Ids of the directories in `cordoned.log.dirs`, which get no new partitions (KIP-1066).
pub(crate) fn cordoned_dirs(dirs: &[Arc<LogDir>], config: &BrokerConfig) -> Vec<Uuid> {
    let named = config.cordoned_log_dirs();
    let is_named = |dir: &LogDir| named.iter().any(|name| Path::new(name) == dir.path());
    dirs.iter().filter(|dir| is_named(dir)).map(|dir| dir.id()).collect()
}

/// What the log cleaner goes by.
pub(crate) fn cleaner(config: &BrokerConfig) -> CleanerConfig {
    let count = |value: i32| usize::try_from(value).unwrap_or(0);
    CleanerConfig {
        threads: count(config.log_cleaner_threads()),
        dedupe_buffer_bytes: u64::try_from(config.log_cleaner_dedupe_buffer_size()).unwrap_or(0),
        load_factor: config.log_cleaner_io_buffer_load_factor(),
        io_buffer_bytes: count(config.log_cleaner_io_buffer_size()),
        io_max_bytes_per_second: config.log_cleaner_io_max_bytes_per_second(),
        backoff: Duration::from_millis(u64::try_from(config.log_cleaner_backoff_ms()).unwrap_or(0)),
    }
}

/// Bytes of requests that may be in memory when `queued.max.request.bytes` does not say: an eighth
/// of the machine's, but never less than a few of the largest frames.
pub(crate) fn request_memory(config: &BrokerConfig) -> usize {
    let frame = usize::try_from(config.socket_request_max_bytes()).unwrap_or(0);
    match usize::try_from(config.queued_max_request_bytes()) {
        Ok(limit) if limit > 0 => limit,
        _ => (physical_memory() / 8).clamp(2 * frame, 4 << 30),
    }
}

/// Bytes that fetches and the like may have in memory beside that, where other requests hold all of it: enough for the
/// requests of many followers.
pub(crate) fn request_reserve(config: &BrokerConfig) -> usize {
    (request_memory(config) / 16).clamp(4 << 20, 64 << 20)
}

/// Bytes that members of groups may leave behind: what they say when they join, and what they are
/// assigned. As much again as requests may hold, beside it: what waits for others must not hold
/// what those need to be heard.
pub(crate) fn group_memory(config: &BrokerConfig) -> usize {
    request_memory(config)
}

/// Bytes that fetches may hold in memory, a sixteenth of the machine's: copies of records in answers, and
/// what fetches of many partitions have while they wait, for data or for a disk. What does not fit is sent
/// from its file, which costs a system call more and no memory, or does not wait.
pub(crate) fn fetch_memory() -> usize {
    (physical_memory() / 16).clamp(16 << 20, 1 << 30)
}

/// Bytes that fetch sessions may hold, whatever `max.incremental.fetch.session.cache.slots` allows. A partition takes a
/// hundred to two hundred, so that 16 MiB are enough for 80 000 of them.
pub(crate) fn fetch_session_memory() -> usize {
    (physical_memory() / 256).clamp(16 << 20, 64 << 20)
}

fn physical_memory() -> usize {
    // From "MemTotal:  12345 kB"; a gigabyte where that cannot be read.
    std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
            line.split_whitespace().nth(1)?.parse::<usize>().ok()
        })
        .map_or(1 << 30, |kib| kib << 10)
}
