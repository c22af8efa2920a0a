//! What a pass keeps of one batch: all of it, byte for byte; a batch with fewer records; an empty one
//! that only says where its producer stands; or nothing.
//!
//! The rules, and the bytes of what is rebuilt, are those of Kafka 4.4. A batch is taken apart only
//! when its checksum is right: what a disk has damaged must not get a checksum that says otherwise.
//! Pure; nothing is allocated per record, and once the buffers have grown nothing per batch.

use std::collections::HashMap;

use thalweg_records::batch::{
    self, BatchHeader, BatchView, Compression, HEADER_LEN, TimestampType, attributes,
};
use thalweg_records::builder::put_record;
use thalweg_records::{
    CompressionSpec, Compressor, Decompressor, Record, RecordContext, RecordReader,
};

use super::marks::Replaced;
use super::offset_map::{AT_ONCE, Hash, OffsetMap};
use super::transactions::CleanedTransactions;
use crate::format::txn_index::AbortedTxn;

/// Largest size of a batch's records before compression, as validation has it.
const RECORDS_BYTES_MAX: u64 = i32::MAX as u64;

/// A batch that cannot be cleaned, and why.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) offset: i64,
    pub(crate) reason: String,
}

impl Unreadable {
    pub(crate) fn new(batch: &BatchView<'_>, reason: impl ToString) -> Unreadable {
        Unreadable { offset: batch.base_offset(), reason: reason.to_string() }
    }
}

/// Where a producer stands that the log remembers: the batch that says so is kept, or the next one
/// would be refused after a restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LastRecord {
    /// Last offset of its last batch; none if only a marker is known.
    pub(crate) data_offset: Option<i64>,
    pub(crate) epoch: i16,
}

/// Codecs and buffers, kept from batch to batch.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) decompressor: Decompressor,
    compressor: Compressor,
    record: Vec<u8>,
    /// Of each record of the batch at hand, whether it stays.
    stays: Vec<bool>,
    /// Records that are to be looked for in the map.
    sought: Vec<Sought>,
    /// Keys that are to be put into the map.
    pub(crate) new_keys: Vec<(Hash, i64)>,
}

/// A record whose key is to be looked for.
struct Sought {
    offset: i64,
    /// None of a record that stays whatever the map says.
    hash: Option<Hash>,
    /// It would stay if it is its key's newest.
    may_stay: bool,
    is_tombstone: bool,
}

/// What went through a pass.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) records_read: u64,
    pub(crate) records_written: u64,
    /// Records without a key, which a compacted log should not have.
    pub(crate) invalid_records: u64,
    /// Batches that were built anew.
    pub(crate) batches_rebuilt: u64,
}

/// What a pass goes by.
pub(crate) struct Filter<'a> {
    pub(crate) map: &'a OffsetMap,
    pub(crate) transactions: &'a mut CleanedTransactions,
    pub(crate) last_records: &'a HashMap<i64, LastRecord>,
    pub(crate) now_ms: i64,
    /// `delete.retention.ms`
    pub(crate) delete_retention_ms: i64,
    /// `max.decompressed.message.bytes`
    pub(crate) max_record_bytes: i32,
    /// A batch that ends here stays, or a replica without later ones would forget the offset (KAFKA-20452).
    pub(crate) high_watermark: i64,
    pub(crate) tally: &'a mut Tally,
}

/// What a pass makes of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Verdict {
    /// It stays, byte for byte. If not, what stays of it was built anew, if anything does.
    pub(crate) stays_whole: bool,
    /// The aborted transaction that it ends, if that stays in the index.
    pub(crate) aborted: Option<AbortedTxn>,
}

