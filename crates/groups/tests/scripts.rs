//! Transcripts: the operations under `scripts/`, and what comes of each.
//!
//! Run with `UPDATE_EXPECT=1` to write what comes of them now. `kafka_oracle.rs` holds the same
//! operations against Kafka itself.

use crate::script;

use std::fmt::Write as _;
use std::path::Path;

use script::{Names, World};
use thalweg_groups::GroupConfig;

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(name);
    let text = std::fs::read_to_string(&path).expect("a transcript");
    let mut out = String::new();
    let mut names = Names::default();
    let mut world = World::new(GroupConfig::default());
    let mut state = Vec::new();
    for line in text.lines() {
        if line.starts_with('#') || line.is_empty() {
            let _ = writeln!(out, "{line}");
        }
        let Some(op) = line.strip_prefix("> ") else { continue };
        let _ = writeln!(out, "{line}");
        if op.starts_with("new") {
            names = Names::default();
        }
        for result in world.run(&names.resolve(op), None) {
            let _ = writeln!(out, "    {}", names.normalise(&result));
        }
        world.check();
        // Groups are shown when they change.
        let now: Vec<String> = world.state().iter().map(|line| names.normalise(line)).collect();
        for group in now.iter().filter(|group| !state.contains(*group)) {
            let _ = writeln!(out, "    {group}");
        }
        state = now;
    }
    expect_test::expect_file![path].assert_eq(&out);
}

macro_rules! transcripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(concat!(stringify!($name), ".txt"));
        })*

        #[test]
        fn every_transcript_is_run() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
            let mut files: Vec<String> = std::fs::read_dir(folder)
                .expect("the transcripts")
                .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            files.sort();
            let mut run = vec![$(concat!(stringify!($name), ".txt").to_owned()),*];
            run.sort();
            assert_eq!(files, run);
        }
    };
}

transcripts! {
    first_member
    member_id_round_trip
    initial_delay
    rebalance
    sync
    sessions
    leave
    static_members
    static_members_without_timeout
    group_size
    protocols
    offsets
    offset_expiry
    admin
    failures
    restart
    transactions
    transactions_of_members
    transactions_of_consumers
    consumer_members
}
