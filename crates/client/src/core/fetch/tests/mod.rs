//! A fetcher against logs in memory.

mod cluster;
mod kept;
mod loan;
mod seeds;

use std::task::Waker;

use bytes::Bytes;
use thalweg_records::Compression;
use thalweg_records::builder::BatchOptions;
use thalweg_wire::messages::FetchResponse;
use thalweg_wire::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, PartitionData,
};
use thalweg_wire::{ErrorCode, Writer};

use super::*;
use crate::core::metadata::Leader;
use crate::core::partition::Position;
use cluster::*;
use seeds::Flights;

#[test]
fn records_come_in_order_of_every_codec() {
    let codecs = [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ];
    for codec in codecs {
        let mut cluster = Cluster::with(1, 1);
        let log = cluster.logs.get_mut(&0).unwrap();
        log.append(&["a", "b", "c"], BatchOptions::default(), codec);
        log.append(&["d"], BatchOptions::default(), codec);
        let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
        fetcher.add(tp(0), Some(Position::at(1)));
        fetcher.update_leaders(&cluster.metadata());
        assert_eq!(pump(&mut fetcher, &mut cluster, 0), 1);
        assert_eq!(take(&mut fetcher, 1), owned(&[(0, 1, "b")]));
        assert_eq!(fetcher.position(&tp(0)), Some(Position { offset: 2, leader_epoch: 0 }));
        assert_eq!(take(&mut fetcher, 10), owned(&[(0, 2, "c"), (0, 3, "d")]));
        assert_eq!(take(&mut fetcher, 10), []);
        assert_eq!(fetcher.lag(&tp(0)), Some(0));
    }
}

#[test]
fn a_seek_within_what_is_buffered_fetches_nothing_again() {
    let mut cluster = Cluster::with(1, 1);
    let log = cluster.logs.get_mut(&0).unwrap();
    for _ in 0..3 {
        log.append(&["x", "y", "z"], BatchOptions::default(), Compression::Lz4);
    }
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 2).len(), 2);
    // Back into the open batch, forward over whole ones, and back to where that leaves it.
    fetcher.seek(&tp(0), Position::at(1));
    assert_eq!(take(&mut fetcher, 1), owned(&[(0, 1, "y")]));
    fetcher.seek(&tp(0), Position::at(7));
    assert_eq!(take(&mut fetcher, 1), owned(&[(0, 7, "y")]));
    fetcher.seek(&tp(0), Position::at(6));
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 6, "x"), (0, 7, "y"), (0, 8, "z")]));
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(cluster.sent, cluster.logs[&0].batches.iter().map(|b| b.len() as u64).sum::<u64>());
    // Where nothing is buffered, it is fetched.
    fetcher.seek(&tp(0), Position::at(1));
    assert_eq!(take(&mut fetcher, 9), []);
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 1), owned(&[(0, 1, "y")]));
}

#[test]
fn an_answer_for_a_place_that_was_left_is_not_used() {
    let mut cluster = Cluster::with(1, 1);
    cluster.logs.get_mut(&0).unwrap().append(
        &["a", "b"],
        BatchOptions::default(),
        Compression::None,
    );
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    let mut frame = Writer::new();
    let planned = fetcher.plan(1, 0, VERSION, "test", &mut frame).unwrap().unwrap();
    let body = cluster.answer(1, &frame.to_vec());
    fetcher.seek(&tp(0), Position::at(1));
    fetcher.accept(1, &body, VERSION, 0).unwrap();
    drop(planned);
    assert_eq!(take(&mut fetcher, 9), []);
    assert!(fetcher.counts().discarded_bytes > 0);
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 1, "b")]));
}

#[test]
fn a_leader_that_moved_is_followed_by_its_hint_at_once() {
    let mut cluster = Cluster::with(1, 1);
    cluster.logs.get_mut(&0).unwrap().append(&["a"], BatchOptions::default(), Compression::None);
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9).len(), 1);
    let log = cluster.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 1);
    log.append(&["b"], BatchOptions::default(), Compression::None);
    let mut frame = Writer::new();
    let _planned = fetcher.plan(1, 0, VERSION, "test", &mut frame).unwrap().unwrap();
    let body = cluster.answer(1, &frame.to_vec());
    let accepted = fetcher.accept(1, &body, VERSION, 0).unwrap();
    assert_eq!(accepted.leaders, [(tp(0), Leader { id: 2, epoch: 1 })]);
    assert!(!accepted.needs_metadata);
    // In the same moment, without waiting.
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 1, "b")]));
}

