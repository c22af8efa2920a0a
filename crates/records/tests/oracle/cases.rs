//! Batches good and broken in header and records, over all codecs and configs.

use thalweg_random::Random;
use thalweg_records::batch::{self, BatchHeader};
use thalweg_records::builder::{BatchBuilder, BatchOptions, put_record};
use thalweg_records::codec::{CompressionSpec, Compressor};
use thalweg_records::validate::{BrokerCompression, Origin, ValidationConfig};
use thalweg_records::{Compression, TimestampType};
use thalweg_wire::varint;

pub struct Case {
    pub name: String,
    pub bytes: Vec<u8>,
    pub config: ValidationConfig,
    pub origin: Origin,
    pub now: i64,
}

pub const NOW: i64 = 1_700_000_000_000;
pub const CLIENT: Origin = Origin::Client { produce_version: 13 };
pub const CODECS: [Compression; 5] = [
    Compression::None,
    Compression::Gzip,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd,
];

/// Kafka's defaults, but larger batches.
pub fn config() -> ValidationConfig {
    ValidationConfig { max_message_bytes: 8 << 20, ..ValidationConfig::default() }
}

pub fn case(name: String, bytes: Vec<u8>) -> Case {
    Case { name, bytes, config: config(), origin: CLIENT, now: NOW }
}

pub fn compress(codec: Compression, input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let spec = CompressionSpec::new(codec);
    Compressor::new().compress(spec, input, &mut out).expect("compresses");
    out
}

/// The header of `count` good records.
pub fn header(codec: Compression, count: i32) -> BatchHeader {
    BatchHeader {
        base_offset: 0,
        partition_leader_epoch: -1,
        attributes: batch::attributes(codec, TimestampType::CreateTime, false, false),
        last_offset_delta: count - 1,
        base_timestamp: NOW,
        max_timestamp: NOW + i64::from(count) - 1,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        record_count: count,
    }
}

/// One record, each of whose fields can be broken.
#[derive(Clone)]
struct Fields {
    /// Instead of the real length.
    len: Option<Vec<u8>>,
    attributes: u8,
    timestamp_delta: Vec<u8>,
    offset_delta: Vec<u8>,
    key_len: Vec<u8>,
    key: Vec<u8>,
    value_len: Vec<u8>,
    value: Vec<u8>,
    header_count: Vec<u8>,
    headers: Vec<u8>,
}

fn var(value: i32) -> Vec<u8> {
    let mut out = Vec::new();
    varint::put_i32(&mut out, value);
    out
}

fn var64(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    varint::put_i64(&mut out, value);
    out
}

fn fields(index: i32) -> Fields {
    let value = format!("value {index}").into_bytes();
    let mut headers = var(4);
    headers.extend_from_slice(b"name");
    headers.extend(var(2));
    headers.extend_from_slice(b"hv");
    Fields {
        len: None,
        attributes: 0,
        timestamp_delta: var64(i64::from(index)),
        offset_delta: var(index),
        key_len: var(3),
        key: b"key".to_vec(),
        value_len: var(value.len() as i32),
        value,
        header_count: var(1),
        headers,
    }
}

impl Fields {
    fn put(&self, out: &mut Vec<u8>) {
        let body = [
            &[self.attributes][..],
            &self.timestamp_delta,
            &self.offset_delta,
            &self.key_len,
            &self.key,
            &self.value_len,
            &self.value,
            &self.header_count,
            &self.headers,
        ]
        .concat();
        out.extend(self.len.clone().unwrap_or_else(|| var(body.len() as i32)));
        out.extend(body);
    }
}

/// Three records of which `index` is changed by `change`.
fn with(index: i32, change: impl FnOnce(&mut Fields)) -> Vec<u8> {
    let mut changed = fields(index);
    change(&mut changed);
    let mut out = Vec::new();
    for i in 0..3 {
        if i == index { changed.put(&mut out) } else { fields(i).put(&mut out) }
    }
    out
}

