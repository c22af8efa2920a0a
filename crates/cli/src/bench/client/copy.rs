//! From topic to topic through transactional streams: consume, transform, produce.

use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;
use serde_json::{Map, Value, json};
use thalweg::stream::{
    self, Envelope, OwnedProducerRecord, Subscription, TransactionSettings, TransactionalMessage,
    TransactionalOffset,
};
use thalweg::{Cluster, Error, OffsetReset, Producer, ProducerConfig};

use super::super::BenchError;
use super::args::{CopyArgs, Mode};
use super::consume;
use super::usage::Usage;

/// Time for the group to be left.
const LEAVE: Duration = Duration::from_secs(5);

/// Runs the command.
pub async fn run(cluster: Cluster, args: &CopyArgs) -> Result<Map<String, Value>, BenchError> {
    let topic = args.common.topic.as_str();
    let mut consumer = consume::config(&args.fetching, OffsetReset::Earliest, Mode::Classic);
    consumer.auto_commit = false;
    let id = consumer.group_id.clone().unwrap_or_default();
    let producer = ProducerConfig::default()
        .with_transactional_id(id)
        // What Kafka Streams takes for its own.
        .with_linger(Duration::from_millis(100));
    let producer = Producer::new(cluster.clone(), producer)?;
    producer.init_transactions().await.map_err(Error::from)?;
    let source = stream::transactional_source(&cluster, consumer, Subscription::topics([topic]))?;
    let control = source.control();
    let settings = TransactionSettings::default()
        .with_commit_interval(Duration::from_millis(args.commit_interval_ms))
        .with_max_records(usize::MAX);
    let envelopes = Upper { source, to: args.to.as_str().into() };
    let mut flow = stream::transactional_flow::<_, _, Error>(&producer, settings, envelopes)?;
    let (mut records, mut usage, mut before) = (0u64, None, 0);
    while records < args.records {
        let next = std::future::poll_fn(|cx| Pin::new(&mut flow).poll_next(cx));
        let next = tokio::time::timeout(consume::TIMEOUT, next).await;
        let wrong = |what: String| BenchError::Topic { topic: topic.to_owned(), what };
        let nothing = || wrong(format!("nothing comes after {records} records"));
        next.map_err(|_| nothing())?.ok_or_else(nothing)??;
        records += 1;
        if records == args.warmup_records {
            (usage, before) = (Some(Usage::now()), records);
        }
    }
    let mut report = Map::new();
    usage.unwrap_or_else(Usage::now).report(&mut report);
    let seconds = report.get("seconds").and_then(Value::as_f64).unwrap_or(0.0);
    let cpu = report.get("cpu_seconds").and_then(Value::as_f64).unwrap_or(0.0);
    let counted = (records - before) as f64;
    report.insert("records".into(), (records - before).into());
    report.insert("records_per_second".into(), json!(counted / seconds));
    report.insert("cpu_us_per_record".into(), json!(cpu * 1e6 / counted));
    drop(flow);
    control.shutdown(LEAVE).await;
    Ok(report)
}

/// Each record with its value in capital letters.
struct Upper<S> {
    source: S,
    to: std::sync::Arc<str>,
}

impl<S> Stream for Upper<S>
where
    S: Stream<Item = Result<TransactionalMessage, Error>> + Unpin,
{
    type Item = Result<Envelope<TransactionalOffset>, Error>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let to = std::sync::Arc::clone(&self.to);
        Pin::new(&mut self.source).poll_next(cx).map(|next| {
            let envelope = next?.map(|message| {
                let record = OwnedProducerRecord {
                    key: message.record.key_bytes(),
                    value: message.record.value().map(|value| value.to_ascii_uppercase().into()),
                    ..OwnedProducerRecord::new(to)
                };
                Envelope::single(record, message.offset)
            });
            Some(envelope)
        })
    }
}
