//! What is kept of an earlier assignment, and what a late answer does to it.

use thalweg_records::Compression;
use thalweg_records::builder::BatchOptions;
use thalweg_wire::messages::fetch_response::{EpochEndOffset, PartitionData};
use thalweg_wire::{ErrorCode, Writer};

use super::super::*;
use super::cluster::*;
use super::{answer_of, diverge};

/// A partition whose offset is being looked up, with two records kept, and a request for those
/// behind them that is answered with `part` meanwhile. Gives the fetcher as that leaves it.
fn answered_late(cluster: &mut Cluster, was_committed: bool, part: PartitionData) -> Fetcher {
    let settings = FetchSettings { reset: OffsetReset::Earliest, ..Default::default() };
    let mut fetcher = fetcher(settings, 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, cluster, 0);
    let mut frame = Writer::new();
    let planned = fetcher.plan(1, 0, VERSION, "test", &mut frame).unwrap().unwrap();
    fetcher.hold(&tp(0));
    fetcher.park(&tp(0));
    fetcher.add_committed(tp(0));
    if !was_committed {
        fetcher.resolve_committed(&tp(0), None);
    }
    cluster.answer(1, &frame.to_vec());
    let body = answer_of(part);
    let accepted = fetcher.accept(1, &body, VERSION, 0).unwrap();
    drop((planned, body));
    assert!(!accepted.has_errors && !accepted.has_unresolved, "{accepted:?}");
    fetcher
}

#[test]
fn a_late_answer_does_not_decide_where_a_partition_begins() {
    let diverging = EpochEndOffset { epoch: 0, end_offset: 1, ..Default::default() };
    let of = |error_code| PartitionData { error_code, ..Default::default() };
    let unsound = [
        PartitionData { diverging_epoch: diverging, ..Default::default() },
        of(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        of(ErrorCode::OFFSET_OUT_OF_RANGE),
        of(ErrorCode::NOT_LEADER_OR_FOLLOWER),
        PartitionData { records: Some(vec![0xff; 80].into()), ..Default::default() },
    ];
    for (was_committed, part) in [true, false]
        .into_iter()
        .flat_map(|was_committed| unsound.iter().map(move |part| (was_committed, part.clone())))
    {
        let case = format!("{was_committed} {part:?}");
        let mut cluster = Cluster::with(1, 1);
        let log = cluster.logs.get_mut(&0).unwrap();
        log.append(&["a", "b"], BatchOptions::default(), Compression::None);
        let mut fetcher = answered_late(&mut cluster, was_committed, part);
        assert_eq!(fetcher.position(&tp(0)), None, "{case}");
        assert!(fetcher.take(9, &mut Records::default()).is_ok(), "{case}");
        assert_eq!(fetcher.budget().used(), 0, "what does not go on is let go: {case}");
        // The lookup decides, and nothing between that and where it stood is left out.
        let begins = i64::from(was_committed);
        if was_committed {
            fetcher.resolve_committed(&tp(0), Some(Position::at(begins)));
        } else {
            fetcher.resolve(&tp(0), OffsetReset::Earliest, Position::at(begins));
        }
        assert_eq!(fetcher.position(&tp(0)), Some(Position::at(begins)), "{case}");
        pump(&mut fetcher, &mut cluster, 1_000);
        let offsets: Vec<i64> = take(&mut fetcher, 9).iter().map(|record| record.1).collect();
        assert_eq!(offsets, (begins..2).collect::<Vec<_>>(), "{case}");
    }
}

#[test]
fn a_late_answer_that_goes_on_from_what_is_kept_is_used() {
    let mut cluster = Cluster::with(1, 1);
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(&["a", "b"], BatchOptions::default(), Compression::None);
    let mut more = Cluster::with(1, 1);
    let behind = more.logs.get_mut(&0).unwrap();
    behind.end = 2;
    behind.append(&["c"], BatchOptions::default(), Compression::None);
    let records = Some(behind.batches[0].clone());
    let part = PartitionData { records, high_watermark: 3, ..Default::default() };
    let mut fetcher = answered_late(&mut cluster, true, part);
    fetcher.resolve_committed(&tp(0), Some(Position::at(1)));
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 1, "b"), (0, 2, "c")]));
}

