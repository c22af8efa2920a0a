//! The one test command: everything that must hold before something lands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use crate::conformance::{self, Plan, Target};
use crate::installations;
use crate::kills;
use crate::krafka;
use crate::machines::{self, CLUSTER, COMMITS, CORES, GROUPS};
use crate::mixed;
use crate::nextest;
use crate::setup::{self, Tools};
use crate::shared::Shared;
use crate::soak;
use crate::tidy;

/// Programs as users of the client write them, outside of the workspace.
const USER: &str = "tests/user/Cargo.toml";

/// For how long clients of many makes are in groups together, in each mode.
const MIXED_MINUTES: u64 = 10;

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Without Apache Kafka beside Thalweg in the client suites.
    Quick,
    /// What must hold before something lands.
    Usual,
    /// The optimised binary that users get, and long soaks; takes hours.
    Full,
}

impl Form {
    fn kill_rounds(self) -> u32 {
        match self {
            Form::Quick => 1,
            Form::Usual => 3,
            Form::Full => 20,
        }
    }

    /// Interleavings of the client's cores.
    fn core_seeds(self) -> u64 {
        if self == Form::Full { 1_000_000 } else { 10_000 }
    }

    /// Lives of groups.
    fn group_seeds(self) -> u64 {
        if self == Form::Full { 1_000_000 } else { 4_000 }
    }

    /// Lives of a replicated partition.
    fn cluster_seeds(self) -> u64 {
        if self == Form::Full { 1_000_000 } else { 30_000 }
    }

    /// Lives of transactions.
    fn commit_seeds(self) -> u64 {
        if self == Form::Full { 1_000_000 } else { 10_000 }
    }

    fn soak_minutes(self) -> u64 {
        if self == Form::Full { 60 } else { 0 }
    }
}

/// What ran, over all steps.
#[derive(Debug, Default)]
pub struct Count {
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
}

impl Count {
    /// Adds the outcome of something.
    pub fn add(&mut self, passed: usize, failed: Vec<String>, skipped: Vec<String>) {
        self.passed += passed;
        self.failed.extend(failed);
        self.skipped.extend(skipped);
    }

    /// Prints what failed and what was left out, and the closing line alone on its line. Nothing that
    /// ran is a failure, too.
    pub fn close(&self) -> Result<(), String> {
        for name in &self.skipped {
            println!("skipped: {name}");
        }
        for name in &self.failed {
            println!("failed: {name}");
        }
        println!(
            "{} passed, {} failed, {} skipped",
            self.passed,
            self.failed.len(),
            self.skipped.len()
        );
        match (self.passed, self.failed.len()) {
            (0, 0) => Err("nothing ran".into()),
            (_, 0) => Ok(()),
            (_, failed) => Err(format!("{failed} failed")),
        }
    }
}

