//! Random operations that make sense often enough to get somewhere.

use std::collections::BTreeMap;

use thalweg_coordinator::LogEntry;
use thalweg_random::Random;
use thalweg_transactions::{
    AddPartitions, EndTransaction, InitProducerId, ListFilter, NO_PRODUCER_ID, Partitions,
    Producer, Transaction, TransactionRequest, TransactionResponse, TransactionState,
    TransactionVersion, VerifyPartitions,
};
use thalweg_wire::ErrorCode;

use super::{GONE, IDS, LED, Op, Pair};
use crate::world::{START, World, describe, entry};

/// Errors of a log, each at least once among those that coordinators tell apart.
const APPEND_ERRORS: [ErrorCode; 9] = [
    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode::NOT_ENOUGH_REPLICAS,
    ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode::REQUEST_TIMED_OUT,
    ErrorCode::NOT_LEADER_OR_FOLLOWER,
    ErrorCode::KAFKA_STORAGE_ERROR,
    ErrorCode::MESSAGE_TOO_LARGE,
    ErrorCode::RECORD_LIST_TOO_LARGE,
    ErrorCode::CORRUPT_MESSAGE,
];

/// What brokers say of markers.
const MARKER_ERRORS: [ErrorCode; 10] = [
    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode::NOT_LEADER_OR_FOLLOWER,
    ErrorCode::NOT_ENOUGH_REPLICAS,
    ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode::REQUEST_TIMED_OUT,
    ErrorCode::KAFKA_STORAGE_ERROR,
    ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT,
    ErrorCode::UNSUPPORTED_VERSION,
    ErrorCode::INVALID_PRODUCER_EPOCH,
    ErrorCode::TRANSACTION_COORDINATOR_FENCED,
];

const TIMEOUTS_MS: [i32; 3] = [60_000, 500, 5_000];

/// A stream of operations.
pub struct Generator {
    random: Random,
    /// The producers that each id had.
    known: BTreeMap<&'static str, Vec<Producer>>,
    /// What was asked before, to be asked again.
    asked: Vec<TransactionRequest>,
    /// What is finalized.
    pub version: TransactionVersion,
    /// Whether two-phase commit is enabled.
    pub two_phase_commit: bool,
}

impl Generator {
    /// Of a seed.
    pub fn new(seed: u64) -> Generator {
        let mut random = Random::new(seed);
        let version = [TransactionVersion::V0, TransactionVersion::V1, TransactionVersion::V2];
        Generator {
            version: version[[0, 1, 2, 2][random.below(4)]],
            two_phase_commit: random.chance(20),
            random,
            known: BTreeMap::new(),
            asked: Vec::new(),
        }
    }

    /// What stands in the log before: sometimes an id whose epochs are nearly used up.
    pub fn log(&mut self) -> Vec<LogEntry> {
        if self.random.chance(40) {
            return Vec::new();
        }
        let state = *self.random.pick(&TransactionState::ALL[..6]);
        let has_partitions = state == TransactionState::Ongoing || state.is_prepared();
        let is_v2 = self.version.bumps_epochs();
        let client_version = if is_v2 { TransactionVersion::V2 } else { TransactionVersion::V0 };
        // Epoch 32767 is that of a fence, or of the end of the last transaction.
        let epoch_max = if state.is_prepared() || state == TransactionState::CompleteAbort {
            i16::MAX
        } else {
            i16::MAX - 1
        };
        let producer_epoch = epoch_max - self.random.below(4) as i16;
        let rotates = is_v2 && state.is_prepared() && producer_epoch == i16::MAX;
        let transaction = Transaction {
            producer_id: 7,
            previous_producer_id: if self.version == TransactionVersion::V0 {
                NO_PRODUCER_ID
            } else {
                *self.random.pick(&[7, 7, 6])
            },
            next_producer_id: if rotates { 50 } else { NO_PRODUCER_ID },
            producer_epoch,
            last_producer_epoch: -1,
            timeout_ms: 60_000,
            state,
            partitions: if has_partitions { self.partitions() } else { Partitions::default() },
            start_ms: if state == TransactionState::Empty { -1 } else { START.wall_ms - 10 },
            last_update_ms: START.wall_ms - 5,
            client_version,
        };
        vec![entry("x", Some(transaction), self.version)]
    }

    fn partitions(&mut self) -> Partitions {
        let all = [(LED, 0), (LED, 1), (LED, 2), (GONE, 0)];
        let count = *self.random.pick(&[0, 1, 1, 1, 2, 2, 3]);
        (0..count).map(|_| *self.random.pick(&all)).collect()
    }

    fn client_version(&mut self) -> TransactionVersion {
        match self.version {
            TransactionVersion::V0 => TransactionVersion::V0,
            _ => match self.random.below(10) {
                0 => TransactionVersion::V1,
                1..4 => TransactionVersion::V0,
                _ => TransactionVersion::V2,
            },
        }
    }

