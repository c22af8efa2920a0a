//! The one test command: everything that must hold before something lands.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::conformance::{self, Plan, Tally, Target};
use crate::cores;
use crate::setup::{self, Tools};
use crate::soak;
use crate::tidy;

/// Compilers at once; more only fight for two cores and memory.
const BUILD_JOBS: &str = "2";

/// Runs every step, even after one failed, and reports all of them at the end.
pub fn run(root: &Path, quick: bool) -> Result<(), String> {
    let mut steps = Steps::default();
    let tools = setup::run(root)?;
    steps.done("setup", Ok(()));
    steps.run("fmt", || cargo(&tools, &["fmt", "--all", "--check"]));
    steps.run("tidy", || tidy::run(root));
    steps.run("clippy", || {
        let common = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
        cargo(&tools, &common)
    });
    steps
        // With the feature that the comparison with Kafka's own message classes needs.
        .run("cargo test", || {
            let features = ["--features", "thalweg-wire/json"];
            cargo(
                &tools,
                &[&["test", "--workspace", "--no-fail-fast", "--quiet"], &features[..]].concat(),
            )
        });
    let mut tally = None;
    let mut binary = None;
    steps.run("build", || {
        binary = Some(build(&tools)?);
        Ok(())
    });
    if let Some(binary) = binary {
        // The short form of `cargo xtask soak`: one kill, one kind stop.
        steps.run("soak", || soak::run(root, &binary, 0));
        steps.run("soak cores", || cores::run(root, 10_000, None));
        steps.run("conformance", || {
            let targets =
                if quick { vec![Target::Thalweg] } else { vec![Target::Kafka, Target::Thalweg] };
            let plan = Plan {
                targets,
                suites: Vec::new(),
                case: String::new(),
                kill_rounds: if quick { 1 } else { 3 },
                binary,
            };
            let ran = conformance::run(&tools, &plan)?;
            let failed = ran.failed.len();
            tally = Some(ran);
            if failed == 0 { Ok(()) } else { Err(format!("{failed} cases failed")) }
        });
    }
    steps.report();
    if let Some(tally) = &tally {
        summary(tally);
    }
    match steps.failed() {
        0 => Ok(()),
        number => Err(format!("{number} of {} steps failed", steps.list.len())),
    }
}

/// Prints what failed, and the closing line alone on its line.
pub fn summary(tally: &Tally) {
    for name in &tally.failed {
        println!("failed: {name}");
    }
    println!("{} passed, {} failed", tally.passed, tally.failed.len());
}

/// Builds the binary that users get.
pub fn build(tools: &Tools) -> Result<PathBuf, String> {
    cargo(tools, &["build", "--release", "--quiet", "--package", "thalweg-cli"])?;
    Ok(tools.root.join("target/release/thalweg"))
}

fn cargo(tools: &Tools, args: &[&str]) -> Result<(), String> {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(args)
        .current_dir(&tools.root)
        .env("CARGO_BUILD_JOBS", BUILD_JOBS)
        .env("THALWEG_KAFKA_JARS", &tools.jars)
        .stdin(Stdio::null())
        .status()
        .map_err(|e| format!("cargo cannot be started: {e}"))?;
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

    fn done(&mut self, name: &str, outcome: Result<(), String>) {
        self.run(name, || outcome);
    }

    fn failed(&self) -> usize {
        self.list.iter().filter(|step| step.2.is_some()).count()
    }

    fn report(&self) {
        println!("== summary");
        for (name, seconds, failure) in &self.list {
            let verdict =
                failure.as_deref().map_or("ok".to_string(), |why| format!("FAILED: {why}"));
            println!("{name:>12} {seconds:6.0} s  {verdict}");
        }
    }
}
