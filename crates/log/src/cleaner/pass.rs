//! One pass through a log: the keys of its dirty section go into the offset map, then every segment up
//! to there is written anew with what is still worth keeping, group by group, and takes its place.
//!
//! What is dropped is dropped because of a newer record, or of a marker. So these are flushed first: after
//! a power cut a key must not have lost both.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use thalweg_records::{BatchView, Record};

use super::filter::{Filter, Go, LastRecord, Scratch, Tally, Unreadable, for_each_record};
use super::groups::{Facts, Limits, groups};
use super::offset_map::{AT_ONCE, OffsetMap};
use super::output::{Buffers, Output};
use super::plan::{Plan, between};
use super::swap::replace_segments;
use super::ticket::Ticket;
use super::transactions::CleanedTransactions;
use crate::format::scan::{Scan, ScanError};
use crate::format::walk::WalkError;
use crate::fs::disk::OpenFile;
use crate::fs::names;
use crate::fs::random::random_u128;
use crate::fs::stage::Stage;
use crate::fs::wait::Wait;
use crate::partition::config::LogConfig;
use crate::partition::error::StorageError;
use crate::partition::log::Log;
use crate::partition::read::collect_aborted;
use crate::partition::segment::{Segment, SegmentConfig};
use crate::partition::segments::Segments;
use crate::partition::segments::floor_segment;

/// Why a pass did not come to its end.
#[derive(Debug)]
pub(crate) enum PassError {
    /// The log was changed under it, or the cleaner stops: the next pass begins again.
    Aborted,
    /// The directory is offline, or the system had no descriptor.
    Storage(StorageError),
    /// Something in the log cannot be read: nor could the next pass.
    Uncleanable { segment: i64, reason: String },
}

impl From<StorageError> for PassError {
    fn from(error: StorageError) -> PassError {
        PassError::Storage(error)
    }
}

/// Asked before each piece of work: counts the bytes of the one before, waits as the throttle says,
/// and tells whether to go on.
pub(crate) trait Pace {
    fn go_on(&self, bytes: u64) -> bool;
}

/// A segment that was read from its beginning to its end, of which only plain batches outside of
/// transactions were met.
struct Plain {
    base_offset: i64,
    bytes: u64,
    records: u64,
}

/// What a thread needs for its passes, kept from one to the next.
pub(crate) struct Worker {
    map: OffsetMap,
    /// In order.
    plain: Vec<Plain>,
    scratch: Scratch,
    /// Bytes that are read at once.
    io_bytes: usize,
    input: Vec<u8>,
    output: Buffers,
}

impl Worker {
    /// For a map of so many bytes, and two buffers.
    pub(crate) fn new(map_bytes: u64, load_factor: f64, io_bytes: usize) -> Worker {
        Worker {
            map: OffsetMap::new(map_bytes, load_factor),
            plain: Vec::new(),
            scratch: Scratch::default(),
            // Less than a header's worth would be read byte by byte.
            io_bytes: io_bytes.max(1024),
            input: Vec::new(),
            output: Buffers::default(),
        }
    }

    /// Gives memory back until the next pass.
    pub(crate) fn rest(&mut self) {
        self.map.release();
        (self.plain, self.scratch, self.input, self.output) = Default::default();
    }

    /// Bytes of the offset map now.
    pub(crate) fn map_memory(&self) -> usize {
        self.map.memory()
    }
}

/// What a pass came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// The next pass begins here.
    pub(crate) end_offset: i64,
    pub(crate) tally: Tally,
    /// Bytes that were read for the map.
    pub(crate) map_bytes_read: u64,
    /// Share of the map's memory that was used.
    pub(crate) map_utilization: f64,
}

/// Goes through the log of `ticket` as `plan` says.
pub(crate) fn run(
    ticket: &Ticket,
    plan: &Plan,
    worker: &mut Worker,
    pace: &dyn Pace,
    now_ms: i64,
) -> Result<Done, PassError> {
    let log = &*ticket.log;
    let mut pass = Pass { ticket, log, config: log.config(), worker, pace, now_ms };
    let segments = log.segments();
    let map_bytes_read = pass.build_map(&segments, plan)?;
    // A record may claim any offset: what is not read does not count as compacted.
    let end_offset = (pass.worker.map.latest_offset() + 1).min(plan.first_uncleanable);
    // Up to the log's end: the markers that have made the section stable may lie behind it.
    log.flush(now_ms)?;
    let tally = pass.clean(&segments, plan.first_uncleanable, end_offset)?;
    let map_utilization = pass.worker.map.utilization();
    Ok(Done { end_offset, tally, map_bytes_read, map_utilization })
}

