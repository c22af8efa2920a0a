//! The client's cores under many seeds: every interleaving of requests, answers, losses, pauses,
//! seeks, rebalances and leaders that a seed stands for has to keep what the cores promise. What is
//! checked stands in the simulations; a seed that fails is named, and `THALWEG_SEED` runs it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::json;

/// Runs `seeds` in all, and writes what was run to `result`, where one is named.
pub fn run(root: &Path, seeds: u64, result: Option<&Path>) -> Result<(), String> {
    let report = root.join("target/seeds.txt");
    let at = |error: std::io::Error| format!("{}: {error}", report.display());
    fs::create_dir_all(root.join("target")).map_err(at)?;
    match fs::remove_file(&report) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(at(error)),
        _ => {}
    }
    let began = Instant::now();
    // The families share the threads of the test runner.
    let status = Command::new("cargo")
        .current_dir(root)
        .args(["test", "--release", "--quiet", "-p", "thalweg", "--lib", "--", "core::"])
        .env("THALWEG_SEEDS", seeds.to_string())
        .env("THALWEG_SEEDS_REPORT", &report)
        .env_remove("THALWEG_SEED")
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err("a seed failed".into());
    }
    let text = fs::read_to_string(&report).map_err(at)?;
    let mut families = BTreeMap::new();
    for line in text.lines() {
        let (family, count) = line.rsplit_once(' ').ok_or("a line of the report is broken")?;
        families.insert(family, count.parse::<u64>().map_err(|e| format!("{line}: {e}"))?);
    }
    let all: u64 = families.values().sum();
    if all < seeds {
        return Err(format!("only {all} of {seeds} seeds ran"));
    }
    let seconds = began.elapsed().as_secs();
    println!("cores: {all} interleavings in {seconds} s, none failed: {families:?}");
    if let Some(path) = result {
        let value = json!({ "interleavings": all, "failed": 0, "seconds": seconds,
            "families": families, "version": env!("CARGO_PKG_VERSION") });
        fs::write(path, format!("{value:#}\n")).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}
