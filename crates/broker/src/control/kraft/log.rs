//! `__cluster_metadata-0`: the metadata log and its checkpoints, of which this node is the sole
//! voter.
//!
//! Each start begins a new epoch: it is written to `quorum-state` and flushed before a
//! record of it exists. Appends are flushed before they take effect; only those of the
//! start itself are brought there together, by [`MetadataLog::settle`], before anybody is served.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use thalweg_log::{
    AppendContext, AppendError, CreateError, Disk, Isolation, LogConfig, LogDir, LogManager,
    StorageError, retry_exhausted,
};
use thalweg_metadata::bootstrap::{
    QUORUM_CHECKPOINT, SoleVoter, abort_record, bootstrap_checkpoint, bootstrap_records,
    quorum_checkpoint,
};
use thalweg_metadata::features::MetadataVersion;
use thalweg_metadata::image::{Delta, LoadError, Loader, MetadataImage, SnapshotError, Update};
use thalweg_metadata::records::{Batch, BatchContents, BatchWriter, ControlRecord, RecordError};
use thalweg_records::BatchView;
use thalweg_records::codec::Decompressor;
use thalweg_wire::Uuid;
use thalweg_wire::messages::VotersRecord;
use thalweg_wire::messages::metadata_record::MetadataRecord;

use super::checkpoints::{self, Due, Retention};
use super::files::{self, LogFiles};
use super::quorum_state::{self, QuorumState, replace_synced};

/// The feature levels a format decided on, in the metadata log's parent directory.
const BOOTSTRAP_CHECKPOINT: &str = "bootstrap.checkpoint";
/// The log's file until retention takes it away.
const FIRST_SEGMENT: &str = "00000000000000000000.log";

/// Why the metadata log cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetadataLogError {
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("{path}: {error}")]
    Snapshot { path: PathBuf, error: SnapshotError },
    #[error("metadata log: {0}")]
    Record(#[from] RecordError),
    #[error("metadata log: {0}")]
    Load(#[from] LoadError),
    #[error("metadata log: {0}")]
    Damaged(String),
    #[error("{0}")]
    NotSoleVoter(String),
    #[error(
        "the metadata holds access control entries, which cannot be enforced yet: serving this data \
         would let everybody in"
    )]
    Acls,
}

impl MetadataLogError {
    /// Nothing was written, because there was no descriptor or no memory to open a file.
    pub(crate) fn is_retriable(&self) -> bool {
        matches!(self, MetadataLogError::Storage(failure) if failure.is_retriable)
    }
}

/// Whose log it is.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) node_id: i32,
    pub(crate) directory_id: Uuid,
    /// Where the controller could be reached; written to the voters' record at format.
    pub(crate) listener: (String, String, u16),
    /// Ids in `controller.quorum.voters`; empty for a dynamic quorum.
    pub(crate) static_voters: Vec<i32>,
    /// The level that a new log begins with, unless the directory says otherwise.
    pub(crate) release: MetadataVersion,
}

impl Owner {
    fn voter(&self) -> SoleVoter {
        let (listener, host, port) = self.listener.clone();
        SoleVoter { node_id: self.node_id, directory_id: self.directory_id, listener, host, port }
    }
}

/// The log, open, in an epoch of its own.
#[derive(Debug)]
pub(crate) struct MetadataLog {
    pub(super) files: LogFiles,
    epoch: i32,
    voters: Option<VotersRecord>,
    kraft_version: i16,
    /// Whether the start is over, so that each append has to be flushed.
    settled: bool,
}

/// The log, what it says, and whether it is new.
pub(crate) struct Opened {
    pub(crate) log: MetadataLog,
    pub(crate) loader: Loader,
    /// What to begin with, of a log that holds nothing yet.
    pub(crate) bootstrap: Option<Bootstrap>,
}

/// What a new log begins with.
pub(crate) struct Bootstrap {
    /// Records of the features' levels.
    pub(crate) levels: Vec<MetadataRecord>,
    /// Whether an earlier start broke off within its transaction.
    pub(crate) unfinished: bool,
}

