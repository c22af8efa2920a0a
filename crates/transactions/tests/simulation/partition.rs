//! Partitions: a topic's, and one of `__consumer_offsets` with its group coordinator. A leader does what the broker's does
//! (`api/produce`, `api/txn_offset_commit`, `api/write_txn_markers`): it asks the transaction's coordinator before it takes the
//! first batch of a transaction, and answers when what it took is committed.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use thalweg_coordinator::{
    AppendKind, CoordinatorRecord as _, KeyValue, Position, Producer, Runner, RunnerConfig, Token,
    TransactionEnd,
};
use thalweg_groups::{
    GroupConfig, GroupRecord, GroupRequest, GroupResponse, GroupShard, RequestContext, Submission,
};
use thalweg_log::testing::{BatchSpec, MemoryLog, OpenTransaction};
use thalweg_log::{AppendOrigin, TransactionCheck, VerificationGuard};
use thalweg_transactions::{
    AddPartitions, TransactionRequest, TransactionVersion, VerifyPartitions,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::TxnOffsetCommitRequest;
use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use thalweg_wire::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};

use super::network::{Asker, Message, Sender, Write, Written};
use super::{GROUP, INPUT, Simulation, id_name, named};

/// Something in a log.
pub struct Entry {
    pub base: i64,
    pub end: i64,
    pub producer: Option<(i64, i16)>,
    pub content: Content,
}

pub enum Content {
    Value(u64),
    Marker(TransactionEnd),
    Records(Vec<KeyValue>),
}

/// Who hears when something is committed.
#[derive(Clone, Copy, Debug)]
enum Waiter {
    Client(Asker),
    Coordinator(Sender),
}

/// A write whose transaction's coordinator is asked.
struct Asking {
    write: Write,
    guard: Option<VerificationGuard>,
}

/// The group coordinator.
struct GroupProcess {
    runner: Runner<GroupShard, TransactionCheck>,
    is_loading: bool,
    asked: BTreeMap<Token, Waiter>,
}

/// A partition.
#[derive(Default)]
pub struct Partition {
    pub log: MemoryLog,
    pub entries: Vec<Entry>,
    pub leader_epoch: i32,
    has_leader: bool,
    /// What no election takes away.
    pub committed: i64,
    asking: BTreeMap<u64, Asking>,
    next_question: u64,
    waiting: Vec<(i64, Waiter)>,
    /// Where a consumer of committed transactions is.
    pub position: i64,
    /// The last stable offset as it was last seen in a leader's epoch.
    pub stable: (i32, i64),
    group: Option<Box<GroupProcess>>,
}

fn group_process() -> Box<GroupProcess> {
    static CONFIG: OnceLock<Arc<GroupConfig>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        // Offsets are there for as long as a life.
        Arc::new(GroupConfig { offsets_retention_ms: i64::MAX / 4, ..GroupConfig::default() })
    });
    let shard = GroupShard::new(Arc::clone(config));
    let runner = Runner::with_proofs(shard, RunnerConfig::default());
    Box::new(GroupProcess { runner, is_loading: true, asked: BTreeMap::new() })
}

impl Partition {
    pub fn new(has_group: bool) -> Partition {
        let group = has_group.then(group_process);
        Partition { has_leader: !has_group, group, ..Partition::default() }
    }

    fn boundary(&self, upto: i64) -> usize {
        self.entries.partition_point(|entry| entry.end <= upto)
    }

    fn end_of(&self, entries: usize) -> i64 {
        entries.checked_sub(1).map_or(0, |last| self.entries[last].end)
    }

    fn push(&mut self, base: i64, producer: Option<(i64, i16)>, content: Content) {
        let end = self.log.log_end_offset();
        self.entries.push(Entry { base, end, producer, content });
    }

    fn append_marker(&mut self, end: &TransactionEnd) -> Result<i64, ErrorCode> {
        let producer = (end.producer.id, end.producer.epoch);
        let batch = BatchSpec::marker(0, producer.0, producer.1, end.coordinator_epoch, end.commit);
        let (origin, check) = (AppendOrigin::Coordinator, TransactionCheck::Waived);
        let taken = self.log.append(batch, origin, check, end.transaction_version)?;
        self.push(taken.base_offset, Some(producer), Content::Marker(*end));
        Ok(taken.base_offset)
    }

