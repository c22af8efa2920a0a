//! A fetcher against logs in memory, with a broker that keeps sessions as Kafka's does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::{CompressionSpec, Compressor};
use thalweg_records::{BatchView, Compression};
use thalweg_wire::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, PartitionData,
};
use thalweg_wire::messages::{FetchRequest, FetchResponse};
use thalweg_wire::{ErrorCode, Message, Reader, Uuid, Writer};

use super::*;

const VERSION: i16 = 17;
const TOPIC_ID: Uuid = Uuid::from_u128(4711);

/// A small generator, so that a seed says everything.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Brokers with logs in memory.
#[derive(Default)]
struct Cluster {
    logs: BTreeMap<i32, Log>,
    sessions: HashMap<(i32, i32), (i32, BTreeMap<i32, Asked>)>,
    next_session: i32,
    /// Bytes of batches sent.
    sent: u64,
    forgotten: u64,
    full_requests: u64,
}

#[derive(Clone, Copy)]
struct Asked {
    offset: i64,
    max_bytes: i32,
    leader_epoch: i32,
    last_epoch: i32,
}

#[derive(Default)]
struct Log {
    batches: Vec<Bytes>,
    end: i64,
    leader: i32,
    epoch: i32,
    aborted: Vec<(i64, i64)>,
}

impl Log {
    fn append(&mut self, values: &[&str], options: BatchOptions, compression: Compression) {
        let options = BatchOptions {
            base_offset: self.end,
            partition_leader_epoch: self.epoch,
            compression: CompressionSpec::new(compression),
            ..options
        };
        let mut builder = BatchBuilder::new(options);
        for value in values {
            builder.append(1_000, Some(b"k"), Some(value.as_bytes()), &[]);
        }
        let batch = Bytes::from(builder.finish(&mut Compressor::new()).unwrap());
        self.end = BatchView::parse(&batch).unwrap().next_offset();
        self.batches.push(batch);
    }

    /// Batches from `offset` on, as many as fit `max`, but one at least.
    fn read(&self, offset: i64, max: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for batch in &self.batches {
            let view = BatchView::parse(batch).unwrap();
            if view.last_offset() < offset {
                continue;
            }
            if !out.is_empty() && out.len() + batch.len() > max {
                break;
            }
            out.extend_from_slice(batch);
        }
        out
    }
}

impl Cluster {
    fn with(partitions: i32, brokers: i32) -> Cluster {
        let logs = (0..partitions)
            .map(|index| (index, Log { leader: index % brokers + 1, ..Log::default() }))
            .collect();
        Cluster { logs, next_session: 1, ..Cluster::default() }
    }

    fn metadata(&self) -> Metadata {
        use thalweg_wire::messages::metadata_response::*;
        let partitions = self
            .logs
            .iter()
            .map(|(&index, log)| MetadataResponsePartition {
                partition_index: index,
                leader_id: log.leader,
                leader_epoch: log.epoch,
                ..MetadataResponsePartition::default()
            })
            .collect();
        let mut metadata = Metadata::default();
        metadata.apply(&MetadataResponse {
            topics: vec![MetadataResponseTopic {
                name: Some("t".into()),
                topic_id: TOPIC_ID,
                partitions,
                ..MetadataResponseTopic::default()
            }],
            ..MetadataResponse::default()
        });
        metadata
    }

