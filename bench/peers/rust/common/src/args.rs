//! The command line that all peers understand.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::{Failure, failure};

/// How a consumer gets its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All partitions of the topic, assigned by hand, no group.
    Assign,
    /// A group of the classic protocol.
    Classic,
    /// A group of KIP-848.
    Consumer,
}

impl Mode {
    /// As on the command line and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Assign => "assign",
            Mode::Classic => "classic",
            Mode::Consumer => "consumer",
        }
    }
}

/// Where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At the first record.
    Earliest,
    /// Behind the last.
    Latest,
}

impl Start {
    /// As `auto.offset.reset` has it.
    pub fn name(self) -> &'static str {
        match self {
            Start::Earliest => "earliest",
            Start::Latest => "latest",
        }
    }
}

/// What is asked of the peer.
#[derive(Debug, Clone)]
pub struct Options {
    /// Brokers to begin with.
    pub bootstrap: String,
    /// The one topic of a run.
    pub topic: String,
    /// Configs of the client itself, by its own names; for a table of each at its best.
    pub sets: Vec<(String, String)>,
    /// What is measured.
    pub command: Command,
}

/// What is measured.
#[derive(Debug, Clone)]
pub enum Command {
    /// Records are polled.
    Poll(Poll),
    /// Records are polled while partitions are paused and resumed.
    Pause(Pause),
    /// Records are written.
    Write(Write),
}

/// Options of `poll`.
#[derive(Debug, Clone)]
pub struct Poll {
    /// How partitions are had.
    pub mode: Mode,
    /// Most records of one poll.
    pub records_max: usize,
    /// From the first record, or in an idle run from the first poll, to the window's beginning.
    pub warmup: Duration,
    /// Length of the window.
    pub length: Option<Duration>,
    /// Instead of a length: the window is from the first poll until so many records came.
    pub records: Option<u64>,
    /// Where reading begins.
    pub from: Start,
    /// The window does not wait for a record.
    pub idle: bool,
    /// All partitions are paused as soon as they are there.
    pub paused_all: bool,
    /// `fetch.min.bytes`.
    pub fetch_min_bytes: u32,
    /// `fetch.max.wait.ms`.
    pub fetch_wait: Duration,
    /// `max.partition.fetch.bytes`.
    pub partition_fetch_bytes: u32,
    /// `isolation.level`.
    pub isolation: String,
    /// How long one poll waits at most.
    pub poll_timeout: Duration,
}

/// Options of `pause`.
#[derive(Debug, Clone)]
pub struct Pause {
    /// Partitions of the topic.
    pub partitions: usize,
    /// Of which so many are paused at each poll.
    pub paused: usize,
    /// Most records of one poll.
    pub records_max: usize,
    /// From the first record to the window's beginning.
    pub warmup: Duration,
    /// Length of the window.
    pub length: Duration,
    /// How long one poll waits at most.
    pub poll_timeout: Duration,
}

/// Options of `write`.
#[derive(Debug, Clone)]
pub struct Write {
    /// Bytes of a value.
    pub record_size: usize,
    /// Records of the window.
    pub records: u64,
    /// Time before it in which records are written as well.
    pub warmup: Duration,
    /// Records after which that time is over.
    pub warmup_records: u64,
    /// `compression.type`.
    pub compression: String,
    /// `linger.ms`.
    pub linger: Duration,
    /// `batch.size`.
    pub batch_size: usize,
    /// `acks`.
    pub acks: String,
    /// `enable.idempotence`.
    pub idempotence: bool,
    /// `buffer.memory`.
    pub buffer_memory: usize,
    /// File of values, one after the other.
    pub payload: PathBuf,
}

impl Options {
    /// A fresh name for a group.
    pub fn group(&self) -> String {
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        format!("peer-{}-{now}", std::process::id())
    }
}