    /// Whether nothing is left to be done.
    pub fn is_idle(&self) -> bool {
        let log = &self.log;
        self.has_leader
            && log.high_watermark() == log.log_end_offset()
            && self.asking.is_empty()
            && self.waiting.is_empty()
            && self.group.as_ref().is_none_or(|group| group.asked.is_empty())
    }

    /// Offsets of transactions that have not ended.
    pub fn pending_offsets(&self) -> usize {
        self.group.as_ref().map_or(0, |group| group.runner.shard().logged().pending().count())
    }
}

impl Simulation {
    /// A client has something written.
    pub fn write(&mut self, write: Write) {
        let (p, wall_ms) = (write.partition, self.now().wall_ms);
        let partition = &mut self.partitions[p];
        if !partition.has_leader {
            return self
                .answer_write(write.from, refused(&write, ErrorCode::NOT_LEADER_OR_FOLLOWER));
        }
        if !self.verifies {
            return self.take(write, TransactionCheck::Waived);
        }
        let sequence = match write.what {
            Written::Batch { sequence, .. } => sequence,
            Written::Offset(_) => -1,
        };
        let (id, epoch) = (write.producer.id, write.producer.epoch);
        match partition.log.begin_verification(id, epoch, sequence, write.is_v2, wall_ms) {
            Err(code) => self.answer_write(write.from, code),
            Ok(None) => self.take(write, TransactionCheck::Guarded(None)),
            Ok(guard) => {
                partition.next_question += 1;
                let question = partition.next_question;
                partition.asking.insert(question, Asking { write, guard });
                let (transactional_id, producer) = (id_name(write.id), write.producer);
                let partitions = [named(p)].into_iter().collect();
                let request = match write.is_v2 {
                    true => TransactionRequest::Add(AddPartitions {
                        transactional_id,
                        producer,
                        partitions,
                        client_version: TransactionVersion::V2,
                        is_of_broker: true,
                    }),
                    false => TransactionRequest::Verify(VerifyPartitions {
                        transactional_id,
                        producer,
                        partitions,
                    }),
                };
                let (id, is_v2) = (write.id, write.is_v2);
                self.send(Message::Question { partition: p, question, id, is_v2, request });
            }
        }
    }

    /// The transaction's coordinator has answered.
    pub fn verdict(&mut self, p: usize, question: u64, code: ErrorCode) {
        let Some(Asking { write, guard }) = self.partitions[p].asking.remove(&question) else {
            return;
        };
        match code {
            ErrorCode::NONE if self.is_late(&write) => {}
            ErrorCode::NONE => self.take(write, TransactionCheck::Guarded(guard)),
            ErrorCode::PRODUCER_FENCED => {
                self.answer_write(write.from, ErrorCode::INVALID_PRODUCER_EPOCH);
            }
            code => self.answer_write(write.from, code),
        }
    }

    /// A leader gives up a question.
    pub fn give_up_question(&mut self, p: usize) {
        if let Some((_, asking)) = self.partitions[p].asking.pop_first() {
            self.answer_write(asking.write.from, ErrorCode::NOT_ENOUGH_REPLICAS);
        }
    }

    /// Writes something whose transaction is open, as far as the leader knows.
    fn take(&mut self, write: Write, check: TransactionCheck) {
        match write.what {
            Written::Batch { sequence, value } => {
                let partition = &mut self.partitions[write.partition];
                let producer = (write.producer.id, write.producer.epoch);
                let batch =
                    BatchSpec::new(0, 1).producer(producer.0, producer.1, sequence).transactional();
                match partition.log.append(batch, AppendOrigin::Client, check, 0) {
                    Err(code) => self.answer_write(write.from, code),
                    Ok(taken) => {
                        if !taken.is_duplicate {
                            partition.push(
                                taken.base_offset,
                                Some(producer),
                                Content::Value(value),
                            );
                        }
                        partition.waiting.push((taken.end_offset, Waiter::Client(write.from)));
                        self.appended(write.partition);
                    }
                }
            }
            Written::Offset(offset) => {
                let request = GroupRequest::TxnOffsetCommit(TxnOffsetCommitRequest {
                    transactional_id: id_name(write.id),
                    group_id: GROUP.into(),
                    producer_id: write.producer.id,
                    producer_epoch: write.producer.epoch,
                    generation_id_or_member_epoch: -1,
                    topics: vec![TxnOffsetCommitRequestTopic {
                        name: INPUT.into(),
                        partitions: vec![TxnOffsetCommitRequestPartition {
                            partition_index: write.id as i32,
                            committed_offset: offset,
                            ..Default::default()
                        }],
                        ..Default::default()
                    }],
                    ..Default::default()
                });
                self.submit_to_group(
                    write.partition,
                    request,
                    Some(check),
                    Waiter::Client(write.from),
                );
            }
        }
    }

