//! A producer: records go straight into the batch that is sent, and every one of them can be
//! waited for.

mod config;
mod shared;
mod tasks;
mod transaction;

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout_at;

pub use config::ProducerConfig;
pub use transaction::Transaction;

use crate::cluster::Cluster;
use crate::core::produce::{
    AsProducerRecord, Memory, ProduceCounts, ProduceError, ProduceErrorKind, ProducerRecord,
    RecordMetadata, Refused, Sender, Ticket,
};
use crate::error::Error;
use crate::options::backoff;
use shared::{Shared, Wanted};
use tasks::{connection, coordinator, lookups};

/// How long a topic is asked for at least, once somebody wanted to send to it.
const WANTED_MIN: Duration = Duration::from_secs(60);

/// Writes records. Clones are handles to the same producer, which ends with the last of them;
/// [`Self::close`] or [`Self::flush`] first, or what is not acknowledged yet is given up.
///
/// Every method may be cancelled by dropping its future. A record is taken in wholly or not at
/// all, and once it is, what becomes of it does not depend on anybody waiting.
///
/// ```no_run
/// use thalweg::{Cluster, Options, Producer, ProducerConfig, ProducerRecord};
///
/// # async fn example() -> Result<(), thalweg::Error> {
/// let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
/// let producer = Producer::new(cluster, ProducerConfig::default())?;
/// let record = ProducerRecord {
///     topic: "orders",
///     key: Some(b"4711"),
///     value: Some(b"two of them"),
///     ..ProducerRecord::default()
/// };
/// let delivery = producer.send(record).await?;
/// // More records may follow; this one's fate is known when it is asked for.
/// let at = delivery.await?;
/// println!("partition {}, offset {}", at.partition, at.offset);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Producer {
    handle: Arc<Handle>,
}

/// Ends the tasks when the last clone goes.
struct Handle {
    shared: Arc<Shared>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("Producer")
            .field("counts", &state.sender.counts())
            .field("memory", state.sender.memory())
            .field("is_closing", &state.is_closing)
            .field("over", &state.sender.over())
            .finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let batches = self.shared.lock().sender.outstanding();
        if batches > 0 {
            tracing::warn!(
                batches,
                "a producer was dropped with records that are not acknowledged: they are given up; \
                 flush or close it first"
            );
        }
        self.shared.stop();
    }
}

/// What becomes of a record. To be waited for, or dropped: the record is sent anyway.
#[derive(Debug)]
#[must_use = "the record is only taken in: await this to know that it is acknowledged, or drop it"]
pub struct Delivery {
    ticket: Ticket,
}

impl Future for Delivery {
    type Output = Result<RecordMetadata, ProduceError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.ticket.poll(cx)
    }
}

/// Why [`Producer::try_send`] did not take a record.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrySendError {
    /// There is no room (`buffer.memory`).
    #[error("there is no room")]
    Full,
    /// What is to be known of the topic is not known yet; it is being asked for.
    #[error("nothing is known of the topic yet")]
    NotReady,
    /// The record cannot be sent.
    #[error(transparent)]
    Failed(#[from] ProduceError),
}

impl TrySendError {
    /// Whether the same may work later without anybody doing something.
    pub fn is_retriable(&self) -> bool {
        match self {
            TrySendError::Full | TrySendError::NotReady => true,
            TrySendError::Failed(error) => error.is_retriable(),
        }
    }
}

impl Producer {
    /// A producer on `cluster`. Must be called within a tokio runtime, on which its tasks run.
    ///
    /// # Errors
    /// [`Error::Config`] when settings make no sense.
    pub fn new(cluster: Cluster, config: ProducerConfig) -> Result<Producer, Error> {
        let config = config.bounded();
        let settings = config.settings(cluster.options())?;
        let room = Arc::new(Notify::new());
        let told = Arc::clone(&room);
        let memory = Memory::new(config.buffer_memory, move || told.notify_one());
        let sender = Sender::new(settings, memory, backoff::random());
        let shared = Arc::new(Shared::new(cluster, config, sender, room, connection::begin));
        shared.spawn(lookups::run(Arc::clone(&shared)));
        shared.spawn(lookups::watch(Arc::clone(&shared)));
        if let Some(id) = &shared.config.transactional_id {
            let id = id.as_str().into();
            shared.spawn(coordinator::run(Arc::clone(&shared), id));
        }
        Ok(Producer { handle: Arc::new(Handle { shared }) })
    }

