//! The next request to a broker.

use thalweg_connection::pipeline;
use thalweg_wire::error::Encoded;
use thalweg_wire::messages::fetch_request::{
    FetchPartitionRef, FetchRequestRef, FetchTopicRef, ForgottenTopicRef,
};
use thalweg_wire::{ApiKey, Uuid, Writer};

use super::Fetcher;
use crate::core::fetch::budget::Reservation;
use crate::core::fetch::cursor::Slot;
use crate::core::fetch::session::{ByPartition, RequestedPartition};
use crate::core::fetch::settings::{FetchSettings, IsolationLevel};

/// Room in the budget below which nothing is asked for, unless that is all a partition asks.
const ROOM_MIN: usize = 16 << 10;

/// A request that was written. Its bytes are reserved until this is dropped: hold it until the
/// answer is taken in.
#[derive(Debug)]
#[must_use]
pub struct Planned {
    /// Bytes that the answer may bring.
    pub reservation: Reservation,
}

impl Fetcher {
    /// Writes the next request to `broker` into `frame`; its correlation id is still 0. `None`
    /// when nothing is wanted of it now, or the budget has no room: then
    /// [`Self::take_brokers_to_wake`] or [`Self::next_retry`] say when to ask again.
    pub fn plan(
        &mut self,
        broker: i32,
        now_ms: u64,
        version: i16,
        client_id: &str,
        frame: &mut Writer,
    ) -> Result<Option<Planned>, thalweg_wire::EncodeError> {
        self.settle(now_ms);
        self.heard(broker);
        if self.sources.get(&broker).is_none_or(|s| s.in_flight || s.session.len() == 0) {
            return Ok(None);
        }
        let partitions = self.sources.get(&broker).map_or(0, |source| source.session.len());
        let Some(reservation) = self.reserve(broker, partitions) else { return Ok(None) };
        let settings = &self.settings;
        let Some(source) = self.sources.get_mut(&broker) else { return Ok(None) };
        let request = FetchRequestRef {
            max_wait_ms: settings.max_wait_ms,
            min_bytes: settings.min_bytes,
            session_id: source.session.id,
            session_epoch: source.session.epoch,
            ..settings.request(reservation.bytes())
        };
        write(request, source.session.changes(), (version, client_id), frame)?;
        source.session.sent();
        source.in_flight = true;
        source.window.asked(reservation.bytes(), now_ms);
        self.counts.requests += 1;
        Ok(Some(Planned { reservation }))
    }

    /// Whether [`Self::plan`] would find partitions to ask `broker` for.
    pub fn wants(&mut self, broker: i32, now_ms: u64) -> bool {
        self.settle(now_ms);
        self.heard(broker);
        self.sources.get(&broker).is_some_and(|source| source.session.len() > 0)
    }

    /// A broker's task looks: what is told from here on it has to be told of.
    fn heard(&mut self, broker: i32) {
        if let Some(source) = self.sources.get_mut(&broker)
            && std::mem::take(&mut source.woken)
        {
            self.brokers_to_wake.retain(|woken| *woken != broker);
        }
    }

    /// When a partition that waits is to be asked for again.
    pub fn next_retry(&self) -> Option<u64> {
        self.delayed.first().map(|&(at, _)| at)
    }

    /// Tells the sessions what changed.
    pub(in crate::core::fetch) fn settle(&mut self, now_ms: u64) {
        while let Some(&(at, slot)) = self.delayed.first()
            && at <= now_ms
        {
            self.delayed.pop_first();
            if let Some(cursor) = self.cursors[slot as usize].as_mut()
                && cursor.retry_at == Some(at)
            {
                cursor.retry_at = None;
                self.touch(slot);
            }
        }
        let mut dirty = std::mem::take(&mut self.dirty);
        for slot in dirty.drain(..) {
            self.settle_one(slot, now_ms);
        }
        self.dirty = dirty;
    }

    fn settle_one(&mut self, slot: Slot, now_ms: u64) {
        let ask = self.ask;
        let batch = self.cursors[slot as usize].as_ref().map_or(0, |cursor| cursor.batch);
        let partition_ask = self.partition_ask(batch);
        let Some(cursor) = self.cursors[slot as usize].as_mut() else { return };
        cursor.dirty = false;
        if cursor.replica.is_some_and(|(_, until)| until <= now_ms) {
            cursor.replica = None;
        }
        if let Some(at) = cursor.retry_at {
            self.delayed.insert((at, slot));
        }
        let target = cursor.broker().filter(|_| cursor.is_hungry(ask));
        if let Some(before) = cursor.source
            && Some(before) != target
        {
            cursor.source = None;
            if let Some(source) = self.sources.get_mut(&before) {
                source.session.set(&cursor.partition, None);
            }
        }
        let (Some(broker), Some(leader)) = (target, cursor.leader) else { return };
        let asked = RequestedPartition {
            topic_id: cursor.topic_id,
            offset: cursor.fetch_at.offset,
            leader_epoch: leader.epoch,
            last_epoch: cursor.fetch_at.leader_epoch,
            max_bytes: i32::try_from(partition_ask.max(cursor.ask_at_least)).unwrap_or(i32::MAX),
        };
        cursor.source = Some(broker);
        let session = &mut self.sources.entry(broker).or_default().session;
        session.set(&cursor.partition, Some(asked));
        if cursor.high_watermark < 0
            && let Some(known) = session.watermarks(&cursor.partition, cursor.topic_id)
        {
            cursor.note_watermarks(known);
        }
        self.wake(broker);
    }

