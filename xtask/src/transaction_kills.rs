//! A broker that is killed between any two requests of a transaction (`tests/python/transaction_kills.py`): at some that the
//! seed draws within the client suites, at all of them by command.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::setup::{self, Tools};
use crate::test;

/// The suite's program, for one seed; the producer of Thalweg's client is built first.
pub fn command(tools: &Tools, binary: &Path, scratch: &Path, seed: u64) -> Result<Command, String> {
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python/transaction_kills.py"));
    command.arg("--binary").arg(binary).arg("--scratch").arg(scratch);
    command.arg("--transactor").arg(test::build_user_program(tools, "transactor")?);
    command.args(["--seed", &seed.to_string()]);
    Ok(command)
}

/// Every exchange, in each way.
pub fn run(tools: &Tools, binary: &Path, seed: u64) -> Result<(), String> {
    let scratch = tools.root.join("target/transaction-kills");
    setup::remove(&scratch)?;
    let mut command = command(tools, binary, &scratch, seed)?;
    let status = command.arg("--all").stdin(Stdio::null()).status();
    let status = status.map_err(|e| format!("{}: {e}", tools.python.display()))?;
    if status.success() { Ok(()) } else { Err(format!("transaction kills: {status}")) }
}
