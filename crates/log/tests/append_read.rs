//! Appending, reading, rolling, finding by timestamp.

use crate::common;

use std::sync::Arc;

use common::*;
use thalweg_log::testing::{BatchSpec, TempDir};
use thalweg_log::{
    AppendContext, AppendError, AppendOrigin, Isolation, LogConfig, ReadError, ReadRequest, Wait,
};
use thalweg_records::BatchView;
use thalweg_wire::ErrorCode;

fn small() -> LogConfig {
    LogConfig { segment_bytes: 4096, index_interval_bytes: 200, ..LogConfig::default() }
}

#[test]
fn offsets_and_epoch_are_set_and_the_rest_stays() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 3));
    let mut bytes = BatchSpec::new(0, 2).timestamp(77).build();
    let before = bytes.clone();
    let context = AppendContext::client(5, 1_000);
    let info = log.append_as_leader(&mut bytes, &context).unwrap();
    assert_eq!((info.first_offset, info.last_offset, info.leader_epoch), (3, 4, 5));
    assert_eq!(bytes[16..], before[16..]);
    let result = read(&log, 3, 1 << 20);
    assert_eq!(result.to_vec().unwrap(), bytes);
    let batch = BatchView::parse(&bytes).unwrap();
    assert_eq!((batch.base_offset(), batch.partition_leader_epoch()), (3, 5));
    assert_eq!(log.latest_epoch(), Some((5, 3)));
    assert_eq!(log.end_offset_for_epoch(0), Some((0, 3)));
    assert_eq!(log.end_offset_for_epoch(5), Some((5, 5)));
    assert_eq!(log.end_offset_for_epoch(6), None);
}

#[test]
fn reads_are_whole_batches_of_every_size_from_every_offset() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let log = create(&logs, "t");
    let mut expected = Vec::new();
    for i in 0..200i64 {
        let spec = BatchSpec::new(0, 1 + (i % 4) as i32).value_len((i * 13 % 90) as usize);
        let mut bytes = spec.timestamp(i).build();
        log.append_as_leader(&mut bytes, &client()).unwrap();
        expected.extend(bytes);
    }
    assert!(log.segment_count() > 3, "{}", log.segment_count());
    for max in [1, 100, 333, 1000, 5000, 1 << 20] {
        assert!(read_all(&log, 0, max) == expected, "reads of {max} bytes");
    }
    let all = batches(&expected);
    for offset in 0..log.log_end_offset() {
        let holds = *all.iter().find(|(_, last)| *last >= offset).unwrap();
        for max in [0, 61, 150, 700] {
            let result = read(&log, offset, max);
            let bytes = result.to_vec().unwrap();
            let found = batches(&bytes);
            assert_eq!(found[0], holds, "offset {offset}");
            assert!(bytes.len() <= max as usize || found.len() == 1);
            // As many as fit, but not across segments.
            if let Some(next) = all.iter().find(|(base, _)| *base > found.last().unwrap().1) {
                let next = read(&log, next.0, 0).to_vec().unwrap();
                let rolled = log.segment_base_offsets().contains(&batches(&next)[0].0);
                assert!(bytes.len() + next.len() > max as usize || rolled, "offset {offset} {max}");
            }
            let strict = log.read(&ReadRequest { min_one: false, ..request(offset, max) }).unwrap();
            assert!(strict.len <= max);
        }
    }
}

#[test]
fn what_may_be_seen_ends_at_the_bound() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let log = create(&logs, "t");
    for _ in 0..60 {
        log.append_as_leader(&mut BatchSpec::new(0, 2).value_len(50).build(), &client()).unwrap();
    }
    let at = |isolation, offset| ReadRequest { isolation, ..request(offset, 1 << 20) };
    assert!(log.read(&at(Isolation::HighWatermark, 0)).unwrap().is_empty());
    for bound in [2, 20, 22, 64, 66, 110] {
        log.advance_high_watermark(bound);
        let mut offset = 0;
        loop {
            let result = log.read(&at(Isolation::HighWatermark, offset)).unwrap();
            assert_eq!(result.offsets.high_watermark, bound);
            let Some(&(_, last)) = batches(&result.to_vec().unwrap()).last() else { break };
            offset = last + 1;
        }
        assert_eq!(offset, bound);
    }
    assert!(log.advance_high_watermark(1_000));
    assert_eq!(log.high_watermark(), 120);
    assert!(!log.advance_high_watermark(3));
}

