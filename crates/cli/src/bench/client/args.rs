//! Options of `thalweg bench client`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use thalweg::IsolationLevel;
use thalweg_records::Compression;

use super::super::args::{
    From, parse_acks, parse_compression, parse_count, parse_positive, parse_seconds, parse_size,
    parse_size_i32,
};
use crate::client::bootstrap;

/// Options of `thalweg bench client`.
#[derive(Args)]
pub struct ClientArgs {
    #[command(subcommand)]
    pub(super) command: ClientCommand,
}

#[derive(Subcommand)]
pub(super) enum ClientCommand {
    /// Read a topic with polls of a few records, or of many (KAFKA-20535).
    Poll(PollArgs),
    /// Pause all partitions but one, another one before each poll (KAFKA-7548).
    Pause(PauseArgs),
    /// Read through a stream whose stage is slower than the network.
    Stream(StreamArgs),
    /// Write records as fast as the producer takes them.
    Write(WriteArgs),
    /// Write transactions, one after the other or at a rate.
    Transact(TransactArgs),
    /// Read a topic and write what is made of each record to another one, exactly once, through the transactional streams.
    Copy(CopyArgs),
    /// Write a record every millisecond and read it, until standard input ends; say when each was acknowledged and
    /// when it arrived. For `bench/leader_moves.py`, which moves the partition's leader meanwhile.
    Moves(MovesArgs),
}

fn parse_isolation(text: &str) -> Result<IsolationLevel, String> {
    match text {
        "read_uncommitted" => Ok(IsolationLevel::ReadUncommitted),
        "read_committed" => Ok(IsolationLevel::ReadCommitted),
        _ => Err("must be read_uncommitted or read_committed".into()),
    }
}

/// How the consumer comes by its partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Mode {
    /// All of the topic's, without a group.
    Assign,
    /// As the only member of a new classic group.
    Classic,
    /// As the only member of a new group of KIP-848.
    Consumer,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Assign => "assign",
            Mode::Classic => "classic",
            Mode::Consumer => "consumer",
        }
    }
}

/// What all of them have in common.
#[derive(Args, Clone)]
pub(super) struct Common {
    /// Brokers to begin with: host:port,host:port [default: $THALWEG_BOOTSTRAP, then 127.0.0.1:9092]
    #[arg(short, long = "bootstrap-server", alias = "bootstrap", default_value_t = bootstrap(), hide_default_value = true)]
    pub bootstrap: String,
    /// Topic; it must be there.
    #[arg(long, default_value = "bench")]
    pub topic: String,
    /// Threads of the runtime; with 1 everything runs on one.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
}

/// How the consumer fetches.
#[derive(Args, Clone)]
pub(super) struct Fetching {
    /// Bytes that make the broker answer at once (fetch.min.bytes).
    #[arg(long, default_value = "1", value_parser = parse_size_i32)]
    pub fetch_min_bytes: i32,
    /// Longest wait of the broker for them (fetch.max.wait.ms).
    #[arg(long, default_value = "500", value_parser = clap::value_parser!(u32))]
    pub fetch_max_wait_ms: u32,
    /// Bytes of one partition in one answer (max.partition.fetch.bytes).
    #[arg(long, default_value = "1m", value_parser = parse_size_i32)]
    pub max_partition_fetch_bytes: i32,
    /// Bytes fetched and held at most.
    #[arg(long, default_value = "64m", value_parser = parse_size)]
    pub fetch_budget: usize,
}

#[derive(Args)]
pub(super) struct PollArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub fetching: Fetching,
    /// How the consumer comes by its partitions.
    #[arg(long, value_enum, default_value = "assign")]
    pub mode: Mode,
    /// read_uncommitted or read_committed (isolation.level).
    #[arg(long, default_value = "read_uncommitted", value_parser = parse_isolation)]
    pub isolation: IsolationLevel,
    /// Records of one poll (max.poll.records).
    #[arg(long, default_value = "500", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_records: u32,
    /// Where to begin.
    #[arg(long, value_enum, default_value = "earliest")]
    pub from: From,
    /// Time from the first record to the begin of the measurement.
    #[arg(long, default_value = "0", value_parser = parse_seconds)]
    pub warmup_seconds: Duration,
    /// Length of the measurement.
    #[arg(long, value_parser = parse_seconds, required_unless_present = "records")]
    pub seconds: Option<Duration>,
    /// Nothing is expected to come: what it costs to wait.
    #[arg(long, requires = "seconds")]
    pub idle: bool,
    /// All partitions are paused as soon as they are there.
    #[arg(long, requires = "idle")]
    pub paused_all: bool,
    /// Records after which it ends; then it begins with the first poll.
    #[arg(long, value_parser = parse_count, conflicts_with = "seconds")]
    pub records: Option<u64>,
}

#[derive(Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub fetching: Fetching,
    /// Partitions that are read, from the first on.
    #[arg(long, default_value = "10", value_parser = clap::value_parser!(u32).range(1..=10000))]
    pub partitions: u32,
    /// How many of them are paused during each poll.
    #[arg(long, default_value = "9", value_parser = clap::value_parser!(u32))]
    pub paused: u32,
    /// Records of one poll.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_records: u32,
    /// Time before the measurement.
    #[arg(long, default_value = "1", value_parser = parse_seconds)]
    pub warmup_seconds: Duration,
    /// Length of the measurement.
    #[arg(long, default_value = "10", value_parser = parse_seconds)]
    pub seconds: Duration,
}

