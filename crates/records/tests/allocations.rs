//! Validation allocates nothing once it is warm, neither in Rust nor in C: every `malloc` of the
//! process, and what else takes memory, is counted at its source.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::{CompressionSpec, Compressor};
use thalweg_records::validate::{BrokerCompression, Origin, Scratch, ValidationConfig, validate};
use thalweg_records::{Compression, TimestampType};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    COUNT.with(|count| count.set(count.get() + 1));
}

/// Allocations of this thread while `f` runs.
fn allocations(f: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    f();
    COUNT.get() - before
}

/// The C library's entry points, counted. An executable's own definitions take the place of the
/// library's for everything linked into it.
mod counted {
    use super::*;

    unsafe extern "C" {
        fn __libc_malloc(size: usize) -> *mut c_void;
        fn __libc_calloc(n: usize, size: usize) -> *mut c_void;
        fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
        fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    }

    // SAFETY: the signatures are those of the C library, and each definition only counts and hands
    // on to the library's own.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
        count();
        // SAFETY: as the caller promised to malloc.
        unsafe { __libc_malloc(size) }
    }

    // SAFETY: see malloc.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn calloc(n: usize, size: usize) -> *mut c_void {
        count();
        // SAFETY: as the caller promised to calloc.
        unsafe { __libc_calloc(n, size) }
    }

    // SAFETY: see malloc.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
        count();
        // SAFETY: as the caller promised to realloc.
        unsafe { __libc_realloc(old, size) }
    }

    // SAFETY: see malloc.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
        count();
        // SAFETY: as the caller promised to aligned_alloc.
        unsafe { __libc_memalign(align, size) }
    }

    // SAFETY: see malloc.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
        count();
        // SAFETY: as the caller promised to memalign.
        unsafe { __libc_memalign(align, size) }
    }

    // SAFETY: see malloc; `out` is written as the function promises.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
        count();
        // SAFETY: `out` is the caller's to be written to, the rest goes on as it came.
        unsafe {
            let memory = __libc_memalign(align, size);
            if memory.is_null() {
                return 12;
            }
            *out = memory;
        }
        0
    }
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
    let mut state = 1u32;
    for i in 0..records {
        let value: Vec<u8> = (0..size)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b'a' + (state >> 29) as u8
            })
            .collect();
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
