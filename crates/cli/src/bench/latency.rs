//! `thalweg bench latency`: produces at a rate and fetches at the same time, in one process, so
//! that both ends have one clock.
//!
//! Each partition is written by one connection, in order; its batches therefore arrive at the
//! consumer in the order of their sending, and need no mark to be recognised by.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::args::{BatchOf, Fetching, LatencyArgs, Load, Verify};
use super::fetch::{self, FetchWorker};
use super::harness::{self, Clock, Plan, Worker};
use super::produce::{self, ProduceWorker};
use super::report::Report;
use super::stats::{Shared, Stats};
use super::{BenchError, Outcome, data, topic};

/// Length of a run when nothing limits it.
const DEFAULT_LENGTH: Duration = Duration::from_secs(10);
/// Distinct batches.
const POOL: u32 = 64;
/// How long the consumers go on after the producers, for what is still on its way.
const DRAIN: Duration = Duration::from_millis(500);

/// When the batches that are on their way were meant to be sent, by partition.
pub struct Trail {
    partitions: Vec<Mutex<VecDeque<Instant>>>,
}

impl Trail {
    /// For a topic with so many partitions.
    pub fn new(partitions: usize) -> Trail {
        Trail { partitions: (0..partitions).map(|_| Mutex::default()).collect() }
    }

    /// A batch goes off.
    pub fn sent(&self, partition: i32, intended: Instant) {
        self.with(partition, |queue| queue.push_back(intended));
    }

    /// A batch arrived: when was it meant to be sent?
    pub fn arrived(&self, partition: i32) -> Option<Instant> {
        self.with(partition, VecDeque::pop_front).flatten()
    }

    /// Batches that did not arrive.
    pub fn left(&self) -> usize {
        self.partitions.iter().map(|p| p.lock().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }

    fn with<T>(&self, partition: i32, f: impl FnOnce(&mut VecDeque<Instant>) -> T) -> Option<T> {
        let queue = self.partitions.get(usize::try_from(partition).ok()?)?;
        Some(f(&mut queue.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Producers and consumers: even numbers produce, odd ones fetch.
struct Both {
    produce: ProduceWorker,
    fetch: FetchWorker,
}

enum LoadConnection {
    Produce(Box<produce::LoadConnection>),
    Fetch(Box<fetch::LoadConnection>),
}

impl Worker for Both {
    type LoadConnection = LoadConnection;

    async fn open(&self, index: usize) -> Result<LoadConnection, BenchError> {
        Ok(match index % 2 {
            0 => LoadConnection::Produce(Box::new(self.produce.open(index / 2).await?)),
            _ => LoadConnection::Fetch(Box::new(self.fetch.open(index / 2).await?)),
        })
    }

    async fn run(&self, link: LoadConnection, clock: Clock, shared: &Shared) -> Stats {
        match link {
            LoadConnection::Produce(link) => self.produce.run(*link, clock, shared).await,
            LoadConnection::Fetch(link) => {
                let clock = Clock { end: clock.end.map(|end| end + DRAIN), ..clock };
                // Records and bytes are counted once, by the producers.
                let progress = Shared::default();
                let stats = self.fetch.run(*link, clock, &progress).await;
                Stats { errors: stats.errors, end_to_end: stats.end_to_end, ..Stats::default() }
            }
        }
    }
}

/// Runs the command.
pub fn run(args: &LatencyArgs) -> Result<Outcome, BenchError> {
    let load = Load {
        record_size: args.record_size,
        batch_bytes: args.batch_bytes,
        batch_of: BatchOf::Payload,
        compression: args.compression,
        compress_ratio: args.compress_ratio,
        pool: POOL,
    };
    produce::check(&load, &args.sending)?;
    if args.limits.records.is_some() {
        return Err(BenchError::Usage("latency runs for --seconds, not for --records".into()));
    }
    let pool = data::build_pool(&load, produce::now_ms())?;
    let runtime = harness::runtime()?;
    let target = &args.target;
    let in_flight = args.sending.in_flight as usize;
    let (cluster, topic, begin) = runtime.block_on(async {
        let cluster = harness::connect(&target.bootstrap, &args.limits, in_flight).await?;
        let topic = topic::prepare(&cluster, target, true).await?;
        let begin = topic::offsets(&cluster, &target.topic, &topic, topic::LATEST).await?;
        Ok::<_, BenchError>((cluster, topic, begin))
    })?;
    let partitions = topic.partitions.len();
    let connections =
        (args.connections as usize).max(harness::leaders(&topic).len()).min(partitions);
    let trail = Arc::new(Trail::new(partitions));
    let options = cluster.options().clone();
    let worker = Both {
        produce: ProduceWorker {
            options: options.clone(),
            cluster: cluster.clone(),
            topic_name: target.topic.clone(),
            topic: topic.clone(),
            pool,
            sending: args.sending.clone(),
            connections,
            partitions_per_request: 1,
            rate: Some(args.rate),
            exclusive: true,
            trail: Some(trail.clone()),
            acknowledged: Arc::new(AtomicU64::new(0)),
        },
        fetch: FetchWorker {
            options,
            cluster: cluster.clone(),
            topic_name: target.topic.clone(),
            topic: topic.clone(),
            fetching: Fetching {
                max_wait_ms: 500,
                min_bytes: 1,
                max_bytes: 50 << 20,
                partition_max_bytes: 1 << 20,
                verify: Verify::Records,
            },
            record_size: None,
            connections,
            begin,
            end: None,
            records: None,
            trail: Some(trail.clone()),
        },
    };
    let shared = Arc::new(Shared::new(None));
    let plan = Plan {
        connections: 2 * connections,
        limits: &args.limits,
        length: Some(args.limits.seconds.unwrap_or(DEFAULT_LENGTH)),
        output: &args.output,
        expected: None,
    };
    let mut run = harness::run(worker, &shared, &plan)?;
    if target.delete_after {
        runtime.block_on(topic::delete(&cluster, target))?;
    }
    let left = trail.left() as u64;
    if left > 0 && !run.interrupted && args.sending.acks != 0 {
        *run.stats.errors.entry("NOT_ARRIVED".into()).or_default() += left;
    }
    let mut report = Report::new("latency", &target.topic, &run);
    report.set("open_loop", true);
    report.set(
        "config",
        serde_json::json!({
            "partitions": partitions,
            "record_size": args.record_size,
            "batch_bytes": args.batch_bytes,
            "compression": args.compression.name(),
            "acks": args.sending.acks,
            "idempotent": args.sending.idempotent,
            "in_flight": args.sending.in_flight,
            "connections": connections,
            "rate": args.rate,
        }),
    );
    report.latency("latency_ms", "acknowledged after", &run.stats.latency);
    report.latency("end_to_end_ms", "at the consumer after", &run.stats.end_to_end);
    report.print(&run, args.output.json);
    Ok(run.outcome())
}
