//! What the cleaner says of itself: figures of the last pass of each thread, under Kafka's names.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pass::Done;
use crate::partition::dir::LogDir;

/// What the cleaner says of itself, under Kafka's names: of the last pass of each thread.
#[derive(Clone, PartialEq, Debug)]
pub struct CleanerMetrics {
    /// `max-dirty-percent`: of the log that needed it most.
    pub max_dirty_percent: u32,
    /// `cleaner-recopy-percent`: bytes written of bytes read.
    pub recopy_percent: u32,
    /// `max-clean-time-secs`
    pub max_clean_time_secs: u64,
    /// `max-buffer-utilization-percent`
    pub max_buffer_utilization_percent: u32,
    /// `max-compaction-delay-secs`: by how much `max.compaction.lag.ms` was passed.
    pub max_compaction_delay_secs: u64,
    /// `DeadThreadCount`
    pub dead_threads: u64,
    /// `time-since-last-run-ms`
    pub time_since_last_run_ms: u64,
    /// Of each log directory.
    pub dirs: Vec<DirCleanerMetrics>,
}

/// What cannot be compacted in a log directory.
#[derive(Clone, PartialEq, Debug)]
pub struct DirCleanerMetrics {
    /// As configured.
    pub path: PathBuf,
    /// `uncleanable-partitions-count`
    pub uncleanable_partitions: u64,
    /// `uncleanable-bytes`: as of when a log was last chosen.
    pub uncleanable_bytes: u64,
}

/// Of all threads of a cleaner.
pub(super) struct Figures {
    pub(super) dirtiest_ratio: f64,
    pub(super) last_run: Instant,
    pub(super) dead_threads: u64,
    /// Of the last pass of each thread.
    passes: Vec<LastPass>,
    /// Of each directory.
    pub(super) uncleanable_bytes: Vec<u64>,
}

#[derive(Clone, Copy, Default)]
struct LastPass {
    bytes_read: u64,
    bytes_written: u64,
    took: Duration,
    map_utilization: f64,
    delay_ms: i64,
}

impl Figures {
    pub(super) fn new(dirs: usize) -> Figures {
        Figures {
            dirtiest_ratio: 0.0,
            last_run: Instant::now(),
            dead_threads: 0,
            passes: Vec::new(),
            uncleanable_bytes: vec![0; dirs],
        }
    }

    /// Takes notice of a pass of a thread.
    pub(super) fn note(&mut self, number: usize, done: &Done, took: Duration, delay_ms: i64) {
        let count = self.passes.len().max(number + 1);
        self.passes.resize(count, LastPass::default());
        if let Some(pass) = self.passes.get_mut(number) {
            *pass = LastPass {
                bytes_read: done.tally.bytes_read,
                bytes_written: done.tally.bytes_written,
                took,
                map_utilization: done.map_utilization,
                delay_ms,
            };
        }
    }

    /// The figures now, with the logs that were given up in each directory.
    pub(super) fn metrics(&self, dirs: &[Arc<LogDir>], uncleanable: &[u64]) -> CleanerMetrics {
        let passes = || self.passes.iter();
        let read: u64 = passes().map(|pass| pass.bytes_read).sum();
        let written: u64 = passes().map(|pass| pass.bytes_written).sum();
        let utilization = passes().map(|pass| pass.map_utilization).fold(0.0, f64::max);
        let delay_ms = passes().map(|pass| pass.delay_ms).max().unwrap_or(0);
        let since = self.last_run.elapsed().as_millis();
        let dirs = dirs.iter().zip(uncleanable).zip(&self.uncleanable_bytes);
        CleanerMetrics {
            max_dirty_percent: (100.0 * self.dirtiest_ratio) as u32,
            recopy_percent: (100.0 * written as f64 / read.max(1) as f64) as u32,
            max_clean_time_secs: passes().map(|pass| pass.took.as_secs()).max().unwrap_or(0),
            max_buffer_utilization_percent: (100.0 * utilization) as u32,
            max_compaction_delay_secs: u64::try_from(delay_ms / 1000).unwrap_or(0),
            dead_threads: self.dead_threads,
            time_since_last_run_ms: u64::try_from(since).unwrap_or(u64::MAX),
            dirs: dirs
                .map(|((dir, uncleanable_partitions), bytes)| DirCleanerMetrics {
                    path: dir.path().to_path_buf(),
                    uncleanable_partitions: *uncleanable_partitions,
                    uncleanable_bytes: *bytes,
                })
                .collect(),
        }
    }
}
