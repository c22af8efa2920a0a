//! What a produce request allocates in the whole broker, once it is warm: frame, decoding,
//! validation, append and answer, counted at `malloc`.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[path = "../../records/tests/counted/mod.rs"]
mod counted;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use thalweg::raw::begin_request;
use thalweg_records::Compression;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::{CompressionSpec, Compressor};
use thalweg_testkit::{TestBroker, requests};
use thalweg_wire::messages::ProduceRequest;
use thalweg_wire::{Request, Writer};

/// What the issue allows per request.
const ALLOWED: f64 = 8.0;
const PARTITIONS: i32 = 200;
/// For how long counts that are too high are taken again, in the whole test.
const STALLED_AT_MOST: Duration = Duration::from_secs(60);

/// A client without a runtime, which allocates nothing of its own between two requests.
struct Client {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Client {
    fn ask(&mut self, frame: &[u8]) -> &[u8] {
        self.stream.write_all(frame).unwrap();
        let mut len = [0; 4];
        self.stream.read_exact(&mut len).unwrap();
        let len = u32::from_be_bytes(len) as usize;
        if self.answer.len() < len {
            self.answer.resize(len, 0);
        }
        self.stream.read_exact(&mut self.answer[..len]).unwrap();
        &self.answer[..len]
    }
}

fn frame<R: Request>(request: &R, version: i16) -> Vec<u8> {
    let mut frame = Writer::new();
    begin_request(&mut frame, R::API_KEY, version, "test").unwrap();
    request.encode(&mut frame, version).unwrap();
    frame.end_frame().unwrap();
    frame.to_vec()
}

fn batch(compression: Compression) -> bytes::Bytes {
    let compression = CompressionSpec::new(compression);
    let mut builder = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
    for i in 0..16u8 {
        builder.append(1_000, Some(&[i]), Some(&[b'a' + i; 1000]), &[(b"h", Some(b"v"))]);
    }
    builder.finish(&mut Compressor::new()).unwrap().into()
}

fn produce(partitions: i32, compression: Compression, acks: i16) -> Vec<u8> {
    let records = batch(compression);
    let batches = (0..partitions).map(|index| (index, records.clone()));
    let request = ProduceRequest { acks, ..requests::produce_by_name("t", batches) };
    frame(&request, 12)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_produce_request_allocates_next_to_nothing() {
    // Rolls, retention and the like allocate; they are not what is counted here.
    let broker =
        TestBroker::builder().config("log.flush.scheduler.interval.ms", 600_000).start().await;
    let bootstrap = broker.bootstrap();
    let counted = tokio::task::spawn_blocking(move || {
        let stream = TcpStream::connect(bootstrap).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut client = Client { stream, answer: vec![0; 64 << 10] };
        let create = requests::create(requests::topic("t", PARTITIONS, &[]));
        client.ask(&frame(&create, 5));
        let deadline = Instant::now() + STALLED_AT_MOST;
        let mut counted = Vec::new();
        for compression in [
            Compression::None,
            Compression::Gzip,
            Compression::Snappy,
            Compression::Lz4,
            Compression::Zstd,
        ] {
            for partitions in [1, PARTITIONS] {
                for acks in [1, -1] {
                    let request = produce(partitions, compression, acks);
                    let rounds = if partitions == 1 { 200 } else { 20 };
                    for _ in 0..rounds {
                        client.ask(&request);
                    }
                    // The smallest count: now and then a partition's index grows, and while the disk
                    // stalls every partition's append is queued, which allocates. A stall lasts for
                    // seconds, what a request really allocates for ever.
                    let mut per_request = f64::MAX;
                    let mut windows = 0;
                    while windows < 3 || per_request > ALLOWED && Instant::now() < deadline {
                        let before = counted::everywhere();
                        for _ in 0..rounds {
                            client.ask(&request);
                        }
                        let counted = (counted::everywhere() - before) as f64;
                        per_request = per_request.min(counted / f64::from(rounds));
                        windows += 1;
                        if per_request > ALLOWED {
                            std::thread::sleep(Duration::from_millis(100));
                        }
                    }
                    counted.push((compression, partitions, acks, per_request));
                }
            }
        }
        counted
    })
    .await
    .unwrap();
    broker.shut_down().await;
    for (compression, partitions, acks, per_request) in counted {
        assert!(
            per_request <= ALLOWED,
            "{per_request} allocations per request of {partitions} {compression:?} batches, acks {acks}"
        );
    }
    assert_ne!(counted::here(), 0, "the counter counts");
}
