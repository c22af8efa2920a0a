//! Unmodified clients of many makes in one consumer group (`tests/python/group_soak.py`), in both modes of
//! `thalweg.group.classic.rebalance.mode`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::setup::{self, Tools};

/// Runs each mode for so many minutes, and one group of clients at least.
pub fn run(tools: &Tools, binary: &Path, minutes: u64, seed: u64) -> Result<(), String> {
    let scratch = tools.root.join("target/mixed");
    setup::remove(&scratch)?;
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join("tests/python/group_soak.py"));
    command.arg("--binary").arg(binary).arg("--scratch").arg(&scratch);
    command.args(["--minutes", &minutes.to_string(), "--seed", &seed.to_string()]);
    command.arg("--jars").arg(&tools.jars).arg("--classes").arg(&tools.classes);
    command.arg("--node-modules").arg(&tools.node_modules);
    if let Some(folder) = go_workers(&tools.root) {
        command.arg("--go-workers").arg(folder);
    }
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|e| format!("{}: {e}", tools.python.display()))?;
    if status.success() { Ok(()) } else { Err(format!("mixed: {status}")) }
}

/// The members in Go. They are the only programs that need it: without it, or without the modules, they
/// are left out.
fn go_workers(root: &Path) -> Option<PathBuf> {
    let folder = root.join("target/go-workers");
    let into = format!("{}/", folder.display());
    let built = setup::call(&root.join("tests/go"), "go", &["build", "-o", &into, "./..."]);
    built.map_err(|why| println!("mixed: franz-go and Sarama are left out: {why}")).ok()?;
    Some(folder)
}
