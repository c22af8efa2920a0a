//! Offset and time index of one segment.
//!
//! The files are Kafka's: 8-byte entries (relative offset, position) and 12-byte entries
//! (timestamp, relative offset), one of each per `index.interval.bytes`. Entries are gathered in
//! memory and written a page at a time, when the segment is closed and when the log is; nothing is
//! mapped and nothing is preallocated. That a file lags is harmless: after a crash the indexes of
//! everything behind the recovery point are built again from the log.
//!
//! An index read from a file is checked against the log before it is used.

use std::io;

use crate::format::index_files::{
    IndexPaths, MaxTimestamp, OFFSET_ENTRY, PAGE_ENTRIES, TIME_ENTRY, decode_offset, decode_time,
    encode_offset, encode_time,
};
use crate::format::lookup::{Floor, OnFile};
use crate::format::walk::{BatchHead, WalkError, read_exact};
use crate::fs::disk::{Mode, OpenFile};
use crate::fs::wait::Wait;

/// Both indexes of a segment; guarded by the segment's own lock.
#[derive(Debug)]
pub(crate) struct SegmentIndex {
    base_offset: i64,
    /// False until the files have been looked at.
    pub(crate) loaded: bool,
    offsets_on_file: u32,
    times_on_file: u32,
    /// Relative offset of the last offset entry.
    last_offset: u32,
    last_time: MaxTimestamp,
    offset_tail: Vec<(u32, u32)>,
    time_tail: Vec<(i64, u32)>,
    max_timestamp: MaxTimestamp,
    bytes_since_entry: u32,
    max_offsets: u32,
    max_times: u32,
    /// Whether the files were changed since they were last synced.
    unsynced: bool,
    /// Raised when entries on file are dropped or replaced.
    edition: u64,
}

/// Why index files cannot be used.
#[derive(Debug)]
pub(crate) enum IndexError {
    Io(io::Error),
    /// They contradict themselves or the log.
    Corrupt(String),
}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> IndexError {
        IndexError::Io(error)
    }
}

impl SegmentIndex {
    /// Of a segment without batches; `max_bytes` is `segment.index.bytes`.
    pub(crate) fn empty(base_offset: i64, max_bytes: u32) -> SegmentIndex {
        let none = MaxTimestamp { timestamp: -1, offset: base_offset };
        SegmentIndex {
            base_offset,
            loaded: true,
            offsets_on_file: 0,
            times_on_file: 0,
            last_offset: 0,
            last_time: none,
            offset_tail: Vec::new(),
            time_tail: Vec::new(),
            max_timestamp: none,
            bytes_since_entry: 0,
            max_offsets: max_bytes / OFFSET_ENTRY as u32,
            max_times: max_bytes / TIME_ENTRY as u32,
            unsynced: false,
            edition: 0,
        }
    }

    /// Of a segment found on disk; the files are looked at when they are needed.
    pub(crate) fn unloaded(base_offset: i64, max_bytes: u32) -> SegmentIndex {
        SegmentIndex { loaded: false, ..SegmentIndex::empty(base_offset, max_bytes) }
    }

    /// Takes another `segment.index.bytes`.
    pub(crate) fn set_max_bytes(&mut self, max_bytes: u32) {
        self.max_offsets = max_bytes / OFFSET_ENTRY as u32;
        self.max_times = max_bytes / TIME_ENTRY as u32;
    }

    fn offsets(&self) -> u32 {
        self.offsets_on_file + self.offset_tail.len() as u32
    }

    fn times(&self) -> u32 {
        self.times_on_file + self.time_tail.len() as u32
    }

