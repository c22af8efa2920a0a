//! A broker that dies at any moment, under everything that changes what it holds
//! (`tests/python/kills.py`): one seed within the client suites, one after the other for as long as is
//! wanted.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::setup::{self, Tools};

/// Rounds of one seed in the long form; the first of them are those of the short one.
const ROUNDS: u32 = 12;

/// The suite's program, for one seed.
pub fn command(tools: &Tools, binary: &Path, scratch: &Path, seed: u64) -> Command {
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python/kills.py"));
    command.arg("--binary").arg(binary).arg("--scratch").arg(scratch);
    command.args(["--seed", &seed.to_string()]);
    command
}

/// Runs seed after seed for so many minutes, and one at least.
pub fn run(tools: &Tools, binary: &Path, minutes: u64, seed: u64) -> Result<(), String> {
    let scratch = tools.root.join("target/kills");
    setup::remove(&scratch)?;
    let mut command = command(tools, binary, &scratch, seed);
    command.args(["--minutes", &minutes.to_string(), "--rounds", &ROUNDS.to_string()]);
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|e| format!("{}: {e}", tools.python.display()))?;
    if status.success() { Ok(()) } else { Err(format!("kills: {status}")) }
}
