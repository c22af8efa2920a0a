//! A member of the makes' groups: the crate krafka. `tests/python/group_worker.py` says what its arguments are and what
//! its lines mean. It commits by hand; warnings of the client, or what `RUST_LOG` (a level) asks for, go to standard
//! error.

mod lines;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use krafka::consumer::{
    AutoOffsetReset, Consumer, ConsumerBuilder, ConsumerRebalanceListener, ConsumerRecord,
    GroupProtocol, OffsetAndMetadata, PartitionAssignmentStrategy, TopicPartition,
};
use krafka::{CloseOptions, Kafka, KrafkaError};
use tokio::sync::watch;
use tracing_subscriber::filter::LevelFilter;

use lines::Offsets;

/// Records of one poll.
const RECORDS_MAX: i32 = 50;
/// How long a poll waits for records, and a broker that has none.
const WAIT: Duration = Duration::from_millis(100);
/// After an error: some are returned at once, again and again.
const PAUSE: Duration = Duration::from_millis(100);
/// Attempts to connect to a broker that is down, with a pause between them.
const ATTEMPTS_MAX: u32 = 100;
/// How long the consumer may take to leave its group.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error("usage: thalweg-krafka-worker NAME=VALUE...; {0} is missing or wrong")]
    Usage(&'static str),
    #[error(transparent)]
    Kafka(#[from] KrafkaError),
}

struct Arguments(HashMap<String, String>);

impl Arguments {
    fn text(&self, name: &'static str) -> Result<&str, WorkerError> {
        self.0.get(name).map(String::as_str).ok_or(WorkerError::Usage(name))
    }

    fn number<T: FromStr>(&self, name: &'static str) -> Result<T, WorkerError> {
        self.text(name)?.parse().map_err(|_| WorkerError::Usage(name))
    }

    fn millis(&self, name: &'static str) -> Result<Duration, WorkerError> {
        self.number(name).map(Duration::from_millis)
    }

    /// The assignors that the client is to offer; none for those that it offers by default.
    fn assignors(&self) -> Result<Vec<PartitionAssignmentStrategy>, WorkerError> {
        let names = self.text("assignors")?.split(',').filter(|name| !name.is_empty());
        let known = names.map(PartitionAssignmentStrategy::from_protocol_name);
        known.collect::<Option<_>>().ok_or(WorkerError::Usage("assignors"))
    }

    fn builder(&self, kafka: &Kafka) -> Result<ConsumerBuilder, WorkerError> {
        let builder = kafka
            .consumer(self.text("group")?)
            .enable_auto_commit(false)
            .auto_offset_reset(AutoOffsetReset::Earliest)
            .max_poll_interval(self.millis("rebalance_ms")?)
            .max_poll_records(RECORDS_MAX)
            .fetch_max_wait(WAIT);
        // It may be left out.
        let builder = match self.text("instance") {
            Ok(instance) if !instance.is_empty() => builder.group_instance_id(instance),
            _ => builder,
        };
        if self.text("protocol")? == "consumer" {
            return Ok(builder.group_protocol(GroupProtocol::Consumer));
        }
        let builder = builder
            .group_protocol(GroupProtocol::Classic)
            .session_timeout(self.millis("session_ms")?)
            .heartbeat_interval(self.millis("heartbeat_ms")?);
        let assignors = self.assignors()?;
        if assignors.is_empty() {
            return Ok(builder);
        }
        Ok(builder.partition_assignment_strategies(assignors))
    }
}

/// Where a member is in what it owns.
#[derive(Default)]
struct Owned {
    /// The next offset of each partition.
    at: Offsets,
    /// What of that is to be committed.
    dirty: Offsets,
}

#[derive(Default)]
struct Worker {
    owned: Mutex<Owned>,
    /// Set once it is built: its listener commits, too.
    consumer: OnceLock<Weak<Consumer>>,
}

fn names(partitions: &[TopicPartition]) -> Vec<String> {
    let names = partitions.iter().map(|of| lines::name(of.topic(), of.partition()));
    names.collect()
}

impl Worker {
    fn owned(&self) -> MutexGuard<'_, Owned> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be committed of these partitions, or of all; it counts as committed unless that fails.
    fn take_dirty(&self, of: Option<&[String]>) -> Offsets {
        let mut owned = self.owned();
        let (taken, left) = std::mem::take(&mut owned.dirty)
            .into_iter()
            .partition(|(name, _)| of.is_none_or(|of| of.contains(name)));
        owned.dirty = left;
        taken
    }

    async fn commit(&self, of: Option<&[String]>) {
        let offsets = self.take_dirty(of);
        let Some(consumer) = self.consumer.get().and_then(Weak::upgrade) else { return };
        if offsets.is_empty() {
            return;
        }
        lines::tell_sent(&offsets);
        let asked = offsets.iter().filter_map(|(name, offset)| {
            let (topic, partition) = lines::split(name)?;
            Some((TopicPartition::new(topic, partition), OffsetAndMetadata::new(*offset)))
        });
        let asked: Vec<_> = asked.collect();
        let start = lines::now();
        let error = consumer.commit_offsets(asked).await.err().map(|error| error.to_string());
        lines::tell_commit(&offsets, start, error.as_deref());
        if error.is_some() {
            // What was refused may be from before a rebalance: only where it is now may be committed.
            let mut owned = self.owned();
            let Owned { at, dirty } = &mut *owned;
            let again =
                offsets.into_keys().filter_map(|name| Some((name.clone(), *at.get(&name)?)));
            dirty.extend(again);
        }
    }

    /// What was not committed by now is another member's.
    fn forget(&self, event: &str, names: &[String]) {
        let gone: BTreeSet<_> = names.iter().collect();
        let mut owned = self.owned();
        owned.at.retain(|name, _| !gone.contains(name));
        owned.dirty.retain(|name, _| !gone.contains(name));
        lines::tell_partitions(event, names);
    }

    async fn process(&self, records: &[ConsumerRecord], work: Duration) {
        let mut by_partition: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for record in records {
            let name = lines::name(&record.topic, record.partition);
            by_partition.entry(name).or_default().push(record.offset);
        }
        for (name, offsets) in by_partition {
            let start = lines::now();
            tokio::time::sleep(work * u32::try_from(offsets.len()).unwrap_or(u32::MAX)).await;
            for run in offsets.chunk_by(|before, after| *after == before + 1) {
                if let (Some(first), Some(last)) = (run.first(), run.last()) {
                    lines::tell_batch(&name, *first, *last, start);
                }
            }
            if let Some(last) = offsets.last() {
                let mut owned = self.owned();
                owned.at.insert(name.clone(), last + 1);
                owned.dirty.insert(name, last + 1);
            }
        }
    }
}

/// A worker as krafka calls it, within a poll and within `close`.
struct Listener(Arc<Worker>);

impl ConsumerRebalanceListener for Listener {
    async fn on_partitions_assigned(&self, partitions: &[TopicPartition]) {
        lines::tell_partitions("assigned", &names(partitions));
    }

    async fn on_partitions_revoked(&self, partitions: &[TopicPartition]) {
        let names = names(partitions);
        self.0.commit(Some(&names)).await;
        self.0.forget("revoked", &names);
    }

    async fn on_partitions_lost(&self, partitions: &[TopicPartition]) {
        self.0.forget("lost", &names(partitions));
    }
}

/// Connects, also to a broker that is down at first, which other clients wait out, too.
async fn connect(arguments: &Arguments) -> Result<Kafka, WorkerError> {
    let mut attempts = 0;
    loop {
        let builder = Kafka::builder(arguments.text("bootstrap")?)
            .client_id(arguments.text("name")?)
            .metadata_max_age(arguments.millis("metadata_ms")?);
        match builder.connect().await {
            Err(_) if attempts < ATTEMPTS_MAX => attempts += 1,
            connected => return Ok(connected?),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn run(arguments: &Arguments) -> Result<(), WorkerError> {
    let kafka = connect(arguments).await?;
    let worker = Arc::new(Worker::default());
    let listener = Listener(Arc::clone(&worker));
    let consumer = arguments.builder(&kafka)?.rebalance_listener(listener).build().await?;
    let consumer = Arc::new(consumer);
    worker.consumer.get_or_init(|| Arc::downgrade(&consumer));
    let (end, ended) = watch::channel(false);
    let (topics, mut topics_to_come) = watch::channel(arguments.text("topics")?.to_owned());
    topics_to_come.mark_changed();
    std::thread::spawn(move || {
        // An error is the end, too.
        for line in std::io::stdin().lines().map_while(Result::ok) {
            topics.send_replace(line);
        }
        end.send_replace(true);
    });
    lines::tell_state("ready");
    let work = Duration::from_micros(arguments.number("work_us")?);
    let commit_every = arguments.millis("commit_ms")?;
    let mut committed = Instant::now();
    while !*ended.borrow() {
        if topics_to_come.has_changed().unwrap_or(false) {
            let topics = topics_to_come.borrow_and_update().clone();
            if let Err(error) = consumer.subscribe(topics.trim().split(',')).await {
                lines::tell_error(&error.to_string());
                topics_to_come.mark_changed();
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        }
        match consumer.poll(WAIT).await {
            Ok(records) => worker.process(&records, work).await,
            Err(error) => {
                lines::tell_error(&error.to_string());
                tokio::time::sleep(PAUSE).await;
            }
        }
        if committed.elapsed() > commit_every {
            committed = Instant::now();
            worker.commit(None).await;
        }
    }
    worker.commit(None).await;
    consumer.close_with(CloseOptions::new().timeout(CLOSE_TIMEOUT)).await?;
    lines::tell_state("left");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), WorkerError> {
    let level = std::env::var("RUST_LOG").ok().and_then(|level| level.parse().ok());
    tracing_subscriber::fmt()
        .with_max_level(level.unwrap_or(LevelFilter::WARN))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let given = std::env::args().skip(1).filter_map(|argument| {
        let (name, value) = argument.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    run(&Arguments(given.collect())).await
}
