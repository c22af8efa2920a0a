//! A cluster of Java's controllers and brokers and of Thalweg's, whose brokers fail while clients write
//! (`tests/python/chaos.py`): half a minute within the client suites, as long as is wanted by command. The same while
//! records are copied in transactions (`tests/python/exactly_once.py`).

use std::path::Path;
use std::process::{Command, Stdio};

use crate::setup::{self, Tools};

/// Brokers of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Brokers {
    pub java: u32,
    pub thalweg: u32,
}

/// Those of the client suites.
pub const MIXED: Brokers = Brokers { java: 1, thalweg: 2 };
/// How long they fail there, in each of the two suites.
pub const SHORT_MINUTES: &str = "0.6";

/// The suite's program, for one seed.
pub fn command(
    tools: &Tools,
    binary: &Path,
    scratch: &Path,
    seed: u64,
    brokers: Brokers,
    minutes: &str,
) -> Command {
    let mut command = program(tools, "chaos", binary, scratch, seed, minutes);
    command.args(["--java", &brokers.java.to_string()]);
    command.args(["--thalweg", &brokers.thalweg.to_string()]);
    command
}

/// The program of the suite that copies records in transactions, for one seed.
pub fn exactly_once(
    tools: &Tools,
    binary: &Path,
    scratch: &Path,
    seed: u64,
    minutes: &str,
) -> Command {
    program(tools, "exactly_once", binary, scratch, seed, minutes)
}

fn program(
    tools: &Tools,
    name: &str,
    binary: &Path,
    scratch: &Path,
    seed: u64,
    minutes: &str,
) -> Command {
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join(format!("tests/python/{name}.py")));
    command.arg("--binary").arg(binary).arg("--jars").arg(&tools.jars);
    command.arg("--scratch").arg(scratch).args(["--seed", &seed.to_string()]);
    command.args(["--minutes", minutes]);
    command
}

/// Runs one seed for so many minutes.
pub fn run(
    tools: &Tools,
    binary: &Path,
    minutes: &str,
    seed: u64,
    brokers: Brokers,
) -> Result<(), String> {
    let scratch = tools.root.join("target/chaos");
    setup::remove(&scratch)?;
    finish(tools, command(tools, binary, &scratch, seed, brokers, minutes), seed)
}

/// Copies records in transactions for so many minutes, with one seed.
pub fn transactions(tools: &Tools, binary: &Path, minutes: &str, seed: u64) -> Result<(), String> {
    let scratch = tools.root.join("target/exactly-once");
    setup::remove(&scratch)?;
    finish(tools, exactly_once(tools, binary, &scratch, seed, minutes), seed)
}

fn finish(tools: &Tools, mut command: Command, seed: u64) -> Result<(), String> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|e| format!("{}: {e}", tools.python.display()))?;
    let again = format!("THALWEG_SEED_BASE={seed} runs it again");
    if status.success() { Ok(()) } else { Err(format!("{status}; {again}")) }
}
