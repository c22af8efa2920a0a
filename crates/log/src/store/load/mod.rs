//! Taking a partition's directory into use, after a clean stop or after a crash.
//!
//! After a crash every batch from the segment of the recovery point on is checked (framing, CRC,
//! order of offsets), the log ends before the first bad one, and the indexes of these segments are
//! built again. What lies before is trusted as far as Kafka trusts it: an index that is missing or
//! does not fit its log is built again, too, when it is first needed.

mod files;
mod recovery;

use std::io;
use std::path::Path;
use std::sync::Arc;

use files::{
    Files, list_files, read_replaced_dir, read_topic_id, remove_segment, remove_stray_snapshots,
};
use recovery::Recovery;

use crate::format::checkpoint;
use crate::format::epochs::Epochs;
use crate::format::lookup::Floor;
use crate::format::walk::{Walk, WalkError};
use crate::fs::disk::{Mode, is_exhausted};
use crate::fs::names;
use crate::fs::wait::Wait;
use crate::partition::config::LogConfig;
use crate::partition::dir::LogDir;
use crate::partition::error::StorageError;
use crate::partition::home::Home;
use crate::partition::log::{Loaded, Log};
use crate::partition::producers::ProducerState;
use crate::partition::replay::{rebuild_producers, take_snapshot};
use crate::partition::segment::{Segment, SegmentConfig};

/// What is known of a partition before its directory is looked at.
#[derive(Clone)]
pub(crate) struct LoadInput {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    pub(crate) config: Arc<LogConfig>,
    pub(crate) log_start_offset: i64,
    pub(crate) recovery_point: i64,
    pub(crate) high_watermark: i64,
    pub(crate) cleaned_offset: Option<i64>,
    pub(crate) clean: bool,
    /// Its owner looks after the log (`LogManager::open_unmanaged`): the file that is appended to stays open, and a segment
    /// is flushed before the next one begins.
    pub(crate) is_unmanaged: bool,
    pub(crate) now_ms: i64,
}

/// What loading did.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LoadStats {
    /// Segments that were checked batch by batch.
    pub recovered_segments: u64,
    /// Their bytes.
    pub recovered_bytes: u64,
    /// Bytes that were cut off because they are no batches.
    pub truncated_bytes: u64,
    /// Bytes of zeros behind the last batch that were cut off: what was preallocated, or written to
    /// and never flushed.
    pub zeroed_bytes: u64,
    /// Partitions whose leader epochs were collected from their batches, because the checkpoint had
    /// not been written yet.
    pub epochs_collected: u64,
}

impl LoadStats {
    pub(crate) fn add(&mut self, other: &LoadStats) {
        self.recovered_segments += other.recovered_segments;
        self.recovered_bytes += other.recovered_bytes;
        self.truncated_bytes += other.truncated_bytes;
        self.zeroed_bytes += other.zeroed_bytes;
        self.epochs_collected += other.epochs_collected;
    }
}

/// Why a partition was not loaded.
#[derive(Debug)]
pub(crate) enum LoadError {
    Storage(StorageError),
    /// The directory is in order, but not something that can be served.
    Refused(String),
}

enum Inner {
    Io(io::Error),
    Refused(String),
}

impl From<io::Error> for Inner {
    fn from(error: io::Error) -> Inner {
        Inner::Io(error)
    }
}

/// Loads the partition in `path`, or makes it there.
pub(crate) fn load(
    dir: &Arc<LogDir>,
    path: &Path,
    input: LoadInput,
) -> Result<(Arc<Log>, LoadStats), LoadError> {
    let home = Arc::new(Home::new(dir, path, input.is_unmanaged));
    let mut stats = LoadStats::default();
    match load_inner(&home, path, input, &mut stats) {
        Ok(log) => {
            dir.metrics.recovered_bytes.add(stats.recovered_bytes);
            dir.metrics.truncated_bytes.add(stats.truncated_bytes);
            Ok((log, stats))
        }
        // A load that could not open something is repeated from the beginning: what it has written is
        // what it would write again.
        Err(Inner::Io(error)) => Err(LoadError::Storage(dir.failure_of("load", path, &error))),
        Err(Inner::Refused(reason)) => Err(LoadError::Refused(reason)),
    }
}

