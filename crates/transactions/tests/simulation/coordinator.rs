//! Partitions of `__transaction_state`, the coordinators that lead them, and those that do not know yet that they do not
//! any more. A marker is sent again until it is there, by the rules of the broker's `transactions/markers.rs`.

use std::collections::BTreeMap;

use thalweg_coordinator::{
    CoordinatorRecord as _, KeyValue, Now, Position, Producer, Runner, RunnerConfig, Token,
    TransactionEnd,
};
use thalweg_transactions::{
    ProducerIdSource, TransactionEvent, TransactionRecord, TransactionRequest, TransactionResponse,
    TransactionShard, WriteMarkers,
};
use thalweg_wire::ErrorCode;

use super::network::{Answer, Asker, Message, Sender};
use super::{Simulation, named, numbered};

/// Errors of a log that may go again.
const FAILURES: [ErrorCode; 3] = [
    ErrorCode::NOT_ENOUGH_REPLICAS,
    ErrorCode::MESSAGE_TOO_LARGE,
    ErrorCode::NOT_LEADER_OR_FOLLOWER,
];

/// So many times a coordinator looks for timers that are due.
const TIMERS_MAX: usize = 8;

/// Who waits for an answer.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Client(Asker),
    Leader { partition: usize, question: u64 },
    Nobody,
}

/// Markers that are to be written.
struct Decision {
    marker: WriteMarkers,
    left: Vec<usize>,
}

/// A process that coordinates, or takes itself for a coordinator.
pub struct Process {
    runner: Runner<TransactionShard>,
    serial: u64,
    epoch: i32,
    log: Vec<KeyValue>,
    /// What it knows to be committed.
    committed: usize,
    is_loading: bool,
    asked: BTreeMap<Token, Asked>,
    decisions: BTreeMap<u64, Decision>,
    next_decision: u64,
}

/// A partition of the topic.
pub struct TransactionLog {
    /// Not there while it has its turn.
    leader: Option<Box<Process>>,
    /// The leader before, which has not heard that it is none.
    zombie: Option<Box<Process>>,
    /// What no election takes away.
    committed: usize,
}

impl TransactionLog {
    fn leader(&mut self) -> &mut Process {
        self.leader.as_mut().expect("one at a time has a turn")
    }
}

impl Simulation {
    fn process(&mut self, log: Vec<KeyValue>, epoch: i32, committed: usize) -> Box<Process> {
        self.serial += 1;
        let shard =
            TransactionShard::new(self.config.clone(), ProducerIdSource(self.ids.clone() as _));
        Box::new(Process {
            runner: Runner::new(shard, RunnerConfig::default()),
            serial: self.serial,
            epoch,
            log,
            committed,
            is_loading: true,
            asked: BTreeMap::new(),
            decisions: BTreeMap::new(),
            next_decision: 0,
        })
    }

    /// A partition whose log begins with these records.
    pub fn add_transaction_log(&mut self, log: Vec<KeyValue>) {
        let (at, committed) = (self.logs.len(), log.len());
        for record in &log {
            self.ledger.record(record);
        }
        let leader = self.process(log, 1, committed);
        self.logs.push(TransactionLog { leader: Some(leader), zombie: None, committed });
        self.load(at);
    }

    pub fn log_of(&self, id: usize) -> usize {
        id % self.logs.len()
    }

    /// A leader has read the log.
    pub fn load(&mut self, at: usize) {
        let now = self.now();
        let leader = self.logs[at].leader();
        if !leader.is_loading {
            return;
        }
        leader.is_loading = false;
        for (offset, KeyValue { key, value }) in (0..).zip(&leader.log) {
            let record = TransactionRecord::decode(key, value.as_deref());
            let record = record.expect("it can be read").expect("it is known");
            leader.runner.load_record(Position { offset, producer_id: None }, now, &record);
        }
        let (end, committed) = (leader.log.len() as i64, leader.committed as i64);
        leader.runner.load_finished(end, committed, now);
        self.configure(at);
        self.pump(at);
    }

    /// A coordinator hears of the settings.
    pub fn configure(&mut self, at: usize) {
        let now = self.now();
        let event = TransactionEvent::Configured(self.config.clone());
        self.logs[at].leader().runner.event(event, now);
        self.pump(at);
    }

    /// Another broker is elected: it has what is committed, and some of the rest.
    pub fn fail_over(&mut self, at: usize) {
        self.counts.coordinator_moves += 1;
        let committed = self.logs[at].committed;
        let last = self.logs[at].leader.take().expect("one at a time has a turn");
        let end = last.log.len();
        let cut = self.random.between(committed, end);
        let known = self.random.between(0, committed);
        let epoch = last.epoch + 1;
        self.note(|_| {
            format!(
                "log {at} is led in {epoch}, cut from {end} to {cut}, knows {known} of {committed}"
            )
        });
        let next = self.process(last.log[..cut].to_vec(), epoch, known);
        self.logs[at].leader = Some(next);
        let mut last = last;
        if let Some(mut zombie) = self.logs[at].zombie.take() {
            self.close(&mut zombie);
        }
        if !last.is_loading && self.random.chance(40) {
            self.logs[at].zombie = Some(last);
        } else {
            self.close(&mut last);
        }
    }

