//! Runs the client suites under `tests/` against a broker that it starts itself: Apache Kafka,
//! Thalweg, or one after the other with their transcripts compared.

mod plan;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cases::{self, Cases};
use crate::differences::{self, Accepted, Transcript};
use crate::go;
use crate::installations;
use crate::kills;
use crate::krafka;
use crate::limited::Limited;
use crate::ports;
use crate::setup::Tools;
use crate::{chaos, mixed, rolling, transaction_kills};

pub use plan::Plan;

/// Settings that both brokers get, so that groups form quickly, transactions that last too long are aborted soon,
/// names agree, and retention leaves records alone whose timestamps the suites made up years ago.
const SETTINGS: [(&str, &str); 6] = [
    ("node.id", "1"),
    ("group.initial.rebalance.delay.ms", "200"),
    ("group.consumer.min.heartbeat.interval.ms", "100"),
    ("group.consumer.heartbeat.interval.ms", "200"),
    ("transaction.abort.timed.out.transaction.cleanup.interval.ms", "200"),
    ("log.retention.hours", "876000"),
];

/// Longest time that one suite may take.
const SUITE_SECONDS_MAX: u64 = 600;
/// How long a suite's program may live once its output has ended.
const EXIT_SECONDS_MAX: u64 = 30;
/// How long Kafka may take to format a directory.
const FORMAT_TIMEOUT: Duration = Duration::from_secs(120);

/// Which broker is under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Apache Kafka, from its jars.
    Kafka,
    /// This project's broker.
    Thalweg,
}

impl Target {
    /// The broker of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Kafka, Self::Thalweg].into_iter().find(|target| target.name() == name)
    }

    /// Its name in options, lists and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Thalweg => "thalweg",
        }
    }
}

/// How many cases ended how.
#[derive(Default)]
pub struct Tally {
    /// Cases that passed.
    pub passed: usize,
    /// Names of the cases that failed.
    pub failed: Vec<String>,
    /// What was left out, with the reason.
    pub skipped: Vec<String>,
    /// Cases that said that they cannot run, with the reason.
    unable: Vec<(Target, String, String)>,
    /// All cases that ended, as they were named.
    ran: Vec<String>,
}

/// Suites that are one program in Java, which has a lane of its own.
const JAVA: [&str; 7] =
    ["producer", "consumer", "groups", "admin", "errors", "tools", "transactions"];
/// The others under the same broker, in lanes that run beside each other and beside Java's. Streams mostly wait, for
/// sessions of members that were killed.
const OTHERS: [&[&str]; 2] = [
    &["kcat", "confluent", "answers", "raw"],
    &["streams", "franz", "sarama", "kafka_python", "aiokafka", "kafkajs"],
];
/// Java's client of the release before, and the oldest one, with a broker of their own: the names of topics and groups are
/// those of the suites in Java.
const PREVIOUS: &str = "previous";
/// The oldest one's cases belong to the same suite.
const OLDEST: &str = "oldest";
/// The suites that it runs.
const OF_PREVIOUS: &str = "producer,consumer,groups,transactions";
/// Makes of clients in groups, under the same broker when the others are done: dozens of processes at once.
const MAKES: &str = "makes";
/// Suites that start brokers themselves, after the others, in lanes: most of the time they wait for what starts, and for
/// sessions that end.
const OWN_BROKERS: [&[&str]; 3] = [
    &["kill", "kills", "transaction_kills", "installations", PREVIOUS],
    &["chaos", "bank", "coordinator_moves"],
    &["handover", "exactly_once", "rolling"],
];

/// What a broker showed, and how the cases ended.
pub struct Shown {
    transcript: Transcript,
    tally: Tally,
}

/// Runs the suites against one broker of the plan, the `index`th. Against Apache Kafka nothing is needed that is built.
pub fn show(tools: &Tools, plan: &Plan, index: usize) -> Result<Shown, String> {
    let target = *plan.targets.get(index).ok_or("the plan has no such broker")?;
    println!("conformance: {}", target.name());
    let scratch = tools.root.join(format!("target/conformance/{}-{index}", target.name()));
    let tally = Mutex::new(Tally::default());
    let transcript = on_target(tools, plan, target, &scratch, &plan.listed(tools)?, &tally)?;
    Ok(Shown { transcript, tally: tally.into_inner().unwrap_or_else(PoisonError::into_inner) })
}

