//! What stays of a log, by itself: no other cleaner says so, and none is asked.

use std::os::unix::fs::MetadataExt as _;

use thalweg_log::testing::TempDir;
use thalweg_log::testing::crash::with_seeds;
use thalweg_log::{CleanerConfig, LogConfig, LogManager};
use thalweg_records::Compression;

use super::*;

#[test]
fn a_reader_of_committed_records_sees_every_keys_last_value() {
    // A transaction that stays open lets little be compacted: over all seeds it must be enough.
    let (mut runs, mut all) = (0, 0);
    with_seeds(60, |seed| {
        let dir = TempDir::in_memory();
        let settings =
            LogConfig { delete_retention_ms: 2_000, segment_bytes: 12_000, ..compacted() };
        let (logs, _) = open(&dir, settings.clone());
        let log = create(&logs, "t");
        let mut writer = Writer::new(seed, everything(), 1_000_000);
        let mut passes = 0;
        for _ in 0..6 {
            writer.append(&log, 60);
            if writer.random.one_in(3) {
                writer.settle(&log);
            }
            let known = committed(&writer.appended, log.last_stable_offset());
            let before = values(known.iter().copied());
            while let Some(pass) = logs.clean_once(writer.now) {
                assert!(pass.end_offset.is_some());
                passes += 1;
            }
            let stable = log.last_stable_offset();
            let found = read_visible(&log, stable);
            assert_eq!(values(&found), before);
            // Nothing else than what was appended is there.
            for record in &found {
                let at = known.binary_search_by_key(&record.offset, |known| known.offset);
                assert_eq!(record, known[at.expect("an offset of a committed record")]);
            }
            writer.now += 1_500;
        }
        (runs, all) = (runs + 1, all + passes);
        let end = log.log_end_offset();
        let before = read_all(&log, 0, 1 << 20);
        logs.shut_down(1, writer.now);
        drop((log, logs));
        let (logs, _) = open(&dir, settings);
        let log = logs.get("t", 0).unwrap();
        assert_eq!(log.log_end_offset(), end);
        assert!(read_all(&log, 0, 1 << 20) == before);
    });
    assert!(runs == 1 || all >= 3 * runs, "{all} passes in {runs} runs");
}

#[test]
fn a_tombstone_goes_when_its_horizon_has_passed() {
    let dir = TempDir::in_memory();
    let settings = LogConfig { delete_retention_ms: 1_000, ..compacted() };
    let (logs, _) = open(&dir, settings);
    let log = create(&logs, "t");
    put(&log, "gone", Some("value"), 10);
    put(&log, "stays", Some("value"), 10);
    put(&log, "gone", None, 10);
    let clean = |now: i64| {
        // A segment of something new, or there would be nothing to do.
        put(&log, "other", Some(&now.to_string()), 10);
        log.roll(now).unwrap();
        log.advance_high_watermark(i64::MAX);
        assert!(logs.clean_once(now).unwrap().end_offset.is_some());
        let bytes = read_all(&log, 0, 1 << 20);
        let found = parsed(&bytes);
        let is_there = |key: &str| {
            found.iter().flat_map(|b| &b.records).any(|r| r.key.as_deref() == Some(key.as_bytes()))
        };
        let horizons: Vec<i64> =
            found.iter().filter(|b| b.attributes & 0x40 != 0).map(|b| b.timestamps.0).collect();
        assert!(is_there("stays") && is_there("other"));
        (is_there("gone"), horizons)
    };
    // The first pass that sees it says until when it stays, and no later one says otherwise.
    assert_eq!(clean(50_000), (true, vec![51_000]));
    assert_eq!(clean(50_999), (true, vec![51_000]));
    assert_eq!(clean(51_000), (false, vec![]));
    assert_eq!(values(&read_visible(&log, log.log_end_offset())).len(), 2);
}