    /// The same broker is elected again.
    pub fn elect_again(&mut self, at: usize) {
        self.counts.coordinator_moves += 1;
        self.logs[at].leader().epoch += 1;
    }

    /// A broker hears that it does not lead any more.
    pub fn end_zombie(&mut self, at: usize) {
        if let Some(mut zombie) = self.logs[at].zombie.take() {
            self.close(&mut zombie);
        }
    }

    fn close(&mut self, process: &mut Process) {
        process.runner.close(ErrorCode::NOT_COORDINATOR);
        self.take_answers(process);
    }

    pub fn coordinate(
        &mut self,
        from: Option<Asker>,
        id: usize,
        is_v2: bool,
        request: TransactionRequest,
    ) {
        self.submit(id, is_v2, request, from.map_or(Asked::Nobody, Asked::Client));
    }

    pub fn question(
        &mut self,
        partition: usize,
        question: u64,
        id: usize,
        is_v2: bool,
        request: TransactionRequest,
    ) {
        self.submit(id, is_v2, request, Asked::Leader { partition, question });
    }

    fn submit(&mut self, id: usize, is_v2: bool, request: TransactionRequest, asked: Asked) {
        let (at, now) = (self.log_of(id), self.now());
        // Where transactions share an epoch, what an earlier coordinator says of one is taken for the answer about another.
        if is_v2 && self.logs[at].zombie.is_some() && self.random.chance(30) {
            let mut zombie = self.logs[at].zombie.take().expect("it is there");
            let token = zombie.runner.submit(request, now);
            zombie.asked.insert(token, asked);
            self.append_all(&mut zombie);
            self.take_answers(&mut zombie);
            self.logs[at].zombie = Some(zombie);
            return;
        }
        let leader = self.logs[at].leader();
        let token = leader.runner.submit(request, now);
        leader.asked.insert(token, asked);
        self.pump(at);
    }

    /// Writes and commits what there is to write, as far as the log keeps up.
    pub fn pump(&mut self, at: usize) {
        let mut leader = self.logs[at].leader.take().expect("one at a time has a turn");
        let keeps_up = self.is_healed || !self.random.chance(self.knobs.log_lags);
        if keeps_up {
            loop {
                self.append_all(&mut leader);
                let end = leader.log.len();
                let is_behind = !self.is_healed && self.random.chance(self.knobs.log_lags);
                let to = if is_behind { self.random.between(leader.committed, end) } else { end };
                self.commit(at, &mut leader, to);
                if is_behind || leader.runner.queued_appends() == 0 {
                    break;
                }
            }
        }
        self.take_answers(&mut leader);
        self.take_effects(&mut leader);
        self.logs[at].leader = Some(leader);
    }

    fn append_all(&mut self, process: &mut Process) {
        let now = self.now();
        while let Some(append) = process.runner.poll_append() {
            if !self.is_healed && self.random.chance(self.knobs.log_fails) {
                let code = *self.random.pick(&FAILURES);
                self.note(|_| format!("append {:?} fails: {code}", append.records));
                process.runner.append_failed(append.id, code, now);
                continue;
            }
            self.note(|_| format!("append {:?} at {}", append.records, append.base_offset));
            let records = append.records.iter().map(|it| it.encode().expect("it can be written"));
            process.log.extend(records);
            process.runner.appended(append.id, append.base_offset).expect("nobody else appends");
        }
    }

    fn commit(&mut self, at: usize, leader: &mut Process, to: usize) {
        leader.committed = leader.committed.max(to);
        let before = self.logs[at].committed;
        for record in leader.log.get(before..leader.committed).unwrap_or_default() {
            self.ledger.record(record);
        }
        self.logs[at].committed = before.max(leader.committed);
        let now = self.now();
        leader.runner.high_watermark(leader.committed as i64, now);
    }

    fn take_answers(&mut self, process: &mut Process) {
        let mut answers: Vec<_> = std::iter::from_fn(|| process.runner.poll_answer()).collect();
        answers.sort_by_key(|(token, _)| *token);
        for (token, response) in answers {
            match process.asked.remove(&token).expect("it was asked once") {
                Asked::Nobody => {}
                Asked::Client(to) => {
                    self.send(Message::Answer { to, answer: Answer::Coordinated(response) });
                }
                Asked::Leader { partition, question } => {
                    let code = match response {
                        TransactionResponse::Verify(Ok(of)) => of[0].2,
                        TransactionResponse::Add(Ok(())) => ErrorCode::NONE,
                        TransactionResponse::Verify(Err(code))
                        | TransactionResponse::Add(Err(code)) => code,
                        other => panic!("{other:?} is no answer to a leader"),
                    };
                    self.send(Message::Verdict { partition, question, code });
                }
            }
        }
    }

