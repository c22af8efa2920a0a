//! What a connection costs that does nothing: bytes on the heap, counted by the allocator.

#![allow(clippy::print_stdout)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicIsize, Ordering};

use bytes::Bytes;
use thalweg::raw::begin_request;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::Compressor;
use thalweg_testkit::TestBroker;
use thalweg_wire::messages::create_topics_request::CreatableTopic;
use thalweg_wire::messages::produce_request::{PartitionProduceData, TopicProduceData};
use thalweg_wire::messages::{ApiVersionsRequest, CreateTopicsRequest, ProduceRequest};
use thalweg_wire::{ApiKey, Message, Uuid, Writer};

struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call goes to the system's allocator as it came; only sizes are added up.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size as isize - layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A connection may cost this much while nothing happens on it.
const BYTES_MAX: isize = 16 << 10;
const CONNECTIONS: usize = 500;

fn frame<M: Message>(key: ApiKey, version: i16, request: &M) -> Vec<u8> {
    let mut frame = Writer::new();
    begin_request(&mut frame, key, version, "idle").unwrap();
    request.encode(&mut frame, version).unwrap();
    frame.end_frame().unwrap();
    frame.to_vec()
}

/// Sends a request and reads its answer; the client's side of it leaves nothing on the heap.
fn call(stream: &mut TcpStream, frame: &[u8]) {
    stream.write_all(frame).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut left = usize::try_from(i32::from_be_bytes(length)).unwrap();
    let mut piece = [0; 1024];
    while left > 0 {
        let part = left.min(piece.len());
        stream.read_exact(&mut piece[..part]).unwrap();
        left -= part;
    }
}

fn produce(topic: Uuid) -> ProduceRequest {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    builder.append(1_000, None, Some(&[7; 1_000]), &[]);
    let records: Bytes = builder.finish(&mut Compressor::new()).unwrap().into();
    ProduceRequest {
        acks: -1,
        timeout_ms: 10_000,
        topic_data: vec![TopicProduceData {
            topic_id: topic,
            partition_data: vec![PartitionProduceData {
                records: Some(records),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_costs_little() {
    let broker = TestBroker::start().await;
    let address = broker.bootstrap();
    let topic = {
        let admin =
            thalweg::Connection::open(&address, &thalweg::Options::default()).await.unwrap();
        let request = CreateTopicsRequest {
            topics: vec![CreatableTopic {
                name: "t".into(),
                num_partitions: 1,
                replication_factor: 1,
                ..Default::default()
            }],
            timeout_ms: 10_000,
            ..Default::default()
        };
        admin.send(&request).await.unwrap().topics[0].topic_id
    };
    let versions = frame(
        ApiKey::API_VERSIONS,
        3,
        &ApiVersionsRequest {
            client_software_name: "idle".into(),
            client_software_version: "1".into(),
            ..Default::default()
        },
    );
    let produce = frame(ApiKey::PRODUCE, 13, &produce(topic));
    let each = tokio::task::spawn_blocking(move || {
        let open = |count: usize| -> Vec<TcpStream> {
            let mut streams = Vec::with_capacity(count);
            for _ in 0..count {
                let mut stream = TcpStream::connect(&address).unwrap();
                call(&mut stream, &versions);
                call(&mut stream, &produce);
                streams.push(stream);
            }
            streams
        };
        // What is made once: threads, their pools, tables that grow.
        let _kept = open(50);
        let before = LIVE.load(Ordering::Relaxed);
        let streams = open(CONNECTIONS);
        let after = LIVE.load(Ordering::Relaxed);
        drop(streams);
        (after - before) / CONNECTIONS as isize
    })
    .await
    .unwrap();
    assert!(each <= BYTES_MAX, "an idle connection holds {each} bytes on the heap");
    println!("an idle connection holds {each} bytes");
    broker.shut_down().await;
}