/// Runs the plan, but for the first broker if that is done, and prints a line per case that failed.
pub fn run(tools: &Tools, plan: &Plan, begun: Option<Shown>) -> Result<Tally, String> {
    let all = [JAVA.as_slice(), &OTHERS.concat(), &[MAKES], &OWN_BROKERS.concat()].concat();
    if let Some(unknown) = plan.suites.iter().find(|name| !all.contains(&name.as_str())) {
        return Err(format!("unknown suite {unknown}; there are {}", all.join(", ")));
    }
    let mut shown: Vec<Shown> = begun.into_iter().collect();
    for index in shown.len()..plan.targets.len() {
        shown.push(show(tools, plan, index)?);
    }
    let listed = plan.listed(tools)?;
    let ran: Vec<(Target, Vec<String>)> = (plan.targets.iter().zip(&mut shown))
        .map(|(target, one)| (*target, std::mem::take(&mut one.tally.ran)))
        .collect();
    // The reference, too: what it was not asked is compared with nothing.
    let unable = shown.iter_mut().flat_map(|one| std::mem::take(&mut one.tally.unable)).collect();
    // With two brokers the first is the reference, whose cases are not counted.
    let Some(Shown { mut transcript, mut tally }) = shown.pop() else {
        return Ok(Tally::default());
    };
    let left_out = settle(&listed, unable, &mut tally);
    if plan.record_cases {
        listed.record(&tools.root, &ran)?;
        println!("conformance: {} is written anew", cases::PATH);
    } else {
        for (target, ran) in &ran {
            let wanted = |case: &str| plan.wants_case(*target, case);
            for (case, why) in listed.complaints(*target, ran, wanted) {
                println!("fail {}.{case}: {why}", target.name());
                tally.failed.push(format!("{}.{case}", target.name()));
            }
        }
    }
    tally.skipped.extend(plan.left_out());
    if let [reference] = shown.as_mut_slice() {
        let (kafka, thalweg) = (&mut reference.transcript, &mut transcript);
        for case in &left_out {
            kafka.remove(case);
            thalweg.remove(case);
        }
        // What the reference fails is nothing to compare with. That it may is said in the list of cases,
        // or it is a failure like any other.
        for name in std::mem::take(&mut reference.tally.failed) {
            let case = name.split_once('.').map_or("", |(_, case)| case);
            if let Some(reason) = listed.unsteady(case) {
                println!("skip same.{case}: {name} failed: {reason}");
                tally.skipped.push(format!("same.{case}: {name} failed: {reason}"));
                kafka.remove(case);
                thalweg.remove(case);
            } else {
                tally.failed.push(name);
            }
        }
        let accepted = Accepted::read(&tools.root.join("tests/differences.txt"))?;
        let mut wording = 0;
        for verdict in differences::compare(kafka, thalweg, &accepted) {
            wording += usize::from(verdict.wording > 0);
            let name = format!("same.{}", verdict.case);
            if verdict.lines.is_empty() {
                tally.passed += 1;
            } else {
                println!("fail {name}: the first (-) and the second broker (+) differ");
                verdict.lines.iter().for_each(|line| println!("    {line}"));
                tally.failed.push(name);
            }
        }
        println!("conformance: the wording of errors differs in {wording} cases");
        // Only a whole run shows that an entry matches nothing.
        if plan.is_whole() && tally.failed.is_empty() {
            for entry in accepted.unused() {
                println!("fail differences.{entry}: it matches nothing any more");
                tally.failed.push(format!("differences.{entry}"));
            }
        }
    }
    Ok(tally)
}