    /// Takes a record in. Waits only while there is no room for it (`buffer.memory`) or nothing is
    /// known of its topic, for [`ProducerConfig::max_block`] at most. Records of one task come to
    /// lie in a partition in the order in which this returned. Now and then it lets other tasks of
    /// the runtime have their turn.
    ///
    /// # Errors
    /// [`ProduceError`] when the record was not taken in: its topic or partition does not exist,
    /// it is too large, there was no room for too long, or the producer is closed.
    pub async fn send(&self, record: impl AsProducerRecord) -> Result<Delivery, ProduceError> {
        self.send_in(record, None).await
    }

    /// As [`Self::send`], and only in the transaction of this number.
    pub(crate) async fn send_in(
        &self,
        record: impl AsProducerRecord,
        transaction: Option<u64>,
    ) -> Result<Delivery, ProduceError> {
        // Whoever sends in a loop lets the tasks run that take batches away: on the same thread they
        // would not get their turn before there is no room.
        if self.shared().is_others_turn() {
            tokio::task::yield_now().await;
        }
        let record = record.as_producer_record();
        match self.shared().append(&record, transaction) {
            Ok(ticket) => Ok(Delivery { ticket }),
            Err(refused) => self.send_later(&record, transaction, refused).await,
        }
    }

    /// As [`Self::send`], but never waits.
    ///
    /// # Errors
    /// [`TrySendError::Full`] and [`TrySendError::NotReady`] where [`Self::send`] would wait.
    pub fn try_send(&self, record: impl AsProducerRecord) -> Result<Delivery, TrySendError> {
        self.try_send_in(record, None)
    }

    /// As [`Self::try_send`], and only in the transaction of this number.
    pub(crate) fn try_send_in(
        &self,
        record: impl AsProducerRecord,
        transaction: Option<u64>,
    ) -> Result<Delivery, TrySendError> {
        let record = record.as_producer_record();
        match self.shared().append(&record, transaction) {
            Ok(ticket) => Ok(Delivery { ticket }),
            Err(Refused::Full) => Err(TrySendError::Full),
            Err(Refused::UnknownTopic) => {
                let max_block = self.shared().config.max_block;
                self.want(record.topic, Instant::now() + max_block);
                Err(TrySendError::NotReady)
            }
            Err(refused) => {
                Err(TrySendError::Failed(self.shared().lock().sender.error_of(&record, refused)))
            }
        }
    }

    /// Waits for what is missing, and tries again.
    async fn send_later(
        &self,
        record: &ProducerRecord<'_>,
        transaction: Option<u64>,
        mut refused: Refused,
    ) -> Result<Delivery, ProduceError> {
        let shared = self.shared();
        let began = Instant::now();
        let deadline = began + shared.config.max_block;
        let mut asked_at = None;
        let mut code = None;
        loop {
            // Whoever is told between the look and the wait is not forgotten.
            let mut room = pin!(shared.room.notified());
            let mut changed = pin!(shared.changed.notified());
            changed.as_mut().enable();
            if refused == Refused::Full {
                room.as_mut().enable();
            }
            match shared.append(record, transaction) {
                Ok(ticket) => {
                    if refused == Refused::Full {
                        // There may be room for the next who waits as well.
                        shared.room.notify_one();
                    }
                    return Ok(Delivery { ticket });
                }
                Err(again) => {
                    if refused == Refused::Full && again != Refused::Full {
                        // The room that this was told of is for somebody else.
                        shared.room.notify_one();
                    }
                    refused = again;
                }
            }
            let in_time = match &refused {
                Refused::Full => timeout_at(deadline.into(), room).await.is_ok(),
                Refused::UnknownTopic => {
                    if asked_at.is_some() {
                        let known = shared.lock().wanted.get(record.topic).and_then(|w| w.code);
                        code = known.or(code);
                    }
                    if code.is_some_and(|code| !code.is_retriable()) {
                        false
                    } else {
                        if asked_at.is_none() {
                            asked_at = Some(self.want(record.topic, deadline));
                        }
                        timeout_at(deadline.into(), changed).await.is_ok()
                    }
                }
                // It may have been added since; one look is enough.
                Refused::NoSuchPartition(_) => {
                    let refreshes = shared.lock().refreshes;
                    let at = *asked_at.get_or_insert_with(|| self.want(record.topic, deadline));
                    refreshes <= at && timeout_at(deadline.into(), changed).await.is_ok()
                }
                Refused::For(_) => false,
            };
            if !in_time {
                let mut error = shared.lock().sender.error_of(record, refused);
                match &mut error.kind {
                    ProduceErrorKind::Full { waited_ms } => {
                        *waited_ms = began.elapsed().as_millis() as u64;
                    }
                    ProduceErrorKind::UnknownTopic { code: of, .. } => *of = code,
                    _ => {}
                }
                return Err(error);
            }
        }
    }

