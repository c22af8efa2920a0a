//! krafka: `Consumer::poll` and `Producer::enqueue`.

use std::collections::VecDeque;
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll as Ready, Waker};
use std::time::Duration;

use bytes::Bytes;
use krafka::consumer::{
    AutoOffsetReset, Consumer, ConsumerBuilder, ConsumerRecord, GroupProtocol, IsolationLevel,
};
use krafka::producer::{Acks, DeliveryHandle, Producer};
use krafka::{Compression, Kafka, Record};
use peer_common::{
    Command, Counters, Failure, Meter, Mode, Options, Pause, Pauser, Payload, Poll, Start, Usage,
    Warmup, Write, failure, parse, report_write,
};

const CLIENT: &str = "krafka";
const VERSION: &str = "0.28.1";
/// Records sent between two looks at the oldest acknowledgements.
const ACKS_EVERY: u64 = 128;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let options = parse(std::env::args())?;
    let kafka = Kafka::builder(options.bootstrap.as_str()).connect().await?;
    let report = match &options.command {
        Command::Poll(poll) => run_poll(&kafka, &options, poll).await?,
        Command::Pause(pause) => run_pause(&kafka, &options, pause).await?,
        Command::Write(write) => run_write(&kafka, &options, write).await?,
    };
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

async fn run_poll(kafka: &Kafka, options: &Options, poll: &Poll) -> Result<String, Failure> {
    let builder = match poll.mode {
        Mode::Assign => kafka.consumer_without_group(),
        Mode::Classic => kafka.consumer(options.group()).group_protocol(GroupProtocol::Classic),
        Mode::Consumer => kafka.consumer(options.group()).group_protocol(GroupProtocol::Consumer),
    };
    let builder = builder
        .auto_offset_reset(match poll.from {
            Start::Earliest => AutoOffsetReset::Earliest,
            Start::Latest => AutoOffsetReset::Latest,
        })
        .isolation_level(match poll.isolation.as_str() {
            "read_uncommitted" => IsolationLevel::ReadUncommitted,
            "read_committed" => IsolationLevel::ReadCommitted,
            other => return Err(failure(format!("--isolation {other}"))),
        })
        .enable_auto_commit(poll.mode != Mode::Assign)
        .max_poll_records(i32::try_from(poll.records_max)?)
        .fetch_min_bytes(i32::try_from(poll.fetch_min_bytes)?)
        .fetch_max_wait(poll.fetch_wait)
        .max_partition_fetch_bytes(i32::try_from(poll.partition_fetch_bytes)?);
    let consumer = with_sets(builder, options)?.build().await?;
    if poll.mode == Mode::Assign {
        let partitions = partitions(&consumer, &options.topic).await?;
        consumer.assign(&options.topic, partitions).await?;
    } else {
        consumer.subscribe([options.topic.as_str()]).await?;
    }
    let mut meter = Meter::poll(poll)?;
    loop {
        if poll.paused_all && !meter.is_measured() {
            let assigned = consumer.assignment().await;
            let assigned = assigned.get(options.topic.as_str()).cloned().unwrap_or_default();
            if assigned.len() != meter.held {
                meter.held = assigned.len();
                consumer.pause(&options.topic, &assigned).await;
            }
        }
        let records = consumer.poll(poll.poll_timeout).await?;
        touch(&mut meter, &records);
        if meter.polled(|| fetched(&consumer))? {
            break;
        }
    }
    let report = meter.report(CLIENT, VERSION)?;
    consumer.close().await?;
    Ok(report)
}

async fn run_pause(kafka: &Kafka, options: &Options, pause: &Pause) -> Result<String, Failure> {
    let builder = kafka
        .consumer_without_group()
        .auto_offset_reset(AutoOffsetReset::Earliest)
        .enable_auto_commit(false)
        .max_poll_records(i32::try_from(pause.records_max)?)
        .fetch_min_bytes(1)
        .fetch_max_wait(Duration::from_millis(500))
        .max_partition_fetch_bytes(1 << 20);
    let consumer = with_sets(builder, options)?.build().await?;
    let topic = options.topic.as_str();
    let all: Vec<i32> = (0i32..).take(pause.partitions).collect();
    let mut ends = Vec::with_capacity(all.len());
    for partition in &all {
        ends.push(consumer.fetch_watermarks(topic, *partition).await?.1);
    }
    consumer.assign(topic, all).await?;
    let mut pauser = Pauser::new(pause.partitions, pause.paused);
    let mut meter = Meter::pause(pause)?;
    loop {
        let change = pauser.draw();
        if !change.pause.is_empty() {
            consumer.pause(topic, &change.pause).await;
        }
        if !change.resume.is_empty() {
            consumer.resume(topic, &change.resume).await;
        }
        let records = consumer.poll(pause.poll_timeout).await?;
        touch(&mut meter, &records);
        for record in &records {
            let end = ends.get(record.partition as usize);
            if end.is_some_and(|end| record.offset + 1 >= *end) {
                consumer.seek_to_beginning(topic, record.partition).await?;
            }
        }
        if meter.polled(|| fetched(&consumer))? {
            break;
        }
    }
    let report = meter.report(CLIENT, VERSION)?;
    consumer.close().await?;
    Ok(report)
}