/// Counts the cases that said that they cannot run: left out where the list allows it, or failed. Gives
/// those that were left out.
fn settle(listed: &Cases, unable: Vec<(Target, String, String)>, tally: &mut Tally) -> Vec<String> {
    let mut left_out = Vec::new();
    for (target, case, why) in unable {
        let name = format!("{}.{case}", target.name());
        if listed.may_be_left_out(target, &case) {
            tally.skipped.push(format!("{name}: {why}"));
            left_out.push(case);
        } else {
            println!("fail {name}: it must run everywhere: {why}");
            tally.failed.push(name);
        }
    }
    left_out
}

fn on_target(
    tools: &Tools,
    plan: &Plan,
    target: Target,
    scratch: &Path,
    listed: &Cases,
    tally: &Mutex<Tally>,
) -> Result<Transcript, String> {
    let _ = fs::remove_dir_all(scratch);
    fs::create_dir_all(scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let wanted = |name: &&str| plan.wants(target, name);
    let java: Vec<&str> = JAVA.into_iter().filter(wanted).collect();
    let others = OTHERS.map(|lane| lane.iter().copied().filter(wanted).collect::<Vec<_>>());
    let makes = plan.wants(target, MAKES);
    let mut transcript = Transcript::new();
    if !java.is_empty() || others.iter().any(|lane| !lane.is_empty()) || makes {
        let mut broker = Broker::start(tools, plan, target, &scratch.join("data"))?;
        let suite = Suite { tools, plan, target, broker: &broker, scratch, listed, tally };
        std::thread::scope(|scope| {
            if !java.is_empty() {
                scope.spawn(|| suite.java(&java));
            }
            for lane in &others {
                scope.spawn(|| lane.iter().for_each(|name| suite.other(name)));
            }
        });
        if makes {
            suite.other(MAKES);
        }
        differences::read(&scratch.join("java.transcript"), &mut transcript);
        for name in others.iter().flatten() {
            differences::read(&scratch.join(format!("{name}.transcript")), &mut transcript);
        }
        broker.stop(tally, target);
        if plan.wants(target, "directory") {
            let mut command = Command::new("java");
            command.args(["-Xmx512m", "-cp"]).arg(class_path(tools));
            command.arg("thalweg.conformance.DirectoryCheck").arg(scratch.join("data"));
            follow(command, "directory", target, scratch, tally);
        }
    }
    std::thread::scope(|scope| {
        for lane in OWN_BROKERS {
            let wanted = lane.iter().filter(|name| plan.wants(target, name));
            let run = |name: &&str| own_brokers(name, tools, plan, target, scratch, tally);
            scope.spawn(move || wanted.for_each(run));
        }
    });
    Ok(transcript)
}

/// Runs a suite that starts its brokers itself.
fn own_brokers(
    name: &str,
    tools: &Tools,
    plan: &Plan,
    target: Target,
    scratch: &Path,
    tally: &Mutex<Tally>,
) {
    let (binary, seed, place) = (&plan.binary, plan.seed, scratch.join(name));
    let command = match name {
        "kill" => return kill(tools, plan, target, scratch, tally),
        "handover" => return handover(tools, plan, scratch, tally),
        PREVIOUS => return previous(tools, plan, &place, tally),
        "installations" => {
            if let Err(why) = fs::create_dir_all(&place) {
                let why = format!("{}: {why}", place.display());
                return record(tally, name, Some(&why), target);
            }
            let cases = &plan.installations;
            let command = installations::command(tools, binary, &place, cases);
            let seconds_max = installations::CASE_SECONDS_MAX * cases.len() as u64;
            return follow_for(command, name, target, scratch, tally, seconds_max);
        }
        "kills" => Ok(kills::command(tools, binary, &place, seed)),
        "transaction_kills" => transaction_kills::command(tools, binary, &place, seed),
        "chaos" => Ok(chaos::command(tools, binary, &place, seed, chaos::MIXED, chaos::SHORT)),
        "exactly_once" => {
            Ok(chaos::exactly_once(tools, binary, &place, seed, chaos::SHORT_TRANSACTIONS))
        }
        "bank" => chaos::bank(tools, binary, &place, seed, chaos::SHORT_TRANSACTIONS),
        "rolling" => Ok(rolling::command(tools, binary, &place, seed, &rolling::SHORT)),
        "coordinator_moves" => Ok(mixed::moves_command(tools, binary, &place, &mixed::SHORT_MOVES)),
        _ => Err("there is no such suite".to_owned()),
    };
    match command {
        Ok(command) => follow(command, name, target, scratch, tally),
        Err(why) => record(tally, name, Some(&why), target),
    }
}

/// What a suite needs to run against one broker.
struct Suite<'a> {
    tools: &'a Tools,
    plan: &'a Plan,
    target: Target,
    broker: &'a Broker,
    scratch: &'a Path,
    listed: &'a Cases,
    tally: &'a Mutex<Tally>,
}

