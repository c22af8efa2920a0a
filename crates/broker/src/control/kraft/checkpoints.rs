//! Checkpoints of the metadata: `<end offset>-<epoch>.checkpoint` beside the log's segments.
//!
//! The log may lose what lies before a checkpoint, and checkpoints may go that another one follows,
//! by `metadata.max.retention.bytes` and `metadata.max.retention.ms`. The newest always stays.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_log::{Disk, Log, Mode, OpenFile};
use thalweg_metadata::bootstrap::snapshot_batches;
use thalweg_metadata::image::{MetadataImage, Provenance, SnapshotReader};
use thalweg_metadata::records::{Batch, BatchContents, ControlRecord};
use thalweg_records::BatchView;
use thalweg_records::codec::Decompressor;
use thalweg_replication::observer::SnapshotId;
use thalweg_wire::messages::VotersRecord;
use thalweg_wire::messages::metadata_record::MetadataRecord;

use super::log::{MetadataLogError, each_batch};
use super::quorum_state::replace_synced;

/// When checkpoints are written, and for how long they and the log are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    /// `metadata.log.max.record.bytes.between.snapshots`
    pub(crate) snapshot_after_bytes: u64,
    /// `metadata.log.max.snapshot.interval.ms`; 0 for never.
    pub(crate) snapshot_interval_ms: i64,
    /// `metadata.max.retention.bytes`; negative for no limit.
    pub(crate) bytes: i64,
    /// `metadata.max.retention.ms`; negative for no limit.
    pub(crate) ms: i64,
}

/// One that could not be written is tried again after this, or after the usual interval if that is shorter.
const RETRY_MS: i64 = 60_000;

/// When the next checkpoint is to be written.
#[derive(Debug)]
pub(super) struct Schedule {
    retention: Retention,
    /// Bytes of the log behind the last one.
    bytes: u64,
    /// One was begun at this time, and its end was not reached: it is tried again, but not with every append.
    begun_ms: Option<i64>,
    written_ms: i64,
}

impl Schedule {
    pub(super) fn new(retention: Retention, now_ms: i64) -> Schedule {
        Schedule { retention, bytes: 0, begun_ms: None, written_ms: now_ms }
    }

    pub(super) fn retention(&self) -> &Retention {
        &self.retention
    }

    /// The log grew.
    pub(super) fn appended(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Whether so much was written that one is due. Not after one failed: [`Self::is_due_by`] says when it is tried
    /// again.
    pub(super) fn is_due(&self) -> bool {
        self.begun_ms.is_none() && self.bytes >= self.retention.snapshot_after_bytes
    }

    /// Whether one is due by the clock.
    pub(super) fn is_due_by(&self, now_ms: i64) -> bool {
        let interval = self.retention.snapshot_interval_ms;
        let since = now_ms.saturating_sub(self.written_ms);
        match self.begun_ms {
            Some(begun_ms) => {
                // An interval of 0 is none.
                let retry_ms = if interval > 0 { RETRY_MS.min(interval) } else { RETRY_MS };
                now_ms.saturating_sub(begun_ms) >= retry_ms
            }
            None => self.bytes > 0 && interval > 0 && since >= interval,
        }
    }

    /// One is begun, which stands for so many bytes of the log. What is appended meanwhile counts for the next.
    pub(super) fn begin(&mut self, now_ms: i64) -> u64 {
        self.begun_ms = Some(now_ms);
        self.bytes
    }

    /// One is on the disk, which stands for so many bytes of the log.
    pub(super) fn end(&mut self, bytes: u64, now_ms: i64) {
        self.begun_ms = None;
        self.bytes = self.bytes.saturating_sub(bytes);
        self.written_ms = now_ms;
    }
}

/// A checkpoint that is to be written: all that it takes, so that nothing is locked meanwhile.
#[derive(Debug)]
pub(crate) struct Due {
    pub(super) disk: Disk,
    pub(super) dir: PathBuf,
    pub(super) image: MetadataImage,
    pub(super) kraft_version: i16,
    pub(super) voters: Option<VotersRecord>,
    /// Bytes of the log that it saves a start from reading.
    pub(super) bytes: u64,
}

impl Due {
    /// Writes and flushes it.
    pub(super) fn write(&self, now_ms: i64) -> Result<(), MetadataLogError> {
        let (image, voters) = (&self.image, self.voters.as_ref());
        let batches = snapshot_batches(image, self.kraft_version, voters, now_ms)?;
        write(&self.disk, &self.dir, image, &batches.concat())
    }
}

/// The log and its checkpoints, of which the old may go.
#[derive(Debug)]
pub(crate) struct Retained {
    pub(super) dir: PathBuf,
    pub(super) log: Arc<Log>,
    pub(super) retention: Retention,
}

impl Retained {
    /// Lets go of what retention does not keep.
    pub(super) fn clean(&self, now_ms: i64) -> Result<(), MetadataLogError> {
        clean(&self.dir, &self.log, &self.retention, now_ms)
    }
}

/// A checkpoint's file.
#[derive(Debug)]
pub(super) struct Checkpoint {
    path: PathBuf,
    end_offset: i64,
    pub(super) epoch: i32,
}

/// What a checkpoint says.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) image: MetadataImage,
    pub(super) voters: Option<VotersRecord>,
    /// Level of `kraft.version`.
    pub(super) kraft_version: i16,
    /// The records that the cluster is to begin with. Since Kafka 4.4 a format writes them into the checkpoint that stands
    /// for no record (KIP-1170); they are in no log yet, so they are no part of the image.
    pub(super) bootstrap: Vec<MetadataRecord>,
}