#[test]
fn what_is_corrupt_at_one_leader_is_asked_of_the_next() {
    for (code, goes_on) in
        [(ErrorCode::CORRUPT_MESSAGE, true), (ErrorCode::TOPIC_AUTHORIZATION_FAILED, false)]
    {
        let mut cluster = Cluster::with(1, 1);
        let log = cluster.logs.get_mut(&0).unwrap();
        log.append(&["a"], BatchOptions::default(), Compression::None);
        let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
        fetcher.add(tp(0), Some(Position::at(0)));
        fetcher.update_leaders(&cluster.metadata());
        fetcher.fail(&tp(0), PartitionErrorKind::Broker(code));
        assert!(fetcher.take(9, &mut Records::default()).is_err());
        assert_eq!(pump(&mut fetcher, &mut cluster, 0), 0);
        let log = cluster.logs.get_mut(&0).unwrap();
        (log.leader, log.epoch) = (2, 1);
        fetcher.update_leaders(&cluster.metadata());
        pump(&mut fetcher, &mut cluster, 0);
        let mut records = Records::default();
        let taken = fetcher.take(9, &mut records).is_ok();
        assert_eq!((taken, records.len()), (goes_on, usize::from(goes_on)), "{code:?}");
    }
}

/// One partition, of which broker 1 has shown that it leads it.
fn led() -> (Fetcher, Cluster) {
    let mut cluster = Cluster::with(1, 1);
    cluster.logs.get_mut(&0).unwrap().append(&["a"], BatchOptions::default(), Compression::None);
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9).len(), 1);
    (fetcher, cluster)
}

#[test]
fn a_new_leader_that_has_not_heard_of_it_is_asked_again_before_metadata_is() {
    let (mut fetcher, mut cluster) = led();
    let mut metadata = cluster.metadata();
    let leader = Leader { id: 1, epoch: 1 };
    assert!(metadata.hint_leader("t", 0, leader));
    fetcher.update_leaders(&metadata);
    // Broker 1 says what was so before; what it says later is the same again, or that it leads.
    cluster.logs.get_mut(&0).unwrap().leader = 2;
    let mut now = 0;
    for pause in [2, 4, 8, 16].into_iter().chain([20; 26]) {
        let accepted = refused(&mut fetcher, &mut cluster, now);
        assert!(!accepted.needs_metadata && accepted.leaders.is_empty());
        assert_eq!(fetcher.next_retry(), Some(now + pause));
        now += pause;
    }
    assert!(refused(&mut fetcher, &mut cluster, now).needs_metadata, "it is not to be waited for");
    let again = fetcher.next_retry().unwrap();
    assert!((80..=120).contains(&(again - now)), "a first pause of {}", again - now);
    let log = cluster.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (1, 1);
    log.append(&["b"], BatchOptions::default(), Compression::None);
    pump(&mut fetcher, &mut cluster, again);
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 1, "b")]));
    // From now on it is known to lead, and hears first when it does not.
    cluster.logs.get_mut(&0).unwrap().leader = -1;
    assert!(refused(&mut fetcher, &mut cluster, again).needs_metadata);
}

