//! Writing a record every millisecond to one partition and reading it, while somebody else moves its leader.
//!
//! Besides the report, which comes last, a line of JSON every tenth of a second has the times of acknowledgements and
//! of arrivals, in seconds of the system's monotonic clock: whoever moves the leader knows by the same clock when.

use std::io::Write as _;
use std::pin::pin;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};
use thalweg::{
    Acks, Cluster, Consumer, ConsumerConfig, Delivery, OffsetReset, Producer, ProducerConfig,
    ProducerRecord, TopicPartition,
};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::super::BenchError;
use super::args::MovesArgs;

/// Bytes of a record's number.
const NUMBER: usize = size_of::<u64>();
/// Records that may wait to be acknowledged: half a minute's.
const WAITING_MAX: usize = 32 << 10;
const REPORT_EVERY: Duration = Duration::from_millis(100);
/// How long the last acknowledgements and arrivals are waited for.
const DRAIN: Duration = Duration::from_secs(60);

/// What one side has to tell.
enum Event {
    Acknowledged(f64),
    Failed(String),
    Arrived(f64, u64),
    ReadError(String),
}

/// Runs the command.
pub async fn run(cluster: Cluster, args: &MovesArgs) -> Result<Map<String, Value>, BenchError> {
    if args.record_size < NUMBER {
        return Err(BenchError::Usage(format!("--record-size must be at least {NUMBER}")));
    }
    if args.acks == 0 {
        return Err(BenchError::Usage(
            "--acks must be 1 or all: with 0 nothing is acknowledged".into(),
        ));
    }
    let partition = TopicPartition::new(args.common.topic.as_str(), args.partition);
    let there = super::consume::partitions(&cluster, &args.common.topic).await?;
    if args.partition >= there {
        let what = format!("has {there} partitions");
        return Err(BenchError::Topic { topic: args.common.topic.clone(), what });
    }
    let config = ProducerConfig::default()
        .with_acks(if args.acks == 1 { Acks::Leader } else { Acks::All })
        .with_enable_idempotence(args.acks != 1)
        .with_linger(Duration::ZERO);
    let producer = Producer::new(cluster.clone(), config)?;
    let config = ConsumerConfig::default().with_auto_offset_reset(OffsetReset::Latest);
    let mut consumer = Consumer::new(cluster.clone(), config)?;
    consumer.assign([(partition, None)])?;
    let (events, mut told) = mpsc::channel(WAITING_MAX);
    let (deliveries, waiting) = mpsc::channel(WAITING_MAX);
    let acknowledging = tokio::spawn(acknowledge(waiting, events.clone()));
    let reading = tokio::spawn(read(consumer, events));
    let mut tally = Tally::default();
    let mut value = vec![b'x'; args.record_size];
    let mut ticks = interval(Duration::from_millis(args.every_ms));
    // Whoever sends does not wait for what it has sent.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut reports = interval(REPORT_EVERY);
    let mut end = pin!(input_ends());
    loop {
        tokio::select! {
            biased;
            () = &mut end => break,
            event = told.recv() => tally.note(event),
            _ = reports.tick() => tally.flush(&cluster),
            _ = ticks.tick() => {
                value[..NUMBER].copy_from_slice(&tally.sent.to_be_bytes());
                let record = ProducerRecord {
                    topic: &args.common.topic,
                    partition: Some(args.partition),
                    value: Some(&value),
                    ..ProducerRecord::default()
                };
                let delivery = producer.send(record).await.map_err(thalweg::Error::from)?;
                let Ok(()) = deliveries.try_send(delivery) else {
                    let what = format!("{WAITING_MAX} records wait to be acknowledged");
                    return Err(BenchError::Topic { topic: args.common.topic.clone(), what });
                };
                tally.sent += 1;
            }
        }
    }
    let drained = async {
        while tally.settled() < tally.sent || tally.next.is_some_and(|next| next < tally.sent) {
            tally.note(told.recv().await);
        }
    };
    let is_drained = timeout(DRAIN, drained).await.is_ok();
    acknowledging.abort();
    reading.abort();
    tally.flush(&cluster);
    let mut report = tally.report();
    report.insert("is_drained".into(), is_drained.into());
    report.insert("metadata_requests".into(), cluster.metadata_requests().into());
    report.insert("retries".into(), producer.counts().retries.into());
    Ok(report)
}

