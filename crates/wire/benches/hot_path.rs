//! The two messages that carry the data: a Produce request read through its view, a Fetch response
//! written from borrowed parts. `cargo bench -p thalweg-wire`.

use divan::{Bencher, black_box};
use thalweg_wire::messages::fetch_response::{
    FetchResponseRef, FetchableTopicResponseRef, PartitionDataRef,
};
use thalweg_wire::messages::produce_request::{
    PartitionProduceData, ProduceRequestView, TopicProduceData,
};
use thalweg_wire::messages::{FetchResponse, ProduceRequest};
use thalweg_wire::{Message, Reader, RecordsRef, Uuid, Writer};

fn main() {
    divan::main();
}

/// Topics, partitions of each, bytes of records in each partition.
const SHAPES: &[(usize, usize, usize)] = &[
    (1, 200, 100),
    (1, 200, 1024),
    (20, 10, 1024),
    (200, 1, 1024),
    (1, 200, 16384),
    (20, 10, 16384),
];

fn produce_frame(topics: usize, partitions: usize, bytes: usize, version: i16) -> Vec<u8> {
    let request = ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: (0..topics)
            .map(|t| TopicProduceData {
                name: if version < 13 { format!("topic-{t}") } else { String::new() },
                topic_id: Uuid::from_u128(1000 + t as u128),
                partition_data: (0..partitions)
                    .map(|p| PartitionProduceData {
                        index: p as i32,
                        records: Some(vec![7; bytes].into()),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    let mut w = Writer::new();
    request.encode(&mut w, version).expect("a valid request");
    w.to_vec()
}

fn produce_view(bencher: Bencher, (topics, partitions, bytes): (usize, usize, usize), v: i16) {
    let frame = produce_frame(topics, partitions, bytes, v);
    bencher.bench_local(|| {
        let mut r = Reader::new(black_box(&frame));
        let view = ProduceRequestView::parse(&mut r, v).expect("a valid request");
        let mut sum = 0;
        for topic in view.topic_data {
            for partition in topic.partition_data {
                sum += partition.index as usize + partition.records.map_or(0, <[u8]>::len);
            }
        }
        sum
    });
}

/// A Produce request of 200 partitions, parsed and iterated, with topic ids (the latest version).
#[divan::bench(args = SHAPES)]
fn produce_view_v13(bencher: Bencher, shape: &(usize, usize, usize)) {
    produce_view(bencher, *shape, 13);
}

/// The same with topic names in the oldest form.
#[divan::bench(args = SHAPES)]
fn produce_view_v8(bencher: Bencher, shape: &(usize, usize, usize)) {
    produce_view(bencher, *shape, 8);
}

fn produce_each(bencher: Bencher, (topics, partitions, bytes): (usize, usize, usize), v: i16) {
    let frame = produce_frame(topics, partitions, bytes, v);
    let mut found: Vec<(Uuid, &str, i32, Option<&[u8]>)> = Vec::new();
    bencher.bench_local(|| {
        found.clear();
        let mut r = Reader::new(black_box(&frame));
        ProduceRequestView::parse_each(&mut r, v, |topic, partition| {
            found.push((topic.topic_id, topic.name, partition.index, partition.records));
        })
        .expect("a valid request");
        found.len()
    });
}

/// The same in one walk, into a list that is used again.
#[divan::bench(args = SHAPES)]
fn produce_each_v13(bencher: Bencher, shape: &(usize, usize, usize)) {
    produce_each(bencher, *shape, 13);
}

/// The same with topic names.
#[divan::bench(args = SHAPES)]
fn produce_each_v8(bencher: Bencher, shape: &(usize, usize, usize)) {
    produce_each(bencher, *shape, 8);
}

/// For comparison: the owned form.
#[divan::bench]
fn produce_owned_v13(bencher: Bencher) {
    let frame = bytes::Bytes::from(produce_frame(20, 10, 1024, 13));
    bencher.bench_local(|| {
        ProduceRequest::decode(&mut Reader::shared(black_box(&frame)), 13).expect("valid")
    });
}

fn fetch_ref(bencher: Bencher, (topics, partitions): (usize, usize), v: i16, shared: bool) {
    let records = bytes::Bytes::from(vec![9; 16384]);
    let partitions: Vec<_> = (0..partitions)
        .map(|p| PartitionDataRef {
            partition_index: p as i32,
            high_watermark: 1_000_000,
            last_stable_offset: 1_000_000,
            log_start_offset: 10,
            records: match shared {
                true => RecordsRef::Shared(records.clone()),
                false => RecordsRef::External { id: p as u32, len: 16384 },
            },
            ..Default::default()
        })
        .collect();
    let topics: Vec<_> = (0..topics)
        .map(|t| FetchableTopicResponseRef {
            topic: if v < 13 { "some-topic" } else { "" },
            topic_id: Uuid::from_u128(1000 + t as u128),
            partitions: &partitions,
        })
        .collect();
    let response = FetchResponseRef { responses: &topics, ..Default::default() };
    let mut w = Writer::new();
    bencher.bench_local(|| {
        w.begin_frame();
        black_box(&response).encode(&mut w, v).expect("a valid response");
        w.end_frame().expect("a frame of fair size");
        w.len()
    });
}

/// A Fetch response of 1 000 partitions whose records are ranges of files.
#[divan::bench(args = [(1, 1000), (50, 20), (1000, 1)])]
fn fetch_ref_external(bencher: Bencher, shape: (usize, usize)) {
    fetch_ref(bencher, shape, FetchResponse::MAX_VERSION, false);
}

/// The same with records in shared memory.
#[divan::bench(args = [(1, 1000), (50, 20), (1000, 1)])]
fn fetch_ref_shared(bencher: Bencher, shape: (usize, usize)) {
    fetch_ref(bencher, shape, FetchResponse::MAX_VERSION, true);
}

/// The oldest version.
#[divan::bench(args = [(50, 20)])]
fn fetch_ref_external_v4(bencher: Bencher, shape: (usize, usize)) {
    fetch_ref(bencher, shape, FetchResponse::MIN_VERSION, false);
}
