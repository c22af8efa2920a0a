//! Directories, their files, and partitions that come and go.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common;

use common::*;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendError, CLUSTER_METADATA_TOPIC, CreateError, CreateRequest, Disk, DiskOp, FaultHook,
    Injected, LogConfig, LogManager, OpenError,
};
use thalweg_wire::Uuid;

#[test]
fn a_directory_belongs_to_one_process_node_and_cluster() {
    let dir = TempDir::new();
    let (logs, report) = open(&dir, LogConfig::default());
    assert_eq!(report.cluster_id, "test-cluster");
    let id = report.dirs[0].id;
    assert!(!id.is_reserved());
    let again = LogManager::open(config(&[dir.path()], LogConfig::default())).unwrap_err();
    assert!(matches!(again, OpenError::Locked(_)), "{again}");
    drop(logs);
    let mut other = config(&[dir.path()], LogConfig::default());
    other.node_id = 2;
    let error = LogManager::open(other).unwrap_err().to_string();
    assert!(error.contains("node.id is 1") && error.contains("as 2"), "{error}");
    let mut other = config(&[dir.path()], LogConfig::default());
    other.cluster_id = Some("elsewhere".into());
    let error = LogManager::open(other).unwrap_err().to_string();
    assert!(error.contains("test-cluster") && error.contains("elsewhere"), "{error}");
    let mut unknown = config(&[dir.path()], LogConfig::default());
    unknown.cluster_id = None;
    let (logs, report) = LogManager::open(unknown).unwrap();
    assert_eq!((report.cluster_id.as_str(), report.dirs[0].id), ("test-cluster", id));
    drop(logs);
    let error = LogManager::open(config(&[dir.path(), dir.path()], LogConfig::default()));
    assert!(matches!(error, Err(OpenError::Duplicate(_))));
    let fresh = TempDir::new();
    let mut unformatted = config(&[fresh.path()], LogConfig::default());
    unformatted.cluster_id = None;
    let error = LogManager::open(unformatted).unwrap_err().to_string();
    assert!(error.contains("not formatted"), "{error}");
}

#[test]
fn an_id_that_is_missing_is_made_and_kept_and_a_copied_one_is_refused() {
    let dir = TempDir::new();
    let meta = dir.path().join("meta.properties");
    std::fs::write(&meta, "#\nversion=1\nnode.id=1\ncluster.id=test-cluster\n").unwrap();
    let (logs, report) = open(&dir, LogConfig::default());
    let id = report.dirs[0].id;
    drop(logs);
    let (logs, report) = open(&dir, LogConfig::default());
    assert_eq!(report.dirs[0].id, id);
    drop(logs);
    let second = TempDir::new();
    std::fs::copy(&meta, second.path().join("meta.properties")).unwrap();
    let error = LogManager::open(config(&[dir.path(), second.path()], LogConfig::default()))
        .unwrap_err()
        .to_string();
    assert!(error.contains("directory.id"), "{error}");
}

#[test]
fn partitions_are_spread_over_directories_and_found_again() {
    let (first, second) = (TempDir::new(), TempDir::new());
    let dirs = [first.path(), second.path()];
    let (logs, report) = LogManager::open(config(&dirs, LogConfig::default())).unwrap();
    for partition in 0..6 {
        let log = logs.create(&CreateRequest::new("t", partition, TOPIC_ID), 1_000).unwrap();
        append(&log, BatchSpec::new(0, partition + 1));
    }
    let in_first = logs.all().iter().filter(|log| log.dir().path() == first.path()).count();
    assert_eq!(in_first, 3);
    let wanted =
        CreateRequest { dir: Some(report.dirs[1].id), ..CreateRequest::new("u", 0, TOPIC_ID) };
    assert_eq!(logs.create(&wanted, 1_000).unwrap().dir().path(), second.path());
    let unknown = CreateRequest { dir: Some(Uuid::from_u128(1 << 90)), ..wanted.clone() };
    let unknown = CreateRequest { partition: 1, ..unknown };
    assert_eq!(logs.create(&unknown, 1_000).unwrap().dir().path(), first.path());
    logs.set_cordoned(vec![report.dirs[0].id]);
    for partition in 10..14 {
        let log = logs.create(&CreateRequest::new("t", partition, TOPIC_ID), 1_000).unwrap();
        assert_eq!(log.dir().path(), second.path());
    }
    logs.shut_down(3, 2_000);
    drop(logs);
    let (logs, report) = LogManager::open(config(&dirs, LogConfig::default())).unwrap();
    assert_eq!(report.previous_broker_epoch, 3);
    assert_eq!(report.dirs[0].partitions + report.dirs[1].partitions, 12);
    for partition in 0..6 {
        let log = logs.get("t", partition).unwrap();
        assert_eq!(log.log_end_offset(), i64::from(partition) + 1);
    }
    assert_eq!(logs.all().iter().filter(|log| &**log.topic() == "t").count(), 10);
    drop(logs);
    // One directory was not closed cleanly: no epoch is known to be clean.
    let (logs, _) = LogManager::open(config(&dirs, LogConfig::default())).unwrap();
    logs.shut_down(4, 2_000);
    drop(logs);
    std::fs::remove_file(first.path().join(".kafka_cleanshutdown")).unwrap();
    let (logs, report) = LogManager::open(config(&dirs, LogConfig::default())).unwrap();
    assert_eq!(report.previous_broker_epoch, -1);
    assert!(!report.dirs[0].clean && report.dirs[1].clean);
    drop(logs);
    copy_dir(&second.path().join("u-0"), &first.path().join("u-0"));
    let error = LogManager::open(config(&dirs, LogConfig::default())).unwrap_err();
    assert!(matches!(error, OpenError::PartitionTwice { partition: 0, .. }), "{error}");
}