#[test]
fn outside_of_the_log_is_out_of_range() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    append(&log, BatchSpec::new(0, 3));
    assert!(read(&log, 3, 100).is_empty());
    for offset in [-1, 4, i64::MAX, i64::MIN] {
        let error = log.read(&request(offset, 100)).unwrap_err();
        assert!(matches!(error, ReadError::OffsetOutOfRange { .. }), "{offset}: {error}");
    }
    assert_eq!(log.delete_records(2).unwrap(), 2);
    assert!(matches!(log.read(&request(1, 100)), Err(ReadError::OffsetOutOfRange { .. })));
    // The batch holds offset 2 and those before it; the consumer drops those.
    assert_eq!(batches(&read(&log, 2, 100).to_vec().unwrap()), [(0, 2)]);
    assert!(matches!(log.delete_records(4), Err(ReadError::OffsetOutOfRange { .. })));
    assert_eq!(log.delete_records(-1).unwrap(), 3);
}

#[test]
fn segments_roll_by_size_time_index_and_offset() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let with = |topic: &str, config: LogConfig| {
        let log = create(&logs, topic);
        log.update_config(config.into());
        log
    };
    let by_size = with("size", LogConfig { segment_bytes: 300, ..LogConfig::default() });
    let size = BatchSpec::new(0, 1).value_len(20).build().len();
    for _ in 0..7 {
        append(&by_size, BatchSpec::new(0, 1).value_len(20));
    }
    let per_segment = 300 / size;
    assert_eq!(by_size.segment_count(), 7usize.div_ceil(per_segment));
    let large = &mut BatchSpec::new(0, 1).value_len(400).build();
    let error = by_size.append_as_leader(large, &client()).unwrap_err();
    assert!(matches!(error, AppendError::RecordListTooLarge { max: 300, .. }), "{error}");

    let by_time = with("time", LogConfig { segment_ms: 100, ..LogConfig::default() });
    append(&by_time, BatchSpec::new(0, 1).timestamp(1_000));
    append(&by_time, BatchSpec::new(0, 1).timestamp(1_100));
    assert_eq!(by_time.segment_count(), 1, "as old as allowed");
    append(&by_time, BatchSpec::new(0, 1).timestamp(1_101));
    assert_eq!(by_time.segment_base_offsets(), [0, 2]);
    append(&by_time, BatchSpec::new(0, 1).timestamp(900));
    assert_eq!(by_time.segment_count(), 2, "an older timestamp closes nothing");

    let config =
        LogConfig { segment_index_bytes: 60, index_interval_bytes: 0, ..LogConfig::default() };
    logs.set_defaults(config.into());
    let by_index = create(&logs, "index");
    for i in 0..20 {
        append(&by_index, BatchSpec::new(0, 1).timestamp(i));
    }
    // 60 bytes are five time entries, one of which is kept for the end; the first batch has none.
    assert_eq!(by_index.segment_base_offsets(), [0, 5, 10, 15]);

    let by_offset = create(&logs, "offset");
    let context = AppendContext { origin: AppendOrigin::Replication, ..client() };
    let far = i64::from(i32::MAX);
    for offset in [0, far, far + 1, 3 * far] {
        by_offset.append_with_offsets(&BatchSpec::new(offset, 1).build(), &context).unwrap();
    }
    assert_eq!(by_offset.segment_base_offsets(), [0, far + 1, 3 * far]);
    assert_eq!(batches(&read_all(&by_offset, 0, 1000)).len(), 4);
}

#[test]
fn an_append_that_may_not_wait_does_nothing_where_it_would_have_to() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig { segment_bytes: 400, ..LogConfig::default() });
    let log = create(&logs, "t");
    let follower = |end| AppendContext::replication(0, end, 1_000);
    let batch = |offset| BatchSpec::new(offset, 1).leader_epoch(0).value_len(100).build();
    log.make_follower(0);
    let mut end = 0;
    let rolled = loop {
        match log.try_append_with_offsets(&batch(end), &follower(end)) {
            Some(appended) => end = appended.unwrap().last_offset + 1,
            None => break end,
        }
    };
    // A segment is full; whoever may wait begins another one.
    assert!(rolled > 1 && log.segment_count() == 1 && log.log_end_offset() == rolled);
    assert!(log.try_append_with_offsets(&batch(end), &follower(end)).is_none());
    log.append_with_offsets(&batch(end), &follower(end)).unwrap();
    assert_eq!(log.segment_count(), 2);
    end += 1;
    // Errors are the same, and told at once.
    let error = log.try_append_with_offsets(&batch(end), &follower(end + 1)).unwrap().unwrap_err();
    assert!(matches!(error, AppendError::UnexpectedOffset { .. }), "{error}");
    log.make_follower(1);
    let error = log.try_append_with_offsets(&batch(end), &follower(end)).unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    let flushing = LogConfig { flush_messages: 1_000, ..LogConfig::default() };
    log.update_config(Arc::new(flushing));
    assert!(log.try_append_with_offsets(&batch(end), &follower(end)).is_none());
    assert_eq!(log.log_end_offset(), end);
}

