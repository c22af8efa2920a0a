//! Stopping, crashing, starting again.

use crate::common;

use std::collections::HashSet;
use std::path::Path;

use common::*;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{AppendContext, LogConfig, LogManager};

fn small() -> LogConfig {
    LogConfig { segment_bytes: 2000, index_interval_bytes: 150, ..LogConfig::default() }
}

fn fill(logs: &LogManager, batches: i64) -> Vec<u8> {
    let log = create(logs, "t");
    log.make_leader(3);
    let mut expected = Vec::new();
    for i in 0..batches {
        let spec = BatchSpec::new(0, 1 + (i % 3) as i32).timestamp(10_000 + i).value_len(30);
        let mut bytes = spec.build();
        log.append_as_leader(&mut bytes, &AppendContext::client(3, 1_000)).unwrap();
        expected.extend(bytes);
    }
    log.advance_high_watermark(i64::MAX);
    expected
}

fn files(dir: &Path) -> HashSet<String> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_clean_stop_is_taken_up_where_it_was() {
    let dir = TempDir::new();
    let (logs, report) = open(&dir, small());
    assert!(!report.dirs[0].clean);
    let expected = fill(&logs, 100);
    let log = logs.get("t", 0).unwrap();
    log.delete_records(5).unwrap();
    let (offsets, segments, epoch) =
        (log.offsets(), log.segment_base_offsets(), log.latest_epoch());
    drop(log);
    logs.shut_down(42, 2_000);
    let top = files(dir.path());
    for name in [
        "meta.properties",
        ".kafka_cleanshutdown",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
    ] {
        assert!(top.contains(name), "{name} in {top:?}");
    }
    drop(logs);
    let (logs, report) = open(&dir, small());
    assert!(report.dirs[0].clean);
    assert_eq!(report.previous_broker_epoch, 42);
    assert_eq!(report.dirs[0].stats.recovered_bytes, 0);
    assert!(!files(dir.path()).contains(".kafka_cleanshutdown"));
    let log = logs.get("t", 0).unwrap();
    assert_eq!(log.offsets(), offsets);
    assert_eq!(log.offsets().log_start_offset, 5);
    assert_eq!(log.segment_base_offsets(), segments);
    assert_eq!(log.latest_epoch(), epoch);
    assert_eq!(log.topic_id(), Some(TOPIC_ID));
    assert_eq!(log.recovery_point(), offsets.log_end_offset);
    let tail: i64 = batches(&expected).iter().take_while(|(_, last)| *last < 5).count() as i64;
    let skip: usize = {
        let mut rest = &expected[..];
        let mut skip = 0;
        for _ in 0..tail {
            let len = thalweg_records::batch::frame_len(rest).unwrap();
            skip += len;
            rest = &rest[len..];
        }
        skip
    };
    assert!(read_all(&log, 5, 700) == expected[skip..]);
    assert_eq!(logs.metrics().indexes_rebuilt.get(), 0);
    let info = append(&log, BatchSpec::new(0, 1));
    assert_eq!(info.first_offset, offsets.log_end_offset);
}

