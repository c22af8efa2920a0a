//! Compressed streams: unusual, truncated, damaged, with something behind them.

use thalweg_random::Random;
use thalweg_records::Compression;
use thalweg_records::builder::put_record;
use thalweg_records::codec::CompressionSpec;
use thalweg_records::validate::BrokerCompression;
use twox_hash::XxHash32;

use super::cases::{CODECS, Case, case, compress, header};

const COUNT: i32 = 4;

/// Records that compress a little.
fn body() -> Vec<u8> {
    let mut out = Vec::new();
    for i in 0..COUNT {
        let value = format!("some value some value {i}");
        let headers = [(&b"h"[..], None)].into_iter();
        put_record(&mut out, i, i64::from(i), Some(b"key"), Some(value.as_bytes()), headers);
    }
    out
}

/// Records of 200 KB that hardly compress, so that streams have several blocks.
fn long_body() -> Vec<u8> {
    let mut random = Random::new(3);
    let mut out = Vec::new();
    for i in 0..COUNT {
        let value: Vec<u8> = (0..50_000).map(|_| random.next_u64() as u8 & 0x1f).collect();
        put_record(&mut out, i, i64::from(i), None, Some(&value), std::iter::empty());
    }
    out
}

pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for codec in &CODECS[1..] {
        common(*codec, &mut cases);
    }
    for (name, payload) in lz4().into_iter().map(|(n, p)| (format!("lz4 stream: {n}"), p)) {
        push(&mut cases, Compression::Lz4, name, &payload);
    }
    for (name, payload) in snappy().into_iter().map(|(n, p)| (format!("snappy stream: {n}"), p)) {
        push(&mut cases, Compression::Snappy, name, &payload);
    }
    for (name, payload) in gzip().into_iter().map(|(n, p)| (format!("gzip stream: {n}"), p)) {
        push(&mut cases, Compression::Gzip, name, &payload);
    }
    for (name, payload) in zstd().into_iter().map(|(n, p)| (format!("zstd stream: {n}"), p)) {
        push(&mut cases, Compression::Zstd, name, &payload);
    }
    cases
}

/// As it is, and decompressed for storing, which reads in another way.
fn push(cases: &mut Vec<Case>, codec: Compression, name: String, payload: &[u8]) {
    let bytes = header(codec, COUNT).assemble(payload);
    let mut plain = case(format!("{name} (to none)"), bytes.clone());
    plain.config.compression = BrokerCompression::Fixed(CompressionSpec::NONE);
    cases.push(case(name, bytes));
    cases.push(plain);
}

fn common(codec: Compression, cases: &mut Vec<Case>) {
    let name = codec.name();
    let (small, large) = (compress(codec, &body()), compress(codec, &long_body()));
    for keep in 0..small.len() {
        push(cases, codec, format!("{name} stream cut to {keep}"), &small[..keep]);
    }
    for parts in 1..8 {
        let keep = large.len() * parts / 8;
        push(cases, codec, format!("long {name} stream cut to {parts}/8"), &large[..keep]);
    }
    push(cases, codec, format!("long {name} stream"), &large);
    let mut random = Random::new(99);
    for at in 0..small.len() {
        let mut damaged = small.clone();
        damaged[at] ^= 1 << random.below(8);
        push(cases, codec, format!("{name} stream damaged at {at}"), &damaged);
    }
    for i in 0..20 {
        let mut damaged = large.clone();
        let at = random.below(damaged.len());
        damaged[at] ^= 1 << random.below(8);
        push(cases, codec, format!("long {name} stream damaged ({i}) at {at}"), &damaged);
    }
    for (tail_name, tail) in [("zeros", 0u8), ("0xff", 0xff), ("letters", b'x')] {
        for n in [1, 2, 3, 4, 5, 8, 12, 18, 19, 20, 26, 27, 30, 100, 5000, 140_000] {
            let bytes = [small.clone(), vec![tail; n]].concat();
            push(cases, codec, format!("{name} stream and {n} {tail_name}"), &bytes);
        }
    }
    push(cases, codec, format!("{name} stream twice"), &[&small[..], &small].concat());
    let half = body().len() / 2;
    let (a, b) = body().split_at(half).to_owned_pair();
    let two = [compress(codec, &a), compress(codec, &b)].concat();
    push(cases, codec, format!("{name} stream in two"), &two);
    let empty = compress(codec, &[]);
    push(cases, codec, format!("{name} stream of nothing"), &empty);
    push(
        cases,
        codec,
        format!("{name} stream behind an empty one"),
        &[&empty[..], &small].concat(),
    );
    push(
        cases,
        codec,
        format!("{name} stream before an empty one"),
        &[&small[..], &empty].concat(),
    );
    for keep in 1..empty.len() {
        let bytes = [&small[..], &empty[..keep]].concat();
        push(cases, codec, format!("{name} stream and {keep} bytes of an empty one"), &bytes);
    }
    push(cases, codec, format!("{name} without a stream: the records as they are"), &body());
}