/// Runs every step, even after one failed, and reports all of them at the end.
pub fn run(root: &Path, form: Form) -> Result<(), String> {
    let began = Instant::now();
    let mut steps = Steps::default();
    let mut count = Count::default();
    let mut tools = None;
    steps.run("setup", || {
        tools = Some(setup::run(root)?);
        Ok(())
    });
    let Some(tools) = tools else {
        steps.report(began);
        return Err("without its tools nothing can be tested".into());
    };
    let seed = seed_of_commit(root)?;
    println!("seeds begin at {seed}; THALWEG_SEED_BASE={seed} repeats what this run drew");
    steps.run("fmt", || {
        cargo(&tools, &["fmt", "--all", "--check"])?;
        cargo(&tools, &["fmt", "--manifest-path", USER, "--check"])?;
        cargo(&tools, &["fmt", "--manifest-path", krafka::MANIFEST, "--check"])
    });
    steps.run("tidy", || tidy::run(root));
    let plan = Arc::new(plan(form, seed, nextest::binary(&tools)));
    // The suites against Apache Kafka need nothing that is built, and mostly wait: beside the compilers.
    let reference = (form == Form::Usual).then(|| {
        let (tools, plan) = (tools.clone(), Arc::clone(&plan));
        std::thread::spawn(move || conformance::show(&tools, &plan, 0))
    });
    steps.run_patiently("clippy", || {
        let what = ["clippy", "--workspace", "--all-targets", "--quiet", "--profile"];
        let how = [nextest::PROFILE, "--features", "thalweg-wire/json", "--", "-D", "warnings"];
        cargo(&tools, &[&what[..], &how[..]].concat())?;
        let place = user_place(&tools)?;
        let what = ["clippy", "--all-targets", "--quiet", "--profile", nextest::PROFILE];
        cargo(&tools, &[&what[..], &place[..], &["--", "-D", "warnings"]].concat())?;
        if form == Form::Full { krafka::clippy(&tools) } else { Ok(()) }
    });
    let mut binary = None;
    steps.run_patiently("build", || {
        binary = Some(nextest::build(&tools)?);
        Ok(())
    });
    let mut begun = None;
    if let Some(reference) = reference {
        steps.run("kafka", || {
            begun = Some(reference.join().map_err(|_| "it panicked")??);
            Ok(())
        });
    }
    steps.run("tests", || {
        let mut shared = Shared::start(&tools)?;
        let mut variables = vec![("THALWEG_SEED_BASE", seed.to_string())];
        variables.extend(shared.variables());
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let report = nextest::run(&tools, &variables)?;
        let failed = report.failed.len();
        count.add(report.passed, report.failed, report.skipped);
        if let Some(why) = shared.ended() {
            return Err(why);
        }
        if failed == 0 { Ok(()) } else { Err(format!("{failed} tests failed")) }
    });
    steps.run("doc tests", || {
        let (passed, failed) = doc_tests(&tools)?;
        count.add(passed, failed, Vec::new());
        Ok(())
    });
    if form == Form::Full {
        steps.run("release", || {
            binary = Some(build(&tools)?);
            Ok(())
        });
    }
    // The client suites mostly wait: what computes is done beside them, unless that takes hours.
    let mut beside = None;
    if form == Form::Full {
        computing(&tools, form, seed, &mut steps, &mut count);
    } else {
        let tools = tools.clone();
        beside = Some(std::thread::spawn(move || {
            let (mut steps, mut count) = (Steps::default(), Count::default());
            computing(&tools, form, seed, &mut steps, &mut count);
            (steps, count)
        }));
    }
    // So does the short form of the soak, which looks at no memory.
    let soaking = binary.clone().filter(|_| form != Form::Full).map(|binary| {
        let root = root.to_path_buf();
        std::thread::spawn(move || soak::run(&root, &binary, form.soak_minutes()))
    });
    if let Some(binary) = binary {
        if form == Form::Full {
            // One seed of it is among the client suites.
            steps.run("kills", || kills::run(&tools, &binary, form.soak_minutes(), seed));
            // Both modes.
            steps.run("mixed", || mixed::run(&tools, &binary, MIXED_MINUTES, seed));
        }
        steps.run("conformance", || {
            // Without the reference, whose step says why, there is nothing to compare with.
            if form == Form::Usual && begun.is_none() {
                return Err("the suites against Apache Kafka did not end".into());
            }
            let plan = Plan { binary: binary.clone(), ..Plan::clone(&plan) };
            let ran = conformance::run(&tools, &plan, begun.take())?;
            let failed = ran.failed.len();
            count.add(ran.passed, ran.failed, ran.skipped);
            if failed == 0 { Ok(()) } else { Err(format!("{failed} cases failed")) }
        });
        // Without minutes: one kill, one clean stop.
        steps.run("soak", || match soaking {
            Some(soaking) => soaking.join().map_err(|_| "it panicked")?,
            None => soak::run(root, &binary, form.soak_minutes()),
        });
    }
    if let Some(beside) = beside {
        match beside.join() {
            Ok((done, counted)) => {
                steps.list.extend(done.list);
                count.add(counted.passed, counted.failed, counted.skipped);
            }
            Err(_) => steps.run("beside", || Err("it panicked".into())),
        }
    }
    steps.report(began);
    // A step that counts nothing by itself counts as one.
    let (passed, failed) = steps.uncounted();
    count.add(passed, failed, Vec::new());
    count.close()
}