#[test]
fn a_lost_connection_is_replaced_before_partitions_are_left_alone() {
    let (mut fetcher, mut cluster) = led();
    let is_lost = |fetcher: &Fetcher| fetcher.without_reachable_leader().next().is_some();
    let mut frame = Writer::new();
    drop(fetcher.plan(1, 0, VERSION, "test", &mut frame).unwrap().unwrap());
    assert!(!is_lost(&fetcher));
    fetcher.reconnecting(1);
    fetcher.settle(0);
    assert!(is_lost(&fetcher) && fetcher.next_retry().is_none());
    fetcher.connected(1);
    assert!(!is_lost(&fetcher));
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(&["b"], BatchOptions::default(), Compression::None);
    assert_eq!(pump(&mut fetcher, &mut cluster, 0), 1);
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 1, "b")]));
    fetcher.disconnected(1, 0);
    fetcher.settle(0);
    assert!(is_lost(&fetcher) && fetcher.next_retry().is_some());
    // Another leader has not been lost.
    let log = cluster.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 1);
    fetcher.update_leaders(&cluster.metadata());
    assert!(!is_lost(&fetcher));
}

#[test]
fn partitions_are_in_use_once_they_were_answered() {
    let (mut fetcher, mut cluster) = led();
    let used =
        |fetcher: &Fetcher| fetcher.in_use().map(|(_, leader)| leader.unwrap()).collect::<Vec<_>>();
    assert!(fetcher.take_uses_changed());
    assert_eq!(used(&fetcher), [Leader { id: 1, epoch: 0 }]);
    fetcher.add(tp(1), Some(Position::at(0)));
    assert_eq!(used(&fetcher).len(), 1);
    let log = cluster.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 1);
    assert!(!fetcher.take_uses_changed());
    let accepted = refused(&mut fetcher, &mut cluster, 0);
    assert!(accepted.uses_changed && fetcher.take_uses_changed());
    assert_eq!(used(&fetcher), [Leader { id: 2, epoch: 1 }]);
    fetcher.remove(&tp(0));
    assert!(fetcher.take_uses_changed());
    assert_eq!(used(&fetcher), []);
}

#[test]
fn without_a_hint_it_waits_and_asks_for_metadata() {
    let (mut fetcher, mut cluster) = led();
    let log = cluster.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (-1, 0);
    assert!(refused(&mut fetcher, &mut cluster, 0).needs_metadata);
    let again = fetcher.next_retry().unwrap();
    assert_eq!(pump(&mut fetcher, &mut cluster, again - 1), 0);
    assert_eq!(fetcher.next_retry(), Some(again));
    assert_eq!(pump(&mut fetcher, &mut cluster, again), 1);
}

/// What broker 1 answers at this time, which is asked.
fn refused(fetcher: &mut Fetcher, cluster: &mut Cluster, now_ms: u64) -> Accepted {
    let mut frame = Writer::new();
    let _planned = fetcher.plan(1, now_ms, VERSION, "test", &mut frame).unwrap().unwrap();
    let body = cluster.answer(1, &frame.to_vec());
    fetcher.accept(1, &body, VERSION, now_ms).unwrap()
}

#[test]
fn a_partition_that_is_refused_again_and_again_is_asked_for_less_and_less() {
    let mut firsts = Vec::new();
    for seed in 0..20 {
        let mut cluster = Cluster::with(1, 1);
        let log = cluster.logs.get_mut(&0).unwrap();
        log.append(&["a"], BatchOptions::default(), Compression::None);
        let mut fetcher = fetcher(FetchSettings { seed, ..Default::default() }, 1 << 20);
        fetcher.add(tp(0), Some(Position::at(0)));
        fetcher.update_leaders(&cluster.metadata());
        pump(&mut fetcher, &mut cluster, 0);
        assert_eq!(take(&mut fetcher, 9).len(), 1);
        let mut now = 0;
        let mut pauses = |fetcher: &mut Fetcher, cluster: &mut Cluster| {
            let log = cluster.logs.get_mut(&0).unwrap();
            (log.leader, log.epoch) = (-1, 0);
            let mut pauses = Vec::new();
            for _ in 0..6 {
                refused(fetcher, cluster, now);
                let again = fetcher.next_retry().unwrap();
                pauses.push(again - now);
                now = again;
            }
            // Once it is answered, that is forgotten.
            let log = cluster.logs.get_mut(&0).unwrap();
            log.leader = 1;
            log.append(&["a"], BatchOptions::default(), Compression::None);
            pump(fetcher, cluster, now);
            assert_eq!(take(fetcher, 9).len(), 1);
            pauses
        };
        for _ in 0..2 {
            let pauses = pauses(&mut fetcher, &mut cluster);
            let expected = [80..=120, 160..=240, 320..=480, 640..=960, 800..=1_000, 800..=1_000];
            let fits =
                |(pause, range): (&u64, &std::ops::RangeInclusive<u64>)| range.contains(pause);
            assert!(pauses.iter().zip(&expected).all(fits), "{pauses:?}");
            firsts.push(pauses[0]);
        }
    }
    assert!(firsts.iter().any(|pause| *pause != firsts[0]), "all are {}", firsts[0]);
}