/// Of two copies of a partition, as with an id in "partition.metadata" and records or without.
#[test]
fn of_two_copies_the_one_with_a_topic_id_counts() {
    let cases = [
        // In the first directory, in the second; which of them is served.
        ((true, false), (false, false), Some(0)),
        ((false, false), (true, false), Some(1)),
        ((false, true), (true, false), Some(1)),
        ((false, true), (false, false), Some(0)),
        ((false, false), (false, true), Some(1)),
        ((false, false), (false, false), Some(0)),
        ((false, true), (false, true), None),
    ];
    for (first, second, served) in cases {
        let dirs = [TempDir::new(), TempDir::new()];
        for (dir, (has_id, has_records)) in dirs.iter().zip([first, second]) {
            let (logs, _) = open(dir, LogConfig::default());
            let log = create(&logs, "t");
            if has_records {
                append(&log, BatchSpec::new(0, 3));
            }
            logs.shut_down(1, 1_000);
            if !has_id {
                std::fs::remove_file(dir.path().join("t-0/partition.metadata")).unwrap();
            }
        }
        let paths = dirs.each_ref().map(TempDir::path);
        let (logs, _) = LogManager::open(config(&paths, LogConfig::default())).unwrap();
        let result = logs.set_strays_aside(|_| true, 1_000);
        match served {
            Some(at) => {
                assert_eq!(result.unwrap(), [paths[1 - at].join("t-0")]);
                assert_eq!(logs.get("t", 0).unwrap().dir().path(), paths[at]);
                assert!(!paths[1 - at].join("t-0").exists());
            }
            None => assert!(matches!(result, Err(OpenError::PartitionTwice { .. }))),
        }
    }
}

#[test]
fn a_deleted_partition_is_gone_at_once_and_its_files_later() {
    let dir = TempDir::new();
    let settings = LogConfig { file_delete_delay_ms: 100, ..LogConfig::default() };
    let (logs, _) = open(&dir, settings.clone());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 50));
    log.delete_records(20).unwrap();
    log.flush(1_000).unwrap();
    logs.checkpoint();
    let held = read(&log, 20, 1 << 20);
    let removed = logs.delete([("t", 0), ("t", 1), ("nothing", 0)], 1_000).unwrap();
    assert_eq!(removed.len(), 1);
    assert!(logs.get("t", 0).is_none());
    let error = log.append_as_leader(&mut BatchSpec::new(0, 1).build(), &client()).unwrap_err();
    assert!(matches!(error, AppendError::Closed { .. }), "{error}");
    assert!(log.read(&request(20, 10)).is_err());
    assert_eq!(batches(&held.to_vec().unwrap()), [(0, 49)]);
    let marked = || {
        std::fs::read_dir(dir.path())
            .unwrap()
            .filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy().starts_with("t-0.")
                    && name.to_string_lossy().ends_with("-delete")
            })
            .count()
    };
    assert_eq!(marked(), 1);
    // A new one of that name knows nothing of the old one, also after a crash.
    let other_id = Uuid::from_u128(7 << 100);
    let new = logs.create(&CreateRequest::new("t", 0, other_id), 1_000).unwrap();
    assert_eq!((new.log_start_offset(), new.log_end_offset(), new.recovery_point()), (0, 0, 0));
    append(&new, BatchSpec::new(0, 3));
    assert_eq!(logs.delete_due(1_099), Some(1_100));
    assert_eq!(marked(), 1);
    assert_eq!(logs.delete_due(1_100), None);
    assert_eq!(marked(), 0);
    logs.delete([("t", 0)], 9_000).unwrap();
    // The clock was set back: the same delay, from then on.
    assert_eq!(logs.delete_due(5_000), Some(5_100));
    assert_eq!(marked(), 1);
    assert_eq!(logs.delete_due(5_100), None);
    assert_eq!(marked(), 0);
    let again = CreateRequest::new("t", 0, Uuid::from_u128(8 << 100));
    let third = logs.create(&again, 1_000).unwrap();
    logs.delete([("t", 0)], 1_000).unwrap();
    assert_eq!(marked(), 1);
    drop((log, new, third, removed, logs));
    let (logs, _) = open(&dir, settings);
    assert!(logs.get("t", 0).is_none());
    assert_eq!(logs.delete_due(1_100), None, "deletion is finished after a restart");
    assert_eq!(marked(), 0);
}

