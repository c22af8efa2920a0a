//! Automation: schemas, codegen, setup, test, conformance, soak, chaos, rolling restarts, clusters, held heartbeats,
//! mutations, tidy, rooms, deny.

mod cases;
mod chaos;
mod cluster;
mod codegen;
mod conformance;
mod differences;
mod go;
mod installations;
#[path = "../../crates/testkit/src/jvm.rs"]
mod jvm;
mod kills;
mod krafka;
mod limited;
mod machines;
mod map;
mod mixed;
mod nextest;
#[path = "../../crates/testkit/src/ports.rs"]
mod ports;
#[path = "../../crates/testkit/src/releases.rs"]
mod releases;
mod rolling;
mod rooms;
mod schemas;
mod setup;
mod shared;
mod soak;
mod test;
mod tidy;
mod transaction_kills;

use crate::machines::{CLUSTER, COMMITS, CORES, GROUPS, Machines};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask COMMAND
  schemas DIR               derive schemas/ from the JSON in Kafka's jars
  codegen [--check]         write, or compare, the generated code
  setup                     install what the tests need
  test [--quick|--full]     everything that must hold; quick without Apache Kafka in the client
                            suites, full with the release build and long soaks
  conformance [--against BROKER[,BROKER]] [--suite LIST] [--case TEXT]
              [--kill-rounds N] [--installations whole] [--binary FILE] [--record-cases yes]
              [--set NAME=VALUE] [--krafka yes]
                            client suites against kafka, thalweg (with settings) or both; with
                            two brokers what they showed is compared, and
                            tests/cases.txt can be written anew; whole
                            installations are moved in two ways that differ
                            from commit to commit, or in all; the make krafka
                            is left out unless it is asked for, because
                            compiling it takes a minute
  soak [MINUTES]            one directory, every codec, kind stops and kills in turn
                            (default 60 minutes)
  soak cores [SEEDS [FILE]] the client's cores, in so many interleavings [a million]; result to FILE
  soak groups [SEEDS [FILE]] the same of the group coordinator's state machines
  soak cluster [SEEDS [FILE]] the same of replication: a partition on brokers that fail
  soak commits [SEEDS [FILE]] the same of transactions: clients, coordinators, partitions and a group
  chaos [--minutes N] [--java N] [--thalweg N] [--faults process,network,disk] [--upgrade yes]
                            a cluster of both makes in which processes, the network between them and disks
                            fail while clients write [60, 1, 2, all that the machine permits]; Java's nodes
                            may be upgraded meanwhile, from the release before the oracle's;
                            THALWEG_SEED_BASE=N runs a seed again
  rolling [--brokers MAKE,MAKE,MAKE] [--plan restart|there-and-back|STEPS] [--out FILE]
                            brokers of a cluster under load go and come back one by one, on the same
                            directories, as java or as thalweg [java,java,java there-and-back]; a step is
                            BROKER[!][=MAKE], ! for kill -9
  cluster up [--controllers N] [--java N] [--thalweg N]|status|down
                            a cluster on this machine to look at, with Kafka's controllers [3, 0, 3]
  soak transactions [MINUTES] [--faults process,network,disk]
                            records copied exactly once by transactions while the same fails [10];
                            THALWEG_SEED_BASE=N runs a seed again
  soak bank [MINUTES] [--faults process,network,disk]
                            transfers between accounts, by tellers who are killed, too, while the same
                            fails [60]; THALWEG_SEED_BASE=N runs a seed again
  soak kills [MINUTES]      a broker that is killed in all that it does [60]; THALWEG_SEED_BASE=N and
                            0 minutes repeat a seed
  soak transaction-kills    a broker that is killed before, during and after each request of transactions
  soak mixed [MINUTES]      clients of many makes in one group, killed, paused and restarted, with each
                            rebalance mode for so long [1]; repeats a seed as soak kills does
  soak makes [MINUTES]      a group of each of seven other makes, whose members are scaled, killed, paused and
                            cut off, in both modes in turn [60]; repeats a seed as soak kills does
  soak coordinator-moves [--brokers thalweg,java|java,java] [--mode server|barrier] [--only LIST]
                         [--steps LIST] [--at-once N] [--out FILE]
                            a group of each make of client, whose coordinator moves to a Java broker and
                            back, by elections and by kill -9
  soak disconnects FILE     connections of every make end, and members are killed, with and without a disconnect
                            grace: lines of JSON to FILE, tables to standard output
  held-heartbeats FILE      what a held heartbeat does to each make of client, to FILE.json and FILE.md
  mutations [NAME...]       puts deliberate faults in, one at a time, that tests must notice;
                            NAME is a fault's or a suite's of tests/mutations.toml
  tidy                      house rules
  rooms [--imports]         files, lines, circles of imports and imports from folder to folder of the
                            crates in xtask/rooms.txt; or every import with its place
  deny                      licences, bans, sources and advisories, by cargo-deny";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = root();
    let result = match words.as_slice() {
        _ if words.iter().any(|word| matches!(*word, "--help" | "-h" | "help")) => {
            println!("{USAGE}");
            Ok(())
        }
        ["schemas", from] => schemas::run(&root, Path::new(from)),
        ["codegen"] => codegen::run(&root, &root),
        ["codegen", "--check"] => codegen::check(&root, &root.join("target/gen-check")),
        ["setup"] => setup::run(&root).map(drop),
        ["test"] => test::run(&root, test::Form::Usual),
        ["test", "--quick"] => test::run(&root, test::Form::Quick),
        ["test", "--full"] => test::run(&root, test::Form::Full),
        ["soak", "cores"] => soak_machines(&root, CORES, "1000000", None),
        ["soak", "cores", seeds] => soak_machines(&root, CORES, seeds, None),
        ["soak", "cores", seeds, file] => soak_machines(&root, CORES, seeds, Some(file)),
        ["soak", "groups"] => soak_machines(&root, GROUPS, "1000000", None),
        ["soak", "groups", seeds] => soak_machines(&root, GROUPS, seeds, None),
        ["soak", "groups", seeds, file] => soak_machines(&root, GROUPS, seeds, Some(file)),
        ["soak", "cluster"] => soak_machines(&root, CLUSTER, "1000000", None),
        ["soak", "cluster", seeds] => soak_machines(&root, CLUSTER, seeds, None),
        ["soak", "cluster", seeds, file] => soak_machines(&root, CLUSTER, seeds, Some(file)),
        ["soak", "commits"] => soak_machines(&root, COMMITS, "1000000", None),
        ["soak", "commits", seeds] => soak_machines(&root, COMMITS, seeds, None),
        ["soak", "commits", seeds, file] => soak_machines(&root, COMMITS, seeds, Some(file)),
        ["chaos", rest @ ..] => chaos(&root, rest),
        ["rolling", rest @ ..] => rolling(&root, rest),
        ["cluster", "up", rest @ ..] => cluster_up(&root, rest),
        ["cluster", "status"] => {
            let jars = setup::kafka(&root);
            jars.and_then(|jars| cluster::status(&root, &test::build_in(&root, &jars)?))
        }
        ["cluster", "down"] => cluster::down(&root),
        ["soak", "kills"] => kills(&root, "60"),
        ["soak", "kills", minutes] => kills(&root, minutes),
        ["soak", "transactions", rest @ ..] => transactions(&root, rest),
        ["soak", "bank", rest @ ..] => bank(&root, rest),
        ["soak", "transaction-kills"] => transaction_kills(&root),
        ["soak", "mixed"] => mixed(&root, "1"),
        ["soak", "mixed", minutes] => mixed(&root, minutes),
        ["soak", "makes"] => makes(&root, "60"),
        ["soak", "makes", minutes] => makes(&root, minutes),
        ["soak", "coordinator-moves", rest @ ..] => coordinator_moves(&root, rest),
        ["soak", "disconnects", file] => disconnects(&root, file),
        ["soak"] => soak(&root, "60"),
        ["soak", minutes] => soak(&root, minutes),
        ["held-heartbeats", out] => held_heartbeats(&root, out),
        ["mutations", names @ ..] => mutations(&root, names),
        ["tidy"] => tidy::run(&root),
        ["rooms"] => rooms::run(&root, rooms::Form::Figures),
        ["rooms", "--imports"] => rooms::run(&root, rooms::Form::Imports),
        // For work on the rules: lines of rooms.txt, and names that the check takes for other crates'.
        ["rooms", "--exceptions"] => rooms::run(&root, rooms::Form::Exceptions),
        ["rooms", "--outside"] => rooms::run(&root, rooms::Form::Outside),
        ["deny"] => deny(&root),
        ["conformance", options @ ..] => conformance(&root, options),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Runs the client suites by themselves.
fn conformance(root: &Path, options: &[&str]) -> Result<(), String> {
    let seed = test::seed_of_commit(root)?;
    let mut plan = conformance::Plan {
        targets: vec![conformance::Target::Thalweg],
        suites: Vec::new(),
        case: String::new(),
        kill_rounds: 20,
        seed,
        installations: installations::part(seed),
        binary: PathBuf::new(),
        record_cases: false,
        settings: Vec::new(),
        krafka: false,
    };
    for pair in options.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} needs a value", pair[0])) };
        match (*name, *value) {
            ("--against", list) => {
                let list = if list == "both" { "kafka,thalweg" } else { list };
                plan.targets = list
                    .split(',')
                    .map(|name| match name {
                        "kafka" => Ok(conformance::Target::Kafka),
                        "thalweg" => Ok(conformance::Target::Thalweg),
                        _ => Err(format!("--against: kafka, thalweg or both, not {name}")),
                    })
                    .collect::<Result<_, _>>()?;
            }
            ("--suite", list) => plan.suites = list.split(',').map(str::to_string).collect(),
            ("--case", text) => plan.case = text.into(),
            ("--kill-rounds", number) => {
                plan.kill_rounds = number.parse().map_err(|e| format!("--kill-rounds: {e}"))?;
            }
            ("--installations", "whole") => plan.installations = installations::whole(),
            ("--binary", path) => plan.binary = path.into(),
            ("--set", setting) => plan.settings.push(setting.into()),
            ("--krafka", "yes") => plan.krafka = true,
            // The list has the cases of the longest form.
            ("--record-cases", "yes") => (plan.record_cases, plan.krafka) = (true, true),
            (name, value) => return Err(format!("unknown option {name} {value}\n{USAGE}")),
        }
    }
    let tools = setup::run(root)?;
    if plan.binary.as_os_str().is_empty() && plan.targets.contains(&conformance::Target::Thalweg) {
        plan.binary = test::build(&tools)?;
    }
    let tally = conformance::run(&tools, &plan, None)?;
    let mut count = test::Count::default();
    count.add(tally.passed, tally.failed, tally.skipped);
    count.close()
}