    fn submit_to_group(
        &mut self,
        p: usize,
        request: GroupRequest,
        check: Option<TransactionCheck>,
        waiter: Waiter,
    ) {
        let now = self.now();
        let group = self.partitions[p].group.as_mut().expect("groups live here");
        let submission = Submission { context: RequestContext::default(), request };
        let token = group.runner.submit_with_proof(submission, check, now);
        group.asked.insert(token, waiter);
        self.pump_group(p);
    }

    /// A coordinator has a marker written.
    pub fn marker(&mut self, from: Sender, p: usize, end: TransactionEnd) {
        let partition = &mut self.partitions[p];
        if !partition.has_leader {
            let code = ErrorCode::NOT_LEADER_OR_FOLLOWER;
            return self.send(Message::Marked { to: from, partition: p, code });
        }
        if partition.group.is_some() {
            let request = GroupRequest::CompleteTransaction(end);
            return self.submit_to_group(p, request, None, Waiter::Coordinator(from));
        }
        match partition.append_marker(&end) {
            Err(code) => self.send(Message::Marked { to: from, partition: p, code }),
            Ok(base) => {
                partition.waiting.push((base + 1, Waiter::Coordinator(from)));
                self.appended(p);
            }
        }
    }

    /// An administrator ends a transaction that hangs (`kafka-transactions.sh abort`).
    pub fn abort_by_hand(&mut self, p: usize, open: OpenTransaction) {
        let partition = &mut self.partitions[p];
        // As DescribeProducers says it.
        let markers = partition.entries.iter().filter_map(|entry| match &entry.content {
            Content::Marker(end) if end.producer.id == open.producer_id => Some(end),
            _ => None,
        });
        let coordinator_epoch = markers.map(|end| end.coordinator_epoch).max().unwrap_or(-1);
        let producer = Producer { id: open.producer_id, epoch: open.producer_epoch };
        let (transaction_version, commit) = (0, false);
        let end = TransactionEnd { producer, coordinator_epoch, transaction_version, commit };
        partition.append_marker(&end).expect("it is open");
        self.appended(p);
    }

    fn appended(&mut self, p: usize) {
        if self.is_healed || !self.random.chance(self.knobs.log_lags) {
            let end = self.partitions[p].log.log_end_offset();
            self.commit_partition(p, end);
        }
    }

    /// Replicas catch up.
    pub fn replicate(&mut self, p: usize) {
        let partition = &self.partitions[p];
        if !partition.has_leader {
            return self.take_over(p);
        }
        let (from, to) =
            (partition.boundary(partition.log.high_watermark()), partition.entries.len());
        let entries = if self.is_healed { to } else { self.random.between(from, to) };
        let to = self.partitions[p].end_of(entries);
        self.commit_partition(p, to);
        if self.partitions[p].group.is_some() {
            self.pump_group(p);
        }
    }

    fn commit_partition(&mut self, p: usize, to: i64) {
        let now = self.now();
        let partition = &mut self.partitions[p];
        partition.log.raise_high_watermark(to);
        let high_watermark = partition.log.high_watermark();
        partition.committed = partition.committed.max(high_watermark);
        if let Some(group) = &mut partition.group {
            group.runner.high_watermark(high_watermark, now);
        }
        let done: Vec<Waiter> = partition
            .waiting
            .extract_if(.., |(required, _)| *required <= high_watermark)
            .map(|(_, waiter)| waiter)
            .collect();
        for waiter in done {
            self.tell(waiter, p, ErrorCode::NONE);
        }
        self.check_reader(p);
    }