    fn take_effects(&mut self, leader: &mut Process) {
        let now = self.now();
        let mut effects: Vec<_> = std::iter::from_fn(|| leader.runner.poll_effect()).collect();
        effects.sort_by(|a, b| a.transactional_id.cmp(&b.transactional_id));
        for marker in effects {
            let left: Vec<usize> =
                marker.partitions.iter().map(|(topic, index)| numbered(topic, index)).collect();
            if left.is_empty() {
                written(leader, &marker, None, now);
                // What follows from it comes with the next turn of this coordinator.
                continue;
            }
            leader.next_decision += 1;
            leader.decisions.insert(leader.next_decision, Decision { marker, left });
            let decision = leader.next_decision;
            self.send_markers(leader, decision);
        }
    }

    fn send_markers(&mut self, process: &Process, decision: u64) {
        let Some(Decision { marker, left }) = process.decisions.get(&decision) else { return };
        let log = self.log_of(super::id_number(&marker.transactional_id));
        let coordinator_epoch = process.epoch;
        let end = TransactionEnd {
            producer: Producer { id: marker.producer.id, epoch: marker.producer.epoch },
            coordinator_epoch,
            transaction_version: marker.client_version.level(),
            commit: marker.commit,
        };
        let from = Sender { log, process: process.serial, decision, coordinator_epoch };
        for &partition in left {
            self.send(Message::Marker { from, partition, end });
        }
    }

    /// A coordinator, or one that was one, sends what has not been written.
    pub fn send_markers_again(&mut self, at: usize) {
        let is_zombie = self.logs[at].zombie.is_some() && self.random.chance(30);
        let log = &mut self.logs[at];
        let process = if is_zombie { log.zombie.take() } else { log.leader.take() };
        let process = process.expect("it is there");
        let decisions: Vec<u64> = process.decisions.keys().copied().collect();
        if !decisions.is_empty() {
            let decision = *self.random.pick(&decisions);
            self.send_markers(&process, decision);
        }
        match is_zombie {
            true => self.logs[at].zombie = Some(process),
            false => self.logs[at].leader = Some(process),
        }
    }

    /// Whether a coordinator has not heard yet that a marker is written. If it ends before it hears so, the next one has it
    /// written again, and what comes late is refused for the coordinator's epoch.
    pub fn is_marker_expected(&self, from: &Sender, partition: usize) -> bool {
        self.lets_late_through || !self.marked.contains(&(from.process, from.decision, partition))
    }

    pub fn marked(&mut self, to: Sender, partition: usize, code: ErrorCode) {
        let now = self.now();
        if code.is_ok() {
            self.marked.insert((to.process, to.decision, partition));
        }
        let leader = self.logs[to.log].leader();
        if leader.serial != to.process {
            // What zombies hear comes to nothing.
            return;
        }
        let Some(decision) = leader.decisions.get_mut(&to.decision) else { return };
        match code {
            ErrorCode::NONE | ErrorCode::INVALID_PRODUCER_EPOCH => {}
            ErrorCode::TRANSACTION_COORDINATOR_FENCED if to.coordinator_epoch < leader.epoch => {
                return;
            }
            ErrorCode::TRANSACTION_COORDINATOR_FENCED => panic!("the newest coordinator is fenced"),
            _ => return,
        }
        decision.left.retain(|left| *left != partition);
        let marker = decision.marker.clone();
        if decision.left.is_empty() {
            leader.decisions.remove(&to.decision);
        }
        written(leader, &marker, Some(partition), now);
        self.pump(to.log);
    }

    /// Timers fire.
    pub fn advance_coordinators(&mut self) {
        let now = self.now();
        for at in 0..self.logs.len() {
            // Timers wait for appends that are queued, and those may wait.
            for _ in 0..TIMERS_MAX {
                let runner = &mut self.logs[at].leader().runner;
                if runner.wake_at_ms().is_none_or(|at| at > now.monotonic_ms) {
                    break;
                }
                runner.advance(now);
                self.pump(at);
            }
        }
    }

    /// Whether nothing is left to be written of what was decided.
    pub fn are_coordinators_idle(&mut self) -> bool {
        self.logs.iter_mut().all(|log| {
            let committed = log.committed;
            let leader = log.leader();
            leader.decisions.is_empty() && committed == leader.log.len()
        })
    }
}

fn written(process: &mut Process, of: &WriteMarkers, partition: Option<usize>, now: Now) {
    let event = TransactionEvent::MarkersWritten {
        transactional_id: of.transactional_id.clone(),
        producer: of.producer,
        partitions: partition.map(named).into_iter().collect(),
    };
    process.runner.event(event, now);
}