/// Reads the arguments of the process.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Options, Failure> {
    let mut arguments = arguments.skip(1);
    let command = arguments.next().ok_or_else(|| failure("poll, pause or write is missing"))?;
    let mut given = Given::default();
    while let Some(name) = arguments.next() {
        let Some(name) = name.strip_prefix("--") else {
            return Err(failure(format!("{name}: options begin with --")));
        };
        if name == "idle" || name == "paused-all" {
            given.values.insert(name.into(), "true".into());
            continue;
        }
        let value = arguments.next().ok_or_else(|| failure(format!("--{name} has no value")))?;
        if name == "set" {
            let (key, value) = value.split_once('=').ok_or_else(|| failure("--set key=value"))?;
            given.sets.push((key.into(), value.into()));
        } else {
            given.values.insert(name.into(), value);
        }
    }
    let bootstrap = given.text("bootstrap", None)?;
    let topic = given.text("topic", None)?;
    let command = match command.as_str() {
        "poll" => Command::Poll(given.poll()?),
        "pause" => Command::Pause(given.pause()?),
        "write" => Command::Write(given.write()?),
        other => return Err(failure(format!("{other}: poll, pause or write"))),
    };
    if let Some(unknown) = given.values.keys().next() {
        return Err(failure(format!("--{unknown} is not an option here")));
    }
    Ok(Options { bootstrap, topic, sets: given.sets, command })
}

#[derive(Default)]
struct Given {
    values: BTreeMap<String, String>,
    sets: Vec<(String, String)>,
}

impl Given {
    fn text(&mut self, name: &str, default: Option<&str>) -> Result<String, Failure> {
        self.values
            .remove(name)
            .or(default.map(str::to_string))
            .ok_or_else(|| failure(format!("--{name} is missing")))
    }

    fn number(&mut self, name: &str, default: Option<&str>) -> Result<u64, Failure> {
        let text = self.text(name, default)?;
        let wrong = || failure(format!("--{name} {text}: not a number of use here"));
        // 1k, 1m: binary, as they count bytes.
        let (digits, factor) = match text.strip_suffix(['k', 'm']) {
            Some(digits) if text.ends_with('k') => (digits, 1 << 10),
            Some(digits) => (digits, 1 << 20),
            None => (text.as_str(), 1),
        };
        digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(wrong)
    }

    fn size<T: TryFrom<u64>>(&mut self, name: &str, default: &str) -> Result<T, Failure> {
        let number = self.number(name, Some(default))?;
        T::try_from(number).map_err(|_| failure(format!("--{name} {number} is too large")))
    }

    fn time(&mut self, name: &str, default: Option<&str>) -> Result<Duration, Failure> {
        let text = self.text(name, default)?;
        let unit = if name.ends_with("-ms") { 1e-3 } else { 1.0 };
        let number = text.parse::<f64>().ok();
        number
            .and_then(|number| Duration::try_from_secs_f64(number * unit).ok())
            .filter(|time| *time < Duration::from_secs(1_000_000))
            .ok_or_else(|| failure(format!("--{name} {text}: not a time of use here")))
    }