#[test]
fn ids_and_names_are_checked() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    create(&logs, "t");
    create(&logs, "t");
    let other = CreateRequest::new("t", 0, Uuid::from_u128(9 << 90));
    assert!(matches!(logs.create(&other, 1_000), Err(CreateError::InconsistentTopicId { .. })));
    for bad in ["", ".", "..", "a/b", "a b", "\u{e4}", &"x".repeat(250)] {
        let request = CreateRequest::new(bad, 0, TOPIC_ID);
        assert!(matches!(logs.create(&request, 0), Err(CreateError::InvalidTopic(_))), "{bad:?}");
    }
    let negative = CreateRequest::new("t", -1, TOPIC_ID);
    assert!(matches!(logs.create(&negative, 0), Err(CreateError::InvalidTopic(_))));
    let long = "y".repeat(249);
    create(&logs, &long);
    logs.delete([(long.as_str(), 0)], 1_000).unwrap();
    // An empty file is what a power cut leaves of a new one.
    drop(logs);
    std::fs::write(dir.path().join("t-0/partition.metadata"), b"").unwrap();
    let (logs, _) = open(&dir, LogConfig::default());
    assert_eq!(logs.get("t", 0).unwrap().topic_id(), None);
    assert_eq!(create(&logs, "t").topic_id(), Some(TOPIC_ID));
    drop(logs);
    std::fs::write(dir.path().join("t-0/partition.metadata"), b"version: x\n").unwrap();
    let (logs, report) = open(&dir, LogConfig::default());
    assert!(logs.get("t", 0).is_none());
    assert!(report.dirs[0].refused[0].1.contains("partition.metadata"));
    let error = logs.create(&CreateRequest::new("t", 0, TOPIC_ID), 0).unwrap_err();
    assert!(matches!(error, CreateError::Load { .. }), "{error}");
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let dir = TempDir::new();
    for name in ["lost+found", "t-0.0123456789abcdef0123456789abcdef-stray", "u-1-future"] {
        std::fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    let (logs, report) = open(&dir, LogConfig::default());
    assert_eq!(report.dirs[0].ignored.len(), 2);
    assert_eq!(report.dirs[0].set_aside.len(), 1);
    let log = create(&logs, "gone");
    append(&log, BatchSpec::new(0, 1));
    logs.set_strays_aside(|log| &**log.topic() != "gone", 1_000).unwrap();
    assert!(log.path().to_string_lossy().ends_with("-stray"));
    logs.delete_due(i64::MAX);
    assert!(log.path().join("00000000000000000000.log").exists());
}

/// Fails so many opens of checkpoints for lack of descriptors.
#[derive(Default)]
struct LacksDescriptors(AtomicUsize);

impl FaultHook for LacksDescriptors {
    fn before(&self, op: DiskOp, path: &Path, _: usize) -> Injected {
        const EMFILE: i32 = 24;
        let is_checkpoint = path.to_string_lossy().contains("log-start-offset-checkpoint");
        let left = |left: usize| left.checked_sub(1);
        match op == DiskOp::Open
            && is_checkpoint
            && self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok()
        {
            true => Injected::Fail(std::io::Error::from_raw_os_error(EMFILE)),
            false => Injected::Nothing,
        }
    }
}

/// A partition made in its place would begin where the stray one began.
#[test]
fn a_stray_leaves_the_checkpoints_where_descriptors_lack() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 3));
    log.delete_records(2).unwrap();
    logs.shut_down(1, 1_000);
    drop((log, logs));
    let starts =
        || std::fs::read_to_string(dir.path().join("log-start-offset-checkpoint")).unwrap();
    assert!(starts().contains("t 0 2"), "{}", starts());
    let hook = Arc::new(LacksDescriptors::default());
    let mut config = config(&[dir.path()], LogConfig::default());
    config.disk = Disk::with_hook(hook.clone());
    let (logs, _) = LogManager::open(config).unwrap();
    hook.0.store(3, Ordering::SeqCst);
    logs.set_strays_aside(|_| false, 1_000).unwrap();
    assert_eq!(hook.0.load(Ordering::SeqCst), 0);
    assert!(!starts().contains("t 0"), "{}", starts());
    assert!(logs.dirs()[0].check().is_ok());
}

