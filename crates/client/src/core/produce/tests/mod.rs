//! A sender against brokers in memory.

mod chaos;
mod cluster;
mod coordinator;
mod transaction_chaos;
mod transactions;

use thalweg_records::{BatchView, Compression, CompressionSpec};
use thalweg_wire::ErrorCode;

use super::*;
use crate::core::Metadata;
use crate::core::metadata::{self, Leader};
use cluster::*;

fn fine(_: &BatchView<'_>) -> Fate {
    Fate::Fine
}

fn sim(settings: ProduceSettings) -> Sim {
    Sim::new(settings, 1 << 20, 3, 2)
}

fn acknowledged(ticket: &mut Ticket) -> (i32, i64) {
    let metadata = outcome(ticket).expect("settled").expect("acknowledged");
    (metadata.partition, metadata.offset)
}

fn failed(ticket: &mut Ticket) -> ProduceErrorKind {
    outcome(ticket).expect("settled").expect_err("failed").kind
}

#[test]
fn a_batch_waits_for_company_but_not_when_it_is_full() {
    let mut sim = sim(ProduceSettings { batch_size: 300, ..ProduceSettings::default() });
    let mut first = sim.send(Some(0), b"a").unwrap();
    assert!(!sim.turn(1));
    sim.now += 4;
    let mut second = sim.send(Some(0), b"b").unwrap();
    assert!(!sim.turn(1), "linger is not over");
    sim.now += 1;
    assert!(sim.turn(1));
    sim.process(1, &mut fine);
    sim.deliver(1);
    assert_eq!((acknowledged(&mut first), acknowledged(&mut second)), ((0, 0), (0, 1)));
    // What does not fit makes the batch before it full.
    let mut full: Vec<_> = (0..2).map(|_| sim.send(Some(0), &[b'x'; 150]).unwrap()).collect();
    assert!(sim.turn(1));
    sim.process(1, &mut fine);
    sim.deliver(1);
    assert_eq!(acknowledged(&mut full[0]), (0, 2));
    assert_eq!(outcome(&mut full[1]), None);
    // And one that is as large as a batch has no company to wait for.
    let mut large = sim.send(Some(2), &[b'x'; 400]).unwrap();
    assert!(sim.turn(1));
    sim.process(1, &mut fine);
    sim.deliver(1);
    assert_eq!(acknowledged(&mut large), (2, 0));
}

#[test]
fn one_request_takes_many_partitions_up_to_its_limit() {
    let settings =
        ProduceSettings { linger_ms: 0, max_request_size: 1_000, ..ProduceSettings::default() };
    let mut sim = Sim::new(settings, 1 << 20, 8, 1);
    for partition in 0..8 {
        sim.send(Some(partition), &[b'x'; 100]).unwrap();
    }
    for _ in 0..3 {
        assert!(sim.turn(1));
    }
    assert!(!sim.turn(1), "three partitions to a request");
    sim.settle(100);
    let counts = sim.sender.counts();
    assert_eq!((counts.requests, counts.batches, counts.records), (3, 8, 8));
}

#[test]
fn only_one_batch_goes_before_a_leader_knows_the_producer() {
    let mut sim = sim(ProduceSettings { batch_size: 100, ..ProduceSettings::default() });
    let tickets: Vec<_> = (0..8).map(|_| sim.send(Some(0), &[b'x'; 100]).unwrap()).collect();
    assert!(sim.turn(1));
    assert!(!sim.turn(1));
    sim.process(1, &mut fine);
    sim.deliver(1);
    for _ in 0..5 {
        assert!(sim.turn(1));
    }
    assert!(!sim.turn(1), "five requests are under way");
    assert_eq!(sim.lines[&1].requests.len(), 5);
    sim.settle(100);
    for (at, mut ticket) in tickets.into_iter().enumerate() {
        assert_eq!(acknowledged(&mut ticket), (0, at as i64));
    }
}

#[test]
fn a_new_leader_that_is_named_is_asked_at_once() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    let mut ticket = sim.send(Some(0), b"a").unwrap();
    assert!(sim.turn(1));
    let log = sim.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 1);
    sim.process(1, &mut fine);
    let accepted = sim.deliver(1).unwrap();
    assert_eq!(accepted.leaders.len(), 1);
    assert_eq!(accepted.leaders[0].1, Leader { id: 2, epoch: 1 });
    assert!(sim.turn(2), "without any pause (KIP-951)");
    sim.process(2, &mut fine);
    sim.deliver(2);
    assert_eq!(acknowledged(&mut ticket), (0, 0));
}

