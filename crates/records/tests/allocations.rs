//! Validation allocates nothing once it is warm, neither in Rust nor in C: every `malloc` of the
//! process, and what else takes memory, is counted at its source.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod counted;

use thalweg_random::Random;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::{CompressionSpec, Compressor};
use thalweg_records::validate::{BrokerCompression, Origin, Scratch, ValidationConfig, validate};
use thalweg_records::{Compression, TimestampType};

/// Allocations of this thread while `f` runs.
fn allocations(f: impl FnOnce()) -> u64 {
    let before = counted::here();
    f();
    counted::here() - before
}

#[test]
fn the_counter_counts() {
    assert_ne!(allocations(|| drop(std::hint::black_box(Box::new(5)))), 0, "in Rust");
    assert_ne!(allocations(|| drop(zstd_safe::DCtx::create())), 0, "in C");
    assert_eq!(allocations(|| ()), 0);
}

const NOW: i64 = 1_700_000_000_000;

fn batch(compression: CompressionSpec, records: usize, size: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
    let mut random = Random::new(1);
    for i in 0..records {
        let value: Vec<u8> = (0..size).map(|_| *random.pick(b"abcdefgh")).collect();
        let key = format!("key {i}");
        let headers = [(&b"name"[..], Some(&b"value"[..]))];
        builder.append(NOW + i as i64, Some(key.as_bytes()), Some(&value), &headers);
    }
    builder.finish(&mut Compressor::new()).expect("builds")
}

#[test]
fn none_per_batch() {
    let codecs = [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ];
    let sizes = [(1, 10), (16, 1024), (1000, 100), (3, 200_000), (2500, 1024)];
    let batches: Vec<(String, Vec<u8>)> = codecs
        .iter()
        .flat_map(|&codec| {
            sizes.map(|(records, size)| {
                let name = format!("{}, {records} records of {size} bytes", codec.name());
                (name, batch(CompressionSpec::new(codec), records, size))
            })
        })
        .collect();
    let mut scratch = Scratch::new();
    for kind in [TimestampType::CreateTime, TimestampType::LogAppendTime] {
        let config = ValidationConfig {
            timestamp_type: kind,
            max_message_bytes: i32::MAX,
            ..ValidationConfig::default()
        };
        for round in 0..160 {
            for (name, bytes) in &batches {
                if bytes.len() > 1 << 20 && round % 10 != 0 {
                    continue;
                }
                let mut copy = bytes.clone();
                let n = allocations(|| {
                    let origin = Origin::Client { produce_version: 13 };
                    let validated = validate(&mut copy, &mut scratch, &config, origin, NOW);
                    assert!(validated.is_ok(), "{name}");
                });
                assert!(n == 0 || round == 0, "{name}: {n} allocations in round {round}");
            }
        }
    }
}

#[test]
fn few_when_compressed_anew() {
    let source = batch(CompressionSpec::NONE, 500, 200);
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let config = ValidationConfig {
            compression: BrokerCompression::Fixed(CompressionSpec::new(codec)),
            ..ValidationConfig::default()
        };
        let mut scratch = Scratch::new();
        for round in 0..20 {
            let mut copy = source.clone();
            let n = allocations(|| {
                let origin = Origin::Client { produce_version: 13 };
                let validated = validate(&mut copy, &mut scratch, &config, origin, NOW);
                assert!(validated.is_ok(), "{codec:?}");
            });
            // The new batch, as it grows, and the state of its writer.
            assert!(n <= 16 || round == 0, "{codec:?}: {n} allocations");
        }
    }
}
