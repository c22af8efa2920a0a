//! Pure state machines under many seeds. Of the client's cores: every interleaving of requests, answers,
//! losses, pauses, seeks, rebalances and leaders; of the group coordinator: every life of a group, with
//! its clients, topics, restarts and writes that wait or fail; of replication: a partition on a few brokers,
//! with a controller and a network that loses and reorders, and a broker that follows the controllers' log; of
//! transactions: clients, coordinators that move, partitions and a group.
//! What is checked stands in the tests; a seed that fails is named, and `THALWEG_SEED` or
//! `THALWEG_SEED_BASE` runs it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::nextest;
use crate::setup::Tools;

/// State machines, and the tests that run them.
#[derive(Clone, Copy)]
pub struct Machines {
    name: &'static str,
    package: &'static str,
    filter: &'static str,
}

/// The client's.
pub const CORES: Machines = Machines { name: "cores", package: "thalweg", filter: "^core::" };

/// The group coordinator's.
pub const GROUPS: Machines = Machines {
    name: "groups",
    package: "thalweg-groups",
    filter: "^(random|random_consumer|hosted::random|push)::random_",
};

/// Replication's: one partition on a few brokers, and a broker that follows the controllers' log.
pub const CLUSTER: Machines = Machines {
    name: "cluster",
    package: "thalweg-replication",
    filter: "^(cluster::|observer::observers_)",
};

/// Transactions as a whole.
pub const COMMITS: Machines = Machines {
    name: "commits",
    package: "thalweg-transactions",
    filter: "^simulation::transactions_",
};

/// Runs `seeds` in all, beginning with `base`, and writes what was run to `result`, where one is named.
pub fn run(
    machines: Machines,
    tools: &Tools,
    seeds: u64,
    base: u64,
    result: Option<&Path>,
) -> Result<(), String> {
    let Machines { name, package, filter } = machines;
    let root = &tools.root;
    let report = root.join(format!("target/seeds-{name}.txt"));
    let at = |error: std::io::Error| format!("{}: {error}", report.display());
    fs::create_dir_all(root.join("target")).map_err(at)?;
    match fs::remove_file(&report) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(at(error)),
        _ => {}
    }
    let began = Instant::now();
    let variables = [
        ("THALWEG_SEEDS", seeds.to_string()),
        ("THALWEG_SEED_BASE", base.to_string()),
        ("THALWEG_SEEDS_REPORT", report.display().to_string()),
    ];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    nextest::some(tools, package, filter, &variables).map_err(|why| {
        format!("{why}: a seed failed, or a simulation; THALWEG_SEED=N (groups, cluster, commits: THALWEG_SEED_BASE=N) runs it again")
    })?;
    let text = fs::read_to_string(&report).map_err(at)?;
    let mut families = BTreeMap::new();
    // What was done in them, where they count that.
    let mut figures = BTreeMap::new();
    for line in text.lines() {
        let (family, count) = line.rsplit_once(' ').ok_or("a line of the report is broken")?;
        let count = count.parse::<u64>().map_err(|e| format!("{line}: {e}"))?;
        match family.strip_prefix("figure ") {
            Some(figure) => *figures.entry(figure).or_insert(0) += count,
            None => {
                families.insert(family, count);
            }
        }
    }
    let all: u64 = families.values().sum();
    if all < seeds {
        return Err(format!("only {all} of {seeds} seeds ran"));
    }
    let seconds = began.elapsed().as_secs();
    println!(
        "{name}: {all} interleavings from seed {base} on in {seconds} s, none failed: {families:?}"
    );
    if let Some(path) = result {
        let mut value = json!({ "interleavings": all, "failed": 0, "first seed": base, "seconds": seconds,
            "families": families, "version": env!("CARGO_PKG_VERSION") });
        if !figures.is_empty() {
            value["figures"] = json!(figures);
        }
        fs::write(path, format!("{value:#}\n")).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}