#[test]
fn a_new_leader_gets_all_that_was_on_its_way_to_the_old_one() {
    let mut sim = sim(ProduceSettings { batch_size: 100, ..ProduceSettings::default() });
    sim.send(Some(0), &[b'x'; 100]).unwrap();
    sim.settle(100);
    let tickets: Vec<_> = (0..4).map(|_| sim.send(Some(0), &[b'x'; 100]).unwrap()).collect();
    while sim.turn(1) {}
    assert_eq!(sim.lines[&1].requests.len(), 4);
    let log = sim.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 1);
    for _ in 0..4 {
        assert!(!sim.turn(2), "what is under way may still come to lie in the log");
        sim.process(1, &mut fine);
        sim.deliver(1);
        assert!(!sim.sender.take_wants_metadata(), "the answer has said it");
    }
    let now = sim.now;
    for (at, mut ticket) in tickets.into_iter().enumerate() {
        assert!(sim.turn(2), "without any pause (KIP-951)");
        sim.process(2, &mut fine);
        sim.deliver(2);
        assert_eq!(acknowledged(&mut ticket), (0, 1 + at as i64));
    }
    assert_eq!(sim.now, now);
}

#[test]
fn without_a_hint_it_waits_and_asks_for_metadata() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    sim.knows_hints = false;
    sim.send(Some(0), b"a").unwrap();
    sim.settle(100);
    let mut ticket = sim.send(Some(0), b"b").unwrap();
    assert!(sim.turn(1));
    let log = sim.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 1);
    sim.process(1, &mut fine);
    sim.deliver(1);
    assert!(sim.sender.take_wants_metadata());
    assert!(!sim.turn(1) && !sim.turn(2));
    sim.tell_metadata();
    assert!(sim.turn(2), "what is known now was not tried yet");
    sim.process(2, &mut fine);
    sim.deliver(2);
    assert_eq!(acknowledged(&mut ticket), (0, 1));
}

#[test]
fn a_new_leader_that_has_not_heard_of_it_is_asked_again_before_metadata_is() {
    // What a move costs does not count as a retry.
    let settings = ProduceSettings { linger_ms: 0, retries: 1, ..ProduceSettings::default() };
    let mut sim = sim(settings);
    sim.send(Some(0), b"a").unwrap();
    sim.settle(100);
    let mut ticket = sim.send(Some(0), b"b").unwrap();
    assert!(sim.turn(1));
    let log = sim.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 1);
    sim.process(1, &mut fine);
    assert_eq!(sim.deliver(1).unwrap().leaders.len(), 1);
    let refuse = &mut |_: &BatchView<'_>| Fate::Refused(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    for pause in [0, 2, 4, 8, 16, 20, 20, 20] {
        for _ in 0..pause {
            assert!(!sim.turn(2), "a pause of {pause} ms");
            sim.now += 1;
        }
        assert!(sim.turn(2), "after {pause} ms");
        assert!(!sim.sender.take_wants_metadata());
        sim.process(2, refuse);
        sim.deliver(2);
    }
    assert!(sim.sender.take_wants_metadata(), "it is not to be waited for");
    assert!(!sim.turn(2) && !sim.turn(1));
    sim.now += 120;
    assert!(sim.turn(2));
    sim.process(2, &mut fine);
    sim.deliver(2);
    assert_eq!(acknowledged(&mut ticket), (0, 1));
    // From now on it is known to lead, and hears first when it does not.
    let ticket = &mut sim.send(Some(0), b"c").unwrap();
    assert!(sim.turn(2));
    sim.process(2, refuse);
    sim.deliver(2);
    assert!(sim.sender.take_wants_metadata());
    sim.settle(200);
    assert_eq!(acknowledged(ticket), (0, 2));
}

