//! Options of `thalweg bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use thalweg_records::Compression;

use crate::client::bootstrap;

/// Options of `thalweg bench`.
#[derive(Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub(super) command: BenchCommand,
}

#[derive(Subcommand)]
pub(super) enum BenchCommand {
    /// Produce as fast as the cluster takes it, or at a rate.
    Produce(ProduceArgs),
    /// Fetch what a topic holds (catch up), or what arrives (tail).
    Fetch(FetchArgs),
    /// Produce at a rate and fetch at the same time: how long a record takes to be acknowledged,
    /// and how long to reach a consumer.
    Latency(LatencyArgs),
    /// What this client's consumer and producer cost: polls, pauses, writes.
    Client(super::client::ClientArgs),
    /// What rebalances cost a consumer group: simulated members join, leave, crash and come back.
    Group(super::group::GroupArgs),
    /// Serve produce and fetch with as little as can be done: a reference for the others.
    #[command(hide = true)]
    Floor(FloorArgs),
}

/// Which cluster and topic.
#[derive(Args, Clone)]
pub(super) struct Target {
    /// Brokers to begin with: host:port,host:port [default: $THALWEG_BOOTSTRAP, then 127.0.0.1:9092]
    #[arg(short, long = "bootstrap-server", alias = "bootstrap", default_value_t = bootstrap(), hide_default_value = true)]
    pub bootstrap: String,
    /// Topic; created if it is missing.
    #[arg(long, default_value = "bench")]
    pub topic: String,
    /// Partitions: what the topic is created with, and must have if it is there [default: what it
    /// has, or 1].
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..))]
    pub partitions: Option<i32>,
    /// Replication factor for a topic that is created [default: the broker's].
    #[arg(long, value_parser = clap::value_parser!(i16).range(1..))]
    pub replication_factor: Option<i16>,
    /// Config of a topic that is created, as name=value; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub topic_config: Vec<String>,
    /// Delete the topic first if it is there.
    #[arg(long)]
    pub recreate: bool,
    /// Delete the topic after the run.
    #[arg(long)]
    pub delete_after: bool,
}

/// What the records are like.
#[derive(Args, Clone)]
pub(super) struct Load {
    /// Bytes of a record's value; at least 8, which hold its checksum and number.
    #[arg(long, default_value = "1024", value_parser = parse_size)]
    pub record_size: usize,
    /// Size of a batch in bytes.
    #[arg(long, default_value = "16384", value_parser = parse_size)]
    pub batch_bytes: usize,
    /// What --batch-bytes counts: bytes on the wire, as Java's batch.size does, or payload before
    /// compression.
    #[arg(long, value_enum, default_value = "wire")]
    pub batch_of: BatchOf,
    /// none, gzip, snappy, lz4 or zstd.
    #[arg(long, default_value = "none", value_parser = parse_compression)]
    pub compression: Compression,
    /// How far the data lets itself be compressed: payload to compressed bytes.
    #[arg(long, default_value = "4", value_parser = parse_positive)]
    pub compress_ratio: f64,
    /// Distinct batches built before the run.
    #[arg(long, default_value = "256", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub pool: u32,
}

/// What a batch's size counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum BatchOf {
    Wire,
    Payload,
}

/// How connections send.
#[derive(Args, Clone)]
pub(super) struct Sending {
    /// 0, 1 or all.
    #[arg(long, default_value = "all", value_parser = parse_acks)]
    pub acks: i16,
    /// Requests in flight on each connection.
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u32).range(1..=10000))]
    pub in_flight: u32,
    /// Number batches as an idempotent producer does, one producer id for each connection.
    #[arg(long)]
    pub idempotent: bool,
}

/// How long.
#[derive(Args, Clone)]
pub(super) struct Limits {
    /// Length of the measured run.
    #[arg(long, value_parser = parse_seconds)]
    pub seconds: Option<Duration>,
    /// Records to produce or fetch, after which the run ends.
    #[arg(long, value_parser = parse_count)]
    pub records: Option<u64>,
    /// Time before the measured run whose records are not counted.
    #[arg(long, default_value = "0", value_parser = parse_seconds)]
    pub warmup_seconds: Duration,
    /// Time allowed for one request.
    #[arg(long, default_value = "30", value_parser = parse_seconds)]
    pub request_timeout_seconds: Duration,
    /// Threads that make the load.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
}

/// How results are shown.
#[derive(Args, Clone)]
pub(super) struct Output {
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Show no progress.
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Args, Clone)]
pub(super) struct ProduceArgs {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub load: Load,
    #[command(flatten)]
    pub sending: Sending,
    /// Connections, each a producer of its own to all partitions.
    #[arg(long, default_value = "4", value_parser = clap::value_parser!(u32).range(1..=100000))]
    pub connections: u32,
    /// Batches, each for another partition, in one request; a producer that lingers or is under
    /// load sends several [default: 10, or as many as there are partitions].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub partitions_per_request: Option<u32>,
    /// Records per second over all connections [default: as fast as the cluster takes them].
    #[arg(long, value_parser = parse_positive)]
    pub rate: Option<f64>,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub output: Output,
}

