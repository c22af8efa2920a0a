//! A log in memory, with its leader epochs.

use thalweg_replication::{EpochEnd, Epochs};

/// A record: the epoch of the leader that appended it, and what is in it, which no other record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub epoch: i32,
    pub value: u64,
}

/// A log, with the epochs as a checkpoint file has them: a leader's is there before its first record.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// What lies before is deleted.
    pub start: i64,
    pub records: Vec<Record>,
    pub epochs: Vec<(i32, i64)>,
    pub high_watermark: i64,
    /// The same as it was last written to the disk.
    pub checkpoint: i64,
}

impl Log {
    pub fn end(&self) -> i64 {
        self.start + self.records.len() as i64
    }

    /// What lies from one offset to another, as far as it is there.
    pub fn between(&self, from: i64, to: i64) -> &[Record] {
        let index = |offset: i64| (offset.clamp(self.start, self.end()) - self.start) as usize;
        &self.records[index(from)..index(to.max(from))]
    }

    pub fn assign(&mut self, epoch: i32, start: i64) {
        if self.epochs.last().is_none_or(|(last, _)| *last < epoch) {
            // An epoch without records gives way.
            while self.epochs.last().is_some_and(|(_, at)| *at >= start) {
                self.epochs.pop();
            }
            self.epochs.push((epoch, start));
        }
    }

    pub fn append(&mut self, record: Record) {
        self.assign(record.epoch, self.end());
        self.records.push(record);
    }

    pub fn truncate(&mut self, to: i64) {
        if to < self.start {
            return self.begin_at(to);
        }
        self.records.truncate((to - self.start) as usize);
        while self.epochs.last().is_some_and(|(_, at)| *at >= to) {
            self.epochs.pop();
        }
        self.high_watermark = self.high_watermark.min(to);
        self.checkpoint = self.checkpoint.min(to);
    }

    /// Begins anew, empty.
    pub fn begin_at(&mut self, start: i64) {
        *self = Log { start, high_watermark: start, checkpoint: start, ..Log::default() };
    }

    /// Deletes what lies before an offset. The epoch that it is in begins with it.
    pub fn delete(&mut self, to: i64) {
        assert!(to >= self.start && to <= self.high_watermark, "only what is committed is deleted");
        self.records.drain(..(to - self.start) as usize);
        self.start = to;
        self.checkpoint = self.checkpoint.max(to);
        let later = self.epochs.partition_point(|(_, at)| *at <= to);
        if let Some(floor) = later.checked_sub(1) {
            self.epochs.drain(..floor);
            self.epochs[0].1 = to;
        }
    }
}

impl Epochs for Log {
    fn log_end(&self) -> i64 {
        self.end()
    }

    fn latest_epoch(&self) -> Option<i32> {
        self.epochs.last().map(|(epoch, _)| *epoch)
    }

    fn end_of(&self, epoch: i32) -> Option<EpochEnd> {
        let (last, _) = self.epochs.last()?;
        if epoch > *last {
            return None;
        }
        let next = self.epochs.partition_point(|(known, _)| *known <= epoch);
        let end_offset = self.epochs.get(next).map_or(self.end(), |(_, start)| *start);
        let found = next.checked_sub(1).map_or(epoch, |at| self.epochs[at].0);
        Some(EpochEnd { epoch: found, end_offset })
    }
}