/// The end of a round is no reason to keep an emptied batch, the high watermark is (KAFKA-20452).
#[test]
fn emptied_batch_stays_only_at_the_high_watermark() {
    for has_later_record in [false, true] {
        let dir = TempDir::in_memory();
        let settings = LogConfig { delete_retention_ms: 1_000, ..compacted() };
        let (logs, _) = open(&dir, settings.clone());
        let log = create(&logs, "t");
        put(&log, "stays", Some("value"), 10);
        put(&log, "gone", None, 10);
        log.roll(10).unwrap();
        log.advance_high_watermark(i64::MAX);
        // The tombstone gets its horizon.
        assert!(logs.clean_once(50_000).is_some());
        logs.shut_down(1, 50_000);
        drop((log, logs));
        // Without the checkpoint the next round begins at the log's start.
        std::fs::remove_file(dir.path().join("cleaner-offset-checkpoint")).unwrap();
        let (logs, _) = open(&dir, settings);
        let log = logs.get("t", 0).unwrap();
        if has_later_record {
            put(&log, "later", Some("value"), 10);
        }
        log.advance_high_watermark(i64::MAX);
        let round = logs.clean_once(60_000).unwrap();
        assert_eq!(round.end_offset, Some(2));
        let found = parsed(&read_all(&log, 0, 1 << 20));
        let batches: Vec<_> = found.iter().map(|b| (b.last_offset, b.records.len())).collect();
        let expected = if has_later_record { [(0, 1), (2, 1)] } else { [(0, 1), (1, 0)] };
        assert_eq!(batches, expected);
    }
}

/// A record above `max.decompressed.message.bytes` makes its log uncleanable, and look-ups of it fail.
#[test]
fn compressed_record_above_the_bound_is_not_read() {
    let dir = TempDir::in_memory();
    let (logs, _) = open(&dir, compacted());
    let log = create(&logs, "t");
    let large = "v".repeat(1_000);
    put_many(&log, Compression::Lz4, &[("key", &large), ("key", "small")]);
    log.roll(10).unwrap();
    log.advance_high_watermark(i64::MAX);
    let bound = |max_decompressed_message_bytes: i32| {
        let config = LogConfig { max_decompressed_message_bytes, ..compacted() };
        log.update_config(config.into());
    };
    bound(1_000);
    let refused = logs.clean_once(10).unwrap();
    assert_eq!(refused.end_offset, None);
    assert_eq!(logs.clean_once(20), None);
    assert!(log.offset_for_timestamp(1, &Bounded).is_err());
    bound(2_000);
    assert_eq!(log.offset_for_timestamp(1, &Bounded).unwrap().unwrap().offset, 0);
}

/// Reads compressed batches within the bound that the log gives.
struct Bounded;

impl thalweg_log::RecordScan for Bounded {
    fn scan(
        &self,
        batch: thalweg_records::BatchView<'_>,
        max_record_bytes: i32,
        visit: &mut dyn FnMut(i64, i64) -> bool,
    ) -> Result<(), String> {
        let mut decompressor = thalweg_records::Decompressor::new();
        let mut reader = thalweg_records::RecordReader::bounded(
            &batch,
            &mut decompressor,
            1 << 20,
            max_record_bytes,
        )
        .map_err(|error| error.to_string())?;
        while let Some(record) =
            reader.next(&batch, &mut decompressor).map_err(|error| error.to_string())?
        {
            if !visit(record.offset, record.timestamp) {
                break;
            }
        }
        Ok(())
    }
}

#[test]
fn what_is_too_young_or_too_little_waits() {
    let dir = TempDir::in_memory();
    let (logs, _) = open(&dir, compacted());
    let log = create(&logs, "t");
    let configure = |change: &dyn Fn(&mut LogConfig)| {
        let mut config = compacted();
        change(&mut config);
        log.update_config(config.into());
    };
    for round in 0..8 {
        put(&log, "key", Some("value"), 1_000 + round);
        log.roll(1_000).unwrap();
    }
    log.advance_high_watermark(4);
    // The active segment is empty, and what is not below the high watermark is left alone.
    configure(&|config| config.min_compaction_lag_ms = 500);
    assert_eq!(logs.clean_once(1_499), None);
    let pass = logs.clean_once(1_502).unwrap();
    assert_eq!((pass.first_dirty_offset, pass.end_offset), (0, Some(3)));
    log.advance_high_watermark(i64::MAX);
    configure(&|config| config.min_cleanable_dirty_ratio = 0.99);
    assert_eq!(logs.clean_once(9_000), None);
    // What is old enough does not wait for more to come.
    configure(&|config| {
        config.min_cleanable_dirty_ratio = 0.99;
        config.max_compaction_lag_ms = 500;
    });
    assert_eq!(logs.clean_once(1_503), None);
    assert_eq!(logs.clean_once(1_504).unwrap().end_offset, Some(8));
    let metrics = logs.cleaner_metrics();
    assert!(metrics.max_dirty_percent > 50, "{metrics:?}");
    configure(&|config| config.compact = false);
    assert_eq!(logs.clean_once(i64::MAX), None);
    // Of one key the last record stays, and the last batch of the pass before: here they are one.
    assert_eq!(parsed(&read_all(&log, 0, 1 << 20)).len(), 1);
}