#[test]
fn what_moves_to_a_broker_that_holds_a_request_back_does_not_wait_for_that() {
    let mut cluster = Cluster::with(2, 2);
    for log in cluster.logs.values_mut() {
        log.append(&["a"], BatchOptions::default(), Compression::None);
    }
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    for index in [0, 1] {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9).len(), 2);
    // Broker 2 has nothing new, and holds this back.
    let mut held = Writer::new();
    let _held = fetcher.plan(2, 0, VERSION, "test", &mut held).unwrap().unwrap();
    let log = cluster.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 1);
    assert_eq!(refused(&mut fetcher, &mut cluster, 0).leaders.len(), 1);
    assert_eq!(fetcher.take_late(), [2]);
    let ask = |fetcher: &mut Fetcher, cluster: &mut Cluster| {
        let mut frame = Writer::new();
        let planned = fetcher.plan_sessionless(2, 0, VERSION, "test", &mut frame).unwrap()?;
        let request = read_request(&frame.to_vec());
        let body = cluster.answer(2, &frame.to_vec());
        fetcher.accept_sessionless(2, &body, VERSION, 0).unwrap();
        drop(planned);
        Some(request.max_wait_ms)
    };
    assert_eq!(ask(&mut fetcher, &mut cluster), Some(0), "something may be there");
    assert_eq!(ask(&mut fetcher, &mut cluster), Some(20), "nothing was");
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(&["b"], BatchOptions::default(), Compression::None);
    assert_eq!(ask(&mut fetcher, &mut cluster), Some(20));
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 1, "b")]));
    let body = cluster.answer(2, &held.to_vec());
    fetcher.accept(2, &body, VERSION, 0).unwrap();
    // From now on it is one of those that the session asks for.
    assert_eq!(ask(&mut fetcher, &mut cluster), None);
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(&["c"], BatchOptions::default(), Compression::None);
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 2, "c")]));
    drop(fetcher.plan(2, 0, VERSION, "test", &mut Writer::new()).unwrap().unwrap());
    assert_eq!(ask(&mut fetcher, &mut cluster), None);
}

