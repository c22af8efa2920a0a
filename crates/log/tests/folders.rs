//! The order of the crate's folders: each may use those before it, and none behind it.

use std::fs;
use std::path::{Path, PathBuf};

/// From the lowest to the highest. A unit test may use all of them.
const ORDER: [&str; 8] =
    ["metrics", "fs", "format", "stalls", "partition", "cleaner", "store", "testing"];

/// Modules of `partition` whose state a `Log` holds.
const PARTS: [&str; 11] = [
    "cleaning",
    "cuts",
    "flush_state",
    "hints",
    "home",
    "leader_epochs",
    "published",
    "queue",
    "segments",
    "snapshots",
    "unflushed",
];

fn rank(name: &str) -> Option<usize> {
    ORDER.iter().position(|folder| *folder == name)
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Names that follow `crate::` in the code of a file, without comments and unit tests.
fn used(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines
        .flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
        .collect()
}

#[test]
fn folders_use_only_those_before_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 60, "only {} files", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.strip_prefix(&root).unwrap();
        let first = name.iter().next().unwrap().to_str().unwrap();
        let Some(own) = rank(first.trim_end_matches(".rs")) else {
            assert_eq!(first, "lib.rs", "a folder without a place in the order");
            continue;
        };
        let text = fs::read_to_string(&path).unwrap();
        for other in used(&text) {
            if rank(other).is_none_or(|rank| rank > own) {
                wrong.push(format!("{} uses {other}", name.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parts_of_a_log_do_not_know_the_log() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/partition");
    for part in PARTS {
        let text = fs::read_to_string(root.join(part).with_extension("rs")).unwrap();
        assert!(!text.contains("partition::log::"), "{part} uses the log");
    }
}