#[test]
fn a_leader_is_looked_for_while_something_waits_for_one_that_is_lost() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    let mut metadata = Metadata::default();
    sim.send(Some(0), b"a").unwrap();
    sim.settle(100);
    sim.disconnect(1);
    assert!(!sim.sender.seeks_leader(&metadata), "nothing waits");
    let mut ticket = sim.send(Some(0), b"b").unwrap();
    assert!(sim.sender.seeks_leader(&metadata));
    sim.sender.connected(1);
    assert!(!sim.sender.seeks_leader(&metadata), "it was the connection alone");
    sim.disconnect(1);
    let log = sim.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (-1, 1);
    sim.tell_metadata();
    assert!(!sim.sender.seeks_leader(&metadata), "a partition that is gone has no leader");
    let known = metadata::Partition { leader: None, replicas: vec![1], isr: vec![1] };
    let topic = metadata::Topic { id: TOPIC_ID, internal: false, partitions: [(0, known)].into() };
    metadata.topics.insert("t".into(), topic);
    assert!(sim.sender.seeks_leader(&metadata));
    let log = sim.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 2);
    sim.tell_metadata();
    assert!(!sim.sender.seeks_leader(&metadata));
    sim.settle(100);
    assert_eq!(acknowledged(&mut ticket), (0, 1));
}

#[test]
fn partitions_are_in_use_once_something_was_acknowledged() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    let used = |sim: &Sim| sim.sender.in_use().map(|(_, leader)| leader.unwrap().id).collect();
    let nobody: [i32; 0] = [];
    sim.sender.take_uses_changed();
    sim.send(Some(0), b"a").unwrap();
    let before: Vec<i32> = used(&sim);
    assert_eq!(before, nobody);
    sim.settle(100);
    assert!(sim.sender.take_uses_changed());
    let after: Vec<i32> = used(&sim);
    assert_eq!(after, [1]);
    sim.send(Some(0), b"b").unwrap();
    sim.settle(100);
    assert!(!sim.sender.take_uses_changed(), "nothing new");
    let log = sim.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (2, 1);
    sim.send(Some(0), b"c").unwrap();
    sim.settle(100);
    assert!(sim.sender.take_uses_changed());
    let moved: Vec<i32> = used(&sim);
    assert_eq!(moved, [2]);
    sim.sender.update_metadata(&Metadata::default(), [], sim.now);
    let forgotten: Vec<i32> = used(&sim);
    assert_eq!(forgotten, nobody);
}

#[test]
fn limits_are_told_before_anything_is_taken() {
    let settings = ProduceSettings { max_request_size: 1_000, ..ProduceSettings::default() };
    let mut sim = Sim::new(settings, 40_000, 3, 1);
    let refused = sim.send(Some(0), &[0; 1_000]).unwrap_err();
    let Refused::For(kind) = refused else { panic!("{refused:?}") };
    assert!(matches!(kind, ProduceErrorKind::TooLarge { config: "max.request.size", .. }));
    assert!(!kind.is_retriable());
    assert_eq!(sim.send(Some(3), b"a").unwrap_err(), Refused::NoSuchPartition(3));
    assert_eq!(sim.send(Some(-1), b"a").unwrap_err(), Refused::NoSuchPartition(3));
    let elsewhere = ProducerRecord { topic: "u", ..ProducerRecord::default() };
    assert_eq!(sim.sender.append(&elsewhere, 1, || 0).unwrap_err(), Refused::UnknownTopic);
    assert_eq!(
        sim.sender.append(&ProducerRecord { topic: "t", ..elsewhere }, -5, || 0).unwrap_err(),
        Refused::For(ProduceErrorKind::Timestamp(-5))
    );
    assert_eq!(sim.sender.memory().used(), 0);
    // Two batches fit; the third waits for the first, which goes before its time.
    for partition in 0..2 {
        sim.send(Some(partition), b"a").unwrap();
    }
    assert!(!sim.turn(1));
    assert_eq!(sim.send(Some(2), b"a").unwrap_err(), Refused::Full);
    assert!(sim.turn(1), "nothing else makes room");
    sim.process(1, &mut fine);
    sim.deliver(1);
    sim.send(Some(2), b"a").unwrap();
    assert!(sim.sender.memory().peak() <= 40_000);
}

#[test]
fn a_lost_acknowledgement_is_found_again() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    let mut ticket = sim.send(Some(0), b"a").unwrap();
    assert!(sim.turn(1));
    sim.process(1, &mut fine);
    sim.disconnect(1);
    assert_eq!(outcome(&mut ticket), None);
    sim.settle(1_000);
    assert_eq!(acknowledged(&mut ticket), (0, 0));
    assert_eq!(sim.logs[&0].values.len(), 1);
    assert_eq!(sim.sender.counts().retries, 1);
}