    /// What `broker` answers to a request frame.
    fn answer(&mut self, broker: i32, frame: &[u8]) -> Bytes {
        let mut r = Reader::new(&frame[12..]);
        // The rest of the header: client id and tags.
        r.nullable_str(false).unwrap();
        r.tags(None, |_, _| Ok(false)).unwrap();
        let request = FetchRequest::decode(&mut r, VERSION).unwrap();
        assert_eq!(r.remaining(), 0);
        let is_loose = request.session_epoch == -1;
        let id = if is_loose {
            0
        } else if request.session_epoch == 0 {
            self.full_requests += 1;
            self.next_session += 1;
            self.next_session
        } else {
            request.session_id
        };
        if request.session_epoch > 0 && !self.sessions.contains_key(&(broker, id)) {
            return encode(&FetchResponse {
                error_code: ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
                ..FetchResponse::default()
            });
        }
        let mut loose = (-1, BTreeMap::new());
        let (epoch, asked) = match is_loose {
            true => &mut loose,
            false => self.sessions.entry((broker, id)).or_default(),
        };
        assert_eq!(*epoch, request.session_epoch, "epochs follow each other");
        *epoch += 1;
        for topic in &request.topics {
            assert_eq!(topic.topic_id, TOPIC_ID);
            for p in &topic.partitions {
                let before = asked.insert(
                    p.partition,
                    Asked {
                        offset: p.fetch_offset,
                        max_bytes: p.partition_max_bytes,
                        leader_epoch: p.current_leader_epoch,
                        last_epoch: p.last_fetched_epoch,
                    },
                );
                let same = before.is_some_and(|b| b.offset == p.fetch_offset);
                assert!(
                    !same
                        || before.is_some_and(|b| b.max_bytes != p.partition_max_bytes
                            || b.leader_epoch != p.current_leader_epoch
                            || b.last_epoch != p.last_fetched_epoch),
                    "partition {} is named for nothing",
                    p.partition
                );
            }
        }
        for topic in &request.forgotten_topics_data {
            for index in &topic.partitions {
                self.forgotten += 1;
                asked.remove(index);
            }
        }
        let mut left = usize::try_from(request.max_bytes).unwrap();
        let mut parts = Vec::new();
        for (&index, asked) in asked.iter() {
            let log = &self.logs[&index];
            let mut part = PartitionData {
                partition_index: index,
                high_watermark: log.end,
                last_stable_offset: log.end,
                ..PartitionData::default()
            };
            if log.leader != broker || asked.leader_epoch < log.epoch {
                part.error_code = if log.leader == broker {
                    ErrorCode::FENCED_LEADER_EPOCH
                } else {
                    ErrorCode::NOT_LEADER_OR_FOLLOWER
                };
                part.current_leader = LeaderIdAndEpoch {
                    leader_id: log.leader,
                    leader_epoch: log.epoch,
                    ..LeaderIdAndEpoch::default()
                };
                parts.push(part);
                continue;
            }
            if asked.offset > log.end || asked.offset < 0 {
                part.error_code = ErrorCode::OFFSET_OUT_OF_RANGE;
                parts.push(part);
                continue;
            }
            if left == 0 {
                continue;
            }
            let max = usize::try_from(asked.max_bytes).unwrap().min(left);
            let records = log.read(asked.offset, max);
            if records.is_empty() {
                continue;
            }
            left = left.saturating_sub(records.len());
            self.sent += records.len() as u64;
            part.aborted_transactions = Some(
                log.aborted
                    .iter()
                    .map(|&(producer_id, first_offset)| {
                        thalweg_wire::messages::fetch_response::AbortedTransaction {
                            producer_id,
                            first_offset,
                            ..Default::default()
                        }
                    })
                    .collect(),
            );
            part.records = Some(records.into());
            parts.push(part);
        }
        encode(&FetchResponse {
            session_id: id,
            responses: if parts.is_empty() {
                vec![]
            } else {
                vec![FetchableTopicResponse {
                    topic_id: TOPIC_ID,
                    partitions: parts,
                    ..FetchableTopicResponse::default()
                }]
            },
            ..FetchResponse::default()
        })
    }
}

fn encode(response: &FetchResponse) -> Bytes {
    let mut w = Writer::new();
    response.encode(&mut w, VERSION).unwrap();
    w.to_vec().into()
}

fn tp(index: i32) -> TopicPartition {
    TopicPartition::new("t", index)
}

fn fetcher(settings: FetchSettings, budget: usize) -> Fetcher {
    Fetcher::new(settings, Budget::new(budget, || {}))
}

/// Sends what is to be sent to all brokers and takes the answers in; says how many requests.
fn pump(fetcher: &mut Fetcher, cluster: &mut Cluster, now: u64) -> usize {
    let mut sent = 0;
    fetcher.settle(now);
    fetcher.kick_all();
    for broker in fetcher.take_kicks() {
        let mut frame = Writer::new();
        let planned = fetcher.plan(broker, now, VERSION, "test", &mut frame).unwrap();
        if planned.is_none() {
            continue;
        }
        sent += 1;
        let body = cluster.answer(broker, &frame.to_vec());
        let body = fetcher.budget().share(body.to_vec());
        fetcher.accept(broker, &body, VERSION, now).unwrap();
        drop(planned);
    }
    sent
}