    /// Bytes of both, on file and gathered.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let bytes = |entries: u32, len: usize| u64::from(entries) * len as u64;
        (bytes(self.offsets(), OFFSET_ENTRY), bytes(self.times(), TIME_ENTRY))
    }

    /// Kafka's rule: the time index keeps one entry for the end of the segment.
    pub(crate) fn is_full(&self) -> bool {
        self.offsets() >= self.max_offsets || self.times() + 1 >= self.max_times
    }

    pub(crate) fn max_timestamp(&self) -> MaxTimestamp {
        self.max_timestamp
    }

    /// Notes one appended batch.
    pub(crate) fn on_append(&mut self, batch: &BatchHead, interval: u32) {
        if batch.max_timestamp > self.max_timestamp.timestamp {
            self.max_timestamp =
                MaxTimestamp { timestamp: batch.max_timestamp, offset: batch.last_offset };
        }
        if self.bytes_since_entry > interval {
            // A segment whose index is full has been closed, unless one append alone fills it:
            // then its later batches are found from the last entry on.
            if self.offsets() < self.max_offsets {
                let relative = (batch.last_offset - self.base_offset) as u32;
                if self.offsets() == 0 || relative > self.last_offset {
                    reserve_page(&mut self.offset_tail);
                    self.offset_tail.push((relative, batch.position));
                    self.last_offset = relative;
                }
            }
            if self.times() + 1 < self.max_times {
                self.push_time();
            }
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry = self.bytes_since_entry.saturating_add(batch.len);
    }

    /// Whether enough entries have gathered to write them.
    pub(crate) fn page_is_full(&self) -> bool {
        self.offset_tail.len() >= PAGE_ENTRIES || self.time_tail.len() >= PAGE_ENTRIES
    }

    /// Writes the gathered entries if they fill a page.
    pub(crate) fn write_full_page(&mut self, paths: &IndexPaths<'_>) -> io::Result<()> {
        if self.page_is_full() { self.write_out(paths) } else { Ok(()) }
    }

    fn push_time(&mut self) {
        let MaxTimestamp { timestamp, offset } = self.max_timestamp;
        if timestamp > self.last_time.timestamp && offset >= self.last_time.offset {
            reserve_page(&mut self.time_tail);
            self.time_tail.push((timestamp, (offset - self.base_offset) as u32));
            self.last_time = self.max_timestamp;
        }
    }

    /// The largest timestamp gets its entry: the segment is closed, or the log is.
    pub(crate) fn on_close(&mut self) {
        self.push_time();
    }

    /// Writes what is only in memory, and makes the files exactly as long as their entries.
    pub(crate) fn write_out(&mut self, paths: &IndexPaths<'_>) -> io::Result<()> {
        // Both, before either is written.
        let offsets = paths.open_offsets(Mode::Create, Wait::Allowed)?;
        let times = paths.open_times(Mode::Create, Wait::Allowed)?;
        write_tail(&offsets, &mut self.offset_tail, &mut self.offsets_on_file, encode_offset)?;
        write_tail(&times, &mut self.time_tail, &mut self.times_on_file, encode_time)?;
        self.unsynced = true;
        Ok(())
    }

    /// Whether [`Self::sync_files`] has something to do.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.unsynced || !self.offset_tail.is_empty() || !self.time_tail.is_empty()
    }

    pub(crate) fn mark_synced(&mut self) {
        self.unsynced = false;
    }

    /// Gives back the memory of a closed segment's tails.
    pub(crate) fn shrink(&mut self) {
        self.offset_tail.shrink_to_fit();
        self.time_tail.shrink_to_fit();
    }

    /// Looks at the files and checks them: lengths, order, and the last entries against the log.
    /// `head_at` reads the header at a position of the log.
    pub(crate) fn load(
        &mut self,
        paths: &IndexPaths<'_>,
        log_size: u32,
        mut head_at: impl FnMut(u32) -> io::Result<Option<BatchHead>>,
    ) -> Result<(), IndexError> {
        let (offsets_len, offsets) =
            open_entries(paths.open_offsets(Mode::Read, Wait::Allowed), OFFSET_ENTRY)?;
        let (times_len, times) =
            open_entries(paths.open_times(Mode::Read, Wait::Allowed), TIME_ENTRY)?;
        let corrupt = |reason: String| Err(IndexError::Corrupt(reason));
        if log_size == 0 && (offsets_len > 0 || times_len > 0) {
            return corrupt("the index has entries, the log is empty".into());
        }
        let mut last_offset = 0;
        if let Some(file) = &offsets
            && offsets_len > 0
        {
            let mut entry = [0u8; OFFSET_ENTRY];
            file.read_exact_at(&mut entry, u64::from(offsets_len - 1) * OFFSET_ENTRY as u64)?;
            let (relative, position) = decode_offset(&entry);
            file.read_exact_at(&mut entry, 0)?;
            let (first, _) = decode_offset(&entry);
            // The first batch never has an entry; zeros are what an unfinished file ends with.
            if position == 0 || first > relative || (first == relative && offsets_len > 1) {
                return corrupt(format!("last entry ({relative}, {position}) is out of order"));
            }
            if position >= log_size {
                return corrupt(format!("last position {position} is past the log's {log_size}"));
            }
            let offset = self.base_offset + i64::from(relative);
            match head_at(position)? {
                Some(head) if head.last_offset == offset => {}
                _ => return corrupt(format!("no batch at {position} ends with offset {offset}")),
            }
            last_offset = relative;
        }
        let mut last_time = MaxTimestamp { timestamp: -1, offset: self.base_offset };
        if let Some(file) = &times
            && times_len > 0
        {
            let mut first = [0u8; TIME_ENTRY];
            file.read_exact_at(&mut first, 0)?;
            let mut last = [0u8; TIME_ENTRY];
            file.read_exact_at(&mut last, u64::from(times_len - 1) * TIME_ENTRY as u64)?;
            let (first, _) = decode_time(&first);
            let (timestamp, relative) = decode_time(&last);
            if timestamp < first || timestamp < 0 || relative > i32::MAX as u32 {
                return corrupt(format!("last timestamp {timestamp} is below the first, {first}"));
            }
            last_time = MaxTimestamp { timestamp, offset: self.base_offset + i64::from(relative) };
        }
        self.edition += 1;
        (self.offsets_on_file, self.times_on_file) = (offsets_len, times_len);
        (self.last_offset, self.last_time) = (last_offset, last_time);
        self.max_timestamp = last_time;
        self.offset_tail = Vec::new();
        self.time_tail = Vec::new();
        self.bytes_since_entry = 0;
        self.loaded = true;
        Ok(())
    }

    /// Takes a timestamp that is in the log but not in the index.
    pub(crate) fn note_timestamp(&mut self, max: MaxTimestamp) {
        if max.timestamp > self.max_timestamp.timestamp {
            self.max_timestamp = max;
        }
    }

    /// The last offset entry that is not behind `floor`, if it is not on file yet.
    pub(crate) fn entry_in_memory(&self, floor: Floor) -> Option<(i64, u32)> {
        let after =
            self.offset_tail.partition_point(|&entry| floor.reaches(self.base_offset, entry));
        let (relative, position) = *self.offset_tail[..after].last()?;
        Some((self.base_offset + i64::from(relative), position))
    }

    /// The last time entry at or before `timestamp`, if it is not on file yet.
    pub(crate) fn time_entry_in_memory(&self, timestamp: i64) -> Option<MaxTimestamp> {
        let after = self.time_tail.partition_point(|&(at, _)| at <= timestamp);
        let (timestamp, relative) = *self.time_tail[..after].last()?;
        Some(MaxTimestamp { timestamp, offset: self.base_offset + i64::from(relative) })
    }

    /// The entries on file, to be searched without the index in hand.
    pub(crate) fn on_file(&self) -> OnFile {
        OnFile {
            base_offset: self.base_offset,
            offsets: self.offsets_on_file,
            times: self.times_on_file,
            edition: self.edition,
        }
    }

    /// The last offset entry that is not behind `floor`: offset and position of a batch's end and
    /// beginning.
    pub(crate) fn floor_entry(
        &self,
        floor: Floor,
        paths: &IndexPaths<'_>,
        wait: Wait,
    ) -> Result<Option<(i64, u32)>, WalkError> {
        match self.entry_in_memory(floor) {
            Some(entry) => Ok(Some(entry)),
            None => self.on_file().entry(floor, paths, wait),
        }
    }

    /// Drops entries of offsets from `offset` on. The largest timestamp is then the index's last;
    /// the caller adds what the log holds after that.
    pub(crate) fn truncate(&mut self, offset: i64, paths: &IndexPaths<'_>) -> io::Result<()> {
        let io_error = |error| match error {
            WalkError::Io(error) => error,
            WalkError::WouldBlock | WalkError::Corrupt { .. } => io::ErrorKind::InvalidData.into(),
        };
        let relative = offset.saturating_sub(self.base_offset).clamp(0, i64::from(u32::MAX)) as u32;
        self.write_out(paths)?;
        self.edition += 1;
        let offsets = paths.open_offsets(Mode::Write, Wait::Allowed)?;
        let keep = count::<OFFSET_ENTRY>(&offsets, self.offsets_on_file, |entry| {
            decode_offset(entry).0 < relative
        })
        .map_err(io_error)?;
        offsets.set_len(u64::from(keep) * OFFSET_ENTRY as u64)?;
        self.offsets_on_file = keep;
        self.last_offset = match keep.checked_sub(1) {
            None => 0,
            Some(last) => {
                let mut entry = [0u8; OFFSET_ENTRY];
                offsets.read_exact_at(&mut entry, u64::from(last) * OFFSET_ENTRY as u64)?;
                decode_offset(&entry).0
            }
        };
        let times = paths.open_times(Mode::Write, Wait::Allowed)?;
        let keep = count::<TIME_ENTRY>(&times, self.times_on_file, |entry| {
            decode_time(entry).1 < relative
        })
        .map_err(io_error)?;
        times.set_len(u64::from(keep) * TIME_ENTRY as u64)?;
        self.times_on_file = keep;
        self.last_time = match keep.checked_sub(1) {
            None => MaxTimestamp { timestamp: -1, offset: self.base_offset },
            Some(last) => {
                let mut entry = [0u8; TIME_ENTRY];
                times.read_exact_at(&mut entry, u64::from(last) * TIME_ENTRY as u64)?;
                let (timestamp, relative) = decode_time(&entry);
                MaxTimestamp { timestamp, offset: self.base_offset + i64::from(relative) }
            }
        };
        self.max_timestamp = self.last_time;
        self.bytes_since_entry = 0;
        self.unsynced = true;
        Ok(())
    }

    /// Forgets all entries, in memory; the files follow with [`Self::write_out`].
    pub(crate) fn reset(&mut self) {
        let none = MaxTimestamp { timestamp: -1, offset: self.base_offset };
        self.loaded = true;
        self.edition += 1;
        (self.offsets_on_file, self.times_on_file) = (0, 0);
        (self.last_offset, self.last_time, self.max_timestamp) = (0, none, none);
        self.offset_tail.clear();
        self.time_tail.clear();
        self.bytes_since_entry = 0;
        self.unsynced = true;
    }
}

