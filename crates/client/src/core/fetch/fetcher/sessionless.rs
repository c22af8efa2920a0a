//! Sessionless fetches (KIP-227): asking a broker while it still owes an answer.
//!
//! A request for partitions that have nothing new is held back by the broker, for
//! `fetch.max.wait.ms` at most. A partition that is resumed meanwhile, or whose buffer is used up,
//! would wait as long, though there is data: brokers look at one request of a connection at a time.
//! So these partitions are asked for on another connection, without a session, and without waiting.
//! The Java client lets them wait.
//!
//! A partition that has just moved to the broker is asked for again and again until the session asks for it, because
//! somebody writes to it. Once nothing new is there the broker waits for some, but not for long: who is resumed
//! meanwhile has to wait as well.
//!
//! Invariants:
//! - A partition is asked for either without a session or in it, never both: nothing comes twice.
//! - One sessionless request per broker. For each partition one at most comes back empty between two
//!   answers of the session, but for those that have moved, for which there is a limit, too.

use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_wire::messages::fetch_request::FetchRequestRef;
use thalweg_wire::{DecodeError, EncodeError, ErrorCode, Writer};

use super::Fetcher;
use super::accept::Accepted;
use super::plan::{Planned, write};
use crate::core::fetch::cursor::{Cursor, Slot};
use crate::core::fetch::session::{ByPartition, RequestedPartition};
use crate::core::fetch::source::Source;

/// The epoch of a request that belongs to no session.
const NO_SESSION: i32 = -1;
/// Milliseconds that the broker waits for new records of partitions that have moved there.
const MOVED_WAIT_MS: i32 = 20;
/// Requests that wait so between two answers of the session: those of half a minute.
const MOVED_WAITS_MAX: u32 = 1_500;

impl Fetcher {
    /// Notes that a partition wants something of a broker that does not answer just now.
    pub(super) fn note_late(&mut self, broker: i32, slot: Slot) {
        let Some(source) = self.sources.get(&broker) else { return };
        if !source.in_flight || source.sessionless.in_flight || source.sessionless.woken {
            return;
        }
        let Some(cursor) = self.cursors[slot as usize].as_ref() else { return };
        if is_worthwhile(cursor, source)
            && cursor.is_hungry(self.ask)
            && let Some(source) = self.sources.get_mut(&broker)
        {
            source.sessionless.woken = true;
            self.late.push(broker);
        }
    }

    /// Brokers for which [`Self::plan_sessionless`] may have a request, once the one under way has taken
    /// so long that it must have been held back.
    pub fn take_late(&mut self) -> Vec<i32> {
        mem::take(&mut self.late)
    }

    /// Writes a request to `broker` for what the request under way does not ask for. `None` when
    /// there is none under way, or nothing to ask. The answer goes to [`Self::accept_sessionless`].
    pub fn plan_sessionless(
        &mut self,
        broker: i32,
        now_ms: u64,
        version: i16,
        client_id: &str,
        frame: &mut Writer,
    ) -> Result<Option<Planned>, EncodeError> {
        self.settle(now_ms);
        let Some(source) = self.sources.get_mut(&broker) else { return Ok(None) };
        source.sessionless.woken = false;
        if !source.in_flight || source.sessionless.in_flight {
            return Ok(None);
        }
        let source = &*source;
        let mut asked: ByPartition<RequestedPartition> = ByPartition::new();
        for (partition, wanted) in source.session.untold() {
            let slot = self.by_name.get(partition);
            let cursor = slot.and_then(|&slot| self.cursors[slot as usize].as_ref());
            if cursor.is_some_and(|cursor| is_worthwhile(cursor, source)) {
                asked.insert(Arc::clone(partition), *wanted);
            }
        }
        if asked.is_empty() {
            return Ok(None);
        }
        let was_empty = |partition| {
            let slot = self.by_name.get(partition);
            let cursor = slot.and_then(|&slot| self.cursors[slot as usize].as_ref());
            cursor.is_some_and(|cursor| cursor.sessionless_round == source.rounds)
        };
        let waits = asked.keys().all(was_empty);
        let (max_wait_ms, min_bytes) = match waits {
            true => (MOVED_WAIT_MS.min(self.settings.max_wait_ms), self.settings.min_bytes),
            false => (0, 0),
        };
        let Some(reservation) = self.reserve(broker, asked.len()) else { return Ok(None) };
        let request = FetchRequestRef {
            max_wait_ms,
            min_bytes,
            session_id: 0,
            session_epoch: NO_SESSION,
            ..self.settings.request(reservation.bytes())
        };
        write(request, (&asked, &ByPartition::new()), (version, client_id), frame)?;
        let Some(source) = self.sources.get_mut(&broker) else { return Ok(None) };
        for partition in asked.keys() {
            source.session.set(partition, None);
            let slot = self.by_name.get(partition);
            if let Some(cursor) = slot.and_then(|&slot| self.cursors[slot as usize].as_mut()) {
                cursor.source = None;
                cursor.sessionless = true;
            }
        }
        source.sessionless.in_flight = true;
        source.sessionless.waits += u32::from(waits);
        source.sessionless.asked = asked;
        self.counts.requests += 1;
        self.counts.sessionless += 1;
        Ok(Some(Planned { reservation }))
    }

