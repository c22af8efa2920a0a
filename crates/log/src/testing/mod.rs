//! Batches and directories for tests, and what crashes leave of these.

pub mod crash;
mod memory;

pub use memory::{MemoryLog, OpenTransaction, Taken};
use thalweg_records::batch::{HEADER_LEN, add_sequence};
use thalweg_records::checksum::crc32c;
use thalweg_wire::varint;

/// One batch to be: uncompressed, every record with the same few bytes.
#[derive(Clone, Debug)]
pub struct BatchSpec {
    base_offset: i64,
    attributes: i16,
    timestamps: Vec<i64>,
    producer_id: i64,
    epoch: i16,
    sequence: i32,
    leader_epoch: i32,
    value_len: usize,
    marker: Option<(bool, i32)>,
}

impl BatchSpec {
    /// `count` records from `base_offset` on, without a producer, at time 0.
    pub fn new(base_offset: i64, count: i32) -> BatchSpec {
        BatchSpec {
            base_offset,
            attributes: 0,
            timestamps: vec![0; count as usize],
            producer_id: -1,
            epoch: -1,
            sequence: -1,
            leader_epoch: -1,
            value_len: 10,
            marker: None,
        }
    }

    /// A transaction marker.
    pub fn marker(offset: i64, producer: i64, epoch: i16, coordinator: i32, commit: bool) -> Self {
        let mut spec = BatchSpec::new(offset, 1).producer(producer, epoch, -1);
        spec.attributes = 0x30;
        spec.marker = Some((commit, coordinator));
        spec
    }

    /// Whether it is a transaction marker.
    pub fn is_marker(&self) -> bool {
        self.marker.is_some()
    }

    /// With a producer.
    pub fn producer(mut self, id: i64, epoch: i16, sequence: i32) -> Self {
        (self.producer_id, self.epoch, self.sequence) = (id, epoch, sequence);
        self
    }

    /// Part of a transaction.
    pub fn transactional(mut self) -> Self {
        self.attributes |= 0x10;
        self
    }

    /// All records at this time.
    pub fn timestamp(mut self, timestamp: i64) -> Self {
        self.timestamps.fill(timestamp);
        self
    }

    /// Each record at its own time.
    pub fn timestamps(mut self, timestamps: &[i64]) -> Self {
        self.timestamps = timestamps.to_vec();
        self
    }

    /// With so many bytes per record.
    pub fn value_len(mut self, len: usize) -> Self {
        self.value_len = len;
        self
    }

    /// With a leader epoch, as in a log.
    pub fn leader_epoch(mut self, epoch: i32) -> Self {
        self.leader_epoch = epoch;
        self
    }

    /// The bytes.
    pub fn build(&self) -> Vec<u8> {
        let mut out = vec![0u8; HEADER_LEN];
        let base_timestamp = self.timestamps.first().copied().unwrap_or(-1);
        for (i, timestamp) in self.timestamps.iter().enumerate() {
            let mut record = vec![0u8];
            varint::put_i64(&mut record, timestamp - base_timestamp);
            varint::put_i32(&mut record, i as i32);
            match self.marker {
                Some((commit, coordinator)) => {
                    varint::put_i32(&mut record, 4);
                    record.extend([0, 0, 0, u8::from(commit)]);
                    varint::put_i32(&mut record, 6);
                    record.extend([0, 0]);
                    record.extend(coordinator.to_be_bytes());
                }
                None => {
                    varint::put_i32(&mut record, -1);
                    varint::put_i32(&mut record, self.value_len as i32);
                    record.resize(record.len() + self.value_len, b'v');
                }
            }
            varint::put_i32(&mut record, 0);
            varint::put_i32(&mut out, record.len() as i32);
            out.extend(record);
        }
        let count = self.timestamps.len() as i32;
        let length = (out.len() - 12) as i32;
        out[0..8].copy_from_slice(&self.base_offset.to_be_bytes());
        out[8..12].copy_from_slice(&length.to_be_bytes());
        out[12..16].copy_from_slice(&self.leader_epoch.to_be_bytes());
        out[16] = 2;
        out[21..23].copy_from_slice(&self.attributes.to_be_bytes());
        out[23..27].copy_from_slice(&(count - 1).to_be_bytes());
        out[27..35].copy_from_slice(&base_timestamp.to_be_bytes());
        let max = self.timestamps.iter().copied().max().unwrap_or(-1);
        out[35..43].copy_from_slice(&max.to_be_bytes());
        out[43..51].copy_from_slice(&self.producer_id.to_be_bytes());
        out[51..53].copy_from_slice(&self.epoch.to_be_bytes());
        out[53..57].copy_from_slice(&self.sequence.to_be_bytes());
        out[57..61].copy_from_slice(&count.to_be_bytes());
        let crc = crc32c(&out[21..]);
        out[17..21].copy_from_slice(&crc.to_be_bytes());
        out
    }

    /// The sequence after this batch's last.
    pub fn next_sequence(&self) -> i32 {
        add_sequence(self.sequence, self.timestamps.len() as i32)
    }
}

/// A directory that goes when the value does.
#[derive(Debug)]
pub struct TempDir(std::path::PathBuf);

impl TempDir {
    /// A new, empty directory.
    #[allow(clippy::new_without_default)]
    pub fn new() -> TempDir {
        Self::below(&std::env::temp_dir())
    }

    /// The same in memory, where the system has a place for that: its syncs cost nothing.
    pub fn in_memory() -> TempDir {
        let memory = std::path::Path::new("/dev/shm");
        if memory.is_dir() { Self::below(memory) } else { Self::new() }
    }

    fn below(parent: &std::path::Path) -> TempDir {
        let path = parent.join(format!("thalweg-log-{:032x}", crate::fs::random::random_u128()));
        std::fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }

    /// Leaves the directory where it is, for people to look at.
    pub fn keep(mut self) -> std::path::PathBuf {
        std::mem::take(&mut self.0)
    }

    /// Where it is.
    pub fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