impl MetadataLog {
    /// Opens the log, or makes it; checks that there is no other voter; begins a new epoch.
    pub(crate) fn open(
        logs: &LogManager,
        dir: &Arc<LogDir>,
        owner: &Owner,
        config: LogConfig,
        retention: Retention,
        now_ms: i64,
    ) -> Result<Opened, MetadataLogError> {
        let path = files::path_in(dir);
        let at = |path: &Path| {
            let path = path.to_path_buf();
            move |error| MetadataLogError::Io { path, error }
        };
        // What cannot be looked at is not taken for missing.
        let is_new = !path.try_exists().map_err(at(&path))?;
        if is_new {
            format(dir.disk(), dir.path(), &path, owner, now_ms)?;
        }
        let mut decompressor = Decompressor::new();
        let checkpoint = checkpoints::latest(dir.disk(), &path).map_err(at(&path))?;
        let contents = match &checkpoint {
            Some(found) => found.read(dir.disk(), &mut decompressor)?,
            None => checkpoints::Contents::none(),
        };
        let checkpoints::Contents { image, mut voters, mut kraft_version, bootstrap: levels } =
            contents;
        let first_segment = path.join(FIRST_SEGMENT);
        if checkpoint.as_ref().is_some_and(|found| found.is_first())
            && !first_segment.try_exists().map_err(at(&first_segment))?
        {
            // Formatted and never started: what the format says is all there is.
            sole_voter(owner, voters.as_ref(), kraft_version)?;
        }
        let mut files = LogFiles::open(logs, dir, config, retention, now_ms)?;

        let mut loader = Loader::new(image);
        let mut last_epoch = checkpoint.map_or(0, |c| c.epoch);
        let bytes = replay(&files, &mut loader, &mut decompressor, |batch| {
            last_epoch = last_epoch.max(batch.epoch);
            if let BatchContents::Control(records) = &batch.contents {
                for record in records {
                    match record {
                        ControlRecord::Voters(record) => voters = Some(record.clone()),
                        ControlRecord::KRaftVersion(record) => {
                            kraft_version = record.k_raft_version;
                        }
                        _ => {}
                    }
                }
            }
        })?;
        let log_end_offset = files.log.log_end_offset();
        if loader.next_offset() < log_end_offset {
            // A crash took what was not flushed of a segment, and left the empty one that followed it.
            // Nothing of that was acknowledged.
            tracing::warn!(
                end = loader.next_offset(),
                log_end_offset,
                "the metadata log ends with an empty segment behind a gap; it goes"
            );
            files.log.truncate_to(loader.next_offset(), now_ms)?;
        }
        // Before a record is written, so that a log that is refused stays as it was.
        sole_voter(owner, voters.as_ref(), kraft_version)?;
        if loader.image().has_acls() {
            return Err(MetadataLogError::Acls);
        }

        let is_empty = loader.image().is_empty();
        // As in Kafka, what the metadata log's own checkpoint says counts before the file's.
        let levels = if is_empty && levels.is_empty() {
            let file = dir.path().join(BOOTSTRAP_CHECKPOINT);
            read_bootstrap(dir.disk(), &file, owner.release, &mut decompressor)?
        } else {
            levels
        };

        let before = quorum_state::read(dir.disk(), &path).map_err(at(&path))?;
        let epoch = if is_new {
            FIRST_EPOCH
        } else {
            let epoch = before.map_or(0, |s| s.leader_epoch).max(last_epoch) + 1;
            let state = QuorumState { leader_id: owner.node_id, leader_epoch: epoch };
            quorum_state::write(dir.disk(), &path, state, kraft_version).map_err(at(&path))?;
            epoch
        };
        files.log.make_leader(epoch);

        files.schedule.appended(bytes);
        let mut opened = MetadataLog { files, epoch, voters, kraft_version, settled: false };
        let voter = owner.voter();
        // A new log repeats what its checkpoint says, so that the checkpoint can go, as Kafka does.
        let is_first = loader.next_offset() == 0 && kraft_version >= 1;
        let begin = if is_first && opened.voters.as_ref() == Some(&voter.voters_record()) {
            voter.first_epoch_records()
        } else {
            vec![voter.leader_change()]
        };
        let writer = opened.writer(&loader, now_ms);
        let batch = writer.control(loader.next_offset(), &begin)?;
        opened.append(&[batch], &mut loader, now_ms)?;
        let unfinished = loader.open_transaction().is_some();
        if unfinished && !is_empty {
            opened.write_and_flush(vec![abort_record()], &mut loader, now_ms)?;
        }
        let bootstrap = is_empty.then_some(Bootstrap { levels, unfinished });
        Ok(Opened { log: opened, loader, bootstrap })
    }

    fn writer(&self, loader: &Loader, timestamp_ms: i64) -> BatchWriter {
        let metadata_version = match loader.image().features.metadata_version {
            Some(version) => version,
            // Before the first feature record, the level a format begins with.
            None => MetadataVersion::LATEST,
        };
        BatchWriter { epoch: self.epoch, timestamp_ms, metadata_version }
    }

    /// Epoch in which this node leads the quorum.
    pub(crate) fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Level of `kraft.version`: 0 has static voters, 1 keeps them in the log.
    pub(crate) fn kraft_version(&self) -> i16 {
        self.kraft_version
    }

