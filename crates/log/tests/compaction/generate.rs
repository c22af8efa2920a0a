//! Logs by chance, with everything that compaction has to do with: keys that come again, tombstones,
//! records without a key, codecs, producers, transactions that end one way or the other or not at all.

use std::collections::{BTreeMap, HashMap, HashSet};

use thalweg_log::testing::BatchSpec;
use thalweg_log::{AbortedTxn, AppendContext, Log};
use thalweg_random::Random;
use thalweg_records::{
    BatchBuilder, BatchOptions, BatchView, Compression, CompressionSpec, Compressor, Decompressor,
    RecordReader,
};

/// What a log is made of.
#[derive(Clone, Debug)]
pub struct Kind {
    pub codecs: Vec<Compression>,
    pub keys: u64,
    pub transactions: bool,
    /// Records without a key, which only a topic that was not compacted before can have.
    pub keyless: bool,
}

/// Appends to a log by chance.
pub struct Writer {
    pub random: Random,
    pub now: i64,
    kind: Kind,
    compressor: Compressor,
    sequences: HashMap<i64, i32>,
    open: Vec<i64>,
    /// What was appended.
    pub appended: Vec<Batch>,
}

impl Writer {
    pub fn new(seed: u64, kind: Kind, now: i64) -> Writer {
        let (sequences, open) = (HashMap::new(), Vec::new());
        let compressor = Compressor::new();
        let appended = Vec::new();
        Writer { random: Random::new(seed), now, kind, compressor, sequences, open, appended }
    }

    pub fn append(&mut self, log: &Log, batches: u64) {
        for _ in 0..batches {
            self.now += self.random.below(40) as i64;
            if !self.open.is_empty() && self.random.one_in(8) {
                self.end_one(log);
                continue;
            }
            self.append_one(log);
        }
        log.advance_high_watermark(i64::MAX);
    }

    /// Ends all transactions.
    pub fn settle(&mut self, log: &Log) {
        while !self.open.is_empty() {
            self.end_one(log);
        }
        log.advance_high_watermark(i64::MAX);
    }

    fn end_one(&mut self, log: &Log) {
        let id = self.open.swap_remove(self.random.below(self.open.len() as u64) as usize);
        let marker = BatchSpec::marker(0, id, 0, 1, self.random.one_in(2)).timestamp(self.now);
        let mut bytes = marker.build();
        log.append_as_leader(&mut bytes, &AppendContext::coordinator(0, self.now)).unwrap();
        self.appended.extend(parsed(&bytes));
    }

    fn append_one(&mut self, log: &Log) {
        let random = &mut self.random;
        let producer = match random.below(10) {
            0..4 => None,
            4..7 => Some(random.below(3) as i64),
            _ if self.kind.transactions => Some(100 + random.below(3) as i64),
            _ => None,
        };
        let codec = self.kind.codecs[random.below(self.kind.codecs.len() as u64) as usize];
        let id = producer.unwrap_or(-1);
        let count = match random.below(12) {
            0 => 20 + random.below(40),
            _ => 1 + random.below(6),
        };
        let sequence = self.sequences.entry(id).or_default();
        let base_sequence = if producer.is_some() { *sequence } else { -1 };
        *sequence += count;
        let transactional = id >= 100;
        if transactional && !self.open.contains(&id) {
            self.open.push(id);
        }
        let mut batch = BatchBuilder::new(BatchOptions {
            compression: CompressionSpec::new(codec),
            producer_id: id,
            producer_epoch: if producer.is_some() { 0 } else { -1 },
            base_sequence,
            transactional,
            log_append_time: random.one_in(7).then_some(self.now),
            ..BatchOptions::default()
        });
        for _ in 0..count {
            let key = format!("key-{}", random.below(self.kind.keys));
            let key = (!self.kind.keyless || !random.one_in(9)).then_some(key.as_bytes());
            let value: Vec<u8> =
                (0..random.below(60)).map(|_| b'a' + random.below(5) as u8).collect();
            let value = (!random.one_in(6)).then_some(&value[..]);
            let header: [(&[u8], Option<&[u8]>); 1] = [(b"name", Some(b"text"))];
            let headers = &header[..usize::from(random.one_in(5))];
            let timestamp = match random.below(20) {
                0 => -1,
                _ => self.now - random.below(30) as i64,
            };
            batch.append(timestamp, key, value, headers);
        }
        let mut bytes = batch.finish(&mut self.compressor).unwrap();
        log.append_as_leader(&mut bytes, &AppendContext::client(0, self.now)).unwrap();
        self.appended.extend(parsed(&bytes));
    }
}

