//! Every message and version against Kafka's own classes: `oracle/WireOracle.java` fills messages
//! at random and says which bytes and which JSON Kafka makes of them.
//!
//! Runs when `THALWEG_KAFKA_JARS` names the folder with Kafka 4.4.0's jars. `THALWEG_SEED_BASE`
//! and `THALWEG_ORACLE_CASES` (per message and version) widen the search.

use crate::common;
use crate::oracle::{self, Program};

use std::collections::BTreeSet;
use std::io::{BufReader, Read};

use bytes::Bytes;
use common::forms;
use serde_json::Value;
use thalweg_wire::error::{Decoded, EncodeError};
use thalweg_wire::json::inspect;
use thalweg_wire::table::{MESSAGES, Visit, visit};
use thalweg_wire::{Message, Reader, Writer};

/// Messages that Kafka does not have.
const OURS: [&str; 1] = ["GroupRebalances"];

/// One message as Kafka's class sees it.
struct Case {
    name: String,
    version: i16,
    filled: Bytes,
    /// In its own version; `None` where the class refuses.
    written: Option<Vec<u8>>,
    json: Value,
    other_version: i16,
    written_in_other: Option<Vec<u8>>,
}

/// The oracle's output, case by case.
struct Cases<R> {
    input: R,
    count: u32,
}

impl<R: Read> Cases<R> {
    fn number(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.input.read_exact(&mut bytes).expect("the oracle's output ends early");
        u32::from_be_bytes(bytes)
    }

    fn part(&mut self) -> Option<Vec<u8>> {
        let len = self.number();
        if len == u32::MAX {
            return None;
        }
        let mut bytes = vec![0; len as usize];
        self.input.read_exact(&mut bytes).expect("the oracle's output ends early");
        Some(bytes)
    }

    fn version(&mut self) -> i16 {
        let mut bytes = [0; 2];
        self.input.read_exact(&mut bytes).expect("the oracle's output ends early");
        i16::from_be_bytes(bytes)
    }
}

impl<R: Read> Iterator for Cases<R> {
    type Item = Case;

    fn next(&mut self) -> Option<Case> {
        let class = String::from_utf8(self.part().expect("a name")).expect("a class name");
        if class.is_empty() {
            assert_eq!(self.number(), self.count, "cases announced and read");
            return None;
        }
        self.count += 1;
        let known = |name: &str| MESSAGES.iter().any(|(n, _, _)| *n == name);
        // Kafka's classes of requests, responses and headers end in "Data", messages do not.
        let name = match class.strip_suffix("Data") {
            Some(short) if !known(&class) => short.to_owned(),
            _ => class,
        };
        Some(Case {
            name,
            version: self.version(),
            filled: self.part().expect("a message").into(),
            written: self.part(),
            json: match self.part().expect("a document") {
                text if text.is_empty() => Value::Null,
                text => serde_json::from_slice(&text).expect("the oracle's JSON"),
            },
            other_version: self.version(),
            written_in_other: self.part(),
        })
    }
}

/// Whether two documents say the same. Numbers that are not finite are text in Kafka's documents
/// and null in ours; the bytes, compared as well, tell them apart.
fn same(java: &Value, ours: &Value) -> bool {
    match (java, ours) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| same(v, w)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(v, w)| same(v, w))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            a.as_f64().map(f64::to_bits) == b.as_f64().map(f64::to_bits)
        }
        (Value::String(a), Value::Null) => {
            matches!(a.as_str(), "NaN" | "Infinity" | "-Infinity")
        }
        _ => java == ours,
    }
}

/// Reads a message in one version, or takes its default where there are no bytes, and writes it in
/// another.
struct Transcode<'a> {
    bytes: Option<&'a Bytes>,
    from: i16,
    to: i16,
}

impl Visit for Transcode<'_> {
    type Output = Decoded<Result<Vec<u8>, EncodeError>>;

    fn visit<M: Message>(self) -> Self::Output {
        let message = match self.bytes {
            Some(bytes) => M::decode(&mut Reader::shared(bytes), self.from)?,
            None => M::default(),
        };
        let mut w = Writer::new();
        Ok(message.encode(&mut w, self.to).map(|()| w.to_vec()))
    }
}