    /// Has metadata of a topic asked for, until then; gives how often any were asked for so far.
    fn want(&self, topic: &str, until: Instant) -> u64 {
        // Who does not wait comes back: by then it should be known.
        let until = until.max(Instant::now() + WANTED_MIN);
        self.shared().with(|state| {
            if !state.sender.knows(topic) {
                let asked = &self.shared().asked;
                let wanted = state.wanted.entry(topic.to_owned()).or_insert_with(|| {
                    asked.notify_one();
                    Wanted { code: None, until }
                });
                wanted.until = wanted.until.max(until);
                // It may have come into being since somebody else was refused.
                wanted.code = None;
            }
            state.sender.want_metadata();
            state.refreshes
        })
    }

    /// Sends all that was taken in so far without waiting for more, and waits until each of them
    /// is acknowledged or given up. What became of them their deliveries say.
    ///
    /// # Errors
    /// [`Error::Producer`] when the producer cannot go on; so says every later call.
    pub async fn flush(&self) -> Result<(), Error> {
        let shared = self.shared();
        let mut flushing = shared.with(|state| state.sender.flush(shared.now_ms()));
        poll_fn(|cx| flushing.poll(cx)).await;
        match shared.lock().sender.over() {
            None | Some(ProduceErrorKind::Closed) => Ok(()),
            Some(why) => Err(Error::Producer(why.clone())),
        }
    }

    /// Takes no more records, waits until those taken in are acknowledged or given up, for
    /// `timeout` at most, and ends. A transaction that is open is aborted, and one that is being ended
    /// is waited for. Says whether the time was enough; what is left is given up
    /// with [`ProduceErrorKind::Closed`].
    pub async fn close(&self, timeout: Duration) -> bool {
        self.shared().lock().is_closing = true;
        let ending = async {
            self.abort_open().await;
            drop(self.flush().await);
        };
        let is_done = tokio::time::timeout(timeout, ending).await.is_ok();
        self.shared().stop();
        is_done
    }

    /// Counts since the beginning: requests, batches, records.
    pub fn counts(&self) -> ProduceCounts {
        self.shared().lock().sender.counts()
    }

    /// Bytes that count against `buffer.memory` now, and the most that ever did.
    pub fn memory_used(&self) -> (usize, usize) {
        let state = self.shared().lock();
        let memory = state.sender.memory();
        (memory.used(), memory.peak())
    }

    /// The cluster it writes to.
    pub fn cluster(&self) -> &Cluster {
        &self.shared().cluster
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Metadata;
    use crate::core::metadata::{Partition, Topic};
    use thalweg_wire::{ErrorCode, Uuid};

    fn metadata(topics: &[&str]) -> Metadata {
        let partition = Partition { leader: None, replicas: Vec::new(), isr: Vec::new() };
        let mut metadata = Metadata::default();
        for (at, name) in (1..).zip(topics) {
            let (id, partitions) = (Uuid::from_u128(at), [(0, partition.clone())].into());
            metadata.topics.insert((*name).to_owned(), Topic { id, internal: false, partitions });
        }
        metadata
    }

    /// Nobody leads any partition, so that records are taken in, and nothing is ever sent.
    fn producer(config: ProducerConfig, topics: &[&str]) -> Producer {
        let metadata = metadata(topics);
        let producer = Producer::new(Cluster::detached(metadata.clone()), config).unwrap();
        let shared = producer.shared();
        shared.with(|state| {
            state.sender.update_metadata(&metadata, topics.iter().copied(), shared.now_ms());
        });
        producer
    }

    fn record(topic: &str) -> ProducerRecord<'_> {
        ProducerRecord::new(topic).with_partition(0).with_value(&[b'x'; 900])
    }