/// What of the client suites is run.
fn plan(form: Form, seed: u64, binary: PathBuf) -> Plan {
    Plan {
        targets: match form {
            Form::Quick => vec![Target::Thalweg],
            _ => vec![Target::Kafka, Target::Thalweg],
        },
        suites: Vec::new(),
        case: String::new(),
        kill_rounds: form.kill_rounds(),
        seed,
        installations: match form {
            Form::Full => installations::whole(),
            _ => installations::part(seed),
        },
        binary,
        record_cases: false,
        settings: Vec::new(),
        krafka: form == Form::Full,
    }
}

/// The steps that need processors and nothing else: state machines under many seeds, and users' programs, which are
/// compiled first.
fn computing(tools: &Tools, form: Form, seed: u64, steps: &mut Steps, count: &mut Count) {
    for (name, machines, seeds) in [
        ("cores", CORES, form.core_seeds()),
        ("groups", GROUPS, form.group_seeds()),
        ("cluster", CLUSTER, form.cluster_seeds()),
        ("commits", COMMITS, form.commit_seeds()),
    ] {
        steps.run_patiently(name, || machines::run(machines, tools, seeds, seed, None));
    }
    steps.run_patiently("user build", || build_user_programs(tools));
    steps.run("programs", || {
        let (passed, failed) = user_programs(tools)?;
        count.add(passed, failed, Vec::new());
        Ok(())
    });
}

/// Has this thread, and the processes that it starts, wait for all others that want a processor. Without `renice` they
/// do not.
fn yield_to_others() {
    let Ok(thread) = fs::read_link("/proc/thread-self") else { return };
    let Some(id) = thread.file_name() else { return };
    let _ = Command::new("renice").args(["-n", "15", "-p"]).arg(id).stdout(Stdio::null()).status();
}