    /// Takes in the answer of a broker to what [`Self::plan_sessionless`] wrote.
    pub fn accept_sessionless(
        &mut self,
        broker: i32,
        body: &Bytes,
        version: i16,
        now_ms: u64,
    ) -> Result<Accepted, DecodeError> {
        let (response, mut accepted) = self.read_answer(body, version)?;
        let asked = self.end_sessionless(broker);
        if response.error_code == ErrorCode::NONE {
            let asked = |fetcher: &Fetcher, slot: Slot| {
                let cursor = fetcher.cursors[slot as usize].as_ref()?;
                asked.get(&cursor.partition).copied()
            };
            self.accept_partitions(broker, response, (body, version), asked, now_ms, &mut accepted);
        } else {
            self.wait_for_session(&asked);
        }
        self.go_on(broker, &asked);
        Ok(accepted)
    }

    /// What was asked without a session will not be answered.
    pub fn sessionless_failed(&mut self, broker: i32) {
        let asked = self.end_sessionless(broker);
        if let Some(source) = self.sources.get_mut(&broker) {
            // A connection that broke off may have been an old one, and is tried again. Where none
            // came about nobody insists before the session's next answer.
            source.sessionless.woken = asked.is_empty();
        }
        self.wait_for_session(&asked);
        self.go_on(broker, &asked);
    }

    /// What could not be asked for is left to the session.
    fn wait_for_session(&mut self, asked: &ByPartition<RequestedPartition>) {
        for partition in asked.keys() {
            let slot = self.by_name.get(partition);
            if let Some(cursor) = slot.and_then(|&slot| self.cursors[slot as usize].as_mut()) {
                cursor.is_moved = false;
            }
        }
    }

    fn end_sessionless(&mut self, broker: i32) -> ByPartition<RequestedPartition> {
        let Some(source) = self.sources.get_mut(&broker) else { return ByPartition::new() };
        source.sessionless.in_flight = false;
        mem::take(&mut source.sessionless.asked)
    }

    /// What was asked without a session may be asked for in the session again.
    fn go_on(&mut self, broker: i32, asked: &ByPartition<RequestedPartition>) {
        let round = self.sources.get(&broker).map_or(0, |source| source.rounds);
        for (partition, asked) in asked {
            let Some(&slot) = self.by_name.get(partition) else { continue };
            let Some(cursor) = self.cursors[slot as usize].as_mut() else { continue };
            if mem::take(&mut cursor.sessionless) {
                if cursor.fetch_at.offset == asked.offset {
                    cursor.sessionless_round = round;
                }
                self.touch(slot);
            }
        }
        // Others may have come to want something meanwhile.
        if let Some(source) = self.sources.get_mut(&broker)
            && source.in_flight
            && !mem::replace(&mut source.sessionless.woken, true)
        {
            self.late.push(broker);
        }
    }
}

/// Whether asking is likely to bring something that the request under way does not: there is more,
/// or nobody knows.
fn is_worthwhile(cursor: &Cursor, source: &Source) -> bool {
    let is_asked = || {
        source.session.told(&cursor.partition).is_some_and(|told| {
            told.offset == cursor.fetch_at.offset && told.topic_id == cursor.topic_id
        })
    };
    let is_new = cursor.sessionless_round != source.rounds
        && (cursor.is_stale || cursor.high_watermark > cursor.fetch_at.offset);
    let waits = cursor.is_moved && source.sessionless.waits < MOVED_WAITS_MAX;
    (is_new || waits) && !is_asked()
}
