//! Numbered records, written and read in the background, so that none can be missing, come twice or
//! out of order unseen.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thalweg::ConsumerRecord;
use thalweg::ProduceCounts;
use thalweg::{Cluster, Consumer, Delivery, Producer, ProducerConfig, ProducerRecord};
use thalweg::{Records, TopicPartition};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// Longer than anything takes on a machine that is busy with other things.
pub const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// Waits until something is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(WAIT_LIMIT, waiting).await;
    waited.unwrap_or_else(|_| panic!("{what}: did not come about"));
}

/// The partitions of topics.
pub fn partitions(topics: &[(&str, i32)]) -> Vec<TopicPartition> {
    let each = |(name, count): &(&str, i32)| {
        let name = (*name).to_owned();
        (0..*count).map(move |partition| TopicPartition::new(name.clone(), partition))
    };
    topics.iter().flat_map(each).collect()
}

/// Writes one record to each of some partitions, again and again: numbers from 0 on. Nothing else
/// may write there: the offset of each has to be its number.
pub struct Writer {
    stop: Arc<AtomicBool>,
    /// Rounds.
    written: Arc<AtomicI64>,
    acknowledged: Arc<AtomicI64>,
    /// Held while a round is written.
    gate: Arc<tokio::sync::Mutex<()>>,
    tasks: (JoinHandle<Producer>, JoinHandle<()>),
}

impl Writer {
    pub fn start(cluster: Cluster, partitions: Vec<TopicPartition>, pause: Duration) -> Writer {
        let producer = Producer::new(cluster, ProducerConfig::default()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (written, acknowledged) = <(Arc<AtomicI64>, Arc<AtomicI64>)>::default();
        let gate = Arc::<tokio::sync::Mutex<()>>::default();
        let (begun, free) = (Arc::clone(&written), Arc::clone(&gate));
        let (deliveries, mut taken) = mpsc::unbounded_channel::<(i64, Vec<Delivery>)>();
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&acknowledged));
        let writing = tokio::spawn(async move {
            for number in 0.. {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let turn = free.lock().await;
                begun.store(number + 1, Ordering::SeqCst);
                let mut round = Vec::with_capacity(partitions.len());
                for at in &partitions {
                    let value = number.to_string();
                    let record = ProducerRecord {
                        topic: &at.topic,
                        partition: Some(at.partition),
                        value: Some(value.as_bytes()),
                        ..ProducerRecord::default()
                    };
                    round.push(producer.send(record).await.unwrap());
                }
                deliveries.send((number, round)).unwrap();
                drop(turn);
                tokio::time::sleep(pause).await;
            }
            producer
        });
        let waiting = tokio::spawn(async move {
            while let Some((number, round)) = taken.recv().await {
                for delivery in round {
                    let written = delivery.await.unwrap();
                    assert_eq!(written.offset, number, "{written:?}");
                }
                counted.store(number + 1, Ordering::SeqCst);
            }
        });
        Writer { stop, written, acknowledged, gate, tasks: (writing, waiting) }
    }

    /// Records of each partition that are acknowledged.
    pub fn acknowledged(&self) -> i64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Waits until so many more are acknowledged.
    pub async fn advance(&self, by: i64) {
        let goal = self.acknowledged() + by;
        until("an acknowledgement", async || self.acknowledged() >= goal).await;
    }

    /// Writes nothing for as long as what this gives is kept; all that was written is acknowledged.
    pub async fn hold(&self) -> tokio::sync::OwnedMutexGuard<()> {
        let held = Arc::clone(&self.gate).lock_owned().await;
        let written = self.written.load(Ordering::SeqCst);
        until("an acknowledgement", async || self.acknowledged() >= written).await;
        held
    }

    /// Stops when all that was written is acknowledged; gives how many each partition has, and what
    /// it took.
    pub async fn stop(self) -> (i64, ProduceCounts) {
        self.stop.store(true, Ordering::SeqCst);
        let all = async {
            let producer = self.tasks.0.await.unwrap();
            self.tasks.1.await.unwrap();
            producer
        };
        let producer = tokio::time::timeout(WAIT_LIMIT, all).await.expect("acknowledgements");
        (self.acknowledged.load(Ordering::SeqCst), producer.counts())
    }
}

/// A number that was read, and by whom.
type Entry = (i64, Arc<str>);

/// Numbers that were read, partition by partition, in the order in which they came.
#[derive(Clone, Default)]
pub struct Book(Arc<Mutex<BTreeMap<TopicPartition, Vec<Entry>>>>);

impl Book {
    pub fn note(&self, who: &Arc<str>, at: TopicPartition, offset: i64) {
        self.0.lock().unwrap().entry(at).or_default().push((offset, Arc::clone(who)));
    }

