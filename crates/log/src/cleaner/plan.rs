//! What of a log may be compacted, and how much it needs it: Kafka's rules of dirty ratio and lag.

use std::io;
use std::sync::Arc;

use crate::partition::log::Log;
use crate::partition::segment::Segment;
use crate::partition::segments::Segments;
use crate::partition::segments::floor_segment;

/// What a pass through a log would do.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Everything before it was compacted.
    pub(crate) first_dirty: i64,
    /// Where the first segment begins that must not be touched.
    pub(crate) first_uncleanable: i64,
    /// Bytes that were compacted.
    clean_bytes: u64,
    /// Bytes that can be.
    pub(crate) cleanable_bytes: u64,
    /// By how much the oldest new record has passed `max.compaction.lag.ms`; 0 if none has.
    pub(crate) delay_ms: i64,
    /// The offset that the checkpoint has says nothing of this log.
    pub(crate) resets_checkpoint: bool,
}

impl Plan {
    /// What of `log` may be compacted now. Waits for the disk.
    pub(crate) fn of(log: &Log, now_ms: i64) -> io::Result<Plan> {
        let config = log.config();
        let log_start = log.log_start_offset();
        let checkpoint = log.cleaned_offset();
        // Before the segments: what it says can only be less than it might be.
        let stable = log.last_stable_offset();
        let segments = log.segments();
        let end = log.log_end_offset();
        let known = checkpoint.unwrap_or(log_start);
        let resets_checkpoint = known < log_start || known > end;
        let first_dirty = if resets_checkpoint { log_start } else { known };
        let active = segments.last().map_or(0, |active| active.base_offset);

        let mut limit = stable.min(active);
        let min_lag = config.min_compaction_lag_ms;
        if min_lag > 0 {
            for segment in inactive_from(&segments, first_dirty) {
                if segment.largest_timestamp()? > now_ms.saturating_sub(min_lag) {
                    limit = limit.min(segment.base_offset);
                    break;
                }
            }
        }
        let limit = limit.max(first_dirty);
        let untouched = inactive_from(&segments, limit).first();
        let first_uncleanable = untouched.map_or(active, |segment| segment.base_offset);

        let bytes = |part: &[Arc<Segment>]| part.iter().map(|s| u64::from(s.size())).sum();
        let clean_bytes = bytes(before(&segments, first_dirty));
        let cleanable_bytes = bytes(between(&segments, first_dirty, first_uncleanable));

        let mut delay_ms = 0;
        let clean_until = now_ms.saturating_sub(config.max_compaction_lag_ms.max(0));
        // With the largest lag there is nothing that old, and no need to look.
        if clean_until > 0 {
            let mut earliest = i64::MAX;
            for segment in inactive_from(&segments, first_dirty) {
                let first = segment.first_timestamp()?.filter(|&timestamp| timestamp > 0);
                earliest = earliest.min(first.unwrap_or(i64::MAX));
            }
            delay_ms = clean_until.saturating_sub(earliest).max(0);
        }
        Ok(Plan {
            first_dirty,
            first_uncleanable,
            clean_bytes,
            cleanable_bytes,
            delay_ms,
            resets_checkpoint,
        })
    }

    /// Share of the log that is new.
    pub(crate) fn ratio(&self) -> f64 {
        match self.clean_bytes + self.cleanable_bytes {
            0 => 0.0,
            total => self.cleanable_bytes as f64 / total as f64,
        }
    }

    /// Whether there is anything to go through.
    pub(crate) fn has_bytes(&self) -> bool {
        self.clean_bytes + self.cleanable_bytes > 0
    }

    /// Whether the log is to be compacted now.
    pub(crate) fn is_due(&self, log: &Log) -> bool {
        self.delay_ms > 0 && self.cleanable_bytes > 0
            || self.ratio() > log.config().min_cleanable_dirty_ratio
    }
}

/// Segments from the one that holds `offset` on, but for the active one.
fn inactive_from(segments: &Segments, offset: i64) -> &[Arc<Segment>] {
    let Some((active, inactive)) = segments.split_last() else { return &[] };
    if offset >= active.base_offset { &[] } else { &inactive[floor_segment(inactive, offset)..] }
}

/// Segments from the one that holds `from` on, of those that begin before `upto`.
pub(crate) fn between(segments: &Segments, from: i64, upto: i64) -> &[Arc<Segment>] {
    if from >= upto {
        return &[];
    }
    let part = before(segments, upto);
    &part[floor_segment(part, from)..]
}

/// Segments that begin before `offset`.
fn before(segments: &Segments, offset: i64) -> &[Arc<Segment>] {
    &segments[..segments.partition_point(|segment| segment.base_offset < offset)]
}