#[test]
fn a_repetition_seen_too_long_ago_counts_as_acknowledged() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    let mut ticket = sim.send(Some(0), b"a").unwrap();
    assert!(sim.turn(1));
    sim.process(1, &mut |_| Fate::Refused(ErrorCode::DUPLICATE_SEQUENCE_NUMBER));
    sim.deliver(1);
    assert_eq!(acknowledged(&mut ticket), (0, -1));
}

#[test]
fn a_broker_that_lost_records_gets_another_epoch() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    for code in [ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode::UNKNOWN_PRODUCER_ID] {
        sim.send(Some(0), b"a").unwrap();
        sim.settle(1_000);
        let mut ticket = sim.send(Some(0), b"b").unwrap();
        assert!(sim.turn(1));
        sim.process(1, &mut |_| Fate::Refused(code));
        sim.deliver(1);
        let bumps = sim.sender.counts().epoch_bumps;
        let mut header = None;
        sim.now += 200;
        assert!(sim.turn(1));
        sim.process(1, &mut |batch| {
            header = Some((batch.producer_epoch(), batch.base_sequence()));
            Fate::Fine
        });
        sim.deliver(1);
        assert_eq!(header, Some((bumps as i16 + 1, 0)));
        assert!(acknowledged(&mut ticket).1 > 0);
    }
}

#[test]
fn what_is_refused_for_good_says_why_and_for_which_record() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    let mut first = sim.send(Some(0), b"a").unwrap();
    let mut second = sim.send(Some(0), b"b").unwrap();
    assert!(sim.turn(1));
    sim.process(1, &mut |_| Fate::Refused(ErrorCode::INVALID_RECORD));
    sim.deliver(1);
    for ticket in [&mut first, &mut second] {
        let error = outcome(ticket).unwrap().unwrap_err();
        assert!(!error.is_retriable());
        assert_eq!(error.to_string(), "t-0: the broker answers INVALID_RECORD");
    }
    // The next batch is not taken for one behind a gap.
    let mut next = sim.send(Some(0), b"c").unwrap();
    sim.settle(1_000);
    assert_eq!(acknowledged(&mut next), (0, 0));
}

#[test]
fn a_record_that_no_broker_takes_in_time_expires() {
    let settings =
        ProduceSettings { delivery_timeout_ms: 500, linger_ms: 0, ..ProduceSettings::default() };
    let mut sim = sim(settings);
    let mut ticket = sim.send(Some(0), b"a").unwrap();
    while sim.now <= 1_500 {
        sim.turn(1);
        sim.process(1, &mut |_| Fate::Refused(ErrorCode::NOT_ENOUGH_REPLICAS));
        sim.deliver(1);
        sim.sender.expire(sim.now);
        sim.now += 1;
    }
    let kind = failed(&mut ticket);
    let ProduceErrorKind::Expired { after_ms: 500, attempts, last, .. } = kind else {
        panic!("{kind}")
    };
    assert!((2..=6).contains(&attempts), "{attempts} attempts with doubling pauses");
    assert_eq!(last, Some(ErrorCode::NOT_ENOUGH_REPLICAS));
    assert!(kind.is_retriable());
    assert_eq!((sim.sender.memory().used(), sim.sender.outstanding()), (0, 0));
}

#[test]
fn halves_of_a_batch_tell_their_own_records() {
    for codec in [Compression::None, Compression::Gzip, Compression::Lz4] {
        let compression = CompressionSpec::new(codec);
        let settings = ProduceSettings { compression, ..ProduceSettings::default() };
        let mut sim = sim(settings);
        sim.max_message_bytes = 200;
        let mut tickets: Vec<_> =
            (0..100u32).map(|n| sim.send(Some(1), &n.to_be_bytes()).unwrap()).collect();
        sim.settle(1_000);
        for (at, ticket) in tickets.iter_mut().enumerate() {
            assert_eq!(acknowledged(ticket), (1, at as i64));
        }
        let values = &sim.logs[&1].values;
        assert!(values.iter().enumerate().all(|(n, value)| **value == (n as u32).to_be_bytes()));
        assert!(sim.sender.counts().splits >= 3, "{codec:?}");
    }
}