trait ToOwnedPair {
    fn to_owned_pair(self) -> (Vec<u8>, Vec<u8>);
}

impl ToOwnedPair for (&[u8], &[u8]) {
    fn to_owned_pair(self) -> (Vec<u8>, Vec<u8>) {
        (self.0.to_vec(), self.1.to_vec())
    }
}

const BLOCK_CHECKSUM: u8 = 0x10;
const CONTENT_SIZE: u8 = 0x08;
const CONTENT_CHECKSUM: u8 = 0x04;

fn frame_header(flags: u8, block_descriptor: u8) -> Vec<u8> {
    let mut out = 0x184d_2204u32.to_le_bytes().to_vec();
    out.push(flags);
    out.push(block_descriptor);
    if flags & CONTENT_SIZE != 0 {
        out.extend_from_slice(&(body().len() as u64).to_le_bytes());
    }
    let checksum = (XxHash32::oneshot(0, &out[4..]) >> 8) as u8;
    out.push(checksum);
    out
}

fn block(out: &mut Vec<u8>, flags: u8, input: &[u8], stored: bool) {
    let bytes = if stored { input.to_vec() } else { lz4_flex::block::compress(input) };
    let mark = if stored { 0x8000_0000 } else { 0 };
    out.extend_from_slice(&(bytes.len() as u32 | mark).to_le_bytes());
    out.extend_from_slice(&bytes);
    if flags & BLOCK_CHECKSUM != 0 {
        out.extend_from_slice(&XxHash32::oneshot(0, &bytes).to_le_bytes());
    }
}

