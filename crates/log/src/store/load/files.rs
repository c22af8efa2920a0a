//! What a partition's directory holds, and what an interrupted compaction or deletion left in it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use thalweg_wire::Uuid;

use super::Inner;
use crate::format::checkpoint;
use crate::format::walk::Walk;
use crate::fs::disk::Mode;
use crate::fs::names;
use crate::fs::wait::Wait;
use crate::partition::home::Home;
use crate::partition::segment::Segment;

/// What a directory of a partition holds.
#[derive(Default)]
pub(super) struct Files {
    /// Base offsets of `.log` files.
    pub(super) logs: Vec<i64>,
    pub(super) indexes: Vec<i64>,
    pub(super) times: Vec<i64>,
    pub(super) txns: Vec<i64>,
    pub(super) snapshots: Vec<i64>,
    pub(super) has_epochs: bool,
    pub(super) has_metadata: bool,
    pub(super) has_replaces: bool,
}

/// Tidies up what an interrupted compaction or deletion left, and lists the rest.
pub(super) fn list_files(home: &Arc<Home>, path: &Path) -> Result<Files, Inner> {
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
            names::REPLACES => files.has_replaces = true,
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
    let mut cleaned = Vec::new();
    for name in found {
        if name.ends_with(names::DELETED) {
            disk.remove_file(&path.join(name))?;
        } else if name.ends_with(names::CLEANED) {
            if let Some((offset, _)) = names::split_offset(name) {
                min_cleaned = min_cleaned.min(offset);
            }
            cleaned.push(name);
        }
    }
    let mut swaps = Vec::new();
    let mut is_unfinished = false;
    for name in found {
        if let Some(stem) = name.strip_suffix(names::SWAP)
            && let Some((offset, _)) = names::split_offset(name)
        {
            if offset >= min_cleaned {
                disk.remove_file(&path.join(name))?;
                is_unfinished = true;
            } else {
                swaps.push((offset, name, stem));
            }
        }
    }
    if is_unfinished {
        // What is `.cleaned` tells the next start, too, that the `.swap` files must not be used.
        disk.sync_dir(path)?;
    }
    for name in cleaned {
        disk.remove_file(&path.join(name))?;
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
        // Also of one that is empty: an index of transactions that are gone must not stand beside it.
        let next_offset = next_offset.max(*offset + 1);
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
    // Each step is on the disk before the next: a log that has its name already must not stand beside
    // those it replaces, and files of a log that has not would be taken for theirs.
    let (logs, others): (Vec<_>, Vec<_>) =
        swaps.into_iter().partition(|(_, _, stem)| stem.ends_with(names::LOG));
    for part in [logs, others] {
        if !part.is_empty() {
            disk.sync_dir(path)?;
        }
        for (_, name, stem) in part {
            disk.rename(&path.join(name), &path.join(stem))?;
        }
    }
    disk.sync_dir(path)?;
    Ok(())
}

pub(super) fn read_topic_id(home: &Arc<Home>, path: &Path) -> Result<Option<Uuid>, Inner> {
    match home.dir.disk.read_small(&path.join(names::PARTITION_METADATA))? {
        None => Ok(None),
        // What a power cut leaves of a file that was just written; the metadata knows the id.
        Some(bytes) if checkpoint::is_torn_partition_metadata(&bytes) => Ok(None),
        Some(bytes) => {
            checkpoint::parse_partition_metadata(&bytes).map(Some).map_err(Inner::Refused)
        }
    }
}

/// The directory that the marker of a switch between directories names. One that a power cut has torn was not on
/// the disk when the switch went on, so it says nothing.
pub(super) fn read_replaced_dir(home: &Arc<Home>, path: &Path) -> Result<Option<Uuid>, Inner> {
    let bytes = home.dir.disk.read_small(&path.join(names::REPLACES))?;
    Ok(bytes.and_then(|bytes| checkpoint::parse_replaces(&bytes)))
}

pub(super) fn remove_segment(home: &Arc<Home>, segment: &Segment) -> io::Result<()> {
    for suffix in [names::LOG, names::INDEX, names::TIME_INDEX, names::TXN_INDEX] {
        home.dir.disk.remove_file(&segment.file_path(suffix))?;
    }
    Ok(())
}

/// Snapshots belong to segments, but for the newest one, which may be of the log's end.
pub(super) fn remove_stray_snapshots(
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
