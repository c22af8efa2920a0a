//! Markers of transactions that this broker coordinates, on their way to the leaders of the partitions: one request at a
//! time to each broker, with everything that waits for it, and none to this one. A marker is sent again until it is
//! taken, its partition is gone from the metadata, or another coordinator has taken over.

mod leader;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_transactions::{
    Partitions, Producer, TransactionEvent, TransactionShard, TransactionVersion, WriteMarkers,
};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::WriteTxnMarkersResponse;
use thalweg_wire::messages::write_txn_markers_request::{
    WritableTxnMarker, WritableTxnMarkerTopic,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::coordination::Coordination;
use crate::coordination::runtime::Source;
use crate::node::backoff::Backoff;
use crate::node::metrics::Counter;
use crate::node::view::View;
use leader::Leader;

/// The pause before a marker is sent again, at first and at most. What was refused for another leader goes on as soon as
/// the metadata changes.
const BACKOFF: Duration = Duration::from_millis(20);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// Markers of one transaction that are to be written to some of its partitions.
struct Pending {
    source: Source<TransactionShard>,
    marker: Arc<Marker>,
    partitions: Partitions,
    /// How often it was sent in vain, or had no leader to be sent to.
    attempts: u32,
    /// The partitions had no leader when it was to be sent.
    is_leaderless: bool,
}

impl Pending {
    /// When it is sent again, unless the metadata changes before.
    fn again_at(&self) -> Instant {
        Instant::now() + Backoff::new(BACKOFF, BACKOFF_MAX).after(self.attempts)
    }
}

/// What is the same for all partitions of a transaction.
struct Marker {
    transactional_id: String,
    producer: Producer,
    commit: bool,
    version: TransactionVersion,
}

/// Connections to leaders, and requests on them.
#[derive(Default)]
pub(crate) struct ChannelMetrics {
    pub(crate) connections_opened: Counter,
    pub(crate) connections_closed: Counter,
    pub(crate) requests: Counter,
    pub(crate) responses: Counter,
}

/// Markers that are to be written.
#[derive(Default)]
pub(crate) struct Markers {
    pub(crate) channels: ChannelMetrics,
    /// Those that wait because their partitions have no leader, by transaction.
    leaderless: AtomicUsize,
    /// Those whose leaders are to be found, at once or after a pause.
    queue: Mutex<Vec<Pending>>,
    added: Notify,
    leaders: Mutex<BTreeMap<i32, Arc<Leader>>>,
}

impl std::fmt::Debug for Markers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Markers").finish_non_exhaustive()
    }
}

impl Markers {
    /// Has the markers of a transaction written; `source` hears of each partition that has its one. Does not wait.
    pub(crate) fn write(&self, source: Source<TransactionShard>, effect: WriteMarkers) {
        let WriteMarkers { transactional_id, producer, commit, partitions, client_version } =
            effect;
        let marker = Marker { transactional_id, producer, commit, version: client_version };
        let (marker, is_leaderless) = (Arc::new(marker), false);
        self.add(Pending { source, marker, partitions, attempts: 0, is_leaderless });
    }

    /// Transactions that have markers for partitions without a leader.
    pub(crate) fn leaderless(&self) -> usize {
        self.leaderless.load(Ordering::Relaxed)
    }

    fn add(&self, pending: Pending) {
        self.queue.lock().push(pending);
        self.added.notify_one();
    }

    /// Gives markers to the leaders of their partitions, for as long as it is polled.
    pub(crate) async fn run(&self, coordination: &Arc<Coordination>) {
        let mut later: Vec<(Instant, Pending)> = Vec::new();
        loop {
            let published = coordination.node.published().notified();
            let next = later.iter().map(|(at, _)| *at).min();
            let wake = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let is_published = tokio::select! {
                () = self.added.notified() => false,
                () = published, if next.is_some() => true,
                () = wake => false,
            };
            let now = Instant::now();
            let again = later.extract_if(.., |(at, _)| is_published || *at <= now);
            let mut due: Vec<Pending> = again.map(|(_, pending)| pending).collect();
            for pending in std::mem::take(&mut *self.queue.lock()) {
                match pending.attempts {
                    0 => due.push(pending),
                    _ => later.push((pending.again_at(), pending)),
                }
            }
            let leaderless =
                due.into_iter().filter_map(|pending| self.dispatch(coordination, pending));
            later.extend(leaderless.map(|pending| (pending.again_at(), pending)));
            let leaderless = later.iter().filter(|(_, pending)| pending.is_leaderless).count();
            self.leaderless.store(leaderless, Ordering::Relaxed);
        }
    }

    /// Gives markers to the leaders of their partitions; gives back what has none for now.
    fn dispatch(&self, coordination: &Arc<Coordination>, pending: Pending) -> Option<Pending> {
        // The coordinator of now asks for it again.
        pending.source.coordinator_epoch()?;
        let image = coordination.node.image();
        let (mut gone, mut leaderless) = (Partitions::default(), Partitions::default());
        let mut by_leader: BTreeMap<i32, Partitions> = BTreeMap::new();
        for (topic, index) in pending.partitions.iter() {
            let partition =
                image.topics.by_name(topic).and_then(|topic| topic.partitions.get(&index));
            let is_up = |id: i32| image.cluster.broker(id).is_some_and(|it| !it.fenced);
            match partition {
                None => gone.insert(topic, index),
                Some(it) if it.leader == coordination.node.id() || is_up(it.leader) => {
                    by_leader.entry(it.leader).or_default().insert(topic, index);
                }
                Some(_) => leaderless.insert(topic, index),
            }
        }
        if !gone.is_empty() {
            tracing::info!(
                transactional_id = pending.marker.transactional_id,
                partitions = gone.len(),
                "partitions of a transaction are deleted and get no marker"
            );
        }
        if !gone.is_empty() || pending.partitions.is_empty() {
            pending.written(gone);
        }
        for (leader, partitions) in by_leader {
            let leader_of = {
                let mut all = self.leaders.lock();
                Arc::clone(all.entry(leader).or_default())
            };
            leader_of.add(coordination, leader, pending.of(partitions));
        }
        (!leaderless.is_empty()).then(|| Pending {
            attempts: pending.attempts.saturating_add(1),
            is_leaderless: true,
            ..pending.of(leaderless)
        })
    }
}

