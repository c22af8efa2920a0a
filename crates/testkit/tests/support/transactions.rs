//! Kafka's own transactional producers, and readers of what they write.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use thalweg_testkit::oracle::{Input, Output, Program};

/// What must come comes within that.
const WAIT: Duration = Duration::from_secs(60);
/// `transaction.timeout.ms` of all of them.
pub const TIMEOUT_MS: u64 = 60_000;

/// Kafka's own clients.
pub struct Clients {
    input: Input,
    output: BufReader<Output>,
    pub bootstrap: String,
}

impl Clients {
    pub fn start(bootstrap: &str) -> Clients {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/Transactions.java");
        let (input, output) = Program::source(source, "Transactions").start();
        Clients { input, output: BufReader::new(output), bootstrap: bootstrap.to_owned() }
    }

    pub fn ask(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    /// Commands that succeed.
    pub fn all(&mut self, commands: &[&str]) {
        for command in commands {
            assert_eq!(self.ask(command), "ok", "{command}");
        }
    }

    pub fn open(&mut self, name: &str) {
        let command = format!("open {name} {} {TIMEOUT_MS}", self.bootstrap);
        self.all(&[&command]);
    }

    /// What a reader of a partition sees.
    pub fn read(&mut self, isolation: &str, partition: i32) -> String {
        self.ask(&format!("read {isolation} {} t {partition}", self.bootstrap))
    }

    pub fn committed(&mut self, partition: i32) -> String {
        self.read("read_committed", partition)
    }

    /// Waits for what a transaction's end lets readers see: a producer hears of it before its markers are written.
    pub async fn until_committed(&mut self, partition: i32, expected: &str) {
        let deadline = Instant::now() + WAIT;
        loop {
            let seen = self.committed(partition);
            if seen == expected {
                return;
            }
            assert!(Instant::now() < deadline, "{seen} instead of {expected} in {partition}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
