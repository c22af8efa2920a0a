//! The topic configs that a log obeys.
//!
//! Parsing and validating is the config registry's business; this is the result, with Kafka's
//! defaults. A log takes a new one at any time ([`crate::Log::update_config`]); what it says about
//! a segment's indexes and jitter holds for segments made afterwards.

use thalweg_records::record::MAX_DECOMPRESSED_RECORD_BYTES;

/// Configs of one topic, Kafka's names with underscores.
#[derive(Clone, PartialEq, Debug)]
pub struct LogConfig {
    /// `segment.bytes`: a segment is closed before it would grow past this.
    pub segment_bytes: u32,
    /// `segment.ms`: a segment is closed when it is this old.
    pub segment_ms: i64,
    /// `segment.jitter.ms`: up to so much earlier, at random.
    pub segment_jitter_ms: i64,
    /// `segment.index.bytes`: an index that would grow past this closes the segment.
    pub segment_index_bytes: u32,
    /// `index.interval.bytes`: one index entry per so many bytes of batches.
    pub index_interval_bytes: u32,
    /// `flush.messages`: fsync after so many records.
    pub flush_messages: i64,
    /// `flush.ms`: fsync after so long.
    pub flush_ms: i64,
    /// `retention.bytes`; negative keeps everything.
    pub retention_bytes: i64,
    /// `retention.ms`; negative keeps everything.
    pub retention_ms: i64,
    /// `max.message.bytes`: the largest batch that a leader takes.
    pub max_message_bytes: u32,
    /// `max.decompressed.message.bytes`: the largest record of a compressed batch, when it is decompressed, that compaction
    /// and look-ups by timestamp read.
    pub max_decompressed_message_bytes: i32,
    /// `file.delete.delay.ms`: deleted files stay, renamed, for so long.
    pub file_delete_delay_ms: i64,
    /// `preallocate`: segments get their full length when they are made.
    pub preallocate: bool,
    /// `cleanup.policy` contains `delete`.
    pub delete: bool,
    /// `cleanup.policy` contains `compact`.
    pub compact: bool,
    /// `min.cleanable.dirty.ratio`: compaction waits for more than this share to be new.
    pub min_cleanable_dirty_ratio: f64,
    /// `min.compaction.lag.ms`: segments with records that are younger are not compacted.
    pub min_compaction_lag_ms: i64,
    /// `max.compaction.lag.ms`: what is older is compacted whatever its share; it also bounds
    /// `segment.ms` for compacted topics.
    pub max_compaction_lag_ms: i64,
    /// `delete.retention.ms`: for so long compaction keeps tombstones and the markers of
    /// transactions of which nothing else is left.
    pub delete_retention_ms: i64,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;
        LogConfig {
            segment_bytes: 1 << 30,
            segment_ms: WEEK_MS,
            segment_jitter_ms: 0,
            segment_index_bytes: 10 << 20,
            index_interval_bytes: 4096,
            flush_messages: i64::MAX,
            flush_ms: i64::MAX,
            retention_bytes: -1,
            retention_ms: WEEK_MS,
            max_message_bytes: (1 << 20) + 12,
            max_decompressed_message_bytes: MAX_DECOMPRESSED_RECORD_BYTES,
            file_delete_delay_ms: 60_000,
            preallocate: false,
            delete: true,
            compact: false,
            min_cleanable_dirty_ratio: 0.5,
            min_compaction_lag_ms: 0,
            max_compaction_lag_ms: i64::MAX,
            delete_retention_ms: 86_400_000,
        }
    }
}

impl LogConfig {
    /// How old a segment may become.
    pub(crate) fn max_segment_ms(&self) -> i64 {
        if self.compact && self.max_compaction_lag_ms > 0 {
            self.segment_ms.min(self.max_compaction_lag_ms)
        } else {
            self.segment_ms
        }
    }

    /// Files and positions in them are 32 bits with a sign in Kafka.
    pub(crate) fn segment_limit(&self) -> u32 {
        self.segment_bytes.min(i32::MAX as u32)
    }

    /// What a new segment closes early, from a random number.
    pub(crate) fn jitter(&self, random: u64) -> i64 {
        let bound = self.segment_jitter_ms.min(self.segment_ms);
        if bound <= 0 { 0 } else { (random % bound as u64) as i64 }
    }
}