impl Suite<'_> {
    fn java(&self, suites: &[&str]) {
        let mut command = Command::new("java");
        command.args(["-Xmx512m", "-cp"]).arg(class_path(self.tools));
        command.arg("thalweg.conformance.Main").args(["--suite", &suites.join(",")]);
        self.program(command, "java");
    }

    fn other(&self, name: &str) {
        let tests = self.tools.root.join("tests");
        let mut command;
        if go::SUITES.contains(&name) {
            if let Some(why) = go::lacks(&self.tools.root) {
                return self.leave_out(name, &why);
            }
            command = match go::programs(&self.tools.root) {
                Ok(folder) => Command::new(folder.join(format!("{name}_suite"))),
                Err(why) => return record(self.tally, name, Some(&why), self.target),
            };
        } else if name == "kafkajs" {
            command = Command::new("node");
            command.env("NODE_PATH", &self.tools.node_modules);
            command.arg(tests.join(format!("node/{name}_suite.js")));
        } else {
            command = Command::new(&self.tools.python);
            command.arg(tests.join(format!("python/{name}_suite.py")));
        }
        if name == "raw" {
            command.args(["--pid", &self.broker.process.id().to_string()]);
        }
        if name == "streams" {
            command.arg("--jars").arg(&self.tools.jars).arg("--classes").arg(&self.tools.classes);
            command.arg("--scratch").arg(self.scratch.join(name));
        }
        if name == MAKES {
            command.arg("--scratch").arg(self.scratch.join(name));
            command.arg("--node-modules").arg(&self.tools.node_modules);
            command.arg("--makes").arg(&self.tools.makes);
            match go::lacks(&self.tools.root) {
                Some(why) => println!("makes: those in Go are left out: {why}"),
                None => match go::programs(&self.tools.root) {
                    Ok(folder) => drop(command.arg("--go-workers").arg(folder)),
                    Err(why) => return record(self.tally, name, Some(&why), self.target),
                },
            }
            if self.plan.krafka {
                match krafka::program(self.tools) {
                    Ok(program) => drop(command.arg("--krafka").arg(program)),
                    Err(why) => return record(self.tally, name, Some(&why), self.target),
                }
            } else {
                println!("makes: krafka is left out, see test --full and conformance --krafka");
            }
        }
        self.program(command, name);
    }

    /// Says of each case of a suite that it cannot run.
    fn leave_out(&self, suite: &str, why: &str) {
        let cases = self.listed.of_suite(self.target, suite);
        let lines = cases
            .into_iter()
            .filter(|case| self.plan.wants_case(self.target, case))
            .map(|case| format!("skip {case} 0: {why}\n"));
        read_results(lines.collect::<String>().as_bytes(), self.target, self.tally);
    }

    fn program(&self, mut command: Command, name: &str) {
        command.args(["--bootstrap", &self.broker.address.to_string()]);
        command.args(["--target", self.target.name(), "--case", &self.plan.case]);
        command.arg("--transcript").arg(self.scratch.join(format!("{name}.transcript")));
        follow(command, name, self.target, self.scratch, self.tally);
    }
}

fn class_path(tools: &Tools) -> String {
    format!("{}:{}/*", tools.classes.display(), tools.jars.display())
}

