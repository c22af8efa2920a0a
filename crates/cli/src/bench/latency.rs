//! `thalweg bench latency`: produces at a rate and fetches at the same time, in one process, so
//! that both ends have one clock.
//!
//! A batch is recognised at the consumer by its offset, which its acknowledgement tells. With acks=0 there is none: each
//! partition is written by one connection, in order, and its batches arrive in the order of their sending.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::args::{BatchOf, Fetching, LatencyArgs, Load, Verify};
use super::fetch::{self, FetchWorker};
use super::harness::{self, Clock, Plan, Worker};
use super::produce::{self, ProduceWorker};
use super::report::Report;
use super::stats::{BrokerStats, Shared, Stats};
use super::{BenchError, Outcome, data, topic};

/// Length of a run when nothing limits it.
const DEFAULT_LENGTH: Duration = Duration::from_secs(10);
/// Distinct batches.
const POOL: u32 = 64;
/// How long the consumers go on after the producers, for what is still on its way.
const DRAIN: Duration = Duration::from_millis(500);

/// When the batches that are on their way were meant to be sent, by partition.
pub struct Trail {
    partitions: Vec<Mutex<Way>>,
}

/// The batches of one partition.
#[derive(Default)]
struct Way {
    /// Sent without an acknowledgement to come, in order: when they were meant to be.
    unacknowledged: VecDeque<Instant>,
    /// By offset: acknowledged, and not arrived.
    acknowledged: HashMap<i64, Instant>,
    /// By offset: arrived, and not acknowledged yet.
    arrived: HashMap<i64, Instant>,
}

impl Trail {
    /// For a topic with so many partitions.
    pub fn new(partitions: usize) -> Trail {
        Trail { partitions: (0..partitions).map(|_| Mutex::default()).collect() }
    }

    /// A batch goes off that is not acknowledged.
    pub fn sent(&self, partition: i32, intended: Instant) {
        self.with(partition, |way| way.unacknowledged.push_back(intended));
    }

    /// A batch is in a partition, at an offset; when did it arrive, if it did so before?
    pub fn acknowledged(
        &self,
        (partition, offset): (i32, i64),
        intended: Instant,
    ) -> Option<Instant> {
        let noted = |way: &mut Way| match way.arrived.remove(&offset) {
            Some(arrived) => Some(arrived),
            None => {
                // What was at that offset before was lost with its leader.
                way.acknowledged.insert(offset, intended);
                None
            }
        };
        self.with(partition, noted).flatten()
    }

    /// A batch arrived, of an offset: when was it meant to be sent, if that is known already?
    pub fn arrived(&self, (partition, offset): (i32, i64), at: Instant) -> Option<Instant> {
        let noted = |way: &mut Way| {
            let known = way.unacknowledged.pop_front().or_else(|| way.acknowledged.remove(&offset));
            if known.is_none() {
                way.arrived.insert(offset, at);
            }
            known
        };
        self.with(partition, noted).flatten()
    }

    /// Batches that were acknowledged and did not arrive, and those that arrived and nobody knows of.
    pub fn left(&self) -> (usize, usize) {
        let each = self.partitions.iter().map(|way| {
            let way = way.lock().unwrap_or_else(PoisonError::into_inner);
            (way.acknowledged.len(), way.arrived.len())
        });
        each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    fn with<T>(&self, partition: i32, f: impl FnOnce(&mut Way) -> T) -> Option<T> {
        let way = self.partitions.get(usize::try_from(partition).ok()?)?;
        Some(f(&mut way.lock().unwrap_or_else(PoisonError::into_inner)))
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
                let of_consumers = |one: BrokerStats| BrokerStats {
                    errors: one.errors,
                    end_to_end: one.end_to_end,
                    ..BrokerStats::default()
                };
                let by_broker = stats.by_broker.into_iter();
                let by_broker: BTreeMap<i32, BrokerStats> =
                    by_broker.map(|(id, one)| (id, of_consumers(one))).collect();
                let (errors, end_to_end) = (stats.errors, stats.end_to_end);
                Stats { errors, end_to_end, by_broker, ..Stats::default() }
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
    let (left, unknown) = trail.left();
    if left > 0 && !run.interrupted {
        *run.stats.errors.entry("NOT_ARRIVED".into()).or_default() += left as u64;
    }
    // A request that failed may have been carried out.
    if unknown > 0 && run.stats.error_count() == 0 && !run.interrupted {
        *run.stats.errors.entry("UNEXPECTED_BATCH".into()).or_default() += unknown as u64;
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
    report.print(&run, args.output.json)?;
    Ok(run.outcome())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_known_by_its_offset_whoever_tells_of_it_first() {
        let trail = Trail::new(2);
        let at = |ms| Instant::now() + Duration::from_millis(ms);
        let (one, two, three) = (at(1), at(2), at(3));
        assert_eq!(trail.acknowledged((0, 7), one), None);
        assert_eq!(trail.left(), (1, 0));
        assert_eq!(trail.arrived((0, 7), two), Some(one));
        assert_eq!(trail.arrived((0, 8), two), None);
        assert_eq!(trail.left(), (0, 1));
        assert_eq!(trail.acknowledged((0, 8), one), Some(two));
        assert_eq!(trail.left(), (0, 0));
        // Lost with its leader: another one has its offset.
        trail.acknowledged((1, 9), one);
        trail.acknowledged((1, 9), two);
        assert_eq!(trail.arrived((1, 9), three), Some(two));
        trail.sent(1, one);
        assert_eq!((trail.arrived((1, 20), two), trail.left()), (Some(one), (0, 0)));
        assert_eq!(trail.arrived((5, 0), one), None, "there is no such partition");
    }
}
