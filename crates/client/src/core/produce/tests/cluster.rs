//! Brokers with logs in memory that check sequences as Kafka's do, and a driver that does with a
//! sender what the tasks of a producer do: it drains when it is woken or when time has come, and
//! never otherwise, so that a wake-up that is missing shows.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::task::{Context, Poll, Waker};

use thalweg_records::{BatchView, CompressionSpec, Decompressor, RecordContext};
use thalweg_wire::messages::metadata_response::*;
use thalweg_wire::messages::produce_response::*;
use thalweg_wire::messages::{MetadataResponse, ProduceRequest, ProduceResponse};
use thalweg_wire::{ErrorCode, Message, Reader, Uuid, Writer};

use super::super::*;
use super::coordinator::{Coordinator, Marker, Target};
use crate::core::Metadata;

pub const TOPIC_ID: Uuid = Uuid::from_u128(4711);

/// Whether a record is there for those who read what is committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visible {
    Yes,
    NotYet,
    Never,
}

/// What a broker remembers of a producer in a partition.
#[derive(Default)]
struct Known {
    epoch: i16,
    /// First and last sequence and base offset of the last five batches.
    batches: VecDeque<(i32, i32, i64)>,
}

#[derive(Default)]
pub struct Log {
    pub values: Vec<Vec<u8>>,
    /// What each value is to those who read what is committed, with the producer.
    pub fates: Vec<(i64, Visible)>,
    /// Producers with a transaction open here, and since which epoch.
    open: HashMap<i64, i16>,
    pub leader: i32,
    pub epoch: i32,
    producers: HashMap<i64, Known>,
    pub batches: u64,
}

impl Log {
    /// Appends a batch, as Kafka's `ProducerAppendInfo` lets it.
    fn append(
        &mut self,
        batch: &BatchView<'_>,
        decompressor: &mut Decompressor,
    ) -> Result<i64, ErrorCode> {
        assert!(batch.crc_is_valid());
        let base = self.values.len() as i64;
        if batch.has_producer_id() {
            let (first, last) = (batch.base_sequence(), batch.last_sequence());
            let epoch = batch.producer_epoch();
            if let Some(known) = self.producers.get(&batch.producer_id()) {
                if epoch < known.epoch {
                    return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
                }
                if epoch > known.epoch {
                    if first != 0 {
                        return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
                    }
                } else {
                    let again = known.batches.iter().find(|b| (b.0, b.1) == (first, last));
                    if let Some(again) = again {
                        return Ok(again.2);
                    }
                    // Of a producer of which only a marker is known the first has sequence 0.
                    if known.batches.back().map_or(0, |known| known.1 + 1) != first {
                        return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
                    }
                }
            }
            // A producer that is not known yet may begin with any sequence.
            let known = self.producers.entry(batch.producer_id()).or_default();
            if epoch > known.epoch {
                *known = Known { epoch, ..Known::default() };
            }
            known.batches.push_back((first, last, base));
            if known.batches.len() > 5 {
                known.batches.pop_front();
            }
        }
        let mut records = Vec::new();
        thalweg_records::record::decompress(batch, decompressor, 1 << 30, &mut records).unwrap();
        for record in RecordContext::of(batch).iter(&records) {
            self.values.push(record.unwrap().value.unwrap().to_vec());
            let visible = if batch.is_transactional() { Visible::NotYet } else { Visible::Yes };
            self.fates.push((batch.producer_id(), visible));
        }
        if batch.is_transactional() {
            self.open.insert(batch.producer_id(), batch.producer_epoch());
        }
        self.batches += 1;
        Ok(base)
    }

    /// Writes the end of a producer's transaction.
    pub fn mark(&mut self, marker: Marker) {
        let (id, epoch) = marker.producer;
        let visible = if marker.is_commit { Visible::Yes } else { Visible::Never };
        for fate in self.fates.iter_mut().filter(|fate| **fate == (id, Visible::NotYet)) {
            fate.1 = visible;
        }
        self.open.remove(&id);
        let known = self.producers.entry(id).or_insert(Known { epoch, ..Known::default() });
        if epoch > known.epoch {
            *known = Known { epoch, ..Known::default() };
        }
    }
}

