//! A shard on a log, a clock and producer ids in memory, and short forms of what is asked of it and answered.

use std::sync::{Arc, Mutex};

use thalweg_coordinator::{CoordinatorRecord as _, KeyValue, LogEntry, MemoryRunner, Now, Token};
use thalweg_transactions::{
    AddPartitions, EndTransaction, InitProducerId, ListFilter, Partitions, Producer,
    ProducerIdSource, ProducerIds, Transaction, TransactionConfig, TransactionEvent,
    TransactionRecord, TransactionRequest, TransactionResponse, TransactionShard,
    TransactionVersion, VerifyPartitions, WriteMarkers,
};
use thalweg_wire::ErrorCode;

/// The first producer id.
pub const FIRST_PRODUCER_ID: i64 = 1000;
/// Both clocks at the start.
pub const START: Now = Now { wall_ms: 1_000_000, monotonic_ms: 1_000_000 };
/// Longer than any test: sweeps come when they are asked for.
const NEVER_MS: u64 = 1 << 50;

/// Gives out one producer id after the other, unless it is told to fail.
#[derive(Debug)]
pub struct Counter(Mutex<(i64, Option<ErrorCode>)>);

impl Counter {
    /// The next one.
    pub fn peek(&self) -> i64 {
        self.0.lock().expect("not poisoned").0
    }

    /// What all are answered with, if it is an error.
    pub fn error(&self) -> Option<ErrorCode> {
        self.0.lock().expect("not poisoned").1
    }

    /// Answers all with an error from now on, or with ids again.
    pub fn fail(&self, error: Option<ErrorCode>) {
        self.0.lock().expect("not poisoned").1 = error;
    }
}

impl ProducerIds for Counter {
    fn next(&self) -> Result<i64, ErrorCode> {
        let mut counter = self.0.lock().expect("not poisoned");
        if let Some(error) = counter.1 {
            return Err(error);
        }
        counter.0 += 1;
        Ok(counter.0 - 1)
    }
}

/// The shard and what is around it.
pub struct World {
    /// What runs it.
    pub memory: MemoryRunner<TransactionShard>,
    /// Where its producer ids come from.
    pub ids: Arc<Counter>,
    /// Its settings.
    pub config: TransactionConfig,
}

/// Settings under which requests are answered at once, and sweeps come when they are asked for.
pub fn config(version: TransactionVersion) -> TransactionConfig {
    TransactionConfig {
        version,
        wait_ms: 0,
        abort_interval_ms: NEVER_MS,
        expire_interval_ms: NEVER_MS,
        ..TransactionConfig::default()
    }
}

impl World {
    /// A shard on an empty log.
    pub fn new(config: TransactionConfig) -> World {
        World::with_log(config, Vec::new())
    }

    /// A shard on a log.
    pub fn with_log(config: TransactionConfig, log: Vec<LogEntry>) -> World {
        let ids = Arc::new(Counter(Mutex::new((FIRST_PRODUCER_ID, None))));
        let shard = TransactionShard::new(config.clone(), ProducerIdSource(ids.clone()));
        World { memory: MemoryRunner::with_log(shard, START, log), ids, config }
    }

    /// A shard that knows nothing yet.
    pub fn fresh(&self) -> TransactionShard {
        TransactionShard::new(self.config.clone(), ProducerIdSource(self.ids.clone()))
    }

    /// The same log under a new shard.
    pub fn reload(&mut self) {
        self.memory.reload(self.fresh());
    }

    /// Other settings.
    pub fn configure(&mut self, change: impl FnOnce(&mut TransactionConfig)) {
        change(&mut self.config);
        self.memory.event(TransactionEvent::Configured(self.config.clone()));
    }

    /// Looks for transactions that are open for too long, a millisecond from now.
    pub fn abort_timed_out(&mut self) {
        self.configure(|config| config.abort_interval_ms = 1);
        self.memory.advance(1);
        self.configure(|config| config.abort_interval_ms = NEVER_MS);
    }