#[test]
fn a_crash_loses_nothing_that_was_written() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let expected = fill(&logs, 120);
    let log = logs.get("t", 0).unwrap();
    let (end, segments) = (log.log_end_offset(), log.segment_base_offsets());
    drop((log, logs));
    let (logs, report) = open(&dir, small());
    assert!(!report.dirs[0].clean);
    assert_eq!(report.dirs[0].stats.truncated_bytes, 0);
    assert_eq!(report.dirs[0].stats.recovered_bytes, expected.len() as u64);
    let log = logs.get("t", 0).unwrap();
    assert_eq!(log.log_end_offset(), end);
    assert_eq!(log.segment_base_offsets(), segments);
    assert!(read_all(&log, 0, 500) == expected);
    assert_eq!(log.latest_epoch(), Some((3, 0)));
    // What was flushed and checkpointed is not looked at again.
    log.flush(1_000).unwrap();
    logs.checkpoint();
    append(&log, BatchSpec::new(0, 1));
    drop((log, logs));
    let (logs, report) = open(&dir, small());
    let active = *segments.last().unwrap();
    assert_eq!(report.dirs[0].stats.recovered_segments, 1, "only that of offset {active}");
    assert_eq!(logs.get("t", 0).unwrap().log_end_offset(), end + 1);
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_to_whole_batches() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let expected = fill(&logs, 40);
    let log = logs.get("t", 0).unwrap();
    let bases = log.segment_base_offsets();
    let name = format!("t-0/{:020}.log", bases.last().unwrap());
    drop((log, logs));
    let whole = std::fs::read(dir.path().join(&name)).unwrap();
    let before = expected.len() - whole.len();
    let mut begins = vec![0];
    let mut rest = &whole[..];
    while !rest.is_empty() {
        let len = thalweg_records::batch::frame_len(rest).unwrap();
        begins.push(begins.last().unwrap() + len);
        rest = &rest[len..];
    }
    assert!(begins.len() > 3);
    let from = begins[begins.len() - 2];
    for len in from..=whole.len() {
        for fill in [None, Some(0u8), Some(0xff)] {
            let crashed = TempDir::new();
            copy_dir(dir.path(), crashed.path());
            let mut torn = whole[..len].to_vec();
            // What a file system may leave behind the bytes that made it.
            torn.extend(fill.map_or(vec![], |byte| vec![byte; whole.len() - len + 7]));
            std::fs::write(crashed.path().join(&name), &torn).unwrap();
            let (logs, report) = open(&crashed, small());
            let log = logs.get("t", 0).unwrap();
            // The bytes left behind may happen to be the right ones.
            let whole_upto = |begin: usize| begin <= torn.len() && torn[..begin] == whole[..begin];
            let valid = *begins.iter().rev().find(|&&begin| whole_upto(begin)).unwrap();
            assert!(read_all(&log, 0, 1 << 20) == expected[..before + valid], "cut at {len}");
            let cut = &torn[valid..];
            let (cut_len, zeros) = (cut.len() as u64, cut.iter().all(|&byte| byte == 0));
            let stats = report.dirs[0].stats;
            let counted = if zeros { (0, cut_len) } else { (cut_len, 0) };
            assert_eq!((stats.truncated_bytes, stats.zeroed_bytes), counted);
            let end = log.log_end_offset();
            assert_eq!(append(&log, BatchSpec::new(0, 2)).first_offset, end);
            assert_eq!(read_all(&log, end, 100).len(), BatchSpec::new(0, 2).build().len());
        }
    }
}

#[test]
fn a_flipped_bit_ends_the_log_before_its_batch() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let expected = fill(&logs, 60);
    let bases = logs.get("t", 0).unwrap().segment_base_offsets();
    assert!(bases.len() > 2);
    drop(logs);
    let all = batches(&expected);
    // In the second segment: what is behind it goes, too.
    let name = format!("t-0/{:020}.log", bases[1]);
    let second = std::fs::read(dir.path().join(&name)).unwrap();
    let first_len = thalweg_records::batch::frame_len(&second).unwrap();
    let second_len = thalweg_records::batch::frame_len(&second[first_len..]).unwrap();
    for at in first_len..first_len + second_len {
        let crashed = TempDir::new();
        copy_dir(dir.path(), crashed.path());
        let mut bytes = second.clone();
        bytes[at] ^= 0x10;
        std::fs::write(crashed.path().join(&name), &bytes).unwrap();
        let (logs, report) = open(&crashed, small());
        let log = logs.get("t", 0).unwrap();
        let index = all.iter().position(|(base, _)| *base == bases[1]).unwrap();
        // The epoch and the base offset are not covered by the CRC; a base offset out of order is
        // noticed, a later one is not.
        let end = log.log_end_offset();
        let covered = at - first_len >= 16 || (8..12).contains(&(at - first_len));
        if covered {
            assert_eq!(end, all[index].1 + 1, "byte {at}");
            assert_eq!(log.segment_base_offsets(), bases[..2]);
            assert!(report.dirs[0].stats.truncated_bytes > 0);
        }
        let left = read_all(&log, 0, 1 << 20);
        batches(&left);
    }
}