fn kill(tools: &Tools, plan: &Plan, target: Target, scratch: &Path, tally: &Mutex<Tally>) {
    let address = free_address();
    let data = scratch.join("killed");
    let start = match target {
        Target::Thalweg => thalweg_command(plan, address, &data),
        Target::Kafka => match prepare_kafka(tools, address, &data, &SETTINGS) {
            Ok(command) => command,
            Err(why) => return record(tally, "kill.start", Some(&why), target),
        },
    };
    let words: Vec<String> = std::iter::once(start.get_program())
        .chain(start.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python/kill.py"));
    command.args(["--start", &words.join(" "), "--bootstrap", &address.to_string()]);
    command.args(["--rounds", &plan.kill_rounds.to_string()]);
    command.arg("--jars").arg(&tools.jars).arg("--classes").arg(&tools.classes);
    follow(command, "kill", target, scratch, tally);
}

/// Java's client of the release before, on the classes that were compiled with the oracle's jars.
fn previous(tools: &Tools, plan: &Plan, place: &Path, tally: &Mutex<Tally>) {
    let target = Target::Thalweg;
    let made = fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()));
    let started = made.and_then(|()| Broker::start(tools, plan, target, &place.join("data")));
    let broker = match started {
        Ok(broker) => broker,
        Err(why) => return record(tally, PREVIOUS, Some(&why), target),
    };
    let mut command = Command::new("java");
    let jars = format!("{}:{}/*", tools.classes.display(), tools.previous_jars.display());
    command.args(["-Xmx512m", "-cp", &jars, "thalweg.conformance.Main"]);
    command.args(["--make", PREVIOUS, "--suite", OF_PREVIOUS, "--case", &plan.case]);
    command.args(["--target", target.name(), "--bootstrap", &broker.address.to_string()]);
    follow(command, PREVIOUS, target, place, tally);
    if OLDEST.contains(&plan.case) {
        let jars = tools.oldest.join("classes").display().to_string() + ":";
        let mut command = Command::new("java");
        command.args([
            "-Xmx256m",
            "-cp",
            &(jars + &tools.oldest.join("jars/*").display().to_string()),
        ]);
        command.args(["thalweg.oldest.Oldest", "--bootstrap", &broker.address.to_string()]);
        follow(command, OLDEST, target, place, tally);
    }
}

/// One directory, Kafka and Thalweg in turn.
fn handover(tools: &Tools, plan: &Plan, scratch: &Path, tally: &Mutex<Tally>) {
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python/handover.py"));
    command.arg("--thalweg").arg(&plan.binary);
    command.arg("--jars").arg(&tools.jars).arg("--classes").arg(&tools.classes);
    command.arg("--previous-jars").arg(&tools.previous_jars);
    command.arg("--scratch").arg(scratch);
    follow(command, "handover", Target::Thalweg, scratch, tally);
}

/// Runs a suite's program, counts its result lines, and shows them.
fn follow(command: Command, name: &str, target: Target, scratch: &Path, tally: &Mutex<Tally>) {
    follow_for(command, name, target, scratch, tally, SUITE_SECONDS_MAX);
}

/// The same with a time of its own.
fn follow_for(
    mut command: Command,
    name: &str,
    target: Target,
    scratch: &Path,
    tally: &Mutex<Tally>,
    seconds_max: u64,
) {
    let log = scratch.join(format!("{name}.log"));
    let start = Instant::now();
    let outcome = (|| {
        let errors = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        // A group of its own, so that what it started ends with it, and holds no pipe open.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).process_group(0);
        let mut child = command.spawn().map_err(|e| format!("cannot start: {e}"))?;
        let out = child.stdout.take().ok_or("no output")?;
        let reader = std::thread::scope(|scope| {
            let reader = scope.spawn(|| read_results(out, target, tally));
            let deadline = start + Duration::from_secs(seconds_max);
            while !reader.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(50));
            }
            let late = !reader.is_finished();
            if late {
                kill_group(child.id());
            }
            let count = reader.join().map_err(|_| "reader failed".to_string())?;
            if late { Err(format!("no end after {seconds_max} s")) } else { Ok(count) }
        });
        let group = child.id();
        let status = wait_for(&mut child);
        kill_group(group);
        let (reader, status) = (reader?, status?);
        // The program's code only tells what its lines already told, unless there were none.
        match status.code() {
            Some(0 | 1) if reader > 0 => Ok(reader),
            Some(0) => Err(format!("no case ran; see {}", log.display())),
            _ => Err(format!("ended with {status}; see {}", log.display())),
        }
    })();
    match outcome {
        Ok(_) => println!("  {name}: {:.0} s", start.elapsed().as_secs_f64()),
        Err(why) => record(tally, name, Some(&why), target),
    }
}