fn lz4() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let body = body();
    let frame = |flags: u8, descriptor: u8, stored: bool, pieces: usize| {
        let mut out = frame_header(flags, descriptor);
        for piece in body.chunks(body.len().div_ceil(pieces)) {
            block(&mut out, flags, piece, stored);
        }
        out.extend_from_slice(&[0; 4]);
        if flags & CONTENT_CHECKSUM != 0 {
            out.extend_from_slice(&XxHash32::oneshot(0, &body).to_le_bytes());
        }
        out
    };
    let plain = 0x60;
    for (name, flags) in [
        ("plain", plain),
        ("block checksums", plain | BLOCK_CHECKSUM),
        ("content size", plain | CONTENT_SIZE),
        ("content checksum", plain | CONTENT_CHECKSUM),
        ("all", plain | BLOCK_CHECKSUM | CONTENT_CHECKSUM | CONTENT_SIZE),
    ] {
        for pieces in [1, 2, 5] {
            for stored in [false, true] {
                let bytes = frame(flags, 0x40, stored, pieces);
                all.push((format!("{name}, {pieces} blocks, stored {stored}"), bytes.clone()));
                for cut in 1..10 {
                    let cut_short = bytes[..bytes.len() - cut].to_vec();
                    let name = format!("{name}, {pieces} blocks, stored {stored}, cut by {cut}");
                    all.push((name, cut_short));
                }
            }
        }
        let mut bytes = frame(flags, 0x40, false, 1);
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        all.push((format!("{name}, last byte changed"), bytes));
        let mut bytes = frame(flags, 0x40, false, 1);
        let checksum_at = bytes.len() - 5 - 4 * usize::from(flags & CONTENT_CHECKSUM != 0);
        bytes[checksum_at] ^= 1;
        all.push((format!("{name}, a byte before the end mark changed"), bytes));
    }
    // A checksum that is cut in the middle of a record.
    for keep in 0..5 {
        let mut out = frame_header(plain | BLOCK_CHECKSUM, 0x40);
        block(&mut out, plain | BLOCK_CHECKSUM, &body[..body.len() / 2], false);
        out.truncate(out.len() - 4 + keep.min(4));
        all.push((format!("block checksum in a record cut to {keep}"), out.clone()));
        let mut out = frame_header(plain | CONTENT_CHECKSUM, 0x40);
        block(&mut out, plain, &body[..body.len() / 2], false);
        out.extend_from_slice(&[0; 4]);
        out.resize(out.len() + keep.min(4), 7);
        all.push((format!("content checksum in a record cut to {keep}"), out));
    }
    for flags in 0..=255u8 {
        if flags & (BLOCK_CHECKSUM | CONTENT_CHECKSUM | CONTENT_SIZE) == 0 {
            all.push((format!("flags {flags:#04x}"), frame(flags, 0x40, false, 1)));
        }
    }
    for descriptor in (0..=255u8).step_by(8).chain([0x41, 0x42, 0x44, 0x50, 0x60, 0x70]) {
        let bytes = frame(plain, descriptor, false, 1);
        all.push((format!("block descriptor {descriptor:#04x}"), bytes));
    }
    let mut wrong = frame(plain, 0x40, false, 1);
    wrong[6] ^= 1;
    all.push(("descriptor checksum wrong".into(), wrong));
    // Kafka before 0.10 hashed the magic as well.
    let mut old = frame(plain, 0x40, false, 1);
    old[6] = (XxHash32::oneshot(0, &old[..6]) >> 8) as u8;
    all.push(("descriptor checksum of old producers".into(), old));
    let mut marked = frame(plain, 0x40, false, 1);
    let end = marked.len() - 1;
    marked[end] = 0x80;
    all.push(("end mark with the stored bit".into(), marked));
    let mut big = frame_header(plain, 0x40);
    big.extend_from_slice(&70_000u32.to_le_bytes());
    big.resize(big.len() + 70_000, 0);
    all.push(("block longer than allowed".into(), big));
    let mut big = frame_header(plain, 0x40);
    let block_of_zeros = lz4_flex::block::compress(&[0; 70_000]);
    big.extend_from_slice(&(block_of_zeros.len() as u32).to_le_bytes());
    big.extend_from_slice(&block_of_zeros);
    all.push(("block decompresses to more than allowed".into(), big));
    for keep in [4, 5, 6, 7, 8, 14, 15] {
        all.push((
            format!("header cut to {keep}"),
            frame(plain | CONTENT_SIZE, 0x40, false, 1)[..keep].to_vec(),
        ));
    }
    let mut empty_last = frame_header(plain, 0x40);
    block(&mut empty_last, plain, &body, false);
    empty_last.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 0]);
    all.push(("an empty block at the end".into(), empty_last));
    let mut empty_first = frame_header(plain, 0x40);
    empty_first.extend_from_slice(&[1, 0, 0, 0, 0]);
    block(&mut empty_first, plain, &body, false);
    empty_first.extend_from_slice(&[0; 4]);
    all.push(("an empty block at the beginning".into(), empty_first));
    all.extend(lz4_blocks());
    all
}

/// One sequence of a block: literals, and the offset and length of the match behind them.
fn sequence(out: &mut Vec<u8>, literals: &[u8], found: Option<(u16, usize)>) {
    let match_len = found.map_or(0, |(_, len)| len - 4);
    out.push(((literals.len().min(15) << 4) | match_len.min(15)) as u8);
    let long = |len: usize, out: &mut Vec<u8>| {
        if let Some(rest) = len.checked_sub(15) {
            out.resize(out.len() + rest / 255, 255);
            out.push((rest % 255) as u8);
        }
    };
    long(literals.len(), out);
    out.extend_from_slice(literals);
    if let Some((offset, _)) = found {
        out.extend_from_slice(&offset.to_le_bytes());
        long(match_len, out);
    }
}