fn long(n: usize) -> Vec<u8> {
    let mut out = vec![0xff; n];
    out.push(1);
    out
}

/// Records, with the name of what is wrong with them if anything, under a header for three.
fn bodies_of_three() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |name: &str, body: Vec<u8>| all.push((name.to_owned(), body));
    let good = with(0, |_| {});
    add("good", good.clone());
    type Field = fn(&mut Fields) -> &mut Vec<u8>;
    let varints: [(&str, Field); 5] = [
        ("timestamp delta", |f| &mut f.timestamp_delta),
        ("offset delta", |f| &mut f.offset_delta),
        ("key length", |f| &mut f.key_len),
        ("value length", |f| &mut f.value_len),
        ("header count", |f| &mut f.header_count),
    ];
    for index in [0, 1, 2] {
        for (name, field) in varints {
            let with_value = |bytes: Vec<u8>| with(index, |f| *field(f) = bytes);
            for n in [4, 5, 6, 9, 10, 11] {
                add(&format!("{name} of record {index} has {n} more bytes"), with_value(long(n)));
            }
            let overlong = with(index, |f| {
                let bytes = field(f);
                let last = bytes.len() - 1;
                bytes[last] |= 0x80;
                bytes.push(0x80);
                bytes.push(0);
            });
            add(&format!("{name} of record {index} overlong"), overlong);
            for value in [-1, -2, -100, i32::MIN, i32::MAX, 1000, 0, 1, 2, 5] {
                add(&format!("{name} of record {index} is {value}"), with_value(var(value)));
            }
        }
        for n in [3, 4, 5, 9, 20] {
            let body = with(index, |f| f.len = Some(long(n)));
            add(&format!("length of record {index} has {n} more bytes"), body);
        }
        for delta in [-100, -1, 1, 2, 1000, i32::MAX - 100] {
            let body = with(index, |f| {
                let mut plain = Vec::new();
                f.put(&mut plain);
                f.len = Some(var(plain.len() as i32 - 1 + delta));
            });
            add(&format!("length of record {index} is off by {delta}"), body);
        }
        for len in [0, -1, i32::MIN, i32::MAX] {
            let body = with(index, |f| f.len = Some(var(len)));
            add(&format!("length of record {index} is {len}"), body);
        }
        let body = with(index, |f| {
            let mut plain = Vec::new();
            f.put(&mut plain);
            let mut bytes = var(plain.len() as i32 - 1);
            let last = bytes.len() - 1;
            bytes[last] |= 0x80;
            bytes.push(0);
            f.len = Some(bytes);
        });
        add(&format!("length of record {index} overlong"), body);
        add(&format!("attributes of record {index} set"), with(index, |f| f.attributes = 0xff));
        let headers: [(&str, Vec<u8>); 9] = [
            ("key null", [var(-1), var(2), b"hv".to_vec()].concat()),
            ("key negative", [var(-7), var(2), b"hv".to_vec()].concat()),
            ("value null", [var(1), b"k".to_vec(), var(-1)].concat()),
            ("value negative", [var(1), b"k".to_vec(), var(-3)].concat()),
            ("key empty", [var(0), var(1), b"v".to_vec()].concat()),
            ("key not UTF-8", [var(3), vec![0xff, b'a', 0xc3], var(1), b"v".to_vec()].concat()),
            ("key length bad", [long(6), var(1)].concat()),
            ("value length bad", [var(1), b"k".to_vec(), long(6)].concat()),
            ("value too long", [var(1), b"k".to_vec(), var(100_000)].concat()),
        ];
        for (name, bytes) in headers {
            add(&format!("header of record {index}: {name}"), with(index, |f| f.headers = bytes));
        }
        let two = with(index, |f| {
            f.header_count = var(2);
            f.headers = [f.headers.clone(), f.headers.clone()].concat();
        });
        add(&format!("two headers in record {index}"), two);
        let none = with(index, |f| {
            f.header_count = var(0);
            f.headers.clear();
        });
        add(&format!("no headers in record {index}"), none);
        let null = with(index, |f| {
            f.key_len = var(-1);
            f.key.clear();
        });
        add(&format!("null key in record {index}"), null);
        let null = with(index, |f| {
            f.value_len = var(-1);
            f.value.clear();
        });
        add(&format!("null value in record {index}"), null);
        let empty = with(index, |f| {
            f.key_len = var(0);
            f.key.clear();
            f.value_len = var(0);
            f.value.clear();
        });
        add(&format!("empty key and value in record {index}"), empty);
        for delta in [-1, 0, 5, i32::MAX, i32::MIN] {
            let body = with(index, |f| f.offset_delta = var(delta));
            add(&format!("offset delta {delta} in record {index}"), body);
        }
        for delta in [i64::MIN, i64::MAX, -NOW - 1, -NOW - 2, -NOW - 5, 3_600_000, 3_600_001] {
            let body = with(index, |f| f.timestamp_delta = var64(delta));
            add(&format!("timestamp delta {delta} in record {index}"), body);
        }
    }
    for (name, tail) in [("one byte", 1), ("ten bytes", 10), ("a kilobyte", 1024)] {
        add(&format!("{name} behind the records"), [good.clone(), vec![0; tail]].concat());
    }
    let mut fourth = good.clone();
    fields(3).put(&mut fourth);
    add("a fourth record", fourth);
    for cut in [1, 2, 3, 5, 10, 20, 30, good.len() / 2, good.len() - 1, good.len()] {
        add(&format!("records cut by {cut}"), good[..good.len() - cut].to_vec());
    }
    let two: Vec<u8> = (0..2).fold(Vec::new(), |mut out, i| {
        fields(i).put(&mut out);
        out
    });
    add("only two records", two);
    add("no records at all", Vec::new());
    add("zeros", vec![0; 100]);
    add("0xff", vec![0xff; 100]);
    all
}

