//! Finding an entry in the index files of a segment, without the index in hand: who waits for the
//! disk with it would hold up the appends to the segment.
//!
//! Entries on file stay what they are until a truncation or a rebuild, which raises the edition:
//! what was read while it did may be anything and is thrown away.

use crate::format::index_files::{
    IndexPaths, MaxTimestamp, OFFSET_ENTRY, PAGE_ENTRIES, TIME_ENTRY, decode_offset, decode_time,
};
use crate::format::walk::{WalkError, read_exact};
use crate::fs::disk::{Mode, OpenFile};
use crate::fs::wait::Wait;

/// What an offset entry is looked for by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Floor {
    /// The batch ends at or before this offset.
    Offset(i64),
    /// The batch begins at or before this position.
    Position(u32),
}

impl Floor {
    /// Whether an entry (relative offset, position) is not behind the floor.
    pub(crate) fn reaches(self, base_offset: i64, (relative, position): (u32, u32)) -> bool {
        match self {
            Floor::Offset(offset) => base_offset + i64::from(relative) <= offset,
            Floor::Position(limit) => position <= limit,
        }
    }
}

/// The entries on file, as they were at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnFile {
    pub(crate) base_offset: i64,
    pub(crate) offsets: u32,
    pub(crate) times: u32,
    pub(crate) edition: u64,
}

impl OnFile {
    /// The last offset entry that is not behind `floor`.
    pub(crate) fn entry(
        &self,
        floor: Floor,
        paths: &IndexPaths<'_>,
        wait: Wait,
    ) -> Result<Option<(i64, u32)>, WalkError> {
        // No entry lies before the segment, and a reader from its beginning need not open a file.
        if self.offsets == 0 || matches!(floor, Floor::Offset(at) if at < self.base_offset) {
            return Ok(None);
        }
        let file = paths.open_offsets(Mode::Read, wait)?;
        let found = search::<OFFSET_ENTRY>(&file, self.offsets, wait, |entry| {
            floor.reaches(self.base_offset, decode_offset(entry))
        })?;
        Ok(found.map(|entry| {
            let (relative, position) = decode_offset(&entry);
            (self.base_offset + i64::from(relative), position)
        }))
    }

    /// The last time entry at or before `timestamp`.
    pub(crate) fn time_entry(
        &self,
        timestamp: i64,
        paths: &IndexPaths<'_>,
        wait: Wait,
    ) -> Result<Option<MaxTimestamp>, WalkError> {
        if self.times == 0 {
            return Ok(None);
        }
        let file = paths.open_times(Mode::Read, wait)?;
        let found = search::<TIME_ENTRY>(&file, self.times, wait, |entry| {
            decode_time(entry).0 <= timestamp
        })?;
        Ok(found.map(|entry| {
            let (timestamp, relative) = decode_time(&entry);
            MaxTimestamp { timestamp, offset: self.base_offset + i64::from(relative) }
        }))
    }
}

/// The last of `total` entries for which `before` holds.
fn search<const N: usize>(
    file: &OpenFile,
    total: u32,
    wait: Wait,
    before: impl Fn(&[u8; N]) -> bool,
) -> Result<Option<[u8; N]>, WalkError> {
    // First the page, by the first entry of each; then one read for the page.
    let per_page = PAGE_ENTRIES as u32;
    let (mut low, mut high) = (0, total.div_ceil(per_page));
    if high > 1 {
        while low < high {
            let middle = low + (high - low) / 2;
            let mut entry = [0u8; N];
            read_exact(file, &mut entry, u64::from(middle * per_page) * N as u64, wait)?;
            if before(&entry) { low = middle + 1 } else { high = middle }
        }
    } else {
        low = high;
    }
    let Some(page) = low.checked_sub(1) else { return Ok(None) };
    let entries = per_page.min(total - page * per_page) as usize;
    let mut buf = [0u8; PAGE_ENTRIES * TIME_ENTRY];
    let bytes = &mut buf[..entries * N];
    read_exact(file, bytes, u64::from(page * per_page) * N as u64, wait)?;
    let (entries, _) = bytes.as_chunks::<N>();
    let after = entries.partition_point(before);
    Ok(entries[..after].last().copied())
}