    /// Reserves what the next answer of a broker about so many partitions may bring.
    pub(super) fn reserve(&mut self, broker: i32, partitions: usize) -> Option<Reservation> {
        let source = self.sources.get(&broker)?;
        let active = self.sources.values().filter(|s| s.session.len() > 0).count().max(1);
        let limit = self.budget.limit();
        let wanted = partitions
            .saturating_mul(self.ask.max(self.largest))
            .min(usize::try_from(self.settings.max_bytes).unwrap_or(1))
            .min(limit / active)
            .min(source.window.bytes())
            .max(1);
        let enough = wanted.min(ROOM_MIN);
        if self.budget.room() < enough {
            self.compact();
        }
        if self.budget.room() < enough {
            self.budget.want_room();
            // Once more: what was let go before that call was not reported.
            if self.budget.room() < enough {
                return None;
            }
        }
        Some(self.budget.reserve(wanted.min(self.budget.room().max(1))))
    }

    /// Copies what little is left of frames that are mostly used up.
    fn compact(&mut self) {
        for cursor in self.cursors.iter_mut().flatten() {
            cursor.buffer.compact(&self.budget);
        }
    }
}

impl FetchSettings {
    /// What all requests have in common.
    pub(super) fn request(&self, max_bytes: usize) -> FetchRequestRef<'_> {
        FetchRequestRef {
            max_bytes: i32::try_from(max_bytes).unwrap_or(i32::MAX),
            isolation_level: match self.isolation {
                IsolationLevel::ReadUncommitted => 0,
                IsolationLevel::ReadCommitted => 1,
            },
            rack_id: &self.rack,
            ..FetchRequestRef::default()
        }
    }
}

/// Writes a request; its correlation id is still 0. What it names and what it has forgotten come sorted
/// by topic, so that each topic is one piece.
pub(super) fn write(
    request: FetchRequestRef<'_>,
    (named, forgotten): (&ByPartition<RequestedPartition>, &ByPartition<Uuid>),
    (version, client_id): (i16, &str),
    frame: &mut Writer,
) -> Encoded {
    pipeline::begin_request(frame, ApiKey::FETCH, version, client_id)?;
    let mut partitions = Vec::with_capacity(named.len());
    let mut pieces: Vec<(&str, Uuid, std::ops::Range<usize>)> = Vec::new();
    for (partition, asked) in named {
        let at = partitions.len();
        partitions.push(FetchPartitionRef {
            partition: partition.partition,
            current_leader_epoch: asked.leader_epoch,
            fetch_offset: asked.offset,
            last_fetched_epoch: asked.last_epoch,
            log_start_offset: -1,
            partition_max_bytes: asked.max_bytes,
            ..FetchPartitionRef::default()
        });
        extend(&mut pieces, &partition.topic, asked.topic_id, at);
    }
    let topics: Vec<FetchTopicRef<'_>> = pieces
        .iter()
        .map(|(topic, topic_id, range)| FetchTopicRef {
            topic,
            topic_id: *topic_id,
            partitions: &partitions[range.clone()],
        })
        .collect();
    let mut gone = Vec::with_capacity(forgotten.len());
    let mut pieces = Vec::new();
    for (partition, &topic_id) in forgotten {
        let at = gone.len();
        gone.push(partition.partition);
        extend(&mut pieces, &partition.topic, topic_id, at);
    }
    let forgotten: Vec<ForgottenTopicRef<'_>> = pieces
        .iter()
        .map(|(topic, topic_id, range)| ForgottenTopicRef {
            topic,
            topic_id: *topic_id,
            partitions: &gone[range.clone()],
        })
        .collect();
    let request = FetchRequestRef { topics: &topics, forgotten_topics_data: &forgotten, ..request };
    request.encode(frame, version)?;
    frame.end_frame()
}

/// Adds item `at` to the last piece, or begins another.
fn extend<'a>(
    pieces: &mut Vec<(&'a str, Uuid, std::ops::Range<usize>)>,
    topic: &'a str,
    topic_id: Uuid,
    at: usize,
) {
    match pieces.last_mut() {
        Some((last, id, range)) if *last == topic && *id == topic_id => range.end = at + 1,
        _ => pieces.push((topic, topic_id, at..at + 1)),
    }
}
