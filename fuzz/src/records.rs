//! Record batches from arbitrary bytes.
//!
//! What is checked beyond the absence of panics: an accepted batch that is stored as it came reads as
//! its header says, in one go and streaming; one that was compressed anew is accepted again; and a
//! codec never delivers more than it was allowed.

use thalweg_records::batch::{self, BatchView, Compression, TimestampType};
use thalweg_records::codec::{CompressionSpec, Compressor, Decompressor};
use thalweg_records::record::{self, RecordContext, RecordReader};
use thalweg_records::validate::{
    AssignedOrigin, BrokerCompression, Origin, Scratch, ValidationConfig, analyze, validate,
};

const NOW: i64 = 1_700_000_000_000;
const LIMIT: u64 = 4 << 20;
const CODECS: [Compression; 5] = [
    Compression::None,
    Compression::Gzip,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd,
];

fn codec(selector: u8) -> Compression {
    CODECS[usize::from(selector) % CODECS.len()]
}

/// The first two bytes choose config and codec, the rest are the bytes of a partition; with the
/// highest bit of the first set they get a valid header and CRC, so that the records are reached.
pub fn validation(data: &[u8]) {
    let Some((&[choice, target], rest)) = data.split_first_chunk::<2>() else { return };
    let mut bytes = rest.to_vec();
    if choice & 0x80 != 0 && bytes.len() >= batch::HEADER_LEN {
        let len = (bytes.len() - batch::LOG_OVERHEAD) as i32;
        bytes[..8].fill(0);
        bytes[8..12].copy_from_slice(&len.to_be_bytes());
        bytes[16] = 2;
        let last_offset_delta = i32::from(bytes[60]);
        bytes[23..27].copy_from_slice(&last_offset_delta.to_be_bytes());
        bytes[57..61].copy_from_slice(&(last_offset_delta + 1).to_be_bytes());
        batch::seal(&mut bytes);
    }
    let config = ValidationConfig {
        compression: match target & 7 {
            t @ 0..=4 => BrokerCompression::Fixed(CompressionSpec::new(codec(t))),
            _ => BrokerCompression::Producer,
        },
        compact: choice & 1 != 0,
        max_message_bytes: 1 << 20,
        max_decompressed_bytes: LIMIT,
        max_decompressed_message_bytes: match target >> 6 {
            0 => thalweg_records::record::MAX_DECOMPRESSED_RECORD_BYTES,
            bound => 8 << (2 * bound),
        },
        ..ValidationConfig::default()
    };
    let origin = match choice & 2 {
        0 => Origin::Client { produce_version: i16::from(choice >> 2 & 15) },
        _ => Origin::Coordinator,
    };
    let _ = analyze(&bytes, AssignedOrigin::Replication { leader_epoch: 3 }, None);
    // A producer that claims append time is taken at its word, and then its records' own timestamps
    // are what is stored (Kafka does the same): those may not be accepted a second time.
    let claims_append_time = BatchView::parse(&bytes)
        .is_ok_and(|view| view.timestamp_type() == TimestampType::LogAppendTime);
    let mut scratch = Scratch::new();
    let Ok(mut validated) = validate(&mut bytes, &mut scratch, &config, origin, NOW) else {
        return;
    };
    let stored = validated.batch_mut(&mut bytes).to_vec();
    let view = BatchView::parse(&stored).expect("what is stored is a batch");
    assert!(view.crc_is_valid());
    assert_eq!(view.record_count(), validated.record_count);
    if let (Origin::Client { .. }, false) = (origin, claims_append_time) {
        let origin = Origin::Client { produce_version: 13 };
        let again = validate(&mut stored.clone(), &mut scratch, &config, origin, NOW);
        let again = again.expect("what is stored is accepted");
        assert_eq!(again.max_timestamp, validated.max_timestamp);
        assert_eq!(again.uncompressed_bytes > 0, validated.record_count > 0);
    }
    read(&view);
}

/// Views of whatever a batch holds, whole and streaming: the same records, or an error in both.
fn read(view: &BatchView<'_>) {
    let mut bytes = Vec::new();
    let mut decompressor = Decompressor::new();
    let whole = record::decompress(view, &mut decompressor, LIMIT, &mut bytes);
    let whole: Option<Vec<_>> = whole.ok().and_then(|_| {
        RecordContext::of(view)
            .iter(&bytes)
            .map(|r| r.ok().map(|r| (r.offset, r.timestamp)))
            .collect()
    });
    let mut streaming = Some(Vec::new());
    match RecordReader::new(view, &mut decompressor, LIMIT) {
        Err(_) => streaming = None,
        Ok(mut reader) => loop {
            match reader.next(view, &mut decompressor) {
                Ok(Some(record)) => {
                    let _ = record.headers.count();
                    if let Some(all) = &mut streaming {
                        all.push((record.offset, record.timestamp));
                    }
                }
                Ok(None) => break,
                Err(_) => {
                    streaming = None;
                    break;
                }
            }
        },
    }
    if let (Some(whole), Some(streaming)) = (&whole, &streaming) {
        assert_eq!(whole, streaming);
    }
}

/// The first byte chooses a codec, the rest is a stream.
pub fn streams(data: &[u8]) {
    let Some((&choice, input)) = data.split_first() else { return };
    let mut out = Vec::new();
    let mut decompressor = Decompressor::new();
    match decompressor.decompress_into(codec(choice), input, LIMIT, &mut out) {
        Ok(n) => assert!(n == out.len() && n as u64 <= LIMIT),
        Err(_) => assert!(out.len() as u64 <= LIMIT),
    }
}

/// The first byte chooses codec and level; what is compressed comes back.
pub fn round_trip(data: &[u8]) {
    let Some((&choice, input)) = data.split_first() else { return };
    let codec = codec(choice);
    let level = i32::from(choice >> 3);
    let spec =
        CompressionSpec::with_level(codec, level).unwrap_or_else(|_| CompressionSpec::new(codec));
    let (mut packed, mut out) = (Vec::new(), Vec::new());
    Compressor::new().compress(spec, input, &mut packed).expect("compresses");
    Decompressor::new()
        .decompress_into(codec, &packed, u64::MAX, &mut out)
        .expect("what was compressed can be read");
    assert_eq!(out, input);
}