#[test]
fn appends_that_keep_their_offsets_are_checked() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    let follower = AppendContext { origin: AppendOrigin::Replication, ..client() };
    let mut two = BatchSpec::new(5, 2).leader_epoch(0).build();
    two.extend(BatchSpec::new(9, 1).leader_epoch(0).build());
    let info = log.append_with_offsets(&two, &follower).unwrap();
    assert_eq!((info.first_offset, info.last_offset), (5, 9));
    let again = log.append_with_offsets(&two, &follower).unwrap_err();
    assert!(matches!(again, AppendError::UnexpectedOffset { first: 5, log_end_offset: 10, .. }));
    let mut wrong = BatchSpec::new(12, 2).build();
    wrong.extend(BatchSpec::new(13, 1).build());
    let error = log.append_with_offsets(&wrong, &follower).unwrap_err();
    assert!(matches!(error, AppendError::OffsetsOutOfOrder { offset: 13, previous: 13, .. }));
    let mut newer = BatchSpec::new(10, 1).leader_epoch(0).build();
    newer.extend(BatchSpec::new(11, 1).leader_epoch(3).build());
    let info = log.append_with_offsets(&newer, &follower).unwrap();
    assert_eq!(info.last_offset, 10, "a batch of a newer epoch waits for the metadata");
    assert_eq!(log.log_end_offset(), 11);
    let mut garbage = BatchSpec::new(20, 1).build();
    garbage.truncate(70);
    assert!(matches!(
        log.append_with_offsets(&garbage, &follower),
        Err(AppendError::Corrupt { .. })
    ));
    assert_eq!(log.append_with_offsets(&[], &follower).unwrap().last_offset, 10);
}

#[test]
fn records_are_found_by_timestamp() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let log = create(&logs, "t");
    let mut all: Vec<(i64, i64)> = Vec::new();
    for i in 0..150i64 {
        // Timestamps that go back now and then.
        let times: Vec<i64> = (0..3).map(|k| 1_000 + i * 10 + [3, 0, 7][k] - (i % 7) * 4).collect();
        let info = append(&log, BatchSpec::new(0, 3).timestamps(&times).value_len(20));
        for (k, time) in times.iter().enumerate() {
            all.push((info.first_offset + k as i64, *time));
        }
    }
    assert!(log.segment_count() > 2);
    let max = all.iter().map(|&(_, time)| time).max().unwrap();
    for target in (950..max + 20).step_by(3) {
        let expected = all.iter().find(|&&(_, time)| time >= target);
        let found = log.offset_for_timestamp(target, &PlainRecords).unwrap();
        assert_eq!(found.map(|f| (f.offset, f.timestamp)), expected.copied(), "target {target}");
    }
    let latest = log.offset_of_max_timestamp(&PlainRecords).unwrap().unwrap();
    let expected = all.iter().find(|&&(_, time)| time == max).unwrap();
    assert_eq!((latest.offset, latest.timestamp), *expected);
    assert_eq!(latest.leader_epoch, Some(0));
    log.delete_records(200).unwrap();
    assert_eq!(log.offset_for_timestamp(0, &PlainRecords).unwrap().unwrap().offset, 200);
    // Segments that retention removes next are not even looked at.
    assert!(log.segment_base_offsets()[1] <= 200);
    let file = log.path().join("00000000000000000000.log");
    let len = std::fs::metadata(&file).unwrap().len();
    std::fs::write(&file, vec![0; len as usize]).unwrap();
    assert_eq!(log.offset_for_timestamp(0, &PlainRecords).unwrap().unwrap().offset, 200);
    let empty = create(&logs, "empty");
    assert_eq!(empty.offset_for_timestamp(0, &PlainRecords).unwrap(), None);
    assert_eq!(empty.offset_of_max_timestamp(&PlainRecords).unwrap(), None);
}