    fn truth(&mut self, name: &str, default: &str) -> Result<bool, Failure> {
        match self.text(name, Some(default))?.as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(failure(format!("--{name} {other}: true or false"))),
        }
    }

    fn records_max(&mut self, default: &str) -> Result<usize, Failure> {
        match self.size("max-records", default)? {
            0 => Err(failure("--max-records is at least 1")),
            records => Ok(records),
        }
    }

    fn poll(&mut self) -> Result<Poll, Failure> {
        let mode = match self.text("mode", Some("assign"))?.as_str() {
            "assign" => Mode::Assign,
            "classic" => Mode::Classic,
            "consumer" => Mode::Consumer,
            other => return Err(failure(format!("--mode {other}: assign, classic or consumer"))),
        };
        let from = match self.text("from", Some("earliest"))?.as_str() {
            "earliest" => Start::Earliest,
            "latest" => Start::Latest,
            other => return Err(failure(format!("--from {other}: earliest or latest"))),
        };
        let records = match self.values.contains_key("records") {
            true => Some(self.number("records", None)?),
            false => None,
        };
        let length = match self.values.contains_key("seconds") {
            true => Some(self.time("seconds", None)?),
            false => None,
        };
        if records.is_some() == length.is_some() {
            return Err(failure("either --seconds or --records"));
        }
        Ok(Poll {
            mode,
            records_max: self.records_max("500")?,
            warmup: self.time("warmup-seconds", Some("0"))?,
            length,
            records,
            from,
            idle: self.truth("idle", "false")?,
            paused_all: self.truth("paused-all", "false")?,
            fetch_min_bytes: self.size("fetch-min-bytes", "1")?,
            fetch_wait: self.time("fetch-max-wait-ms", Some("500"))?,
            partition_fetch_bytes: self.size("max-partition-fetch-bytes", "1m")?,
            isolation: self.text("isolation", Some("read_uncommitted"))?,
            poll_timeout: self.time("poll-timeout-ms", Some("1000"))?,
        })
    }

    fn pause(&mut self) -> Result<Pause, Failure> {
        let partitions = self.size("partitions", "10")?;
        let paused = self.size("paused", "9")?;
        if paused >= partitions {
            return Err(failure("--paused is below --partitions"));
        }
        Ok(Pause {
            partitions,
            paused,
            records_max: self.records_max("1")?,
            warmup: self.time("warmup-seconds", Some("0"))?,
            length: self.time("seconds", None)?,
            poll_timeout: self.time("poll-timeout-ms", Some("100"))?,
        })
    }

    fn write(&mut self) -> Result<Write, Failure> {
        Ok(Write {
            record_size: self.size("record-size", "1024")?,
            records: self.number("records", None)?,
            warmup: self.time("warmup-seconds", Some("0"))?,
            warmup_records: match self.values.contains_key("warmup-records") {
                true => self.number("warmup-records", None)?,
                false => u64::MAX,
            },
            compression: self.text("compression", Some("none"))?,
            linger: self.time("linger-ms", Some("5"))?,
            batch_size: self.size("batch-size", "16384")?,
            acks: self.text("acks", Some("all"))?,
            idempotence: self.truth("idempotence", "true")?,
            buffer_memory: self.size("buffer-memory", "33554432")?,
            payload: PathBuf::from(self.text("payload", None)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, Failure> {
        parse(line.split_whitespace().map(str::to_string))
    }

    #[test]
    fn a_line_is_read() {
        let options = read(
            "peer poll --bootstrap h:1 --topic t --mode classic --max-records 5 --seconds 1.5 \
             --max-partition-fetch-bytes 1m --set a=b=c",
        )
        .unwrap();
        assert_eq!(options.sets, [("a".to_string(), "b=c".to_string())]);
        let Command::Poll(poll) = options.command else { panic!("poll") };
        assert_eq!(poll.mode, Mode::Classic);
        assert_eq!(poll.length, Some(Duration::from_millis(1500)));
        assert_eq!(poll.partition_fetch_bytes, 1 << 20);
        assert_eq!(poll.fetch_wait, Duration::from_millis(500));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for line in [
            "peer",
            "peer fly --bootstrap h:1 --topic t",
            "peer poll --bootstrap h:1 --topic t",
            "peer poll --bootstrap h:1 --topic t --seconds 1 --records 1",
            "peer poll --bootstrap h:1 --topic t --seconds 1 --max-records 0",
            "peer poll --bootstrap h:1 --topic t --seconds -1",
            "peer poll --bootstrap h:1 --topic t --seconds 1 --colour red",
            "peer pause --bootstrap h:1 --topic t --seconds 1 --partitions 3 --paused 3",
            "peer write --bootstrap h:1 --topic t --records 1",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