/// Standard input ends, or cannot be read.
async fn input_ends() {
    let ended = tokio::task::spawn_blocking(|| {
        std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())
    });
    drop(ended.await);
}

/// Acknowledgements of one partition come in the order of its records.
async fn acknowledge(mut waiting: mpsc::Receiver<Delivery>, events: mpsc::Sender<Event>) {
    while let Some(delivery) = waiting.recv().await {
        let event = match delivery.await {
            Ok(_) => Event::Acknowledged(now()),
            Err(error) => Event::Failed(error.to_string()),
        };
        if events.send(event).await.is_err() {
            return;
        }
    }
}

async fn read(mut consumer: Consumer, events: mpsc::Sender<Event>) {
    loop {
        let records = match consumer.poll_timeout(500, Duration::from_secs(1)).await {
            Ok(records) => records,
            Err(error) => {
                if events.send(Event::ReadError(error.to_string())).await.is_err() {
                    return;
                }
                continue;
            }
        };
        let at = now();
        for record in &records {
            let number = record.value().and_then(|value| value.first_chunk());
            let number = number.map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes));
            if events.send(Event::Arrived(at, number)).await.is_err() {
                return;
            }
        }
    }
}

/// Seconds of the system's monotonic clock.
fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// What happened so far.
#[derive(Default)]
struct Tally {
    sent: u64,
    acknowledged: u64,
    failed: u64,
    read_errors: u64,
    first_error: Option<String>,
    /// The number that should arrive next, once one has.
    next: Option<u64>,
    /// Records that did not follow the one before.
    out_of_order: u64,
    acknowledged_at: Vec<f64>,
    arrived_at: Vec<f64>,
}

impl Tally {
    fn note(&mut self, event: Option<Event>) {
        match event {
            Some(Event::Acknowledged(at)) => {
                self.acknowledged += 1;
                self.acknowledged_at.push(at);
            }
            Some(Event::Failed(error)) => {
                self.failed += 1;
                self.first_error.get_or_insert(error);
            }
            Some(Event::Arrived(at, number)) => {
                self.out_of_order += u64::from(self.next.is_some_and(|next| next != number));
                self.next = Some(number.wrapping_add(1));
                self.arrived_at.push(at);
            }
            Some(Event::ReadError(error)) => {
                self.read_errors += 1;
                self.first_error.get_or_insert(error);
            }
            None => {}
        }
    }

    /// Records of which it is known what became of them.
    fn settled(&self) -> u64 {
        self.acknowledged + self.failed
    }

    /// Writes what was not told yet.
    fn flush(&mut self, cluster: &Cluster) {
        let line = json!({
            "acknowledged_at": self.acknowledged_at,
            "arrived_at": self.arrived_at,
            "metadata_requests": cluster.metadata_requests(),
        });
        self.acknowledged_at.clear();
        self.arrived_at.clear();
        // A reader that went away ends the input, too.
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    fn report(self) -> Map<String, Value> {
        let mut report = Map::new();
        let mut set = |name: &str, value: Value| report.insert(name.to_owned(), value);
        set("sent", self.sent.into());
        set("acknowledged", self.acknowledged.into());
        set("failed", self.failed.into());
        set("read_errors", self.read_errors.into());
        set("out_of_order", self.out_of_order.into());
        set("errors", (self.failed + self.read_errors + self.out_of_order).into());
        set("first_error", self.first_error.map_or(Value::Null, Value::String));
        report
    }
}
