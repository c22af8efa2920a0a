//! A short run of what the fuzz targets for records do: what lies in `fuzz/corpus`, and damaged batches
//! from the oracle's cases, whose damage differs from commit to commit.

#[path = "../../../fuzz/src/records.rs"]
mod bodies;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use thalweg_random::{Random, seeds};

use crate::oracle::cases;

type Body = fn(&[u8]);
const BODIES: [(&str, Body); 3] = [
    ("records_validation", bodies::validation),
    ("records_streams", bodies::streams),
    ("records_round_trip", bodies::round_trip),
];

/// Runs a target; a finding is shown as a file of the corpus would hold it.
fn run(name: &str, body: Body, data: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| body(data))).is_err() {
        let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
        panic!("{name} fails for {hex}; put it into fuzz/corpus/{name}/");
    }
}

/// Files of hexadecimal digits: findings of the past, and one of each kind that a target knows.
#[test]
fn the_corpus_is_replayed() {
    for (name, body) in BODIES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
        let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        let mut count = 0;
        for file in files {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
            let data: Vec<u8> = digits.chunks(2).map(|pair| byte(pair).unwrap()).collect();
            run(name, body, &data);
            count += 1;
        }
        assert!(count > 0, "{name} has no corpus");
    }
}

#[test]
fn damaged_batches() {
    let mut random = Random::new(seeds::base(1));
    let mut batches: Vec<Vec<u8>> = cases::all().into_iter().map(|case| case.bytes).collect();
    // The large ones take most of the time and are damaged as the small ones are.
    batches.retain(|bytes| bytes.len() < 4096);
    assert!(batches.len() > 1_000);
    for _ in 0..4_000 {
        let batch = &batches[random.below(batches.len())];
        let mut data = vec![random.next_u64() as u8, random.next_u64() as u8];
        data.extend(batch);
        for _ in 0..random.below(4) {
            let at = random.below(data.len());
            data[at] = random.next_u64() as u8;
        }
        run("records_validation", bodies::validation, &data);
        run("records_streams", bodies::streams, &data[1..]);
        run("records_round_trip", bodies::round_trip, &data[1..data.len().min(600)]);
    }
}

/// With `THALWEG_RECORD=1` writes a corpus of one good batch of each codec.
#[test]
fn a_corpus_of_good_batches_can_be_written() {
    if std::env::var_os("THALWEG_RECORD").is_none() {
        return;
    }
    for (name, _) in BODIES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (index, codec) in cases::CODECS.into_iter().enumerate() {
            let mut body = Vec::new();
            for _ in 0..2 {
                // Length, attributes, deltas, no key, a value of one byte, no headers.
                body.extend([14, 0, 0, 0, 1, 2, b'v', 0]);
            }
            let packed = cases::compress(codec, &body);
            let mut data = vec![u8::try_from(index).unwrap()];
            if name == "records_validation" {
                data = vec![0x80, u8::try_from(index).unwrap()];
                let mut batch = vec![0; thalweg_records::batch::HEADER_LEN];
                batch[22] = codec as u8;
                batch[60] = 1;
                data.extend(batch);
            }
            data.extend(packed);
            let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
            std::fs::write(folder.join(format!("good-{codec:?}.hex").to_lowercase()), hex).unwrap();
        }
    }
}