/// What happens to a batch besides what has to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Fine,
    /// Refused with this code.
    Refused(ErrorCode),
    /// Appended, and answered with this code.
    Appended(ErrorCode),
}

/// A broker's task and connection.
#[derive(Default)]
pub struct Line {
    /// `None` while awake; `Some(None)` asleep until it is woken.
    asleep: Option<Option<u64>>,
    pub requests: VecDeque<Vec<u8>>,
    /// With their versions.
    answers: VecDeque<(i16, Vec<u8>)>,
    has_task: bool,
}

pub struct Sim {
    pub sender: Sender,
    pub now: u64,
    pub logs: BTreeMap<i32, Log>,
    pub lines: BTreeMap<i32, Line>,
    /// Requests of connections that are gone: a broker may still come to read them.
    pub zombies: Vec<(i32, Vec<u8>)>,
    pub version: i16,
    pub max_message_bytes: usize,
    pub knows_hints: bool,
    /// Ids given so far.
    pub ids: i64,
    /// Whom leaders ask of transactions.
    pub coordinator: Coordinator,
    /// A coordinator may have to be asked something.
    pub wants_coordinator: bool,
    /// Those who wait for a transaction should look again.
    pub transactions_changed: bool,
    sealer: Sealer,
    decompressor: Decompressor,
}

impl Sim {
    pub fn new(settings: ProduceSettings, memory: usize, partitions: i32, brokers: i32) -> Sim {
        let log = |index| Log { leader: index % brokers + 1, ..Log::default() };
        let mut sim = Sim {
            sender: Sender::new(settings, Memory::new(memory, || {}), 1),
            now: 1_000,
            logs: (0..partitions).map(|index| (index, log(index))).collect(),
            lines: (1..=brokers).map(|broker| (broker, Line::default())).collect(),
            zombies: Vec::new(),
            version: 13,
            max_message_bytes: 1 << 20,
            knows_hints: true,
            ids: 0,
            coordinator: Coordinator::new(),
            wants_coordinator: false,
            transactions_changed: false,
            sealer: Sealer::default(),
            decompressor: Decompressor::new(),
        };
        sim.tell_metadata();
        sim
    }

    pub fn tell_metadata(&mut self) {
        let partitions = self
            .logs
            .iter()
            .map(|(&index, log)| MetadataResponsePartition {
                partition_index: index,
                leader_id: log.leader,
                leader_epoch: log.epoch,
                ..MetadataResponsePartition::default()
            })
            .collect();
        let mut metadata = Metadata::default();
        let response = MetadataResponse {
            topics: vec![MetadataResponseTopic {
                name: Some("t".into()),
                topic_id: TOPIC_ID,
                partitions,
                ..MetadataResponseTopic::default()
            }],
            ..MetadataResponse::default()
        };
        metadata.apply(&response, 0);
        self.sender.update_metadata(&metadata, ["t"], self.now);
    }

    pub fn send(&mut self, partition: Option<i32>, value: &[u8]) -> Result<Ticket, Refused> {
        let record = ProducerRecord {
            topic: "t",
            partition,
            value: Some(value),
            ..ProducerRecord::default()
        };
        let now = self.now;
        self.sender.append(&record, 1_000, || now)
    }

    /// Looks up what is wanted, and hands wake-ups out.
    pub fn signals(&mut self) {
        let signals = self.sender.take_signals();
        for broker in signals.brokers_to_wake {
            let line = self.lines.get_mut(&broker).unwrap();
            line.has_task = true;
            line.asleep = None;
        }
        self.wants_coordinator |= signals.wants_coordinator;
        self.transactions_changed |= signals.transactions_changed;
        if signals.lookup && self.sender.wants_producer_id() {
            self.ids += 1;
            self.sender.set_producer_id(self.ids, 0, self.now);
            self.signals();
        }
    }

