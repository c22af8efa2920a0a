//! Brokers of a live cluster that go and come back one by one, as Apache Kafka or as Thalweg (`tests/python/rolling.py`): a
//! move there and back within the client suites, any plan by command.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::setup::{self, Tools};

/// What the client suites do: a broker of Java's is Thalweg's for a while, one of Thalweg's is stopped, one killed.
pub const SHORT: [&str; 4] =
    ["--brokers", "java,thalweg,thalweg", "--plan", "1=thalweg,2,1=java,3!"];

/// The suite's program. `options` are its own.
pub fn command(
    tools: &Tools,
    binary: &Path,
    scratch: &Path,
    seed: u64,
    options: &[&str],
) -> Command {
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python/rolling.py"));
    command.arg("--binary").arg(binary).arg("--jars").arg(&tools.jars);
    command.arg("--scratch").arg(scratch).args(["--seed", &seed.to_string()]);
    command.args(options);
    command
}

/// Runs a plan.
pub fn run(tools: &Tools, binary: &Path, seed: u64, options: &[&str]) -> Result<(), String> {
    let scratch = tools.root.join("target/rolling");
    setup::remove(&scratch)?;
    let mut command = command(tools, binary, &scratch, seed, options);
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|e| format!("{}: {e}", tools.python.display()))?;
    let again = format!("THALWEG_SEED_BASE={seed} runs it again");
    if status.success() { Ok(()) } else { Err(format!("rolling: {status}; {again}")) }
}