#[test]
fn without_acknowledgements_what_was_written_is_settled() {
    let settings = ProduceSettings {
        acks: Acks::None,
        is_idempotent: false,
        linger_ms: 0,
        ..ProduceSettings::default()
    };
    let mut sim = sim(settings);
    let mut ticket = sim.send(Some(0), b"a").unwrap();
    assert!(sim.turn(1));
    assert_eq!(acknowledged(&mut ticket), (0, -1));
    let mut header = None;
    sim.process(1, &mut |batch| {
        header = Some(batch.producer_id());
        Fate::Fine
    });
    assert_eq!(header, Some(-1));
    assert!(sim.deliver(1).is_none());
}

#[test]
fn records_without_keys_stay_together_and_spread_evenly() {
    let settings = ProduceSettings { batch_size: 1_000, ..ProduceSettings::default() };
    let mut sim = Sim::new(settings, 1 << 20, 4, 1);
    let mut counts = [0; 4];
    for _ in 0..4_000 {
        sim.send(None, &[b'x'; 60]).unwrap();
        sim.round();
    }
    sim.settle(1_000);
    let counts_of = sim.sender.counts();
    for (index, log) in &sim.logs {
        counts[*index as usize] = log.values.len();
    }
    assert!(counts.iter().all(|count| (700..1_300).contains(count)), "{counts:?}");
    // Eight or nine of them make a batch.
    assert!(counts_of.batches <= 4_000 / 8 + 4, "{counts_of:?}");
}

#[test]
fn buffers_go_from_batch_to_batch() {
    for codec in [Compression::None, Compression::Snappy] {
        let compression = CompressionSpec::new(codec);
        let settings =
            ProduceSettings { batch_size: 1_000, compression, ..ProduceSettings::default() };
        let mut sim = Sim::new(settings, 1 << 20, 4, 1);
        for _ in 0..400 {
            sim.send(None, b"abcdefghijklmnopqrstuvwxyz").unwrap();
        }
        let used = sim.sender.memory().used();
        sim.settle(1_000);
        assert_eq!(
            (sim.sender.memory().used(), sim.sender.memory().kept()),
            (0, used),
            "{codec:?}"
        );
        for _ in 0..400 {
            sim.send(None, b"abcdefghijklmnopqrstuvwxyz").unwrap();
        }
        assert!(sim.sender.memory().kept() <= used / 10, "they are used again");
    }
}

#[test]
fn keys_decide_as_they_do_in_java() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    for key in ["21", "foobar", "abc", "a-little-bit-long-string"] {
        let record = ProducerRecord {
            topic: "t",
            key: Some(key.as_bytes()),
            value: Some(b"v"),
            ..ProducerRecord::default()
        };
        let mut ticket = sim.sender.append(&record, 1, || 1_000).unwrap();
        sim.settle(1_000);
        let expected = (murmur2::murmur2(key.as_bytes()) & 0x7fff_ffff) % 3;
        assert_eq!(acknowledged(&mut ticket).0, expected);
    }
}

#[test]
fn flushing_ends_when_the_last_is_settled() {
    let settings = ProduceSettings { linger_ms: 10_000, ..ProduceSettings::default() };
    let mut sim = sim(settings);
    sim.max_message_bytes = 150;
    for partition in 0..3 {
        for _ in 0..5 {
            sim.send(Some(partition), &[b'x'; 20]).unwrap();
        }
    }
    sim.round();
    let cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut flushing = sim.sender.flush(sim.now);
    assert!(flushing.poll(&cx).is_pending());
    sim.send(Some(0), b"later").unwrap();
    for _ in 0..100 {
        sim.round();
        sim.now += 10;
    }
    assert!(flushing.poll(&cx).is_ready());
    assert!(sim.sender.counts().splits > 0);
    assert_eq!(sim.sender.outstanding(), 1, "what came later still lingers");
}

#[test]
fn what_is_given_up_is_told_and_nothing_more_is_taken() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    let mut sent = sim.send(Some(0), b"a").unwrap();
    assert!(sim.turn(1));
    let mut waiting = sim.send(Some(0), b"b").unwrap();
    sim.sender.give_up(ProduceErrorKind::Closed);
    assert_eq!(failed(&mut sent), ProduceErrorKind::Closed);
    assert_eq!(failed(&mut waiting), ProduceErrorKind::Closed);
    assert_eq!(sim.send(Some(0), b"c").unwrap_err(), Refused::For(ProduceErrorKind::Closed));
    sim.process(1, &mut fine);
    sim.deliver(1);
    assert_eq!((sim.sender.memory().used(), sim.sender.outstanding()), (0, 0));
}