#[test]
fn missing_and_damaged_indexes_are_built_again() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let expected = fill(&logs, 109);
    let bases = logs.get("t", 0).unwrap().segment_base_offsets();
    logs.shut_down(1, 2_000);
    drop(logs);
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 7] = [
        ("removed", |path| std::fs::remove_file(path).unwrap()),
        ("emptied of half an entry", |path| {
            let len = std::fs::metadata(path).unwrap().len();
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(len - 3).unwrap();
        }),
        ("zeros at the end", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes.extend([0; 24]);
            std::fs::write(path, bytes).unwrap();
        }),
        ("noise", |path| {
            let len = std::fs::metadata(path).unwrap().len() as usize;
            std::fs::write(path, vec![0xa5; len]).unwrap();
        }),
        ("last entry past the log", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            let at = bytes.len() - 4;
            bytes[at] = 0x7f;
            std::fs::write(path, bytes).unwrap();
        }),
        ("one entry wrong", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            let at = bytes.len() / 24 * 12 / 24 * 24 + 3;
            bytes[at] ^= 0x01;
            std::fs::write(path, bytes).unwrap();
        }),
        ("entries repeated", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            let entry: Vec<u8> = bytes[bytes.len() - bytes.len().min(24)..].to_vec();
            bytes.extend(entry);
            std::fs::write(path, bytes).unwrap();
        }),
    ];
    for (what, damage) in damages {
        for suffix in ["index", "timeindex"] {
            for which in [0, bases.len() - 1] {
                let copy = TempDir::new();
                copy_dir(dir.path(), copy.path());
                damage(&copy.path().join(format!("t-0/{:020}.{suffix}", bases[which])));
                let (logs, report) = open(&copy, small());
                assert!(report.dirs[0].clean);
                let log = logs.get("t", 0).unwrap();
                for offset in 0..log.log_end_offset() {
                    let found = batches(&read(&log, offset, 0).to_vec().unwrap())[0];
                    assert!(found.0 <= offset && offset <= found.1, "{what} {suffix}");
                }
                assert!(read_all(&log, 0, 300) == expected, "{what} {suffix} of {which}");
                let first = log.offset_for_timestamp(10_000, &PlainRecords).unwrap().unwrap();
                assert_eq!(first.offset, 0);
                let late = log.offset_for_timestamp(10_099, &PlainRecords).unwrap().unwrap();
                assert_eq!(late.timestamp, 10_099, "{what} {suffix} of {which}");
                // Entries out of order in the middle may never be met; what is found by them is
                // checked every time.
                let rebuilt = logs.metrics().indexes_rebuilt.get() > 0;
                let in_the_middle = what == "entries repeated" || what == "one entry wrong";
                assert!(rebuilt || in_the_middle, "{what} {suffix} of {which}");
                append(&log, BatchSpec::new(0, 1));
            }
        }
    }
}

/// The last entry of a closed segment's time index has the segment's largest timestamp. Without it a look-up by time
/// passed over the last records of the segment.
#[test]
fn a_time_index_without_its_last_entry_is_built_again() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    fill(&logs, 109);
    let bases = logs.get("t", 0).unwrap().segment_base_offsets();
    logs.shut_down(1, 2_000);
    drop(logs);
    let name = |base: i64| format!("t-0/{base:020}.timeindex");
    let entries = |base: i64| std::fs::metadata(dir.path().join(name(base))).unwrap().len() / 12;
    assert!(entries(bases[0]) > 1);
    for which in [0, bases.len() - 1] {
        for left in [0, entries(bases[which]) - 1] {
            let copy = TempDir::new();
            copy_dir(dir.path(), copy.path());
            let path = copy.path().join(name(bases[which]));
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(left * 12).unwrap();
            let (logs, report) = open(&copy, small());
            assert!(report.dirs[0].clean);
            let log = logs.get("t", 0).unwrap();
            for timestamp in 10_000..10_109 {
                let found = log.offset_for_timestamp(timestamp, &PlainRecords).unwrap();
                assert_eq!(found.map(|it| it.timestamp), Some(timestamp), "{which} {left}");
            }
            assert_eq!(logs.metrics().indexes_rebuilt.get(), 1, "{which} {left}");
        }
    }
}

/// Records without timestamps have no entries in the time index, and nothing is missing there.
#[test]
fn a_time_index_of_records_without_timestamps_stays_as_it_is() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let log = create(&logs, "t");
    for _ in 0..30 {
        append(&log, BatchSpec::new(0, 1).timestamp(-1));
    }
    logs.shut_down(1, 2_000);
    drop((log, logs));
    let (logs, _) = open(&dir, small());
    let log = logs.get("t", 0).unwrap();
    assert_eq!(log.offset_for_timestamp(10_000, &PlainRecords).unwrap(), None);
    assert_eq!(logs.metrics().indexes_rebuilt.get(), 0);
}

