//! A cluster of Java's controllers and brokers and of Thalweg's, in which processes, network and disks fail while clients
//! write (`tests/python/chaos.py`): a minute within the client suites, as long as is wanted by command. The same while
//! records are copied in transactions (`tests/python/exactly_once.py`), or postings of a bank are made by tellers who
//! fail, too (`tests/python/bank.py`).

use std::path::Path;
use std::process::{Command, Stdio};

use crate::setup::{self, Tools};
use crate::test;

/// Brokers of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Brokers {
    pub java: u32,
    pub thalweg: u32,
}

/// As many have addresses in the network of a run.
pub const BROKERS_MAX: u32 = 200;
/// Those of the client suites.
pub const MIXED: Brokers = Brokers { java: 1, thalweg: 2 };
/// What may fail.
const KINDS: [&str; 3] = ["process", "network", "disk"];

/// How long something fails, and what.
#[derive(Clone, Copy, Debug)]
pub struct Faults<'a> {
    pub minutes: &'a str,
    /// Kinds of `KINDS`, with commas; all that the machine permits if none are named.
    pub kinds: Option<&'a str>,
}

/// What fails within the client suites.
pub const SHORT: Faults<'static> = Faults { minutes: "1", kinds: None };
/// The same while records are copied in transactions.
pub const SHORT_TRANSACTIONS: Faults<'static> = Faults { minutes: "0.6", kinds: Some("process") };

impl<'a> Faults<'a> {
    /// What a command's options say; `rest` takes those that it does not know.
    pub fn parse(
        what: &str,
        minutes: &'a str,
        args: &[&'a str],
        mut rest: impl FnMut(&str, &str) -> Result<bool, String>,
    ) -> Result<Self, String> {
        let mut faults = Self { minutes, kinds: None };
        for pair in args.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("{what}: {} has no value", pair[0]));
            };
            match *name {
                "--minutes" => faults.minutes = value,
                "--faults" => faults.kinds = Some(value),
                _ if rest(name, value)? => {}
                _ => return Err(format!("{what}: there is no {name}")),
            }
        }
        match faults.minutes.parse::<f64>() {
            Ok(minutes) if minutes.is_finite() && minutes >= 0.0 => {}
            _ => return Err(format!("{what}: {} is no number of minutes", faults.minutes)),
        }
        let unknown = |kind: &&str| !KINDS.contains(kind);
        if let Some(kind) = faults.kinds.and_then(|kinds| kinds.split(',').find(unknown)) {
            let known = KINDS.join(", ");
            return Err(format!("{what}: there are no faults of {kind:?}; there are {known}"));
        }
        Ok(faults)
    }
}

/// The suite's program, for one seed.
pub fn command(
    tools: &Tools,
    binary: &Path,
    scratch: &Path,
    seed: u64,
    brokers: Brokers,
    faults: Faults<'_>,
) -> Command {
    let mut command = program(tools, "chaos", binary, scratch, seed, faults);
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
    faults: Faults<'_>,
) -> Command {
    program(tools, "exactly_once", binary, scratch, seed, faults)
}

/// The program of the bank, for one seed; its tellers of the client are built first.
pub fn bank(
    tools: &Tools,
    binary: &Path,
    scratch: &Path,
    seed: u64,
    faults: Faults<'_>,
) -> Result<Command, String> {
    let mut command = program(tools, "bank", binary, scratch, seed, faults);
    command.arg("--teller").arg(test::build_user_program(tools, "teller")?);
    Ok(command)
}

fn program(
    tools: &Tools,
    name: &str,
    binary: &Path,
    scratch: &Path,
    seed: u64,
    faults: Faults<'_>,
) -> Command {
    let mut command = Command::new(&tools.python);
    command.arg(tools.root.join(format!("tests/python/{name}.py")));
    command.arg("--binary").arg(binary).arg("--jars").arg(&tools.jars);
    command.arg("--scratch").arg(scratch).args(["--seed", &seed.to_string()]);
    command.args(["--minutes", faults.minutes]);
    if let Some(kinds) = faults.kinds {
        command.args(["--faults", kinds]);
    }
    command
}

/// Runs one seed. With `upgrades` Java's nodes are of the release before at first, and are upgraded meanwhile.
pub fn run(
    tools: &Tools,
    binary: &Path,
    faults: Faults<'_>,
    seed: u64,
    brokers: Brokers,
    upgrades: bool,
) -> Result<(), String> {
    let scratch = tools.root.join("target/chaos");
    setup::remove(&scratch)?;
    let mut command = command(tools, binary, &scratch, seed, brokers, faults);
    if upgrades {
        command.arg("--earlier-jars").arg(&tools.previous_jars);
    }
    finish(tools, command, seed)
}

/// Copies records in transactions, with one seed.
pub fn transactions(
    tools: &Tools,
    binary: &Path,
    faults: Faults<'_>,
    seed: u64,
) -> Result<(), String> {
    let scratch = tools.root.join("target/exactly-once");
    setup::remove(&scratch)?;
    finish(tools, exactly_once(tools, binary, &scratch, seed, faults), seed)
}

/// The bank, with one seed.
pub fn run_bank(tools: &Tools, binary: &Path, faults: Faults<'_>, seed: u64) -> Result<(), String> {
    let scratch = tools.root.join("target/bank");
    setup::remove(&scratch)?;
    finish(tools, bank(tools, binary, &scratch, seed, faults)?, seed)
}

fn finish(tools: &Tools, mut command: Command, seed: u64) -> Result<(), String> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|e| format!("{}: {e}", tools.python.display()))?;
    let again = format!("THALWEG_SEED_BASE={seed} runs it again");
    if status.success() { Ok(()) } else { Err(format!("{status}; {again}")) }
}