/// Whether the message was filled at random, or has only defaults.
fn is_filled(case: &Case) -> bool {
    !case.json.is_null()
}

/// What differs, if anything.
fn difference(case: &Case) -> Option<String> {
    if is_filled(case)
        && let Some(what) = difference_in_own_version(case)
    {
        return Some(what);
    }
    let bytes = is_filled(case).then_some(&case.filled);
    let transcode = Transcode { bytes, from: case.version, to: case.other_version };
    let ours = match visit(&case.name, transcode) {
        Some(Ok(written)) => written,
        other => return Some(format!("transcoding gives {other:?}")),
    };
    match (&case.written_in_other, ours) {
        (Some(java), Ok(ours)) if *java == ours => None,
        (None, Err(_)) => None,
        (java, ours) => Some(format!(
            "written in version {}\n  kafka: {java:02x?}\n  ours:  {ours:02x?}",
            case.other_version
        )),
    }
}

fn difference_in_own_version(case: &Case) -> Option<String> {
    let outcome = match inspect(&case.name, &case.filled, case.version) {
        None => return Some("unknown message".into()),
        Some(Err(e)) => return Some(format!("refused: {e}")),
        Some(Ok(outcome)) => outcome,
    };
    let (json, written, left) = outcome;
    if left != 0 {
        return Some(format!("{left} bytes left"));
    }
    if !same(&case.json, &json) {
        return Some(format!("JSON\n  kafka: {}\n  ours:  {json}", case.json));
    }
    match written {
        Err(e) => Some(format!("cannot be written again: {e}")),
        Ok(bytes) if Some(&bytes) != case.written.as_ref() => {
            Some(format!("bytes\n  kafka: {:02x?}\n  ours:  {bytes:02x?}", case.written))
        }
        Ok(_) => forms::difference(&case.name, &case.filled, case.version).err(),
    }
}

#[test]
fn every_message_and_version_is_as_kafka_reads_and_writes_it() {
    let Some(jars) = oracle::jars() else { return };
    let setting = |name: &str, or: &str| std::env::var(name).unwrap_or_else(|_| or.into());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/WireOracle.java");
    let program = Program::source(source, "WireOracle").arg(jars.display());
    let program = program.arg(setting("THALWEG_SEED_BASE", "1"));
    let (_, output) = program.arg(setting("THALWEG_ORACLE_CASES", "24")).start();
    let mut output = BufReader::with_capacity(1 << 20, output);

    let mut covered = BTreeSet::new();
    let mut failed = BTreeSet::new();
    let mut views = 0u32;
    let mut refs = 0u32;
    let mut refused = 0u32;
    let mut count = 0u32;
    for case in (Cases { input: &mut output, count: 0 }) {
        count += 1;
        if is_filled(&case) {
            covered.insert((case.name.clone(), case.version));
        }
        refused += u32::from(case.written_in_other.is_none());
        views += u32::from(forms::has_view(&case.name));
        refs += u32::from(forms::has_ref(&case.name));
        if let Some(what) = difference(&case)
            && failed.insert((case.name.clone(), case.version))
            && failed.len() <= 10
        {
            eprintln!("{} v{}: {what:.800}", case.name, case.version);
        }
    }
    let done = output.into_inner().finish();
    assert_eq!(done.status, 0, "the oracle failed: {}", done.errors);

    let all: BTreeSet<(String, i16)> = MESSAGES
        .iter()
        .filter(|(name, _, _)| !OURS.contains(name))
        .flat_map(|(name, lo, hi)| (*lo..=*hi).map(|v| ((*name).to_owned(), v)))
        .collect();
    assert!(failed.is_empty(), "{} of {} forms differ: {failed:?}", failed.len(), all.len());
    assert_eq!(MESSAGES.len() - OURS.len(), 278, "messages of Kafka 4.4.0");
    assert_eq!(covered, all, "messages and versions compared, and those there are");
    assert!(views > 0 && refs > 0, "views and refs were compared");
    assert!(refused > 0, "fields that another version lacks");
    eprintln!(
        "{count} cases: {} messages, {} forms; {views} through views, {refs} through refs, \
         {refused} refused in another version",
        MESSAGES.len(),
        all.len()
    );
}