#[test]
fn producers_survive_in_snapshots_and_in_the_log() {
    let dir = TempDir::new();
    let config = small();
    let (logs, _) = open(&dir, config.clone());
    let log = create(&logs, "t");
    let mut sequence = 0;
    for _ in 0..50 {
        append(&log, BatchSpec::new(0, 2).producer(5, 1, sequence).value_len(30).timestamp(900));
        sequence += 2;
    }
    append(&log, BatchSpec::new(0, 1).producer(6, 0, 0).timestamp(900));
    let producers = |log: &thalweg_log::Log| {
        let mut producers = log.active_producers();
        producers.sort_by_key(|producer| producer.producer_id);
        producers
    };
    let before = producers(&log);
    assert!(log.segment_count() > 2);
    let snapshots = |dir: &TempDir| {
        files(&dir.path().join("t-0")).iter().filter(|name| name.ends_with(".snapshot")).count()
    };
    assert_eq!(snapshots(&dir), log.segment_count() - 1, "one for each closed segment");
    drop((log, logs));
    // After a crash ...
    let (logs, _) = open(&dir, config.clone());
    let log = logs.get("t", 0).unwrap();
    assert_eq!(producers(&log), before);
    let again = &mut BatchSpec::new(0, 2).producer(5, 1, sequence - 2).value_len(30).build();
    assert!(log.append_as_leader(again, &client()).unwrap().duplicate);
    drop(log);
    logs.shut_down(1, 2_000);
    drop(logs);
    // ... after a clean stop ...
    let (logs, _) = open(&dir, config.clone());
    let log = logs.get("t", 0).unwrap();
    assert_eq!(producers(&log), before);
    assert!(log.append_as_leader(again, &client()).unwrap().duplicate);
    logs.shut_down(1, 2_000);
    drop((log, logs));
    // ... with the newest snapshot damaged ...
    let mut names: Vec<_> = files(&dir.path().join("t-0")).into_iter().collect();
    names.retain(|name| name.ends_with(".snapshot"));
    names.sort();
    std::fs::write(dir.path().join("t-0").join(names.last().unwrap()), b"no snapshot").unwrap();
    let (logs, _) = open(&dir, config.clone());
    let log = logs.get("t", 0).unwrap();
    assert_eq!(producers(&log), before);
    // ... and truncation takes the state back.
    let end = log.log_end_offset();
    log.truncate_to(end - 1, 1_000).unwrap();
    assert_eq!(log.active_producers().len(), 1);
    log.truncate_to(40, 1_000).unwrap();
    assert_eq!(producers(&log)[0].last_sequence, 39);
    append(&log, BatchSpec::new(0, 2).producer(5, 1, 40));
    assert_eq!(log.expire_producers(1_000 + 86_400_000), 1);
}

#[test]
fn truncation_of_every_kind() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let expected = fill(&logs, 100);
    let log = logs.get("t", 0).unwrap();
    let all = batches(&expected);
    let end = log.log_end_offset();
    assert!(!log.truncate_to(end, 1_000).unwrap());
    assert!(!log.truncate_to(end + 5, 1_000).unwrap());
    let mut at = end;
    for step in [1, 2, 3, 30, 31, 60] {
        let target = all[all.len() - step - 1].0;
        assert!(target < at);
        assert!(log.truncate_to(target, 1_000).unwrap());
        at = target;
        assert_eq!((log.log_end_offset(), log.high_watermark()), (target, target));
        let left = read_all(&log, 0, 400);
        assert!(left == expected[..left.len()]);
        assert_eq!(batches(&left).last().unwrap().1 + 1, target);
        let late = log.offset_of_max_timestamp(&PlainRecords).unwrap().unwrap();
        assert_eq!(late.timestamp, 10_000 + (all.len() - step - 2) as i64);
        assert!(read(&log, target, 100).is_empty());
    }
    // Again what was there, through the same segments.
    let mut rest = &expected[read_all(&log, 0, 1 << 20).len()..];
    while !rest.is_empty() {
        let len = thalweg_records::batch::frame_len(rest).unwrap();
        let context = AppendContext::client(3, 1_000);
        log.append_as_leader(&mut rest[..len].to_vec(), &context).unwrap();
        rest = &rest[len..];
    }
    assert!(read_all(&log, 0, 900) == expected);
    log.truncate_fully_and_start_at(500, None, 1_000).unwrap();
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (500, 500));
    assert_eq!(log.latest_epoch(), None);
    assert_eq!(append(&log, BatchSpec::new(0, 1)).first_offset, 500);
    assert!(log.truncate_to(100, 1_000).unwrap());
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (100, 100));
    append(&log, BatchSpec::new(0, 1));
    drop((log, logs));
    let (logs, _) = open(&dir, small());
    let log = logs.get("t", 0).unwrap();
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (100, 101));
}

