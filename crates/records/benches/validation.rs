//! What it costs to walk and to validate batches: per record uncompressed, and per GB of records
//! before compression for each codec at two ratios.
//!
//! `cargo bench -p thalweg-records`. Batches are 16 KiB as sent, as the experiments of the broker
//! have them; the counters show bytes before compression per second.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use thalweg_random::Random;
use thalweg_records::batch::BatchView;
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::{CompressionSpec, Compressor, Decompressor};
use thalweg_records::record::RecordContext;
use thalweg_records::validate::{Origin, Scratch, ValidationConfig, validate};
use thalweg_records::{Compression, checksum};

fn main() {
    divan::main();
}

const NOW: i64 = 1_700_000_000_000;
const CODECS: [Compression; 5] = [
    Compression::None,
    Compression::Gzip,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd,
];
const ORIGIN: Origin = Origin::Client { produce_version: 13 };

/// How well the values compress.
#[derive(Clone, Copy, Debug)]
enum Data {
    /// Like log lines: 3 to 5 times.
    Lines,
    /// 40 times and more.
    Repetitive,
}

fn value(data: Data, len: usize, random: &mut Random) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 100);
    while out.len() < len {
        let (a, b, c) = (random.below(1_000_000), random.below(5000), random.below(256));
        match data {
            Data::Lines => out.extend_from_slice(
                format!(
                    "2026-11-20T11:{:02}:{:02} INFO request id={a:06x}{b:04x} user={b} path=/api/v1/items/{c} status=200 took={}us\n",
                    a % 60, b % 60, a % 9999
                )
                .as_bytes(),
            ),
            Data::Repetitive => out.extend_from_slice(&[b'x'; 256]),
        }
    }
    out.truncate(len);
    out
}

/// A batch of about 16 KiB as sent; records and bytes before compression with it.
fn batch(codec: Compression, data: Data, record: usize, ratio: usize) -> (Vec<u8>, usize, usize) {
    let options = BatchOptions { compression: CompressionSpec::new(codec), ..Default::default() };
    let mut builder = BatchBuilder::new(options);
    let mut random = Random::new(1);
    let whole = if codec == Compression::None { 16 * 1024 } else { 16 * 1024 * ratio };
    while builder.records_len() < whole {
        let value = value(data, record, &mut random);
        builder.append(NOW, None, Some(&value), &[]);
    }
    let bytes = builder.finish(&mut Compressor::new()).expect("builds");
    (bytes, builder.record_count() as usize, builder.records_len())
}

fn run(bencher: Bencher<'_, '_>, codec: Compression, data: Data, record: usize, ratio: usize) {
    let (bytes, records, plain) = batch(codec, data, record, ratio);
    let mut scratch = Scratch::new();
    let config = ValidationConfig { max_message_bytes: i32::MAX, ..ValidationConfig::default() };
    let mut work = bytes.clone();
    bencher.counter(BytesCount::new(plain)).counter(ItemsCount::new(records)).bench_local(|| {
        let validated = validate(&mut work, &mut scratch, &config, ORIGIN, NOW);
        assert!(validated.is_ok());
    });
    assert!(work == bytes, "validated as it is");
}

/// 1 KiB records like log lines, 3 to 5 times smaller when compressed.
#[divan::bench(args = CODECS)]
fn lines_1k(bencher: Bencher<'_, '_>, codec: Compression) {
    run(bencher, codec, Data::Lines, 1024, 4);
}

/// 1 KiB records of one letter, as a well-known measurement has them.
#[divan::bench(args = CODECS)]
fn repetitive_1k(bencher: Bencher<'_, '_>, codec: Compression) {
    run(bencher, codec, Data::Repetitive, 1024, 40);
}

/// 100 B records, where the walk counts.
#[divan::bench(args = CODECS)]
fn lines_100(bencher: Bencher<'_, '_>, codec: Compression) {
    run(bencher, codec, Data::Lines, 100, 4);
}

/// 10 B records: all walk.
#[divan::bench(args = CODECS)]
fn lines_10(bencher: Bencher<'_, '_>, codec: Compression) {
    run(bencher, codec, Data::Lines, 10, 4);
}

/// The CRC alone, to be subtracted.
#[divan::bench]
fn crc_16k(bencher: Bencher<'_, '_>) {
    let bytes = vec![7u8; 16 * 1024];
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| checksum::crc32c(divan::black_box(&bytes)));
}

/// Views of all records of an uncompressed batch, keys and values as slices.
#[divan::bench(args = [10, 100, 1024])]
fn views(bencher: Bencher<'_, '_>, record: usize) {
    let (bytes, records, _) = batch(Compression::None, Data::Lines, record, 1);
    let view = BatchView::parse(&bytes).expect("a batch");
    bencher.counter(ItemsCount::new(records)).bench_local(|| {
        RecordContext::of(&view)
            .iter(divan::black_box(view.payload()))
            .map(|r| r.expect("a record").value.map_or(0, <[u8]>::len))
            .sum::<usize>()
    });
}

/// Decompression alone, what the walk comes on top of.
#[divan::bench(args = &CODECS[1..])]
fn decompress_lines(bencher: Bencher<'_, '_>, codec: &Compression) {
    let (bytes, _, plain) = batch(*codec, Data::Lines, 1024, 4);
    let view = BatchView::parse(&bytes).expect("a batch");
    let mut decompressor = Decompressor::new();
    bencher.counter(BytesCount::new(plain)).bench_local(|| {
        let mut stream = decompressor.stream(*codec, view.payload(), u64::MAX).expect("a stream");
        while stream.fill().expect("valid") != 0 {
            let n = stream.available().len();
            stream.consume(n);
        }
    });
}

/// Compression at the default level.
#[divan::bench(args = &CODECS[1..])]
fn compress_lines(bencher: Bencher<'_, '_>, codec: &Compression) {
    let (bytes, _, plain) = batch(Compression::None, Data::Lines, 1024, 4);
    let view = BatchView::parse(&bytes).expect("a batch");
    let (mut compressor, mut out) = (Compressor::new(), Vec::new());
    bencher.counter(BytesCount::new(plain)).bench_local(|| {
        out.clear();
        compressor
            .compress(CompressionSpec::new(*codec), view.payload(), &mut out)
            .expect("compresses");
        out.len()
    });
}
