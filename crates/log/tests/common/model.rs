//! What a log must hold, by what was appended to it.

use std::collections::{BTreeMap, HashMap};

use thalweg_log::testing::BatchSpec;
use thalweg_log::{AppendContext, AppendError, Isolation, Log, ReadRequest};
use thalweg_random::Random;
use thalweg_records::BatchView;

use super::{PlainRecords, batches, read, read_upto, request};

#[derive(Clone, Debug)]
pub struct Entry {
    pub base: i64,
    pub last: i64,
    pub bytes: Vec<u8>,
    pub epoch: i32,
}

#[derive(Clone, Default, Debug)]
pub struct ProducerModel {
    pub next_sequence: i32,
    pub open_since: Option<i64>,
}

#[derive(Clone, Default)]
pub struct Model {
    pub entries: Vec<Entry>,
    pub start: i64,
    /// Where the log's start was once: of what lies before not all needs to be known, also when a
    /// crash has brought it back.
    pub forgotten: i64,
    pub end: i64,
    pub epoch: i32,
    pub clock: i64,
}

impl Model {
    /// Producers as of the log's end.
    pub fn producers(&self) -> HashMap<i64, ProducerModel> {
        let mut producers: HashMap<i64, ProducerModel> = HashMap::new();
        for entry in &self.entries {
            let batch = BatchView::parse(&entry.bytes).unwrap();
            if !batch.has_producer_id() {
                continue;
            }
            let producer = producers.entry(batch.producer_id()).or_default();
            if batch.is_control() {
                producer.open_since = None;
            } else {
                producer.next_sequence = batch.last_sequence() + 1;
                if batch.is_transactional() {
                    producer.open_since.get_or_insert(entry.base);
                }
            }
        }
        producers
    }

    /// (producer, first, last) of aborted transactions.
    pub fn aborted(&self) -> Vec<(i64, i64, i64)> {
        let mut open: HashMap<i64, i64> = HashMap::new();
        let mut aborted = Vec::new();
        for entry in &self.entries {
            let batch = BatchView::parse(&entry.bytes).unwrap();
            if batch.is_control() {
                // The marker's type is the last byte of the record's key.
                let abort = entry.bytes[61 + 8] == 0;
                if let Some(first) = open.remove(&batch.producer_id())
                    && abort
                {
                    aborted.push((batch.producer_id(), first, entry.base));
                }
            } else if batch.is_transactional() {
                open.entry(batch.producer_id()).or_insert(entry.base);
            }
        }
        aborted
    }

    pub fn epochs(&self) -> BTreeMap<i32, i64> {
        let mut epochs = BTreeMap::new();
        for entry in &self.entries {
            epochs.entry(entry.epoch).or_insert(entry.base);
        }
        epochs
    }

    pub fn check(&self, log: &Log, random: &mut Random) {
        let offsets = log.offsets();
        assert_eq!((offsets.log_start_offset, offsets.log_end_offset), (self.start, self.end));
        // All bytes, in reads of any size.
        let max = [1, 90, 300, 1_000, 1 << 20][random.below(5) as usize];
        let from = self.start;
        let expected: Vec<u8> = self
            .entries
            .iter()
            .filter(|entry| entry.last >= from)
            .flat_map(|entry| entry.bytes.clone())
            .collect();
        // A segment at the end may be empty, and begin later, after a crash.
        let end = self.entries.last().map_or(from, |entry| entry.last + 1);
        assert!(read_upto(log, from, max, end) == expected, "bytes from {from} on");
        if end > self.start {
            let offset = self.start + random.below((end - self.start) as u64) as i64;
            let entry = self.entries.iter().find(|entry| entry.last >= offset).unwrap();
            let found = read(log, offset, 0).to_vec().unwrap();
            assert_eq!(batches(&found), [(entry.base, entry.last)], "offset {offset}");
            let at = BatchView::parse(&entry.bytes).unwrap().max_timestamp();
            let found = log.offset_for_timestamp(at, &PlainRecords).unwrap().unwrap();
            let expected = self
                .entries
                .iter()
                .find(|entry| {
                    entry.last >= self.start
                        && BatchView::parse(&entry.bytes).unwrap().max_timestamp() >= at
                })
                .unwrap();
            assert_eq!(found.offset, expected.base.max(self.start), "timestamp {at}");
        }
        // What is cut off next may be committed or not.
        let behind = if random.one_in(2) { 0 } else { random.below(40) as i64 };
        log.advance_high_watermark((self.end - behind).max(0));
        let producers = self.producers();
        let unstable = producers.values().filter_map(|producer| producer.open_since).min();
        // Only what is still in the log can be known of producers and epochs.
        if self.start == 0 && self.forgotten == 0 {
            let committed = log.high_watermark();
            // A marker that is not committed ends its transaction for who loads a snapshot, as in Kafka, and for nobody else.
            let is_marker = |entry: &&Entry| BatchView::parse(&entry.bytes).unwrap().is_control();
            let last_marker = self.entries.iter().rfind(is_marker);
            if last_marker.is_none_or(|marker| marker.base < committed) {
                let expected = unstable.unwrap_or(self.end).min(committed);
                assert_eq!(log.last_stable_offset(), expected);
            }
            let mut known: Vec<(i64, i32)> = log
                .active_producers()
                .iter()
                .filter(|producer| producer.last_sequence >= 0)
                .map(|producer| (producer.producer_id, producer.last_sequence + 1))
                .collect();
            known.sort_unstable();
            let mut expected: Vec<(i64, i32)> = producers
                .iter()
                .filter(|(_, producer)| producer.next_sequence > 0)
                .map(|(&id, producer)| (id, producer.next_sequence))
                .collect();
            expected.sort_unstable();
            assert_eq!(known, expected);
            let mut aborted: Vec<_> = log
                .aborted_transactions(0, self.end)
                .unwrap()
                .iter()
                .map(|txn| (txn.producer_id, txn.first_offset, txn.last_offset))
                .collect();
            aborted.sort_unstable();
            let mut expected = self.aborted();
            expected.sort_unstable();
            assert_eq!(aborted, expected);
            // Epochs of what is gone before a gap stay.
            let first = self.entries.first().map_or(self.start, |entry| entry.base);
            let has_gap = first > self.start
                || self.entries.windows(2).any(|pair| pair[0].last + 1 != pair[1].base);
            let mut epochs: BTreeMap<i32, i64> = log.leader_epochs().into_iter().collect();
            epochs.retain(|_, start| *start < end);
            assert!(has_gap || epochs == self.epochs(), "{epochs:?}, expected {:?}", self.epochs());
        }
        for entry in &self.entries {
            if entry.base >= self.start.max(self.forgotten) {
                assert_eq!(log.epoch_of(entry.base), Some(entry.epoch), "offset {}", entry.base);
            }
        }
        let committed =
            ReadRequest { isolation: Isolation::LastStable, ..request(self.start, 1 << 20) };
        if let Ok(result) = log.read(&committed)
            && !result.is_empty()
        {
            let (_, last) = *batches(&result.to_vec().unwrap()).last().unwrap();
            assert!(last < log.last_stable_offset());
        }
    }