/// How a process whose output has ended ends itself; one that does not is killed.
fn wait_for(child: &mut Child) -> Result<std::process::ExitStatus, String> {
    let deadline = Instant::now() + Duration::from_secs(EXIT_SECONDS_MAX);
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => return Ok(status),
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not exit {EXIT_SECONDS_MAX} s after its output ended"));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Kills whatever is left of a group of processes.
pub fn kill_group(group: u32) {
    let _ = Command::new("kill")
        .args(["-KILL", "--", &format!("-{group}")])
        .stderr(Stdio::null())
        .status();
}

/// Number of result lines read until the end of the program's output.
fn read_results(out: impl Read, target: Target, tally: &Mutex<Tally>) -> usize {
    let mut count = 0;
    for line in BufReader::new(out).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut words = line.split_whitespace();
        let verdict = words.next().unwrap_or_default();
        let case = words.next().unwrap_or_default();
        match verdict {
            "pass" => record(tally, case, None, target),
            "fail" => {
                let why = line.split_once(": ").map_or("no reason", |(_, why)| why);
                record(tally, case, Some(why), target);
            }
            "skip" => {
                let why = line.split_once(": ").map_or("no reason", |(_, why)| why);
                println!("skip {}.{case}: {why}", target.name());
                let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                tally.ran.push(case.to_string());
                tally.unable.push((target, case.to_string(), why.to_string()));
            }
            _ => continue,
        }
        count += 1;
    }
    count
}

fn record(tally: &Mutex<Tally>, case: &str, failure: Option<&str>, target: Target) {
    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    tally.ran.push(case.to_string());
    match failure {
        None => tally.passed += 1,
        Some(why) => {
            println!("fail {}.{case}: {why}", target.name());
            tally.failed.push(format!("{}.{case}", target.name()));
        }
    }
}

/// A broker process, killed when dropped.
struct Broker {
    process: Child,
    address: SocketAddr,
}