fn soak(root: &Path, minutes: &str) -> Result<(), String> {
    let minutes = minutes.parse().map_err(|e| format!("soak: {e}"))?;
    let binary = test::build(&setup::run(root)?)?;
    soak::run(root, &binary, minutes)
}

/// What brokers there are, what happens to them, and where the result goes.
fn rolling(root: &Path, args: &[&str]) -> Result<(), String> {
    for pair in args.chunks(2) {
        match pair {
            ["--brokers" | "--plan" | "--out", _] => {}
            [name, _] => return Err(format!("rolling: there is no {name}")),
            _ => return Err(format!("rolling: {} has no value", pair[0])),
        }
    }
    let tools = setup::run(root)?;
    rolling::run(&tools, &test::build(&tools)?, test::seed_of_commit(root)?, args)
}

/// Pairs of `--java`, `--thalweg` and a number, `--upgrade`, and what `chaos::Faults` knows.
fn chaos(root: &Path, args: &[&str]) -> Result<(), String> {
    let mut brokers = chaos::MIXED;
    let mut upgrades = false;
    let faults = chaos::Faults::parse("chaos", "60", args, |name, value| {
        let count = match name {
            "--java" => &mut brokers.java,
            "--thalweg" => &mut brokers.thalweg,
            "--upgrade" => {
                upgrades = match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(format!("chaos: --upgrade {value}: yes or no")),
                };
                return Ok(true);
            }
            _ => return Ok(false),
        };
        *count = value.parse().map_err(|e| format!("chaos: {name}: {e}"))?;
        Ok(true)
    })?;
    let count = brokers.java.saturating_add(brokers.thalweg);
    if count < 3 {
        return Err("chaos: three replicas need three brokers".into());
    }
    if count > chaos::BROKERS_MAX {
        return Err(format!("chaos: {} brokers at most", chaos::BROKERS_MAX));
    }
    let tools = setup::run(root)?;
    let (binary, seed) = (test::build(&tools)?, test::seed_of_commit(root)?);
    chaos::run(&tools, &binary, faults, seed, brokers, upgrades)
}

