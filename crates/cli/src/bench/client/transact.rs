//! Writing transactions, one after the other or at a rate, by one producer or by several.
//!
//! At a rate each transaction has a time at which it should begin, and counts from then, however late the one
//! before made it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};
use thalweg::{Cluster, ProduceCounts, Producer, ProducerConfig, ProducerRecord};
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use super::super::BenchError;
use super::super::pacer::Pacer;
use super::super::stats::{histogram, micros};
use super::args::TransactArgs;
use super::usage::Usage;

/// Percentiles that are reported, with their names.
const PERCENTILES: [(&str, f64); 3] = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0)];

/// What all producers of a run share.
struct Run {
    args: TransactArgs,
    begun: Instant,
    /// What ends before is not counted.
    measured_from: Instant,
    end: Instant,
}

/// What one producer did while it was measured.
struct Done {
    /// Of the commit alone, in microseconds.
    commit: Histogram<u64>,
    /// From the beginning, or from when that should have been, until it was committed.
    transaction: Histogram<u64>,
    /// Transactions that ended well, the warm-up's included.
    all: u64,
    failed: u64,
    first_error: Option<String>,
}

/// Runs the command.
pub async fn run(cluster: Cluster, args: &TransactArgs) -> Result<Map<String, Value>, BenchError> {
    let there = super::consume::partitions(&cluster, &args.common.topic).await?;
    if i64::from(args.partitions) > i64::from(there) {
        let what = format!("has {there} partitions");
        return Err(BenchError::Topic { topic: args.common.topic.clone(), what });
    }
    if args.records_per_transaction < u64::from(args.partitions) {
        let why =
            "--records-per-transaction must be at least --partitions, each of which has a record";
        return Err(BenchError::Usage(why.into()));
    }
    let producers = producers(&cluster, args).await?;
    let begun = Instant::now();
    let measured_from = begun + args.warmup_seconds;
    let run = Run { args: args.clone(), begun, measured_from, end: measured_from + args.seconds };
    let run = Arc::new(run);
    let mut working = JoinSet::new();
    for (index, producer) in producers.iter().enumerate() {
        let (run, producer) = (Arc::clone(&run), producer.clone());
        working.spawn(async move { run.work(index, &producer).await });
    }
    sleep_until(run.measured_from.into()).await;
    let (usage, before) = (Usage::now(), counts(&producers));
    sleep_until(run.end.into()).await;
    let mut report = Map::new();
    usage.report(&mut report);
    let counts = since(&counts(&producers), &before);
    let mut all = Done::default();
    while let Some(done) = working.join_next().await {
        // A panic of a task is a panic of the run.
        let failed = |error| BenchError::Io {
            what: "a producer".into(),
            source: std::io::Error::other(error),
        };
        all.add(done.map_err(failed)??);
    }
    run.report(&mut report, &counts, all);
    Ok(report)
}

/// The producers, which have their ids.
async fn producers(cluster: &Cluster, args: &TransactArgs) -> Result<Vec<Producer>, BenchError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut producers = Vec::new();
    for index in 0..args.producers {
        let mut config =
            ProducerConfig::default().with_linger(Duration::from_millis(args.linger_ms));
        if !args.plain {
            let id = format!("bench-{}-{}-{index}", std::process::id(), since.as_nanos());
            config = config.with_transactional_id(id);
        }
        let producer = Producer::new(cluster.clone(), config)?;
        if !args.plain {
            producer.init_transactions().await.map_err(thalweg::Error::from)?;
        }
        producers.push(producer);
    }
    Ok(producers)
}

impl Run {
    async fn work(&self, index: usize, producer: &Producer) -> Result<Done, BenchError> {
        let failed = |source| BenchError::Io { what: "a timer".into(), source };
        let mut pacer = Pacer::new().map_err(failed)?;
        let mut done = Done::default();
        let value = vec![b'x'; self.args.record_size];
        for number in 0.. {
            let mut begun = Instant::now();
            if let Some(due) = self.due(index, number) {
                if due >= self.end {
                    break;
                }
                pacer.wait_until(due).await.map_err(failed)?;
                begun = due;
            }
            if Instant::now() >= self.end {
                break;
            }
            let ended = self.transaction(producer, &value).await;
            let now = Instant::now();
            done.all += u64::from(ended.is_ok());
            match ended {
                Ok(asked) if (self.measured_from..self.end).contains(&now) => {
                    done.commit.saturating_record(micros(now - asked));
                    done.transaction
                        .saturating_record(micros(now.saturating_duration_since(begun)));
                }
                Ok(_) => {}
                Err(error) => {
                    let may_go_on =
                        matches!(&error, thalweg::Error::Transaction(of) if of.is_aborted());
                    done.failed += 1;
                    done.first_error.get_or_insert_with(|| error.to_string());
                    if !may_go_on {
                        break;
                    }
                }
            }
        }
        Ok(done)
    }

    /// When a transaction of a producer should begin; `None` where it follows the one before.
    fn due(&self, index: usize, number: u64) -> Option<Instant> {
        let rate = self.args.rate?;
        let before = number as f64 * f64::from(self.args.producers) + index as f64;
        // Whatever the rate, this is not after the end of the world as the clock has it.
        Some(self.begun + Duration::try_from_secs_f64(before / rate).unwrap_or(Duration::MAX / 4))
    }

