//! Kafka's own classes as the oracle: found by `THALWEG_KAFKA_JARS`, asked through a small Java
//! program. Everything that goes wrong once the variable is set is a failure.

// Each test binary uses its own part of this.
#![allow(dead_code)]

pub mod fixtures;
pub mod kafka;
#[path = "../../../testkit/src/oracle.rs"]
pub mod oracle;
#[path = "../../../testkit/src/ports.rs"]
mod ports;

use std::io::Write as _;
use std::path::PathBuf;

use oracle::Program;

/// The class path of a node, or `None`, with a word about it, if there is none.
pub fn class_path() -> Option<String> {
    oracle::jars().map(|folder| folder.join("*").display().to_string())
}

/// A directory of its own for this run of a test.
pub fn scratch(name: &str) -> PathBuf {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a scratch directory");
    path
}

/// Runs a Java program of `tests/oracle` on lines, gives the lines it writes.
pub fn ask(program: &str, lines: &[String]) -> Vec<String> {
    let source = format!("{}/tests/oracle/{program}.java", env!("CARGO_MANIFEST_DIR"));
    let (mut input, output) = Program::source(source, program).start();
    let lines_in = lines.join("\n") + "\n";
    // Dropped at the end, it ends the program's input.
    let writer = std::thread::spawn(move || input.write_all(lines_in.as_bytes()));
    let done = output.finish();
    let errors = done.errors;
    assert_eq!(done.status, 0, "{program} failed: {errors}");
    writer.join().expect("the writer").expect("java reads its input");
    let answers: Vec<String> = done.output.lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), lines.len(), "answers of {program}: {errors}");
    answers
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with padding.
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    let mut out = String::new();
    for chunk in bytes.as_ref().chunks(3) {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(*chunk.get(i).unwrap_or(&0)));
        for digit in 0..4 {
            match digit <= chunk.len() {
                true => out.push(char::from(ALPHABET[(bits >> (18 - 6 * digit) & 63) as usize])),
                false => out.push('='),
            }
        }
    }
    out
}

/// The bytes behind base64.
pub fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut bits = 0u32;
    let mut count = 0;
    for c in text.bytes().filter(|c| *c != b'=') {
        let digit = ALPHABET.iter().position(|known| *known == c).expect("base64");
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}

/// The text behind base64.
pub fn text_from_base64(text: &str) -> String {
    String::from_utf8(from_base64(text)).expect("UTF-8")
}