#[test]
fn compression_is_given_more_as_it_proves_itself() {
    let compression = CompressionSpec::new(Compression::Lz4);
    let settings = ProduceSettings { compression, batch_size: 2_000, ..ProduceSettings::default() };
    let mut sim = Sim::new(settings, 1 << 20, 1, 1);
    let mut sent = 0;
    while sim.logs[&0].batches < 300 {
        sim.send(None, &[b'x'; 100]).unwrap();
        sent += 1;
        sim.round();
    }
    let counts = sim.sender.counts();
    assert!(sent > 300 * 30, "{sent} records in 300 batches of 15 at first");
    assert!(counts.batch_bytes < 300 * 2_000);
}

#[test]
fn topics_of_the_same_name_are_told_apart() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    sim.send(Some(0), b"a").unwrap();
    sim.settle(100);
    let mut metadata = crate::core::Metadata::default();
    let leader = Some(Leader { id: 1, epoch: 0 });
    let partition = crate::core::metadata::Partition { leader, replicas: vec![], isr: vec![] };
    let topic = crate::core::metadata::Topic {
        id: thalweg_wire::Uuid::from_u128(1),
        internal: false,
        partitions: [(0, partition)].into(),
    };
    metadata.topics.insert("t".into(), topic);
    sim.sender.update_metadata(&metadata, [], sim.now);
    sim.send(Some(0), b"b").unwrap();
    let now = sim.now;
    let outgoing = sim.sender.drain(1, now).expect("something to send");
    assert_eq!(outgoing.partitions(), 1);
    assert_eq!(sim.sender.counts().epoch_bumps, 1, "sequences begin anew");
}

#[test]
fn a_topic_that_comes_back_with_fewer_partitions_has_no_others() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    sim.send(Some(0), b"a").unwrap();
    sim.settle(100);
    let mut lost = sim.send(Some(2), b"b").unwrap();
    let mut metadata = crate::core::Metadata::default();
    let leader = Some(Leader { id: 1, epoch: 0 });
    let partition = crate::core::metadata::Partition { leader, replicas: vec![], isr: vec![] };
    let topic = crate::core::metadata::Topic {
        id: thalweg_wire::Uuid::from_u128(1),
        internal: false,
        partitions: [(0, partition)].into(),
    };
    metadata.topics.insert("t".into(), topic);
    sim.sender.update_metadata(&metadata, [], sim.now);
    assert_eq!(failed(&mut lost), ProduceErrorKind::NoSuchPartition { count: 1 });
    assert_eq!(sim.send(Some(2), b"c").unwrap_err(), Refused::NoSuchPartition(1));
    for _ in 0..50 {
        // Records without a key find the one that is left.
        sim.send(None, b"d").unwrap();
    }
    assert_eq!(sim.sender.outstanding(), 1);
    sim.sender.update_metadata(&metadata, [], sim.now);
    assert_eq!(sim.sender.known(), (1, 1), "the others are forgotten");
}

#[test]
fn what_is_gone_is_forgotten_and_begins_anew_when_it_comes_back() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    sim.send(Some(0), b"a").unwrap();
    sim.settle(100);
    assert_eq!(sim.sender.known(), (1, 3));
    let nothing = crate::core::Metadata::default();
    let mut queued = sim.send(Some(1), b"b").unwrap();
    sim.sender.update_metadata(&nothing, [], sim.now);
    assert_eq!(sim.sender.known(), (1, 3), "something is to be sent");
    sim.tell_metadata();
    sim.settle(100);
    assert_eq!(acknowledged(&mut queued), (1, 0));
    sim.sender.update_metadata(&nothing, [], sim.now);
    assert_eq!(sim.sender.known(), (0, 0));
    assert_eq!(sim.send(Some(0), b"c").unwrap_err(), Refused::UnknownTopic);
    // The same logs again, which remember this producer's sequences.
    for round in 0..3 {
        sim.tell_metadata();
        assert_eq!(sim.sender.known(), (1, 3));
        let mut again = sim.send(Some(0), b"d").unwrap();
        sim.settle(100);
        assert_eq!(acknowledged(&mut again), (0, 1 + round), "taken for a repetition");
        sim.sender.forget(sim.now + 1);
        assert_eq!(sim.sender.known(), (0, 0));
    }
    assert_eq!(sim.logs[&0].values, [b"a", b"d", b"d", b"d"]);
}

