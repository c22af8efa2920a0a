//! The scan after a crash: every batch from the segment of the recovery point on is checked, and the
//! log ends before the first that is not one.

use std::path::Path;
use std::sync::Arc;

use super::files::remove_segment;
use super::{Inner, LoadInput, LoadStats};
use crate::format::epochs::Epochs;
use crate::format::scan::{Scan, ScanError};
use crate::format::walk::BatchHead;
use crate::fs::names;
use crate::partition::home::Home;
use crate::partition::producers::{ProducerState, Updates};
use crate::partition::replay::{apply, rebuild_producers, take_snapshot};
use crate::partition::segment::Segment;
use crate::partition::segments::floor_segment;

/// The scan after a crash.
pub(super) struct Recovery<'a> {
    pub(super) home: &'a Arc<Home>,
    pub(super) path: &'a Path,
    pub(super) input: &'a LoadInput,
    pub(super) stats: &'a mut LoadStats,
    pub(super) epochs: &'a mut Epochs,
    pub(super) snapshots: &'a mut Vec<i64>,
}

impl Recovery<'_> {
    /// Checks what lies behind `recovery_point`; returns where the log ends and its producers.
    pub(super) fn run(
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
                // flushes the length later.
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
        segment.reset_index();
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
            self.epochs.learn(head.leader_epoch, head.base_offset, head.last_offset);
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
        // Built anew of batches that may all be flushed: nothing else would flush it.
        if segment.sync_txn_index()? {
            self.home.dir.disk.sync_dir(self.path)?;
        }
        Ok((end, truncated, is_zero))
    }
}