fn load_inner(
    home: &Arc<Home>,
    path: &Path,
    input: LoadInput,
    stats: &mut LoadStats,
) -> Result<Arc<Log>, Inner> {
    let disk = &home.dir.disk;
    let files = list_files(home, path)?;
    let topic_id = if files.has_metadata { read_topic_id(home, path)? } else { None };
    let replaces = if files.has_replaces { read_replaced_dir(home, path)? } else { None };
    let segment_config = SegmentConfig::of(&input.config, input.now_ms);

    let mut segments = Vec::with_capacity(files.logs.len().max(1));
    let mut clean = input.clean;
    let mut recovery_point = input.recovery_point;
    for &base in &files.logs {
        let log_path = names::segment_file(path, base, names::LOG);
        let size = disk.len(&log_path)?.unwrap_or(0);
        let size =
            u32::try_from(size).ok().filter(|&size| size <= i32::MAX as u32).ok_or_else(|| {
                Inner::Refused(format!("{} has {size} bytes, too many", log_path.display()))
            })?;
        let segment = Segment::found(home, base, size, &segment_config);
        let has = |list: &[i64]| list.binary_search(&base).is_ok();
        segment.found_txn_index(has(&files.txns));
        // By a process that died, perhaps; and a clean stop does not sync what has no records.
        if !input.clean || size == 0 {
            segment.note_new_file();
        }
        if size == 0 {
            segment.reset_index();
            if has(&files.indexes) && has(&files.times) {
                segment.note_index_synced();
            }
        } else if !has(&files.indexes) || !has(&files.times) {
            if clean || base < recovery_point {
                tracing::warn!(path = %log_path.display(), "index is missing and built again");
            }
            if clean || segments_end_before(&files.logs, base, recovery_point) {
                segment.rebuild_index(&*segment.open_briefly()?)?;
            }
        }
        if !segment.txn_index_is_sane()? {
            tracing::warn!(path = %log_path.display(), "transaction index does not fit its log");
            clean = false;
            recovery_point = recovery_point.min(base);
        }
        segments.push(segment);
    }

    let mut epochs = load_epochs(home, path, &files, &segments, stats)?;
    let mut snapshots = files.snapshots;
    let newest_found = snapshots.last().copied();
    let mut end_offset = None;
    if clean && let Some(last) = segments.last() {
        match clean_end(last)? {
            Some(end) => end_offset = Some(end),
            None => {
                tracing::warn!(path = %last.file_path(names::LOG).display(),
                    "the log does not end with a whole batch although it was closed cleanly");
                clean = false;
                recovery_point = recovery_point.min(last.base_offset);
            }
        }
    }
    let mut producers = None;
    if end_offset.is_none() && !segments.is_empty() {
        let mut recovery = Recovery {
            home,
            path,
            input: &input,
            stats,
            epochs: &mut epochs,
            snapshots: &mut snapshots,
        };
        let (end, state) = recovery.run(&mut segments, recovery_point)?;
        end_offset = Some(end);
        producers = Some(state);
    }

    if let Some(end) = end_offset
        && end < input.log_start_offset
    {
        tracing::warn!(path = %path.display(), log_end_offset = end,
            log_start_offset = input.log_start_offset,
            "the log ends before it starts; its segments are deleted");
        for segment in segments.drain(..) {
            remove_segment(home, &segment)?;
        }
        for at in snapshots.drain(..) {
            disk.remove_file(&names::segment_file(path, at, names::SNAPSHOT))?;
        }
        epochs.clear();
        producers = None;
        end_offset = None;
    }
    if segments.is_empty() {
        let segment = Segment::new(home, input.log_start_offset, &segment_config);
        segment.create_file(input.config.preallocate.then(|| input.config.segment_limit()))?;
        if input.log_start_offset > 0 {
            // What was removed must not come back behind it, nor the log begin at 0 again.
            disk.sync_dir(path)?;
        }
        segments.push(segment);
    }
    let end_offset = end_offset.unwrap_or(input.log_start_offset);
    let first = segments.first().map_or(0, |segment| segment.base_offset);
    let log_start_offset = input.log_start_offset.max(first);

    epochs.truncate_from_end(end_offset);
    epochs.truncate_from_start(input.log_start_offset);
    if !epochs.file_covers(end_offset) {
        // Not synced, which a flush or a clean stop makes up for. Until then a power cut leaves
        // the old file, the new one, or one that is empty, which is not believed.
        let file_path = path.join(names::LEADER_EPOCHS);
        if segments.iter().all(|segment| segment.size() == 0) && !files.has_epochs {
            disk.open(&file_path, Mode::Create)?;
        } else {
            disk.replace_unsynced(&file_path, &checkpoint::format_epochs(epochs.entries()))?;
        }
        epochs.written(epochs.entries().to_vec(), false);
    }

    remove_stray_snapshots(home, path, &segments, &mut snapshots)?;
    let expiration = home.dir.producer_expiration_ms();
    let producers = match producers {
        Some(state) => state,
        None if snapshots.is_empty() => {
            // As after a clean stop of a log without producers.
            let mut state = ProducerState::default();
            (state.map_end_offset, state.last_snapshot_offset) = (end_offset, end_offset);
            if end_offset > log_start_offset {
                take_snapshot(home, path, &mut state, &mut snapshots, -1)?;
            }
            state
        }
        None => rebuild_producers(
            home,
            &segments,
            &mut snapshots,
            log_start_offset,
            end_offset,
            input.now_ms,
            expiration,
        )?,
    };
    if let Some(active) = segments.last() {
        active.load_first_timestamp()?;
    }

    let recovery_point = if clean { end_offset } else { recovery_point.min(end_offset) };
    segments.shrink_to_fit();
    let snapshot_unsynced = !input.clean || snapshots.last().copied() != newest_found;
    Log::new(Loaded {
        topic: input.topic,
        partition: input.partition,
        topic_id,
        home: home.clone(),
        config: input.config,
        segments,
        log_start_offset,
        end_offset,
        high_watermark: input.high_watermark,
        recovery_point,
        epochs,
        producers,
        snapshots,
        unsynced: !input.clean,
        snapshot_unsynced,
        cleaned_offset: input.cleaned_offset,
        replaces,
        now_ms: input.now_ms,
    })
    .ok_or_else(|| Inner::Refused("the log has no segment".into()))
}