/// Pairs of `--controllers`, `--java`, `--thalweg` and a number.
fn cluster_up(root: &Path, args: &[&str]) -> Result<(), String> {
    let mut size = cluster::USUAL;
    for pair in args.chunks(2) {
        let [name, value] = pair else { return Err(format!("cluster: {} has no value", pair[0])) };
        let number = || value.parse().map_err(|e| format!("cluster: {name}: {e}"));
        match *name {
            "--controllers" => size.controllers = number()?,
            "--java" => size.java = number()?,
            "--thalweg" => size.thalweg = number()?,
            _ => return Err(format!("cluster: there is no {name}")),
        }
    }
    let jars = setup::kafka(root)?;
    cluster::up(root, &jars, &test::build_in(root, &jars)?, size)
}

fn kills(root: &Path, minutes: &str) -> Result<(), String> {
    let minutes = minutes.parse().map_err(|e| format!("soak kills: {e}"))?;
    let tools = setup::run(root)?;
    kills::run(&tools, &test::build(&tools)?, minutes, test::seed_of_commit(root)?)
}

fn transaction_kills(root: &Path) -> Result<(), String> {
    let tools = setup::run(root)?;
    transaction_kills::run(&tools, &test::build(&tools)?, test::seed_of_commit(root)?)
}

