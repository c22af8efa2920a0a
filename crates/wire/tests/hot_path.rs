//! What the data path may take: reading a Produce request and writing a Fetch response into a
//! frame that was used before allocate nothing.

mod common;

use bytes::Bytes;
use common::alloc::{Counting, count};
use thalweg_wire::messages::fetch_response::{
    FetchResponseRef, FetchableTopicResponseRef, PartitionDataRef,
};
use thalweg_wire::messages::produce_request::{
    PartitionProduceData, ProduceRequestView, TopicProduceData,
};
use thalweg_wire::messages::{FetchResponse, ProduceRequest};
use thalweg_wire::{Message, Reader, RecordsRef, Segment, Uuid, Writer};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn produce_request(version: i16) -> ProduceRequest {
    let named = |t: usize| if version < 13 { format!("topic-{t}") } else { String::new() };
    ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: (0..20)
            .map(|t| TopicProduceData {
                name: named(t),
                topic_id: if version < 13 { Uuid::ZERO } else { Uuid::from_u128(500 + t as u128) },
                partition_data: (0..10)
                    .map(|p| PartitionProduceData {
                        index: p,
                        records: Some(vec![t as u8; 100 * p as usize].into()),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

#[test]
fn a_produce_request_is_read_without_allocation() {
    for version in ProduceRequest::MIN_VERSION..=ProduceRequest::MAX_VERSION {
        let request = produce_request(version);
        let mut w = Writer::new();
        request.encode(&mut w, version).expect("a valid request");
        let frame = w.to_vec();

        let walk = || -> (usize, usize) {
            let mut r = Reader::new(&frame);
            let view = ProduceRequestView::parse(&mut r, version).expect("a valid request");
            let partitions = view.topic_data.iter().flat_map(|t| t.partition_data);
            partitions.fold((0, 0), |(n, len), p| (n + 1, len + p.records.map_or(0, <[u8]>::len)))
        };
        let (seen, taken) = count(walk);
        assert_eq!(seen, (200, 20 * 4500), "v{version}");
        assert_eq!(taken.calls, 0, "v{version}");

        let mut sum = (0, 0);
        let (view, taken) = count(|| {
            ProduceRequestView::parse_each(&mut Reader::new(&frame), version, |_, p| {
                sum = (sum.0 + 1, sum.1 + p.records.map_or(0, <[u8]>::len));
            })
        });
        assert_eq!(sum, seen, "v{version}");
        assert_eq!(taken.calls, 0, "v{version}");
        assert_eq!(view.expect("a valid request").owned(), request, "v{version}");
    }
}

#[test]
fn each_partition_comes_with_its_topic() {
    for version in [3, 9, 12, 13] {
        let request = produce_request(version);
        let mut w = Writer::new();
        request.encode(&mut w, version).expect("a valid request");
        let frame = w.to_vec();
        let mut found = Vec::new();
        ProduceRequestView::parse_each(&mut Reader::new(&frame), version, |topic, p| {
            found.push((topic.name.to_owned(), topic.topic_id, p.index, p.records));
        })
        .expect("a valid request");
        let expected: Vec<_> = request
            .topic_data
            .iter()
            .flat_map(|t| {
                let partitions = t.partition_data.iter();
                partitions.map(|p| (t.name.clone(), t.topic_id, p.index, p.records.as_deref()))
            })
            .collect();
        assert_eq!(found, expected, "v{version}");
    }
}

#[test]
fn a_fetch_response_is_written_without_allocation_or_copies() {
    let records = Bytes::from(vec![9; 16384]);
    for (shared, version) in [(true, 4), (false, 4), (true, 12), (false, 18), (true, 18)] {
        let partitions: Vec<_> = (0..1000)
            .map(|p| PartitionDataRef {
                partition_index: p,
                records: match shared {
                    true => RecordsRef::Shared(records.clone()),
                    false => RecordsRef::External { id: p as u32, len: 16384 },
                },
                ..Default::default()
            })
            .collect();
        let topics = [FetchableTopicResponseRef { partitions: &partitions, ..Default::default() }];
        let response = FetchResponseRef { responses: &topics, ..Default::default() };
        let mut w = Writer::new();
        let mut encode = || {
            w.begin_frame();
            response.encode(&mut w, version).expect("a valid response");
            w.end_frame().expect("a frame of fair size");
        };
        encode();
        let ((), taken) = count(&mut encode);
        assert_eq!(taken.calls, 0, "v{version}");

        // Records stand in the frame as they are, none of their bytes among the inline ones.
        assert!(w.inline().len() < 64 * 1000 + 100, "v{version}");
        assert_eq!(w.segments().len(), 1000);
        assert_eq!(w.len(), w.inline().len() + 1000 * 16384);
        for (_, segment) in w.segments() {
            match segment {
                Segment::Bytes(bytes) => assert_eq!(bytes.as_ptr(), records.as_ptr()),
                Segment::External { len, .. } => assert_eq!(*len, 16384),
            }
        }
        if shared {
            let frame = Bytes::from(w.to_vec());
            let back = FetchResponse::decode(&mut Reader::shared(&frame.slice(4..)), version)
                .expect("a valid response");
            let parts = &back.responses[0].partitions;
            assert_eq!(parts.len(), 1000);
            assert!(parts.iter().all(|p| p.records.as_ref() == Some(&records)));
        }
    }
}
