//! Confluent's Rust client: `KafkaConsumer` with bytes that are not copied, `KafkaProducer` with
//! its path for byte slices.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use confluent_kafka::common::metrics::MetricsView;
use confluent_kafka::common::serialization::{ByteArraySerializer, BytesDeserializer};
use confluent_kafka::common::{Metric, MetricValue, TopicPartition};
use confluent_kafka::consumer::{Consumer, ConsumerConfig, ConsumerRecords, KafkaConsumer};
use confluent_kafka::producer::{
    Callback, KafkaProducer, Producer, ProducerConfig, ProducerRecord, callback,
};
use peer_common::{
    Command, Counters, Failure, Meter, Mode, Options, Pause, Pauser, Payload, Poll, Usage, Warmup,
    Write, failure, parse, report_write,
};

const CLIENT: &str = "confluent";
const VERSION: &str = "1.0.0";

type Bytes = bytes::Bytes;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let options = parse(std::env::args())?;
    let report = match &options.command {
        Command::Poll(poll) => run_poll(&options, poll).await?,
        Command::Pause(pause) => run_pause(&options, pause).await?,
        Command::Write(write) => run_write(&options, write).await?,
    };
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

fn config(options: &Options, own: &[(&str, String)]) -> HashMap<String, String> {
    let mut config = HashMap::from([("bootstrap.servers".into(), options.bootstrap.clone())]);
    config.extend(own.iter().map(|(name, value)| (name.to_string(), value.clone())));
    config.extend(options.sets.iter().cloned());
    config
}

fn consumer(
    options: &Options,
    own: &[(&str, String)],
) -> Result<KafkaConsumer<Bytes, Bytes>, Failure> {
    // The only protocol there is.
    let mut all = vec![("group.protocol", "consumer".to_string()), ("group.id", options.group())];
    all.extend_from_slice(own);
    let config = ConsumerConfig::new(&config(options, &all))?;
    Ok(KafkaConsumer::new(config, BytesDeserializer::default(), BytesDeserializer::default())?)
}

async fn run_poll(options: &Options, poll: &Poll) -> Result<String, Failure> {
    if poll.mode == Mode::Classic {
        return Err(failure("confluent-kafka has no classic groups"));
    }
    let mut consumer = consumer(
        options,
        &[
            ("max.poll.records", poll.records_max.to_string()),
            ("auto.offset.reset", poll.from.name().to_string()),
            ("fetch.min.bytes", poll.fetch_min_bytes.to_string()),
            ("fetch.max.wait.ms", poll.fetch_wait.as_millis().to_string()),
            ("max.partition.fetch.bytes", poll.partition_fetch_bytes.to_string()),
            ("isolation.level", poll.isolation.clone()),
            ("enable.auto.commit", (poll.mode != Mode::Assign).to_string()),
        ],
    )?;
    if poll.mode == Mode::Assign {
        let partitions = consumer.partitions_for(&options.topic).await?;
        let topic = options.topic.as_str();
        let all = partitions.iter().map(|p| TopicPartition::new(topic, p.partition())).collect();
        consumer.assign(all).await?;
    } else {
        consumer.subscribe_with_topics(vec![options.topic.clone()]).await?;
    }
    let metrics = consumer.metrics();
    let mut meter = Meter::poll(poll)?;
    loop {
        if poll.paused_all && !meter.is_measured() {
            let assigned: Vec<TopicPartition> = consumer.assignment().into_iter().collect();
            if assigned.len() != meter.held {
                meter.held = assigned.len();
                consumer.pause(&assigned).await?;
            }
        }
        let records = consumer.poll(poll.poll_timeout).await?;
        touch(&mut meter, &records);
        if meter.polled(|| fetched(&metrics))? {
            break;
        }
    }
    let report = meter.report(CLIENT, VERSION)?;
    consumer.close().await?;
    Ok(report)
}