#[test]
fn topics_that_are_not_used_are_forgotten() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    sim.send(Some(0), b"a").unwrap();
    let used = sim.now;
    sim.sender.forget(used + 1);
    assert_eq!(sim.sender.known(), (1, 3), "it has something to send");
    sim.settle(100);
    sim.sender.forget(used);
    assert_eq!(sim.sender.known(), (1, 3));
    sim.sender.forget(used + 1);
    assert_eq!(sim.sender.known(), (0, 0));
}

#[test]
fn what_concerns_the_producer_is_the_answer_to_everything_later() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    let mut tickets: Vec<_> = (0..3).map(|at| sim.send(Some(at), b"a").unwrap()).collect();
    assert!(sim.turn(1));
    let code = ErrorCode::CLUSTER_AUTHORIZATION_FAILED;
    sim.process(1, &mut |_| Fate::Refused(code));
    sim.deliver(1);
    let fatal = ProduceErrorKind::Fatal { code, message: None };
    for ticket in &mut tickets {
        let kind = failed(ticket);
        assert!(matches!(&kind, ProduceErrorKind::Fatal { code: of, .. } if *of == code), "{kind}");
        assert!(!kind.is_retriable());
    }
    assert_eq!(sim.sender.outstanding(), 0);
    // Closing does not hide the reason.
    sim.sender.give_up(ProduceErrorKind::Closed);
    let refused = sim.send(Some(1), b"b").unwrap_err();
    let Refused::For(kind) = refused else { panic!("{refused:?}") };
    assert_eq!(std::mem::discriminant(&kind), std::mem::discriminant(&fatal));
    // Without idempotence it is the batch's own misfortune.
    let settings = ProduceSettings { is_idempotent: false, linger_ms: 0, ..Default::default() };
    let mut sim = self::sim(settings);
    let mut ticket = sim.send(Some(0), b"a").unwrap();
    assert!(sim.turn(1));
    sim.process(1, &mut |_| Fate::Refused(code));
    sim.deliver(1);
    assert!(matches!(failed(&mut ticket), ProduceErrorKind::Broker { .. }));
    assert!(sim.sender.over().is_none());
}

#[test]
fn a_full_batch_of_records_without_keys_does_not_linger() {
    let settings =
        ProduceSettings { batch_size: 300, linger_ms: 10_000, ..ProduceSettings::default() };
    let mut sim = Sim::new(settings, 1 << 20, 8, 1);
    let mut tickets: Vec<_> = (0..40).map(|_| sim.send(None, &[b'x'; 100]).unwrap()).collect();
    while sim.turn(1) {
        sim.process(1, &mut fine);
        sim.deliver(1);
    }
    let open = tickets.iter_mut().filter_map(|ticket| outcome(ticket).is_none().then_some(()));
    assert!(open.count() <= 2, "only those of the batch that has room");
}

#[test]
fn a_record_that_expires_tells_why_nobody_took_it() {
    let settings =
        ProduceSettings { delivery_timeout_ms: 500, linger_ms: 0, ..ProduceSettings::default() };
    let mut sim = sim(settings);
    let mut ticket = sim.send(Some(0), b"a").unwrap();
    sim.turn(1);
    sim.disconnect(1);
    sim.now += 600;
    sim.sender.expire(sim.now);
    let kind = failed(&mut ticket);
    assert!(kind.to_string().ends_with(": lost"), "{kind}");
}

#[test]
fn topics_that_are_not_used_are_not_asked_for() {
    let mut sim = sim(ProduceSettings { linger_ms: 0, ..ProduceSettings::default() });
    sim.now = 1_000;
    sim.send(Some(0), b"a").unwrap();
    assert_eq!(sim.sender.topic_names(2_000).count(), 1, "it has something to send");
    sim.settle(100);
    assert_eq!(sim.sender.topic_names(1_000).count(), 1);
    assert_eq!(sim.sender.topic_names(2_000).count(), 0);
}