#[test]
fn a_log_cut_by_truncation_and_crashed_has_no_ghosts() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    fill(&logs, 100);
    let log = logs.get("t", 0).unwrap();
    log.flush(1_000).unwrap();
    logs.checkpoint();
    let target = log.segment_base_offsets()[1];
    logs.truncate([("t", 0, target)], 1_000).unwrap();
    let text =
        std::fs::read_to_string(dir.path().join("recovery-point-offset-checkpoint")).unwrap();
    assert_eq!(text, format!("0\n1\nt 0 {target}\n"));
    for _ in 0..3 {
        append(&log, BatchSpec::new(0, 5).value_len(100));
    }
    let expected = read_all(&log, 0, 1 << 20);
    drop((log, logs));
    let (logs, _) = open(&dir, small());
    let log = logs.get("t", 0).unwrap();
    assert!(read_all(&log, 0, 1 << 20) == expected);
}

#[test]
fn what_an_interrupted_compaction_or_deletion_left_is_tidied_up() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let expected = fill(&logs, 60);
    let bases = logs.get("t", 0).unwrap().segment_base_offsets();
    logs.shut_down(1, 2_000);
    drop(logs);
    let partition = dir.path().join("t-0");
    let file = |base: i64, suffix: &str| partition.join(format!("{base:020}{suffix}"));
    // A swap that is whole: it replaces the segments it covers (here: with themselves).
    for suffix in [".log", ".index", ".timeindex"] {
        std::fs::copy(file(bases[1], suffix), file(bases[1], &format!("{suffix}.swap"))).unwrap();
    }
    std::fs::write(file(bases[2], ".log.cleaned"), b"half").unwrap();
    std::fs::write(file(bases[2], ".log.swap"), b"of a cleaning that was not finished").unwrap();
    std::fs::write(file(0, ".log.deleted"), b"x").unwrap();
    std::fs::write(file(999, ".index"), b"orphan").unwrap();
    let (logs, _) = open(&dir, small());
    let log = logs.get("t", 0).unwrap();
    assert!(read_all(&log, 0, 1 << 20) == expected);
    let left = files(&partition);
    assert!(
        !left
            .iter()
            .any(|name| [".swap", ".cleaned", ".deleted"].iter().any(|s| name.ends_with(s))),
        "{left:?}"
    );
    assert!(!left.contains("00000000000000000999.index"));
}

#[test]
fn messages_of_old_are_refused_and_left_alone() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    create(&logs, "t");
    create(&logs, "other");
    drop(logs);
    // Magic 1: offset, size, crc, magic, attributes, timestamp, null key, one byte.
    let mut body = vec![1u8, 0];
    body.extend([0; 8]);
    body.extend((-1i32).to_be_bytes());
    body.extend(1i32.to_be_bytes());
    body.push(b'x');
    let crc = {
        let mut crc = !0u32;
        for byte in &body {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 != 0 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            }
        }
        !crc
    };
    let mut message = vec![0; 8];
    message.extend((4 + body.len() as i32).to_be_bytes());
    message.extend(crc.to_be_bytes());
    message.extend(&body);
    let path = dir.path().join("t-0/00000000000000000000.log");
    std::fs::write(&path, &message).unwrap();
    let (logs, report) = open(&dir, small());
    assert!(logs.get("t", 0).is_none() && logs.get("other", 0).is_some());
    assert!(report.dirs[0].refused[0].1.contains("magic 1"), "{:?}", report.dirs[0].refused);
    assert_eq!(std::fs::read(&path).unwrap(), message);
    // One wrong byte, and it is only a damaged tail.
    drop(logs);
    message[20] ^= 1;
    std::fs::write(&path, &message).unwrap();
    let (logs, _) = open(&dir, small());
    assert_eq!(logs.get("t", 0).unwrap().size(), 0);
}