    /// One turn of a broker's task; says whether it sent something.
    pub fn turn(&mut self, broker: i32) -> bool {
        self.signals();
        let now = self.now;
        let line = self.lines.get_mut(&broker).unwrap();
        let sleeps = line.asleep.is_some_and(|until| until.is_none_or(|until| until > now));
        if !line.has_task || sleeps {
            return false;
        }
        let Some(mut outgoing) = self.sender.drain(broker, now) else {
            line.asleep = Some(self.sender.sleep(broker, now));
            assert_ne!(line.asleep, Some(Some(now)), "nothing to do is not due now");
            return false;
        };
        while outgoing.seal_next(&mut self.sealer).is_some() {}
        self.sender.keep_sealed(&outgoing);
        let mut frame = Writer::new();
        let version = self.version.min(outgoing.version_max());
        outgoing.encode(&mut frame, version, "me", 30_000).unwrap();
        let settings = &self.sender.settings;
        // With compression it is an estimate.
        let is_exact = settings.compression == CompressionSpec::NONE;
        let fits = frame.len() <= settings.max_request_size + 200;
        assert!(fits || !is_exact || outgoing.partitions() == 1, "{} bytes", frame.len());
        let is_answered = outgoing.is_answered();
        line.requests.push_back(frame.to_vec());
        if !is_answered {
            self.sender.written(broker, now);
        }
        line.asleep = None;
        self.signals();
        true
    }