impl Contents {
    /// What is known without a checkpoint.
    pub(super) fn none() -> Contents {
        Contents {
            image: MetadataImage::empty(),
            voters: None,
            kraft_version: 0,
            bootstrap: Vec::new(),
        }
    }
}

/// All checkpoints of a log, oldest first.
fn all(disk: &Disk, dir: &Path) -> io::Result<Vec<Checkpoint>> {
    let mut found = Vec::new();
    for entry in disk.list(dir)? {
        let name = entry.name;
        let Some((end, epoch)) =
            name.strip_suffix(".checkpoint").and_then(|stem| stem.split_once('-'))
        else {
            continue;
        };
        if let (20, 10, Ok(end_offset), Ok(epoch)) =
            (end.len(), epoch.len(), end.parse(), epoch.parse())
        {
            found.push(Checkpoint { path: dir.join(name), end_offset, epoch });
        }
    }
    found.sort_unstable_by_key(|checkpoint| (checkpoint.end_offset, checkpoint.epoch));
    Ok(found)
}

/// Name of a checkpoint's file.
pub(super) fn name(id: SnapshotId) -> String {
    format!("{:020}-{:010}.checkpoint", id.end_offset, id.epoch)
}

/// The newest checkpoint.
pub(super) fn latest(disk: &Disk, dir: &Path) -> io::Result<Option<Checkpoint>> {
    Ok(all(disk, dir)?.pop())
}

/// Writes a checkpoint of `image`, which `bytes` are.
fn write(
    disk: &Disk,
    dir: &Path,
    image: &MetadataImage,
    bytes: &[u8],
) -> Result<(), MetadataLogError> {
    let Provenance { offset, epoch, .. } = image.provenance;
    let name = name(SnapshotId { end_offset: offset + 1, epoch });
    let written = replace_synced(disk, dir, &name, bytes).and_then(|()| disk.sync_dir(dir));
    written.map_err(|error| MetadataLogError::Io { path: dir.join(name), error })
}

impl Checkpoint {
    /// Which it is.
    pub(super) fn id(&self) -> SnapshotId {
        SnapshotId { end_offset: self.end_offset, epoch: self.epoch }
    }

    /// Whether it is what a format wrote, before there were records.
    pub(super) fn is_first(&self) -> bool {
        self.end_offset == 0
    }