#[test]
fn what_is_kept_stays_when_it_is_given_up_again_before_it_is_known_where_it_begins() {
    let mut cluster = Cluster::with(1, 1);
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(&["a", "b"], BatchOptions::default(), Compression::None);
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    let fetched = fetcher.counts().batch_bytes;
    for _ in 0..3 {
        fetcher.hold(&tp(0));
        fetcher.park(&tp(0));
        assert_eq!(fetcher.without_committed(), []);
        // The answer to a lookup that began before.
        fetcher.resolve_committed(&tp(0), Some(Position::at(0)));
        assert_eq!(fetcher.position(&tp(0)), None);
        fetcher.add_committed(tp(0));
        assert_eq!(fetcher.without_committed(), [tp(0)]);
    }
    fetcher.resolve_committed(&tp(0), Some(Position::at(1)));
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 1, "b")]));
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(fetcher.counts().batch_bytes, fetched);
}

#[test]
fn only_records_that_were_handed_out_are_said_to_be() {
    let mut cluster = Cluster::with(1, 1);
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(&["a", "b", "c"], BatchOptions::default(), Compression::None);
    // Of these, compaction has left only the offsets.
    log.append(&["gone"], BatchOptions::default(), Compression::None);
    let mut empty = log.batches.pop().unwrap().to_vec();
    empty.truncate(61);
    empty[8..12].copy_from_slice(&49i32.to_be_bytes());
    empty[57..61].copy_from_slice(&0i32.to_be_bytes());
    log.batches.push(empty.into());
    let control = BatchOptions { control: true, ..BatchOptions::default() };
    log.append(&["marker"], control, Compression::None);
    let settings = FetchSettings { check_crcs: false, ..Default::default() };
    let mut fetcher = fetcher(settings, 1 << 20);
    fetcher.add(tp(0), Some(Position::at(1)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(fetcher.handed_out(&tp(0)), None);
    assert_eq!(take(&mut fetcher, 1).len(), 1);
    assert_eq!(fetcher.handed_out(&tp(0)), Some(2));
    assert_eq!(take(&mut fetcher, 9).len(), 1);
    let stands_at = |fetcher: &Fetcher| fetcher.position(&tp(0)).map(|position| position.offset);
    assert_eq!((fetcher.handed_out(&tp(0)), stands_at(&fetcher)), (Some(3), Some(5)));
    // Nothing was handed out from where it was sought to.
    fetcher.seek(&tp(0), Position::at(4));
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9).len(), 0);
    assert_eq!((fetcher.handed_out(&tp(0)), stands_at(&fetcher)), (None, Some(5)));
}

#[test]
fn records_that_a_truncation_took_away_are_not_said_to_be_handed_out() {
    for (agrees_to, handed_out) in [(0, None), (1, None), (2, Some(2)), (3, Some(3))] {
        let mut cluster = Cluster::with(1, 1);
        let log = cluster.logs.get_mut(&0).unwrap();
        log.append(&["a", "b", "c"], BatchOptions::default(), Compression::None);
        let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
        fetcher.add(tp(0), Some(Position::at(1)));
        fetcher.update_leaders(&cluster.metadata());
        pump(&mut fetcher, &mut cluster, 0);
        // Two takes: the first record counts, not that of the last take.
        assert_eq!((take(&mut fetcher, 1).len(), take(&mut fetcher, 9).len()), (1, 1));
        diverge(&mut fetcher, agrees_to);
        assert_eq!(fetcher.position(&tp(0)).map(|position| position.offset), Some(agrees_to));
        assert_eq!(fetcher.handed_out(&tp(0)), handed_out, "the log agrees up to {agrees_to}");
    }
}