    /// Looks for ids that were not used for long, a millisecond from now.
    pub fn expire(&mut self) {
        self.configure(|config| config.expire_interval_ms = 1);
        self.memory.advance(1);
        self.configure(|config| config.expire_interval_ms = NEVER_MS);
    }

    /// Asks, and gives the answer if there is one already.
    pub fn try_ask(&mut self, request: TransactionRequest) -> Result<TransactionResponse, Token> {
        let token = self.memory.submit(request);
        self.memory.take_answer(token).ok_or(token)
    }

    /// Asks: the answer in a few words, or "-" while there is none.
    pub fn ask(&mut self, request: TransactionRequest) -> String {
        self.try_ask(request).map_or("-".into(), |answer| words(&answer))
    }

    /// The answer to an earlier request, or "-".
    pub fn answer(&mut self, token: Token) -> String {
        self.memory.take_answer(token).map_or("-".into(), |answer| words(&answer))
    }

    /// The next request to write markers.
    pub fn effect(&mut self) -> Option<WriteMarkers> {
        self.memory.effects.pop_front()
    }

    /// Tells of markers that are written everywhere.
    pub fn marked(&mut self, of: WriteMarkers) {
        self.memory.event(marked(of));
    }

    /// Has all markers written that are asked for: how often that was.
    pub fn mark_all(&mut self) -> usize {
        let mut count = 0;
        while let Some(of) = self.effect() {
            self.marked(of);
            count += 1;
        }
        count
    }

    /// The records from an offset on.
    pub fn records(&self, from: usize) -> Vec<TransactionRecord> {
        self.memory.log[from..].iter().map(record).collect()
    }

    /// What the last record says.
    pub fn last(&self) -> Transaction {
        let last = self.records(self.memory.log.len() - 1).pop().expect("a record");
        last.value.expect("no tombstone")
    }

    /// An id, described.
    pub fn describe(&mut self, id: &str) -> String {
        self.ask(describe(id))
    }
}

/// The record of a log's entry.
pub fn record(entry: &LogEntry) -> TransactionRecord {
    let KeyValue { key, value } = bytes(entry);
    let record = TransactionRecord::decode(key, value.as_deref());
    record.expect("it can be read").expect("it is known")
}

/// The bytes of a log's entry.
pub fn bytes(entry: &LogEntry) -> &KeyValue {
    match entry {
        LogEntry::Record(None, bytes) => bytes,
        other => panic!("nobody writes {other:?}"),
    }
}

/// The entry of a record.
pub fn entry(id: &str, value: Option<Transaction>, version: TransactionVersion) -> LogEntry {
    let record = TransactionRecord { transactional_id: id.into(), value, version };
    record.encode().expect("it can be written").into()
}

/// The event that says that markers are written.
pub fn marked(of: WriteMarkers) -> TransactionEvent {
    let WriteMarkers { transactional_id, producer, partitions, .. } = of;
    TransactionEvent::MarkersWritten { transactional_id, producer, partitions }
}

/// A producer of its id and its epoch.
pub fn producer((id, epoch): (i64, i16)) -> Producer {
    Producer { id, epoch }
}

/// Partitions of "t-0 t-1".
pub fn partitions(text: &str) -> Partitions {
    let one = |word: &'_ str| {
        let (topic, index) = word.rsplit_once('-').expect("a topic and a partition");
        (topic.to_owned(), index.parse().expect("a partition"))
    };
    let all: Vec<(String, i32)> = text.split_whitespace().map(one).collect();
    all.iter().map(|(topic, index)| (topic.as_str(), *index)).collect()
}

/// InitProducerId of a producer that is new.
pub fn init(id: &str) -> TransactionRequest {
    init_as(id, None)
}

/// InitProducerId of one that says who it is.
pub fn init_as(id: &str, expected: Option<(i64, i16)>) -> TransactionRequest {
    TransactionRequest::Init(InitProducerId {
        transactional_id: id.into(),
        timeout_ms: 60_000,
        enable_2pc: false,
        keep_prepared: false,
        expected: expected.map(producer),
    })
}

