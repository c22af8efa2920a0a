//! Build, validate, read: what goes in comes out, for every codec; and no bytes make it panic.

use proptest::prelude::*;
use thalweg_records::batch::{self, BatchView};
use thalweg_records::builder::{BatchBuilder, BatchOptions};
use thalweg_records::codec::{CompressionSpec, Compressor, Decompressor};
use thalweg_records::record::{self, RecordContext, RecordReader};
use thalweg_records::validate::{
    AssignedOrigin, BrokerCompression, Change, Origin, Progress, Scratch, Validation,
    ValidationConfig, analyze, validate,
};
use thalweg_records::{Compression, TimestampType};
use thalweg_wire::ErrorCode;

const CODECS: [Compression; 5] = [
    Compression::None,
    Compression::Gzip,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd,
];
const CLIENT: Origin = Origin::Client { produce_version: 13 };
const NOW: i64 = 1_700_000_000_000;

#[derive(Clone, Debug, PartialEq)]
struct Plain {
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop_oneof![
        1 => Just(None),
        4 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(Some),
        1 => (any::<u8>(), 0usize..100_000).prop_map(|(b, n)| Some(vec![b; n])),
    ]
}

fn plain() -> impl Strategy<Value = Plain> {
    let headers = proptest::collection::vec(("[a-zé]{0,12}", bytes()), 0..4);
    (-1000i64..1000, bytes(), bytes(), headers).prop_map(|(delta, key, value, headers)| Plain {
        timestamp: NOW + delta,
        key,
        value,
        headers,
    })
}

fn build(records: &[Plain], compression: CompressionSpec) -> Vec<u8> {
    let mut builder = BatchBuilder::new(BatchOptions { compression, ..BatchOptions::default() });
    for r in records {
        let headers: Vec<_> = r.headers.iter().map(|(k, v)| (k.as_bytes(), v.as_deref())).collect();
        builder.append(r.timestamp, r.key.as_deref(), r.value.as_deref(), &headers);
    }
    builder.finish(&mut Compressor::new()).expect("builds")
}

fn owned(record: record::Record<'_>) -> Plain {
    Plain {
        timestamp: record.timestamp,
        key: record.key.map(<[u8]>::to_vec),
        value: record.value.map(<[u8]>::to_vec),
        headers: record
            .headers
            .map(|h| {
                (String::from_utf8(h.key.to_vec()).expect("UTF-8"), h.value.map(<[u8]>::to_vec))
            })
            .collect(),
    }
}

fn read_whole(batch: &[u8]) -> Vec<Plain> {
    let view = BatchView::parse(batch).expect("a batch");
    let mut bytes = Vec::new();
    record::decompress(&view, &mut Decompressor::new(), u64::MAX, &mut bytes).expect("payload");
    RecordContext::of(&view)
        .iter(&bytes)
        .enumerate()
        .map(|(i, r)| {
            let r = r.expect("a record");
            assert_eq!(r.offset, view.base_offset() + i as i64);
            owned(r)
        })
        .collect()
}