#[test]
fn what_is_resumed_while_a_request_is_held_back_is_asked_for_without_a_session() {
    let mut cluster = Cluster::with(2, 1);
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    for index in [0, 1] {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    fetcher.pause(&tp(1));
    let mut flights = Flights::default();
    flights.send(&mut fetcher, &mut cluster, 0);
    cluster.logs.get_mut(&1).unwrap().append(&["a"], BatchOptions::default(), Compression::None);
    flights.send_sessionless(&mut fetcher, &mut cluster, 0);
    assert_eq!(flights.0.len(), 1, "nobody wants anything");
    fetcher.resume(&tp(1));
    flights.send_sessionless(&mut fetcher, &mut cluster, 0);
    assert_eq!(flights.0.len(), 2);
    // While it is asked for without a session, the session does not ask for it.
    flights.land(&mut fetcher, 0, 0, false);
    flights.send(&mut fetcher, &mut cluster, 0);
    flights.land(&mut fetcher, 0, 0, false);
    assert_eq!(take(&mut fetcher, 9), owned(&[(1, 0, "a")]));
    // There is nothing more, as is known; when it is not, it is asked once.
    for _ in 0..3 {
        flights.send_sessionless(&mut fetcher, &mut cluster, 0);
        flights.land(&mut fetcher, 0, 1, false);
        assert_eq!(flights.0.len(), 1);
        fetcher.pause(&tp(1));
        fetcher.resume(&tp(1));
    }
    assert_eq!((flights.0.len(), fetcher.counts().sessionless), (1, 2));
    // The session takes over.
    flights.land(&mut fetcher, 0, 0, false);
    cluster.logs.get_mut(&1).unwrap().append(&["b"], BatchOptions::default(), Compression::None);
    flights.send(&mut fetcher, &mut cluster, 0);
    flights.land(&mut fetcher, 0, 0, false);
    assert_eq!(take(&mut fetcher, 9), owned(&[(1, 1, "b")]));
}

#[test]
fn many_partitions_with_large_batches_come_in_few_answers() {
    let partitions = 100;
    let value = "v".repeat(500);
    // A partition's share is less than half of a batch.
    let budget = 80_000;
    let mut cluster = Cluster::with(partitions, 1);
    for index in 0..partitions {
        let log = cluster.logs.get_mut(&index).unwrap();
        for _ in 0..3 {
            log.append(&[&value], BatchOptions::default(), Compression::None);
        }
    }
    let mut fetcher = fetcher(FetchSettings::default(), budget);
    for index in 0..partitions {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    let (mut requests, mut taken) = (0, 0);
    while taken < 300 {
        requests += pump(&mut fetcher, &mut cluster, 0);
        taken += take(&mut fetcher, 1_000).len();
    }
    assert!(requests < 12, "{requests} requests for 300 batches of 600 bytes");
    let peak = fetcher.budget().peak();
    // What is around the batches was not reckoned with.
    assert!(peak <= budget + 5_000, "{peak}");
}

#[test]
fn batches_of_many_sizes_do_not_name_all_partitions_anew() {
    let partitions = 200;
    let mut cluster = Cluster::with(partitions, 1);
    let mut fetcher = fetcher(FetchSettings::default(), 120_000);
    for index in 0..partitions {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    let mut named = 0;
    for round in 0..60 {
        let value = "v".repeat(if round % 2 == 0 { 400 } else { 3_000 });
        let log = cluster.logs.get_mut(&(round % 7)).unwrap();
        log.append(&[&value], BatchOptions::default(), Compression::None);
        let before = cluster.named;
        pump(&mut fetcher, &mut cluster, 0);
        assert_eq!(take(&mut fetcher, 9).len(), 1);
        // The first ones tell what size to reckon with.
        named += if round > 2 { cluster.named - before } else { 0 };
    }
    assert!(named < 4 * 60, "{named} partitions were named");
}

#[test]
fn moves_tell_whether_anything_may_be_acknowledged_that_was_not() {
    let mut cluster = Cluster::with(2, 1);
    let log = cluster.logs.get_mut(&0).unwrap();
    log.append(&["a", "b"], BatchOptions::default(), Compression::None);
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    for index in [0, 1] {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    take(&mut fetcher, 9);
    pump(&mut fetcher, &mut cluster, 0);
    let handed = fetcher.moves();
    take(&mut fetcher, 9);
    let acknowledged = fetcher.moves();
    assert_ne!(handed, acknowledged);
    // Nothing came any more.
    for now in 0..5 {
        pump(&mut fetcher, &mut cluster, now);
        take(&mut fetcher, 9);
    }
    assert_eq!(fetcher.moves(), acknowledged);
    fetcher.seek(&tp(1), Position::at(0));
    assert_ne!(fetcher.moves(), acknowledged);
    // A marker is not handed out, and yet done with.
    let control = BatchOptions { control: true, ..BatchOptions::default() };
    cluster.logs.get_mut(&0).unwrap().append(&["marker"], control, Compression::None);
    pump(&mut fetcher, &mut cluster, 9);
    assert!(take(&mut fetcher, 9).is_empty());
    let passed = fetcher.moves();
    fetcher.acknowledge();
    assert_eq!(fetcher.acknowledged(&tp(0)).map(|position| position.offset), Some(3));
    assert_ne!(fetcher.moves(), passed);
}

#[test]
fn offsets_out_of_range_go_by_the_reset_policy() {
    for (reset, fails) in [(OffsetReset::None, true), (OffsetReset::Earliest, false)] {
        let mut cluster = Cluster::with(1, 1);
        let mut fetcher = fetcher(FetchSettings { reset, ..Default::default() }, 1 << 20);
        fetcher.add(tp(0), Some(Position::at(99)));
        fetcher.update_leaders(&cluster.metadata());
        pump(&mut fetcher, &mut cluster, 0);
        let mut records = Records::default();
        if fails {
            let error = fetcher.take(1, &mut records).unwrap_err();
            assert_eq!(error.kind, PartitionErrorKind::OffsetOutOfRange);
            assert_eq!((error.offset, error.partition), (99, tp(0)));
            assert!(fetcher.take(1, &mut records).is_err(), "it stays until somebody acts");
            fetcher.seek(&tp(0), Position::at(0));
            assert!(fetcher.take(1, &mut records).is_ok());
        } else {
            let asked = fetcher.unresolved();
            assert_eq!(asked.len(), 1);
            assert_eq!((&*asked[0].partition, asked[0].reset), (&tp(0), OffsetReset::Earliest));
            fetcher.resolve(&asked[0], Position::at(0));
            let cause = ResetCause::OffsetOutOfRange;
            let reset = PositionReset { partition: tp(0), from: 99, to: 0, cause };
            assert_eq!(fetcher.take_resets().pop(), Some(reset.clone()));
            assert_eq!((fetcher.counts().position_resets, fetcher.take_resets().len()), (1, 0));
            assert_eq!(fetcher.last_resets(), [reset]);
            assert_eq!(fetcher.position(&tp(0)), Some(Position::at(0)));
            assert_eq!(pump(&mut fetcher, &mut cluster, 0), 1);
            // What the application does is none.
            fetcher.seek(&tp(0), Position::at(0));
            assert_eq!((fetcher.last_resets(), fetcher.take_resets()), (vec![], vec![]));
        }
    }
}

/// Answers the fetch of partition 0 that is due with that its log goes only so far.
fn diverge(fetcher: &mut Fetcher, end_offset: i64) {
    let mut frame = Writer::new();
    let _planned = fetcher.plan(1, 0, VERSION, "test", &mut frame).unwrap().unwrap();
    let diverging_epoch = EpochEndOffset { epoch: 0, end_offset, ..Default::default() };
    fetcher
        .accept(1, &answer_of(PartitionData { diverging_epoch, ..Default::default() }), VERSION, 0)
        .unwrap();
}

/// An answer about partition 0 alone.
fn answer_of(part: PartitionData) -> Bytes {
    encode(&FetchResponse {
        session_id: 2,
        responses: vec![FetchableTopicResponse {
            topic_id: TOPIC_ID,
            partitions: vec![part],
            ..Default::default()
        }],
        ..FetchResponse::default()
    })
}

#[test]
fn a_truncated_log_is_gone_back_to_where_it_agrees() {
    let mut cluster = Cluster::with(1, 1);
    cluster.logs.get_mut(&0).unwrap().append(
        &["a", "b", "c"],
        BatchOptions::default(),
        Compression::None,
    );
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9).len(), 3);
    diverge(&mut fetcher, 1);
    assert_eq!(fetcher.position(&tp(0)), Some(Position { offset: 1, leader_epoch: 0 }));
    let cause = ResetCause::Truncated;
    let reset = PositionReset { partition: tp(0), from: 3, to: 1, cause };
    assert_eq!(fetcher.take_resets(), [reset]);
}

#[test]
fn aborted_transactions_are_not_seen_when_reading_what_is_committed() {
    let isolation = IsolationLevel::ReadCommitted;
    let mut cluster = Cluster::with(1, 1);
    let log = cluster.logs.get_mut(&0).unwrap();
    let of = |producer_id| BatchOptions {
        producer_id,
        producer_epoch: 0,
        base_sequence: 0,
        transactional: true,
        ..BatchOptions::default()
    };
    let control = |producer_id| BatchOptions { control: true, ..of(producer_id) };
    log.append(&["gone"], of(7), Compression::None);
    log.append(&["kept"], of(8), Compression::None);
    log.append(&["marker"], control(7), Compression::None);
    log.append(&["marker"], control(8), Compression::None);
    log.append(&["kept too"], of(7), Compression::None);
    log.aborted.push((7, 0));
    let mut fetcher = fetcher(FetchSettings { isolation, ..Default::default() }, 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 1, "kept"), (0, 4, "kept too")]));
}