    /// End of the log; all of it is committed.
    pub(crate) fn end_offset(&self) -> i64 {
        self.files.log.log_end_offset()
    }

    /// Writes records and gives what they change. Once the start is flushed, they are flushed.
    pub(crate) fn write_and_flush(
        &mut self,
        records: Vec<MetadataRecord>,
        loader: &mut Loader,
        now_ms: i64,
    ) -> Result<Vec<Update>, MetadataLogError> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let batches = self.writer(loader, now_ms).data_batches(loader.next_offset(), records)?;
        self.append(&batches, loader, now_ms)
    }

    fn append(
        &mut self,
        batches: &[Bytes],
        loader: &mut Loader,
        now_ms: i64,
    ) -> Result<Vec<Update>, MetadataLogError> {
        let context = AppendContext::coordinator(self.epoch, now_ms);
        for (at, batch) in batches.iter().enumerate() {
            match self.append_retrying(batch, &context) {
                Err(error) if at > 0 => return Err(half_written(&error)),
                appended => appended?,
            }
            self.files.schedule.appended(batch.len() as u64);
        }
        if self.settled {
            retry_exhausted(|| self.files.log.flush(now_ms))
                .map_err(|error| half_written(&error))?;
        }
        self.files.log.advance_high_watermark(self.files.log.log_end_offset());
        let mut decompressor = Decompressor::new();
        let mut updates = Vec::new();
        for batch in batches {
            let batch = Batch::read(batch, &mut decompressor)?;
            updates.extend(loader.load(&batch)?);
        }
        Ok(updates)
    }

    /// Appends a batch; waits where there is no descriptor or no memory to open a file.
    fn append_retrying(
        &self,
        batch: &[u8],
        context: &AppendContext,
    ) -> Result<(), MetadataLogError> {
        let appended =
            retry_exhausted(|| match self.files.log.append_with_offsets(batch, context) {
                Err(AppendError::Storage(failure)) => Err(failure),
                appended => Ok(appended),
            })?;
        appended?;
        Ok(())
    }

    /// The start is over: flushes what it wrote, and from here on each append.
    pub(crate) fn flush_start(&mut self, now_ms: i64) -> Result<(), MetadataLogError> {
        self.files.log.flush(now_ms)?;
        self.settled = true;
        Ok(())
    }

    /// Whether so much was written since the last checkpoint that another one is due. Not before
    /// the start is over: a checkpoint must not be ahead of a log that is not on the disk yet.
    pub(crate) fn is_checkpoint_due(&self) -> bool {
        self.settled && self.files.schedule.is_due()
    }

    /// Whether a checkpoint is due by the clock.
    pub(crate) fn is_checkpoint_due_by(&self, now_ms: i64) -> bool {
        self.settled && self.files.schedule.is_due_by(now_ms)
    }

    /// A checkpoint of the image, to be written. What is appended meanwhile counts for the next.
    pub(crate) fn begin_checkpoint(&mut self, image: &MetadataImage, now_ms: i64) -> Due {
        self.files.begin_checkpoint(image, self.voters.clone(), self.kraft_version, now_ms)
    }
}

/// Part of a decision is in the log, or all of it and not on the disk: nothing can be decided on top.
fn half_written(error: &dyn std::fmt::Display) -> MetadataLogError {
    MetadataLogError::Damaged(format!("a decision was not written to its end: {error}"))
}

pub(super) fn each_batch(
    bytes: &[u8],
    decompressor: &mut Decompressor,
    mut act: impl FnMut(Batch) -> Result<(), MetadataLogError>,
) -> Result<(), MetadataLogError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let view = BatchView::parse(rest).map_err(|e| MetadataLogError::Damaged(e.to_string()))?;
        act(Batch::read(view.bytes(), decompressor)?)?;
        rest = &rest[view.total_len()..];
    }
    Ok(())
}

/// Replays the log behind the loader's image; gives the bytes replayed.
fn replay(
    files: &LogFiles,
    loader: &mut Loader,
    decompressor: &mut Decompressor,
    mut look: impl FnMut(&Batch),
) -> Result<u64, MetadataLogError> {
    let mut bytes = 0;
    while let Some(chunk) = files.read(loader.next_offset(), Isolation::LogEnd)? {
        bytes += chunk.len() as u64;
        let from = loader.next_offset();
        each_batch(&chunk, decompressor, |batch| {
            look(&batch);
            if batch.last_offset < from {
                return Ok(());
            }
            Ok(loader.catch_up(&batch)?)
        })?;
    }
    loader.caught_up();
    Ok(bytes)
}