/// Blocks that no compressor makes: how they end, and where their matches point.
fn lz4_blocks() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let frame = |block: &[u8]| {
        let mut out = frame_header(0x60, 0x40);
        out.extend_from_slice(&(block.len() as u32).to_le_bytes());
        out.extend_from_slice(block);
        out.extend_from_slice(&[0; 4]);
        out
    };
    // The last record's value is zeros, and so is its count of headers.
    let padded = |zeros: usize| {
        let mut out = body();
        let at = out.len() - {
            let mut last = Vec::new();
            let value = format!("some value some value {}", COUNT - 1);
            let headers = [(&b"h"[..], None)].into_iter();
            let delta = i64::from(COUNT - 1);
            put_record(&mut last, COUNT - 1, delta, Some(b"key"), Some(value.as_bytes()), headers);
            last.len()
        };
        out.truncate(at);
        let value = vec![0; zeros];
        let delta = i64::from(COUNT - 1);
        put_record(&mut out, COUNT - 1, delta, None, Some(&value), std::iter::empty());
        out
    };
    for (size, total) in [("small", None), ("full", Some(65_536)), ("over", Some(65_537))] {
        let body = match total {
            None => padded(200),
            Some(total) => padded(200 + total - padded(200).len() - 2),
        };
        if let Some(total) = total {
            assert_eq!(body.len(), total, "the value's length takes two bytes more");
        }
        for last in 0..=20 {
            let zeros = 150;
            let head = &body[..body.len() - last - zeros];
            let tail = &body[body.len() - last..];
            let mut block = Vec::new();
            sequence(&mut block, head, Some((1, zeros)));
            all.push((format!("{size} block, last token missing, {last}"), frame(&block)));
            sequence(&mut block, tail, None);
            all.push((format!("{size} block that ends with {last} literals"), frame(&block)));
            // A short match last, so that the end comes without a long length.
            let mut block = Vec::new();
            let head = &body[..body.len() - last - 6];
            sequence(&mut block, head, Some((3, 6)));
            sequence(&mut block, tail, None);
            all.push((format!("{size} block, short match, {last} literals"), frame(&block)));
            // Another match before, so that the last literals have a token before them.
            let mut block = Vec::new();
            sequence(&mut block, &body[..body.len() - last - 40], Some((2, 20)));
            sequence(&mut block, &[], Some((2, 20)));
            sequence(&mut block, tail, None);
            all.push((format!("{size} block, two matches, {last} literals"), frame(&block)));
        }
    }
    let body = padded(200);
    for offset in [0, 1, 2, 3, 7, 8, 31, 32, 33, 100, body.len() - 150, body.len() - 149, 65_535] {
        let mut block = Vec::new();
        sequence(&mut block, &body[..body.len() - 150], Some((offset as u16, 130)));
        sequence(&mut block, &body[body.len() - 20..], None);
        all.push((format!("match at offset {offset}"), frame(&block)));
        let mut block = Vec::new();
        sequence(&mut block, &[], Some((offset as u16, 4)));
        sequence(&mut block, &body, None);
        all.push((format!("match at offset {offset} first"), frame(&block)));
    }
    for extra in [1, 254, 255, 256, 1000, 70_000] {
        let mut block = Vec::new();
        sequence(&mut block, &body[..body.len() - 150], Some((1, 130 + extra)));
        sequence(&mut block, &body[body.len() - 20..], None);
        all.push((format!("match too long by {extra}"), frame(&block)));
    }
    let mut block = Vec::new();
    sequence(&mut block, &body[..body.len() - 150], Some((1, 130)));
    let whole = block.len();
    sequence(&mut block, &body[body.len() - 20..], None);
    for keep in whole - 4..block.len() {
        all.push((format!("block cut to {keep}"), frame(&block[..keep])));
    }
    block.extend_from_slice(&[0; 3]);
    all.push(("block with something behind it".into(), frame(&block)));
    all
}

