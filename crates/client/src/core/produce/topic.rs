//! A topic that is produced to.

use std::sync::Arc;

use thalweg_wire::Uuid;

use super::broker_queue::Slot;
use super::partitioner::Sticky;

/// A compressed batch may be begun with at most this many times `batch.size`.
const SWELL_MAX: usize = 8;

/// A topic.
#[derive(Debug)]
pub(super) struct Topic {
    pub name: Arc<str>,
    pub id: Uuid,
    /// By index. Kafka numbers a topic's partitions from 0 without gaps.
    pub partitions: Vec<Slot>,
    pub sticky: Sticky,
    /// What compression is expected to leave of a batch, 1 for all of it.
    pub ratio: f32,
    /// When the last batch was begun.
    pub used_ms: u64,
    /// Partitions that it has no more, while something of them is in flight.
    pub gone: Vec<Slot>,
}

impl Topic {
    /// Bytes before compression at which a batch is full.
    pub fn batch_limit(&self, batch_size: usize, request_max: usize) -> usize {
        // Powers of two, so that buffers come back as what is needed next.
        let mut swell = 1;
        while swell < SWELL_MAX
            && self.ratio * (2 * swell) as f32 <= 1.0
            && batch_size * 2 * swell <= request_max
        {
            swell *= 2;
        }
        batch_size * swell
    }

    /// Learns from a batch of which compression left `len` of `raw_len` bytes. As in Kafka's
    /// estimate, hope comes slowly and goes fast.
    pub fn learn_ratio(&mut self, raw_len: usize, len: usize) {
        if raw_len == 0 {
            return;
        }
        let seen = len as f32 / raw_len as f32;
        self.ratio = if seen > self.ratio {
            (self.ratio + 0.05).max(seen).min(1.0)
        } else {
            (self.ratio - 0.005).max(seen)
        };
    }
}