/// A number that differs from commit to commit, so that what is drawn does, and that is the same for
/// whoever runs the commit again. `THALWEG_SEED_BASE` goes before it.
pub fn seed_of_commit(root: &Path) -> Result<u64, String> {
    if let Ok(text) = std::env::var("THALWEG_SEED_BASE") {
        return text.parse().map_err(|e| format!("THALWEG_SEED_BASE={text}: {e}"));
    }
    let output = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("git cannot be started: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Seeds are counted up from it, and written by people: eight hexadecimal digits are enough.
    let digits = text.get(..8).ok_or("not a checkout of git")?;
    u64::from_str_radix(digits, 16).map_err(|e| format!("{digits}: {e}"))
}

/// Examples in the documentation: how many passed, and the crates in which some did not.
fn doc_tests(tools: &Tools) -> Result<(usize, Vec<String>), String> {
    cargo_test(tools, "doc", &["--doc", "--workspace", "--features", "thalweg-wire/json"])
}

/// What users' programs do: how many tests passed, and which did not.
fn user_programs(tools: &Tools) -> Result<(usize, Vec<String>), String> {
    cargo_test(tools, "user", &user_place(tools)?)
}

/// Builds users' programs and their tests.
fn build_user_programs(tools: &Tools) -> Result<(), String> {
    let what = ["test", "--no-run", "--quiet", "--profile", nextest::PROFILE];
    cargo(tools, &[&what[..], &user_place(tools)?].concat())
}

/// Builds one of users' programs.
pub fn build_user_program(tools: &Tools, name: &str) -> Result<PathBuf, String> {
    let place = user_place(tools)?;
    let what = ["build", "--quiet", "--profile", nextest::PROFILE, "--bin", name];
    cargo(tools, &[&what[..], &place[..]].concat())?;
    Ok(tools.root.join("target").join(nextest::PROFILE).join(name))
}

/// Where cargo finds users' programs, and builds them.
fn user_place(tools: &Tools) -> Result<[&'static str; 5], String> {
    // The versions of the workspace, whose crates are built and downloaded already: cargo leaves out of
    // the copy what is not needed.
    let lock = tools.root.join(USER).with_file_name("Cargo.lock");
    fs::copy(tools.root.join("Cargo.lock"), &lock)
        .map_err(|e| format!("{}: {e}", lock.display()))?;
    Ok(["--manifest-path", USER, "--target-dir", "target", "--offline"])
}

/// Runs tests of a kind: how many passed, and which did not.
fn cargo_test(tools: &Tools, kind: &str, which: &[&str]) -> Result<(usize, Vec<String>), String> {
    let mut command = cargo_command(tools);
    command.args(["test", "--no-fail-fast", "--profile", nextest::PROFILE]).args(which);
    let output = command.output().map_err(|e| format!("cargo cannot be started: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut passed = 0;
    let mut failed = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("test result: ") {
            let number = |word: &str| {
                let before = rest.split(&format!(" {word}")).next()?;
                before.rsplit(' ').next()?.parse::<usize>().ok()
            };
            passed += number("passed").ok_or(format!("cannot read {line:?}"))?;
        } else if let Some(name) = line.strip_suffix(" ... FAILED") {
            failed.push(format!("{kind} {name}"));
        }
    }
    if !output.status.success() && failed.is_empty() {
        return Err(format!("they do not compile:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    if !failed.is_empty() {
        println!("{text}");
    }
    if passed + failed.len() == 0 { Err("there are none".into()) } else { Ok((passed, failed)) }
}

/// Builds the binary that users get.
pub fn build(tools: &Tools) -> Result<PathBuf, String> {
    build_in(&tools.root, &tools.jars)
}

/// The same where nothing but Kafka's jars is needed.
pub fn build_in(root: &Path, jars: &Path) -> Result<PathBuf, String> {
    // What is shipped has jemalloc.
    let build =
        ["build", "--release", "--quiet", "--package", "thalweg-cli", "--features", "jemalloc"];
    run_cargo(cargo_in(root, jars), &build)?;
    Ok(root.join("target/release/thalweg"))
}

fn cargo_command(tools: &Tools) -> Command {
    cargo_in(&tools.root, &tools.jars)
}

fn cargo_in(root: &Path, jars: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    setup::cargo_environment(&mut command, root, jars);
    command.stdin(Stdio::null());
    command
}

/// Runs cargo in the checkout.
pub fn cargo(tools: &Tools, args: &[&str]) -> Result<(), String> {
    run_cargo(cargo_command(tools), args)
}

fn run_cargo(mut cargo: Command, args: &[&str]) -> Result<(), String> {
    let status = cargo.args(args).status();
    let status = status.map_err(|e| format!("cargo cannot be started: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} ended with {status}", args[0])) }
}

/// The steps so far: name, seconds, and what went wrong.
#[derive(Default)]
struct Steps {
    list: Vec<(String, f64, Option<String>)>,
}

impl Steps {
    fn run(&mut self, name: &str, step: impl FnOnce() -> Result<(), String>) {
        println!("== {name}");
        let start = Instant::now();
        let outcome = step();
        if let Err(why) = &outcome {
            println!("{name}: {why}");
        }
        self.list.push((name.to_string(), start.elapsed().as_secs_f64(), outcome.err()));
    }

    /// The same, on a thread that waits for all others that want a processor.
    fn run_patiently(&mut self, name: &str, step: impl FnOnce() -> Result<(), String> + Send) {
        let patient = || {
            yield_to_others();
            step()
        };
        let on_a_thread = || std::thread::scope(|scope| scope.spawn(patient).join());
        self.run(name, || on_a_thread().map_err(|_| "it panicked")?);
    }

    /// The steps of which nothing else counts anything: how many passed, and which did not.
    fn uncounted(&self) -> (usize, Vec<String>) {
        const COUNTED: [&str; 4] = ["tests", "doc tests", "programs", "conformance"];
        let (mut passed, failed): (Vec<_>, Vec<_>) =
            self.list.iter().partition(|step| step.2.is_none());
        passed.retain(|step| !COUNTED.contains(&step.0.as_str()));
        let failed = failed
            .iter()
            .map(|(name, _, why)| format!("step {name}: {}", why.as_deref().unwrap_or_default()));
        (passed.len(), failed.collect())
    }

    /// Steps run beside each other, so that the whole takes less than their sum.
    fn report(&self, began: Instant) {
        println!("== summary");
        for (name, seconds, failure) in &self.list {
            let verdict =
                failure.as_deref().map_or("ok".to_string(), |why| format!("FAILED: {why}"));
            println!("{name:>12} {seconds:6.0} s  {verdict}");
        }
        println!("{:>12} {:6.0} s", "all", began.elapsed().as_secs_f64());
    }
}