    /// A broker reads its oldest request.
    pub fn process(&mut self, broker: i32, fate: &mut dyn FnMut(&BatchView<'_>) -> Fate) {
        let Some(request) = self.lines.get_mut(&broker).unwrap().requests.pop_front() else {
            return;
        };
        if let Some(answer) = self.answer(broker, &request, fate) {
            let version = i16::from_be_bytes([request[6], request[7]]);
            self.lines.get_mut(&broker).unwrap().answers.push_back((version, answer));
        }
    }

    /// What `broker` answers to a request frame.
    pub fn answer(
        &mut self,
        broker: i32,
        frame: &[u8],
        fate: &mut dyn FnMut(&BatchView<'_>) -> Fate,
    ) -> Option<Vec<u8>> {
        let mut r = Reader::new(&frame[12..]);
        // The rest of the header: client id and tags.
        r.nullable_str(false).unwrap();
        r.tags(None, |_, _| Ok(false)).unwrap();
        let version = i16::from_be_bytes([frame[6], frame[7]]);
        let request = ProduceRequest::decode(&mut r, version).unwrap();
        let mut response = ProduceResponse::default();
        let mut seen = Vec::new();
        for topic in &request.topic_data {
            let mut answers = Vec::new();
            for data in &topic.partition_data {
                assert!(!seen.contains(&data.index), "one batch per partition");
                seen.push(data.index);
                answers.push(self.answer_partition(
                    broker,
                    data.index,
                    data.records.as_ref(),
                    version,
                    fate,
                ));
            }
            response.responses.push(TopicProduceResponse {
                name: topic.name.clone(),
                topic_id: topic.topic_id,
                partition_responses: answers,
                ..TopicProduceResponse::default()
            });
        }
        if request.acks == 0 {
            return None;
        }
        let mut w = Writer::new();
        response.encode(&mut w, version).unwrap();
        Some(w.to_vec())
    }

    fn answer_partition(
        &mut self,
        broker: i32,
        index: i32,
        records: Option<&bytes::Bytes>,
        version: i16,
        fate: &mut dyn FnMut(&BatchView<'_>) -> Fate,
    ) -> PartitionProduceResponse {
        let records = records.unwrap();
        let batch = BatchView::parse(records).unwrap();
        assert_eq!(batch.total_len(), records.len(), "one batch");
        let log = self.logs.get_mut(&index).unwrap();
        let mut answer = PartitionProduceResponse {
            index,
            base_offset: -1,
            log_append_time_ms: -1,
            ..Default::default()
        };
        if log.leader != broker {
            answer.error_code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
            if self.knows_hints {
                answer.current_leader.leader_id = log.leader;
                answer.current_leader.leader_epoch = log.epoch;
            }
            return answer;
        }
        let fate = match fate(&batch) {
            // Nothing else is looked at before the size.
            Fate::Fine | Fate::Appended(_) if records.len() > self.max_message_bytes => {
                Fate::Refused(ErrorCode::MESSAGE_TOO_LARGE)
            }
            fate => fate,
        };
        if let Fate::Refused(code) = fate {
            answer.error_code = code;
            return answer;
        }
        let producer = (batch.producer_id(), batch.producer_epoch());
        if batch.is_transactional() && log.open.get(&producer.0) != Some(&producer.1) {
            // From version 12 on the leader adds its partition, before it only asks.
            let target = Target::Partition(index);
            let code = match version {
                12.. => self.coordinator.add(producer, [target]),
                _ => self.coordinator.verify(producer, target),
            };
            if code != ErrorCode::NONE {
                answer.error_code = match code {
                    ErrorCode::CONCURRENT_TRANSACTIONS if version < 12 => {
                        ErrorCode::NOT_ENOUGH_REPLICAS
                    }
                    ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
                    code => code,
                };
                return answer;
            }
        }
        match (log.append(&batch, &mut self.decompressor), fate) {
            (Ok(_), Fate::Appended(code)) => answer.error_code = code,
            (Ok(base), _) => answer.base_offset = base,
            (Err(code), _) => answer.error_code = code,
        }
        answer
    }

    /// The oldest answer of a broker arrives.
    pub fn deliver(&mut self, broker: i32) -> Option<super::super::sender::accept::Accepted> {
        let line = self.lines.get_mut(&broker).unwrap();
        let (version, answer) = line.answers.pop_front()?;
        line.asleep = None;
        let accepted = self.sender.accept(broker, &answer, version, self.now).unwrap();
        self.signals();
        Some(accepted)
    }

    /// A connection breaks; what was on its way to the broker may be read later.
    pub fn disconnect(&mut self, broker: i32) {
        let line = self.lines.get_mut(&broker).unwrap();
        line.answers.clear();
        line.asleep = None;
        self.zombies.extend(line.requests.drain(..).map(|request| (broker, request)));
        self.sender.disconnected(broker, "lost".into(), self.now);
        self.signals();
    }

    /// Everything goes well until nothing is left to do, or for so many milliseconds.
    pub fn settle(&mut self, ms: u64) {
        let until = self.now + ms;
        while self.sender.outstanding() > 0 && self.now < until {
            self.round();
            self.refresh();
            self.now += 1;
        }
    }

    /// Gives the metadata that are wanted.
    pub fn refresh(&mut self) {
        if self.sender.take_wants_metadata() || self.sender.lacks_leader() {
            self.tell_metadata();
        }
    }

    /// Another producer takes this one's place; what the one before has sent may still be read.
    pub fn replace_sender(&mut self, sender: Sender) {
        for line in self.lines.values_mut() {
            *line = Line::default();
        }
        (self.wants_coordinator, self.transactions_changed) = (false, false);
        self.sender = sender;
        self.tell_metadata();
    }

    /// Writes one end of a transaction that is decided; says whether there was one.
    pub fn write_marker(&mut self) -> bool {
        let Some(marker) = self.coordinator.next_marker() else { return false };
        if let Target::Partition(index) = marker.target {
            self.logs.get_mut(&index).unwrap().mark(marker);
        }
        self.coordinator.marked(marker);
        true
    }

    /// Each broker does all it can at this moment.
    pub fn round(&mut self) {
        for broker in self.lines.keys().copied().collect::<Vec<_>>() {
            while self.turn(broker) {}
            while !self.lines[&broker].requests.is_empty() {
                self.process(broker, &mut |_| Fate::Fine);
            }
            while self.deliver(broker).is_some() {}
        }
    }
}

/// What became of a record, if that is known.
pub fn outcome(ticket: &mut Ticket) -> Option<Result<RecordMetadata, ProduceError>> {
    match ticket.poll(&Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}
