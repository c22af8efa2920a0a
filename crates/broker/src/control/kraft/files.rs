//! The files of `__cluster_metadata-0`: its log, and the checkpoints beside the log's segments. [`super::MetadataLog`]
//! writes them where this node is the controller, [`super::ObserverLog`] where other nodes are.

use std::path::PathBuf;
use std::sync::Arc;

use thalweg_log::{
    CLUSTER_METADATA_TOPIC, CreateRequest, Isolation, Log, LogConfig, LogDir, LogManager,
    ReadRequest, Wait,
};
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;
use thalweg_wire::messages::VotersRecord;

use super::checkpoints::{Due, Retained, Retention, Schedule};
use super::log::MetadataLogError;

/// Bytes read at a time.
const READ_BYTES: u32 = 1 << 20;

/// Directory of the metadata log in a log directory.
pub(super) fn path_in(dir: &LogDir) -> PathBuf {
    dir.path().join(format!("{CLUSTER_METADATA_TOPIC}-0"))
}

/// The log, open, and when checkpoints of it are due.
#[derive(Debug)]
pub(crate) struct LogFiles {
    pub(super) log: Arc<Log>,
    pub(super) path: PathBuf,
    pub(super) schedule: Schedule,
}

impl LogFiles {
    /// Opens the log, or makes it.
    pub(super) fn open(
        logs: &LogManager,
        dir: &Arc<LogDir>,
        config: LogConfig,
        retention: Retention,
        now_ms: i64,
    ) -> Result<LogFiles, MetadataLogError> {
        let request = CreateRequest::new(CLUSTER_METADATA_TOPIC, 0, Uuid::ONE);
        let log = logs.open_unmanaged(dir, &request, Arc::new(config), now_ms)?;
        Ok(LogFiles { log, path: path_in(dir), schedule: Schedule::new(retention, now_ms) })
    }

    /// Whole batches from an offset on; `None` at the end.
    pub(super) fn read(
        &self,
        offset: i64,
        isolation: Isolation,
    ) -> Result<Option<Vec<u8>>, MetadataLogError> {
        let end = match isolation {
            Isolation::LogEnd => self.log.log_end_offset(),
            _ => self.log.high_watermark(),
        };
        if offset >= end {
            return Ok(None);
        }
        let request = ReadRequest {
            offset,
            max_bytes: READ_BYTES,
            min_one: true,
            isolation,
            wait: Wait::Allowed,
        };
        let damaged = |error: &dyn std::fmt::Display| MetadataLogError::Damaged(error.to_string());
        let found = self.log.read(&request).map_err(|error| damaged(&error))?;
        let bytes = found.to_vec().map_err(|error| damaged(&error))?;
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    /// A checkpoint of the image, to be written. What is appended meanwhile counts for the next.
    pub(super) fn begin_checkpoint(
        &mut self,
        image: &MetadataImage,
        voters: Option<VotersRecord>,
        kraft_version: i16,
        now_ms: i64,
    ) -> Due {
        Due {
            disk: self.log.dir().disk().clone(),
            dir: self.path.clone(),
            image: image.clone(),
            kraft_version,
            voters,
            bytes: self.schedule.begin(now_ms),
        }
    }

    /// The checkpoint is on the disk, or could not be written.
    pub(super) fn end_checkpoint(&mut self, due: &Due, is_written: bool, now_ms: i64) {
        if is_written {
            self.schedule.end(due.bytes, now_ms);
        }
    }

    /// What retention is about.
    pub(super) fn retained(&self) -> Retained {
        let retention = *self.schedule.retention();
        Retained { dir: self.path.clone(), log: Arc::clone(&self.log), retention }
    }

    /// Flushes everything; nothing is written afterwards.
    pub(super) fn close(&self, now_ms: i64) {
        if let Err(error) = self.log.close_cleanly(now_ms) {
            tracing::error!(%error, "the metadata log was not closed");
        }
    }
}
