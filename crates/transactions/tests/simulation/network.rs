//! What is on its way between clients, coordinators and the leaders of partitions.

use thalweg_coordinator::TransactionEnd;
use thalweg_transactions::{Producer, TransactionRequest, TransactionResponse};
use thalweg_wire::ErrorCode;

use super::Simulation;

/// A request of a client. What is sent again has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    pub client: usize,
    pub request: u64,
}

/// A coordinator's process that has a marker written, and of which of its decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    pub log: usize,
    pub process: u64,
    pub decision: u64,
    pub coordinator_epoch: i32,
}

/// A batch of a transaction, or offsets of one.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    pub from: Asker,
    pub id: usize,
    pub partition: usize,
    pub producer: Producer,
    /// Whether it leaves adding the partition to its leader, and each of its transactions has an epoch of its own.
    pub is_v2: bool,
    pub what: Written,
}

/// What is written.
#[derive(Clone, Copy, Debug)]
pub enum Written {
    Batch { sequence: i32, value: u64 },
    Offset(i64),
}

/// A message.
#[derive(Clone, Debug)]
pub enum Message {
    /// To the coordinator of an id, from a client, or from an administrator who does not listen.
    Coordinate { from: Option<Asker>, id: usize, is_v2: bool, request: TransactionRequest },
    /// To the leader of a partition.
    Write(Write),
    /// To the coordinator of an id, from the leader of a partition that was asked to take something.
    Question {
        partition: usize,
        question: u64,
        id: usize,
        is_v2: bool,
        request: TransactionRequest,
    },
    /// Back.
    Verdict { partition: usize, question: u64, code: ErrorCode },
    /// To the leader of a partition, from a coordinator.
    Marker { from: Sender, partition: usize, end: TransactionEnd },
    /// Back.
    Marked { to: Sender, partition: usize, code: ErrorCode },
    /// To a client.
    Answer { to: Asker, answer: Answer },
}

/// What a client hears.
#[derive(Clone, Debug)]
pub enum Answer {
    Coordinated(TransactionResponse),
    Written(ErrorCode),
}

impl Simulation {
    pub fn send(&mut self, message: Message) {
        self.messages.push(message);
    }

    pub fn answer_write(&mut self, to: Asker, code: ErrorCode) {
        self.send(Message::Answer { to, answer: Answer::Written(code) });
    }

    /// Delivers any message.
    pub fn deliver(&mut self) {
        if !self.messages.is_empty() {
            let at = self.random.below(self.messages.len());
            let message = self.messages.swap_remove(at);
            self.deliver_one(message);
        }
    }

    pub fn deliver_one(&mut self, message: Message) {
        self.note(|_| format!("{message:?}"));
        match message {
            Message::Coordinate { from, id, is_v2, request } => {
                let protects_itself = match &request {
                    TransactionRequest::End(end) => end.client_version.bumps_epochs(),
                    _ => true,
                };
                if protects_itself || self.is_expected(from) {
                    self.coordinate(from, id, is_v2, request);
                }
            }
            Message::Write(write) => {
                if !self.is_late(&write) {
                    self.write(write);
                }
            }
            Message::Question { partition, question, id, is_v2, request } => {
                self.question(partition, question, id, is_v2, request);
            }
            Message::Verdict { partition, question, code } => {
                self.verdict(partition, question, code);
            }
            Message::Marker { from, partition, end } => {
                if end.transaction_version >= 2 || self.is_marker_expected(&from, partition) {
                    self.marker(from, partition, end);
                }
            }
            Message::Marked { to, partition, code } => self.marked(to, partition, code),
            Message::Answer { to, answer } => self.hear(to, answer),
        }
    }

    /// Whether something is written that may be of an earlier transaction than the one that is open. Sequence numbers tell it
    /// of batches, and epochs where each transaction has its own.
    pub fn is_late(&self, write: &Write) -> bool {
        let is_offset = matches!(write.what, Written::Offset(_));
        is_offset && !write.is_v2 && !self.is_expected(Some(write.from))
    }

    /// Whether a client still waits for the answer to a request. Before KIP-890's second part nothing but the end of the
    /// connection on which it was sent protects later transactions from an EndTxn, a TxnOffsetCommit or a marker that comes late
    /// (`scenarios.rs` shows it), so that this is taken for granted.
    fn is_expected(&self, from: Option<Asker>) -> bool {
        let waits = |from: Asker| self.clients[from.client].requests.contains_key(&from.request);
        self.lets_late_through || from.is_none_or(waits)
    }

    /// One message that will not arrive, arrives late, or twice.
    pub fn disturb(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let at = self.random.below(self.messages.len());
        match self.random.below(3) {
            0 => {
                self.counts.lost += 1;
                self.messages.swap_remove(at);
            }
            1 => {
                self.counts.delayed += 1;
                let message = self.messages.swap_remove(at);
                self.slow.push(message);
            }
            _ => {
                self.counts.duplicated += 1;
                let message = self.messages[at].clone();
                match self.random.chance(50) {
                    true => self.messages.push(message),
                    false => self.slow.push(message),
                }
            }
        }
    }

    /// One that was late arrives after all.
    pub fn bring_back(&mut self) {
        if !self.slow.is_empty() {
            let at = self.random.below(self.slow.len());
            let message = self.slow.swap_remove(at);
            self.deliver_one(message);
        }
    }
}