    pub fn append(&mut self, log: &Log, random: &mut Random) {
        if random.one_in(15) {
            self.epoch += 1;
        }
        self.clock += random.below(5) as i64;
        let count = 1 + random.below(4);
        let mut spec =
            BatchSpec::new(0, count).value_len(random.below(120) as usize).timestamp(self.clock);
        let mut context = AppendContext::client(self.epoch, 1_000);
        let producers = self.producers();
        if random.one_in(2) {
            let id = random.below(4) as i64;
            let producer = producers.get(&id).cloned().unwrap_or_default();
            // Producers 2 and 3 are transactional.
            if producer.open_since.is_some() && random.one_in(3) {
                spec = BatchSpec::marker(0, id, 0, 1, random.one_in(2)).timestamp(self.clock);
                context = AppendContext::coordinator(self.epoch, 1_000);
            } else {
                spec = spec.producer(id, 0, producer.next_sequence);
                if id >= 2 {
                    spec = spec.transactional();
                }
            }
            // Kafka's answers, in whatever state.
            if self.start == 0 && producer.next_sequence > 0 && random.one_in(4) {
                let mut gap = BatchSpec::new(0, 1).producer(id, 0, producer.next_sequence + 1);
                if id >= 2 {
                    gap = gap.transactional();
                }
                let error = log
                    .append_as_leader(&mut gap.build(), &AppendContext::client(self.epoch, 1_000))
                    .unwrap_err();
                assert!(matches!(error, AppendError::OutOfOrderSequence { .. }), "{error}");
            }
        }
        let mut bytes = spec.build();
        let info = match log.append_as_leader(&mut bytes, &context) {
            // Of a producer whose batches are gone with the log's start a marker may be left, and
            // then Kafka, too, expects it to begin again.
            Err(AppendError::OutOfOrderSequence { expected: 0, .. }) if self.start > 0 => return,
            result => result.unwrap(),
        };
        assert!(!info.duplicate);
        assert_eq!(info.first_offset, self.end);
        self.end = info.last_offset + 1;
        self.entries.push(Entry {
            base: info.first_offset,
            last: info.last_offset,
            bytes: bytes.clone(),
            epoch: self.epoch,
        });
        let batch = BatchView::parse(&bytes).unwrap();
        if batch.has_producer_id() && !batch.is_control() && random.one_in(3) {
            let mut again = bytes.clone();
            let info =
                log.append_as_leader(&mut again, &AppendContext::client(self.epoch, 0)).unwrap();
            assert!(info.duplicate);
            assert_eq!(
                (info.first_offset, info.last_offset),
                (batch.base_offset(), batch.last_offset())
            );
        }
    }

    pub fn cut(&mut self, end: i64) {
        self.entries.retain(|entry| entry.last < end);
        self.end = end;
        self.start = self.start.min(end);
        self.epoch = self.entries.last().map_or(0, |entry| entry.epoch);
    }
}