#[test]
fn damaged_small_files_cost_no_data() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let expected = fill(&logs, 60);
    drop(logs);
    for name in [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
        "t-0/leader-epoch-checkpoint",
        ".kafka_cleanshutdown",
    ] {
        for content in [&b""[..], b"garbage\xff", b"0\n5\n", b"7\n0\n"] {
            if name.starts_with('.') && content.is_empty() {
                continue;
            }
            let copy = TempDir::new();
            copy_dir(dir.path(), copy.path());
            std::fs::write(copy.path().join(name), content).unwrap();
            let (logs, report) = open(&copy, small());
            let log = logs.get("t", 0).unwrap();
            assert!(read_all(&log, 0, 1 << 20) == expected, "{name} {content:?}");
            assert_eq!(log.latest_epoch(), Some((3, 0)), "{name} {content:?}");
            assert_eq!(report.previous_broker_epoch, -1);
        }
    }
}

/// What a power cut may leave of a file that was replaced and not synced.
#[test]
fn leader_epochs_without_their_file_are_in_the_batches() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let log = create(&logs, "t");
    for epoch in [1, 1, 4, 6] {
        let mut batch = BatchSpec::new(0, 3).build();
        log.append_as_leader(&mut batch, &AppendContext::client(epoch, 1_000)).unwrap();
    }
    log.flush(1_000).unwrap();
    logs.checkpoint();
    let (crashed, stopped) = (TempDir::new(), TempDir::new());
    copy_dir(dir.path(), crashed.path());
    logs.shut_down(1, 1_000);
    copy_dir(dir.path(), stopped.path());
    drop((log, logs));

    let expected = [(1, 0), (4, 6), (6, 9)];
    for state in [&crashed, &stopped] {
        for content in [None, Some("")] {
            let copy = TempDir::new();
            copy_dir(state.path(), copy.path());
            let file = copy.path().join("t-0/leader-epoch-checkpoint");
            match content {
                None => std::fs::remove_file(&file).unwrap(),
                Some(content) => std::fs::write(&file, content).unwrap(),
            }
            let (logs, _) = open(&copy, small());
            assert_eq!(logs.get("t", 0).unwrap().leader_epochs(), expected, "{content:?}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "0\n3\n1 0\n4 6\n6 9\n");
        }
    }
    // A file that says that there are none is believed.
    let file = stopped.path().join("t-0/leader-epoch-checkpoint");
    std::fs::write(&file, "0\n0\n").unwrap();
    let (logs, _) = open(&stopped, small());
    assert_eq!(logs.get("t", 0).unwrap().leader_epochs(), []);
}

#[test]
fn preallocated_segments_end_where_their_batches_do() {
    let dir = TempDir::new();
    let config = LogConfig { preallocate: true, ..small() };
    let (logs, _) = open(&dir, config.clone());
    let expected = fill(&logs, 60);
    let log = logs.get("t", 0).unwrap();
    let bases = log.segment_base_offsets();
    let len = |dir: &Path, base: i64| {
        std::fs::metadata(dir.join(format!("t-0/{base:020}.log"))).unwrap().len()
    };
    assert!(len(dir.path(), bases[0]) < 2000, "closed segments are cut");
    assert_eq!(len(dir.path(), *bases.last().unwrap()), 2000);
    drop((log, logs));
    let copy = TempDir::new();
    copy_dir(dir.path(), copy.path());
    let (logs, _) = open(&copy, config.clone());
    assert!(read_all(&logs.get("t", 0).unwrap(), 0, 1 << 20) == expected);
    append(&logs.get("t", 0).unwrap(), BatchSpec::new(0, 1));
    logs.shut_down(0, 2_000);
    drop(logs);
    assert!(len(copy.path(), *bases.last().unwrap()) < 2000);
    let (logs, report) = open(&copy, config);
    assert!(report.dirs[0].clean);
    assert_eq!(report.dirs[0].stats.recovered_segments, 0);
    assert_eq!(logs.get("t", 0).unwrap().size(), (expected.len() + 78) as u64);
}
