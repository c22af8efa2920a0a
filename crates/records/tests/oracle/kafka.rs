//! Running Verdicts.java. Case file: i32 count; per case i32 pairs of config name and value (each
//! i32 length and bytes), i64 now, u8 client, i16 produce version, i32 length and bytes. Result file: i32
//! count; per case i16 code; for 0: i64 max timestamp, log append time, first and last offset,
//! timestamp and offset of the time index, i32 length and bytes stored; otherwise i32 count of record
//! errors, an i32 index each, i32 length and bytes of what Kafka said.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use thalweg_records::TimestampType;
use thalweg_records::validate::{BrokerCompression, Origin, ValidationConfig};

use super::cases::Case;

pub enum Verdict {
    Stored {
        max_timestamp: i64,
        log_append_time: i64,
        first_offset: i64,
        last_offset: i64,
        time_index: (i64, i64),
        stored: Vec<u8>,
    },
    Refused {
        code: i16,
        indexes: Vec<i32>,
        said: String,
    },
}

pub fn judge(jars: &OsStr, cases: &[Case]) -> Vec<Verdict> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("oracle-{}", std::process::id()));
    let logs = dir.join("logs");
    std::fs::create_dir_all(&logs).expect("scratch directory");
    let case_file = dir.join("cases");
    let result_file = dir.join("verdicts");
    std::fs::write(&case_file, encode(cases)).expect("cases written");
    let class_path = Path::new(jars).join("*");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("oracle").join("Verdicts.java");
    // A virtual machine of its own: some cases claim all the memory that there is.
    run(Command::new("java")
        .args(["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"])
        .args([class_path.as_os_str(), source.as_os_str()])
        .args([&case_file, &result_file, &logs]));
    let bytes = std::fs::read(&result_file).expect("verdicts");
    let verdicts = decode(&bytes);
    std::fs::remove_dir_all(&dir).expect("scratch directory removed");
    verdicts
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {}\n{err}", output.status);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as i32).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn encode(cases: &[Case]) -> Vec<u8> {
    let mut out = (cases.len() as i32).to_be_bytes().to_vec();
    for case in cases {
        let config = topic_config(&case.config);
        out.extend_from_slice(&(config.len() as i32).to_be_bytes());
        for (name, value) in config {
            put_text(&mut out, &name);
            put_text(&mut out, &value);
        }
        out.extend_from_slice(&case.now.to_be_bytes());
        let (client, version) = match case.origin {
            Origin::Client { produce_version } => (true, produce_version),
            Origin::Coordinator => (false, 0),
        };
        out.push(u8::from(client));
        out.extend_from_slice(&version.to_be_bytes());
        out.extend_from_slice(&(case.bytes.len() as i32).to_be_bytes());
        out.extend_from_slice(&case.bytes);
    }
    out
}

/// A topic's configuration in Kafka's words.
fn topic_config(config: &ValidationConfig) -> Vec<(String, String)> {
    let compression = match config.compression {
        BrokerCompression::Producer => "producer",
        BrokerCompression::Fixed(spec) if spec.codec().name() == "none" => "uncompressed",
        BrokerCompression::Fixed(spec) => spec.codec().name(),
    };
    let mut pairs = vec![
        ("compression.type", compression.to_owned()),
        ("cleanup.policy", if config.compact { "compact" } else { "delete" }.to_owned()),
        (
            "message.timestamp.type",
            match config.timestamp_type {
                TimestampType::CreateTime => "CreateTime",
                TimestampType::LogAppendTime => "LogAppendTime",
            }
            .to_owned(),
        ),
        ("message.timestamp.before.max.ms", config.timestamp_before_max_ms.to_string()),
        ("message.timestamp.after.max.ms", config.timestamp_after_max_ms.to_string()),
        ("max.message.bytes", config.max_message_bytes.to_string()),
        ("max.decompressed.message.bytes", config.max_decompressed_message_bytes.to_string()),
    ];
    let level;
    if let BrokerCompression::Fixed(spec) = config.compression
        && matches!(compression, "gzip" | "lz4" | "zstd")
    {
        level = format!("compression.{compression}.level");
        pairs.push((&level, spec.level().to_string()));
    }
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes(&mut self, n: usize) -> &[u8] {
        let (head, tail) = self.0.split_at_checked(n).expect("verdicts are complete");
        self.0 = tail;
        head
    }
    fn i16(&mut self) -> i16 {
        i16::from_be_bytes(self.bytes(2).try_into().expect("two"))
    }
    fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.bytes(4).try_into().expect("four"))
    }
    fn i64(&mut self) -> i64 {
        i64::from_be_bytes(self.bytes(8).try_into().expect("eight"))
    }
    fn sized(&mut self) -> Vec<u8> {
        let n = usize::try_from(self.i32()).expect("a length");
        self.bytes(n).to_vec()
    }
}

fn decode(bytes: &[u8]) -> Vec<Verdict> {
    let mut r = Reader(bytes);
    let count = r.i32();
    let verdicts = (0..count)
        .map(|_| match r.i16() {
            0 => Verdict::Stored {
                max_timestamp: r.i64(),
                log_append_time: r.i64(),
                first_offset: r.i64(),
                last_offset: r.i64(),
                time_index: (r.i64(), r.i64()),
                stored: r.sized(),
            },
            code => {
                let count = r.i32();
                let indexes = (0..count).map(|_| r.i32()).collect();
                let said = String::from_utf8_lossy(&r.sized()).into_owned();
                Verdict::Refused { code, indexes, said }
            }
        })
        .collect();
    assert!(r.0.is_empty(), "bytes behind the last verdict");
    verdicts
}