    fn tell(&mut self, waiter: Waiter, partition: usize, code: ErrorCode) {
        match waiter {
            Waiter::Client(from) => self.answer_write(from, code),
            Waiter::Coordinator(to) => self.send(Message::Marked { to, partition, code }),
        }
    }

    /// The group coordinator's records are written, as far as the log keeps up, and its answers sent.
    pub fn pump_group(&mut self, p: usize) {
        let keeps_up = self.is_healed || !self.random.chance(self.knobs.log_lags);
        while keeps_up && self.append_of_group(p) {}
        if keeps_up && (self.is_healed || !self.random.chance(self.knobs.log_lags)) {
            let end = self.partitions[p].log.log_end_offset();
            self.commit_partition(p, end);
        }
        self.take_group_answers(p);
    }

    fn append_of_group(&mut self, p: usize) -> bool {
        let now = self.now();
        let fails = !self.is_healed && self.random.chance(self.knobs.log_fails);
        let partition = &mut self.partitions[p];
        let group = partition.group.as_mut().expect("groups live here");
        let Some(append) = group.runner.poll_append() else { return false };
        if fails {
            let kind = append.kind;
            group.runner.append_failed(append.id, ErrorCode::NOT_ENOUGH_REPLICAS, now);
            self.note(|_| format!("group append {kind:?} fails"));
            return true;
        }
        let count = append.records.len() as i32;
        let own = BatchSpec::new(0, count);
        let origin = AppendOrigin::Coordinator;
        let encode = |record: &GroupRecord| record.encode().expect("it can be written");
        let records = || Content::Records(append.records.iter().map(encode).collect());
        let written = match append.kind {
            AppendKind::Marker(end) => partition.append_marker(&end),
            AppendKind::Own { .. } => {
                let taken = partition.log.append(own, origin, TransactionCheck::Waived, 0);
                taken.map(|taken| {
                    partition.push(taken.base_offset, None, records());
                    taken.base_offset
                })
            }
            AppendKind::Transactional(producer) => {
                // Where nothing is shown, nothing was verified.
                let check = append.proof.unwrap_or(TransactionCheck::Guarded(None));
                let producer = (producer.id, producer.epoch);
                let batch = own.producer(producer.0, producer.1, 0).transactional();
                partition.log.append(batch, origin, check, 0).map(|taken| {
                    partition.push(taken.base_offset, Some(producer), records());
                    taken.base_offset
                })
            }
        };
        self.note(|_| format!("group append {:?} {:?}: {written:?}", append.kind, append.records));
        let group = self.partitions[p].group.as_mut().expect("groups live here");
        match written {
            Ok(base) => group.runner.appended(append.id, base).expect("nobody else appends"),
            Err(code) => group.runner.append_failed(append.id, code, now),
        }
        true
    }

    fn take_group_answers(&mut self, p: usize) {
        loop {
            let group = self.partitions[p].group.as_mut().expect("groups live here");
            let Some((token, response)) = group.runner.poll_answer() else { return };
            let waiter = group.asked.remove(&token);
            let code = match response {
                GroupResponse::TxnOffsetCommit(response) => {
                    response.topics[0].partitions[0].error_code
                }
                GroupResponse::CompleteTransaction(code) => match code {
                    ErrorCode::COORDINATOR_NOT_AVAILABLE
                    | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
                    | ErrorCode::NOT_COORDINATOR => ErrorCode::NOT_LEADER_OR_FOLLOWER,
                    code => code,
                },
                // Nobody waits for what a test asks.
                _ => continue,
            };
            self.tell(waiter.expect("it was asked once"), p, code);
        }
    }

