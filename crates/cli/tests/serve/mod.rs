//! `thalweg serve` in a process of its own: what it makes of limits, of options and of its end.

mod descriptors;
mod options;
mod recovery;
mod signals;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use thalweg::Connection;
use thalweg_records::builder::BatchOptions;
use thalweg_testkit::requests;
use thalweg_wire::messages::{CreateTopicsRequest, ProduceRequest};
use thalweg_wire::{ErrorCode, Uuid};

use crate::limited::Limited;
use crate::records::THALWEG;

/// A directory that goes when it is dropped.
struct Data(PathBuf);

impl Data {
    fn new(name: &str) -> Data {
        let dir = std::env::temp_dir().join(format!("thalweg-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Data(dir)
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Broker {
    child: Child,
    address: String,
    metrics: String,
}

impl Broker {
    /// Starts a broker that may have `descriptors` files open.
    fn start(dir: &Path, descriptors: u64, options: &[&str]) -> Broker {
        Broker::start_by(&[], dir, descriptors, options)
    }

    /// The same by a program that becomes the broker.
    fn start_by(program: &[&str], dir: &Path, descriptors: u64, options: &[&str]) -> Broker {
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -n {descriptors}; exec \"$0\" \"$@\""))
            .args(program)
            .args([THALWEG, "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"])
            .args(options)
            .arg("--data")
            .arg(dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _limited = Limited::new(&child);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let after = |mark: &str| {
            let rest = line.split(mark).nth(1).unwrap_or_else(|| panic!("{mark} in {line:?}"));
            rest.split_whitespace().next().unwrap().to_owned()
        };
        Broker { address: after("PLAINTEXT://"), metrics: after("metrics=http://"), child }
    }

    /// A counter of `/metrics`.
    fn metric(&self, name: &str) -> u64 {
        let mut stream = TcpStream::connect(&self.metrics).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} in {text}")).parse().unwrap()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn batch(bytes: usize) -> Bytes {
    requests::batch(BatchOptions::default(), &[vec![7; bytes]])
}

async fn create(client: &Connection, name: &str, partitions: i32, config: (&str, &str)) -> Uuid {
    let topic = requests::topic(name, partitions, &[config]);
    let request = CreateTopicsRequest { timeout_ms: 30_000, ..requests::create(topic) };
    let response = client.send(&request).await.unwrap();
    assert_eq!(response.topics[0].error_code, ErrorCode::NONE, "{response:?}");
    response.topics[0].topic_id
}

/// Appends a record to each of some partitions; their offsets.
async fn produce(client: &Connection, topic: Uuid, parts: i32, bytes: usize) -> Vec<i64> {
    let batches = (0..parts).map(|index| (index, batch(bytes)));
    let request = ProduceRequest { timeout_ms: 30_000, ..requests::produce(topic, batches) };
    let response = client.send(&request).await.unwrap();
    let parts = response.responses[0].partition_responses.iter().map(|part| {
        assert_eq!(part.error_code, ErrorCode::NONE, "{part:?}");
        part.base_offset
    });
    parts.collect()
}
