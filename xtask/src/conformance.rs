//! Runs the client suites under `tests/` against a broker that it starts itself: Apache Kafka,
//! Thalweg, or one after the other with their transcripts compared.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::differences::{self, Accepted, Transcript};
use crate::setup::Tools;

/// Settings that both brokers get, so that groups form quickly, names agree, and retention leaves
/// records alone whose timestamps the suites made up years ago.
const SETTINGS: [(&str, &str); 3] = [
    ("node.id", "1"),
    ("group.initial.rebalance.delay.ms", "200"),
    ("log.retention.hours", "876000"),
];

/// Longest time that one suite may take.
const SUITE_SECONDS_MAX: u64 = 900;

/// Which broker is under test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Apache Kafka, from its jars.
    Kafka,
    /// This project's broker.
    Thalweg,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Thalweg => "thalweg",
        }
    }
}

/// What to run.
pub struct Plan {
    /// Brokers, in order; what they showed is compared when there are two. Kafka twice tells
    /// whether a suite is steady.
    pub targets: Vec<Target>,
    /// Suites by name; empty means all of them.
    pub suites: Vec<String>,
    /// Only cases whose name contains this.
    pub case: String,
    /// Kills in the kill suite.
    pub kill_rounds: u32,
    /// The binary `thalweg`.
    pub binary: PathBuf,
}

/// How many cases ended how.
#[derive(Default)]
pub struct Tally {
    /// Cases that passed.
    pub passed: usize,
    /// Names of the cases that failed.
    pub failed: Vec<String>,
}

/// The suites in two lanes that run beside each other.
const JAVA: [&str; 6] = ["producer", "consumer", "groups", "admin", "errors", "tools"];
const OTHERS: [&str; 7] =
    ["kcat", "confluent", "kafka_python", "aiokafka", "kafkajs", "answers", "raw"];
/// Suites that start brokers themselves, after the others.
const OWN_BROKERS: [&str; 2] = ["kill", "handover"];