#[test]
fn the_share_that_is_new_decides_who_comes_first() {
    let dir = TempDir::in_memory();
    let (logs, _) = open(&dir, compacted());
    for (topic, count) in [("few", 2), ("many", 20), ("some", 5)] {
        let log = create(&logs, topic);
        // As much that is clean in each of them.
        for key in 0..10 {
            put(&log, &key.to_string(), Some("value"), 10);
        }
        log.roll(10).unwrap();
        log.advance_high_watermark(i64::MAX);
        assert_eq!(&*logs.clean_once(10).unwrap().topic, topic);
        for _ in 0..count {
            put(&log, "key", Some("value"), 10);
        }
        log.roll(10).unwrap();
        log.advance_high_watermark(i64::MAX);
        logs.get(topic, 0).unwrap().update_config(LogConfig::default().into());
    }
    for topic in ["few", "many", "some"] {
        logs.get(topic, 0).unwrap().update_config(compacted().into());
    }
    let order: Vec<_> = std::iter::from_fn(|| logs.clean_once(10)).map(|pass| pass.topic).collect();
    assert_eq!(order.iter().map(|topic| &**topic).collect::<Vec<_>>(), ["many", "some", "few"]);
}

#[test]
fn small_segments_become_one() {
    let dir = TempDir::in_memory();
    let (logs, _) = open(&dir, compacted());
    let log = create(&logs, "t");
    for key in 0..10 {
        put(&log, &key.to_string(), Some("value"), 10);
        log.roll(10).unwrap();
    }
    log.advance_high_watermark(i64::MAX);
    assert_eq!(log.segment_count(), 11);
    assert!(logs.clean_once(10).is_some());
    assert_eq!(log.segment_base_offsets(), [0, 10]);
    // A batch of which everything stays keeps its bytes.
    assert_eq!(parsed(&read_all(&log, 0, 1 << 20)).len(), 10);
    assert!(logs.clean_once(10).is_none(), "nothing is new");
    // Old files wait for file.delete.delay.ms.
    let deleted = || {
        std::fs::read_dir(log.path())
            .unwrap()
            .filter(|entry| {
                entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".deleted")
            })
            .count()
    };
    assert!(deleted() >= 30, "{}", deleted());
    logs.delete_due(10 + 60_000);
    assert_eq!(deleted(), 0);
}