fn values(records: &Records) -> Vec<(i32, i64, String)> {
    let text = |value: Option<&[u8]>| String::from_utf8(value.unwrap().to_vec()).unwrap();
    records.iter().map(|r| (r.partition(), r.offset(), text(r.value()))).collect()
}

fn take(fetcher: &mut Fetcher, max: usize) -> Vec<(i32, i64, String)> {
    let mut records = Records::default();
    fetcher.take(max, &mut records).unwrap();
    values(&records)
}

fn owned(rows: &[(i32, i64, &str)]) -> Vec<(i32, i64, String)> {
    rows.iter().map(|&(p, o, v)| (p, o, v.to_owned())).collect()
}

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
fn without_a_hint_it_waits_and_asks_for_metadata() {
    let mut cluster = Cluster::with(1, 1);
    let mut fetcher = fetcher(FetchSettings::default(), 1 << 20);
    fetcher.add(tp(0), Some(Position::at(0)));
    fetcher.update_leaders(&cluster.metadata());
    let log = cluster.logs.get_mut(&0).unwrap();
    (log.leader, log.epoch) = (-1, 0);
    let mut frame = Writer::new();
    let _planned = fetcher.plan(1, 0, VERSION, "test", &mut frame).unwrap().unwrap();
    let body = cluster.answer(1, &frame.to_vec());
    assert!(fetcher.accept(1, &body, VERSION, 0).unwrap().needs_metadata);
    assert_eq!(pump(&mut fetcher, &mut cluster, 50), 0);
    assert_eq!(fetcher.next_retry(), Some(100));
    assert_eq!(pump(&mut fetcher, &mut cluster, 100), 1);
}

#[test]
fn what_is_resumed_while_a_request_is_held_back_is_asked_for_aside() {
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
    flights.send_aside(&mut fetcher, &mut cluster, 0);
    assert_eq!(flights.0.len(), 1, "nobody wants anything");
    fetcher.resume(&tp(1));
    flights.send_aside(&mut fetcher, &mut cluster, 0);
    assert_eq!(flights.0.len(), 2);
    // While it is asked for aside, the session does not ask for it.
    flights.land(&mut fetcher, 0, 0, false);
    flights.send(&mut fetcher, &mut cluster, 0);
    flights.land(&mut fetcher, 0, 0, false);
    assert_eq!(take(&mut fetcher, 9), owned(&[(1, 0, "a")]));
    // There is nothing more, as is known; when it is not, it is asked once.
    for _ in 0..3 {
        flights.send_aside(&mut fetcher, &mut cluster, 0);
        flights.land(&mut fetcher, 0, 1, false);
        assert_eq!(flights.0.len(), 1);
        fetcher.pause(&tp(1));
        fetcher.resume(&tp(1));
    }
    assert_eq!((flights.0.len(), fetcher.counts().aside), (1, 2));
    // The session takes over.
    flights.land(&mut fetcher, 0, 0, false);
    cluster.logs.get_mut(&1).unwrap().append(&["b"], BatchOptions::default(), Compression::None);
    flights.send(&mut fetcher, &mut cluster, 0);
    flights.land(&mut fetcher, 0, 0, false);
    assert_eq!(take(&mut fetcher, 9), owned(&[(1, 1, "b")]));
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
            assert_eq!(fetcher.unresolved(), [(Arc::new(tp(0)), OffsetReset::Earliest)]);
            fetcher.resolve(&tp(0), OffsetReset::Earliest, Position::at(0));
            assert_eq!(fetcher.position(&tp(0)), Some(Position::at(0)));
            assert_eq!(pump(&mut fetcher, &mut cluster, 0), 1);
        }
    }
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
    let mut frame = Writer::new();
    let _planned = fetcher.plan(1, 0, VERSION, "test", &mut frame).unwrap().unwrap();
    let diverging = PartitionData {
        diverging_epoch: EpochEndOffset { epoch: 0, end_offset: 1, ..Default::default() },
        ..PartitionData::default()
    };
    let body = encode(&FetchResponse {
        session_id: 2,
        responses: vec![FetchableTopicResponse {
            topic_id: TOPIC_ID,
            partitions: vec![diverging],
            ..Default::default()
        }],
        ..FetchResponse::default()
    });
    fetcher.accept(1, &body, VERSION, 0).unwrap();
    assert_eq!(fetcher.position(&tp(0)), Some(Position { offset: 1, leader_epoch: 0 }));
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