struct Pass<'a> {
    ticket: &'a Ticket,
    log: &'a Log,
    config: Arc<LogConfig>,
    worker: &'a mut Worker,
    pace: &'a dyn Pace,
    now_ms: i64,
}

impl Pass<'_> {
    /// Puts the keys of the dirty section into the map, as many as it takes; gives the bytes read.
    fn build_map(&mut self, segments: &Segments, plan: &Plan) -> Result<u64, PassError> {
        let (start, end) = (plan.first_dirty, plan.first_uncleanable);
        // No section has more keys than offsets.
        let keys = u64::try_from(end.saturating_sub(start)).unwrap_or(0);
        self.worker.map.begin(start, keys, random_u128());
        self.worker.scratch.new_keys.clear();
        self.worker.plain.clear();
        let mut transactions = CleanedTransactions::default();
        let mut aborted = Vec::new();
        let from = floor_segment(segments, start);
        let collected = collect_aborted(&segments[from..], start, end, Wait::Allowed, &mut aborted);
        self.check_io(collected)?;
        transactions.add(&aborted);
        let dirty = between(segments, start, end);
        let mut bytes_read = 0;
        for (at, segment) in dirty.iter().enumerate() {
            self.go_on(0)?;
            let (full, bytes) = self.map_segment(segment, start, &mut transactions)?;
            bytes_read += bytes;
            if full {
                break;
            }
            // There may be a gap behind its last record.
            let next = dirty.get(at + 1).map_or(end, |next| next.base_offset);
            self.worker.map.set_latest_offset(next - 1);
        }
        Ok(bytes_read)
    }

    /// Puts the keys of a segment into the map; says whether it is full, and how many bytes were read.
    fn map_segment(
        &mut self,
        segment: &Arc<Segment>,
        start: i64,
        transactions: &mut CleanedTransactions,
    ) -> Result<(bool, u64), PassError> {
        if segment.size() == 0 {
            return Ok((false, 0));
        }
        let file = self.check_io(segment.open_briefly())?;
        let begin = match segment.find(&file, start, segment.size(), Wait::Allowed) {
            Ok(Some(head)) => head.position,
            Ok(None) => return Ok((false, 0)),
            Err(WalkError::Corrupt { reason, .. }) => return Err(self.uncleanable(segment, reason)),
            Err(WalkError::Io(error)) => return Err(self.io_error(error)),
            Err(WalkError::WouldBlock) => return Err(PassError::Aborted),
        };
        let mut is_full = false;
        let mut read_to = i64::MAX;
        let max_record_bytes = self.config.max_decompressed_message_bytes;
        let (mut all_plain, mut records) = (begin == 0, 0);
        let bytes = self.scan(segment, &file, begin, |pass, step| {
            let Step::Batch(batch, _) = step else { return Ok(Go::On) };
            let unreadable = |reason: &dyn ToString| Unreadable::new(batch, reason.to_string());
            // A key that a disk has damaged would be another key's newest record.
            if !batch.crc_is_valid() {
                return Err(unreadable(&"its checksum is wrong").into());
            }
            if batch.is_control() {
                all_plain = false;
                transactions.on_control(batch).map_err(|reason| unreadable(&reason))?;
            } else {
                let is_aborted = transactions.on_batch(batch);
                let Worker { map, scratch, .. } = pass.worker;
                let Scratch { decompressor, new_keys, .. } = scratch;
                let mut is_plain = !is_aborted && batch.record_count() > 0;
                let mut last = batch.base_offset() - 1;
                let offsets = batch.base_offset()..=batch.last_offset();
                let visit = |record: &Record<'_>| {
                    if !offsets.contains(&record.offset) {
                        map.marks_mut().distrust();
                    }
                    is_plain &= record.value.is_some() && record.offset > last;
                    last = record.offset;
                    match record.key {
                        Some(key) if record.offset >= start => {
                            new_keys.push((map.hash(key), record.offset));
                        }
                        _ => is_plain = false,
                    }
                    if new_keys.len() == AT_ONCE {
                        is_full = !map.put_all(new_keys);
                    }
                    Ok(if is_full { Go::NoFurther } else { Go::On })
                };
                if !is_aborted {
                    for_each_record(batch, max_record_bytes, decompressor, visit)
                        .map_err(|reason| unreadable(&reason))?;
                    // Those of several batches are put at once, where none of them can be refused.
                    if !is_full && !map.has_room_for(new_keys.len()) {
                        is_full = !map.put_all(new_keys);
                    }
                }
                if !is_full {
                    let is_noted =
                        map.marks_mut().note(batch, is_plain && last <= batch.last_offset());
                    all_plain &= is_noted && !batch.is_transactional();
                    records += u64::try_from(batch.record_count()).unwrap_or(0);
                }
            }
            if is_full {
                read_to = batch.last_offset();
                return Ok(Go::NoFurther);
            }
            if batch.last_offset() >= start {
                pass.worker.map.set_latest_offset(batch.last_offset());
            }
            Ok(Go::On)
        })?;
        let Worker { map, scratch, plain, .. } = &mut *self.worker;
        is_full |= !map.put_all(&mut scratch.new_keys);
        if is_full {
            map.set_latest_offset(map.latest_offset().min(read_to));
        }
        if all_plain && !is_full {
            plain.push(Plain { base_offset: segment.base_offset, bytes, records });
        }
        Ok((is_full, bytes))
    }

    /// Writes all segments before `end_offset` anew.
    fn clean(
        &mut self,
        segments: &Segments,
        first_uncleanable: i64,
        end_offset: i64,
    ) -> Result<Tally, PassError> {
        let count = segments.partition_point(|segment| segment.base_offset < end_offset);
        let mut facts = Vec::with_capacity(count);
        for segment in &segments[..count] {
            let (index_bytes, time_index_bytes) = self.check_io(segment.index_bytes())?;
            let (base_offset, size) = (segment.base_offset, u64::from(segment.size()));
            facts.push(Facts { base_offset, size, index_bytes, time_index_bytes });
        }
        let limits = Limits {
            segment_bytes: self.config.segment_limit().into(),
            index_bytes: self.config.segment_index_bytes.into(),
            first_uncleanable,
        };
        let mut transactions = CleanedTransactions::default();
        let mut tally = Tally::default();
        for group in groups(&facts, &limits) {
            self.clean_group(segments, group, first_uncleanable, &mut transactions, &mut tally)?;
        }
        Ok(tally)
    }

    /// Writes a group of segments into one, which takes their place.
    fn clean_group(
        &mut self,
        segments: &Segments,
        group: Range<usize>,
        upper_bound: i64,
        transactions: &mut CleanedTransactions,
        tally: &mut Tally,
    ) -> Result<(), PassError> {
        let old = &segments[group.clone()];
        let (Some(first), Some(last)) = (old.first(), old.last()) else { return Ok(()) };
        if let Some(plain) = self.is_known_to_stay(segments, &group, upper_bound) {
            tally.bytes_read += plain.bytes;
            tally.bytes_written += plain.bytes;
            tally.records_read += plain.records;
            tally.records_written += plain.records;
            return self.go_on(0);
        }
        let log = self.log;
        let of_segment = SegmentConfig::of(&self.config, self.now_ms);
        let begun = Segment::begin_cleaned(log.home(), first.base_offset, &of_segment);
        let new = self.check_io(begun)?;
        let written = self.write_group(segments, group, &new, upper_bound, transactions, tally);
        let replaced = written.and_then(|written| {
            if written == Written::Nothing {
                // What is left of it would be the same.
                self.check_io(new.remove_staged(Stage::Cleaned))?;
                return Ok(());
            }
            self.check_io(last.last_modified().and_then(|at| new.set_last_modified(at)))?;
            self.go_on(0)?;
            let replaced = replace_segments(log, self.ticket, &new, old, self.now_ms)?;
            if replaced { Ok(()) } else { Err(PassError::Aborted) }
        });
        if replaced.is_err() && log.home().dir.is_online() {
            // Nothing hangs on them: a start removes what is left here.
            let _ = new.remove_staged(Stage::Cleaned);
        }
        replaced
    }

    fn write_group(
        &mut self,
        segments: &Segments,
        group: Range<usize>,
        new: &Arc<Segment>,
        upper_bound: i64,
        transactions: &mut CleanedTransactions,
        tally: &mut Tally,
    ) -> Result<Written, PassError> {
        let last_records = last_records(self.log);
        let file = self.check_io(new.open_briefly())?;
        let original = match self.may_stay(segments, &group, upper_bound) {
            Some(segment) => Some(self.check_io(segment.open_briefly())?),
            None => None,
        };
        let buffers = std::mem::take(&mut self.worker.output);
        let mut output = Output::new(new, &file, self.worker.io_bytes, buffers);
        if let Some(original) = &original {
            output.begin_same_as(original);
        }
        for at in group {
            let Some(segment) = segments.get(at) else { break };
            let next = segments.get(at + 1).map_or(upper_bound, |next| next.base_offset);
            let mut aborted = Vec::new();
            // Also those that ended before the log's start, of which Kafka does not ask: after a crash
            // the log may begin where it did before, and what was aborted must not be committed then.
            let base = segment.base_offset;
            let collected =
                collect_aborted(&segments[at..], base, next, Wait::Allowed, &mut aborted);
            self.check_io(collected)?;
            transactions.add(&aborted);
            if segment.size() == 0 {
                continue;
            }
            tracing::debug!(topic = %self.log.topic, partition = self.log.partition, segment = base,
                into = new.base_offset, "compacting a segment");
            let source = self.check_io(segment.open_briefly())?;
            let (now_ms, delete_retention_ms) = (self.now_ms, self.config.delete_retention_ms);
            let max_record_bytes = self.config.max_decompressed_message_bytes;
            let high_watermark = self.log.high_watermark();
            self.scan(segment, &source, 0, |pass, step| {
                let (batch, place) = match step {
                    Step::Batch(batch, place) => (batch, place),
                    Step::BufferChanges(buffer) => {
                        let written = pass.check_io(output.write(buffer))?;
                        if written > 0 {
                            pass.go_on(written)?;
                        }
                        return Ok(Go::On);
                    }
                };
                let Worker { map, scratch, .. } = pass.worker;
                let mut filter = Filter {
                    map,
                    transactions,
                    last_records: &last_records,
                    now_ms,
                    delete_retention_ms,
                    max_record_bytes,
                    high_watermark,
                    tally,
                };
                let verdict = filter.batch(batch, scratch, output.buffer())?;
                while output.is_same() && !(verdict.stays_whole && verdict.aborted.is_none()) {
                    // Read once more, and written.
                    let copied = pass.check_io(output.write_same())?;
                    pass.go_on(2 * copied)?;
                }
                if verdict.stays_whole {
                    output.add_read(batch, place)?;
                } else {
                    output.add_built(batch)?;
                }
                output.end_transaction(verdict.aborted);
                Ok(Go::On)
            })?;
        }
        let is_same = output.is_same();
        let (written, buffers) = match is_same {
            true => (0, output.into_buffers()),
            false => self.check_io(output.finish())?,
        };
        self.worker.output = buffers;
        self.go_on(written)?;
        Ok(if is_same { Written::Nothing } else { Written::Segment })
    }

    /// What is known of a group of one segment of which everything stays, if it need not be read again to
    /// see that. Nothing of it belongs to a transaction, so nothing about them is missed.
    fn is_known_to_stay(
        &self,
        segments: &Segments,
        group: &Range<usize>,
        upper_bound: i64,
    ) -> Option<&Plain> {
        let segment = self.may_stay(segments, group, upper_bound)?;
        let plain = &self.worker.plain;
        let at =
            plain.binary_search_by_key(&segment.base_offset, |plain| plain.base_offset).ok()?;
        plain.get(at).filter(|plain| plain.bytes == u64::from(segment.size()))
    }

    /// The segment of a group by itself that may stay as it is, and need not be written then.
    fn may_stay<'s>(
        &self,
        segments: &'s Segments,
        group: &Range<usize>,
        upper_bound: i64,
    ) -> Option<&'s Segment> {
        let [segment] = &segments[group.clone()] else { return None };
        let next = segments.get(group.end).map_or(upper_bound, |next| next.base_offset);
        let goes = self.worker.map.marks().have_replaced(&(segment.base_offset..next));
        // Its index of aborted transactions may have to become shorter.
        let stays = !goes && segment.size() > 0 && !segment.has_txn_index();
        stays.then_some(segment)
    }

    /// Visits the batches of a segment from a position on; gives the bytes that were read.
    fn scan(
        &mut self,
        segment: &Segment,
        file: &OpenFile,
        position: u32,
        mut visit: impl FnMut(&mut Self, Step<'_>) -> Result<Go, Stop>,
    ) -> Result<u64, PassError> {
        let (io_bytes, buffer) = (self.worker.io_bytes, std::mem::take(&mut self.worker.input));
        let mut scan = Scan::with_buffer(file, position, segment.size(), io_bytes, buffer);
        let mut told = position;
        let scanned = loop {
            if !scan.is_held()
                && let Err(stop) = visit(self, Step::BufferChanges(scan.buffer()))
            {
                break Err(self.stopped(segment, stop));
            }
            let next = match scan.next_with_place() {
                Ok(None) => break Ok(()),
                Ok(Some((batch, place))) => visit(self, Step::Batch(&batch, place)),
                Err(ScanError::Io(error)) => break Err(self.io_error(error)),
                Err(ScanError::Bad(reason)) => break Err(self.uncleanable(segment, reason)),
                Err(ScanError::Legacy(magic)) => {
                    let reason = format!("it holds messages of magic {magic}");
                    break Err(self.uncleanable(segment, reason));
                }
            };
            match next {
                Ok(Go::On) => {}
                Ok(Go::NoFurther) => break Ok(()),
                Err(stop) => break Err(self.stopped(segment, stop)),
            }
            let read = scan.position() - told;
            if read as usize >= io_bytes {
                told = scan.position();
                if let Err(error) = self.go_on(read.into()) {
                    break Err(error);
                }
            }
        };
        let end = scan.position();
        let mut buffer = scan.into_buffer();
        // A batch that was larger than the rest must not keep its memory.
        if buffer.len() > io_bytes {
            buffer = Vec::new();
        }
        self.worker.input = buffer;
        scanned?;
        self.go_on((end - told).into())?;
        Ok((end - position).into())
    }

    fn stopped(&self, segment: &Segment, stop: Stop) -> PassError {
        match stop {
            Stop::Unreadable(Unreadable { offset, reason }) => {
                self.uncleanable(segment, format!("batch at offset {offset}: {reason}"))
            }
            Stop::Pass(error) => error,
        }
    }

    /// Before the next piece of work.
    fn go_on(&self, bytes: u64) -> Result<(), PassError> {
        self.log.home().dir.check()?;
        let goes_on = self.pace.go_on(bytes) && self.ticket.is_current();
        if goes_on { Ok(()) } else { Err(PassError::Aborted) }
    }

    fn check_io<T>(&self, result: io::Result<T>) -> Result<T, PassError> {
        result.map_err(|error| self.io_error(error))
    }

    /// An error of a log that was cut or deleted meanwhile is none of the disk's.
    fn io_error(&self, error: io::Error) -> PassError {
        if !self.ticket.is_current() {
            return PassError::Aborted;
        }
        let path = self.log.path();
        self.log.home().dir.failure_of("compact", &path, &error).into()
    }

    fn uncleanable(&self, segment: &Segment, reason: String) -> PassError {
        if !self.ticket.is_current() {
            return PassError::Aborted;
        }
        tracing::debug!(path = %segment.file_path(names::LOG).display(), reason, "not compacted");
        PassError::Uncleanable { segment: segment.base_offset, reason }
    }
}

