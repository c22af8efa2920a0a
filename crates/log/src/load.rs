//! Taking a partition's directory into use, after a clean stop or after a crash.
//!
//! After a crash every batch from the segment of the recovery point on is checked (framing, CRC,
//! order of offsets), the log ends before the first bad one, and the indexes of these segments are
//! built again. What lies before is trusted as far as Kafka trusts it: an index that is missing or
//! does not fit its log is built again, too, when it is first needed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use thalweg_wire::Uuid;

use crate::change::note_snapshot;
use crate::checkpoint;
use crate::config::LogConfig;
use crate::dir::LogDir;
use crate::disk::{Mode, is_exhausted};
use crate::epochs::Epochs;
use crate::error::StorageError;
use crate::flush::write_snapshot;
use crate::log::{Loaded, Log};
use crate::lookup::Floor;
use crate::names;
use crate::producer_snapshot;
use crate::producers::{Judgement, ProducerState, Updates, Verdict, is_expired};
use crate::read::floor_segment;
use crate::scan::{Scan, ScanError};
use crate::segment::{Home, Segment, SegmentConfig};
use crate::txn_index::AbortedTxn;
use crate::walk::{BatchHead, Wait, Walk, WalkError};

/// What is known of a partition before its directory is looked at.
#[derive(Clone)]
pub(crate) struct LoadInput {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    pub(crate) config: Arc<LogConfig>,
    pub(crate) log_start_offset: i64,
    pub(crate) recovery_point: i64,
    pub(crate) high_watermark: i64,
    pub(crate) clean: bool,
    /// The active segment's file stays open.
    pub(crate) keeps_open: bool,
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
    /// and never brought to the disk.
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
    let home = Arc::new(Home {
        dir: dir.clone(),
        keeps_open: input.keeps_open,
        path: parking_lot::RwLock::new(path.into()),
    });
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

/// What a directory of a partition holds.
#[derive(Default)]
struct Files {
    /// Base offsets of `.log` files.
    logs: Vec<i64>,
    indexes: Vec<i64>,
    times: Vec<i64>,
    txns: Vec<i64>,
    snapshots: Vec<i64>,
    has_epochs: bool,
    has_metadata: bool,
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
        segment.has_txn_index.store(has(&files.txns), Ordering::Relaxed);
        // By a process that died, perhaps; and a clean stop does not sync what has no records.
        if !input.clean || size == 0 {
            segment.note_new_file();
        }
        if size == 0 {
            let mut index = segment.index.lock();
            index.reset();
            if has(&files.indexes) && has(&files.times) {
                index.mark_synced();
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

/// Tidies up what an interrupted compaction or deletion left, and lists the rest.
fn list_files(home: &Arc<Home>, path: &Path) -> Result<Files, Inner> {
    let disk = &home.dir.disk;
    let mut names_found: Vec<String> = disk
        .list(path)?
        .into_iter()
        .filter(|entry| !entry.is_dir)
        .map(|entry| entry.name)
        .collect();
    if names_found.iter().any(|name| {
        [names::DELETED, names::CLEANED, names::SWAP].iter().any(|suffix| name.ends_with(suffix))
    }) {
        tidy(home, path, &names_found)?;
        names_found = disk
            .list(path)?
            .into_iter()
            .filter(|entry| !entry.is_dir)
            .map(|entry| entry.name)
            .collect();
    }
    let mut files = Files::default();
    for name in &names_found {
        match name.as_str() {
            names::LEADER_EPOCHS => files.has_epochs = true,
            names::PARTITION_METADATA => files.has_metadata = true,
            _ => {}
        }
        if let Some((offset, suffix)) = names::split_offset(name) {
            match suffix {
                names::LOG => files.logs.push(offset),
                names::INDEX => files.indexes.push(offset),
                names::TIME_INDEX => files.times.push(offset),
                names::TXN_INDEX => files.txns.push(offset),
                names::SNAPSHOT => files.snapshots.push(offset),
                _ => {}
            }
        }
    }
    for list in [
        &mut files.logs,
        &mut files.indexes,
        &mut files.times,
        &mut files.txns,
        &mut files.snapshots,
    ] {
        list.sort_unstable();
    }
    for (list, suffix) in [
        (&mut files.indexes, names::INDEX),
        (&mut files.times, names::TIME_INDEX),
        (&mut files.txns, names::TXN_INDEX),
    ] {
        let mut orphans = Vec::new();
        list.retain(|offset| {
            let owned = files.logs.binary_search(offset).is_ok();
            if !owned {
                orphans.push(*offset);
            }
            owned
        });
        for offset in orphans {
            let orphan = names::segment_file(path, offset, suffix);
            tracing::warn!(path = %orphan.display(), "index without a log is removed");
            disk.remove_file(&orphan)?;
        }
    }
    Ok(files)
}

/// Finishes what compaction or deletion left behind: `.deleted` and `.cleaned` go; `.swap` files
/// replace what they cover, unless the cleaning that made them was not finished.
fn tidy(home: &Arc<Home>, path: &Path, found: &[String]) -> Result<(), Inner> {
    let disk = &home.dir.disk;
    let mut min_cleaned = i64::MAX;
    for name in found {
        if name.ends_with(names::DELETED) {
            disk.remove_file(&path.join(name))?;
        } else if name.ends_with(names::CLEANED) {
            if let Some((offset, _)) = names::split_offset(name) {
                min_cleaned = min_cleaned.min(offset);
            }
            disk.remove_file(&path.join(name))?;
        }
    }
    let mut swaps = Vec::new();
    for name in found {
        if let Some(stem) = name.strip_suffix(names::SWAP)
            && let Some((offset, _)) = names::split_offset(name)
        {
            if offset >= min_cleaned {
                disk.remove_file(&path.join(name))?;
            } else {
                swaps.push((offset, name, stem));
            }
        }
    }
    let mut covered: Option<(i64, i64)> = None;
    for (offset, name, stem) in &swaps {
        if !stem.ends_with(names::LOG) {
            continue;
        }
        let file = disk.open(&path.join(name), Mode::Read)?;
        let size = u32::try_from(file.len()?)
            .map_err(|_| Inner::Refused(format!("{name} is larger than a segment can be")))?;
        let mut walk = Walk::new(&file, 0, size, Wait::Allowed);
        let mut next_offset = *offset;
        while let Ok(Some(head)) = walk.next() {
            next_offset = head.last_offset + 1;
        }
        let (low, high) = covered.unwrap_or((*offset, next_offset));
        covered = Some((low.min(*offset), high.max(next_offset)));
    }
    if let Some((low, high)) = covered {
        for name in found {
            if let Some((offset, suffix)) = names::split_offset(name)
                && !suffix.ends_with(names::SWAP)
                && (low..high).contains(&offset)
            {
                tracing::info!(path = %path.join(name).display(),
                    "file of a segment that compaction has replaced is removed");
                disk.remove_file(&path.join(name))?;
            }
        }
    }
    for (_, name, stem) in &swaps {
        disk.rename(&path.join(name), &path.join(stem))?;
    }
    disk.sync_dir(path)?;
    Ok(())
}

fn read_topic_id(home: &Arc<Home>, path: &Path) -> Result<Option<Uuid>, Inner> {
    match home.dir.disk.read_small(&path.join(names::PARTITION_METADATA))? {
        None => Ok(None),
        // What a power cut leaves of a file that was just written; the metadata knows the id.
        Some(bytes) if checkpoint::is_torn_partition_metadata(&bytes) => Ok(None),
        Some(bytes) => {
            checkpoint::parse_partition_metadata(&bytes).map(Some).map_err(Inner::Refused)
        }
    }
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

fn remove_segment(home: &Arc<Home>, segment: &Segment) -> io::Result<()> {
    for suffix in [names::LOG, names::INDEX, names::TIME_INDEX, names::TXN_INDEX] {
        home.dir.disk.remove_file(&segment.file_path(suffix))?;
    }
    Ok(())
}

/// Snapshots belong to segments, but for the newest one, which may be of the log's end.
fn remove_stray_snapshots(
    home: &Arc<Home>,
    path: &Path,
    segments: &[Arc<Segment>],
    snapshots: &mut Vec<i64>,
) -> io::Result<()> {
    let last_base = segments.last().map_or(0, |segment| segment.base_offset);
    let newest_stray = snapshots
        .iter()
        .copied()
        .rev()
        .find(|at| segments.binary_search_by_key(at, |segment| segment.base_offset).is_err());
    let mut kept = Vec::with_capacity(snapshots.len());
    for &at in snapshots.iter() {
        let owned = segments.binary_search_by_key(&at, |segment| segment.base_offset).is_ok();
        if owned || (newest_stray == Some(at) && at >= last_base) {
            kept.push(at);
        } else {
            home.dir.disk.remove_file(&names::segment_file(path, at, names::SNAPSHOT))?;
        }
    }
    *snapshots = kept;
    Ok(())
}

/// Writes the producers as of `map_end_offset`, unless there is such a snapshot.
fn take_snapshot(
    home: &Arc<Home>,
    path: &Path,
    state: &mut ProducerState,
    snapshots: &mut Vec<i64>,
    last: i64,
) -> io::Result<()> {
    if state.map_end_offset > last {
        let at = state.map_end_offset;
        let file = names::segment_file(path, at, names::SNAPSHOT);
        write_snapshot(&home.dir.disk, &file, &producer_snapshot::encode(state), false)?;
        state.last_snapshot_offset = at;
        note_snapshot(snapshots, at);
    }
    Ok(())
}

/// The producers as of `upto`: the newest usable snapshot between the log's start and `upto`, and
/// the batches after it. Snapshots outside of that range are removed, damaged ones too.
pub(crate) fn rebuild_producers(
    home: &Arc<Home>,
    segments: &[Arc<Segment>],
    snapshots: &mut Vec<i64>,
    log_start_offset: i64,
    upto: i64,
    now_ms: i64,
    expiration_ms: i64,
) -> io::Result<ProducerState> {
    let path = home.path();
    let disk = &home.dir.disk;
    let mut state = ProducerState::default();
    let mut kept = Vec::with_capacity(snapshots.len());
    for &at in snapshots.iter() {
        if at > upto || at <= log_start_offset {
            disk.remove_file(&names::segment_file(&path, at, names::SNAPSHOT))?;
        } else {
            kept.push(at);
        }
    }
    *snapshots = kept;
    let mut from = log_start_offset;
    while let Some(&at) = snapshots.last() {
        let file = names::segment_file(&path, at, names::SNAPSHOT);
        let loaded = match disk.read_small(&file)? {
            Some(bytes) => producer_snapshot::decode(&bytes),
            None => Err("the file is gone".to_owned()),
        };
        match loaded {
            Ok(producers) => {
                for (id, producer) in producers {
                    if !is_expired(&producer, now_ms, expiration_ms) {
                        state.insert(id, producer);
                    }
                }
                from = at;
                break;
            }
            Err(reason) => {
                tracing::warn!(path = %file.display(), reason, "producer snapshot is not used");
                disk.remove_file(&file)?;
                snapshots.pop();
            }
        }
    }
    (state.map_end_offset, state.last_snapshot_offset) = (from, from);
    if from < upto {
        replay(segments, &mut state, from, upto)?;
        state.map_end_offset = upto;
        let last = state.last_snapshot_offset;
        take_snapshot(home, &path, &mut state, snapshots, last)?;
    }
    Ok(state)
}

/// Brings `state` from `from` to `upto` by the batches in between.
fn replay(
    segments: &[Arc<Segment>],
    state: &mut ProducerState,
    from: i64,
    upto: i64,
) -> io::Result<()> {
    let mut updates = Updates::default();
    for segment in &segments[floor_segment(segments, from)..] {
        if segment.base_offset >= upto {
            break;
        }
        let size = segment.size();
        if size == 0 {
            continue;
        }
        segment.ensure_index()?;
        let file = segment.open_briefly()?;
        let begin = match segment.find(&file, from, size, Wait::Allowed) {
            Ok(Some(head)) => head.position,
            Ok(None) => continue,
            Err(crate::walk::WalkError::Io(error)) => return Err(error),
            Err(_) => 0,
        };
        let mut scan = Scan::new(&file, begin, size);
        loop {
            match scan.next() {
                Ok(Some(batch)) if batch.base_offset() < upto => {
                    apply(state, &mut updates, &batch, None)?;
                }
                Ok(_) => break,
                Err(ScanError::Io(error)) => return Err(error),
                Err(ScanError::Bad(reason)) => {
                    tracing::warn!(path = %segment.file_path(names::LOG).display(), reason,
                        "producers behind a damaged batch are not known");
                    break;
                }
                Err(ScanError::Legacy(_)) => break,
            }
        }
    }
    Ok(())
}

/// Takes one batch of the log into the producers; transactions it aborts go into the index of
/// `segment`.
fn apply(
    state: &mut ProducerState,
    updates: &mut Updates,
    batch: &thalweg_records::BatchView<'_>,
    segment: Option<&Segment>,
) -> io::Result<()> {
    updates.clear();
    match state.analyze(batch, &Judgement::REPLAY, updates) {
        Ok(Verdict::Append) => {
            state.apply(updates);
            for completed in &updates.completed {
                if let Some(segment) = segment
                    && completed.aborted
                {
                    segment.append_aborted(&AbortedTxn {
                        producer_id: completed.producer_id,
                        first_offset: completed.first_offset,
                        last_offset: completed.last_offset,
                        last_stable_offset: state.last_stable_offset_after(completed),
                    })?;
                }
                state.complete(completed);
            }
        }
        Ok(Verdict::Duplicate(_)) => {}
        Err(error) => {
            tracing::warn!(offset = batch.base_offset(), ?error, "batch contradicts its producer");
        }
    }
    state.map_end_offset = batch.next_offset();
    Ok(())
}

/// The scan after a crash.
struct Recovery<'a> {
    home: &'a Arc<Home>,
    path: &'a Path,
    input: &'a LoadInput,
    stats: &'a mut LoadStats,
    epochs: &'a mut Epochs,
    snapshots: &'a mut Vec<i64>,
}

impl Recovery<'_> {
    /// Checks what lies behind `recovery_point`; returns where the log ends and its producers.
    fn run(
        &mut self,
        segments: &mut Vec<Arc<Segment>>,
        recovery_point: i64,
    ) -> Result<(i64, ProducerState), Inner> {
        let first = floor_segment(segments, recovery_point);
        let Some(base) = segments.get(first).map(|segment| segment.base_offset) else {
            return Ok((self.input.log_start_offset, ProducerState::default()));
        };
        let log_start = self.input.log_start_offset.max(segments[0].base_offset);
        let mut state = rebuild_producers(
            self.home,
            &segments[..first],
            self.snapshots,
            log_start,
            base,
            self.input.now_ms,
            self.home.dir.producer_expiration_ms(),
        )?;
        let mut end = base;
        let mut at = first;
        while let Some(segment) = segments.get(at).cloned() {
            let (next, truncated, is_zero) = self.segment(&segment, end, log_start, &mut state)?;
            end = next;
            at += 1;
            let last = state.last_snapshot_offset;
            state.map_end_offset = end;
            take_snapshot(self.home, self.path, &mut state, self.snapshots, last)?;
            if is_zero && at == segments.len() {
                self.stats.zeroed_bytes += u64::from(truncated);
            } else if truncated > 0 {
                self.stats.truncated_bytes += u64::from(truncated);
                tracing::warn!(path = %segment.file_path(names::LOG).display(),
                    log_end_offset = end, bytes = truncated,
                    segments = segments.len() - at, "damaged end of the log is cut off");
            }
            if truncated > 0 {
                // What follows goes first: a crash in between must not make a log of both.
                if at < segments.len() {
                    for segment in segments.drain(at..) {
                        self.stats.truncated_bytes += u64::from(segment.size());
                        remove_segment(self.home, &segment)?;
                    }
                    // They must not come back behind what is appended from here on.
                    self.home.dir.disk.sync_dir(self.path)?;
                }
                // Nor must what is cut off here: of a segment whose batches are all flushed nobody
                // brings the length to the disk later.
                let file = segment.open_briefly()?;
                file.set_len(u64::from(segment.size()))?;
                file.sync()?;
            }
        }
        Ok((end, state))
    }

    /// Checks one segment; returns where it ends, how many bytes were cut off, and whether these were
    /// zeros.
    fn segment(
        &mut self,
        segment: &Arc<Segment>,
        expected: i64,
        log_start: i64,
        state: &mut ProducerState,
    ) -> Result<(i64, u32, bool), Inner> {
        let size = segment.size();
        let file = segment.open_briefly()?;
        segment.index.lock().reset();
        segment.reset_txn_index()?;
        let mut updates = Updates::default();
        let mut end = expected.max(segment.base_offset);
        let mut scan = Scan::new(&file, 0, size);
        let valid = loop {
            let position = scan.position();
            let batch = match scan.next() {
                Ok(Some(batch)) => batch,
                Ok(None) => break position,
                Err(ScanError::Io(error)) => return Err(error.into()),
                Err(ScanError::Bad(reason)) => {
                    tracing::debug!(position, reason, "not a batch");
                    break position;
                }
                Err(ScanError::Legacy(magic)) => {
                    return Err(Inner::Refused(format!(
                        "{} holds messages of magic {magic}, which only Kafka 3 and older write",
                        segment.file_path(names::LOG).display()
                    )));
                }
            };
            let in_order = batch.base_offset() >= end
                && batch.last_offset_delta() >= 0
                && batch.last_offset() - segment.base_offset <= i64::from(i32::MAX);
            if !in_order || !batch.crc_is_valid() {
                break position;
            }
            let head = BatchHead {
                position,
                len: batch.total_len() as u32,
                base_offset: batch.base_offset(),
                last_offset: batch.last_offset(),
                max_timestamp: batch.max_timestamp(),
                leader_epoch: batch.partition_leader_epoch(),
            };
            segment.on_append(&head)?;
            self.epochs.learn(head.leader_epoch, head.base_offset);
            if head.last_offset >= log_start {
                apply(state, &mut updates, &batch, Some(segment))?;
            }
            end = head.last_offset + 1;
        };
        self.stats.recovered_segments += 1;
        self.stats.recovered_bytes += u64::from(size);
        let truncated = size - valid;
        let mut is_zero = false;
        if truncated > 0 {
            is_zero = file.is_zero_from(u64::from(valid), u64::from(size))?;
            segment.set_size(valid);
        }
        segment.write_index()?;
        // Built anew of batches that may all be flushed: nothing else would bring it to the disk.
        if segment.sync_txn_index()? {
            self.home.dir.disk.sync_dir(self.path)?;
        }
        Ok((end, truncated, is_zero))
    }
}