#[test]
fn a_corrupt_batch_is_an_error_that_says_where_and_can_be_passed() {
    let mut cluster = Cluster::with(2, 1);
    for log in cluster.logs.values_mut() {
        for value in ["a", "b", "c"] {
            log.append(&[value], BatchOptions::default(), Compression::None);
        }
    }
    let log = cluster.logs.get_mut(&0).unwrap();
    let mut broken = log.batches[1].to_vec();
    *broken.last_mut().unwrap() ^= 1;
    log.batches[1] = broken.into();
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    for index in [0, 1] {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 1), owned(&[(0, 0, "a")]));
    let mut records = Records::default();
    let error = fetcher.take(9, &mut records).unwrap_err();
    assert!(matches!(error.kind, PartitionErrorKind::Fault(Fault::Crc { offset: 1, .. })));
    assert_eq!((error.partition, error.offset), (tp(0), 1));
    // The other one goes on; then it is said again.
    assert_eq!(take(&mut fetcher, 1), owned(&[(1, 0, "a")]));
    assert!(fetcher.take(9, &mut records).is_err());
    assert_eq!(take(&mut fetcher, 9), owned(&[(1, 1, "b"), (1, 2, "c")]));
    assert!(fetcher.take(9, &mut records).is_err());
    fetcher.seek(&tp(0), Position::at(2));
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 2, "c")]));
}