    /// Reads all of it.
    pub(super) fn read(
        &self,
        disk: &Disk,
        decompressor: &mut Decompressor,
    ) -> Result<Contents, MetadataLogError> {
        let gone = || io::ErrorKind::NotFound.into();
        let bytes = disk.read_small(&self.path).and_then(|bytes| bytes.ok_or_else(gone));
        let bytes = bytes.map_err(|error| self.failed(error))?;
        let broken = |error| MetadataLogError::Snapshot { path: self.path.clone(), error };
        let mut reader = SnapshotReader::new(MetadataImage::empty());
        let mut bootstrap = Vec::new();
        each_batch(&bytes, decompressor, |batch| {
            // Read as any snapshot, so that a level that this release lacks is refused.
            reader.load(&batch).map_err(broken)?;
            if let BatchContents::Data(records) = batch.contents
                && self.is_first()
            {
                bootstrap.extend(records);
            }
            Ok(())
        })?;
        let voters = reader.voters().cloned();
        let kraft_version = reader.kraft_version().map_or(0, |record| record.k_raft_version);
        let (mut image, _) = reader.finish(self.end_offset, self.epoch).map_err(broken)?;
        if self.is_first() {
            if image.has_acls() {
                return Err(MetadataLogError::Acls);
            }
            image = MetadataImage::empty();
        }
        Ok(Contents { image, voters, kraft_version, bootstrap })
    }

    fn failed(&self, error: io::Error) -> MetadataLogError {
        MetadataLogError::Io { path: self.path.clone(), error }
    }

    fn open(&self, disk: &Disk) -> Result<OpenFile, MetadataLogError> {
        disk.open(&self.path, Mode::Read).map_err(|error| self.failed(error))
    }

    fn size(&self, disk: &Disk) -> Result<u64, MetadataLogError> {
        self.open(disk)?.len().map_err(|error| self.failed(error))
    }

    /// Time of the newest record in it, which its first batch says.
    fn timestamp_ms(&self, disk: &Disk) -> Result<Option<i64>, MetadataLogError> {
        const FIRST_BATCH_MAX: u64 = 64 << 10;
        let file = self.open(disk)?;
        let begin = file.len().and_then(|len| {
            let mut begin = vec![0; usize::try_from(len.min(FIRST_BATCH_MAX)).unwrap_or(0)];
            file.read_exact_at(&mut begin, 0).map(|()| begin)
        });
        let begin = begin.map_err(|error| self.failed(error))?;
        let Ok(view) = BatchView::parse(&begin) else { return Ok(None) };
        let batch = Batch::read(view.bytes(), &mut Decompressor::new())?;
        let BatchContents::Control(records) = batch.contents else { return Ok(None) };
        Ok(records.iter().find_map(|record| match record {
            ControlRecord::SnapshotHeader(header) => Some(header.last_contained_log_timestamp),
            _ => None,
        }))
    }
}

/// Lets go of what retention does not keep: of the oldest checkpoint as long as another follows,
/// and of the segments before that one.
fn clean(
    dir: &Path,
    log: &Log,
    retention: &Retention,
    now_ms: i64,
) -> Result<(), MetadataLogError> {
    let at_dir = |error| MetadataLogError::Io { path: dir.to_path_buf(), error };
    let disk = log.dir().disk();
    let checkpoints = all(disk, dir).map_err(at_dir)?;
    let mut total = 0;
    for checkpoint in &checkpoints {
        total += checkpoint.size(disk)?;
    }
    let mut removed = false;
    for pair in checkpoints.windows(2) {
        let [oldest, next] = pair else { break };
        let too_much =
            u64::try_from(retention.bytes).is_ok_and(|max| log.size().saturating_add(total) > max);
        let too_old = || {
            let age = oldest.timestamp_ms(disk)?.map(|timestamp| now_ms.saturating_sub(timestamp));
            Ok::<_, MetadataLogError>(retention.ms >= 0 && age.is_some_and(|a| a > retention.ms))
        };
        if !too_much && !too_old()? {
            break;
        }
        let damaged = |error: &dyn std::fmt::Display| MetadataLogError::Damaged(error.to_string());
        // The log first: a checkpoint may only go when nothing needs it to stand on.
        log.delete_records(next.end_offset).map_err(|error| damaged(&error))?;
        log.delete_old_segments(now_ms)?;
        total -= oldest.size(disk)?;
        disk.remove_file(&oldest.path).map_err(|error| oldest.failed(error))?;
        removed = true;
    }
    if removed { disk.sync_dir(dir).map_err(at_dir) } else { Ok(()) }
}
