//! Directories of partitions that are symbolic links, as operators make them when a disk is full: a start, a deletion
//! and an inspection follow them, as Kafka does.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    CLUSTER_METADATA_TOPIC, CreateError, CreateRequest, DirSurvey, LogConfig, LogManager, OpenError,
};
use thalweg_wire::Uuid;

use crate::common::*;

const SEGMENT: &str = "00000000000000000000.log";

/// Moves a directory to another disk and leaves a link to it.
fn move_away(dir: &TempDir, name: &str, disk: &TempDir) -> PathBuf {
    let (from, to) = (dir.path().join(name), disk.path().join(name));
    fs::rename(&from, &to).unwrap();
    symlink(&to, &from).unwrap();
    to
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Damages the last batch of a segment.
fn damage(segment: &Path) {
    let mut bytes = fs::read(segment).unwrap();
    *bytes.last_mut().unwrap() ^= 0x10;
    fs::write(segment, bytes).unwrap();
}

#[test]
fn a_linked_partition_keeps_its_log_start_over_a_restart() {
    let (dir, disk) = (TempDir::new(), TempDir::new());
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 3));
    logs.shut_down(1, 1_000);
    drop((log, logs));
    move_away(&dir, "t-0", &disk);
    let (logs, report) = open(&dir, LogConfig::default());
    assert_eq!(report.dirs[0].partitions, 1);
    let log = create(&logs, "t");
    log.advance_high_watermark(3);
    assert_eq!(log.delete_records(2).unwrap(), 2);
    logs.shut_down(2, 1_000);
    drop((log, logs));
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (2, 3));
    assert!(is_link(&dir.path().join("t-0")));
}

#[test]
fn a_linked_partition_is_recovered_after_a_crash() {
    let (dir, disk) = (TempDir::new(), TempDir::new());
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 3));
    append(&log, BatchSpec::new(0, 4));
    drop((log, logs));
    damage(&move_away(&dir, "t-0", &disk).join(SEGMENT));
    let (logs, report) = open(&dir, LogConfig::default());
    assert!(report.dirs[0].stats.truncated_bytes > 0);
    assert_eq!(create(&logs, "t").log_end_offset(), 3);
}

/// A directory that came while the broker ran: nothing is known of how it was closed.
#[test]
fn a_directory_unknown_to_the_start_is_recovered() {
    let (dir, disk) = (TempDir::new(), TempDir::new());
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 3));
    append(&log, BatchSpec::new(0, 4));
    logs.shut_down(1, 1_000);
    drop((log, logs));
    fs::rename(dir.path().join("t-0"), disk.path().join("t-0")).unwrap();
    let (logs, _) = open(&dir, LogConfig::default());
    damage(&disk.path().join("t-0").join(SEGMENT));
    symlink(disk.path().join("t-0"), dir.path().join("t-0")).unwrap();
    assert_eq!(create(&logs, "t").log_end_offset(), 3);
}

#[test]
fn a_deleted_linked_partition_leaves_no_files() {
    let (dir, disk) = (TempDir::new(), TempDir::new());
    let settings = LogConfig { file_delete_delay_ms: 100, ..LogConfig::default() };
    let (logs, _) = open(&dir, settings.clone());
    for topic in ["t", "u"] {
        append(&create(&logs, topic), BatchSpec::new(0, 3));
    }
    logs.shut_down(1, 1_000);
    drop(logs);
    let (t, u) = (move_away(&dir, "t-0", &disk), move_away(&dir, "u-0", &disk));
    let (logs, _) = open(&dir, settings.clone());
    logs.delete([("t", 0)], 1_000).unwrap();
    assert!(t.join(SEGMENT).exists(), "the files wait for file.delete.delay.ms");
    assert_eq!(logs.delete_due(1_100), None);
    let has = |part: &str| names_in(dir.path()).iter().any(|name| name.contains(part));
    assert!(!has("t-0"));
    assert_eq!(names_in(&t), [""; 0]);
    // A deletion that a restart interrupts is finished by the next process.
    logs.delete([("u", 0)], 1_000).unwrap();
    drop(logs);
    assert!(has("-delete"));
    let (logs, _) = open(&dir, settings);
    assert_eq!(logs.delete_due(1_100), None);
    assert!(!has("-delete"));
    assert_eq!(names_in(&u), [""; 0]);
}