    /// Mostly the producer that an id has, sometimes one that it had, or one a little off, or anybody.
    fn producer(&mut self, id: &'static str, world: &mut World) -> Producer {
        let known = self.known.entry(id).or_default();
        if let Ok(TransactionResponse::Describe(Ok(described))) = world.try_ask(describe(id))
            && known.last() != Some(&described.producer)
        {
            known.push(described.producer);
        }
        let current = known.last().copied().unwrap_or(Producer { id: 1000, epoch: 0 });
        match self.random.below(20) {
            0 => Producer { epoch: current.epoch.saturating_add(1), ..current },
            1 | 2 => Producer { epoch: (current.epoch - 1).max(0), ..current },
            3 if !known.is_empty() => *self.random.pick(&known[..]),
            4 => Producer { id: current.id + 1, ..current },
            5 => {
                let other = *self.random.pick(&IDS);
                let others = self.known.get(other).and_then(|all| all.last());
                others.copied().unwrap_or(current)
            }
            6 if id == "x" => Producer { id: 7, epoch: i16::MAX - 1 },
            _ => current,
        }
    }

    fn request(&mut self, world: &mut World) -> TransactionRequest {
        if self.random.chance(6) && !self.asked.is_empty() {
            return self.random.pick(&self.asked).clone();
        }
        let id = *self.random.pick(&IDS);
        let transactional_id = id.to_owned();
        match self.random.below(20) {
            0..4 => {
                let expected = self.random.chance(50).then(|| self.producer(id, world));
                let timeout_ms = match self.random.below(20) {
                    0 => *self.random.pick(&[0, -1, 900_000, 900_001, i32::MAX]),
                    _ => *self.random.pick(&TIMEOUTS_MS),
                };
                TransactionRequest::Init(InitProducerId {
                    transactional_id,
                    timeout_ms,
                    enable_2pc: self.random.chance(5),
                    keep_prepared: self.random.chance(2),
                    expected,
                })
            }
            4..11 => TransactionRequest::Add(AddPartitions {
                transactional_id,
                producer: self.producer(id, world),
                partitions: self.partitions(),
                client_version: self.client_version(),
                is_of_broker: false,
            }),
            11..13 => TransactionRequest::Verify(VerifyPartitions {
                transactional_id,
                producer: self.producer(id, world),
                // Of none nothing is said, whatever is wrong.
                partitions: [LED, GONE]
                    .map(|topic| (topic, self.random.below(2)))
                    .into_iter()
                    .collect(),
            }),
            13..19 => TransactionRequest::End(EndTransaction {
                transactional_id,
                producer: self.producer(id, world),
                commit: self.random.chance(60),
                client_version: self.client_version(),
            }),
            _ => {
                let states = TransactionState::ALL;
                TransactionRequest::List(ListFilter {
                    producer_ids: (0..self.random.below(3))
                        .map(|_| *self.random.pick(&[1000, 1001, 1002, 7]))
                        .collect(),
                    // Of no state is everything for Kafka.
                    states: self.random.chance(40).then(|| {
                        let count = 1 + self.random.below(3);
                        (0..count).map(|_| *self.random.pick(&states)).collect()
                    }),
                    duration_ms: *self.random.pick(&[-1, -1, 0, 100, 5_000]),
                })
            }
        }
    }

    /// The next operation.
    pub fn next(&mut self, pair: &mut Pair<'_>) -> Op {
        // What is under way is brought to an end often enough.
        if pair.has_queued() && self.random.chance(25) {
            return Op::Send;
        }
        if pair.sent() > 0 && self.random.chance(30) {
            let at = self.random.below(pair.sent());
            let mut said = || match self.random.below(10) {
                0 | 1 => *self.random.pick(&MARKER_ERRORS),
                _ => ErrorCode::NONE,
            };
            let errors = [said(), said(), said()];
            return Op::AnswerMarkers(at, self.random.chance(90).then_some(errors));
        }
        match pair.held() {
            Some(written) if self.random.chance(20) => match self.random.below(10) {
                0..3 => return Op::Release(Some(1 + self.random.below(2))),
                3 if written => return Op::TimeOut,
                3..7 if !written => {
                    return Op::ReleaseFailed(*self.random.pick(&APPEND_ERRORS[..6]));
                }
                4 => return Op::Reelect,
                _ => return Op::Release(None),
            },
            _ => {}
        }
        match self.random.below(100) {
            0..4 => Op::Tick(*self.random.pick(&[1, 10, 100])),
            4..7 if pair.held().is_none() => Op::Tick(*self.random.pick(&[1_000, 10_000, 100_000])),
            7 => Op::Age,
            8..12 => Op::Fail(*self.random.pick(&APPEND_ERRORS)),
            12..15 => Op::Hold { written: self.random.chance(60) },
            15..17 => Op::Reelect,
            17 => Op::ProducerIds(Some(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)),
            18..22 => Op::ProducerIds(None),
            22 if self.random.chance(30) => {
                let level = (self.version.level() + 1).min(2);
                self.version = TransactionVersion::from_level(level).expect("there are three");
                Op::Finalize(self.version)
            }
            23..27 => Op::AbortTimedOut,
            27..30 => Op::Expire,
            _ => {
                let request = self.request(&mut pair.world);
                self.asked.push(request.clone());
                Op::Ask(request)
            }
        }
    }
}