#[test]
fn a_segment_of_which_everything_stays_is_left_where_it_is() {
    for io_buffer_bytes in [4 << 10, 1 << 20] {
        let dir = TempDir::in_memory();
        // Each is too large to be one with a neighbour.
        let (logs, _) = open(&dir, LogConfig { segment_bytes: 300_000, ..compacted() });
        logs.configure_cleaner(CleanerConfig { io_buffer_bytes, ..CleanerConfig::default() });
        let log = create(&logs, "t");
        let value = "value".repeat(1_000);
        for segment in 0..3 {
            for key in 0..50 {
                put(&log, &format!("{segment} {key}"), Some(&value), 10);
            }
            log.roll(10).unwrap();
        }
        log.advance_high_watermark(i64::MAX);
        let files = || -> Vec<u64> {
            let paths = [0, 50, 100].map(|base| log.path().join(format!("{base:020}.log")));
            paths.iter().map(|path| std::fs::metadata(path).unwrap().ino()).collect()
        };
        let (before, batches) = (files(), all_batches(&log));
        let pass = logs.clean_once(10).unwrap();
        let bytes = log.size();
        assert_eq!(
            (pass.end_offset, pass.bytes_read, pass.bytes_written),
            (Some(150), bytes, bytes)
        );
        assert_eq!((pass.records_read, pass.records_written), (150, 150));
        assert_eq!((files(), all_batches(&log)), (before.clone(), batches.clone()));
        for entry in std::fs::read_dir(log.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.ends_with(".deleted") && !name.ends_with(".cleaned"), "{name}");
        }

        // Of the first one a record goes when most of it was found to be the same, and of the last one
        // the first record.
        put(&log, "0 45", Some("new"), 10);
        put(&log, "2 0", Some("new"), 10);
        log.roll(10).unwrap();
        log.advance_high_watermark(i64::MAX);
        let mut expected = all_batches(&log);
        expected.retain(|batch| ![45, 100].contains(&batch.base_offset));
        assert!(logs.clean_once(10).unwrap().end_offset.is_some());
        assert_eq!(all_batches(&log), expected);
        let now = files();
        assert!(now[0] != before[0] && now[1] == before[1] && now[2] != before[2]);
        for batch in &expected {
            let found = parsed(&read(&log, batch.base_offset, 1).to_vec().unwrap());
            assert_eq!(found.first(), Some(batch));
        }
    }
}

#[test]
fn the_map_has_its_share_of_the_memory_and_passes_come_on() {
    let dir = TempDir::in_memory();
    let (logs, _) = open(&dir, compacted());
    logs.configure_cleaner(CleanerConfig {
        dedupe_buffer_bytes: 24 * 100,
        load_factor: 0.5,
        ..CleanerConfig::default()
    });
    let log = create(&logs, "t");
    for round in 0..3 {
        for key in 0..200 {
            put(&log, &key.to_string(), Some(&round.to_string()), 10);
        }
    }
    log.roll(10).unwrap();
    log.advance_high_watermark(i64::MAX);
    let mut ends = Vec::new();
    while let Some(pass) = logs.clean_once(10) {
        assert!(pass.map_memory <= 2_400, "{}", pass.map_memory);
        ends.push(pass.end_offset.unwrap());
    }
    let expected: Vec<i64> = (1..=12).map(|pass| pass * 50).collect();
    assert_eq!(ends, expected);
    let found = read_visible(&log, log.log_end_offset());
    assert_eq!(values(&found).len(), 200);
    assert!(values(&found).values().all(|value| *value == b"2"));
}

#[test]
fn records_larger_than_the_buffers_go_through() {
    for codec in [Compression::None, Compression::Zstd] {
        let dir = TempDir::in_memory();
        let settings = LogConfig { max_message_bytes: 20 << 20, ..compacted() };
        let (logs, _) = open(&dir, settings);
        logs.configure_cleaner(CleanerConfig {
            io_buffer_bytes: 4 << 10,
            ..CleanerConfig::default()
        });
        let log = create(&logs, "t");
        let large: String =
            (0..600_000u64).map(|i| char::from(b'a' + (i * i % 23) as u8)).collect();
        for _ in 0..3 {
            put_many(&log, codec, &[("large", &large), ("small", "value")]);
            put_many(&log, codec, &[("small", "value")]);
        }
        log.roll(10).unwrap();
        log.advance_high_watermark(i64::MAX);
        let pass = logs.clean_once(10).unwrap();
        assert_eq!(pass.end_offset, Some(9));
        assert_eq!((pass.records_read, pass.records_written), (9, 2));
        let found = read_visible(&log, 9);
        let found = values(&found);
        assert_eq!(found[&b"large"[..]], large.as_bytes());
        assert_eq!(found.len(), 2);
    }
}

/// The manager after a start.
fn again(dir: &TempDir, logs: LogManager) -> LogManager {
    logs.shut_down(1, 10);
    drop(logs);
    open(dir, compacted()).0
}