#[test]
fn the_metadata_log_is_its_owners() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let request = CreateRequest::new(CLUSTER_METADATA_TOPIC, 0, Uuid::ONE);
    let metadata =
        logs.open_unmanaged(&logs.dirs()[0].clone(), &request, LogConfig::default().into(), 0);
    let metadata = metadata.unwrap();
    append(&metadata, BatchSpec::new(0, 4));
    assert!(logs.get(CLUSTER_METADATA_TOPIC, 0).is_none());
    metadata.close_cleanly(1_000).unwrap();
    logs.shut_down(1, 1_000);
    let text =
        std::fs::read_to_string(dir.path().join("recovery-point-offset-checkpoint")).unwrap();
    assert_eq!(text, "0\n0\n");
    drop(logs);
    let (logs, report) = open(&dir, LogConfig::default());
    assert_eq!(report.dirs[0].partitions, 0);
    let metadata = logs
        .open_unmanaged(&logs.dirs()[0].clone(), &request, LogConfig::default().into(), 0)
        .unwrap();
    assert_eq!(metadata.log_end_offset(), 4);
}

#[test]
fn retention_by_size_time_and_start() {
    let dir = TempDir::new();
    let settings = LogConfig { segment_bytes: 250, ..LogConfig::default() };
    let (logs, _) = open(&dir, settings.clone());
    let log = create(&logs, "t");
    for i in 0..10 {
        append(&log, BatchSpec::new(0, 1).value_len(130).timestamp(1_000 + i));
    }
    assert_eq!(log.segment_count(), 10);
    let segment = log.size() / 10;
    assert_eq!(log.delete_old_segments(1_000).unwrap(), 0);
    log.delete_records(2).unwrap();
    assert_eq!(log.delete_old_segments(1_000).unwrap(), 2);
    assert_eq!(log.segment_base_offsets()[0], 2);
    let by_size = LogConfig { retention_bytes: (segment * 5 + 1) as i64, ..settings.clone() };
    log.update_config(by_size.into());
    assert_eq!(log.delete_old_segments(1_000).unwrap(), 2);
    assert_eq!(log.log_start_offset(), 4, "what is left may not fall below the limit");
    let by_time = LogConfig { retention_ms: 100, ..settings.clone() };
    log.update_config(by_time.clone().into());
    assert_eq!(log.delete_old_segments(1_105).unwrap(), 1);
    assert_eq!(log.delete_old_segments(1_106).unwrap(), 1);
    // Of a compacted topic nothing goes by its age.
    let compacted = LogConfig { delete: false, compact: true, ..by_time.clone() };
    log.update_config(compacted.into());
    assert_eq!(log.delete_old_segments(9_999_999).unwrap(), 0);
    // Nothing above the high watermark goes.
    log.update_config(by_time.into());
    log.append_as_leader(&mut BatchSpec::new(0, 1).timestamp(0).build(), &client()).unwrap();
    assert_eq!(log.segment_base_offsets(), [6, 7, 8, 9, 10]);
    assert_eq!(log.delete_old_segments(9_999_999).unwrap(), 4);
    log.advance_high_watermark(11);
    assert_eq!(log.delete_old_segments(9_999_999).unwrap(), 1);
    assert_eq!((log.log_start_offset(), log.segment_base_offsets()), (11, vec![11]));
    drop((log, logs));
    let (logs, _) = open(&dir, settings);
    let log = logs.get("t", 0).unwrap();
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (11, 11));
}

#[test]
fn flushes_by_messages_time_and_roll() {
    let dir = TempDir::new();
    let settings = LogConfig { flush_messages: 3, ..LogConfig::default() };
    let (logs, _) = open(&dir, settings);
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 2));
    assert_eq!(log.recovery_point(), 0);
    append(&log, BatchSpec::new(0, 1));
    assert_eq!(log.recovery_point(), 3);
    log.update_config(LogConfig { flush_ms: 50, ..LogConfig::default() }.into());
    append(&log, BatchSpec::new(0, 1));
    assert_eq!(logs.flush_due(1_049), 0);
    assert_eq!(logs.flush_due(1_050), 1);
    assert_eq!(log.recovery_point(), 4);
    assert_eq!(logs.flush_due(9_000), 0, "nothing new");
    log.update_config(LogConfig { segment_bytes: 100, ..LogConfig::default() }.into());
    append(&log, BatchSpec::new(0, 1));
    assert_eq!(log.segment_base_offsets(), [0, 4]);
    append(&log, BatchSpec::new(0, 1));
    assert_eq!(logs.flush_due(9_000), 1, "the closed segments");
    assert_eq!(log.recovery_point(), 5);
    assert_eq!(logs.metrics().flushes.get(), 3);
}