/// Whoever goes to what is found must be able to read it.
#[test]
fn the_record_with_the_largest_timestamp_is_not_one_that_was_deleted() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, small());
    let log = create(&logs, "t");
    let mut all: Vec<(i64, i64)> = Vec::new();
    for i in 0..150i64 {
        // They go back more often than not, within batches and between them.
        let times: Vec<i64> =
            (0..3).map(|k| 9_000 - i * 10 + [3, 9, 0][k] + (i % 7) * 13).collect();
        let info = append(&log, BatchSpec::new(0, 3).timestamps(&times).value_len(20));
        all.extend((info.first_offset..).zip(times));
    }
    assert!(log.segment_count() > 3);
    for start in (0..450).step_by(4) {
        log.delete_records(start).unwrap();
        let kept = all.iter().filter(|(offset, _)| *offset >= start);
        let max = kept.clone().map(|(_, time)| *time).max().unwrap();
        let expected = kept.clone().find(|(_, time)| *time == max).copied();
        let found = log.offset_of_max_timestamp(&PlainRecords).unwrap();
        assert_eq!(found.map(|it| (it.offset, it.timestamp)), expected, "from {start}");
    }
    log.delete_records(450).unwrap();
    assert_eq!(log.offset_of_max_timestamp(&PlainRecords).unwrap(), None);
    append(&log, BatchSpec::new(0, 1).timestamp(7));
    let found = log.offset_of_max_timestamp(&PlainRecords).unwrap().unwrap();
    assert_eq!((found.offset, found.timestamp), (450, 7));
}

#[test]
fn idempotence_through_the_log() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    let first = append(&log, BatchSpec::new(0, 3).producer(9, 0, 0).timestamp(55));
    let again = log
        .append_as_leader(&mut BatchSpec::new(0, 3).producer(9, 0, 0).build(), &client())
        .unwrap();
    assert!(again.duplicate);
    assert_eq!((again.first_offset, again.last_offset), (first.first_offset, first.last_offset));
    assert_eq!(again.log_append_time, 55);
    assert_eq!(log.log_end_offset(), 3);
    let gap = &mut BatchSpec::new(0, 1).producer(9, 0, 4).build();
    let error = log.append_as_leader(gap, &client()).unwrap_err();
    assert_eq!(error.code(), thalweg_wire::ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    append(&log, BatchSpec::new(0, 1).producer(9, 1, 0));
    let old = &mut BatchSpec::new(0, 1).producer(9, 0, 3).build();
    let error = log.append_as_leader(old, &client()).unwrap_err();
    assert_eq!(error.code(), thalweg_wire::ErrorCode::INVALID_PRODUCER_EPOCH);
    assert_eq!(log.log_end_offset(), 4);
    let producers = log.active_producers();
    assert_eq!((producers[0].producer_epoch, producers[0].last_sequence), (1, 0));
}

#[test]
fn aborted_transactions_and_the_last_stable_offset() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig { segment_bytes: 400, ..LogConfig::default() });
    let log = create(&logs, "t");
    let coordinator = AppendContext::coordinator(0, 1_000);
    let oldest = || log.open_transaction().map(|it| (it.first_offset, it.last_timestamp));
    assert_eq!((oldest(), log.open_transaction_timestamp(), log.producer_count()), (None, -1, 0));
    append(&log, BatchSpec::new(0, 2).producer(1, 0, 0).transactional());
    append(&log, BatchSpec::new(0, 2).producer(2, 0, 0).transactional());
    assert_eq!(oldest(), Some((0, log.open_transaction_timestamp())));
    assert_eq!(log.producer_count(), 2);
    append(&log, BatchSpec::new(0, 4));
    assert_eq!(log.last_stable_offset(), 0);
    let committed = ReadRequest { isolation: Isolation::LastStable, ..request(0, 1 << 20) };
    assert!(log.read(&committed).unwrap().is_empty());
    let marker = &mut BatchSpec::marker(0, 1, 0, 1, false).build();
    log.append_as_leader(marker, &coordinator).unwrap();
    assert_eq!(log.last_stable_offset(), 0, "until the marker is below the high watermark");
    assert_eq!(oldest(), Some((2, log.open_transaction_timestamp())));
    log.advance_high_watermark(9);
    assert_eq!(log.last_stable_offset(), 2);
    append(&log, BatchSpec::new(0, 1).value_len(200));
    let marker = &mut BatchSpec::marker(0, 2, 0, 1, true).build();
    log.append_as_leader(marker, &coordinator).unwrap();
    let is_confirmed = "all that is left is to confirm its end";
    assert_eq!((oldest(), log.open_transaction_timestamp()), (None, -1), "{is_confirmed}");
    log.advance_high_watermark(11);
    assert_eq!(log.last_stable_offset(), 11);
    let result = log.read(&committed).unwrap();
    let aborted: Vec<_> =
        result.aborted.iter().map(|a| (a.producer_id, a.first_offset, a.last_offset)).collect();
    assert_eq!(aborted, [(1, 0, 8)]);
    assert_eq!(log.aborted_transactions(9, 11).unwrap(), []);
    assert_eq!(log.aborted_transactions(0, 1).unwrap().len(), 1);
    // All of it again from the files.
    let offsets = log.offsets();
    drop(log);
    logs.shut_down(7, 2_000);
    drop(logs);
    let (logs, report) = open(&dir, LogConfig::default());
    assert!(report.dirs[0].clean);
    assert_eq!(report.previous_broker_epoch, 7);
    let log = logs.get("t", 0).unwrap();
    assert_eq!(log.offsets(), offsets);
    assert_eq!(log.read(&committed).unwrap().aborted.len(), 1);
}