/// How fetch requests ask.
#[derive(Args, Clone)]
pub(super) struct Fetching {
    /// Longest wait of the broker for --min-bytes.
    #[arg(long, default_value = "500", value_parser = clap::value_parser!(i32).range(0..))]
    pub max_wait_ms: i32,
    /// Bytes that make the broker answer at once.
    #[arg(long, default_value = "1", value_parser = parse_size_i32)]
    pub min_bytes: i32,
    /// Bytes of one response.
    #[arg(long, default_value = "50m", value_parser = parse_size_i32)]
    pub max_bytes: i32,
    /// Bytes of one partition in one response.
    #[arg(long, default_value = "1m", value_parser = parse_size_i32)]
    pub partition_max_bytes: i32,
    /// What is checked of the data that arrives.
    #[arg(long, value_enum, default_value = "records")]
    pub verify: Verify,
}

/// What is checked of the data that arrives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(super) enum Verify {
    /// Offsets without gaps.
    Offsets,
    /// Also the CRC of every batch.
    Crc,
    /// Also every record: count, and the checksum that `bench produce` puts into it.
    Records,
}

/// Where to begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum From {
    Earliest,
    Latest,
}

#[derive(Args, Clone)]
pub(super) struct FetchArgs {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub fetching: Fetching,
    /// Connections, each a consumer with its share of the partitions.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100000))]
    pub connections: u32,
    /// Where to begin. From the earliest offset the run ends where the topic ended when it began,
    /// unless --seconds or --records say otherwise; from the latest after 10 seconds.
    #[arg(long, value_enum, default_value = "earliest")]
    pub from: From,
    /// Bytes of a record's value, which make up `bytes` when records are not looked at.
    #[arg(long, value_parser = parse_size)]
    pub record_size: Option<usize>,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Clone)]
pub(super) struct LatencyArgs {
    #[command(flatten)]
    pub target: Target,
    /// Bytes of a record's value; at least 8.
    #[arg(long, default_value = "1024", value_parser = parse_size)]
    pub record_size: usize,
    /// Payload bytes of a batch; one record is what a producer sends that does not linger.
    #[arg(long, default_value = "1", value_parser = parse_size)]
    pub batch_bytes: usize,
    /// none, gzip, snappy, lz4 or zstd.
    #[arg(long, default_value = "none", value_parser = parse_compression)]
    pub compression: Compression,
    /// How far the data lets itself be compressed.
    #[arg(long, default_value = "4", value_parser = parse_positive)]
    pub compress_ratio: f64,
    #[command(flatten)]
    pub sending: Sending,
    /// Connections that produce, each to its share of the partitions, and as many that fetch.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100000))]
    pub connections: u32,
    /// Records per second over all connections.
    #[arg(long, default_value = "1000", value_parser = parse_positive)]
    pub rate: f64,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Clone)]
pub(super) struct FloorArgs {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1:9092")]
    pub listen: String,
    /// Directory for the partitions' files; emptied of them at the end.
    #[arg(long)]
    pub data: PathBuf,
    /// SO_SNDBUF of its connections, in bytes; 0 leaves it to the system. The default is what Kafka's
    /// `socket.send.buffer.bytes` is: how many bytes one call takes decides how often a sender waits.
    #[arg(long, value_name = "BYTES", default_value = "102400", value_parser = parse_size_i32)]
    pub send_buffer: i32,
}

/// A number of bytes: 16384, 16k, 1m.
pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    let bytes = parse_count_by(text, 1024)?;
    match usize::try_from(bytes) {
        Ok(bytes @ 1..=0x4000_0000) => Ok(bytes),
        _ => Err("must be between 1 and 1g bytes".into()),
    }
}

pub(super) fn parse_size_i32(text: &str) -> Result<i32, String> {
    match parse_count_by(text, 1024)?.try_into() {
        Ok(bytes @ 0..) => Ok(bytes),
        _ => Err("must be between 0 and 2g bytes".into()),
    }
}

/// A number of records: 1000, 10k, 5m.
pub(super) fn parse_count(text: &str) -> Result<u64, String> {
    match parse_count_by(text, 1000)? {
        0 => Err("must be above 0".into()),
        count => Ok(count),
    }
}

fn parse_count_by(text: &str, kilo: u64) -> Result<u64, String> {
    let (number, factor) = match text
        .trim()
        .to_ascii_lowercase()
        .as_str()
        .split_at_checked(text.trim().len().saturating_sub(1))
    {
        Some((number, "k")) => (number.to_owned(), kilo),
        Some((number, "m")) => (number.to_owned(), kilo * kilo),
        Some((number, "g")) => (number.to_owned(), kilo * kilo * kilo),
        _ => (text.trim().to_owned(), 1),
    };
    let number: u64 = number.parse().map_err(|_| format!("'{text}' is not a number"))?;
    number.checked_mul(factor).ok_or_else(|| format!("'{text}' is too large"))
}

pub(super) fn parse_positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("must be a number above 0".into()),
    }
}

pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0 * 365.0).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("must be a number of seconds".into()),
    }
}

pub(super) fn parse_compression(text: &str) -> Result<Compression, String> {
    Compression::from_name(text).ok_or_else(|| "must be none, gzip, snappy, lz4 or zstd".into())
}

pub(super) fn parse_acks(text: &str) -> Result<i16, String> {
    match text {
        "0" => Ok(0),
        "1" => Ok(1),
        "all" | "-1" => Ok(-1),
        _ => Err("must be 0, 1 or all".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts() {
        assert_eq!(parse_size("16k"), Ok(16384));
        assert_eq!(parse_size("1M"), Ok(1 << 20));
        assert_eq!(parse_count("5m"), Ok(5_000_000));
        assert_eq!(parse_count("7"), Ok(7));
        for bad in ["", "k", "0", "-1", "1x", "99999999999g", "1.5"] {
            assert!(parse_size(bad).is_err(), "{bad}");
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }
}
