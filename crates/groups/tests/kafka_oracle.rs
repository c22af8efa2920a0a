//! The same operations on Kafka's own group coordinator, in lock step.
//!
//! `oracle/GroupOracle.java` runs Kafka's service, runtime and shard on a log and a clock in memory.
//! After every operation the answers, the records written and the state of every group must agree:
//! for the transcripts under `scripts/`, and for random operations.
//!
//! Needs Java 17 and, in `THALWEG_KAFKA_JARS`, a directory with the jars of Kafka 4.4. Without the
//! variable the test says that it was skipped; with it, whatever goes wrong fails it.
//! `THALWEG_SEED_BASE` and `THALWEG_ORACLE_CASES` choose the random operations.

use crate::script;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::oracle::{self, Input, Output, Program};
use script::random::{Generator, Operations};
use script::random_consumer::ConsumerGenerator;
use script::transactions::WithProducers;
use script::{Names, World};
use thalweg_groups::GroupConfig;
use thalweg_random::seeds::oracle_seeds;
use thalweg_wire::messages::ConsumerProtocolAssignment;
use thalweg_wire::{Message as _, Reader};

/// Operations of the transcripts where we mean to differ, with the reason.
const DIFFERENCES: &[(&str, &str, &str)] = &[(
    "failures.txt",
    "join g=g v=4 c=a p=range:t1 s=60000",
    "Kafka hands out a member id before the group it is for is written, and it was not",
)];

/// Transcripts of what does not end in Kafka.
const NOT_FOR_KAFKA: &[&str] = &["static_members_without_timeout.txt"];

pub struct Kafka {
    input: Input,
    output: BufReader<Output>,
}

impl Kafka {
    pub fn start() -> Option<Kafka> {
        oracle::jars()?;
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/GroupOracle.java");
        let transactions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/TxnOracle.java");
        let class = "org.apache.kafka.coordinator.group.GroupOracle";
        let (input, output) = Program::source(source, class).with(transactions).start();
        Some(Kafka { input, output: BufReader::new(output) })
    }

    fn run(&mut self, op: &str) -> Vec<String> {
        writeln!(self.input, "{op}").expect("the oracle takes operations");
        self.input.flush().expect("the oracle takes operations");
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("the oracle answers");
            assert!(read > 0, "the oracle ended at {op:?}");
            match line.trim_end_matches('\n') {
                "." => return lines,
                line => lines.push(line.to_owned()),
            }
        }
    }

    pub fn end(self) {
        drop(self.input);
        let done = self.output.into_inner().finish();
        assert_eq!(done.status, 0, "the oracle failed: {}", done.errors);
    }
}

/// `text` with the topics of consumers' assignments in order, which a coordinator that makes one writes
/// in any order.
fn sort_assignments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, from) = rest.split_at(begin);
        out.push_str(before);
        let end = from.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        let bytes: Option<Vec<u8>> = (digits.len() % 2 == 0 && digits.len() >= 20).then(|| {
            let pairs = (0..digits.len()).step_by(2);
            pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex")).collect()
        });
        match bytes.and_then(|bytes| sorted_assignment(&bytes)) {
            Some(sorted) => out.push_str(&sorted),
            None => out.push_str(digits),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn sorted_assignment(bytes: &[u8]) -> Option<String> {
    let mut r = Reader::new(bytes);
    let version = r.i16().ok().filter(|version| (0..=3).contains(version))?;
    let mut topics = ConsumerProtocolAssignment::decode(&mut r, version).ok()?.assigned_partitions;
    if r.remaining() != 0 {
        return None;
    }
    topics.iter_mut().for_each(|topic| topic.partitions.sort_unstable());
    topics.sort_by(|a, b| a.topic.cmp(&b.topic));
    let topics = topics.iter().map(|topic| format!("{}{:?}", topic.topic, topic.partitions));
    Some(format!("v{version}<{}>", topics.collect::<Vec<_>>().join(" ")))
}

/// Both sides of one script.
pub struct Pair<'k> {
    kafka: &'k mut Kafka,
    pub world: World,
    pub names: Names,
    /// Requests that we answered and Kafka lets wait for ever.
    abandoned: BTreeSet<String>,
}