/// Larger good batches.
fn large_bodies() -> Vec<(&'static str, i32, Vec<u8>)> {
    let mut all = Vec::new();
    let mut random = Random::new(7);
    let mut build = |name, count: i32, value: &mut dyn FnMut(i32, &mut Random) -> Vec<u8>| {
        let mut body = Vec::new();
        for i in 0..count {
            let value = value(i, &mut random);
            let headers = (0..i % 3).map(|_| (&b"header"[..], Some(&b"of some length"[..])));
            put_record(&mut body, i, i64::from(i), Some(b"k"), Some(&value), headers);
        }
        all.push((name, count, body));
    };
    build("one record", 1, &mut |_, _| b"v".to_vec());
    build("5000 records", 5000, &mut |i, _| format!("value number {i}").into_bytes());
    build("three records of 300 KB", 3, &mut |i, _| vec![i as u8; 300_000]);
    build("noise of 300 KB", 3, &mut |_, r| (0..100_000).map(|_| r.next_u64() as u8).collect());
    build("records of 0 to 3000 bytes", 400, &mut |i, r| {
        let n = r.below(3000);
        (0..n).map(|at| (at as u8).wrapping_mul(i as u8) & 0x3f).collect()
    });
    all
}

pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    records(&mut cases);
    sizes(&mut cases);
    headers(&mut cases);
    framing(&mut cases);
    configs(&mut cases);
    coordinators(&mut cases);
    cases
}

fn targets(source: Compression) -> Vec<(String, BrokerCompression)> {
    let mut all = vec![("producer".to_owned(), BrokerCompression::Producer)];
    for codec in CODECS {
        if codec != source {
            let spec = BrokerCompression::Fixed(CompressionSpec::new(codec));
            all.push((codec.name().to_owned(), spec));
        }
    }
    all
}