/// Whether the segment at `base` is followed by one that begins at or before `offset`: then it
/// will not be scanned by recovery.
fn segments_end_before(bases: &[i64], base: i64, offset: i64) -> bool {
    let next = bases.partition_point(|&other| other <= base);
    bases.get(next).is_some_and(|&next| next <= offset)
}

fn load_epochs(
    home: &Arc<Home>,
    path: &Path,
    files: &Files,
    segments: &[Arc<Segment>],
    stats: &mut LoadStats,
) -> Result<Epochs, Inner> {
    let bytes = match files.has_epochs {
        true => home.dir.disk.read_small(&path.join(names::LEADER_EPOCHS))?.unwrap_or_default(),
        false => Vec::new(),
    };
    let has_batches = segments.iter().any(|segment| segment.size() > 0);
    let parsed = match checkpoint::parse_epochs(&bytes) {
        // A file that says that there are none says so. This is what a power cut leaves.
        Ok(none) if none.is_empty() && has_batches && bytes != checkpoint::format_epochs(&[]) => {
            Err("leader epoch checkpoint is empty".into())
        }
        Ok(_) if !files.has_epochs => return Ok(Epochs::default()),
        parsed => parsed,
    };
    match parsed {
        Ok(entries) => Ok(Epochs::from_file(entries)),
        Err(reason) => {
            if bytes.iter().all(|&byte| byte == 0) {
                // A partition that was not flushed before the broker died, like any young one.
                stats.epochs_collected += 1;
            } else {
                tracing::warn!(path = %path.display(), reason,
                    "leader epochs are collected from the batches again");
            }
            let mut epochs = Epochs::default();
            for segment in segments {
                let file = segment.open_briefly()?;
                let mut walk = Walk::new(&file, 0, segment.size(), Wait::Allowed);
                loop {
                    match walk.next() {
                        Ok(Some(head)) => {
                            if epochs.latest().is_none_or(|(epoch, _)| head.leader_epoch > epoch) {
                                epochs.assign(head.leader_epoch, head.base_offset);
                            }
                        }
                        // What is not read now would be taken for all there is at the next start.
                        Err(WalkError::Io(error)) => return Err(error.into()),
                        // Damage is recovery's business.
                        Ok(None) | Err(_) => break,
                    }
                }
            }
            Ok(epochs)
        }
    }
}

/// The offset after the last batch of a cleanly closed segment; `None` if it does not end with a
/// whole batch.
fn clean_end(last: &Arc<Segment>) -> io::Result<Option<i64>> {
    let size = last.size();
    if size == 0 {
        return Ok(Some(last.base_offset));
    }
    last.ensure_index()?;
    let file = last.open_briefly()?;
    let entry = last.with_index(|index, paths| {
        index.floor_entry(Floor::Offset(i64::MAX), paths, Wait::Allowed)
    });
    let entry = match entry {
        Ok(entry) => entry,
        Err(WalkError::Io(error)) if is_exhausted(&error) => return Err(error),
        Err(_) => return Ok(None),
    };
    let from = entry.map_or(0, |(_, position)| position);
    let mut walk = Walk::new(&file, from, size, Wait::Allowed);
    let mut end = None;
    while let Ok(head) = walk.next() {
        match head {
            Some(head) => end = Some(head.last_offset + 1),
            None => break,
        }
    }
    Ok(end.filter(|_| walk.position() == size))
}
