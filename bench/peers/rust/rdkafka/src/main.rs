//! librdkafka through the crate rdkafka: `BaseConsumer`, which is its fastest consumer, and
//! `ThreadedProducer` with a callback for each record.

mod counting;

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use counting::Counting;
use peer_common::{
    Command, Failure, Meter, Mode, Options, Pause, Pauser, Payload, Poll, Start, Usage, Warmup,
    Write, failure, parse, report_write,
};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

/// For requests that are not what is measured.
const PATIENCE: Duration = Duration::from_secs(30);
/// Sleep while the queue is full. `BaseProducer::poll` is no way to wait here: it spins through the
/// last millisecond of its timeout.
const FULL_SLEEP: Duration = Duration::from_millis(1);

fn main() -> Result<(), Failure> {
    let options = parse(std::env::args())?;
    let report = match &options.command {
        Command::Poll(poll) => run_poll(&options, poll)?,
        Command::Pause(pause) => run_pause(&options, pause)?,
        Command::Write(write) => run_write(&options, write)?,
    };
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

fn version() -> String {
    format!("0.39 on librdkafka {}", rdkafka::util::get_rdkafka_version().1)
}

fn base(options: &Options, statistics: bool) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &options.bootstrap);
    // Requests and bytes are only told in statistics; the idle run does without.
    config.set("statistics.interval.ms", if statistics { "1000" } else { "0" });
    config
}

fn with_sets(mut config: ClientConfig, options: &Options) -> ClientConfig {
    for (name, value) in &options.sets {
        config.set(name, value);
    }
    config
}

fn run_poll(options: &Options, poll: &Poll) -> Result<String, Failure> {
    let mut config = base(options, !poll.idle);
    config
        .set("group.id", options.group())
        .set("auto.offset.reset", poll.from.name())
        .set("fetch.min.bytes", poll.fetch_min_bytes.to_string())
        .set("fetch.wait.max.ms", poll.fetch_wait.as_millis().to_string())
        .set("max.partition.fetch.bytes", poll.partition_fetch_bytes.to_string())
        .set("isolation.level", &poll.isolation)
        .set("enable.auto.commit", (poll.mode != Mode::Assign).to_string());
    if poll.mode == Mode::Consumer {
        config.set("group.protocol", "consumer");
    }
    let counting = Counting::default();
    let consumer: BaseConsumer<Counting> =
        with_sets(config, options).create_with_context(counting.clone())?;
    if poll.mode == Mode::Assign {
        let metadata = consumer.fetch_metadata(Some(&options.topic), PATIENCE)?;
        let partitions = metadata.topics().first().map_or(0, |topic| topic.partitions().len());
        let offset = match poll.from {
            Start::Earliest => Offset::Beginning,
            Start::Latest => Offset::End,
        };
        consumer.assign(&all(&options.topic, partitions, offset)?)?;
    } else {
        consumer.subscribe(&[&options.topic])?;
    }
    let mut meter = Meter::poll(poll)?;
    loop {
        if poll.paused_all && !meter.is_measured() {
            let assigned = consumer.assignment()?;
            if assigned.count() != meter.held {
                meter.held = assigned.count();
                consumer.pause(&assigned)?;
            }
        }
        // One record a call; more of them as long as they are there already.
        let mut timeout = poll.poll_timeout;
        for _ in 0..poll.records_max {
            let Some(message) = consumer.poll(timeout) else { break };
            touch(&mut meter, &message?);
            timeout = Duration::ZERO;
        }
        if meter.polled(Default::default)? {
            break;
        }
    }
    counted(&mut meter, &counting, poll.idle, || {
        consumer.poll(Duration::ZERO);
    });
    meter.report("rdkafka", &version())
}