    /// What is committed of an id's offsets, as a consumer hears it; `None` where it has to ask again.
    pub fn committed_offset(&mut self, id: usize, is_stable: bool) -> Option<i64> {
        let (p, now) = (self.partitions.len() - 1, self.now());
        let group = self.partitions[p].group.as_mut().expect("groups live here");
        if group.is_loading {
            return None;
        }
        let request = GroupRequest::OffsetFetch {
            group: OffsetFetchRequestGroup {
                group_id: GROUP.into(),
                topics: Some(vec![OffsetFetchRequestTopics {
                    name: INPUT.into(),
                    partition_indexes: vec![id as i32],
                    ..Default::default()
                }]),
                ..Default::default()
            },
            require_stable: is_stable,
        };
        let submission = Submission { context: RequestContext::default(), request };
        let token = group.runner.submit_with_proof(submission, None, now);
        let (answered, response) = group.runner.poll_answer()?;
        assert_eq!(answered, token, "nothing else is answered by a question");
        let GroupResponse::OffsetFetch(response) = response else { panic!("{response:?}") };
        let of = &response.topics.first()?.partitions[0];
        of.error_code.is_ok().then_some(of.committed_offset)
    }

    /// Another broker is to lead: it has what is committed, and some of the rest.
    pub fn change_leader(&mut self, p: usize) {
        self.counts.leader_changes += 1;
        let partition = &self.partitions[p];
        let committed = partition.boundary(partition.committed);
        let entries = self.random.between(committed, partition.entries.len());
        let known = self.random.between(0, committed);
        let partition = &mut self.partitions[p];
        let (end, high_watermark) = (partition.end_of(entries), partition.end_of(known));
        partition.entries.truncate(entries);
        partition.log.replicate(end, high_watermark);
        partition.leader_epoch += 1;
        partition.has_leader = false;
        let asking = std::mem::take(&mut partition.asking);
        let waiting = std::mem::take(&mut partition.waiting);
        self.note(|it| {
            let epoch = it.partitions[p].leader_epoch;
            format!("partition {p} is led in {epoch}, cut to {end}, knows {high_watermark}")
        });
        let hears = self.random.chance(50);
        if hears {
            for asking in asking.into_values() {
                self.answer_write(asking.write.from, ErrorCode::NOT_LEADER_OR_FOLLOWER);
            }
            for (_, waiter) in waiting {
                self.tell(waiter, p, ErrorCode::NOT_LEADER_OR_FOLLOWER);
            }
        }
        if let Some(group) = &mut self.partitions[p].group {
            group.runner.close(ErrorCode::NOT_COORDINATOR);
            self.take_group_answers(p);
            self.partitions[p].group = Some(group_process());
        }
    }

    /// A leader has begun to lead.
    pub fn take_over(&mut self, p: usize) {
        let now = self.now();
        let partition = &mut self.partitions[p];
        partition.has_leader = true;
        let Some(group) = &mut partition.group else { return };
        if !group.is_loading {
            return;
        }
        group.is_loading = false;
        for Entry { base, producer, content, .. } in &partition.entries {
            match content {
                Content::Value(_) => {}
                Content::Marker(end) => {
                    group.runner.load_marker(*base, end.producer.id, end.commit);
                }
                Content::Records(records) => {
                    for (offset, KeyValue { key, value }) in (*base..).zip(records) {
                        let record = GroupRecord::decode(key, value.as_deref());
                        let record = record.expect("it can be read").expect("it is known");
                        let producer_id = producer.map(|(id, _)| id);
                        group.runner.load_record(Position { offset, producer_id }, now, &record);
                    }
                }
            }
        }
        let (end, high_watermark) =
            (partition.log.log_end_offset(), partition.log.high_watermark());
        group.runner.load_finished(end, high_watermark, now);
        self.pump_group(p);
    }

    /// Timers fire.
    pub fn advance_groups(&mut self) {
        let (p, now) = (self.partitions.len() - 1, self.now());
        let group = self.partitions[p].group.as_mut().expect("groups live here");
        if group.runner.wake_at_ms().is_some_and(|at| at <= now.monotonic_ms) {
            group.runner.advance(now);
            self.pump_group(p);
        }
    }
}

/// What a client is told of a partition that nobody leads, in the words of whom it asks.
fn refused(write: &Write, code: ErrorCode) -> ErrorCode {
    match write.what {
        Written::Batch { .. } => code,
        Written::Offset(_) => ErrorCode::NOT_COORDINATOR,
    }
}
