//! What is kept of an earlier assignment, and what a late answer does to it.

use std::sync::Arc;

use thalweg_records::Compression;
use thalweg_records::builder::BatchOptions;
use thalweg_wire::messages::fetch_response::{EpochEndOffset, PartitionData};
use thalweg_wire::{ErrorCode, Uuid, Writer};

use super::super::*;
use super::cluster::*;
use super::{answer_of, diverge};
use crate::core::partition::Position;

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
            let asked = fetcher.unresolved();
            fetcher.resolve(&asked[0], Position::at(begins));
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

/// A topic is deleted while its partition is read to the end, and created again: `values` are in the
/// new one.
fn recreated(reset: OffsetReset, values: &[&str]) -> (Fetcher, Cluster) {
    let mut cluster = Cluster::with(1, 1);
    let old = ["a", "b", "c", "d", "e"];
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(&old, BatchOptions::default(), Compression::None);
    let mut fetcher = fetcher(FetchSettings { reset, ..Default::default() }, 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9).len(), 5);
    fetcher.acknowledge();
    cluster.recreate();
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(values, BatchOptions::default(), Compression::None);
    fetcher.update_leaders(&cluster.metadata());
    assert_eq!(*fetcher.take_recreated(), [Arc::new(tp(0))]);
    (fetcher, cluster)
}

#[test]
fn a_recreated_topic_begins_where_the_reset_policy_says() {
    let long = ["0"; 20];
    for (values, reset) in [
        (&long[..3], OffsetReset::Earliest),
        (&long[..], OffsetReset::Earliest),
        (&long[..], OffsetReset::Latest),
    ] {
        let (mut fetcher, mut cluster) = recreated(reset, values);
        assert_eq!(fetcher.position(&tp(0)), None, "{reset:?}");
        assert_eq!(fetcher.acknowledged(&tp(0)), None, "nothing of the old one is committed");
        assert_eq!((fetcher.handed_out(&tp(0)), fetcher.lag(&tp(0))), (None, None));
        let asked = fetcher.unresolved();
        assert_eq!((asked[0].reset, asked[0].topic_id), (reset, cluster.topic_id));
        let begins = if reset == OffsetReset::Earliest { 0 } else { values.len() as i64 };
        fetcher.resolve(&asked[0], Position::at(begins));
        let cause = ResetCause::TopicRecreated;
        let reset = PositionReset { partition: tp(0), from: 5, to: begins, cause };
        assert_eq!(fetcher.take_resets(), [reset]);
        pump(&mut fetcher, &mut cluster, 0);
        assert_eq!(take(&mut fetcher, 99).len() as i64, values.len() as i64 - begins);
    }
    let (mut fetcher, _) = recreated(OffsetReset::None, &long);
    let error = fetcher.take(1, &mut Records::default()).unwrap_err();
    assert_eq!(error.kind, PartitionErrorKind::TopicRecreated);
}

#[test]
fn a_lookup_in_a_topic_that_was_recreated_since_is_void() {
    let (mut fetcher, mut cluster) = recreated(OffsetReset::Earliest, &["0"]);
    let asked = fetcher.unresolved();
    cluster.recreate();
    fetcher.update_leaders(&cluster.metadata());
    fetcher.resolve(&asked[0], Position::at(1));
    assert_eq!(fetcher.position(&tp(0)), None);
    fetcher.resolve(&fetcher.unresolved()[0], Position::at(0));
    assert_eq!(fetcher.position(&tp(0)), Some(Position::at(0)));
}

#[test]
fn a_broker_without_topic_ids_voids_no_position() {
    let (mut fetcher, mut cluster) = recreated(OffsetReset::Earliest, &["0"]);
    fetcher.resolve(&fetcher.unresolved()[0], Position::at(1));
    for id in [Uuid::ZERO, cluster.topic_id] {
        cluster.topic_id = id;
        fetcher.update_leaders(&cluster.metadata());
        assert_eq!(fetcher.position(&tp(0)), Some(Position::at(1)), "{id}");
    }
    assert_eq!(fetcher.take_recreated(), []);
}