fn records(cases: &mut Vec<Case>) {
    let bodies = bodies_of_three();
    for source in CODECS {
        for (t, (target_name, target)) in targets(source).into_iter().enumerate() {
            for (n, (name, body)) in bodies.iter().enumerate() {
                // All bodies where they stay as they are, and to none or from none; a share of
                // the rest, which runs the same code.
                let all = t <= 1;
                if !all && (n + t) % 5 != 0 {
                    continue;
                }
                let bytes = header(source, 3).assemble(&compress(source, body));
                let mut case = case(format!("{} to {target_name}: {name}", source.name()), bytes);
                case.config.compression = target;
                cases.push(case);
            }
            for (name, count, body) in large_bodies() {
                let bytes = header(source, count).assemble(&compress(source, &body));
                let name = format!("{} to {target_name}: {name}", source.name());
                let mut case = case(name, bytes);
                case.config.compression = target;
                cases.push(case);
            }
        }
    }
}

/// Records around `max.decompressed.message.bytes`, which bounds those of compressed batches.
fn sizes(cases: &mut Vec<Case>) {
    let size_of = |index: i32| -> i32 {
        let mut record = Vec::new();
        fields(index).put(&mut record);
        // Its length field has one byte.
        record.len() as i32 - 1
    };
    let plain = with(0, |_| {});
    let keyless = with(1, |f| {
        f.key_len = var(-1);
        f.key.clear();
    });
    let last_is_large = with(2, |f| {
        f.value = vec![b'v'; 4000];
        f.value_len = var(4000);
    });
    for source in CODECS {
        for (target_name, target) in targets(source) {
            for max in [1, size_of(0) - 1, size_of(0), size_of(0) + 1, 4000, i32::MAX - 8] {
                for (name, body) in
                    [("plain", &plain), ("keyless", &keyless), ("last large", &last_is_large)]
                {
                    let bytes = header(source, 3).assemble(&compress(source, body));
                    let codec = source.name();
                    let name = format!("{codec} to {target_name}: {name}, at most {max} a record");
                    let mut case = case(name, bytes);
                    case.config.compression = target;
                    case.config.compact = true;
                    case.config.max_decompressed_message_bytes = max;
                    cases.push(case);
                }
            }
        }
    }
}