/// Refuses a log that others may write as well: starting would fork the cluster's metadata.
pub(crate) fn sole_voter(
    owner: &Owner,
    voters: Option<&VotersRecord>,
    kraft_version: i16,
) -> Result<(), MetadataLogError> {
    let refuse = |reason: String| Err(MetadataLogError::NotSoleVoter(reason));
    if kraft_version >= 1 || voters.is_some() {
        let voters = voters.map_or(&[][..], |record| &record.voters);
        return match voters {
            [only] if only.voter_id != owner.node_id => refuse(format!(
                "the metadata log belongs to the quorum of node {}, this is node {}",
                only.voter_id, owner.node_id
            )),
            [only] if only.voter_directory_id != owner.directory_id => refuse(format!(
                "the metadata log belongs to the voter directory {}, this directory is {}",
                only.voter_directory_id, owner.directory_id
            )),
            [_] => Ok(()),
            [] => refuse("the metadata log names no voter".into()),
            several => refuse(format!(
                "the metadata log belongs to a quorum of {} voters; an embedded controller can only \
                 take over a quorum of one",
                several.len()
            )),
        };
    }
    match &owner.static_voters[..] {
        [only] if *only == owner.node_id => Ok(()),
        others => refuse(format!(
            "the metadata log has static voters, and controller.quorum.voters names {others:?} \
             instead of node {} alone",
            owner.node_id
        )),
    }
}

/// Level of `kraft.version` with voters in the log, which a new installation has.
const KRAFT_VERSION_DYNAMIC: i16 = 1;
/// Epoch of a new installation's first start.
const FIRST_EPOCH: i32 = 1;

/// Makes a new installation, as Kafka's `StorageTool format --standalone` does, already in its
/// first epoch.
fn format(
    disk: &Disk,
    dir: &Path,
    path: &Path,
    owner: &Owner,
    now_ms: i64,
) -> Result<(), MetadataLogError> {
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |error| MetadataLogError::Io { path, error }
    };
    // An existing one comes from the tool that formatted the directory, with its levels.
    let bootstrap = dir.join(BOOTSTRAP_CHECKPOINT);
    if bootstrap.try_exists().map_err(at(&bootstrap))? {
        // Damaged, it is found before anything is begun.
        read_bootstrap(disk, &bootstrap, owner.release, &mut Decompressor::new())?;
    } else {
        let content = bootstrap_checkpoint(owner.release, now_ms)?.concat();
        replace_synced(disk, dir, BOOTSTRAP_CHECKPOINT, &content).map_err(at(&bootstrap))?;
    }
    // The folder appears with its checkpoint in it: one without would be a log without voters.
    let building = path.with_extension("tmp");
    disk.remove_dir_all(&building).map_err(at(&building))?;
    let quorum = quorum_checkpoint(&owner.voter(), now_ms)?.concat();
    let state = QuorumState { leader_id: owner.node_id, leader_epoch: FIRST_EPOCH };
    let built = disk.create_dir_all(&building).and_then(|()| {
        disk.create_synced(&building.join(QUORUM_CHECKPOINT), &quorum)?;
        quorum_state::write_new(disk, &building, state, KRAFT_VERSION_DYNAMIC)?;
        let metadata = thalweg_log::format_partition_metadata(Uuid::ONE);
        disk.create_synced(&building.join(thalweg_log::PARTITION_METADATA), &metadata)?;
        disk.sync_dir(&building)
    });
    built.map_err(at(&building))?;
    disk.rename(&building, path).map_err(at(path))?;
    disk.sync_dir(dir).map_err(at(dir))
}

/// The records a new log begins with; the defaults of the release where the file is missing. What cannot be read here,
/// such as a level that is not supported, is refused.
fn read_bootstrap(
    disk: &Disk,
    file: &Path,
    release: MetadataVersion,
    decompressor: &mut Decompressor,
) -> Result<Vec<MetadataRecord>, MetadataLogError> {
    let read = disk.read_small(file);
    let read = read.map_err(|error| MetadataLogError::Io { path: file.to_path_buf(), error })?;
    let Some(bytes) = read else { return Ok(bootstrap_records(release)) };
    let (mut records, mut read) = (Vec::new(), Delta::new(MetadataImage::empty()));
    each_batch(&bytes, decompressor, |batch| {
        let BatchContents::Data(data) = batch.contents else { return Ok(()) };
        for (offset, record) in (batch.base_offset..).zip(&data) {
            read.replay(record).map_err(|error| MetadataLogError::Snapshot {
                path: file.to_path_buf(),
                error: SnapshotError::Replay { offset, error },
            })?;
        }
        records.extend(data);
        Ok(())
    })?;
    Ok(records)
}
