//! `__cluster_metadata-0` of a broker that follows the controllers of other nodes: the log as the leader has it,
//! snapshots, and the image of what is committed.
//!
//! Nothing is flushed but snapshots: what a machine's death takes is fetched again. What is above the high watermark is
//! in the log, and not in the image.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_log::{
    AppendContext, AppendOrigin, Isolation, LogConfig, LogDir, LogManager, Mode, OpenFile,
};
use thalweg_metadata::image::{Loader, MetadataImage, SnapshotReader, Update};
use thalweg_metadata::records::Batch;
use thalweg_records::BatchView;
use thalweg_records::codec::Decompressor;
use thalweg_replication::observer::{ObserverLog as Offsets, SnapshotId};
use thalweg_replication::{EpochEnd, Epochs};
use thalweg_wire::messages::VotersRecord;

use super::checkpoints::{self, Due, Retention};
use super::files::LogFiles;
use super::log::{MetadataLogError, each_batch};
use super::quorum_state::{self, QuorumState};
use super::voter_history::{VoterHistory, Voters};

/// A snapshot that is being fetched has this behind its name.
const PART: &str = ".part";

/// The log, open, and what it says.
pub(crate) struct ObserverLog {
    pub(super) files: LogFiles,
    loader: Loader,
    /// What the log begins with, or behind it.
    snapshot: Option<SnapshotId>,
    voters: VoterHistory,
    /// The newest state of the quorum on the disk.
    quorum: QuorumState,
    /// The epoch that the log's role is for.
    leader_epoch: i32,
    part: Option<(SnapshotId, OpenFile)>,
    decompressor: Decompressor,
}

impl ObserverLog {
    /// Opens the log, or makes it. The image is that of the newest snapshot: how far the log behind it is committed
    /// is the leader's to say.
    pub(crate) fn open(
        logs: &LogManager,
        dir: &Arc<LogDir>,
        config: LogConfig,
        retention: Retention,
        now_ms: i64,
    ) -> Result<ObserverLog, MetadataLogError> {
        let files = LogFiles::open(logs, dir, config, retention, now_ms)?;
        let (log, path) = (&files.log, &files.path);
        let failed = |error| MetadataLogError::Io { path: path.clone(), error };
        remove_parts(dir, path).map_err(failed)?;
        let mut decompressor = Decompressor::new();
        let checkpoint = checkpoints::latest(dir.disk(), path).map_err(failed)?;
        let (mut image, mut voters) = (MetadataImage::empty(), Voters::default());
        let mut snapshot = None;
        if let Some(found) = checkpoint {
            let contents = found.read(dir.disk(), &mut decompressor)?;
            image = contents.image;
            voters.record = contents.voters;
            voters.kraft_version = contents.kraft_version;
            // One that a format wrote stands for no record.
            snapshot = (!found.is_first()).then(|| found.id());
        }
        let start = snapshot.map_or(0, |snapshot| snapshot.end_offset);
        let latest = log.latest_epoch().map_or(0, |(epoch, _)| epoch);
        let is_older = snapshot.is_some_and(|snapshot| snapshot.epoch > latest);
        if log.log_end_offset() < start
            || log.log_start_offset() > start
            || is_older && log.log_end_offset() > start
        {
            // The process died between a snapshot and the log that goes on behind it.
            log.truncate_fully_and_start_at(start, None, now_ms)?;
        }
        log.advance_high_watermark(start);
        let quorum = quorum_state::read(dir.disk(), path).map_err(failed)?;
        let mut opened = ObserverLog {
            files,
            loader: Loader::new(image),
            snapshot,
            voters: VoterHistory::new(voters),
            quorum: quorum.unwrap_or(QuorumState { leader_id: -1, leader_epoch: 0 }),
            leader_epoch: -1,
            part: None,
            decompressor,
        };
        let bytes = opened.look_for_voters(start)?;
        opened.files.schedule.appended(bytes);
        Ok(opened)
    }

    /// Voters count as soon as they are in the log. Gives the bytes that were looked through.
    fn look_for_voters(&mut self, from: i64) -> Result<u64, MetadataLogError> {
        let (mut next, mut bytes) = (from, 0);
        while let Some(chunk) = self.files.read(next, Isolation::LogEnd)? {
            let mut decompressor = std::mem::take(&mut self.decompressor);
            let looked = each_batch(&chunk, &mut decompressor, |batch| {
                self.voters.appended(batch.base_offset, &batch.contents);
                next = batch.last_offset + 1;
                Ok(())
            });
            self.decompressor = decompressor;
            looked?;
            bytes += chunk.len() as u64;
        }
        Ok(bytes)
    }