fn run_pause(options: &Options, pause: &Pause) -> Result<String, Failure> {
    let mut config = base(options, true);
    config
        .set("group.id", options.group())
        .set("auto.offset.reset", "earliest")
        .set("fetch.min.bytes", "1")
        .set("fetch.wait.max.ms", "500")
        .set("max.partition.fetch.bytes", "1048576")
        .set("enable.auto.commit", "false");
    let counting = Counting::default();
    let consumer: BaseConsumer<Counting> =
        with_sets(config, options).create_with_context(counting.clone())?;
    let topic = options.topic.as_str();
    let mut ends = Vec::with_capacity(pause.partitions);
    for partition in (0i32..).take(pause.partitions) {
        ends.push(consumer.fetch_watermarks(topic, partition, PATIENCE)?.1);
    }
    consumer.assign(&all(topic, pause.partitions, Offset::Beginning)?)?;
    let list = |partitions: &[i32]| {
        let mut list = TopicPartitionList::with_capacity(partitions.len());
        for partition in partitions {
            list.add_partition(topic, *partition);
        }
        list
    };
    let mut pauser = Pauser::new(pause.partitions, pause.paused);
    let mut meter = Meter::pause(pause)?;
    loop {
        let change = pauser.draw();
        if !change.pause.is_empty() {
            consumer.pause(&list(&change.pause))?;
        }
        if !change.resume.is_empty() {
            consumer.resume(&list(&change.resume))?;
        }
        let mut timeout = pause.poll_timeout;
        for _ in 0..pause.records_max {
            let Some(message) = consumer.poll(timeout) else { break };
            let message = message?;
            touch(&mut meter, &message);
            timeout = Duration::ZERO;
            let partition = message.partition();
            if ends.get(partition as usize).is_some_and(|end| message.offset() + 1 >= *end) {
                consumer.seek(topic, partition, Offset::Beginning, PATIENCE)?;
            }
        }
        if meter.polled(Default::default)? {
            break;
        }
    }
    counted(&mut meter, &counting, false, || {
        consumer.poll(Duration::ZERO);
    });
    meter.report("rdkafka", &version())
}

fn all(topic: &str, partitions: usize, offset: Offset) -> Result<TopicPartitionList, Failure> {
    if partitions == 0 {
        return Err(failure(format!("{topic} is not there")));
    }
    let mut list = TopicPartitionList::with_capacity(partitions);
    for partition in (0i32..).take(partitions) {
        list.add_partition_offset(topic, partition, offset)?;
    }
    Ok(list)
}

#[inline]
fn touch(meter: &mut Meter, message: &BorrowedMessage<'_>) {
    let timestamp = message.timestamp().to_millis().unwrap_or(-1);
    meter.record(message.payload(), message.offset(), timestamp);
}

/// Fills in what statistics told, the next of which may still be to come.
fn counted(meter: &mut Meter, counting: &Counting, idle: bool, serve: impl Fn()) {
    if let Some((begun, ended)) = meter.window()
        && !idle
    {
        counting.wait_past(ended, serve);
        meter.set_counted(counting.between(begun, ended));
    }
}

fn run_write(options: &Options, write: &Write) -> Result<String, Failure> {
    let payload = Payload::read(&write.payload, write.record_size)?;
    let mut config = base(options, true);
    config
        .set("acks", &write.acks)
        .set("enable.idempotence", write.idempotence.to_string())
        .set("linger.ms", write.linger.as_millis().to_string())
        .set("batch.size", write.batch_size.to_string())
        .set("compression.type", &write.compression)
        .set("queue.buffering.max.kbytes", (write.buffer_memory / 1024).to_string())
        // Only the bytes limit, as in the other clients.
        .set("queue.buffering.max.messages", "0");
    let counting = Counting::default();
    let producer: ThreadedProducer<Counting> =
        with_sets(config, options).create_with_context(counting.clone())?;
    let mut values = payload.values();
    let mut warmup = Warmup::new(write);
    while let Some(records) = warmup.step() {
        send(options, &producer, &mut values, records)?;
    }
    producer.flush(PATIENCE)?;
    let begun = Usage::now()?;
    send(options, &producer, &mut values, write.records)?;
    producer.flush(PATIENCE)?;
    let ended = Usage::now()?;
    let done = counting.deliveries();
    if done != warmup.records + write.records {
        return Err(failure(format!("{done} delivery reports")));
    }
    counting.wait_past(ended.at, || {});
    let counted = counting.between(begun.at, ended.at);
    let zero = peer_common::Counters { requests: Some(0), received: Some(0) };
    let errors = counting.errors();
    report_write(
        "rdkafka",
        &version(),
        (write, warmup.records),
        (begun, ended),
        (zero, counted),
        errors,
    )
}

fn send<'a>(
    options: &Options,
    producer: &ThreadedProducer<Counting>,
    values: &mut impl Iterator<Item = &'a [u8]>,
    records: u64,
) -> Result<(), Failure> {
    for (_, value) in (0..records).zip(values) {
        let mut record = BaseRecord::<(), [u8]>::to(&options.topic).payload(value);
        loop {
            match producer.send(record) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    record = back;
                    std::thread::sleep(FULL_SLEEP);
                }
                Err((error, _)) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// Counts what ended, well or badly.
#[derive(Default)]
struct Deliveries {
    all: AtomicU64,
    failed: AtomicU64,
}

impl Deliveries {
    fn add(&self, failed: bool) {
        self.all.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(u64::from(failed), Ordering::Relaxed);
    }
}