async fn run_pause(options: &Options, pause: &Pause) -> Result<String, Failure> {
    let mut consumer = consumer(
        options,
        &[
            ("max.poll.records", pause.records_max.to_string()),
            ("auto.offset.reset", "earliest".to_string()),
            ("enable.auto.commit", "false".to_string()),
        ],
    )?;
    let topic: Arc<str> = Arc::from(options.topic.as_str());
    let all: Vec<TopicPartition> = (0i32..)
        .take(pause.partitions)
        .map(|partition| TopicPartition::new(Arc::clone(&topic), partition))
        .collect();
    let of = |partitions: &[i32]| -> Vec<TopicPartition> {
        partitions.iter().filter_map(|at| all.get(*at as usize).cloned()).collect()
    };
    let end_of = consumer.end_offsets(&all).await?;
    let ends: Vec<i64> = all.iter().map(|at| end_of.get(at).copied().unwrap_or(0)).collect();
    consumer.assign(all.clone()).await?;
    let metrics = consumer.metrics();
    let mut pauser = Pauser::new(pause.partitions, pause.paused);
    let mut meter = Meter::pause(pause)?;
    loop {
        let change = pauser.draw();
        if !change.pause.is_empty() {
            consumer.pause(&of(&change.pause)).await?;
        }
        if !change.resume.is_empty() {
            consumer.resume(&of(&change.resume)).await?;
        }
        let records = consumer.poll(pause.poll_timeout).await?;
        touch(&mut meter, &records);
        for record in &records {
            let partition = record.partition();
            if ends.get(partition as usize).is_some_and(|end| record.offset() + 1 >= *end) {
                consumer.seek_to_beginning(&of(&[partition])).await?;
            }
        }
        if meter.polled(|| fetched(&metrics))? {
            break;
        }
    }
    let report = meter.report(CLIENT, VERSION)?;
    consumer.close().await?;
    Ok(report)
}

#[inline]
fn touch(meter: &mut Meter, records: &ConsumerRecords<Bytes, Bytes>) {
    for record in records {
        let value = record.value().map(|value| &value[..]);
        meter.record(value, record.offset(), record.timestamp());
    }
}

fn fetched(metrics: &MetricsView) -> Counters {
    Counters {
        requests: total(metrics, "consumer-fetch-manager-metrics", "fetch-total"),
        received: total(metrics, "consumer-metrics", "incoming-byte-total"),
    }
}

/// A total of the whole client.
fn total(metrics: &MetricsView, group: &str, name: &str) -> Option<u64> {
    let all = metrics.snapshot();
    let (_, metric) = all.iter().find(|(of, _)| {
        of.group() == group && of.name() == name && !of.tags().contains_key("topic")
    })?;
    match metric.metric_value() {
        MetricValue::Double(value) => Some(value as u64),
        MetricValue::Long(value) => u64::try_from(value).ok(),
        _ => None,
    }
}

async fn run_write(options: &Options, write: &Write) -> Result<String, Failure> {
    let payload = Payload::read(&write.payload, write.record_size)?;
    let config = config(
        options,
        &[
            ("compression.type", write.compression.clone()),
            ("linger.ms", write.linger.as_millis().to_string()),
            ("batch.size", write.batch_size.to_string()),
            ("acks", write.acks.clone()),
            ("enable.idempotence", write.idempotence.to_string()),
            ("buffer.memory", write.buffer_memory.to_string()),
        ],
    );
    let producer: KafkaProducer<Vec<u8>, Vec<u8>> = KafkaProducer::new(
        ProducerConfig::new(&config)?,
        ByteArraySerializer::default(),
        ByteArraySerializer::default(),
    )?;
    let produced = || Counters {
        requests: total(&producer.metrics(), "producer-metrics", "request-total"),
        received: total(&producer.metrics(), "producer-metrics", "incoming-byte-total"),
    };
    let counts = Arc::new(Counts::default());
    let mut values = payload.values();
    let mut warmup = Warmup::new(write);
    while let Some(records) = warmup.step() {
        send(options, &producer, &mut values, records, &counts).await?;
    }
    producer.flush().await?;
    let before = produced();
    let begun = Usage::now()?;
    send(options, &producer, &mut values, write.records, &counts).await?;
    producer.flush().await?;
    let ended = Usage::now()?;
    let after = produced();
    let done = counts.done.load(Ordering::Acquire);
    if done != warmup.records + write.records {
        return Err(failure(format!("{done} records were completed")));
    }
    let errors = counts.failed.load(Ordering::Acquire);
    let options = (write, warmup.records);
    let report = report_write(CLIENT, VERSION, options, (begun, ended), (before, after), errors)?;
    producer.close().await?;
    Ok(report)
}

#[derive(Default)]
struct Counts {
    done: AtomicU64,
    failed: AtomicU64,
}

async fn send<'a>(
    options: &Options,
    producer: &KafkaProducer<Vec<u8>, Vec<u8>>,
    values: &mut impl Iterator<Item = &'a [u8]>,
    records: u64,
    counts: &Arc<Counts>,
) -> Result<(), Failure> {
    for (_, value) in (0..records).zip(values) {
        let counts = Arc::clone(counts);
        let callback: Box<dyn Callback> = Box::new(callback::new(move |_, error| {
            counts.done.fetch_add(1, Ordering::Release);
            counts.failed.fetch_add(u64::from(error.is_some()), Ordering::Release);
        }));
        let record = ProducerRecord::new(options.topic.clone(), Some(value));
        // The future is for those who take no callback.
        drop(producer.send(record, Some(callback)).await?);
    }
    Ok(())
}