/// AddPartitionsToTxn of a client that speaks transactions of version 2.
pub fn add(id: &str, of: (i64, i16), to: &str) -> TransactionRequest {
    add_as(id, of, to, TransactionVersion::V2)
}

/// AddPartitionsToTxn.
pub fn add_as(
    id: &str,
    of: (i64, i16),
    to: &str,
    client_version: TransactionVersion,
) -> TransactionRequest {
    TransactionRequest::Add(AddPartitions {
        transactional_id: id.into(),
        producer: producer(of),
        partitions: partitions(to),
        client_version,
        is_of_broker: false,
    })
}

/// AddPartitionsToTxn that only asks.
pub fn verify(id: &str, of: (i64, i16), to: &str) -> TransactionRequest {
    TransactionRequest::Verify(VerifyPartitions {
        transactional_id: id.into(),
        producer: producer(of),
        partitions: partitions(to),
    })
}

/// EndTxn of a client that speaks transactions of version 2.
pub fn end(id: &str, of: (i64, i16), commit: bool) -> TransactionRequest {
    end_as(id, of, commit, TransactionVersion::V2)
}

/// EndTxn.
pub fn end_as(
    id: &str,
    of: (i64, i16),
    commit: bool,
    client_version: TransactionVersion,
) -> TransactionRequest {
    TransactionRequest::End(EndTransaction {
        transactional_id: id.into(),
        producer: producer(of),
        commit,
        client_version,
    })
}

/// DescribeTransactions.
pub fn describe(id: &str) -> TransactionRequest {
    TransactionRequest::Describe { transactional_id: id.into() }
}

/// ListTransactions of everything.
pub fn list() -> TransactionRequest {
    let producer_ids = Vec::new();
    TransactionRequest::List(ListFilter { producer_ids, states: None, duration_ms: -1 })
}

/// The transactional id that a request is of; none of a list.
pub fn id_of(request: &TransactionRequest) -> &str {
    match request {
        TransactionRequest::Init(of) => &of.transactional_id,
        TransactionRequest::Add(of) => &of.transactional_id,
        TransactionRequest::Verify(of) => &of.transactional_id,
        TransactionRequest::End(of) => &of.transactional_id,
        TransactionRequest::Describe { transactional_id } => transactional_id,
        TransactionRequest::List(_) => "",
    }
}

/// An answer in a few words.
pub fn words(answer: &TransactionResponse) -> String {
    let error = |error: &ErrorCode| error.to_string();
    match answer {
        TransactionResponse::Init(Ok(of)) | TransactionResponse::End(Ok(of)) => name(*of),
        TransactionResponse::Add(Ok(())) => "NONE".into(),
        TransactionResponse::Verify(Ok(of)) => {
            let of = of.iter().map(|(topic, index, error)| format!("{topic}-{index}:{error}"));
            of.collect::<Vec<_>>().join(" ")
        }
        TransactionResponse::Describe(Ok(of)) => {
            let (state, to) = (of.state.name(), text(&of.partitions));
            let words =
                format!("{state} {} {} {} {to}", name(of.producer), of.timeout_ms, of.start_ms);
            words.trim_end().into()
        }
        TransactionResponse::List(Ok(of)) => {
            let of = of.iter().map(|one| {
                format!("{}:{}:{}", one.transactional_id, one.producer_id, one.state.name())
            });
            let mut all: Vec<_> = of.collect();
            all.sort();
            all.join(" ")
        }
        TransactionResponse::Init(Err(code))
        | TransactionResponse::End(Err(code))
        | TransactionResponse::Add(Err(code))
        | TransactionResponse::Verify(Err(code))
        | TransactionResponse::Describe(Err(code))
        | TransactionResponse::List(Err(code)) => error(code),
    }
}

/// A producer's id and epoch.
pub fn name(of: Producer) -> String {
    format!("{}/{}", of.id, of.epoch)
}

/// "t-0 t-1".
pub fn text(partitions: &Partitions) -> String {
    let all = partitions.iter().map(|(topic, index)| format!("{topic}-{index}"));
    all.collect::<Vec<_>>().join(" ")
}