/// The minutes, if they are told, and what `chaos::Faults` knows.
fn faults_of<'a>(
    what: &str,
    usual: &'a str,
    args: &[&'a str],
) -> Result<chaos::Faults<'a>, String> {
    let (minutes, args) = match args {
        [minutes, rest @ ..] if !minutes.starts_with("--") => (*minutes, rest),
        _ => (usual, args),
    };
    chaos::Faults::parse(what, minutes, args, |_, _| Ok(false))
}

fn bank(root: &Path, args: &[&str]) -> Result<(), String> {
    let faults = faults_of("soak bank", "60", args)?;
    let tools = setup::run(root)?;
    chaos::run_bank(&tools, &test::build(&tools)?, faults, test::seed_of_commit(root)?)
}

fn transactions(root: &Path, args: &[&str]) -> Result<(), String> {
    let faults = faults_of("soak transactions", "10", args)?;
    let tools = setup::run(root)?;
    chaos::transactions(&tools, &test::build(&tools)?, faults, test::seed_of_commit(root)?)
}

fn mixed(root: &Path, minutes: &str) -> Result<(), String> {
    let minutes = minutes.parse().map_err(|e| format!("soak mixed: {e}"))?;
    let tools = setup::run(root)?;
    mixed::run(&tools, &test::build(&tools)?, minutes, test::seed_of_commit(root)?)
}

fn makes(root: &Path, minutes: &str) -> Result<(), String> {
    let minutes = minutes.parse().map_err(|e| format!("soak makes: {e}"))?;
    let tools = setup::run(root)?;
    mixed::makes(&tools, &test::build(&tools)?, minutes, test::seed_of_commit(root)?)
}

/// Pairs of options that the program knows.
fn coordinator_moves(root: &Path, args: &[&str]) -> Result<(), String> {
    for pair in args.chunks(2) {
        match pair {
            ["--brokers" | "--mode" | "--only" | "--steps" | "--at-once" | "--out", _] => {}
            [name, _] => return Err(format!("soak coordinator-moves: there is no {name}")),
            _ => return Err(format!("soak coordinator-moves: {} has no value", pair[0])),
        }
    }
    let tools = setup::run(root)?;
    mixed::coordinator_moves(&tools, &test::build(&tools)?, args)
}

fn disconnects(root: &Path, out: &str) -> Result<(), String> {
    let tools = setup::run(root)?;
    mixed::disconnects(&tools, &test::build(&tools)?, out)
}

fn held_heartbeats(root: &Path, out: &str) -> Result<(), String> {
    let tools = setup::run(root)?;
    mixed::held_heartbeats(&tools, &test::build(&tools)?, out)
}

fn soak_machines(
    root: &Path,
    machines: Machines,
    seeds: &str,
    file: Option<&str>,
) -> Result<(), String> {
    let seeds = seeds.parse().map_err(|e| format!("soak: {e}"))?;
    let base = test::seed_of_commit(root)?;
    machines::run(machines, &setup::run(root)?, seeds, base, file.map(Path::new))
}

/// The faults of `tests/mutations.toml`: hours, because something is built for each of them.
fn mutations(root: &Path, names: &[&str]) -> Result<(), String> {
    let tools = setup::run(root)?;
    let mut command = Command::new(&tools.python);
    command.arg(root.join("tests/python/mutations.py")).args(names);
    setup::cargo_environment(&mut command, &tools.root, &tools.jars);
    let status = command.status().map_err(|e| format!("python cannot be started: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("mutations ended with {status}")) }
}

/// cargo-deny, built once into `.cache/` because Debian has none; that takes some minutes.
fn deny(root: &Path) -> Result<(), String> {
    let tools = root.join(".cache/tools");
    let program = tools.join("bin/cargo-deny").display().to_string();
    if !Path::new(&program).exists() {
        println!("deny: building cargo-deny");
        let into = tools.display().to_string();
        setup::call(
            root,
            "cargo",
            &["install", "--locked", "--quiet", "--root", &into, "cargo-deny"],
        )?;
    }
    setup::call(root, &program, &["check", "licenses", "bans", "sources"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(tests: &str) {
        let tests = root().join("tests/python").join(tests);
        let output = Command::new("python3").arg("-B").arg(tests).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn the_program_that_puts_faults_in_takes_them_back() {
        passes("mutations_test.py");
    }

    #[test]
    fn the_switch_between_the_processes_of_a_cluster_keeps_its_rules() {
        passes("network_test.py");
    }

    #[test]
    fn the_checks_of_mixed_groups_notice_what_they_are_for() {
        passes("group_soak_test.py");
    }

    #[test]
    fn proxy_cuts_connections_of_one_client() {
        passes("group_proxy_test.py");
    }

    #[test]
    fn what_is_asked_after_kills_in_transactions_notices_what_it_is_for() {
        passes("transaction_kills_test.py");
    }
}