/// What a group of segments has become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Written {
    /// A new segment, which is flushed.
    Segment,
    /// Nothing: it is one segment, of which everything stays.
    Nothing,
}

/// What [`Pass::scan`] has come to.
enum Step<'a> {
    /// A batch, and where in the buffer it begins.
    Batch(&'a BatchView<'a>, usize),
    /// The next batch is not in the buffer: what is needed of those before it has to be taken out.
    BufferChanges(&'a [u8]),
}

/// Why the batches of a segment are not visited to the end.
enum Stop {
    Unreadable(Unreadable),
    Pass(PassError),
}

impl From<Unreadable> for Stop {
    fn from(unreadable: Unreadable) -> Stop {
        Stop::Unreadable(unreadable)
    }
}

impl From<PassError> for Stop {
    fn from(error: PassError) -> Stop {
        Stop::Pass(error)
    }
}

/// Where the producers stand that the log remembers.
fn last_records(log: &Log) -> HashMap<i64, LastRecord> {
    let writer = log.writer();
    let of = |producer: &crate::partition::producers::Producer| LastRecord {
        data_offset: producer.last_batch().map(|batch| batch.last_offset).filter(|&at| at >= 0),
        epoch: producer.epoch,
    };
    writer.producers.iter().map(|(&id, producer)| (id, of(producer))).collect()
}