    #[tokio::test]
    async fn room_is_not_kept_by_somebody_who_cannot_use_it() {
        let config = ProducerConfig::default().with_batch_size(1_000).with_buffer_memory(1_000);
        let producer = producer(config, &["full", "gone", "waits"]);
        let shared = producer.shared();
        let in_the_way = producer.send(record("full")).await.unwrap();
        let gone = producer.send(record("gone"));
        let waits = producer.send(record("waits"));
        tokio::pin!(gone, waits);
        // Both wait for room, the first of them at the head.
        for _ in 0..3 {
            poll_fn(|cx| {
                assert!(
                    gone.as_mut().poll(cx).is_pending() && waits.as_mut().poll(cx).is_pending()
                );
                Poll::Ready(())
            })
            .await;
        }
        // The first one's topic is deleted, and then there is room.
        shared.with(|state| {
            state.sender.update_metadata(&metadata(&["full", "waits"]), [], shared.now_ms());
            state.sender.expire(u64::MAX / 2);
        });
        assert!(in_the_way.await.is_err());
        let sent = async {
            tokio::select! {
                sent = &mut waits => sent,
                _ = &mut gone => panic!("its topic is gone"),
            }
        };
        let sent = tokio::time::timeout(Duration::from_secs(20), sent).await;
        drop(sent.expect("the wake-up was swallowed").unwrap());
    }

    #[tokio::test]
    async fn what_is_fatal_is_the_answer_to_every_later_call() {
        let producer = producer(ProducerConfig::default(), &["t"]);
        let before = producer.send(record("t")).await.unwrap();
        let kind = ProduceErrorKind::NoProducerId(ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
        producer.shared().with(|state| state.sender.give_up(kind.clone()));
        assert_eq!(before.await.unwrap_err().kind, kind);
        for is_closed in [false, true] {
            assert_eq!(producer.send(record("t")).await.unwrap_err().kind, kind, "{is_closed}");
            let Err(TrySendError::Failed(error)) = producer.try_send(record("t")) else { panic!() };
            assert_eq!(error.kind, kind);
            assert!(!error.is_retriable());
            let flushed = producer.flush().await.unwrap_err();
            assert!(matches!(&flushed, Error::Producer(of) if *of == kind), "{flushed}");
            producer.close(Duration::ZERO).await;
        }
    }

    /// Keeps what is logged as a warning.
    #[derive(Clone, Default)]
    struct Warnings(Arc<std::sync::Mutex<Vec<String>>>);

    impl tracing::Subscriber for Warnings {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            *metadata.level() == tracing::Level::WARN
        }

        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }

        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

        fn event(&self, event: &tracing::Event<'_>) {
            struct Text(String);
            impl tracing::field::Visit for Text {
                fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
                    self.0 += &format!("{field}={value:?} ");
                }
            }
            let mut text = Text(String::new());
            event.record(&mut text);
            self.0.lock().unwrap().push(text.0);
        }

        fn enter(&self, _: &tracing::span::Id) {}

        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[tokio::test]
    async fn a_producer_dropped_with_unsent_records_warns() {
        let warnings = Warnings::default();
        let dropped = |producer: Producer| {
            tracing::subscriber::with_default(warnings.clone(), || drop(producer));
            std::mem::take(&mut *warnings.0.lock().unwrap())
        };
        let one = producer(ProducerConfig::default(), &["t"]);
        let delivery = one.send(record("t")).await.unwrap();
        let clone = one.clone();
        assert_eq!(dropped(clone), Vec::<String>::new(), "another handle goes on");
        let told = dropped(one);
        assert!(told.len() == 1 && told[0].contains("a producer was dropped"), "{told:?}");
        assert_eq!(delivery.await.unwrap_err().kind, ProduceErrorKind::Closed);
        // Nothing is left to be sent.
        assert_eq!(dropped(producer(ProducerConfig::default(), &["t"])), Vec::<String>::new());
        let closed = producer(ProducerConfig::default(), &["t"]);
        drop(closed.send(record("t")).await.unwrap());
        closed.close(Duration::ZERO).await;
        assert_eq!(dropped(closed), Vec::<String>::new());
    }
}