#[test]
fn sessions_outlive_pausing_and_are_begun_again_when_lost() {
    let mut cluster = Cluster::with(4, 1);
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    for index in 0..4 {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    for round in 0..50 {
        fetcher.pause(&tp(round % 4));
        pump(&mut fetcher, &mut cluster, 0);
        fetcher.resume(&tp(round % 4));
    }
    assert_eq!(cluster.full_requests, 1);
    cluster.sessions.clear();
    pump(&mut fetcher, &mut cluster, 0);
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!((cluster.full_requests, fetcher.counts().sessions), (2, 2));
    // With everything paused nothing is asked at all.
    for index in 0..4 {
        fetcher.pause(&tp(index));
    }
    assert_eq!(pump(&mut fetcher, &mut cluster, 0), 0);
}

#[test]
fn a_failure_is_told_once_to_whoever_reads_the_partition() {
    for reading in [ReadMode::Partitions, ReadMode::Stream] {
        let mut cluster = Cluster::with(2, 1);
        for index in 0..2 {
            let log = cluster.logs.get_mut(&index).unwrap();
            log.append(&["a"], BatchOptions::default(), Compression::None);
            log.append(&["b"], BatchOptions::default(), Compression::None);
        }
        let log = cluster.logs.get_mut(&0).unwrap();
        let mut broken = log.batches[1].to_vec();
        *broken.last_mut().unwrap() ^= 1;
        log.batches[1] = broken.into();
        let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
        fetcher.set_reading(reading);
        for index in 0..2 {
            fetcher.add(tp(index), Some(Position::at(0)));
        }
        fetcher.update_leaders(&cluster.metadata());
        pump(&mut fetcher, &mut cluster, 0);
        let waker = Waker::noop();
        let (mut records, mut errors) = (0, Vec::new());
        for round in 0..20 {
            if reading == ReadMode::Stream {
                let mut out = Records::default();
                match fetcher.take(10, &mut out) {
                    Ok(()) => records += out.len(),
                    Err(error) => errors.push(error),
                }
            } else {
                match fetcher.take_from(&tp(round % 2), 10, waker) {
                    Ok(taken) => records += taken.map_or(0, |chunk| chunk.count),
                    Err(error) => errors.push(error),
                }
            }
        }
        assert_eq!((records, errors.len()), (3, 1), "{reading:?}: {errors:?}");
        assert_eq!((&errors[0].partition, errors[0].offset), (&tp(0), 1));
        // Moved behind it, it goes on.
        fetcher.seek(&tp(0), Position::at(2));
        let log = cluster.logs.get_mut(&0).unwrap();
        log.append(&["c"], BatchOptions::default(), Compression::None);
        pump(&mut fetcher, &mut cluster, 1_000);
        let count = match reading {
            ReadMode::Stream => take(&mut fetcher, 10).len(),
            _ => fetcher.take_from(&tp(0), 10, waker).unwrap().map_or(0, |chunk| chunk.count),
        };
        assert_eq!(count, 1, "{reading:?}");
    }
}

#[test]
fn a_leader_epoch_that_went_back_is_followed() {
    let mut cluster = Cluster::with(1, 1);
    let log = cluster.logs.get_mut(&0).unwrap();
    log.epoch = 5;
    log.append(&["a", "b"], BatchOptions::default(), Compression::None);
    let mut metadata = cluster.metadata();
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&metadata);
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9).len(), 2);
    // The broker is restored from an older copy.
    let log = cluster.logs.get_mut(&0).unwrap();
    log.epoch = 3;
    log.append(&["c"], BatchOptions::default(), Compression::None);
    let mut now_ms = 0;
    let answers = (1..20).find(|_| {
        now_ms += 10_000;
        pump(&mut fetcher, &mut cluster, now_ms);
        assert_eq!(take(&mut fetcher, 9), []);
        let code = Some(ErrorCode::UNKNOWN_LEADER_EPOCH);
        assert_eq!(fetcher.statuses(), [(tp(0), PartitionStatus::BackingOff { code })]);
        metadata.apply(&cluster.metadata_response(), now_ms);
        fetcher.update_leaders(&metadata);
        metadata.has_lowered()
    });
    assert!(answers.is_some_and(|answers| answers > 2), "one answer is not enough: {answers:?}");
    pump(&mut fetcher, &mut cluster, now_ms + 10_000);
    assert_eq!(take(&mut fetcher, 9), owned(&[(0, 2, "c")]));
}