#[test]
fn a_segment_being_read_stays_readable() {
    let dir = TempDir::new();
    let config = LogConfig {
        segment_bytes: 200,
        retention_ms: 0,
        file_delete_delay_ms: 50,
        ..LogConfig::default()
    };
    let (logs, _) = open(&dir, config);
    let log = create(&logs, "t");
    for _ in 0..6 {
        append(&log, BatchSpec::new(0, 1).value_len(100));
    }
    let held = read(&log, 0, 1000);
    let bytes = held.to_vec().unwrap();
    assert_eq!(logs.clean_up(5_000), 6, "all segments are old");
    assert_eq!(log.offsets().log_start_offset, 6);
    assert_eq!(log.segment_base_offsets(), [6]);
    assert_eq!(held.to_vec().unwrap(), bytes);
    assert_eq!(logs.delete_due(5_049), Some(5_050));
    assert_eq!(logs.delete_due(5_050), None);
    assert_eq!(held.to_vec().unwrap(), bytes);
    assert!(matches!(log.read(&request(0, 10)), Err(ReadError::OffsetOutOfRange { .. })));
    let left: Vec<_> =
        std::fs::read_dir(log.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("deleted")), "{left:?}");
    append(&log, BatchSpec::new(0, 1));
    assert_eq!(batches(&read_all(&log, 6, 100)), [(6, 6)]);
}

#[test]
fn answers_from_the_page_cache_do_not_wait() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    let spec = BatchSpec::new(0, 1).value_len(3000);
    append(&log, spec.clone());
    append(&log, spec);
    let result = log.read(&ReadRequest { wait: Wait::Never, ..request(0, 1 << 20) }).unwrap();
    let mut buf = vec![0; 5000];
    let file = result.file().unwrap();
    let n = file.read_nowait(&mut buf, result.position + 1000).unwrap();
    assert_eq!(buf[..n], result.to_vec().unwrap()[1000..1000 + n]);
    assert_eq!(result.copy(result.len, &mut buf).unwrap(), 0);
    assert_eq!(result.copy(result.len + 1, &mut buf).unwrap(), 0);
}

#[test]
fn the_first_segment_goes_by_its_topics_index_settings() {
    let dir = TempDir::new();
    let (logs, _) = open(&dir, LogConfig::default());
    let log = create(&logs, "t");
    let config = LogConfig { index_interval_bytes: 0, ..LogConfig::default() };
    log.configure(config.into(), 1_000);
    for _ in 0..5 {
        append(&log, BatchSpec::new(0, 1));
    }
    log.roll(1_000).unwrap();
    let index = dir.path().join("t-0").join("00000000000000000000.index");
    // An entry of 8 bytes for each batch but the first.
    assert_eq!(std::fs::metadata(&index).unwrap().len(), 4 * 8);
    // The same where the log is opened with the defaults again.
    append(&log, BatchSpec::new(0, 1));
    drop(log);
    drop(logs);
    let (logs, _) = open(&dir, LogConfig::default());
    let log = logs.get("t", 0).unwrap();
    let config = LogConfig { index_interval_bytes: 0, ..LogConfig::default() };
    log.configure(config.into(), 1_000);
    for _ in 0..3 {
        append(&log, BatchSpec::new(0, 1));
    }
    log.roll(1_000).unwrap();
    let index = dir.path().join("t-0").join("00000000000000000005.index");
    assert_eq!(std::fs::metadata(&index).unwrap().len(), 3 * 8);
}
