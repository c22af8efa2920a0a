//! A member of the group soak: this client. `tests/python/group_worker.py` says what its arguments are and
//! what its lines mean.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use thalweg::{
    Assignor, Cluster, Consumer, ConsumerConfig, Error, GroupProtocol, ListenerFuture, OffsetReset,
    Options, Position, Rebalance, RebalanceListener, Records, TopicPartition,
};
use tokio::sync::watch;

#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error("usage: group_worker NAME=VALUE...; {0} is missing or wrong")]
    Usage(&'static str),
    #[error(transparent)]
    Kafka(#[from] Error),
}

type Offsets = BTreeMap<TopicPartition, i64>;

/// What a member owns, where it is, and what it has not committed.
#[derive(Default)]
struct Owned {
    /// Where it is in what it owns.
    at: Offsets,
    /// What of that is to be committed.
    dirty: Offsets,
}

struct Worker {
    given: HashMap<String, String>,
    owned: Mutex<Owned>,
}

/// Microseconds of the monotonic clock, which all workers count from the same moment.
fn now() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1000
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn name(partition: &TopicPartition) -> String {
    quoted(&format!("{}-{}", partition.topic, partition.partition))
}

fn list(partitions: &[TopicPartition]) -> String {
    let mut names: Vec<String> = partitions.iter().map(name).collect();
    names.sort();
    format!(",\"p\":[{}]", names.join(","))
}

fn map(offsets: &Offsets) -> String {
    let offsets = offsets.iter().map(|(partition, offset)| format!("{}:{offset}", name(partition)));
    format!("{{{}}}", offsets.collect::<Vec<_>>().join(","))
}

/// Writes a line; `more` are its other fields, each behind a comma.
fn tell(event: &str, more: &str) {
    let mut out = std::io::stdout().lock();
    let line = format!("{{\"e\":\"{event}\",\"t\":{}{more}}}\n", now());
    // Nobody reads what a worker says whose test has ended.
    drop(out.write_all(line.as_bytes()).and_then(|()| out.flush()));
}

fn tell_batch(partition: &TopicPartition, first: i64, last: i64, start: i64) {
    let partition = name(partition);
    tell("batch", &format!(",\"p\":{partition},\"from\":{first},\"to\":{last},\"t0\":{start}"));
}

fn positions(offsets: &Offsets) -> Vec<(TopicPartition, Position)> {
    let positions = offsets.iter().map(|(of, offset)| (of.clone(), Position::at(*offset)));
    positions.collect()
}

impl Worker {
    fn owned(&self) -> MutexGuard<'_, Owned> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self, name: &'static str) -> Result<&str, WorkerError> {
        self.given.get(name).map(String::as_str).ok_or(WorkerError::Usage(name))
    }

    fn number(&self, name: &'static str) -> Result<u64, WorkerError> {
        self.text(name)?.parse().map_err(|_| WorkerError::Usage(name))
    }

    fn millis(&self, name: &'static str) -> Result<Duration, WorkerError> {
        self.number(name).map(Duration::from_millis)
    }

    fn protocol(&self) -> Result<GroupProtocol, WorkerError> {
        if self.text("protocol")? == "consumer" {
            return Ok(GroupProtocol::Consumer { server_assignor: None });
        }
        let assignor = |name: &str| match name {
            "range" => Ok(Assignor::Range),
            "roundrobin" => Ok(Assignor::RoundRobin),
            "sticky" => Ok(Assignor::Sticky),
            "cooperative-sticky" => Ok(Assignor::CooperativeSticky),
            _ => Err(WorkerError::Usage("assignors")),
        };
        let assignors = self.text("assignors")?.split(',').map(assignor);
        Ok(GroupProtocol::Classic { assignors: assignors.collect::<Result<_, _>>()? })
    }

    fn config(&self) -> Result<ConsumerConfig, WorkerError> {
        let mut config = ConsumerConfig::default()
            .with_group_id(self.text("group")?)
            .with_group_protocol(self.protocol()?)
            .with_auto_commit(false)
            .with_auto_offset_reset(OffsetReset::Earliest)
            .with_max_poll_interval(self.millis("rebalance_ms")?)
            .with_metadata_max_age(self.millis("metadata_ms")?)
            .with_fetch_max_wait(Duration::from_millis(100));
        // It may be left out.
        if let Ok(instance) = self.text("instance")
            && !instance.is_empty()
        {
            config.group_instance_id = Some(instance.to_owned());
        }
        if let GroupProtocol::Classic { .. } = config.group_protocol {
            config.session_timeout = self.millis("session_ms")?;
            config.heartbeat_interval = self.millis("heartbeat_ms")?;
        }
        Ok(config)
    }

    /// What is to be committed of these partitions, or of all; it counts as committed unless that fails.
    fn take_dirty(&self, of: Option<&[TopicPartition]>) -> Offsets {
        let mut owned = self.owned();
        let (taken, left) = std::mem::take(&mut owned.dirty)
            .into_iter()
            .partition(|(partition, _)| of.is_none_or(|of| of.contains(partition)));
        owned.dirty = left;
        let taken: Offsets = taken;
        if !taken.is_empty() {
            tell("sent", &format!(",\"o\":{}", map(&taken)));
        }
        taken
    }

    fn committed(&self, offsets: &Offsets, start: i64, result: &Result<(), Error>) {
        let mut more = format!(",\"ok\":{},\"o\":{},\"t0\":{start}", result.is_ok(), map(offsets));
        if let Err(error) = result {
            more += &format!(",\"why\":{}", quoted(&error.to_string()));
            // What was refused may be from before a rebalance: only where it is now may be committed.
            let mut owned = self.owned();
            let again = offsets.keys().filter_map(|of| Some((of.clone(), *owned.at.get(of)?)));
            let again: Vec<_> = again.collect();
            owned.dirty.extend(again);
        }
        tell("commit", &more);
    }

    async fn commit(&self, consumer: &Consumer) {
        let offsets = self.take_dirty(None);
        if !offsets.is_empty() {
            let start = now();
            let result = consumer.commit_offsets(positions(&offsets)).await;
            self.committed(&offsets, start, &result);
        }
    }

    /// Commits in the background what polls have given, which is worked on by now.
    fn commit_later(self: &Arc<Worker>, consumer: &Consumer) {
        let offsets = self.take_dirty(None);
        if !offsets.is_empty() {
            let (worker, start, pending) = (Arc::clone(self), now(), consumer.commit_async());
            tokio::spawn(async move { worker.committed(&offsets, start, &pending.await) });
        }
    }

    /// What was not committed by now is somebody else's.
    fn forget(&self, what: &str, partitions: &[TopicPartition]) {
        let gone: BTreeSet<_> = partitions.iter().collect();
        let mut owned = self.owned();
        owned.at.retain(|partition, _| !gone.contains(partition));
        owned.dirty.retain(|partition, _| !gone.contains(partition));
        tell(what, &list(partitions));
    }

    async fn process(&self, records: &Records, work: Duration) {
        for (partition, records) in records.by_partition() {
            let offsets: Vec<i64> = records.map(|record| record.offset()).collect();
            let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else { continue };
            let start = now();
            tokio::time::sleep(work * u32::try_from(offsets.len()).unwrap_or(u32::MAX)).await;
            let mut from = first;
            for two in offsets.windows(2) {
                if let [before, after] = *two
                    && after != before + 1
                {
                    tell_batch(partition, from, before, start);
                    from = after;
                }
            }
            tell_batch(partition, from, last, start);
            let mut owned = self.owned();
            owned.at.insert(partition.clone(), last + 1);
            owned.dirty.insert(partition.clone(), last + 1);
        }
    }

    async fn run(self: &Arc<Worker>) -> Result<(), WorkerError> {
        let options = Options::default().with_client_id(self.text("name")?);
        // The broker may be down at that moment, which other clients wait out, too.
        let mut attempts = 0;
        let cluster = loop {
            match Cluster::connect(self.text("bootstrap")?, options.clone()).await {
                Err(_) if attempts < 100 => attempts += 1,
                connected => break connected?,
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let mut consumer = Consumer::new(cluster, self.config()?)?;
        consumer.set_listener(Arc::clone(self))?;
        consumer.subscribe(self.text("topics")?.split(','))?;
        let (end, ended) = watch::channel(false);
        let (topics, mut topics_to_come) = watch::channel(String::new());
        std::thread::spawn(move || {
            // An error is the end, too.
            for line in std::io::stdin().lines().map_while(Result::ok) {
                topics.send_replace(line);
            }
            end.send_replace(true);
        });
        tell("ready", "");
        let work = Duration::from_micros(self.number("work_us")?);
        let commit_every = self.millis("commit_ms")?;
        let is_async = self.text("commit")? == "async";
        let mut committed = Instant::now();
        while !*ended.borrow() {
            if topics_to_come.has_changed().unwrap_or(false) {
                consumer.subscribe(topics_to_come.borrow_and_update().trim().split(','))?;
            }
            match consumer.poll_timeout(50, Duration::from_millis(100)).await {
                Ok(records) => self.process(&records, work).await,
                // It is out of the group for good, which nothing in a soak makes it.
                Err(error @ Error::Membership { .. }) => return Err(error.into()),
                Err(error) => {
                    tell("error", &format!(",\"what\":{}", quoted(&error.to_string())));
                }
            }
            if committed.elapsed() > commit_every {
                committed = Instant::now();
                if is_async { self.commit_later(&consumer) } else { self.commit(&consumer).await }
            }
        }
        self.commit(&consumer).await;
        consumer.close(Duration::from_secs(20)).await?;
        tell("left", "");
        Ok(())
    }
}

impl RebalanceListener for Worker {
    fn assigned<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        tell("assigned", &list(rebalance.partitions()));
        Box::pin(async {})
    }

    fn revoked<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        Box::pin(async move {
            let offsets = self.take_dirty(Some(rebalance.partitions()));
            if !offsets.is_empty() {
                let start = now();
                let result = rebalance.commit(positions(&offsets)).await;
                self.committed(&offsets, start, &result);
            }
            self.forget("revoked", rebalance.partitions());
        })
    }

    fn lost<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        self.forget("lost", rebalance.partitions());
        Box::pin(async {})
    }
}

#[tokio::main]
async fn main() -> Result<(), WorkerError> {
    let given = std::env::args().skip(1).filter_map(|arg| {
        let (name, value) = arg.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    Arc::new(Worker { given: given.collect(), owned: Mutex::default() }).run().await
}