    /// What is committed.
    pub(crate) fn image(&self) -> &MetadataImage {
        self.loader.image()
    }

    /// The last offset that the image stands for: not what an open metadata transaction has so far.
    pub(crate) fn applied(&self) -> i64 {
        self.loader.image().provenance.offset
    }

    /// The voters that the log names, if it does.
    pub(crate) fn voters(&self) -> Option<&VotersRecord> {
        self.voters.newest().record.as_ref()
    }

    /// Level of `kraft.version`.
    pub(crate) fn kraft_version(&self) -> i16 {
        self.voters.newest().kraft_version
    }

    /// The newest epoch of the quorum that was written down.
    pub(crate) fn quorum_epoch(&self) -> i32 {
        self.quorum.leader_epoch
    }

    /// Writes down who leads, so that an earlier epoch is not believed after a restart.
    pub(crate) fn note_leader(&mut self, leader: i32, epoch: i32) -> Result<(), MetadataLogError> {
        let state = QuorumState { leader_id: leader, leader_epoch: epoch };
        if state != self.quorum {
            let disk = self.files.log.dir().disk();
            quorum_state::write(disk, &self.files.path, state, self.kraft_version())
                .map_err(|error| self.failed(error))?;
            self.quorum = state;
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> MetadataLogError {
        MetadataLogError::Io { path: self.files.path.clone(), error }
    }

    /// Appends batches of the leader as they are, as far as they are whole; says whether voters were among them.
    pub(crate) fn append(
        &mut self,
        bytes: &[u8],
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<bool, MetadataLogError> {
        let damaged = |reason: String| MetadataLogError::Damaged(reason);
        let mut len = 0;
        let mut next = self.files.log.log_end_offset();
        let mut control = Vec::new();
        while let Ok(batch) = BatchView::parse(&bytes[len..]) {
            if batch.base_offset() != next {
                let found = batch.base_offset();
                return Err(damaged(format!(
                    "the leader sent a batch at offset {found}, where {next} follows"
                )));
            }
            if !batch.crc_is_valid() {
                return Err(damaged(format!(
                    "the checksum of the batch at offset {next} is wrong"
                )));
            }
            if batch.partition_leader_epoch() > leader_epoch {
                break;
            }
            if batch.is_control() {
                // It is not committed, and may be gone with the next leader.
                let read = Batch::read(batch.bytes(), &mut self.decompressor);
                control.push((next, read.map_err(|error| damaged(error.to_string()))?.contents));
            }
            next = batch.next_offset();
            len += batch.total_len();
        }
        if len == 0 {
            return match bytes.is_empty() {
                true => Ok(false),
                false => Err(damaged(format!(
                    "what the leader sent at offset {next} is no whole batch of its epoch"
                ))),
            };
        }
        if self.leader_epoch != leader_epoch {
            self.files.log.make_follower(leader_epoch);
            self.leader_epoch = leader_epoch;
        }
        let context = AppendContext {
            origin: AppendOrigin::Replication,
            ..AppendContext::coordinator(leader_epoch, now_ms)
        };
        self.files.log.append_with_offsets(&bytes[..len], &context)?;
        self.files.schedule.appended(len as u64);
        let before = self.voters().cloned();
        for (offset, contents) in &control {
            self.voters.appended(*offset, contents);
        }
        Ok(before.as_ref() != self.voters())
    }

    /// Cuts the log off, which was not committed from there on; says whether voters were cut off with it.
    pub(crate) fn truncate(&mut self, to: i64, now_ms: i64) -> Result<bool, MetadataLogError> {
        self.files.log.truncate_to(to, now_ms)?;
        Ok(self.voters.truncated(to))
    }

    /// Advances the high watermark, to the log's end at most. `apply` gets each update, in order.
    pub(crate) fn advance_to(
        &mut self,
        high_watermark: i64,
        mut apply: impl FnMut(Update),
    ) -> Result<(), MetadataLogError> {
        self.files.log.advance_high_watermark(high_watermark);
        while let Some(chunk) =
            self.files.read(self.loader.next_offset(), Isolation::HighWatermark)?
        {
            let next = self.loader.next_offset();
            let loader = &mut self.loader;
            each_batch(&chunk, &mut self.decompressor, |batch| {
                if batch.last_offset < next {
                    return Ok(());
                }
                loader.load(&batch)?.into_iter().for_each(&mut apply);
                Ok(())
            })?;
        }
        self.voters.committed(self.applied());
        Ok(())
    }

    /// Writes a piece of a snapshot.
    pub(crate) fn write_part(
        &mut self,
        id: SnapshotId,
        position: i64,
        bytes: &[u8],
    ) -> Result<(), MetadataLogError> {
        if position == 0 {
            if let Some((left, _)) = self.part.take().filter(|(part, _)| *part != id) {
                let path = self.part_path(left);
                let removed = self.files.log.dir().disk().remove_file(&path);
                removed.map_err(|error| MetadataLogError::Io { path, error })?;
            }
            let path = self.part_path(id);
            let failed = |error| MetadataLogError::Io { path: path.clone(), error };
            let file = self.files.log.dir().disk().open(&path, Mode::Create).map_err(failed)?;
            file.set_len(0).map_err(failed)?;
            self.part = Some((id, file));
        }
        let at = u64::try_from(position).unwrap_or(0);
        match &self.part {
            Some((part, file)) if *part == id => {
                file.write_all_at(bytes, at).map_err(|error| self.failed(error))
            }
            _ => Err(MetadataLogError::Damaged("a piece of another snapshot".into())),
        }
    }

    fn part_path(&self, id: SnapshotId) -> PathBuf {
        self.files.path.join(format!("{}{PART}", checkpoints::name(id)))
    }

    /// The snapshot is complete: it takes the place of the log, and of the image.
    ///
    /// # Errors
    /// [`MetadataLogError::Snapshot`] and errors of its records: the snapshot is not used, and everything is as it was.
    pub(crate) fn load_snapshot(
        &mut self,
        id: SnapshotId,
        now_ms: i64,
        mut apply: impl FnMut(Update),
    ) -> Result<(), MetadataLogError> {
        let path = self.part_path(id);
        let Some((_, file)) = self.part.take().filter(|(part, _)| *part == id) else {
            return Err(MetadataLogError::Damaged("another snapshot is complete".into()));
        };
        let disk = self.files.log.dir().disk().clone();
        let failed = |error| MetadataLogError::Io { path: path.clone(), error };
        // Looked at before anything is given up for it.
        let bytes = disk.read_small(&path).map_err(failed)?.unwrap_or_default();
        let broken = |error| MetadataLogError::Snapshot { path: path.clone(), error };
        let old = self.loader.image().clone();
        let mut reader = SnapshotReader::new(old.clone());
        let loaded =
            each_batch(&bytes, &mut self.decompressor, |batch| reader.load(&batch).map_err(broken));
        let voters = reader.voters().cloned();
        let kraft_version = reader.kraft_version().map_or(0, |record| record.k_raft_version);
        let read = loaded.and_then(|()| reader.finish(id.end_offset, id.epoch).map_err(broken));
        let (new, changes) = match read {
            Ok(read) => read,
            Err(error) => {
                let _ = disk.remove_file(&path);
                // Whatever is wrong with it came with the download: it says nothing of what is committed here.
                return Err(MetadataLogError::Damaged(format!(
                    "a snapshot cannot be used: {error}"
                )));
            }
        };
        file.sync().map_err(failed)?;
        disk.rename(&path, &self.files.path.join(checkpoints::name(id))).map_err(failed)?;
        disk.sync_dir(&self.files.path).map_err(failed)?;
        self.files.log.truncate_fully_and_start_at(id.end_offset, None, now_ms)?;
        self.files.log.advance_high_watermark(id.end_offset);
        self.snapshot = Some(id);
        self.voters = VoterHistory::new(Voters { record: voters, kraft_version });
        self.files.schedule.end(u64::MAX, now_ms);
        self.loader = Loader::new(new.clone());
        apply(Update { old, new, changes });
        Ok(())
    }

    /// A snapshot of the image, if one is due: [`Due::write`] writes it, [`LogFiles::end_checkpoint`] notes it.
    pub(crate) fn checkpoint_due(&mut self, now_ms: i64) -> Option<Due> {
        // An image within a metadata transaction is none that a log could go on behind.
        let is_due = self.files.schedule.is_due() || self.files.schedule.is_due_by(now_ms);
        if !is_due || self.loader.open_transaction().is_some() {
            return None;
        }
        // Those that are not committed are none that a log could go on behind either.
        let voters = self.voters.at(self.applied()).clone();
        let (image, kraft_version) = (self.loader.image(), voters.kraft_version);
        Some(self.files.begin_checkpoint(image, voters.record, kraft_version, now_ms))
    }
}

impl Epochs for ObserverLog {
    fn log_end(&self) -> i64 {
        self.files.log.log_end_offset()
    }

    fn latest_epoch(&self) -> Option<i32> {
        let latest = self.files.log.latest_epoch().map(|(epoch, _)| epoch);
        latest.or_else(|| self.snapshot.map(|snapshot| snapshot.epoch))
    }

    fn end_of(&self, epoch: i32) -> Option<EpochEnd> {
        let earliest = self.files.log.earliest_epoch();
        match self.snapshot {
            // The epoch that the log begins in may have no record in it.
            Some(snapshot)
                if snapshot.epoch <= epoch
                    && earliest
                        .is_none_or(|(first, _)| first > snapshot.epoch && first > epoch) =>
            {
                let end_offset = earliest.map_or(self.log_end(), |(_, start)| start);
                let is_known = earliest.is_some() || snapshot.epoch == epoch;
                is_known.then_some(EpochEnd { epoch: snapshot.epoch, end_offset })
            }
            _ => {
                let (epoch, end_offset) = self.files.log.end_offset_for_epoch(epoch)?;
                Some(EpochEnd { epoch, end_offset })
            }
        }
    }
}

impl Offsets for ObserverLog {
    fn high_watermark(&self) -> Option<i64> {
        Some(self.files.log.high_watermark()).filter(|offset| *offset > 0)
    }
}

/// What is left of snapshots whose process died meanwhile.
fn remove_parts(dir: &LogDir, path: &Path) -> io::Result<()> {
    for entry in dir.disk().list(path)? {
        if entry.name.ends_with(PART) {
            dir.disk().remove_file(&path.join(entry.name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use thalweg_log::ManagerConfig;
    use thalweg_log::testing::TempDir;
    use thalweg_metadata::bootstrap::snapshot_batches;
    use thalweg_metadata::features::MetadataVersion;
    use thalweg_metadata::image::{Delta, Provenance};
    use thalweg_metadata::records::BatchWriter;
    use thalweg_wire::Uuid;
    use thalweg_wire::messages::metadata_record::MetadataRecord;
    use thalweg_wire::messages::{FeatureLevelRecord, TopicRecord};

    use super::*;

    const RETENTION: Retention =
        Retention { snapshot_after_bytes: u64::MAX, snapshot_interval_ms: 0, bytes: -1, ms: -1 };

    fn open(dir: &TempDir) -> (LogManager, ObserverLog) {
        let mut config =
            ManagerConfig::new(vec![dir.path().to_path_buf()], 1, LogConfig::default(), 0);
        config.cluster_id = Some("test".into());
        let (logs, _) = LogManager::open(config).unwrap();
        let log = ObserverLog::open(&logs, logs.metadata_dir(), LogConfig::default(), RETENTION, 0);
        let log = log.unwrap();
        (logs, log)
    }

    /// A batch of one topic.
    fn batch(offset: i64, epoch: i32, topic: &str) -> Bytes {
        let name = topic.to_owned();
        let topic_id = Uuid::from_u128(1 << 80 | offset as u128 | u128::from(epoch as u32) << 64);
        let record = TopicRecord { name, topic_id, ..Default::default() };
        writer(epoch).data(offset, &[record.into()]).unwrap()
    }

    fn writer(epoch: i32) -> BatchWriter {
        BatchWriter { epoch, timestamp_ms: 1_000, metadata_version: MetadataVersion::LATEST }
    }

    fn topics(log: &ObserverLog) -> Vec<String> {
        let mut names: Vec<String> =
            log.image().topics.iter().map(|topic| topic.name.to_string()).collect();
        names.sort_unstable();
        names
    }

    fn commit(log: &mut ObserverLog, high_watermark: i64) -> usize {
        let mut updates = 0;
        log.advance_to(high_watermark, |_| updates += 1).unwrap();
        updates
    }

    /// A snapshot of these topics.
    fn snapshot(id: SnapshotId, names: &[&str]) -> Vec<u8> {
        let mut delta = Delta::new(MetadataImage::empty());
        let name = "metadata.version".to_owned();
        let level = FeatureLevelRecord { name, feature_level: 30, ..Default::default() };
        delta.replay(&level.into()).unwrap();
        for (at, name) in names.iter().enumerate() {
            let topic_id = Uuid::from_u128(1 << 90 | at as u128);
            let topic = TopicRecord { name: (*name).into(), topic_id, ..Default::default() };
            delta.replay(&MetadataRecord::from(topic)).unwrap();
        }
        let offset = id.end_offset - 1;
        let image = delta.apply(Provenance { offset, epoch: id.epoch, timestamp_ms: 5 }).0;
        snapshot_batches(&image, 1, None, 5).unwrap().concat()
    }

    #[test]
    fn what_is_not_committed_is_in_the_log_and_not_in_the_image() {
        let dir = TempDir::new();
        {
            let (_logs, mut log) = open(&dir);
            assert_eq!((log.log_end(), log.high_watermark(), log.latest_epoch()), (0, None, None));
            let both = [batch(0, 3, "one"), batch(1, 3, "two")].concat();
            log.append(&both, 3, 0).unwrap();
            assert_eq!((log.log_end(), log.latest_epoch()), (2, Some(3)));
            assert!(topics(&log).is_empty());
            assert_eq!(commit(&mut log, 1), 1);
            assert_eq!((topics(&log), log.applied()), (vec!["one".to_owned()], 0));
            // Another leader has something else there.
            log.truncate(1, 0).unwrap();
            log.append(&batch(1, 4, "other"), 4, 0).unwrap();
            assert_eq!(commit(&mut log, 2), 1);
            assert_eq!(topics(&log), ["one", "other"]);
            log.note_leader(7, 4).unwrap();
            log.files.close(0);
        }
        let (_logs, mut log) = open(&dir);
        assert_eq!((log.log_end(), log.latest_epoch(), log.quorum_epoch()), (2, Some(4), 4));
        assert!(topics(&log).is_empty(), "how far it is committed is the leader's to say");
        commit(&mut log, 2);
        assert_eq!(topics(&log), ["one", "other"]);
        let ends = [2, 3, 4, 5].map(|epoch| log.end_of(epoch).map(|it| (it.epoch, it.end_offset)));
        assert_eq!(ends, [Some((2, 0)), Some((3, 1)), Some((4, 2)), None]);
    }

    #[test]
    fn only_whole_batches_that_follow_are_appended() {
        let dir = TempDir::new();
        let (_logs, mut log) = open(&dir);
        let bytes = [batch(0, 3, "one"), batch(1, 3, "two")].concat();
        log.append(&bytes[..bytes.len() - 1], 3, 0).unwrap();
        assert_eq!(log.log_end(), 1, "the second is cut off");
        assert!(log.append(&batch(2, 3, "gap"), 3, 0).is_err());
        let mut damaged = batch(1, 3, "two").to_vec();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        assert!(log.append(&damaged, 3, 0).is_err());
        // A newer leader's, in the answer of an older one.
        assert!(log.append(&batch(1, 5, "newer"), 4, 0).is_err());
        let both = [batch(1, 4, "two"), batch(2, 5, "newer")].concat();
        log.append(&both, 4, 0).unwrap();
        assert_eq!(log.log_end(), 2);
    }

    #[test]
    fn a_snapshot_takes_the_place_of_everything() {
        let dir = TempDir::new();
        let id = SnapshotId { end_offset: 50, epoch: 6 };
        {
            let (_logs, mut log) = open(&dir);
            log.append(&batch(0, 3, "gone"), 3, 0).unwrap();
            commit(&mut log, 1);
            let bytes = snapshot(id, &["kept"]);
            let (first, rest) = bytes.split_at(bytes.len() / 3);
            log.write_part(id, 0, first).unwrap();
            log.write_part(id, first.len() as i64, rest).unwrap();
            let mut deleted = 0;
            let took_effect =
                log.load_snapshot(id, 0, |update| deleted += update.changes.deleted_topics.len());
            took_effect.unwrap();
            assert_eq!((topics(&log), deleted), (vec!["kept".to_owned()], 1));
            assert_eq!((log.log_end(), log.high_watermark()), (50, Some(50)));
            assert_eq!((log.applied(), log.latest_epoch()), (49, Some(6)));
            let end =
                |log: &ObserverLog, epoch| log.end_of(epoch).map(|it| (it.epoch, it.end_offset));
            assert_eq!((end(&log, 6), end(&log, 7)), (Some((6, 50)), None));
            log.append(&batch(50, 8, "behind"), 8, 0).unwrap();
            assert_eq!(
                (end(&log, 6), end(&log, 7), end(&log, 8)),
                (Some((6, 50)), Some((6, 50)), Some((8, 51)))
            );
            commit(&mut log, 51);
            log.files.close(0);
        }
        let (_logs, mut log) = open(&dir);
        assert_eq!((topics(&log), log.log_end()), (vec!["kept".to_owned()], 51));
        commit(&mut log, 51);
        assert_eq!(topics(&log), ["behind", "kept"]);
    }

    #[test]
    fn a_snapshot_that_cannot_be_read_changes_nothing() {
        let dir = TempDir::new();
        let id = SnapshotId { end_offset: 50, epoch: 6 };
        let whole = snapshot(id, &["kept"]);
        {
            let (_logs, mut log) = open(&dir);
            log.append(&batch(0, 3, "one"), 3, 0).unwrap();
            commit(&mut log, 1);
            let mut flipped = whole.clone();
            let middle = flipped.len() / 2;
            flipped[middle] ^= 1;
            for bytes in [&whole[..whole.len() - 10], b"nothing of the kind", b"", &flipped] {
                log.write_part(id, 0, bytes).unwrap();
                let error = log.load_snapshot(id, 0, |_| panic!("an update")).unwrap_err();
                assert!(matches!(error, MetadataLogError::Damaged(_)), "{error}");
                assert_eq!((topics(&log), log.log_end()), (vec!["one".to_owned()], 1));
            }
            assert!(log.write_part(id, 5, b"piece").is_err(), "a piece without a beginning");
            // Another leader has another one: of this one nothing is left.
            log.write_part(SnapshotId { end_offset: 40, epoch: 5 }, 0, &whole[..20]).unwrap();
            log.write_part(id, 0, &whole[..20]).unwrap();
            let parts =
                std::fs::read_dir(&log.files.path).unwrap().map(|it| it.unwrap().file_name());
            let is_part = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(PART);
            assert_eq!(parts.filter(is_part).count(), 1);
            // The process dies while it fetches.
            log.write_part(id, 0, &whole[..20]).unwrap();
            log.files.close(0);
        }
        let (_logs, log) = open(&dir);
        assert_eq!(log.log_end(), 1);
        let left = std::fs::read_dir(&log.files.path).unwrap().map(|it| it.unwrap().file_name());
        assert!(!left.into_iter().any(|name| name.to_string_lossy().ends_with(PART)));
    }

    #[test]
    fn a_death_between_a_snapshot_and_its_log_is_made_good() {
        let dir = TempDir::new();
        let id = SnapshotId { end_offset: 50, epoch: 6 };
        {
            let (_logs, mut log) = open(&dir);
            log.append(&batch(0, 3, "one"), 3, 0).unwrap();
            log.files.close(0);
            let path = log.files.path.join(checkpoints::name(id));
            std::fs::write(path, snapshot(id, &["kept"])).unwrap();
            // The same where the log goes on behind the snapshot's end, in an older epoch.
            let inside = SnapshotId { end_offset: 1, epoch: 5 };
            let other = TempDir::new();
            let (_logs, mut log) = open(&other);
            log.append(&[batch(0, 3, "one"), batch(1, 3, "two")].concat(), 3, 0).unwrap();
            log.files.close(0);
            let path = log.files.path.join(checkpoints::name(inside));
            std::fs::write(path, snapshot(inside, &["kept"])).unwrap();
            drop((log, _logs));
            let (_logs, log) = open(&other);
            assert_eq!((log.log_end(), log.latest_epoch()), (1, Some(5)));
        }
        let (_logs, log) = open(&dir);
        assert_eq!((log.log_end(), log.high_watermark()), (50, Some(50)));
        assert_eq!((topics(&log), log.latest_epoch()), (vec!["kept".to_owned()], Some(6)));
    }
}