/// Requests that are answered already, with answers that are still on their way.
#[derive(Default)]
struct Flights(Vec<Flight>, BTreeSet<i32>);

struct Flight {
    broker: i32,
    is_aside: bool,
    body: Bytes,
    _room: Planned,
}

impl Flights {
    /// Asks every broker that owes no answer.
    fn send(&mut self, fetcher: &mut Fetcher, cluster: &mut Cluster, now: u64) {
        fetcher.settle(now);
        fetcher.kick_all();
        for broker in fetcher.take_kicks() {
            if self.0.iter().any(|flight| flight.broker == broker && !flight.is_aside) {
                continue;
            }
            let mut frame = Writer::new();
            let planned = fetcher.plan(broker, now, VERSION, "test", &mut frame).unwrap();
            let Some(planned) = planned else { continue };
            let body = cluster.answer(broker, &frame.to_vec());
            self.0.push(Flight { broker, is_aside: false, body, _room: planned });
        }
    }

    /// Asks brokers that owe an answer, where that is said to be of use; elsewhere it is not.
    fn send_aside(&mut self, fetcher: &mut Fetcher, cluster: &mut Cluster, now: u64) {
        fetcher.settle(now);
        self.1.extend(fetcher.take_late());
        for broker in [1, 2] {
            let is_late = self.1.remove(&broker);
            let mut frame = Writer::new();
            let planned = fetcher.plan_aside(broker, now, VERSION, "test", &mut frame).unwrap();
            let Some(planned) = planned else { continue };
            assert!(is_late, "nobody was told that broker {broker} is to be asked");
            let body = cluster.answer(broker, &frame.to_vec());
            self.0.push(Flight { broker, is_aside: true, body, _room: planned });
        }
    }

    /// One of the answers arrives, or its connection breaks.
    fn land(&mut self, fetcher: &mut Fetcher, now: u64, which: usize, lost: bool) {
        if self.0.is_empty() {
            return;
        }
        let flight = match which {
            which if which < self.0.len() => self.0.swap_remove(which),
            _ => return,
        };
        let body = fetcher.budget().share(flight.body.to_vec());
        if !flight.is_aside {
            // Whoever was told has no request any more that is held back, and forgets it.
            self.1.extend(fetcher.take_late());
            self.1.remove(&flight.broker);
        }
        match (flight.is_aside, lost) {
            (false, true) => fetcher.disconnected(flight.broker, now),
            (true, true) => fetcher.aside_failed(flight.broker),
            (false, false) => {
                fetcher.accept(flight.broker, &body, VERSION, now).unwrap();
            }
            (true, false) => {
                fetcher.accept_aside(flight.broker, &body, VERSION, now).unwrap();
            }
        }
    }
}

