//! How many seeds a simulation runs: a few in every test run, and as many as `cargo xtask soak
//! cores` says. A seed is one interleaving of at least fifty events.

use std::io::Write;

/// Runs a family's seeds: `usual` of them, or its `share` in percent of `THALWEG_SEEDS`.
/// They begin at `THALWEG_SEED_BASE`; `THALWEG_SEED` runs that one alone. Those that were run are written to `THALWEG_SEEDS_REPORT`.
/// Gives how many ran, for what is expected of many; nothing for one alone.
pub(crate) fn run(family: &str, usual: u64, share: u64, mut one: impl FnMut(u64)) -> Option<u64> {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
    };
    if let Some(seed) = number("THALWEG_SEED") {
        one(seed);
        return None;
    }
    let count = number("THALWEG_SEEDS").map_or(usual, |all| (all * share).div_ceil(100));
    let first = number("THALWEG_SEED_BASE").unwrap_or(0);
    eprintln!("{family}: {count} seeds from {first} on; THALWEG_SEED=N runs one alone");
    let mut ran = 0;
    for seed in first..first.saturating_add(count) {
        one(seed);
        ran += 1;
    }
    assert!(ran > 0, "{family}: no seed was run");
    if let Ok(path) = std::env::var("THALWEG_SEEDS_REPORT") {
        let mut report = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        // In one write: other families write, too.
        report.write_all(format!("{family} {ran}\n").as_bytes()).unwrap();
    }
    Some(ran)
}