fn headers(cases: &mut Vec<Case>) {
    type Edit = fn(&mut BatchHeader);
    let edits: &[(&str, Edit)] = &[
        ("base offset 1", |h| h.base_offset = 1),
        ("base offset -1", |h| h.base_offset = -1),
        ("leader epoch 99", |h| h.partition_leader_epoch = 99),
        ("last offset delta -1", |h| h.last_offset_delta = -1),
        ("last offset delta 1", |h| h.last_offset_delta = 1),
        ("last offset delta 3", |h| h.last_offset_delta = 3),
        ("last offset delta max", |h| h.last_offset_delta = i32::MAX),
        ("last offset delta min", |h| h.last_offset_delta = i32::MIN),
        ("count 0", |h| h.record_count = 0),
        ("count 0, delta -1", |h| (h.record_count, h.last_offset_delta) = (0, -1)),
        ("count -1", |h| h.record_count = -1),
        ("count -1, delta -2", |h| (h.record_count, h.last_offset_delta) = (-1, -2)),
        ("count 2", |h| h.record_count = 2),
        ("count 2, delta 1", |h| (h.record_count, h.last_offset_delta) = (2, 1)),
        ("count 4", |h| h.record_count = 4),
        ("count 4, delta 3", |h| (h.record_count, h.last_offset_delta) = (4, 3)),
        ("count max, delta max - 1", |h| {
            (h.record_count, h.last_offset_delta) = (i32::MAX, i32::MAX - 1);
        }),
        ("count min, delta max", |h| (h.record_count, h.last_offset_delta) = (i32::MIN, i32::MAX)),
        ("max timestamp too small", |h| h.max_timestamp = 5),
        ("max timestamp too large", |h| h.max_timestamp = NOW * 2),
        ("max timestamp -1", |h| h.max_timestamp = -1),
        ("base timestamp -1", |h| h.base_timestamp = -1),
        ("base timestamp -2", |h| h.base_timestamp = -2),
        ("base timestamp -3", |h| h.base_timestamp = -3),
        ("base timestamp -1000", |h| h.base_timestamp = -1000),
        ("base timestamp min", |h| h.base_timestamp = i64::MIN),
        ("base timestamp max", |h| h.base_timestamp = i64::MAX),
        ("base timestamp 0", |h| h.base_timestamp = 0),
        ("codec 5", |h| h.attributes = h.attributes & !7 | 5),
        ("codec 6", |h| h.attributes = h.attributes & !7 | 6),
        ("codec 7", |h| h.attributes = h.attributes & !7 | 7),
        ("the next codec", |h| h.attributes = (h.attributes + 1) % 5),
        ("append time", |h| h.attributes |= 0x08),
        ("append time -1", |h| {
            h.attributes |= 0x08;
            h.max_timestamp = -1;
        }),
        ("append time of long ago", |h| {
            h.attributes |= 0x08;
            h.max_timestamp = 77;
        }),
        ("append time of the future", |h| {
            h.attributes |= 0x08;
            h.max_timestamp = NOW + 4_000_000;
        }),
        ("append time now", |h| {
            h.attributes |= 0x08;
            h.max_timestamp = NOW;
        }),
        ("transactional without producer", |h| h.attributes |= 0x10),
        ("transactional", |h| {
            h.attributes |= 0x10;
            (h.producer_id, h.producer_epoch, h.base_sequence) = (5, 2, 0);
        }),
        ("control", |h| h.attributes |= 0x20),
        ("delete horizon", |h| h.attributes |= 0x40),
        ("undefined attribute 7", |h| h.attributes |= 0x80),
        ("undefined attributes", |h| h.attributes |= 0x7f80),
        ("all undefined attributes and a wrong max timestamp", |h| {
            h.attributes |= 0x7fc0;
            h.max_timestamp = 1;
        }),
        ("negative attributes", |h| h.attributes |= i16::MIN),
        ("producer", |h| (h.producer_id, h.producer_epoch, h.base_sequence) = (5, 2, 0)),
        ("producer at sequence 17", |h| {
            (h.producer_id, h.producer_epoch, h.base_sequence) = (5, 0, 17);
        }),
        ("producer at the last sequence", |h| {
            (h.producer_id, h.producer_epoch, h.base_sequence) = (5, 0, i32::MAX);
        }),
        ("producer without sequence", |h| {
            (h.producer_id, h.producer_epoch, h.base_sequence) = (5, 2, -1);
        }),
        ("producer without epoch", |h| {
            (h.producer_id, h.producer_epoch, h.base_sequence) = (5, -1, 0);
        }),
        ("sequence without producer", |h| h.base_sequence = 9),
        ("producer id -2", |h| (h.producer_id, h.base_sequence) = (-2, -1)),
    ];
    let body = with(0, |_| {});
    for source in CODECS {
        for (target_name, target) in targets(source).into_iter().take(3) {
            for kind in [TimestampType::CreateTime, TimestampType::LogAppendTime] {
                for (name, edit) in edits {
                    let mut header = header(source, 3);
                    edit(&mut header);
                    let bytes = header.assemble(&compress(source, &body));
                    let name = format!("{} to {target_name}, {kind:?}: {name}", source.name());
                    let mut case = case(name, bytes);
                    case.config.compression = target;
                    case.config.timestamp_type = kind;
                    cases.push(case);
                }
            }
        }
    }
}