    /// Writes one transaction; gives when its commit was asked for.
    async fn transaction(
        &self,
        producer: &Producer,
        value: &[u8],
    ) -> Result<Instant, thalweg::Error> {
        let transaction = match self.args.plain {
            true => None,
            false => Some(producer.begin().await?),
        };
        let mut last = None;
        for number in 0..self.args.records_per_transaction {
            let record = ProducerRecord {
                topic: &self.args.common.topic,
                partition: Some((number % u64::from(self.args.partitions)) as i32),
                value: Some(value),
                ..ProducerRecord::default()
            };
            last = Some(producer.send(record).await?);
        }
        let asked = Instant::now();
        match transaction {
            Some(transaction) => transaction.commit().await?,
            None => {
                producer.flush().await?;
                if let Some(last) = last {
                    last.await?;
                }
            }
        }
        Ok(asked)
    }

    fn report(&self, report: &mut Map<String, Value>, counts: &ProduceCounts, all: Done) {
        let args = &self.args;
        let number = |report: &Map<String, Value>, name: &str| {
            report.get(name).and_then(Value::as_f64).unwrap_or(0.0)
        };
        let (seconds, cpu) = (number(report, "seconds"), number(report, "cpu_seconds"));
        let transactions = match args.plain {
            true => all.transaction.len(),
            false => counts.transactions_committed,
        };
        let each = |value: f64| (transactions > 0).then(|| value / transactions as f64);
        let of_records = |value: f64| (counts.records > 0).then(|| value / counts.records as f64);
        let mut set = |name: &str, value: Value| report.insert(name.to_owned(), value);
        set("mode", if args.plain { "plain" } else { "transactional" }.into());
        set("producers", args.producers.into());
        set("records_per_transaction", args.records_per_transaction.into());
        set("partitions_per_transaction", args.partitions.into());
        set("record_size", args.record_size.into());
        set("rate", json!(args.rate));
        set("transactions", transactions.into());
        set("transactions_all", all.all.into());
        set("aborted", counts.transactions_aborted.into());
        set("records", counts.records.into());
        set("bytes", (counts.records * args.record_size as u64).into());
        set("transactions_per_second", json!(transactions as f64 / seconds));
        set("records_per_second", json!(counts.records as f64 / seconds));
        set("commit_ms", percentiles(&all.commit));
        set("transaction_ms", percentiles(&all.transaction));
        set("cpu_us_per_record", json!(of_records(cpu * 1e6)));
        set("cpu_us_per_transaction", json!(each(cpu * 1e6)));
        set("batches", counts.batches.into());
        set("retries", counts.retries.into());
        set(
            "requests_per_transaction",
            json!(each((counts.requests + counts.coordinator_requests) as f64)),
        );
        set(
            "coordinator_requests_per_transaction",
            json!(each(counts.coordinator_requests as f64)),
        );
        set("concurrent_transactions", counts.concurrent_transactions.into());
        set("errors", all.failed.into());
        set("first_error", all.first_error.map_or(Value::Null, Value::String));
    }
}

impl Default for Done {
    fn default() -> Done {
        Done { commit: histogram(), transaction: histogram(), all: 0, failed: 0, first_error: None }
    }
}

impl Done {
    fn add(&mut self, other: Done) {
        self.commit += other.commit;
        self.transaction += other.transaction;
        self.all += other.all;
        self.failed += other.failed;
        self.first_error = self.first_error.take().or(other.first_error);
    }
}

/// Times of a histogram, in ms.
fn percentiles(of: &Histogram<u64>) -> Value {
    let ms = |micros: u64| json!(micros as f64 / 1e3);
    let mut all = Map::new();
    for (name, percentile) in PERCENTILES {
        all.insert(name.into(), ms(of.value_at_percentile(percentile)));
    }
    all.insert("max".into(), ms(of.max()));
    Value::Object(all)
}

/// Counts of all producers together.
fn counts(producers: &[Producer]) -> ProduceCounts {
    producers
        .iter()
        .map(Producer::counts)
        .fold(ProduceCounts::default(), |sum, of| of_both(&sum, &of, |a, b| a + b))
}

/// What was counted after `before`.
fn since(now: &ProduceCounts, before: &ProduceCounts) -> ProduceCounts {
    of_both(now, before, |now, before| now - before)
}

/// The counts that are reported, each made of two.
fn of_both(
    one: &ProduceCounts,
    other: &ProduceCounts,
    make: impl Fn(u64, u64) -> u64,
) -> ProduceCounts {
    let mut made = ProduceCounts::default();
    made.requests = make(one.requests, other.requests);
    made.batches = make(one.batches, other.batches);
    made.records = make(one.records, other.records);
    made.retries = make(one.retries, other.retries);
    made.transactions_committed = make(one.transactions_committed, other.transactions_committed);
    made.transactions_aborted = make(one.transactions_aborted, other.transactions_aborted);
    made.coordinator_requests = make(one.coordinator_requests, other.coordinator_requests);
    made.concurrent_transactions = make(one.concurrent_transactions, other.concurrent_transactions);
    made
}