fn snappy() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let body = body();
    let raw = snap::raw::Encoder::new().compress_vec(&body).expect("compresses");
    let xerial = compress(Compression::Snappy, &body);
    let (magic, chunk) = xerial.split_at(16);
    all.push(("raw".into(), raw.clone()));
    for keep in [1, 2, raw.len() / 2, raw.len() - 1] {
        all.push((format!("raw cut to {keep}"), raw[..keep].to_vec()));
    }
    all.push(("raw and a byte".into(), [&raw[..], &[0]].concat()));
    let long = snap::raw::Encoder::new().compress_vec(&long_body()).expect("compresses");
    all.push(("long raw".into(), long));
    for version in [0i32, 1, 2, -1, i32::MAX] {
        let header = [&magic[..8], &version.to_be_bytes(), &1i32.to_be_bytes()].concat();
        all.push((format!("version {version}"), [&header[..], chunk].concat()));
        let between = [&xerial[..], &header, chunk].concat();
        all.push((format!("two streams, the second of version {version}"), between));
        let between = [magic, &header, chunk].concat();
        all.push((format!("a header of version {version} first"), between));
    }
    let mut wrong = xerial.clone();
    wrong[5] = b'x';
    all.push(("magic wrong".into(), wrong));
    for keep in 4..16 {
        all.push((
            format!("stream and {keep} bytes of a header"),
            [&xerial[..], &magic[..keep]].concat(),
        ));
    }
    let mut broken = magic.to_vec();
    broken[6] = 0;
    all.push(("stream and a broken header".into(), [&xerial[..], &broken, chunk].concat()));
    let pieces: Vec<u8> = body
        .chunks(40)
        .flat_map(|piece| {
            let bytes = snap::raw::Encoder::new().compress_vec(piece).expect("compresses");
            [&(bytes.len() as i32).to_be_bytes()[..], &bytes].concat()
        })
        .collect();
    all.push(("several blocks".into(), [magic, &pieces].concat()));
    let empty = [0, 0, 0, 1, 0];
    all.push(("empty block first".into(), [magic, &empty, chunk].concat()));
    all.push(("empty block last".into(), [magic, chunk, &empty].concat()));
    all.push(("block of no bytes".into(), [magic, &[0; 4], chunk].concat()));
    for len in [-1i32, i32::MIN, i32::MAX, 1 << 29, (1 << 29) + 1] {
        all.push((
            format!("block of length {len}"),
            [magic, &len.to_be_bytes(), &chunk[4..]].concat(),
        ));
        let behind = [&xerial[..], &len.to_be_bytes()].concat();
        all.push((format!("stream and a block of length {len}"), behind));
    }
    for claimed in [[0xff, 0xff, 0xff, 0xff, 0x07], [0xff, 0xff, 0xff, 0xff, 0x0f], [0xff; 5]] {
        let claim = [&claimed[..], &raw[2..]].concat();
        all.push((format!("raw block that claims {claimed:02x?}"), claim.clone()));
        let block = [magic, &(claim.len() as i32).to_be_bytes(), &claim].concat();
        all.push((format!("block that claims {claimed:02x?}"), block));
    }
    all
}

fn gzip() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let plain = compress(Compression::Gzip, &body());
    let (head, rest) = plain.split_at(10);
    let with_flags = |flags: u8, extra: &[u8]| {
        let mut out = head.to_vec();
        out[3] = flags;
        out.extend_from_slice(extra);
        out
    };
    let finish = |mut out: Vec<u8>, header_crc: Option<u16>| {
        if let Some(change) = header_crc {
            let mut crc = flate2::Crc::new();
            crc.update(&out);
            out.extend_from_slice(&(crc.sum() as u16 ^ change).to_le_bytes());
        }
        out.extend_from_slice(rest);
        out
    };
    all.push(("name".into(), finish(with_flags(8, b"file\0"), None)));
    all.push(("comment".into(), finish(with_flags(16, b"text\0"), None)));
    all.push(("extra".into(), finish(with_flags(4, &[3, 0, 1, 2, 3]), None)));
    all.push(("extra too long".into(), finish(with_flags(4, &[0xff, 0xff, 1, 2, 3]), None)));
    all.push(("header crc".into(), finish(with_flags(2, &[]), Some(0))));
    all.push(("header crc wrong".into(), finish(with_flags(2, &[]), Some(1))));
    all.push(("everything".into(), finish(with_flags(30, b"\x02\0abfile\0text\0"), Some(0))));
    all.push(("name without end".into(), with_flags(8, b"file")));
    all.push(("text flag".into(), finish(with_flags(1, &[]), None)));
    all.push(("reserved flags".into(), finish(with_flags(0xe0, &[]), None)));
    for (name, at) in [("magic", 0), ("magic", 1), ("method", 2)] {
        let mut bytes = plain.clone();
        bytes[at] ^= 1;
        all.push((format!("{name} wrong"), bytes));
    }
    let second = compress(Compression::Gzip, b"");
    for keep in 1..=second.len() {
        all.push((
            format!("and {keep} of an empty member"),
            [&plain[..], &second[..keep]].concat(),
        ));
    }
    let mut wrong = plain.clone();
    let end = wrong.len();
    wrong[end - 1] ^= 1;
    all.push(("size wrong".into(), [&wrong[..], &second].concat()));
    let garbage = [&plain[..], &second[..10], &[0xff; 30]].concat();
    all.push(("a member that is none".into(), garbage));
    all
}