#[derive(Args)]
pub(super) struct StreamArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub fetching: Fetching,
    /// How the source comes by its partitions.
    #[arg(long, value_enum, default_value = "assign")]
    pub mode: Mode,
    /// Records a second that the stage takes.
    #[arg(long, default_value = "20k", value_parser = parse_count)]
    pub rate: u64,
    /// Records that it takes at once, before it is busy for as long as they are worth.
    #[arg(long, default_value = "200", value_parser = parse_count)]
    pub burst: u64,
    /// One stream for each partition, each with its share of the rate.
    #[arg(long)]
    pub partitioned: bool,
    /// Records a second of partition 0 alone.
    #[arg(long, value_parser = parse_count, requires = "partitioned")]
    pub slow_rate: Option<u64>,
    /// Time from the first record to the begin of the measurement.
    #[arg(long, default_value = "0", value_parser = parse_seconds)]
    pub warmup_seconds: Duration,
    /// Records after which it ends, those of the warm-up included.
    #[arg(long, value_parser = parse_count)]
    pub records: u64,
}

#[derive(Args)]
pub(super) struct WriteArgs {
    #[command(flatten)]
    pub common: Common,
    /// Bytes of a record's value.
    #[arg(long, default_value = "1024", value_parser = parse_size)]
    pub record_size: usize,
    /// Records that are measured.
    #[arg(long, value_parser = parse_count)]
    pub records: u64,
    /// Time before that in which records are written as well.
    #[arg(long, default_value = "0", value_parser = parse_seconds)]
    pub warmup_seconds: Duration,
    /// Records after which that time is over, however much of it is left.
    #[arg(long, value_parser = clap::value_parser!(u64), requires = "warmup_seconds")]
    pub warmup_records: Option<u64>,
    /// none, gzip, snappy, lz4 or zstd (compression.type).
    #[arg(long, default_value = "none", value_parser = parse_compression)]
    pub compression: Compression,
    /// Time for a batch to fill (linger.ms).
    #[arg(long, default_value = "5")]
    pub linger_ms: u64,
    /// Bytes of a batch (batch.size).
    #[arg(long, default_value = "16384", value_parser = parse_size)]
    pub batch_size: usize,
    /// Bytes that wait to be acknowledged (buffer.memory).
    #[arg(long, default_value = "32m", value_parser = parse_size)]
    pub buffer_memory: usize,
    /// 0, 1 or all (acks).
    #[arg(long, default_value = "all", value_parser = parse_acks)]
    pub acks: i16,
    /// Whether batches are numbered (enable.idempotence).
    #[arg(long, default_value = "true", action = clap::ArgAction::Set)]
    pub idempotence: bool,
    /// File of values, one behind the other, that are sent in turn.
    #[arg(long)]
    pub payload: PathBuf,
}

#[derive(Args, Clone)]
pub(super) struct TransactArgs {
    #[command(flatten)]
    pub common: Common,
    /// Producers, each with a transactional id of its own and one transaction at a time.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=10000))]
    pub producers: u32,
    /// Records of a transaction.
    #[arg(long, default_value = "100", value_parser = parse_count)]
    pub records_per_transaction: u64,
    /// Partitions of a transaction, the topic's first, which get its records in turn.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100000))]
    pub partitions: u32,
    /// Bytes of a record's value.
    #[arg(long, default_value = "100", value_parser = parse_size)]
    pub record_size: usize,
    /// Transactions per second over all producers [default: each begins when the one before is committed].
    #[arg(long, value_parser = parse_positive)]
    pub rate: Option<f64>,
    /// Time before the measurement.
    #[arg(long, default_value = "1", value_parser = parse_seconds)]
    pub warmup_seconds: Duration,
    /// Length of the measurement.
    #[arg(long, default_value = "10", value_parser = parse_seconds)]
    pub seconds: Duration,
    /// Time for a batch to fill (linger.ms); a commit does not wait for it.
    #[arg(long, default_value = "5")]
    pub linger_ms: u64,
    /// The same without transactions: the producer is idempotent and flushes where it would commit.
    #[arg(long)]
    pub plain: bool,
}

#[derive(Args)]
pub(super) struct CopyArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub fetching: Fetching,
    /// Topic that is written; it must be there.
    #[arg(long)]
    pub to: String,
    /// Time between two commits.
    #[arg(long, default_value = "100", value_parser = clap::value_parser!(u64).range(1..=50000))]
    pub commit_interval_ms: u64,
    /// Records before the measurement.
    #[arg(long, default_value = "0", value_parser = clap::value_parser!(u64))]
    pub warmup_records: u64,
    /// Records after which it ends, those of the warm-up included.
    #[arg(long, value_parser = parse_count)]
    pub records: u64,
}

#[derive(Args)]
pub(super) struct MovesArgs {
    #[command(flatten)]
    pub common: Common,
    /// The partition that is written and read.
    #[arg(long, default_value = "0", value_parser = clap::value_parser!(i32).range(0..))]
    pub partition: i32,
    /// Bytes of a record's value; the first 8 are its number.
    #[arg(long, default_value = "100", value_parser = parse_size)]
    pub record_size: usize,
    /// Time between two records.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u64).range(1..=10000))]
    pub every_ms: u64,
    /// 1 or all (acks); with all, batches are numbered (enable.idempotence).
    #[arg(long, default_value = "all", value_parser = parse_acks)]
    pub acks: i16,
}