/// Pauses, resumes, seeks in the buffer, takes, appends and moves of leaders in every order.
fn run_seed(seed: u64) -> FetchCounts {
    let mut rng = Rng(seed);
    let partitions = 1 + rng.below(6) as i32;
    let mut cluster = Cluster::with(partitions, 2);
    let budget_bytes = 8 << 10;
    let settings = FetchSettings { partition_max_bytes: 600, ..FetchSettings::default() };
    let mut fetcher = fetcher(settings, budget_bytes);
    for index in 0..partitions {
        fetcher.add(tp(index), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    let mut next = vec![0i64; partitions as usize];
    let mut seen: Vec<i64> = next.clone();
    let mut paused = vec![false; partitions as usize];
    let mut pinned: Vec<Records> = Vec::new();
    let mut batch_max = 0;
    let mut now = 0;
    let mut flights = Flights::default();
    for _ in 0..120 {
        let index = rng.below(partitions as u64) as i32;
        let at = index as usize;
        match rng.below(13) {
            0 | 1 => {
                let log = cluster.logs.get_mut(&index).unwrap();
                let count = 1 + rng.below(5);
                let value = "v".repeat(rng.below(120) as usize);
                let codec = if rng.below(2) == 0 { Compression::None } else { Compression::Lz4 };
                log.append(&vec![&*value; count as usize], BatchOptions::default(), codec);
                batch_max = batch_max.max(count as usize * (value.len() + 20) + 80);
            }
            2 => {
                fetcher.pause(&tp(index));
                paused[at] = true;
            }
            3 | 4 => {
                fetcher.resume(&tp(index));
                paused[at] = false;
            }
            5 => {
                // Forward within what was appended and fetched: nothing is fetched twice for it.
                let to = next[at] + rng.below(3) as i64;
                let fetched = fetcher.cursor(&tp(index)).unwrap().fetch_at.offset;
                // What is on its way for the end of the buffer is of no use beyond it.
                if to <= if flights.0.is_empty() { cluster.logs[&index].end } else { fetched } {
                    fetcher.seek(&tp(index), Position::at(to));
                    next[at] = to;
                }
            }
            6 if rng.below(4) == 0 => {
                let log = cluster.logs.get_mut(&index).unwrap();
                log.leader = 3 - log.leader;
                log.epoch += 1;
            }
            7 => {
                pinned.clear();
            }
            8 => flights.send(&mut fetcher, &mut cluster, now),
            10 => flights.send_aside(&mut fetcher, &mut cluster, now),
            9 => {
                let lost = rng.below(10) == 0;
                flights.land(&mut fetcher, now, rng.below(2) as usize, lost);
            }
            _ => {
                let mut records = Records::default();
                let max = 1 + rng.below(7) as usize;
                fetcher.take(max, &mut records).unwrap();
                assert!(records.len() <= max);
                for record in &records {
                    let at = record.partition() as usize;
                    assert!(!paused[at], "seed {seed}: a record of a paused partition");
                    assert_eq!(record.offset(), next[at], "seed {seed}: partition {at}");
                    next[at] = record.offset() + 1;
                    seen[at] = seen[at].max(next[at]);
                }
                if rng.below(4) == 0 && pinned.len() < 4 {
                    pinned.push(records);
                }
            }
        }
        now += rng.below(120);
    }
    while !flights.0.is_empty() {
        flights.land(&mut fetcher, now, 0, false);
    }
    // In the end everything that is left comes, with everything resumed.
    for index in 0..partitions {
        fetcher.resume(&tp(index));
    }
    pinned.clear();
    for _ in 0..400 {
        if cluster.logs.iter().all(|(index, log)| next[*index as usize] == log.end) {
            break;
        }
        now += 200;
        pump(&mut fetcher, &mut cluster, now);
        for record in take(&mut fetcher, 50) {
            assert_eq!(record.1, next[record.0 as usize], "seed {seed}");
            next[record.0 as usize] += 1;
        }
    }
    for (index, log) in &cluster.logs {
        assert_eq!(next[*index as usize], log.end, "seed {seed}: partition {index}");
    }
    // Nothing was fetched twice.
    let counts = fetcher.counts();
    let there: u64 = cluster.logs.values().flat_map(|l| &l.batches).map(|b| b.len() as u64).sum();
    assert!(
        counts.batch_bytes + counts.discarded_bytes <= there,
        "seed {seed}: {there} bytes of batches, fetched {counts:?}"
    );
    let peak = fetcher.budget().peak();
    let bound = budget_bytes + 2 * batch_max.max(700) + 1024;
    assert!(peak <= bound, "seed {seed}: peak {peak} of {bound}");
    counts
}

#[test]
fn any_order_of_events_keeps_the_promises() {
    let mut aside = 0;
    let ran = crate::core::seeds::run("fetch", 300, 40, |seed| aside += run_seed(seed).aside);
    assert!(ran.is_none_or(|ran| aside > ran / 3), "{aside} requests aside");
}

/// Notes that it was woken.
#[derive(Default)]
struct Woken(std::sync::atomic::AtomicBool);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

/// Takes of single partitions, in every order; the first of them is hardly ever read, and a few
/// of its records are held all the time.
fn run_seed_apart(seed: u64) {
    let mut rng = Rng(seed);
    let partitions = 2 + rng.below(8) as usize;
    let mut cluster = Cluster::with(partitions as i32, 2);
    let settings = FetchSettings { partition_max_bytes: 700, ..FetchSettings::default() };
    let mut fetcher = fetcher(settings, 8 << 10);
    fetcher.set_reading(Reading::Partitions);
    for index in 0..partitions {
        fetcher.add(tp(index as i32), Some(Position::at(0)));
    }
    fetcher.update_leaders(&cluster.metadata());
    let woken: Vec<Arc<Woken>> = (0..partitions).map(|_| Arc::default()).collect();
    let wakers: Vec<Waker> = woken.iter().map(|woken| Waker::from(Arc::clone(woken))).collect();
    let mut waits = vec![false; partitions];
    let mut paused = vec![false; partitions];
    let mut next = vec![0i64; partitions];
    let mut held = VecDeque::new();
    let mut take_from = |fetcher: &mut Fetcher, at: usize, next: &mut [i64], max: usize| {
        let taken = fetcher.take_from(&tp(at as i32), max, &wakers[at]).unwrap();
        let Some(chunk) = taken else { return 0 };
        let count = chunk.count;
        assert!(count <= max, "seed {seed}");
        let mut shared = SharedChunk::new(chunk);
        while let Some((record, behind)) = shared.next() {
            assert_eq!(record.offset(), next[at], "seed {seed}: partition {at}");
            assert_eq!(record.partition(), at as i32);
            next[at] = behind.offset;
            if at == 0 {
                held.push_back(record);
                held.truncate(3);
            }
        }
        count
    };
    let mut flights = Flights::default();
    let mut now = 0;
    for _ in 0..150 {
        let at = rng.below(partitions as u64) as usize;
        match rng.below(10) {
            0 | 1 => {
                let log = cluster.logs.get_mut(&(at as i32)).unwrap();
                let value = "v".repeat(rng.below(100) as usize);
                let values = vec![&*value; 1 + rng.below(4) as usize];
                let codec = if rng.below(2) == 0 { Compression::None } else { Compression::Lz4 };
                log.append(&values, BatchOptions::default(), codec);
            }
            2 => paused[at] = fetcher.pause(&tp(at as i32)),
            3 => paused[at] = !fetcher.resume(&tp(at as i32)),
            4 | 5 => flights.send(&mut fetcher, &mut cluster, now),
            6 => flights.land(&mut fetcher, now, rng.below(2) as usize, rng.below(20) == 0),
            _ if at == 0 && rng.below(6) > 0 => {}
            _ => {
                let taken = take_from(&mut fetcher, at, &mut next, 1 + rng.below(4) as usize);
                assert!(taken == 0 || !paused[at], "seed {seed}: a record of a paused partition");
                waits[at] = taken == 0;
                if taken == 0 {
                    woken[at].0.store(false, std::sync::atomic::Ordering::SeqCst);
                }
            }
        }
        now += rng.below(100);
        fetcher.take_wakers().into_iter().for_each(Waker::wake);
        for at in (0..partitions).filter(|at| waits[*at]) {
            let cursor = fetcher.cursor(&tp(at as i32)).unwrap();
            let has_some = cursor.is_deliverable() && !cursor.buffer.is_empty();
            let is_woken = woken[at].0.load(std::sync::atomic::Ordering::SeqCst);
            assert!(!has_some || is_woken, "seed {seed}: nobody reads partition {at}");
        }
    }
    while !flights.0.is_empty() {
        flights.land(&mut fetcher, now, 0, false);
    }
    for index in 0..partitions {
        fetcher.resume(&tp(index as i32));
    }
    // All others come to their ends while nobody reads the first, then the first does.
    for range in [1..partitions, 0..partitions] {
        for _ in 0..100 {
            now += 200;
            pump(&mut fetcher, &mut cluster, now);
            for at in range.clone() {
                while take_from(&mut fetcher, at, &mut next, 3) > 0 {}
            }
        }
        for at in range {
            let end = cluster.logs[&(at as i32)].end;
            assert_eq!(next[at], end, "seed {seed}: partition {at}");
        }
    }
    let counts = fetcher.counts();
    let there: u64 = cluster.logs.values().flat_map(|l| &l.batches).map(|b| b.len() as u64).sum();
    assert!(counts.batch_bytes <= there, "seed {seed}: {there} bytes, fetched {counts:?}");
    assert_eq!(fetcher.ready.len() + fetcher.failed.len(), 0, "seed {seed}: queues nobody reads");
}

#[test]
fn partitions_are_read_apart_in_any_order_of_events() {
    for seed in 0..300 {
        run_seed_apart(seed);
    }
}

#[test]
fn a_failure_is_told_once_to_whoever_reads_the_partition() {
    for reading in [Reading::Partitions, Reading::Stream] {
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
            if reading == Reading::Stream {
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
            Reading::Stream => take(&mut fetcher, 10).len(),
            _ => fetcher.take_from(&tp(0), 10, waker).unwrap().map_or(0, |chunk| chunk.count),
        };
        assert_eq!(count, 1, "{reading:?}");
    }
}