/// The settings that matter for throughput, under Kafka's names where there are such.
fn with_sets(mut builder: ConsumerBuilder, options: &Options) -> Result<ConsumerBuilder, Failure> {
    for (name, value) in &options.sets {
        let number = value.parse::<i32>()?;
        builder = match name.as_str() {
            "max_buffered_records" => builder.max_buffered_records(number),
            "fetch.max.bytes" => builder.fetch_max_bytes(number),
            "fetch.min.bytes" => builder.fetch_min_bytes(number),
            "max.partition.fetch.bytes" => builder.max_partition_fetch_bytes(number),
            "max.poll.records" => builder.max_poll_records(number),
            _ => return Err(failure(format!("--set {name}: unknown here"))),
        };
    }
    Ok(builder)
}

async fn partitions(consumer: &Consumer, topic: &str) -> Result<Vec<i32>, Failure> {
    let metadata = consumer.fetch_metadata(Some(topic)).await?;
    let topic = metadata.topics.iter().find(|one| &*one.name == topic);
    let topic = topic.ok_or_else(|| failure("the topic is not there"))?;
    Ok(topic.partitions.keys().copied().collect())
}

#[inline]
fn touch(meter: &mut Meter, records: &[ConsumerRecord]) {
    for record in records {
        meter.record(record.value.as_deref(), record.offset, record.timestamp);
    }
}

fn fetched(consumer: &Consumer) -> Counters {
    // Its bytes are those of the values that were handed out, not what was received.
    Counters { requests: Some(consumer.metrics().consumer.fetches), received: None }
}

async fn run_write(kafka: &Kafka, options: &Options, write: &Write) -> Result<String, Failure> {
    let payload = Payload::read(&write.payload, write.record_size)?;
    let mut builder = kafka
        .producer()
        .compression(match write.compression.as_str() {
            "none" => Compression::None,
            "gzip" => Compression::Gzip,
            "snappy" => Compression::Snappy,
            "lz4" => Compression::Lz4,
            other => return Err(failure(format!("--compression {other}"))),
        })
        .acks(match write.acks.as_str() {
            "all" | "-1" => Acks::All,
            "1" => Acks::Leader,
            "0" => Acks::None,
            other => return Err(failure(format!("--acks {other}"))),
        })
        .linger(write.linger)
        .batch_size(write.batch_size)
        .idempotent(write.idempotence)
        .buffer_memory(write.buffer_memory);
    for (name, value) in &options.sets {
        builder = match name.as_str() {
            "batch.size" => builder.batch_size(value.parse()?),
            "linger.ms" => builder.linger(Duration::from_millis(value.parse()?)),
            "buffer.memory" => builder.buffer_memory(value.parse()?),
            "max.request.size" => builder.max_request_size(value.parse()?),
            _ => return Err(failure(format!("--set {name}: unknown here"))),
        };
    }
    let producer = builder.build().await?;
    // Values are views into one buffer that stays: the client takes them without a copy, and no
    // count of references goes to and fro between its threads.
    let size = payload.size;
    let whole: &'static [u8] = payload.bytes.leak();
    let values: Vec<Bytes> = whole.chunks_exact(size).map(Bytes::from_static).collect();
    let mut values = values.iter().cycle();
    let mut acks = Acknowledgements::default();
    let mut warmup = Warmup::new(write);
    while let Some(records) = warmup.step() {
        send(options, &producer, &mut values, records, &mut acks).await?;
    }
    settle(&producer, &mut acks).await?;
    let sent = || Counters {
        // It counts batches, not requests.
        requests: None,
        received: None,
    };
    let begun = Usage::now()?;
    send(options, &producer, &mut values, write.records, &mut acks).await?;
    settle(&producer, &mut acks).await?;
    let ended = Usage::now()?;
    if acks.done != warmup.records + write.records {
        return Err(failure(format!("{} acknowledgements", acks.done)));
    }
    let options = (write, warmup.records);
    let report =
        report_write(CLIENT, VERSION, options, (begun, ended), (sent(), sent()), acks.failed)?;
    producer.close().await?;
    Ok(report)
}

/// Delivery handles in the order of sending.
#[derive(Default)]
struct Acknowledgements {
    waiting: VecDeque<DeliveryHandle>,
    done: u64,
    failed: u64,
}

impl Acknowledgements {
    /// Takes those from the front that are there already.
    fn take_ready(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while let Some(oldest) = self.waiting.front_mut() {
            let Ready::Ready(result) = Pin::new(oldest).poll(&mut context) else { break };
            self.count(result.is_ok());
            self.waiting.pop_front();
        }
    }

    async fn take_all(&mut self) {
        while let Some(oldest) = self.waiting.pop_front() {
            let result = oldest.await;
            self.count(result.is_ok());
        }
    }

    fn count(&mut self, good: bool) {
        self.done += 1;
        self.failed += u64::from(!good);
    }
}

async fn send<'a>(
    options: &Options,
    producer: &Producer,
    values: &mut impl Iterator<Item = &'a Bytes>,
    records: u64,
    acks: &mut Acknowledgements,
) -> Result<(), Failure> {
    for (number, value) in (0..records).zip(values) {
        let record = Record::new(options.topic.as_str(), value.clone());
        acks.waiting.push_back(producer.enqueue(record).await?);
        if number % ACKS_EVERY == 0 {
            acks.take_ready();
        }
    }
    Ok(())
}

/// Waits for all that was sent.
async fn settle(producer: &Producer, acks: &mut Acknowledgements) -> Result<(), Failure> {
    producer.flush().await?;
    acks.take_all().await;
    Ok(())
}