fn framing(cases: &mut Vec<Case>) {
    let body = with(0, |_| {});
    for source in CODECS {
        let name = source.name();
        let good = header(source, 3).assemble(&compress(source, &body));
        let mut add = |what: &str, bytes: Vec<u8>| {
            cases.push(case(format!("{name}, framing: {what}"), bytes));
        };
        add("no bytes", Vec::new());
        for magic in [0, 1, 3, 4, 127, 128, 255] {
            let mut bytes = good.clone();
            bytes[16] = magic;
            add(&format!("magic {magic}"), bytes);
        }
        for at in [17, 20, 21, 30, 45, 60, 61, good.len() - 1] {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            add(&format!("byte {at} changed under the crc"), bytes);
        }
        for length in
            [i32::MIN, -13, -1, 0, 13, 14, 15, 20, 26, 30, 47, 48, 49, 50, 1 << 30, i32::MAX - 13]
        {
            let mut bytes = good.clone();
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
            add(&format!("length {length}"), bytes.clone());
            let total = (i64::from(length) + 12).clamp(0, bytes.len() as i64) as usize;
            if total >= 17 {
                bytes.truncate(total);
                add(&format!("length {length} and no more bytes"), bytes.clone());
                bytes[..8].copy_from_slice(&3i64.to_be_bytes());
                add(&format!("length {length}, base offset 3"), bytes);
            }
        }
        for keep in [1, 7, 11, 12, 16, 17, 21, 22, 60, 61, good.len() - 1] {
            add(&format!("cut after {keep}"), good[..keep].to_vec());
        }
        add("twice", [good.clone(), good.clone()].concat());
        for keep in [1, 8, 11, 12, 16, 17, 30, 61, good.len() - 1] {
            add(&format!("and {keep} bytes of another"), [&good, &good[..keep]].concat());
        }
        let mut tail = vec![0; 12];
        add("and 12 zeros", [&good[..], &tail].concat());
        tail[11] = 14;
        add("and an overhead", [&good[..], &tail].concat());
        tail.extend([0, 0, 0, 0, 9]);
        add("and an undefined magic", [&good[..], &tail].concat());
        tail[16] = 1;
        add("and a legacy magic, cut", [&good[..], &tail].concat());
        tail.resize(26, 0);
        add("and a legacy batch", [&good[..], &tail].concat());
        for version in [3, 6, 7, 8, 13] {
            let mut case = case(format!("{name}, produce version {version}"), good.clone());
            case.origin = Origin::Client { produce_version: version };
            cases.push(case);
            let mut header = header(source, 3);
            header.attributes = 5;
            let mut undefined = super::cases::case(
                format!("{name}, produce version {version}: undefined codec"),
                header.assemble(&body),
            );
            undefined.origin = Origin::Client { produce_version: version };
            cases.push(undefined);
        }
    }
}

