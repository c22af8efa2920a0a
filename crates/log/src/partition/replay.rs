//! The producers of a log that is loaded or cut: from the newest usable snapshot and the batches after
//! it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::format::producer_snapshot;
use crate::format::scan::{Scan, ScanError};
use crate::format::walk::WalkError;
use crate::fs::names;
use crate::fs::wait::Wait;
use crate::partition::flush::write_snapshot;
use crate::partition::home::Home;
use crate::partition::producers::{
    Judgement, Producer, ProducerState, Updates, Verdict, is_expired,
};
use crate::partition::segment::Segment;
use crate::partition::segments::floor_segment;
use crate::partition::snapshots::note_snapshot;

/// Writes the producers as of `map_end_offset`, unless there is such a snapshot.
pub(crate) fn take_snapshot(
    home: &Arc<Home>,
    path: &Path,
    state: &mut ProducerState,
    snapshots: &mut Vec<i64>,
    last: i64,
) -> io::Result<()> {
    if state.map_end_offset > last {
        let at = state.map_end_offset;
        let file = names::segment_file(path, at, names::SNAPSHOT);
        write_snapshot(&home.dir.disk, &file, &state.snapshot(), false)?;
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
                for entry in producers {
                    let producer = Producer::restored(&entry);
                    if !is_expired(&producer, now_ms, expiration_ms) {
                        state.insert(entry.producer_id, producer);
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
            Err(WalkError::Io(error)) => return Err(error),
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
pub(crate) fn apply(
    state: &mut ProducerState,
    updates: &mut Updates,
    batch: &thalweg_records::BatchView<'_>,
    segment: Option<&Segment>,
) -> io::Result<()> {
    updates.clear();
    match state.analyze(batch, &Judgement::REPLAY, updates) {
        Ok(Verdict::Append) => {
            let add = |txn| segment.map_or(Ok(()), |segment| segment.append_aborted(&txn));
            state.apply(updates, add)?;
        }
        Ok(Verdict::Duplicate(_)) => {}
        Err(error) => {
            tracing::warn!(offset = batch.base_offset(), ?error, "batch contradicts its producer");
        }
    }
    state.map_end_offset = batch.next_offset();
    Ok(())
}