fn zstd() -> Vec<(String, Vec<u8>)> {
    use zstd_safe::CParameter;
    let mut all = Vec::new();
    let encode = |input: &[u8], parameters: &[CParameter]| {
        let mut context = zstd_safe::CCtx::create();
        for &parameter in parameters {
            context.set_parameter(parameter).expect("a parameter");
        }
        let mut out = Vec::with_capacity(zstd_safe::compress_bound(input.len()) + 64);
        context.compress2(&mut out, input).expect("compresses");
        out
    };
    let (body, long) = (body(), long_body());
    let checked = encode(&body, &[CParameter::ChecksumFlag(true)]);
    all.push(("content size".into(), encode(&body, &[])));
    all.push(("no content size".into(), encode(&body, &[CParameter::ContentSizeFlag(false)])));
    all.push(("long with content size".into(), encode(&long, &[])));
    for log in [10, 17, 20, 23, 24, 27] {
        let parameters = [CParameter::WindowLog(log), CParameter::ContentSizeFlag(false)];
        all.push((format!("window 2^{log}"), encode(&long, &parameters)));
    }
    for exponent in [15u8, 17, 18, 20, 21] {
        // A frame header that asks for a larger window than there is data.
        let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, exponent << 3];
        bytes.extend_from_slice(&((body.len() as u32) << 3 | 1).to_le_bytes()[..3]);
        bytes.extend_from_slice(&body);
        all.push((format!("one raw block, window exponent {exponent}"), bytes));
    }
    all.push(("checksum".into(), checked.clone()));
    for cut in 1..6 {
        all.push((format!("checksum cut by {cut}"), checked[..checked.len() - cut].to_vec()));
    }
    let mut wrong = checked.clone();
    let end = wrong.len() - 1;
    wrong[end] ^= 1;
    all.push(("checksum wrong".into(), wrong));
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let plain = compress(Compression::Zstd, &body);
    all.push(("skippable frame first".into(), [&skippable[..], &plain].concat()));
    all.push(("skippable frame last".into(), [&plain[..], &skippable].concat()));
    for keep in 1..skippable.len() {
        let bytes = [&plain[..], &skippable[..keep]].concat();
        all.push((format!("and {keep} bytes of a skippable frame"), bytes));
    }
    for keep in 1..plain.len() {
        let bytes = [&plain[..], &plain[..keep]].concat();
        all.push((format!("and {keep} bytes of another"), bytes));
    }
    // The Java reader takes pieces of 131 075 bytes; put an end on that border.
    let far = [
        vec![0x50, 0x2a, 0x4d, 0x18],
        (131_075u32 - 8 - plain.len() as u32).to_le_bytes().to_vec(),
    ]
    .concat();
    let mut padded = far;
    padded.resize(131_075 - plain.len(), 0);
    padded.extend_from_slice(&plain);
    for tail in [0, 1, 3, 4, 5] {
        let bytes = [&padded[..], &plain[..tail]].concat();
        all.push((format!("ends on a piece's border, {tail} bytes behind it"), bytes));
    }
    let with_dictionary = [0x28, 0xb5, 0x2f, 0xfd, 0x01, 0x58, 0x07, 0x01, 0x00, 0x00];
    all.push(("a dictionary".into(), with_dictionary.to_vec()));
    all
}
