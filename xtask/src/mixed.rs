//! Unmodified clients of many makes in consumer groups: the soak of one group of them
//! (`tests/python/group_soak.py`) and that of one group for each make (`tests/python/makes_soak.py`), in both modes of
//! `thalweg.group.classic.rebalance.mode`, what becomes of them when their coordinator moves to a Java broker
//! (`tests/python/coordinator_moves.py`), what a held heartbeat does to each of them (`tests/python/held_heartbeats.py`),
//! and what the end of a connection does (`tests/python/makes_disconnects.py`).

use std::path::Path;
use std::process::{Command, Stdio};

use crate::go;
use crate::krafka;
use crate::setup::{self, Tools};
use crate::test;

/// Runs each mode for so many minutes, and one group of clients at least.
pub fn run(tools: &Tools, binary: &Path, minutes: u64, seed: u64) -> Result<(), String> {
    let mut command = with_clients(tools, binary, "group_soak.py", "target/mixed")?;
    command.args(["--minutes", &minutes.to_string(), "--seed", &seed.to_string()]);
    call(command)
}

/// Has one group of each of the makes that have groups of their own, for so many minutes.
pub fn makes(tools: &Tools, binary: &Path, minutes: u64, seed: u64) -> Result<(), String> {
    let mut command = script(tools, binary, "makes_soak.py", "target/makes")?;
    command.arg("--node-modules").arg(&tools.node_modules);
    add_go_programs(tools, &mut command)?;
    add_makes(tools, &mut command)?;
    command.args(["--minutes", &minutes.to_string(), "--seed", &seed.to_string()]);
    call(command)
}

/// The options of the client suites: a group of librdkafka's that the coordinator assigns, whose coordinator moves to a
/// Java broker.
pub const SHORT_MOVES: [&str; 6] =
    ["--mode", "server", "--only", "confluent", "--steps", "start,move"];

/// The program of coordinators that move, without the makes' other programs. `options` are its own.
pub fn moves_command(tools: &Tools, binary: &Path, scratch: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python/coordinator_moves.py"));
    command.arg("--binary").arg(binary).arg("--scratch").arg(scratch);
    command.arg("--jars").arg(&tools.jars).arg("--classes").arg(&tools.classes);
    command.args(options);
    command
}

/// Moves the coordinator of groups of each make to a Java broker and back.
pub fn coordinator_moves(tools: &Tools, binary: &Path, options: &[&str]) -> Result<(), String> {
    let mut command = with_clients(tools, binary, "coordinator_moves.py", "target/moves")?;
    add_makes(tools, &mut command)?;
    command.args(options);
    call(command)
}

/// Ends connections of every make, and kills members, with and without a disconnect grace; lines of JSON go to a file.
pub fn disconnects(tools: &Tools, binary: &Path, out: &str) -> Result<(), String> {
    let mut command = with_clients(tools, binary, "makes_disconnects.py", "target/disconnects")?;
    add_makes(tools, &mut command)?;
    command.args(["--out", out]);
    call(command)
}

/// Looks at held heartbeats, client by client, and writes what it saw to a file and, as a table, to one
/// beside it.
pub fn held_heartbeats(tools: &Tools, binary: &Path, out: &str) -> Result<(), String> {
    let mut command = with_clients(tools, binary, "held_heartbeats.py", "target/held-heartbeats")?;
    command.args(["--out", out]);
    call(command)
}

/// A script that is told where the clients' programs are.
fn with_clients(
    tools: &Tools,
    binary: &Path,
    script: &str,
    scratch: &str,
) -> Result<Command, String> {
    let mut command = self::script(tools, binary, script, scratch)?;
    command.arg("--jars").arg(&tools.jars).arg("--classes").arg(&tools.classes);
    command.arg("--node-modules").arg(&tools.node_modules);
    command.arg("--rust-worker").arg(test::build_user_program(tools, "group_worker")?);
    add_go_programs(tools, &mut command)?;
    Ok(command)
}

/// A script that starts the broker's binary, and has a fresh folder.
fn script(tools: &Tools, binary: &Path, name: &str, scratch: &str) -> Result<Command, String> {
    let scratch = tools.root.join(scratch);
    setup::remove(&scratch)?;
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python").join(name));
    command.arg("--binary").arg(binary).arg("--scratch").arg(&scratch);
    Ok(command)
}

fn add_go_programs(tools: &Tools, command: &mut Command) -> Result<(), String> {
    match go::lacks(&tools.root) {
        Some(why) => println!("clients in Go are left out: {why}"),
        None => {
            command.arg("--go-workers").arg(go::programs(&tools.root)?);
        }
    }
    Ok(())
}

/// The programs of makes that have groups of their own, but for those in Node and Go.
fn add_makes(tools: &Tools, command: &mut Command) -> Result<(), String> {
    command.arg("--makes").arg(&tools.makes).arg("--krafka").arg(krafka::program(tools)?);
    Ok(())
}

fn call(mut command: Command) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    let status = command.stdin(Stdio::null()).status().map_err(|e| format!("{name}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("clients of many makes: {status}")) }
}