impl<'k> Pair<'k> {
    pub fn new(kafka: &'k mut Kafka) -> Pair<'k> {
        Pair {
            kafka,
            world: World::new(GroupConfig::default()),
            names: Names::default(),
            abandoned: BTreeSet::new(),
        }
    }

    /// Runs an operation on both: the lines of both.
    fn lines(&mut self, op: &str) -> (Vec<String>, Vec<String>) {
        if op.starts_with("new") {
            self.names = Names::default();
            self.abandoned.clear();
        }
        let known = self.names.len();
        let resolved = self.names.resolve(op);
        let mut kafkas: Vec<String> = Vec::new();
        for line in self.kafka.run(&resolved) {
            kafkas.push(self.names.normalise(&line));
        }
        // A member that Kafka gave an id gets the same one from us.
        let random = self.names.uuid_bits(known);
        let mut lines = self.world.run(&resolved, random);
        lines.extend(self.world.state());
        let mut ours: Vec<String> = lines.iter().map(|l| self.names.normalise(l)).collect();
        self.world.check();
        for line in kafkas.iter_mut().chain(&mut ours) {
            *line = sort_assignments(line);
        }
        (ours, kafkas)
    }

    /// Runs an operation on both: the answers of both, by the number of their request.
    pub fn answers(&mut self, op: &str) -> (Vec<String>, Vec<String>) {
        let (ours, kafkas) = self.lines(op);
        let answers = |lines: Vec<String>| {
            let mut answers: Vec<String> =
                lines.into_iter().filter(|line| line.starts_with('#')).collect();
            answers.sort();
            answers
        };
        (answers(ours), answers(kafkas))
    }

    fn run(&mut self, op: &str) -> Result<(), String> {
        let (mut ours, mut kafkas) = self.lines(op);
        if op.starts_with("tick") {
            // After a restart sessions end in the same moment, one by one in the order of a hash table.
            // What is in between has another hash; what comes out of it has the same.
            for line in kafkas.iter_mut().chain(&mut ours).filter(|l| l.starts_with("log cgroup")) {
                line.truncate(line.find(" hash=").unwrap_or(line.len()));
            }
        }
        kafkas.sort();
        ours.sort();
        if op.starts_with("topicdel") || op.starts_with("untopic") {
            // Kafka writes one tombstone for what is committed and one more for each producer.
            kafkas.dedup();
        }
        // Kafka forgets a request whose member sends it again or is taken out while it waits for its
        // assignment. We answer: 27 REBALANCE_IN_PROGRESS, 25 UNKNOWN_MEMBER_ID.
        ours.retain(|line| {
            let forgotten = !kafkas.contains(line)
                && (line.contains(" err=27 ") || line.contains(" err=25 "))
                && (line.contains(" join ") || line.contains(" sync "));
            if forgotten {
                let number = line.split(' ').next().unwrap_or_default();
                self.abandoned.insert(format!("{number} "));
            }
            !forgotten
        });
        let late = kafkas.iter().find(|l| self.abandoned.iter().any(|a| l.starts_with(a)));
        if let Some(late) = late {
            return Err(format!("{op}\n  kafka answers after all: {late}"));
        }
        if ours == kafkas {
            return Ok(());
        }
        let mut what = op.to_owned();
        for line in ours.iter().filter(|line| !kafkas.contains(line)) {
            what.push_str(&format!("\n  ours:  {line}"));
        }
        for line in kafkas.iter().filter(|line| !ours.contains(line)) {
            what.push_str(&format!("\n  kafka: {line}"));
        }
        for line in kafkas.windows(2).filter(|two| two[0] == two[1]).map(|two| &two[0]) {
            what.push_str(&format!("\n  kafka, twice: {line}"));
        }
        if ours.len() != kafkas.len() {
            what.push_str(&format!("\n  ours: {} lines, kafka: {}", ours.len(), kafkas.len()));
        }
        Err(what)
    }
}

#[test]
fn transcripts_are_as_kafka_has_them() {
    let Some(mut kafka) = Kafka::start() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the transcripts")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut failed = 0;
    let mut ops = 0;
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if NOT_FOR_KAFKA.contains(&name.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a transcript");
        let mut pair = Pair::new(&mut kafka);
        for op in text.lines().filter_map(|line| line.strip_prefix("> ")) {
            ops += 1;
            let known = DIFFERENCES.iter().any(|(file, of, _)| *file == name && *of == op);
            match pair.run(op) {
                Err(what) if !known => {
                    failed += 1;
                    eprintln!("{name}: {what}");
                }
                _ => {}
            }
        }
    }
    kafka.end();
    assert!(ops > 200, "only {ops} operations");
    assert_eq!(failed, 0, "{failed} operations differ");
}

/// Seeds that found something once.
const FOUND: [u64; 1] = [
    // A member that waits for its join is removed by a LeaveGroup whose records are not written.
    0xef92_75df_3380_9d0f,
];

#[test]
fn random_operations_come_out_as_in_kafka() {
    let Some(mut kafka) = Kafka::start() else { return };
    let seeds = oracle_seeds(60);
    let cases = seeds.end - seeds.start;
    let mut abandoned = 0;
    for seed in FOUND.into_iter().chain(seeds) {
        abandoned += compare(&mut kafka, seed, Generator::new(seed));
    }
    assert_few_abandoned(abandoned, cases);
    kafka.end();
}

#[test]
fn random_operations_of_producers_come_out_as_in_kafka() {
    let Some(mut kafka) = Kafka::start() else { return };
    let seeds = oracle_seeds(60);
    let cases = seeds.end - seeds.start;
    let mut abandoned = 0;
    for seed in seeds {
        let (classic, consumer) = (Generator::new(seed), ConsumerGenerator::with_kafka(seed));
        abandoned += compare(&mut kafka, seed, WithProducers::new(seed, classic));
        abandoned += compare_consumers(&mut kafka, seed, WithProducers::new(seed, consumer));
    }
    assert_few_abandoned(abandoned, cases);
    kafka.end();
}

/// Runs operations on both; 1 if the case is abandoned, 0 otherwise.
fn compare(kafka: &mut Kafka, seed: u64, mut generator: impl Operations) -> u64 {
    let mut pair = Pair::new(kafka);
    let mut history = Vec::new();
    for step in 0..120 {
        let op =
            if step == 0 { generator.config() } else { generator.next(&pair.world, &pair.names) };
        history.push(op.clone());
        let failures = pair.world.memory.failures.len();
        let Err(what) = pair.run(&op) else { continue };
        // After a restart sessions end in the same moment, in the order of a hash table, and the
        // first write fails.
        let failed = pair.world.memory.failures.len() < failures;
        let after_restart = failed && history.iter().any(|op| op == "reload");
        let is_known = after_restart
            || differs_by_leader_alone(&what)
            || differs_by_moment_alone(&what, &history)
            || is_late_by_a_timer(&what, &history);
        if op.starts_with("tick") && is_known {
            return 1;
        }
        differs(&history, seed, step, &what);
    }
    0
}

/// About 36 of a thousand cases with consumer groups are abandoned, and one of a thousand with classic ones.
fn assert_few_abandoned(abandoned: u64, cases: u64) {
    assert!(abandoned <= 1 + cases / 10, "{abandoned} of {cases} cases were abandoned");
}

/// Members whose sessions end in the same moment go in the order of a hash table of timers, and who leads next depends
/// on who is left each time.
fn differs_by_leader_alone(what: &str) -> bool {
    differs_by_alone(what, &["leader=@"], "leader=@")
}

/// Kafka sets the timer of a rebalance for which members allow no time again and again, and the oracle's clock goes on
/// by a second so that this ends.
fn differs_by_moment_alone(what: &str, history: &[String]) -> bool {
    history.iter().any(|op| op.contains(" r=-5"))
        && differs_by_alone(what, &["since=", "ts="], "group ")
}

/// Where Kafka sets such a timer again and again, another group's rebalance that is due in the same moment may end with
/// the next operation only.
fn is_late_by_a_timer(what: &str, history: &[String]) -> bool {
    let group = |side: &str, state: &str| {
        let lines = what.lines().filter_map(|line| line.trim().strip_prefix(side));
        let mut words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = words.find(|words| words.first() == Some(&"group") && words[2] == state);
        found.map(|words| words[1].to_owned())
    };
    let late = group("kafka:", "PreparingRebalance");
    history.iter().any(|op| op.contains(" r=-5"))
        && late.is_some()
        && late == group("ours:", "CompletingRebalance")
}

/// Whether the lines of both sides that contain `about` are the same but for words that begin so.
fn differs_by_alone(what: &str, words: &[&str], about: &str) -> bool {
    let of = |side: &str| -> Vec<String> {
        let lines = what.lines().filter_map(|line| line.trim().strip_prefix(side));
        let about = lines.filter(|line| line.contains(about));
        let strip = |line: &str| {
            let kept = line.split_whitespace();
            let kept = kept.filter(|word| !words.iter().any(|begin| word.starts_with(begin)));
            kept.collect::<Vec<_>>().join(" ")
        };
        about.map(strip).collect()
    };
    let (ours, kafkas) = (of("ours:"), of("kafka:"));
    !ours.is_empty() && ours == kafkas
}

fn differs(history: &[String], seed: u64, step: usize, what: &str) -> ! {
    for op in history {
        eprintln!("> {op}");
    }
    panic!("seed {seed}, step {step}: {what}");
}

/// Whether some group's regular expressions were not all resolved at the same time. Kafka goes by the
/// age of any of them, whichever a hash table has first.
fn has_regexes_of_ages(world: &World) -> bool {
    world.shard().logged().consumer_groups().any(|(_, group)| {
        let mut ages = group.regexes().values().map(|regex| (regex.version, regex.timestamp_ms));
        let first = ages.next();
        ages.any(|age| Some(age) != first)
    })
}

/// Whether what a member subscribes with now is not known yet, while it is to own something by what it
/// subscribed with before. In Kafka that stays with it if the new expression stands for nothing.
fn has_regex_to_come(world: &World) -> bool {
    world.shard().logged().consumer_groups().any(|(_, group)| {
        group.members().values().any(|member| {
            let regex = member.metadata.regex();
            let target = group.targets().get(&member.id);
            regex.is_some_and(|regex| !group.regexes().contains_key(regex))
                && target.is_some_and(|target| !target.is_empty())
        })
    })
}

/// Whether a member of some group subscribes with an expression that is not resolved yet.
fn has_unresolved_regex(world: &World) -> bool {
    world.shard().logged().consumer_groups().any(|(_, group)| {
        let mut regexes = group.members().values().filter_map(|member| member.metadata.regex());
        regexes.any(|regex| !group.regexes().contains_key(regex))
    })
}

/// The regular expressions of each group that are resolved.
fn resolved(world: &World) -> BTreeMap<String, BTreeSet<String>> {
    let groups = world.shard().logged().consumer_groups();
    let names =
        |regexes: &mut dyn Iterator<Item = &Arc<str>>| regexes.map(|r| r.to_string()).collect();
    groups.map(|(id, group)| (id.to_string(), names(&mut group.regexes().keys()))).collect()
}

/// Whether members of some group subscribe with as many expressions as were `resolved`, and with others. Kafka
/// compares how many there are, so that it does not look for what the new ones stand for.
fn has_as_many_others(world: &World, resolved: &BTreeMap<String, BTreeSet<String>>) -> bool {
    world.shard().logged().consumer_groups().any(|(id, group)| {
        let members = group.members().values();
        let now: BTreeSet<String> =
            members.filter_map(|member| Some(member.metadata.regex()?.to_string())).collect();
        resolved.get(&**id).is_some_and(|before| before.len() == now.len() && *before != now)
    })
}

/// Seeds that found something once.
const FOUND_OF_CONSUMERS: [u64; 2] = [
    // As many expressions as before, and another one.
    1_337_168_522,
    // A write fails after a member has changed its expression.
    2_572_800_710,
];

/// Session timeout of all members in the random operations on consumer groups.
const SESSION_MS: i64 = 20_000;

#[test]
fn random_operations_on_consumer_groups_come_out_as_in_kafka() {
    let Some(mut kafka) = Kafka::start() else { return };
    let seeds = oracle_seeds(120);
    let cases = seeds.end - seeds.start;
    let mut abandoned = 0;
    for seed in FOUND_OF_CONSUMERS.into_iter().chain(seeds) {
        let generator = ConsumerGenerator::with_kafka(seed);
        abandoned += compare_consumers(&mut kafka, seed, generator);
    }
    assert_few_abandoned(abandoned, cases);
    kafka.end();
}

/// The same with operations on consumer groups.
fn compare_consumers(kafka: &mut Kafka, seed: u64, mut generator: impl Operations) -> u64 {
    let mut pair = Pair::new(kafka);
    let mut history = Vec::new();
    let mut reloaded_ms = i64::MIN;
    // Kafka lets a member live on without a session whose leave could not be written, until its next
    // heartbeat. It is removed here soon after.
    let mut is_leave_lost = false;
    let mut had_regexes_of_ages = false;
    for step in 0..150 {
        let op =
            if step == 0 { generator.config() } else { generator.next(&pair.world, &pair.names) };
        history.push(op.clone());
        let before_ms = pair.world.memory.now.wall_ms;
        let failures = pair.world.memory.failures.len();
        had_regexes_of_ages |= has_regexes_of_ages(&pair.world);
        let had_regex_to_come = has_regex_to_come(&pair.world);
        let had_unresolved_regex = has_unresolved_regex(&pair.world);
        let had_resolved = resolved(&pair.world);
        let result = pair.run(&op);
        let is_leave = op.starts_with("leave") || op.starts_with("chb") && op.contains(" e=-1");
        is_leave_lost |= is_leave && pair.world.memory.failures.len() < failures;
        let after_ms = pair.world.memory.now.wall_ms;
        if op == "reload" {
            reloaded_ms = after_ms;
        }
        let Err(what) = result else { continue };
        // The sessions of all members that were not heard of since a restart end in one moment, in
        // the order of a hash table, and it may matter which one is the first.
        let end_ms = reloaded_ms.saturating_add(SESSION_MS);
        let ended_together = op.starts_with("tick") && (before_ms..=after_ms).contains(&end_ms);
        // Kafka interrupts the members of a classic group even if the one that would have made a
        // consumer group of it is refused.
        let interrupted = op.starts_with("chb")
            && what.lines().any(|line| {
                let is_answer = line.trim_start().starts_with("kafka: #");
                is_answer && (line.contains(" join err=27 ") || line.contains(" sync err=27 "))
            });
        // Kafka fences a member that was to be asked to give partitions up in a heartbeat that could
        // not be written, though it has not been asked; and after a restart a static member that
        // went away before it gave them up.
        let had = |what: &str| history.iter().any(|op| op.starts_with(what));
        let fenced_unasked = op.starts_with("tick") && (had("fail") || had("reload"));
        let is_own_epoch = |line: &str| line.trim_start().starts_with("ours:  log cgroup ");
        let given_back =
            (had_regex_to_come || op.contains(" x=")) && what.lines().any(is_own_epoch);
        // A group looks at its topics after a write that failed, and finds that those of a member's last expression
        // are gone. Kafka finds it when the new expression is resolved.
        let looked_again = had("fail") && had_unresolved_regex && what.lines().any(is_own_epoch);
        let resolved_here = op.starts_with("chb")
            && what.lines().any(|line| line.trim_start().starts_with("ours:  log cregex "))
            && has_as_many_others(&pair.world, &had_resolved);
        // Who leads a classic group that was a consumer group says the order of a hash table of member ids.
        let became_classic = is_leave || op.starts_with("tick");
        let is_led_by_another = became_classic && differs_by_leader_alone(&what);
        let is_known = resolved_here
            || is_led_by_another
            || ended_together
            || interrupted
            || fenced_unasked
            || is_leave_lost
            || given_back
            || looked_again;
        if is_known || had_regexes_of_ages {
            return 1;
        }
        differs(&history, seed, step, &what);
    }
    0
}