impl Broker {
    fn start(tools: &Tools, plan: &Plan, target: Target, data: &Path) -> Result<Self, String> {
        let address = free_address();
        let mut command = match target {
            Target::Kafka => prepare_kafka(tools, address, data, &SETTINGS)?,
            Target::Thalweg => thalweg_command(plan, address, data),
        };
        let log = data.with_extension("log");
        let file = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let copy = file.try_clone().map_err(|e| e.to_string())?;
        let process = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(copy)
            .spawn()
            .map_err(|e| format!("{} cannot be started: {e}", target.name()))?;
        let mut broker = Self { process, address };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !answers(address) {
            if let Ok(Some(status)) = broker.process.try_wait() {
                return Err(format!(
                    "{} ended with {status}; see {}",
                    target.name(),
                    log.display()
                ));
            }
            if Instant::now() > deadline {
                return Err(format!("{} does not answer; see {}", target.name(), log.display()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(broker)
    }

    /// The broker must still run; SIGTERM must end it, with code 0 when it is Thalweg.
    fn stop(&mut self, tally: &Mutex<Tally>, target: Target) {
        let case = "broker.lives-and-stops-cleanly";
        if let Ok(Some(status)) = self.process.try_wait() {
            return record(tally, case, Some(&format!("it had ended with {status}")), target);
        }
        let id = self.process.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => {
                    let clean = target == Target::Kafka || status.success();
                    let why = format!("SIGTERM ended it with {status}");
                    return record(tally, case, (!clean).then_some(&why), target);
                }
                _ if Instant::now() > deadline => {
                    return record(tally, case, Some("SIGTERM did not end it in 30 s"), target);
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether a broker serves there: it answers a Metadata request, and is not fenced any more.
pub fn answers(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let wait = Duration::from_millis(500);
        let mut stream = TcpStream::connect_timeout(&address, wait)?;
        stream.set_read_timeout(Some(wait))?;
        // Size, key 3, version 1, correlation id, no client id, no topics.
        stream.write_all(&[0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0])?;
        // Size, correlation id, number of brokers.
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        Ok(answer[8..] != [0; 4])
    };
    ask().unwrap_or(false)
}

/// Where a broker is to listen that must be told.
pub fn free_address() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()))
}

fn thalweg_command(plan: &Plan, address: SocketAddr, data: &Path) -> Command {
    let mut command = Command::new(&plan.binary);
    command.args(["serve", "--listen", &address.to_string(), "--data"]).arg(data);
    for (name, value) in SETTINGS {
        command.args(["--set", &format!("{name}={value}")]);
    }
    for setting in &plan.settings {
        command.args(["--set", setting]);
    }
    command
}

/// Formats a directory for Kafka with everything on one node; gives the command that starts it.
pub fn prepare_kafka(
    tools: &Tools,
    address: SocketAddr,
    data: &Path,
    settings: &[(&str, &str)],
) -> Result<Command, String> {
    let controller = free_address();
    let mut text = format!(
        "process.roles=broker,controller\n\
         controller.quorum.bootstrap.servers={controller}\n\
         listeners=PLAINTEXT://{address},CONTROLLER://{controller}\n\
         controller.listener.names=CONTROLLER\n\
         log.dirs={}\n\
         offsets.topic.replication.factor=1\n\
         transaction.state.log.replication.factor=1\n\
         transaction.state.log.min.isr=1\n\
         share.coordinator.state.topic.replication.factor=1\n\
         share.coordinator.state.topic.min.isr=1\n",
        data.display()
    );
    for (name, value) in settings {
        text.push_str(&format!("{name}={value}\n"));
    }
    let config = data.with_extension("properties");
    fs::write(&config, text).map_err(|e| format!("{}: {e}", config.display()))?;
    let jars = format!("{}/*", tools.jars.display());
    let format = Command::new("java")
        .args(["-Xmx128m", "-cp", &jars, "kafka.tools.StorageTool", "format", "--standalone"])
        .args(["-t", "thalwegTestClusterAAAA", "-c"])
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("java cannot be started: {e}"))?;
    let limited = Limited::new(&format, FORMAT_TIMEOUT);
    let format = format.wait_with_output().map_err(|e| format!("java: {e}"))?;
    drop(limited);
    if !format.status.success() {
        let said = String::from_utf8_lossy(&format.stderr);
        return Err(format!("format ended with {}: {said}", format.status));
    }
    let mut command = Command::new("java");
    // It lives for minutes: thorough compilation would take more time than it saves.
    command.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms512m", "-Xmx512m"]);
    command.args(["-cp", &jars, "kafka.Kafka"]).arg(&config);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_skip_fails_against_either_broker_unless_the_list_allows_it() {
        let listed = Cases::parse("[kafka]\na.x\na.y ? no room\n[thalweg]\na.x ? no mounts\na.y\n");
        let listed = listed.unwrap();
        let mut tally = Tally::default();
        for target in [Target::Kafka, Target::Thalweg] {
            let told = Mutex::new(Tally::default());
            let lines = "skip a.x 3: no way\nskip a.y 4: none either\n";
            assert_eq!(read_results(lines.as_bytes(), target, &told), 2);
            let left_out = settle(&listed, told.into_inner().unwrap().unable, &mut tally);
            assert_eq!(left_out, [if target == Target::Kafka { "a.y" } else { "a.x" }]);
        }
        assert_eq!(tally.failed, ["kafka.a.x", "thalweg.a.y"]);
        assert_eq!(tally.skipped, ["kafka.a.y: none either", "thalweg.a.x: no way"]);
    }
}
