//! Writing as fast as the producer takes records, each acknowledgement looked at.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use thalweg::{Acks, Cluster, Delivery, Producer, ProducerConfig, ProducerRecord};
use thalweg_records::CompressionSpec;

use super::super::BenchError;
use super::args::WriteArgs;
use super::usage::Usage;

/// Deliveries are looked at once so many wait.
const LOOK_EVERY: usize = 1024;
/// Records of the warm-up between two looks at the clock.
const WARMUP_STEP: u64 = 1000;

/// Runs the command.
pub async fn run(cluster: Cluster, args: &WriteArgs) -> Result<Map<String, Value>, BenchError> {
    let payload = std::fs::read(&args.payload)
        .map_err(|source| BenchError::File { path: args.payload.clone(), source })?;
    let values: Vec<&[u8]> = payload.chunks_exact(args.record_size).collect();
    if values.is_empty() {
        let what = format!("{} is shorter than one record", args.payload.display());
        return Err(BenchError::Usage(what));
    }
    let config = ProducerConfig::default()
        .with_acks(match args.acks {
            0 => Acks::None,
            1 => Acks::Leader,
            _ => Acks::All,
        })
        .with_enable_idempotence(args.idempotence)
        .with_batch_size(args.batch_size)
        .with_linger(Duration::from_millis(args.linger_ms))
        .with_buffer_memory(args.buffer_memory)
        .with_compression(CompressionSpec::new(args.compression));
    let producer = Producer::new(cluster, config)?;
    let mut turn = values.iter().cycle();
    let mut deliveries = Deliveries::default();
    let mut send = async |deliveries: &mut Deliveries, count: u64| {
        for _ in 0..count {
            let value = turn.next().copied();
            let record = ProducerRecord { topic: &args.common.topic, value, ..Default::default() };
            deliveries.push(producer.send(record).await.map_err(thalweg::Error::from)?);
        }
        Ok::<(), BenchError>(())
    };
    let (begun, most) = (Instant::now(), args.warmup_records.unwrap_or(u64::MAX));
    let mut warmup = 0;
    while warmup < most && begun.elapsed() < args.warmup_seconds {
        let step = WARMUP_STEP.min(most - warmup);
        send(&mut deliveries, step).await?;
        warmup += step;
    }
    producer.flush().await?;
    deliveries.settle();
    let (before, usage) = (producer.counts(), Usage::now());
    send(&mut deliveries, args.records).await?;
    producer.flush().await?;
    deliveries.settle();
    let mut report = Map::new();
    usage.report(&mut report);
    let counts = producer.counts();
    let mut set = |name: &str, value: Value| report.insert(name.to_owned(), value);
    set("mode", if args.idempotence { "idempotent" } else { "plain" }.into());
    set("records", args.records.into());
    set("warmup_records", warmup.into());
    set("bytes", (args.records * args.record_size as u64).into());
    set("polls", Value::Null);
    set("fetches", (counts.requests - before.requests).into());
    set("batches", (counts.batches - before.batches).into());
    set("batch_bytes", (counts.batch_bytes - before.batch_bytes).into());
    set("memory_peak", producer.memory_used().1.into());
    set("errors", deliveries.errors.into());
    set("first_error", deliveries.first.map_or(Value::Null, Value::String));
    Ok(report)
}

/// What was sent and not looked at yet, in order.
#[derive(Default)]
struct Deliveries {
    waiting: VecDeque<Delivery>,
    errors: u64,
    first: Option<String>,
}

impl Deliveries {
    fn push(&mut self, delivery: Delivery) {
        self.waiting.push_back(delivery);
        if self.waiting.len().is_multiple_of(LOOK_EVERY) {
            self.settle();
        }
    }

    /// Takes those from the front whose result is known.
    fn settle(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while let Some(first) = self.waiting.front_mut() {
            let Poll::Ready(delivery) = Pin::new(first).poll(&mut context) else { return };
            if let Err(error) = delivery {
                self.errors += 1;
                self.first.get_or_insert_with(|| error.to_string());
            }
            self.waiting.pop_front();
        }
    }
}