/// Runs the plan and prints a line per case.
pub fn run(tools: &Tools, plan: &Plan) -> Result<Tally, String> {
    let known =
        |name: &String| [JAVA.as_slice(), &OTHERS, &OWN_BROKERS].concat().contains(&name.as_str());
    if let Some(unknown) = plan.suites.iter().find(|name| !known(name)) {
        let all = [JAVA.as_slice(), &OTHERS, &OWN_BROKERS].concat().join(", ");
        return Err(format!("unknown suite {unknown}; there are {all}"));
    }
    let tally = Mutex::new(Tally::default());
    // With two brokers the first is the reference, whose cases are not counted.
    let reference = Mutex::new(Tally::default());
    let mut transcripts = Vec::new();
    for (index, target) in plan.targets.iter().enumerate() {
        println!("conformance: {}", target.name());
        let scratch = tools.root.join(format!("target/conformance/{}-{index}", target.name()));
        let counted = if index + 1 < plan.targets.len() { &reference } else { &tally };
        transcripts.push(on_target(tools, plan, *target, &scratch, counted)?);
    }
    let mut tally = tally.into_inner().unwrap_or_default();
    if let [kafka, thalweg] = transcripts.as_mut_slice() {
        // A case that Kafka itself failed this time is nothing to compare with, and nobody's fault.
        // A suite that did not run to its end compares nothing, which must not pass for a result.
        for name in reference.into_inner().unwrap_or_default().failed {
            let case = name.trim_start_matches("kafka.");
            if case.contains('.') {
                println!("note: {name} failed, and is not compared");
                kafka.remove(case);
                thalweg.remove(case);
            } else {
                println!("fail {name}: the suite did not run to its end");
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
    }
    Ok(tally)
}

fn on_target(
    tools: &Tools,
    plan: &Plan,
    target: Target,
    scratch: &Path,
    tally: &Mutex<Tally>,
) -> Result<Transcript, String> {
    let _ = fs::remove_dir_all(scratch);
    fs::create_dir_all(scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let wanted = |name: &str| plan.suites.is_empty() || plan.suites.iter().any(|s| s == name);
    let java: Vec<&str> = JAVA.into_iter().filter(|name| wanted(name)).collect();
    let there = |name: &str| name != "kafkajs" || tools.node_modules.is_some();
    let others: Vec<&str> = OTHERS.into_iter().filter(|name| wanted(name) && there(name)).collect();
    let mut transcript = Transcript::new();
    if !java.is_empty() || !others.is_empty() {
        let mut broker = Broker::start(tools, plan, target, &scratch.join("data"))?;
        let suite = Suite { tools, plan, target, broker: &broker, scratch, tally };
        std::thread::scope(|scope| {
            if !java.is_empty() {
                scope.spawn(|| suite.java(&java));
            }
            scope.spawn(|| others.iter().for_each(|name| suite.other(name)));
        });
        differences::read(&scratch.join("java.transcript"), &mut transcript);
        for name in &others {
            differences::read(&scratch.join(format!("{name}.transcript")), &mut transcript);
        }
        broker.stop(tally, target);
        if plan.case.is_empty() {
            let mut command = Command::new("java");
            command.args(["-Xmx512m", "-cp"]).arg(class_path(tools));
            command.arg("thalweg.conformance.DirectoryCheck").arg(scratch.join("data"));
            follow(command, "directory", target, scratch, tally);
        }
    }
    // Kafka needs ten seconds a round to come back: there it only shows that the suite is right.
    if wanted("kill") && (target == Target::Thalweg || !plan.suites.is_empty()) {
        kill(tools, plan, target, scratch, tally);
    }
    if wanted("handover") && target == Target::Thalweg {
        handover(tools, plan, scratch, tally);
    }
    Ok(transcript)
}

/// What a suite needs to run against one broker.
struct Suite<'a> {
    tools: &'a Tools,
    plan: &'a Plan,
    target: Target,
    broker: &'a Broker,
    scratch: &'a Path,
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
        if let ("kafkajs", Some(modules)) = (name, &self.tools.node_modules) {
            command = Command::new("node");
            command.env("NODE_PATH", modules);
            command.arg(tests.join(format!("node/{name}_suite.js")));
        } else {
            command = Command::new(&self.tools.python);
            command.arg(tests.join(format!("python/{name}_suite.py")));
        }
        if name == "raw" {
            command.args(["--pid", &self.broker.process.id().to_string()]);
        }
        self.program(command, name);
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
    let Ok(address) = free_port() else { return };
    let data = scratch.join("killed");
    let start = match target {
        Target::Thalweg => thalweg_command(plan, address, &data),
        Target::Kafka => match prepare_kafka(tools, address, &data) {
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

/// One directory, Kafka and Thalweg in turn.
fn handover(tools: &Tools, plan: &Plan, scratch: &Path, tally: &Mutex<Tally>) {
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python/handover.py"));
    command.arg("--thalweg").arg(&plan.binary);
    command.arg("--jars").arg(&tools.jars).arg("--classes").arg(&tools.classes);
    command.arg("--scratch").arg(scratch);
    follow(command, "handover", Target::Thalweg, scratch, tally);
}

/// Runs a suite's program, counts its result lines, and shows them.
fn follow(mut command: Command, name: &str, target: Target, scratch: &Path, tally: &Mutex<Tally>) {
    let log = scratch.join(format!("{name}.log"));
    let start = Instant::now();
    let outcome = (|| {
        let errors = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(|e| format!("cannot start: {e}"))?;
        let out = child.stdout.take().ok_or("no output")?;
        let reader = std::thread::scope(|scope| {
            let reader = scope.spawn(|| read_results(out, target, tally));
            let deadline = start + Duration::from_secs(SUITE_SECONDS_MAX);
            while !reader.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(50));
            }
            if !reader.is_finished() {
                let _ = child.kill();
            }
            reader.join().map_err(|_| "reader failed".to_string())
        })?;
        let status = child.wait().map_err(|e| e.to_string())?;
        // The program's code only tells what its lines already told, unless there were none.
        match status.code() {
            Some(0) => Ok(reader),
            Some(1) if reader > 0 => Ok(reader),
            _ => Err(format!("ended with {status}; see {}", log.display())),
        }
    })();
    match outcome {
        Ok(_) => println!("  {name}: {:.0} s", start.elapsed().as_secs_f64()),
        Err(why) => record(tally, name, Some(&why), target),
    }
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
            _ => continue,
        }
        count += 1;
    }
    count
}

fn record(tally: &Mutex<Tally>, case: &str, failure: Option<&str>, target: Target) {
    let Ok(mut tally) = tally.lock() else { return };
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
        let address = free_port()?;
        let mut command = match target {
            Target::Kafka => prepare_kafka(tools, address, data)?,
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

/// Whether a broker answers an ApiVersions request there.
fn answers(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<()> {
        let wait = Duration::from_millis(500);
        let mut stream = TcpStream::connect_timeout(&address, wait)?;
        stream.set_read_timeout(Some(wait))?;
        // Size, key 18, version 0, correlation id, no client id.
        stream.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff])?;
        stream.read_exact(&mut [0; 4])
    };
    ask().is_ok()
}

fn free_port() -> Result<SocketAddr, String> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map_err(|e| format!("no free port: {e}"))
}

fn thalweg_command(plan: &Plan, address: SocketAddr, data: &Path) -> Command {
    let mut command = Command::new(&plan.binary);
    command.args(["serve", "--listen", &address.to_string(), "--data"]).arg(data);
    for (name, value) in SETTINGS {
        command.args(["--set", &format!("{name}={value}")]);
    }
    command
}

/// Formats a directory for Kafka with everything on one node; gives the command that starts it.
fn prepare_kafka(tools: &Tools, address: SocketAddr, data: &Path) -> Result<Command, String> {
    let controller = free_port()?;
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
    for (name, value) in SETTINGS {
        text.push_str(&format!("{name}={value}\n"));
    }
    let config = data.with_extension("properties");
    fs::write(&config, text).map_err(|e| format!("{}: {e}", config.display()))?;
    let jars = format!("{}/*", tools.jars.display());
    let format = Command::new("java")
        .args(["-Xmx128m", "-cp", &jars, "kafka.tools.StorageTool", "format", "--standalone"])
        .args(["-t", "thalwegTestClusterAAAA", "-c"])
        .arg(&config)
        .output()
        .map_err(|e| format!("java cannot be started: {e}"))?;
    if !format.status.success() {
        return Err(format!("format: {}", String::from_utf8_lossy(&format.stderr)));
    }
    let mut command = Command::new("java");
    command.args(["-Xms512m", "-Xmx512m", "-cp", &jars, "kafka.Kafka"]).arg(&config);
    Ok(command)
}