    fn note_record(&self, who: &Arc<str>, record: &ConsumerRecord<'_>) {
        let value = std::str::from_utf8(record.value().unwrap()).unwrap();
        assert_eq!(value, record.offset().to_string(), "{}", record.topic_partition());
        self.note(who, record.topic_partition().clone(), record.offset());
    }

    /// Records that were read of the partition with the fewest.
    pub fn least(&self, of: &[TopicPartition]) -> i64 {
        let book = self.0.lock().unwrap();
        of.iter().map(|at| book.get(at).map_or(0, Vec::len) as i64).min().unwrap_or(0)
    }

    /// Waits until as many were read as were written, of each, or more.
    pub async fn reach(&self, of: &[TopicPartition], count: i64) {
        let all = async {
            while self.least(of) < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(WAIT_LIMIT, all).await.is_err() {
            panic!("not all of {count} records came: {}", self.lacking(of, count));
        }
    }

    /// Waits until each number of each was read, once or more often.
    pub async fn reach_all(&self, of: &[TopicPartition], count: i64) {
        let lacks_one = || {
            let book = self.0.lock().unwrap();
            let lacks = |at: &TopicPartition| {
                let read: BTreeSet<i64> =
                    book.get(at).into_iter().flatten().map(|(number, _)| *number).collect();
                read.range(0..count).count() < count as usize
            };
            of.iter().any(lacks)
        };
        let all = async {
            while lacks_one() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(WAIT_LIMIT, all).await.is_err() {
            panic!("not all of {count} records came: {}", self.lacking(of, count));
        }
    }

    /// Nobody read a number twice.
    #[track_caller]
    pub fn assert_nobody_repeats(&self, who: &str) {
        for (at, read) in &*self.0.lock().unwrap() {
            let mut known = BTreeSet::new();
            let again = read.iter().find(|entry| !known.insert(*entry));
            assert!(again.is_none(), "{who}: {at}: {again:?} again");
        }
    }

    /// What was not read of each partition, and what was read last.
    fn lacking(&self, of: &[TopicPartition], count: i64) -> String {
        let book = self.0.lock().unwrap();
        let each = of.iter().map(|at| {
            let read = book.get(at).map_or(&[][..], Vec::as_slice);
            let is_missing = |number: &i64| !read.iter().any(|(known, _)| known == number);
            let missing: Vec<i64> = (0..count).filter(is_missing).collect();
            let ends = (missing.first(), missing.last());
            format!("{at}: {} missing, of {ends:?}, last {:?}", missing.len(), read.last())
        });
        each.collect::<Vec<_>>().join("; ")
    }

    /// Forgets in which order the numbers of a partition came: where readers are processes of
    /// their own, it is not known.
    pub fn sort(&self) {
        self.0.lock().unwrap().values_mut().for_each(|read| read.sort_unstable());
    }

    /// Each number was read once, in order.
    #[track_caller]
    pub fn assert_complete(&self, who: &str, of: &[TopicPartition], count: i64) {
        let book = self.0.lock().unwrap();
        for at in of {
            let read = book.get(at).map_or(&[][..], Vec::as_slice);
            let wrong =
                read.iter().zip(0..).position(|((number, _), expected)| *number != expected);
            let near = wrong.map(|wrong| {
                &read[wrong.saturating_sub(3)..read.len().min(wrong.saturating_add(4))]
            });
            assert!(near.is_none(), "{who}: {at}: not in order: {near:?}, of {}", read.len());
            assert_eq!(read.len() as i64, count, "{who}: {at}");
        }
        assert!(book.keys().all(|at| of.contains(at)), "{who}: other partitions");
    }
}

/// A consumer that writes down all it reads.
pub struct Reader {
    stop: watch::Sender<bool>,
    task: JoinHandle<Consumer>,
    assignment: Arc<Mutex<Vec<TopicPartition>>>,
}

impl Reader {
    pub fn start(who: &str, mut consumer: Consumer, book: Book) -> Reader {
        let who: Arc<str> = who.into();
        let (stop, mut stopped) = watch::channel(false);
        let assignment = Arc::<Mutex<Vec<TopicPartition>>>::default();
        let shown = Arc::clone(&assignment);
        let task = tokio::spawn(async move {
            loop {
                *shown.lock().unwrap() = consumer.assignment();
                let limit = Duration::from_millis(20);
                let polled: Records = tokio::select! {
                    polled = consumer.poll_timeout(100, limit) => polled.unwrap(),
                    _ = stopped.changed() => return consumer,
                };
                polled.iter().for_each(|record| book.note_record(&who, &record));
            }
        });
        Reader { stop, task, assignment }
    }

    /// What it had when it last looked.
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.assignment.lock().unwrap().clone()
    }

    /// Gives the consumer back, which has handed everything out that it was asked for.
    pub async fn stop(self) -> Consumer {
        self.stop.send(true).unwrap();
        self.task.await.unwrap()
    }
}
