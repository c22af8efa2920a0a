//! The same operations on Kafka's own transaction coordinator, in lock step.
//!
//! `oracle/TransactionOracle.java` runs Kafka's coordinator, its state manager and its sender of markers on a log and a
//! clock in memory.
//!
//! Needs Java 17 and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the variable the tests say
//! that they were skipped; with it, whatever goes wrong fails them. `THALWEG_SEED_BASE` and `THALWEG_ORACLE_CASES` choose
//! the random operations.

use std::collections::BTreeMap;

use thalweg_coordinator::LogEntry;
use thalweg_random::seeds::oracle_seeds;
use thalweg_transactions::TransactionVersion;
use thalweg_wire::ErrorCode;

use crate::lock_step::generator::Generator;
use crate::lock_step::kafka::Kafka;
use crate::lock_step::{Difference, Op, Pair};
use crate::world::{self, FIRST_PRODUCER_ID};

/// So many operations of a seed.
const STEPS: usize = 150;
/// So many attempts are made to leave out operations of one that fails.
const ATTEMPTS_MAX: usize = 400;

/// What a sequence of operations begins with.
#[derive(Clone)]
struct Setting {
    version: TransactionVersion,
    two_phase_commit: bool,
    log: Vec<LogEntry>,
}

impl Setting {
    fn pair<'k>(&self, kafka: &'k mut Kafka) -> Pair<'k> {
        Pair::new(kafka, self.version, self.two_phase_commit, self.log.clone())
    }

    /// The difference that operations come to, and after how many of them.
    fn replay(&self, kafka: &mut Kafka, ops: &[Op]) -> Option<(usize, String)> {
        let mut pair = self.pair(kafka);
        ops.iter().enumerate().find_map(|(at, op)| Some((at + 1, pair.run(op).err()?)))
    }

    /// As few operations as are found that still come to a difference.
    fn shrink(&self, kafka: &mut Kafka, mut ops: Vec<Op>, mut what: String) -> (Vec<Op>, String) {
        let mut attempts = 0;
        let like = what.clone();
        let mut size = ops.len();
        while size > 0 && attempts < ATTEMPTS_MAX {
            let mut at = 0;
            while at < ops.len() && attempts < ATTEMPTS_MAX {
                attempts += 1;
                let end = ops.len().min(at + size);
                let without = [&ops[..at], &ops[end..]].concat();
                match self.replay(kafka, &without) {
                    Some((count, difference)) if is_like(&difference, &like) => {
                        ops = without[..count].to_vec();
                        what = difference;
                    }
                    _ => at = end,
                }
            }
            size /= 2;
        }
        (ops, what)
    }
}

/// Whether it is the same that is said of both sides, whoever asked.
fn is_like(one: &str, other: &str) -> bool {
    one.lines().skip(1).eq(other.lines().skip(1))
}

#[test]
fn random_operations_come_out_as_in_kafka() {
    let Some(mut kafka) = Kafka::start() else { return };
    let mut differences: BTreeMap<Difference, u64> = BTreeMap::new();
    let mut answers: BTreeMap<String, u64> = BTreeMap::new();
    let seeds = oracle_seeds(60);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let mut generator = Generator::new(seed);
        let log = generator.log();
        let (version, two_phase_commit) = (generator.version, generator.two_phase_commit);
        let setting = Setting { version, two_phase_commit, log };
        let mut pair = setting.pair(&mut kafka);
        let mut ops = Vec::new();
        for _ in 0..STEPS {
            let op = generator.next(&mut pair);
            ops.push(op.clone());
            let Err(what) = pair.run(&op) else { continue };
            eprintln!("seed {seed}, after {} operations: {what}", ops.len());
            let (ops, what) = setting.shrink(pair.into_kafka(), ops, what);
            eprintln!("{:?}, two-phase {}", setting.version, setting.two_phase_commit);
            setting.log.iter().for_each(|one| eprintln!("{:?}", crate::world::record(one)));
            ops.iter().for_each(|op| eprintln!("> {op:?}"));
            panic!("seed {seed}: {what}");
        }
        for (difference, count) in std::mem::take(&mut pair.differences) {
            *differences.entry(difference).or_default() += count;
        }
        for (answer, count) in std::mem::take(&mut pair.answers) {
            *answers.entry(answer).or_default() += count;
        }
        // Each loads what the other has written, and has the same in it.
        let logs = pair.logs().unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        for log in logs {
            let setting = Setting { version: generator.version, log, ..setting.clone() };
            let loaded = setting.pair(&mut kafka).check_loaded();
            loaded.unwrap_or_else(|what| panic!("seed {seed}, loaded: {what}"));
        }
    }
    eprintln!("{differences:#?}\n{answers:#?}");
    kafka.end();
    for answer in ["init fine", "add NONE", "end fine", "end CONCURRENT_TRANSACTIONS"] {
        let count = answers.get(answer).copied().unwrap_or_default();
        assert!(count >= cases, "{count} times {answer:?} in {cases} lives");
    }
}

/// Kafka throws when the first of two completions fails, and does not try the second.
#[test]
fn lost_completions_leave_no_failure_for_later_appends() {
    let Some(mut kafka) = Kafka::start() else { return };
    let version = TransactionVersion::V2;
    let setting = Setting { version, two_phase_commit: false, log: Vec::new() };
    let mut ops = committing(&[("a", "t-0"), ("b", "t-0")]);
    ops.push(Op::Send);
    ops.extend([ErrorCode::MESSAGE_TOO_LARGE, ErrorCode::CORRUPT_MESSAGE].map(Op::Fail));
    ops.push(Op::AnswerMarkers(0, Some([ErrorCode::NONE; 3])));
    ops.push(Op::Ask(world::init("c")));
    let mut pair = setting.pair(&mut kafka);
    for op in &ops {
        pair.run(op).unwrap_or_else(|what| panic!("{op:?}: {what}"));
    }
    assert_eq!(pair.differences.get(&Difference::CompletionLost), Some(&1));
    kafka.end();
}

/// Completions that failed together are written again together, and Kafka's order is its own.
#[test]
fn completions_that_are_written_again_come_in_any_order() {
    let Some(mut kafka) = Kafka::start() else { return };
    let version = TransactionVersion::V2;
    let setting = Setting { version, two_phase_commit: false, log: Vec::new() };
    let mut ops = committing(&[("a", "t-0"), ("b", "t-1")]);
    ops.extend([Op::Send, Op::Hold { written: false }]);
    ops.extend([1, 0].map(|at| Op::AnswerMarkers(at, Some([ErrorCode::NONE; 3]))));
    ops.push(Op::ReleaseFailed(ErrorCode::REQUEST_TIMED_OUT));
    ops.extend([Op::Hold { written: true }, Op::Send, Op::Release(Some(1))]);
    let mut pair = setting.pair(&mut kafka);
    for op in &ops {
        pair.run(op).unwrap_or_else(|what| panic!("{op:?}: {what}"));
    }
    assert!(pair.held().is_none(), "all are committed at once");
    kafka.end();
}

/// Transactions with one partition each, which are decided.
fn committing(transactions: &[(&str, &str)]) -> Vec<Op> {
    let mut ops = Vec::new();
    for ((id, partition), producer_id) in transactions.iter().zip(FIRST_PRODUCER_ID..) {
        let producer = (producer_id, 0);
        ops.push(Op::Ask(world::init(id)));
        ops.push(Op::Ask(world::add(id, producer, partition)));
        ops.push(Op::Ask(world::end(id, producer, true)));
    }
    ops
}