impl Filter<'_> {
    /// Decides what stays of `batch`; puts it at the end of `out` if it is not all of it.
    pub(crate) fn batch(
        &mut self,
        batch: &BatchView<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Verdict, Unreadable> {
        self.tally.bytes_read += batch.total_len() as u64;
        let horizon = batch.has_delete_horizon().then(|| batch.base_timestamp());
        let (mut aborted, mut ends_nothing) = (None, false);
        let all_go = if batch.is_control() {
            let verdict = self
                .transactions
                .on_control(batch)
                .map_err(|reason| Unreadable::new(batch, reason))?;
            (aborted, ends_nothing) = (verdict.aborted, verdict.can_go);
            // Readers that have met the transaction's first records still need to meet its end.
            verdict.can_go && horizon.is_some_and(|horizon| horizon <= self.now_ms)
        } else {
            self.transactions.on_batch(batch)
        };
        let before = out.len();
        let stays_whole = if all_go {
            sound(batch)?;
            if self.put_empty(batch, out) {
                // Kafka counts them, too: it looks at each.
                self.tally.records_read += u64::try_from(batch.record_count()).unwrap_or(0);
            }
            false
        } else if let Some(replaced) = self.known(batch) {
            self.sift_known(batch, replaced, horizon, scratch, out)?
        } else {
            self.sift(batch, ends_nothing, horizon, scratch, out)?
        };
        let stay = if stays_whole { batch.total_len() } else { out.len() - before };
        self.tally.bytes_written += stay as u64;
        Ok(Verdict { stays_whole, aborted })
    }

    /// What the first reading has learnt of a batch's records, where it is all that counts.
    fn known(&self, batch: &BatchView<'_>) -> Option<Replaced> {
        let is_in_section = !batch.is_control() && batch.last_offset() <= self.map.latest_offset();
        is_in_section.then(|| self.map.marks().of(batch))?
    }

    /// What stays of a batch whose records need not be looked at; says whether it is all of it.
    fn sift_known(
        &mut self,
        batch: &BatchView<'_>,
        replaced: Replaced,
        horizon: Option<i64>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<bool, Unreadable> {
        let read = u64::try_from(batch.record_count()).unwrap_or(0);
        self.tally.records_read += read;
        match replaced {
            Replaced::None => self.tally.records_written += read,
            // That it has the right checksum was seen when its keys were read.
            Replaced::All => {
                self.put_empty(batch, out);
            }
            Replaced::Some(replaced) => {
                sound(batch)?;
                let stay = read - replaced;
                self.tally.records_written += stay;
                self.tally.batches_rebuilt += 1;
                let marks = self.map.marks();
                rebuild(batch, self.max_record_bytes, horizon, stay, scratch, out, |record| {
                    !marks.is_replaced(record.offset)
                })
                .map_err(|reason| Unreadable::new(batch, reason))?;
            }
        }
        Ok(replaced == Replaced::None)
    }

    /// What stays of a batch whose records have to be looked at; says whether it is all of it.
    fn sift(
        &mut self,
        batch: &BatchView<'_>,
        ends_nothing: bool,
        horizon: Option<i64>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<bool, Unreadable> {
        let found = self.look(batch, horizon, scratch)?;
        self.tally.records_read += found.read;
        self.tally.records_written += found.stay;
        let new_horizon = (found.has_tombstone || ends_nothing && found.stay > 0)
            .then(|| self.now_ms.saturating_add(self.delete_retention_ms))
            .filter(|_| horizon.is_none());
        if found.stay > 0 && found.stay == found.read && new_horizon.is_none() {
            return Ok(true);
        }
        sound(batch)?;
        if found.stay == 0 {
            self.put_empty(batch, out);
            return Ok(false);
        }
        self.tally.batches_rebuilt += 1;
        let stays = std::mem::take(&mut scratch.stays);
        let mut of_each = stays.iter();
        let (max, horizon) = (self.max_record_bytes, new_horizon.or(horizon));
        let rebuilt = rebuild(batch, max, horizon, found.stay, scratch, out, |_| {
            of_each.next() == Some(&true)
        });
        scratch.stays = stays;
        rebuilt.map_err(|reason| Unreadable::new(batch, reason))?;
        Ok(false)
    }

    /// Leaves a header of a batch whose records have all gone, if the log would forget something without
    /// it; says whether it would.
    fn put_empty(&self, batch: &BatchView<'_>, out: &mut Vec<u8>) -> bool {
        let is_needed =
            self.is_last_of_its_producer(batch) || batch.next_offset() == self.high_watermark;
        if is_needed {
            put_empty(batch, out);
        }
        is_needed
    }

    fn is_last_of_its_producer(&self, batch: &BatchView<'_>) -> bool {
        if !batch.has_producer_id() {
            return false;
        }
        self.last_records.get(&batch.producer_id()).is_some_and(|last| match last.data_offset {
            Some(offset) => batch.last_offset() == offset,
            // The marker has the producer's epoch, which fences those before it.
            None => batch.is_control() && batch.producer_epoch() == last.epoch,
        })
    }

    /// Looks at each record, and notes which stay.
    fn look(
        &mut self,
        batch: &BatchView<'_>,
        horizon: Option<i64>,
        scratch: &mut Scratch,
    ) -> Result<Found, Unreadable> {
        let is_control = batch.is_control();
        let keeps_tombstones = horizon.is_none_or(|horizon| self.now_ms < horizon);
        let Scratch { decompressor, stays, sought, .. } = scratch;
        stays.clear();
        sought.clear();
        let mut found = Found::default();
        let (map, mut invalid) = (self.map, 0);
        for_each_record(batch, self.max_record_bytes, decompressor, |record| {
            let is_certain = is_control || record.offset > map.latest_offset();
            let key = record.key.filter(|_| !is_certain);
            invalid += u64::from(!is_certain && key.is_none());
            sought.push(Sought {
                offset: record.offset,
                hash: key.map(|key| map.hash(key)),
                may_stay: is_certain
                    || key.is_some() && (record.value.is_some() || keeps_tombstones),
                is_tombstone: record.value.is_none(),
            });
            if sought.len() == AT_ONCE {
                found.decide(map, sought, stays);
            }
            Ok(Go::On)
        })
        .map_err(|reason| Unreadable::new(batch, reason))?;
        found.decide(map, sought, stays);
        self.tally.invalid_records += invalid;
        Ok(found)
    }
}

/// What [`Filter::look`] has found.
#[derive(Default)]
struct Found {
    read: u64,
    stay: u64,
    /// Among those that stay.
    has_tombstone: bool,
}

impl Found {
    /// Looks for the records in the map, all that were gathered.
    fn decide(&mut self, map: &OffsetMap, sought: &mut Vec<Sought>, stays: &mut Vec<bool>) {
        map.touch(sought.iter().filter_map(|record| record.hash));
        for record in sought.drain(..) {
            let is_newest = record.hash.is_none_or(|hash| record.offset >= map.get(hash));
            let stays_here = is_newest && record.may_stay;
            stays.push(stays_here);
            self.read += 1;
            self.stay += u64::from(stays_here);
            self.has_tombstone |= stays_here && record.is_tombstone;
        }
    }
}

/// Whether to look at the next record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    NoFurther,
}

/// Visits the records of a batch in order: where they lie, or through the decompressor's window, where one may have at
/// most `max_record_bytes`.
pub(crate) fn for_each_record(
    batch: &BatchView<'_>,
    max_record_bytes: i32,
    decompressor: &mut Decompressor,
    mut visit: impl FnMut(&Record<'_>) -> Result<Go, String>,
) -> Result<(), String> {
    if batch.compression() == Some(Compression::None) {
        for record in RecordContext::of(batch).iter(batch.payload()) {
            if visit(&record.map_err(|fault| fault.to_string())?)? == Go::NoFurther {
                break;
            }
        }
        return Ok(());
    }
    let mut reader =
        RecordReader::bounded(batch, decompressor, RECORDS_BYTES_MAX, max_record_bytes)
            .map_err(|error| error.to_string())?;
    while let Some(record) = reader.next(batch, decompressor).map_err(|error| error.to_string())? {
        if visit(&record)? == Go::NoFurther {
            break;
        }
    }
    Ok(())
}

/// A batch that goes, or is taken apart, has the right checksum.
fn sound(batch: &BatchView<'_>) -> Result<(), Unreadable> {
    match batch.crc_is_valid() {
        true => Ok(()),
        false => Err(Unreadable::new(batch, "its checksum is wrong")),
    }
}

/// A header without records, which keeps offsets, producer and epoch.
fn put_empty(batch: &BatchView<'_>, out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + HEADER_LEN, 0);
    let kind = batch.timestamp_type();
    BatchHeader {
        attributes: attributes(
            Compression::None,
            kind,
            batch.is_transactional(),
            batch.is_control(),
        ),
        base_timestamp: batch::NONE,
        record_count: 0,
        ..header_of(batch)
    }
    .write(&mut out[at..]);
}

/// The batch with the records that `stays` is true of, compressed as it was; offsets and producer stay
/// what they were, timestamps count from the first record that stays or from the delete horizon.
fn rebuild(
    batch: &BatchView<'_>,
    max_record_bytes: i32,
    horizon: Option<i64>,
    count: u64,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
    mut stays: impl FnMut(&Record<'_>) -> bool,
) -> Result<(), String> {
    let codec = batch.compression().ok_or("its codec is not defined")?;
    let Scratch { decompressor, compressor, record: bytes, .. } = scratch;
    let at = out.len();
    out.resize(at + HEADER_LEN, 0);
    let failed = |error: thalweg_records::codec::CodecError| error.to_string();
    compressor.begin(CompressionSpec::new(codec), out).map_err(failed)?;
    // Kafka counts only from a horizon that is not negative.
    let mut base_timestamp = horizon.filter(|&horizon| horizon >= 0);
    let has_horizon = base_timestamp.is_some();
    let mut max_timestamp = batch::NONE;
    for_each_record(batch, max_record_bytes, decompressor, |record| {
        if !stays(record) {
            return Ok(Go::On);
        }
        let base = *base_timestamp.get_or_insert(record.timestamp);
        max_timestamp = max_timestamp.max(record.timestamp);
        let offset_delta = record.offset.wrapping_sub(batch.base_offset()) as i32;
        let headers = record.headers.map(|header| (header.key, header.value));
        let timestamp_delta = record.timestamp.wrapping_sub(base);
        let put = |to: &mut Vec<u8>| {
            put_record(to, offset_delta, timestamp_delta, record.key, record.value, headers);
        };
        if codec == Compression::None {
            put(out);
        } else {
            bytes.clear();
            put(bytes);
            compressor.write(bytes, out).map_err(failed)?;
        }
        Ok(Go::On)
    })?;
    compressor.finish(out).map_err(failed)?;
    let kind = batch.timestamp_type();
    if kind == TimestampType::LogAppendTime {
        max_timestamp = batch.max_timestamp();
    }
    let mut attributes = attributes(codec, kind, batch.is_transactional(), batch.is_control());
    if has_horizon {
        attributes |= batch::DELETE_HORIZON_BIT;
    }
    BatchHeader {
        attributes,
        base_timestamp: base_timestamp.unwrap_or(batch::NONE),
        max_timestamp,
        record_count: i32::try_from(count).map_err(|_| "it has too many records")?,
        ..header_of(batch)
    }
    .write(&mut out[at..]);
    Ok(())
}

fn header_of(batch: &BatchView<'_>) -> BatchHeader {
    BatchHeader {
        base_offset: batch.base_offset(),
        partition_leader_epoch: batch.partition_leader_epoch(),
        attributes: batch.attributes(),
        last_offset_delta: batch.last_offset_delta(),
        base_timestamp: batch.base_timestamp(),
        max_timestamp: batch.max_timestamp(),
        producer_id: batch.producer_id(),
        producer_epoch: batch.producer_epoch(),
        base_sequence: batch.base_sequence(),
        record_count: batch.record_count(),
    }
}