/// Writes entries behind the `on_file` ones that a file has, and makes it end there.
fn write_tail<T: Copy, const ENTRY: usize>(
    file: &OpenFile,
    tail: &mut Vec<T>,
    on_file: &mut u32,
    encode: impl Fn(T) -> [u8; ENTRY],
) -> io::Result<()> {
    let mut page = [[0u8; ENTRY]; PAGE_ENTRIES];
    for chunk in tail.chunks(PAGE_ENTRIES) {
        for (slot, entry) in page.iter_mut().zip(chunk) {
            *slot = encode(*entry);
        }
        let at = u64::from(*on_file) * ENTRY as u64;
        file.write_all_at(page[..chunk.len()].as_flattened(), at)?;
        *on_file += chunk.len() as u32;
    }
    tail.clear();
    trim(file, u64::from(*on_file) * ENTRY as u64)
}

/// Cuts off what is behind the entries. Not before they are written: a file that is emptied and
/// written again makes ext4 wait for the disk.
fn trim(file: &OpenFile, len: u64) -> io::Result<()> {
    if file.len()? > len { file.set_len(len) } else { Ok(()) }
}

fn reserve_page<T>(tail: &mut Vec<T>) {
    if tail.capacity() == tail.len() && tail.len() < PAGE_ENTRIES {
        // Few entries are the rule: most partitions are idle. Busy ones reach a page in four steps
        // and keep it.
        let want = (tail.len() * 4).clamp(8, PAGE_ENTRIES);
        tail.reserve_exact(want - tail.len());
    }
}

/// Number of entries in an index file, and the file if there is one.
fn open_entries(
    opened: io::Result<OpenFile>,
    entry: usize,
) -> Result<(u32, Option<OpenFile>), IndexError> {
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0, None)),
        Err(error) => return Err(error.into()),
    };
    let len = file.len()?;
    if len % entry as u64 != 0 || len / entry as u64 > u64::from(u32::MAX) {
        return Err(IndexError::Corrupt(format!("length {len} is no multiple of {entry}")));
    }
    Ok(((len / entry as u64) as u32, Some(file)))
}

/// How many of `total` entries, from the first on, `before` holds for.
fn count<const N: usize>(
    file: &OpenFile,
    total: u32,
    before: impl Fn(&[u8; N]) -> bool,
) -> Result<u32, WalkError> {
    let (mut low, mut high) = (0, total);
    while low < high {
        let middle = low + (high - low) / 2;
        let mut entry = [0u8; N];
        read_exact(file, &mut entry, u64::from(middle) * N as u64, Wait::Allowed)?;
        if before(&entry) { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}
