//! Seeds of the random tests. `THALWEG_SEED_BASE` is the first one, and repeats a run.

use std::io::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A number from the environment.
fn setting(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, which is no number"))
    })
}

/// The first seed, which is printed; `usual` without `THALWEG_SEED_BASE`.
///
/// # Panics
/// If the variable is not a number.
pub fn base(usual: u64) -> u64 {
    let base = setting("THALWEG_SEED_BASE", usual);
    eprintln!("THALWEG_SEED_BASE={base} repeats this run");
    base
}

/// `cases` seeds.
pub fn seeds(cases: u64) -> Range<u64> {
    let base = base(1);
    base..base + cases
}

/// `cases` seeds of a test that asks Kafka, or as many as `THALWEG_ORACLE_CASES` says.
pub fn oracle_seeds(cases: u64) -> Range<u64> {
    seeds(setting("THALWEG_ORACLE_CASES", cases))
}

/// Runs `course` for `cases` seeds. What it writes down is printed if it fails.
///
/// # Panics
/// If `course` does.
pub fn each(cases: u64, course: impl Fn(u64, &mut Vec<String>)) {
    for seed in seeds(cases) {
        let mut history = Vec::new();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| course(seed, &mut history))) {
            eprintln!("seed {seed}:");
            history.iter().for_each(|event| eprintln!("> {event}"));
            resume_unwind(panic);
        }
    }
}

/// The same for a family of random lives: so many usually, or its share in percent of `THALWEG_SEEDS`,
/// which `cargo xtask soak groups` sets. How many were run goes to `THALWEG_SEEDS_REPORT`.
///
/// # Panics
/// If `course` does, or if the report cannot be written.
pub fn family(name: &str, usual: u64, share: u64, course: impl Fn(u64, &mut Vec<String>)) {
    let cases = match setting("THALWEG_SEEDS", 0) {
        0 => usual,
        all => (all * share).div_ceil(100),
    };
    each(cases, course);
    report(&format!("{name} {cases}\n"));
}

/// What was done in a family of lives, beside how many there were. Families that say the same are added up.
///
/// # Panics
/// If the report cannot be written.
pub fn figures(all: &[(&str, u64)]) {
    let lines = all.iter().map(|(name, count)| format!("figure {name} {count}\n"));
    report(&lines.collect::<String>());
}

fn report(lines: &str) {
    if let Ok(path) = std::env::var("THALWEG_SEEDS_REPORT") {
        let report = std::fs::OpenOptions::new().create(true).append(true).open(path);
        // In one write: other families write, too.
        report.expect("the report").write_all(lines.as_bytes()).expect("the report");
    }
}