fn read_streaming(batch: &[u8]) -> Vec<Plain> {
    let view = BatchView::parse(batch).expect("a batch");
    let mut decompressor = Decompressor::new();
    let mut reader = RecordReader::new(&view, &mut decompressor, u64::MAX).expect("opens");
    let mut all = Vec::new();
    while let Some(record) = reader.next(&view, &mut decompressor).expect("a record") {
        all.push(owned(record));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_in_comes_out(
        records in proptest::collection::vec(plain(), 1..30),
        source in 0usize..5,
        target in 0usize..6,
        log_append_time in any::<bool>(),
    ) {
        let source = CODECS[source];
        let mut bytes = build(&records, CompressionSpec::new(source));
        let sent = bytes.clone();
        let config = ValidationConfig {
            compression: CODECS.get(target).map_or(BrokerCompression::Producer, |&codec| {
                BrokerCompression::Fixed(CompressionSpec::new(codec))
            }),
            timestamp_type: if log_append_time {
                TimestampType::LogAppendTime
            } else {
                TimestampType::CreateTime
            },
            max_message_bytes: i32::MAX,
            ..ValidationConfig::default()
        };
        let mut scratch = Scratch::new();
        let mut validated =
            validate(&mut bytes, &mut scratch, &config, CLIENT, NOW).expect("accepted");
        let stored_codec = CODECS.get(target).copied().unwrap_or(source);
        prop_assert_eq!(validated.compression, stored_codec);
        prop_assert_eq!(validated.record_count as usize, records.len());
        if source == stored_codec {
            prop_assert_eq!(validated.len, sent.len());
            if log_append_time {
                prop_assert_eq!(&validated.change, &Change::Timestamps);
                prop_assert_eq!(&bytes[batch::HEADER_LEN..], &sent[batch::HEADER_LEN..]);
            } else {
                prop_assert_eq!(&validated.change, &Change::None);
                prop_assert_eq!(&bytes, &sent);
            }
        } else {
            prop_assert!(matches!(validated.change, Change::Rewritten(_)));
        }
        let base = validated.base_offset(77);
        prop_assert_eq!(base, 77);
        let stored = validated.batch_mut(&mut bytes);
        batch::set_base_offset(stored, base);
        batch::set_partition_leader_epoch(stored, 3);
        let view = BatchView::parse(stored).expect("a batch");
        prop_assert!(view.crc_is_valid());
        let mut expected = records.clone();
        let max = expected.iter().map(|r| r.timestamp).max().expect("some");
        if log_append_time {
            expected.iter_mut().for_each(|r| r.timestamp = NOW);
            prop_assert_eq!(view.max_timestamp(), NOW);
        } else {
            prop_assert_eq!(view.max_timestamp(), max);
        }
        prop_assert_eq!(read_whole(stored), expected.clone());
        prop_assert_eq!(read_streaming(stored), expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        try_everything(&mut bytes);
    }

    #[test]
    fn damaged_batches_never_panic(
        records in proptest::collection::vec(plain(), 1..8),
        codec in 0usize..5,
        target in 0usize..6,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = build(&records, CompressionSpec::new(CODECS[codec]));
        let body = batch::ATTRIBUTES_AT..bytes.len();
        for (index, value) in damage {
            let at = body.start + index.index(body.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            let len = batch::HEADER_LEN + cut.index(bytes.len() - batch::HEADER_LEN + 1);
            bytes.truncate(len);
            bytes[8..12].copy_from_slice(&((len - 12) as i32).to_be_bytes());
        }
        batch::seal(&mut bytes);
        let config = ValidationConfig {
            compression: CODECS.get(target).map_or(BrokerCompression::Producer, |&codec| {
                BrokerCompression::Fixed(CompressionSpec::new(codec))
            }),
            max_message_bytes: i32::MAX,
            max_decompressed_bytes: 4 << 20,
            ..ValidationConfig::default()
        };
        for origin in [CLIENT, Origin::Coordinator] {
            let mut copy = bytes.clone();
            let _ = validate(&mut copy, &mut Scratch::new(), &config, origin, NOW);
        }
        try_everything(&mut bytes);
    }

    #[test]
    fn codecs_read_arbitrary_bytes(
        codec in 0usize..5,
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        valid_start in any::<bool>(),
    ) {
        let mut input = Vec::new();
        if valid_start {
            let mut compressor = Compressor::new();
            let spec = CompressionSpec::new(CODECS[codec]);
            compressor.compress(spec, b"some start", &mut input).expect("compresses");
            input.truncate(input.len() - 4);
        }
        input.extend_from_slice(&bytes);
        let mut out = Vec::new();
        let _ = Decompressor::new().decompress_into(CODECS[codec], &input, 1 << 20, &mut out);
    }
}

fn try_everything(bytes: &mut [u8]) {
    let config =
        ValidationConfig { max_decompressed_bytes: 1 << 20, ..ValidationConfig::default() };
    let _ = analyze(bytes, AssignedOrigin::Replication { leader_epoch: 5 }, None);
    let _ = analyze(bytes, AssignedOrigin::RaftLeader { leader_epoch: -1 }, Some(100));
    if let Ok(view) = BatchView::parse(bytes) {
        let mut out = Vec::new();
        let _ = record::decompress(&view, &mut Decompressor::new(), 1 << 20, &mut out);
        for record in RecordContext::of(&view).iter(&out).flatten() {
            let _ = record.headers.count();
        }
    }
    for origin in [CLIENT, Origin::Coordinator] {
        let _ = validate(bytes, &mut Scratch::new(), &config, origin, NOW);
    }
}

#[test]
fn long_walks_come_in_steps() {
    let records: Vec<Plain> = (0..2000)
        .map(|i| Plain {
            timestamp: NOW,
            key: None,
            value: Some(vec![i as u8; 1024]),
            headers: Vec::new(),
        })
        .collect();
    for source in CODECS {
        for target in [BrokerCompression::Producer, BrokerCompression::Fixed(CompressionSpec::NONE)]
        {
            let mut bytes = build(&records, CompressionSpec::new(source));
            let config = ValidationConfig {
                compression: target,
                max_message_bytes: i32::MAX,
                ..ValidationConfig::default()
            };
            let mut scratch = Scratch::new();
            let mut validation = Validation::new(&mut bytes, &mut scratch, &config, CLIENT, NOW);
            let mut steps = 1;
            while let Progress::More = validation.step().expect("accepted") {
                steps += 1;
            }
            assert!((3..=12).contains(&steps), "{source:?} to {target:?}: {steps} steps");
        }
    }
}

#[test]
fn decompressed_size_is_limited() {
    let records =
        [Plain { timestamp: NOW, key: None, value: Some(vec![0; 1 << 20]), headers: Vec::new() }];
    let config =
        ValidationConfig { max_decompressed_bytes: 1 << 20, ..ValidationConfig::default() };
    for source in &CODECS[1..] {
        for target in [BrokerCompression::Producer, BrokerCompression::Fixed(CompressionSpec::NONE)]
        {
            let mut bytes = build(&records, CompressionSpec::new(*source));
            let config = ValidationConfig { compression: target, ..config.clone() };
            let failure = validate(&mut bytes, &mut Scratch::new(), &config, CLIENT, NOW)
                .expect_err("too large");
            assert_eq!(failure.error_code().name(), Some("MESSAGE_TOO_LARGE"), "{failure}");
        }
    }
}

#[test]
fn every_level_reads_back() {
    let records: Vec<Plain> = (0..300)
        .map(|i| Plain {
            timestamp: NOW,
            key: Some(format!("user-{}", i * 7919 % 97).into_bytes()),
            value: Some(format!("clicked {i} times on item {}", i * 31 % 17).into_bytes()),
            headers: Vec::new(),
        })
        .collect();
    let levels = (1..=9).chain([-1]).map(|level| (Compression::Gzip, level));
    let levels = levels.chain((1..=17).map(|level| (Compression::Lz4, level)));
    let levels = levels.chain((-7..=19).map(|level| (Compression::Zstd, level)));
    for (codec, level) in levels {
        let spec = CompressionSpec::with_level(codec, level).expect("a level of Kafka's");
        assert_eq!(read_whole(&build(&records, spec)), records, "{codec:?} {level}");
    }
    for (codec, level) in [
        (Compression::Gzip, 0),
        (Compression::Gzip, 10),
        (Compression::Lz4, 0),
        (Compression::Lz4, 18),
        (Compression::Zstd, 23),
        (Compression::Zstd, -131_073),
    ] {
        assert!(CompressionSpec::with_level(codec, level).is_err(), "{codec:?} {level}");
    }
}

/// `max.decompressed.message.bytes` bounds the records of compressed batches, whether they are stored as they came or
/// recompressed, and no others.
#[test]
fn compressed_record_above_the_bound_is_refused() {
    let of_size = |value: usize| Plain {
        timestamp: NOW,
        key: None,
        value: Some(vec![7; value]),
        headers: Vec::new(),
    };
    // 7 bytes of the larger record are not its value; its length field does not count.
    let (records, size) = ([of_size(10), of_size(5_000)], 5_007);
    let targets = [BrokerCompression::Producer, BrokerCompression::Fixed(CompressionSpec::NONE)];
    for codec in CODECS {
        for compression in targets {
            let judge = |max_decompressed_message_bytes: i32| {
                let config = ValidationConfig {
                    compression,
                    max_decompressed_message_bytes,
                    ..ValidationConfig::default()
                };
                let mut bytes = build(&records, CompressionSpec::new(codec));
                validate(&mut bytes, &mut Scratch::new(), &config, CLIENT, NOW)
                    .map(drop)
                    .map_err(|failure| (failure.error_code(), failure.record_errors.len()))
            };
            assert_eq!(judge(size), Ok(()), "{codec:?}");
            let above = judge(size - 1);
            match codec {
                Compression::None => assert_eq!(above, Ok(())),
                _ => assert_eq!(above, Err((ErrorCode::INVALID_RECORD, 0)), "{codec:?}"),
            }
        }
    }
}