#[test]
fn linked_directories_with_marks_are_treated_like_others() {
    let (dir, disk) = (TempDir::new(), TempDir::new());
    let unique = "0123456789abcdef0123456789abcdef";
    let settings = LogConfig { file_delete_delay_ms: 0, ..LogConfig::default() };
    for name in [format!("a-0.{unique}-stray"), format!("b-0.{unique}-future")] {
        fs::create_dir(dir.path().join(&name)).unwrap();
        fs::write(dir.path().join(&name).join("kept"), "").unwrap();
        move_away(&dir, &name, &disk);
    }
    let gone = format!("c-0.{unique}-delete");
    symlink(disk.path().join("nowhere"), dir.path().join(&gone)).unwrap();
    let survey = DirSurvey::of(dir.path());
    assert_eq!(survey.unreadable, None);
    assert_eq!(survey.strays, [format!("a-0.{unique}-stray")]);
    assert_eq!(survey.futures, [format!("b-0.{unique}-future")]);
    let (logs, report) = open(&dir, settings);
    assert_eq!(report.dirs[0].set_aside.len(), 1);
    assert!(logs.future("b", 0).is_some());
    assert_eq!(logs.delete_due(1_000), None);
    assert!(!is_link(&dir.path().join(gone)), "a link is all that was left of it");
    assert!(disk.path().join(format!("a-0.{unique}-stray/kept")).exists());
}

#[test]
fn a_linked_metadata_log_is_opened_where_it_is() {
    let (dir, disk) = (TempDir::new(), TempDir::new());
    let request = CreateRequest::new(CLUSTER_METADATA_TOPIC, 0, Uuid::ONE);
    let open_metadata = |logs: &LogManager| {
        let config = LogConfig::default().into();
        logs.open_unmanaged(&logs.dirs()[0].clone(), &request, config, 0).unwrap()
    };
    let (logs, _) = open(&dir, LogConfig::default());
    let metadata = open_metadata(&logs);
    append(&metadata, BatchSpec::new(0, 4));
    append(&metadata, BatchSpec::new(0, 4));
    drop((metadata, logs));
    let name = format!("{CLUSTER_METADATA_TOPIC}-0");
    damage(&move_away(&dir, &name, &disk).join(SEGMENT));
    assert!(DirSurvey::of(dir.path()).has_metadata_log);
    let (logs, report) = open(&dir, LogConfig::default());
    assert_eq!(report.dirs[0].partitions, 0);
    assert_eq!(open_metadata(&logs).log_end_offset(), 4);
}

#[test]
fn a_survey_counts_linked_partitions() {
    let (dir, disk) = (TempDir::new(), TempDir::new());
    let (logs, _) = open(&dir, LogConfig::default());
    create(&logs, "t");
    logs.shut_down(1, 1_000);
    drop(logs);
    move_away(&dir, "t-0", &disk);
    let survey = DirSurvey::of(dir.path());
    assert_eq!(survey.partitions.len(), 1);
    assert_eq!(survey.partitions[0].topic_id, Some(TOPIC_ID));
}

/// Its disk may not be mounted. A partition made in its place would hide what is there, and a start that passed over it
/// would forget where its log began.
#[test]
fn a_link_that_leads_nowhere_takes_its_directory_offline() {
    let (dir, disk) = (TempDir::new(), TempDir::new());
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 3));
    log.delete_records(2).unwrap();
    logs.shut_down(1, 1_000);
    drop((log, logs));
    let away = move_away(&dir, "t-0", &disk);
    let unmounted = disk.path().join("unmounted");
    fs::rename(&away, &unmounted).unwrap();
    let reason = DirSurvey::of(dir.path()).unreadable.unwrap();
    assert!(reason.contains("t-0 is a link that cannot be followed"), "{reason}");
    match LogManager::open(config(&[dir.path()], LogConfig::default())) {
        Err(OpenError::NoUsableDirectory(reason)) => assert!(reason.contains("t-0"), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert!(is_link(&dir.path().join("t-0")));
    fs::rename(&unmounted, &away).unwrap();
    let (logs, _) = open(&dir, LogConfig::default());
    assert_eq!(create(&logs, "t").log_start_offset(), 2);
    // The same while the broker runs: the link stays.
    let lost = dir.path().join("u-0");
    symlink(disk.path().join("nowhere"), &lost).unwrap();
    let failed = logs.create(&CreateRequest::new("u", 0, TOPIC_ID), 1_000).unwrap_err();
    assert!(matches!(failed, CreateError::Storage(_)), "{failed}");
    assert!(is_link(&lost));
}