#[test]
fn a_start_goes_on_where_the_last_pass_ended() {
    let dir = TempDir::in_memory();
    let (mut logs, _) = open(&dir, compacted());
    let checkpoint = dir.path().join("cleaner-offset-checkpoint");
    let log = create(&logs, "t");
    let fill = |logs: &LogManager| {
        let log = logs.get("t", 0).unwrap();
        for _ in 0..10 {
            put(&log, "key", Some("value"), 10);
        }
        log.roll(10).unwrap();
        log.advance_high_watermark(i64::MAX);
    };
    drop(log);
    assert!(!checkpoint.exists());
    fill(&logs);
    assert_eq!(logs.clean_once(10).unwrap().end_offset, Some(10));
    assert_eq!(std::fs::read_to_string(&checkpoint).unwrap(), "0\n1\nt 0 10\n");
    logs = again(&dir, logs);
    assert!(logs.clean_once(10).is_none());
    fill(&logs);
    assert_eq!(logs.clean_once(10).unwrap().first_dirty_offset, 10);

    // A truncation into what was compacted, with its checkpoint.
    logs.truncate([("t", 0, 15)], 10).unwrap();
    assert!(std::fs::read_to_string(&checkpoint).unwrap().contains("t 0 0\n"));
    logs = again(&dir, logs);
    fill(&logs);
    assert_eq!(logs.clean_once(10).unwrap().first_dirty_offset, 0);

    // Records that are deleted take the checkpoint with them.
    fill(&logs);
    let log = logs.get("t", 0).unwrap();
    let end = log.log_end_offset();
    log.delete_records(end).unwrap();
    drop(log);
    assert!(logs.clean_once(10).is_none_or(|pass| pass.first_dirty_offset == end));
    assert!(std::fs::read_to_string(&checkpoint).unwrap().contains(&format!("t 0 {end}\n")));

    // One that begins elsewhere begins there.
    let log = logs.get("t", 0).unwrap();
    logs.truncate_fully_and_start_at(&log, 5, None, 10).unwrap();
    drop(log);
    assert!(std::fs::read_to_string(&checkpoint).unwrap().contains("t 0 5\n"));
    // A partition that is deleted is not in it any more.
    logs.delete([("t", 0)], 10).unwrap();
    assert_eq!(std::fs::read_to_string(&checkpoint).unwrap(), "0\n0\n");

    // What is behind the log's end says nothing of it.
    create(&logs, "t");
    fill(&logs);
    logs.shut_down(1, 10);
    drop(logs);
    std::fs::write(&checkpoint, "0\n1\nt 0 11\n").unwrap();
    let (logs, _) = open(&dir, compacted());
    assert_eq!(logs.get("t", 0).unwrap().cleaned_offset(), Some(0));
}

/// A client numbers the records of its batch as it likes, and a leader that need not change the batch stores it so.
#[test]
fn records_that_claim_offsets_of_another_batch_take_none_of_its_records_away() {
    for first in [1, -1, 7] {
        let dir = TempDir::in_memory();
        let (logs, _) = open(&dir, compacted());
        let log = create(&logs, "t");
        put(&log, "before", Some("stays"), 10);
        put_numbered(&log, &[("a", "1"), ("b", "1"), ("x", "1")], first);
        for n in 0..6 {
            put(&log, &format!("behind-{n}"), Some("stays"), 10);
        }
        // Its key comes again: what has the offset that it claimed is not it.
        for key in ["a", "b", "x"] {
            put(&log, key, Some("2"), 10);
        }
        log.roll(10).unwrap();
        log.advance_high_watermark(i64::MAX);
        let pass = logs.clean_once(10).unwrap();
        assert!(pass.end_offset.unwrap() <= log.log_end_offset());
        let mut found = std::collections::BTreeSet::new();
        for batch in all_batches(&log) {
            found.extend(batch.records.into_iter().map(|record| record.key));
        }
        for key in
            ["before", "behind-0", "behind-1", "behind-2", "behind-3", "behind-4", "behind-5"]
        {
            assert!(found.contains(&Some(key.as_bytes().to_vec())), "{key}, numbered from {first}");
        }
    }
}