#[test]
fn the_lag_of_an_idle_partition_that_comes_back_is_known() {
    let mut cluster = Cluster::with(2, 1);
    for index in 0..2 {
        let log = cluster.logs.get_mut(&index).unwrap();
        log.append(&["a", "b"], BatchOptions::default(), Compression::None);
    }
    let settings = FetchSettings { reset: OffsetReset::Earliest, ..Default::default() };
    let mut fetcher = fetcher(settings, 1 << 20);
    for index in 0..2 {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(take(&mut fetcher, 9).len(), 4);
    pump(&mut fetcher, &mut cluster, 0);
    let position = fetcher.position(&tp(1)).unwrap();
    let comes_back = |fetcher: &mut Fetcher, cluster: &mut Cluster, to| {
        fetcher.add(tp(1), Some(to));
        fetcher.update_leaders(&cluster.metadata());
        pump(fetcher, cluster, 0);
    };
    // It is let go of and taken back before the next request, which has nothing to say of it.
    fetcher.remove(&tp(1));
    comes_back(&mut fetcher, &mut cluster, position);
    assert_eq!(fetcher.lag(&tp(1)), Some(0));
    // From elsewhere in the log, and without the epoch.
    fetcher.remove(&tp(1));
    comes_back(&mut fetcher, &mut cluster, Position::at(2));
    assert_eq!(fetcher.lag(&tp(1)), Some(0));
    // A request has it forgotten in between: what is known then is not of now.
    fetcher.remove(&tp(1));
    fetcher.touch(0);
    pump(&mut fetcher, &mut cluster, 0);
    let log = cluster.logs.get_mut(&1).unwrap();
    log.append(&["c"], BatchOptions::default(), Compression::None);
    fetcher.add(tp(1), Some(position));
    fetcher.update_leaders(&cluster.metadata());
    fetcher.settle(0);
    assert_eq!(fetcher.lag(&tp(1)), None);
    pump(&mut fetcher, &mut cluster, 0);
    assert_eq!(fetcher.lag(&tp(1)), Some(1));
    assert_eq!(cluster.full_requests, 1, "all in one session");
}