/// A batch as people compare it: all but checksum and length, and its records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    pub base_offset: i64,
    pub last_offset: i64,
    pub leader_epoch: i32,
    pub attributes: i16,
    pub timestamps: (i64, i64),
    pub producer: (i64, i16, i32),
    pub count: i32,
    pub records: Vec<Found>,
}

/// A record as people compare it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub offset: i64,
    pub timestamp: i64,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// The batches of a segment's bytes.
pub fn parsed(bytes: &[u8]) -> Vec<Batch> {
    let mut found = Vec::new();
    let mut decompressor = Decompressor::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let batch = BatchView::parse(rest).expect("a whole batch");
        assert!(batch.crc_is_valid(), "offset {}", batch.base_offset());
        let mut reader = RecordReader::new(&batch, &mut decompressor, 1 << 24).unwrap();
        let mut records = Vec::new();
        while let Some(record) = reader.next(&batch, &mut decompressor).unwrap() {
            let headers = record.headers;
            records.push(Found {
                offset: record.offset,
                timestamp: record.timestamp,
                key: record.key.map(<[u8]>::to_vec),
                value: record.value.map(<[u8]>::to_vec),
                headers: headers
                    .map(|header| (header.key.to_vec(), header.value.map(<[u8]>::to_vec)))
                    .collect(),
            });
        }
        found.push(Batch {
            base_offset: batch.base_offset(),
            last_offset: batch.last_offset(),
            leader_epoch: batch.partition_leader_epoch(),
            attributes: batch.attributes(),
            timestamps: (batch.base_timestamp(), batch.max_timestamp()),
            producer: (batch.producer_id(), batch.producer_epoch(), batch.base_sequence()),
            count: batch.record_count(),
            records,
        });
        rest = &rest[batch.total_len()..];
    }
    found
}

/// What a consumer of committed transactions gets, by the aborted ones that it is told of.
pub fn visible(batches: &[Batch], aborted: &[AbortedTxn], upto: i64) -> Vec<Found> {
    let mut ahead: Vec<&AbortedTxn> = aborted.iter().collect();
    ahead.sort_by_key(|txn| txn.first_offset);
    let mut ahead = ahead.into_iter().peekable();
    let mut ignored = HashSet::new();
    let mut found = Vec::new();
    for batch in batches.iter().filter(|batch| batch.base_offset < upto) {
        while let Some(txn) = ahead.next_if(|txn| txn.first_offset <= batch.last_offset) {
            ignored.insert(txn.producer_id);
        }
        let (id, ..) = batch.producer;
        if batch.attributes & CONTROL != 0 {
            let is_abort = batch.records.first().is_some_and(|r| r.key.as_deref() == Some(&[0; 4]));
            if is_abort {
                ignored.remove(&id);
            }
        } else if batch.attributes & TRANSACTIONAL == 0 || !ignored.contains(&id) {
            found.extend(batch.records.iter().cloned());
        }
    }
    found
}

/// The committed records before an offset; what ends them may come behind it.
pub fn committed(batches: &[Batch], upto: i64) -> Vec<&Found> {
    let mut open: HashMap<i64, Vec<&Found>> = HashMap::new();
    let mut committed: Vec<&Found> = Vec::new();
    for batch in batches {
        let (id, ..) = batch.producer;
        if batch.attributes & CONTROL != 0 {
            let mine = open.remove(&id).unwrap_or_default();
            if batch.records.first().is_some_and(|r| r.key.as_deref() == Some(&[0, 0, 0, 1])) {
                committed.extend(mine);
            }
        } else if batch.attributes & TRANSACTIONAL != 0 {
            open.entry(id).or_default().extend(&batch.records);
        } else {
            committed.extend(&batch.records);
        }
    }
    committed.retain(|record| record.offset < upto);
    committed.sort_by_key(|record| record.offset);
    committed
}

/// The last record of each key.
pub fn last_of_each_key<'a>(
    records: impl IntoIterator<Item = &'a Found>,
) -> BTreeMap<&'a [u8], &'a Found> {
    let mut last = BTreeMap::new();
    for record in records {
        if let Some(key) = &record.key {
            last.insert(&key[..], record);
        }
    }
    last
}

/// The last value of each key, without those that are deleted.
pub fn values<'a>(records: impl IntoIterator<Item = &'a Found>) -> BTreeMap<&'a [u8], &'a [u8]> {
    let last = last_of_each_key(records);
    last.into_iter().filter_map(|(key, found)| Some((key, found.value.as_deref()?))).collect()
}

const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;