impl Pending {
    /// The same for these partitions.
    fn of(&self, partitions: Partitions) -> Pending {
        Pending {
            source: self.source.clone(),
            marker: Arc::clone(&self.marker),
            partitions,
            attempts: self.attempts,
            is_leaderless: false,
        }
    }

    /// Takes out the partitions that a broker does not lead; gives those.
    fn split_off_moved(&mut self, image: &View, leader: i32) -> Option<Pending> {
        let is_led = |topic: &str, index| image.partition_leader(topic, index) == Some(leader);
        if self.partitions.iter().all(|(topic, index)| is_led(topic, index)) {
            return None;
        }
        let (mut led, mut moved) = (Partitions::default(), Partitions::default());
        for (topic, index) in self.partitions.iter() {
            let to = if is_led(topic, index) { &mut led } else { &mut moved };
            to.insert(topic, index);
        }
        self.partitions = led;
        // It goes to the leader of now without a pause.
        Some(Pending { attempts: 0, ..self.of(moved) })
    }

    /// These have their markers, or need none.
    fn written(&self, partitions: Partitions) {
        self.source.event(TransactionEvent::MarkersWritten {
            transactional_id: self.marker.transactional_id.clone(),
            producer: self.marker.producer,
            partitions,
        });
    }

    /// As it stands in the request of a coordinator of that epoch.
    fn to_marker(&self, coordinator_epoch: i32) -> WritableTxnMarker {
        let topics = self.partitions.topics().map(|(name, indices)| WritableTxnMarkerTopic {
            name: name.to_string(),
            partition_indexes: indices.iter().copied().collect(),
            ..Default::default()
        });
        WritableTxnMarker {
            producer_id: self.marker.producer.id,
            producer_epoch: self.marker.producer.epoch,
            transaction_result: self.marker.commit,
            topics: topics.collect(),
            coordinator_epoch,
            transaction_version: i8::try_from(self.marker.version.level()).unwrap_or(0),
            ..Default::default()
        }
    }
}

/// What became of each marker, by producer id, topic and partition.
#[derive(Default)]
struct Codes(BTreeMap<i64, BTreeMap<String, BTreeMap<i32, ErrorCode>>>);

impl Codes {
    fn of(answer: WriteTxnMarkersResponse) -> Codes {
        let mut codes = Codes::default();
        for marker in answer.markers {
            let topics = codes.0.entry(marker.producer_id).or_default();
            for topic in marker.topics {
                let partitions = topic.partitions.into_iter();
                let of_partitions = partitions.map(|it| (it.partition_index, it.error_code));
                topics.entry(topic.name).or_default().extend(of_partitions);
            }
        }
        codes
    }

    /// Of one partition; `None` where nothing was said.
    fn get(&self, producer_id: i64, topic: &str, index: i32) -> Option<ErrorCode> {
        self.0.get(&producer_id)?.get(topic)?.get(&index).copied()
    }
}

/// What is to be done about a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It was taken, or is not needed.
    Written,
    /// It is sent again.
    Again,
    /// Another coordinator has taken over, and sees to it.
    Fenced,
}

impl Fate {
    fn of(code: Option<ErrorCode>) -> Fate {
        match code {
            Some(
                ErrorCode::NONE
                // A newer producer has been there: what is open is not this transaction.
                | ErrorCode::INVALID_PRODUCER_EPOCH
                // There are no transactions in such a log.
                | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT
                | ErrorCode::UNSUPPORTED_VERSION,
            ) => Fate::Written,
            Some(ErrorCode::TRANSACTION_COORDINATOR_FENCED) => Fate::Fenced,
            _ => Fate::Again,
        }
    }
}

/// Tells a transaction which of its partitions have their markers, which were sent in a coordinator epoch, and has the
/// others sent again.
fn take(coordination: &Coordination, pending: Pending, coordinator_epoch: i32, codes: &Codes) {
    let (mut written, mut again) = (Partitions::default(), Partitions::default());
    let Producer { id, epoch } = pending.marker.producer;
    for (topic, index) in pending.partitions.iter() {
        let code = codes.get(id, topic, index);
        if let Some(code) = code.filter(|code| code.is_err()) {
            tracing::info!(transactional_id = pending.marker.transactional_id, producer_id = id,
                producer_epoch = epoch, topic, partition = index, error = %code,
                "a transaction marker was refused");
        }
        match Fate::of(code) {
            Fate::Written => written.insert(topic, index),
            Fate::Again => again.insert(topic, index),
            // Another one had taken over, and this broker has again since, with what it knew.
            Fate::Fenced if pending.source.coordinator_epoch() > Some(coordinator_epoch) => {
                again.insert(topic, index);
            }
            Fate::Fenced => {}
        }
    }
    if !again.is_empty() {
        let attempts = pending.attempts.saturating_add(1);
        coordination.transaction_writes().markers().add(Pending { attempts, ..pending.of(again) });
    }
    if !written.is_empty() {
        pending.written(written);
    }
}

#[cfg(test)]
mod tests;