fn configs(cases: &mut Vec<Case>) {
    let plain = with(0, |_| {});
    let mixed = with(1, |f| f.timestamp_delta = var64(-10_000));
    let without = with(2, |f| f.timestamp_delta = var64(-NOW - 1));
    let keyless = with(1, |f| {
        f.key_len = var(-1);
        f.key.clear();
    });
    let both = {
        let mut first = fields(0);
        first.key_len = var(-3);
        first.key.clear();
        let mut last = fields(2);
        last.timestamp_delta = var64(100_000_000);
        let mut out = Vec::new();
        for f in [first, fields(1), last] {
            f.put(&mut out);
        }
        out
    };
    let broken_behind = {
        let mut out = keyless.clone();
        let at = out.len() - 1;
        out.truncate(at);
        out
    };
    let bodies = [
        ("plain", &plain),
        ("one old", &mixed),
        ("one without", &without),
        ("one keyless", &keyless),
        ("keyless and future", &both),
        ("keyless, then broken", &broken_behind),
    ];
    let (hour, now) = (3_600_000, NOW);
    let ranges = [
        ("no range", i64::MAX, i64::MAX),
        ("kafka's", i64::MAX, hour),
        ("a second before", 1000, hour),
        ("a second after", i64::MAX, 1000),
        ("zero", 0, 0),
    ];
    let nows =
        [("now", now), ("later", now + hour * 2), ("earlier", now - hour - 1), ("2 ms", now + 2)];
    let mut n = 0;
    for source in CODECS {
        for (target_name, target) in targets(source).into_iter().take(3) {
            for (body_name, body) in bodies {
                for (range_name, before, after) in ranges {
                    for (now_name, now) in nows {
                        for compact in [false, true] {
                            // Every combination without compression, a third of the others.
                            n += 1;
                            if source != Compression::None && n % 3 != 0 {
                                continue;
                            }
                            let bytes = header(source, 3).assemble(&compress(source, body));
                            let name = format!(
                                "{} to {target_name}: {body_name}, {range_name}, {now_name}, compact {compact}",
                                source.name()
                            );
                            let mut case = case(name, bytes);
                            case.config.compression = target;
                            case.config.timestamp_before_max_ms = before;
                            case.config.timestamp_after_max_ms = after;
                            case.config.compact = compact;
                            case.now = now;
                            cases.push(case);
                        }
                    }
                }
            }
            let bytes = header(source, 3).assemble(&compress(source, &plain));
            let size = bytes.len() as i32;
            for max in [0, 60, 61, 100, size - 1, size, size + 1, size + 60] {
                let name = format!(
                    "{} to {target_name}: at most {} more bytes",
                    source.name(),
                    max - size
                );
                let mut case = case(name, bytes.clone());
                case.config.compression = target;
                case.config.max_message_bytes = max;
                cases.push(case);
            }
            let zeros = {
                let mut out = Vec::new();
                put_record(&mut out, 0, 0, None, Some(&[0; 50_000]), std::iter::empty());
                out
            };
            let mut case = case(
                format!("{} to {target_name}: shrinks or grows", source.name()),
                header(source, 1).assemble(&compress(source, &zeros)),
            );
            case.config.compression = target;
            case.config.max_message_bytes = 10_000;
            cases.push(case);
        }
    }
    // Levels, which show in nothing but that they are taken.
    for (codec, level) in [
        (Compression::Gzip, 1),
        (Compression::Gzip, 9),
        (Compression::Lz4, 1),
        (Compression::Lz4, 17),
        (Compression::Zstd, -5),
        (Compression::Zstd, 19),
    ] {
        let bytes = header(Compression::None, 3).assemble(&plain);
        let mut case = case(format!("none to {} level {level}", codec.name()), bytes);
        let spec = CompressionSpec::with_level(codec, level).expect("a level of Kafka's");
        case.config.compression = BrokerCompression::Fixed(spec);
        cases.push(case);
    }
}

fn coordinators(cases: &mut Vec<Case>) {
    let body = with(0, |_| {});
    for source in CODECS {
        let mut add = |what: &str, bytes: Vec<u8>, target: BrokerCompression| {
            let mut case = case(format!("{}, coordinator: {what}", source.name()), bytes);
            case.origin = Origin::Coordinator;
            case.config.compression = target;
            cases.push(case);
        };
        let producer = BrokerCompression::Producer;
        let gzip = BrokerCompression::Fixed(CompressionSpec::new(Compression::Gzip));
        let payload = compress(source, &body);
        add("good", header(source, 3).assemble(&payload), producer);
        add("good, to gzip", header(source, 3).assemble(&payload), gzip);
        let mut h = header(source, 3);
        h.base_offset = 44;
        add("base offset 44", h.assemble(&payload), producer);
        let mut h = header(source, 3);
        h.record_count = -1;
        add("count -1", h.assemble(&payload), producer);
        let mut h = header(source, 3);
        h.record_count = 2;
        add("count 2", h.assemble(&payload), producer);
        let good = header(source, 3).assemble(&payload);
        add("twice", [good.clone(), good.clone()].concat(), producer);
        add("cut", [&good[..], &good[..30]].concat(), producer);
        // An end transaction marker: version 0, commit; version 0, coordinator epoch 3.
        let options = BatchOptions {
            compression: CompressionSpec::new(source),
            producer_id: 9,
            producer_epoch: 4,
            transactional: true,
            control: true,
            ..BatchOptions::default()
        };
        let mut marker = BatchBuilder::new(options);
        marker.append(NOW, Some(&[0, 0, 0, 1]), Some(&[0, 0, 0, 0, 0, 3]), &[]);
        let marker = marker.finish(&mut Compressor::new()).expect("builds");
        add("marker", marker.clone(), producer);
        if source == Compression::None {
            add("marker, to gzip", marker, gzip);
        }
    }
}
