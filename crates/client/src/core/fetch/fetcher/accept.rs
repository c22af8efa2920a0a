//! What a broker answered.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use thalweg_records::BatchView;
use thalweg_records::batch::{BatchError, frame_len};
use thalweg_wire::messages::fetch_response::{
    FetchResponseView, FetchableTopicResponseView, NodeEndpointView, PartitionDataView,
};
use thalweg_wire::{DecodeError, ErrorCode, Reader};

use super::{FetchCounts, Fetcher};
use crate::core::backoff::backoff_ms;
use crate::core::fetch::buffer::{Fault, Fetched, Frame};
use crate::core::fetch::cursor::{self, Cursor, Phase, Slot};
use crate::core::fetch::error::PartitionErrorKind;
use crate::core::fetch::resets::ResetCause;
use crate::core::fetch::session::{RequestedPartition, Watermarks};
use crate::core::fetch::settings::{FetchSettings, OffsetReset};
use crate::core::metadata::Leader;
use crate::core::partition::{Position, TopicPartition};

/// Version from which topics go by their ids.
const FIRST_WITH_IDS: i16 = 13;

/// Where a broker listens, as another one says (KIP-951).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// The broker's id.
    pub id: i32,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Rack, where it is set.
    pub rack: Option<String>,
}

/// What follows from an answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accepted {
    /// Records came that can be handed out.
    pub has_records: bool,
    /// Something is to be reported.
    pub has_errors: bool,
    /// Offsets are to be looked up.
    pub has_unresolved: bool,
    /// Who leads what is not known well enough: the metadata are to be asked for.
    pub needs_metadata: bool,
    /// [`Fetcher::in_use`] has changed.
    pub uses_changed: bool,
    /// Leaders that the answer named, already taken over here.
    pub leaders: Vec<(TopicPartition, Leader)>,
    /// Where they listen.
    pub endpoints: Vec<Endpoint>,
    /// Milliseconds that the broker asks to be left alone.
    pub throttle_ms: u64,
}

/// What an answer says of one partition.
struct Part<'a> {
    pub broker: i32,
    pub data: &'a PartitionDataView<'a>,
    /// What it answers.
    pub asked: Option<RequestedPartition>,
    /// All of the answer.
    pub body: &'a Bytes,
    pub frame: &'a Arc<Frame>,
    pub now_ms: u64,
}

/// Whether an answer's end points can be used.
fn endpoint(node: NodeEndpointView<'_>) -> Option<Endpoint> {
    let port = u16::try_from(node.port).ok()?;
    let (host, rack) = (node.host.to_owned(), node.rack.map(str::to_owned));
    Some(Endpoint { id: node.node_id, host, port, rack })
}

impl Fetcher {
    /// Takes in the answer of a broker to what [`Self::plan`] wrote: the frame's body, in the same
    /// version.
    pub fn accept(
        &mut self,
        broker: i32,
        body: &Bytes,
        version: i16,
        now_ms: u64,
    ) -> Result<Accepted, DecodeError> {
        let (response, mut accepted) = self.read_answer(body, version)?;
        if let Some(source) = self.sources.get_mut(&broker) {
            source.in_flight = false;
            source.is_lost = false;
            source.rounds += 1;
            // Whoever was told may have been too late to look.
            source.sessionless.forget_wake();
            source.window.answered(body.len(), now_ms);
            match response.error_code {
                ErrorCode::NONE => source.session.answered(response.session_id),
                code => {
                    // A session that was lost is begun again at once; one that cannot be begun is
                    // not tried without a pause.
                    let is_lost = !source.session.is_new()
                        && (code == ErrorCode::FETCH_SESSION_ID_NOT_FOUND
                            || code == ErrorCode::INVALID_FETCH_SESSION_EPOCH);
                    source.session.reset();
                    if !is_lost {
                        self.put_off(broker, now_ms);
                    }
                    self.wake(broker);
                    return Ok(accepted);
                }
            }
        }
        self.note_watermarks(broker, &response, version);
        let asked = |fetcher: &Fetcher, slot| fetcher.told(broker, slot);
        self.accept_partitions(broker, response, (body, version), asked, now_ms, &mut accepted);
        self.wake(broker);
        Ok(accepted)
    }

    /// Reads an answer, of which nothing is used if it breaks off: its partitions are walked over a
    /// second time.
    pub(super) fn read_answer<'a>(
        &mut self,
        body: &'a Bytes,
        version: i16,
    ) -> Result<(FetchResponseView<'a>, Accepted), DecodeError> {
        self.counts.bytes += body.len() as u64;
        let response = FetchResponseView::parse(&mut Reader::new(body), version)?;
        let throttle_ms = u64::try_from(response.throttle_time_ms).unwrap_or(0);
        Ok((response, Accepted { throttle_ms, ..Accepted::default() }))
    }

    /// Takes in what an answer without an error says of partitions. `asked` knows what was asked of
    /// each.
    pub(super) fn accept_partitions(
        &mut self,
        broker: i32,
        response: FetchResponseView<'_>,
        (body, version): (&Bytes, i16),
        asked: impl Fn(&Fetcher, Slot) -> Option<RequestedPartition>,
        now_ms: u64,
        accepted: &mut Accepted,
    ) {
        let frame = Arc::new(Frame { len: body.len(), buffered: AtomicUsize::new(0) });
        accepted.endpoints.extend(response.node_endpoints.into_iter().filter_map(endpoint));
        for topic in response.responses {
            for data in topic.partitions {
                // One that was given up meanwhile is not there.
                let slot = self.slot_of(&topic, data.partition_index, version);
                let Some(slot) = slot else { continue };
                let asked = asked(self, slot);
                let part = Part { broker, data: &data, asked, body, frame: &frame, now_ms };
                self.accept_partition(slot, &part, accepted);
            }
        }
    }

    /// Remembers what an answer in a session says of where logs end, also of what is not read by now.
    fn note_watermarks(&mut self, broker: i32, response: &FetchResponseView<'_>, version: i16) {
        for topic in response.responses {
            for data in topic.partitions {
                let slot = self.slot_of(&topic, data.partition_index, version);
                let cursor = slot.and_then(|slot| self.cursors[slot as usize].as_ref());
                let (Some(cursor), Some(source)) = (cursor, self.sources.get_mut(&broker)) else {
                    continue;
                };
                let said = (data.error_code == ErrorCode::NONE).then(|| watermarks(&data));
                source.session.note_watermarks(&cursor.partition, said);
            }
        }
    }

    /// The partition that a part of an answer is about.
    fn slot_of(
        &self,
        topic: &FetchableTopicResponseView<'_>,
        index: i32,
        version: i16,
    ) -> Option<Slot> {
        if version >= FIRST_WITH_IDS {
            return self.by_id.get(&(topic.topic_id, index)).copied();
        }
        self.by_name.get(&TopicPartition::new(topic.topic, index)).copied()
    }

    /// There is a connection to a broker.
    pub fn connected(&mut self, broker: i32) {
        if let Some(source) = self.sources.get_mut(&broker) {
            source.is_lost = false;
        }
    }

    /// The connection to a broker is gone, or never came about: its partitions are left alone for a while.
    pub fn disconnected(&mut self, broker: i32, now_ms: u64) {
        self.reconnecting(broker);
        self.put_off(broker, now_ms);
    }

    /// The connection to a broker is gone, and another one is opened at once.
    pub fn reconnecting(&mut self, broker: i32) {
        if let Some(source) = self.sources.get_mut(&broker) {
            source.in_flight = false;
            source.is_lost = true;
            source.session.reset();
            source.sessionless.forget_wake();
        }
    }

    /// Leaves a broker's partitions alone for a while.
    fn put_off(&mut self, broker: i32, now_ms: u64) {
        // One draw and one count for all of them: they are asked for together.
        let random = self.random.next_u64();
        let is_here =
            |cursor: &Cursor| cursor.source == Some(broker) || cursor.broker() == Some(broker);
        let here = self.cursors.iter().flatten().filter(|cursor| is_here(cursor));
        let failures = here.map(|cursor| cursor.failures).max().unwrap_or_default();
        for slot in 0..self.cursors.len() {
            let Some(cursor) = &mut self.cursors[slot] else { continue };
            if is_here(cursor) {
                cursor.failures = failures;
                let until = now_ms + failed(cursor, &self.settings, random);
                cursor.retry_at = Some(until);
                // Without its nearest replica it is the leader's again.
                cursor.replica = None;
                self.touch(slot as Slot);
            }
        }
    }

    /// What a broker was told of a partition with the request that it answers.
    fn told(&self, broker: i32, slot: Slot) -> Option<RequestedPartition> {
        let cursor = self.cursors[slot as usize].as_ref()?;
        self.sources.get(&broker)?.session.told(&cursor.partition).copied()
    }

    fn accept_partition(&mut self, slot: Slot, part: &Part<'_>, accepted: &mut Accepted) {
        let &Part { broker, data, asked, body, frame, now_ms } = part;
        let Some(cursor) = self.cursors[slot as usize].as_mut() else { return };
        // It may have been sought elsewhere meanwhile. If it was paused, what comes is kept.
        let is_current = cursor.takes_in()
            && asked.is_some_and(|asked| {
                asked.offset == cursor.fetch_at.offset && asked.topic_id == cursor.topic_id
            });
        let records = data.records.unwrap_or_default();
        if is_current && cursor.phase != Phase::Fetching && !is_sound(data) {
            // Where it begins is being looked up, which decides alone. Nothing says that the log goes on
            // from what is kept, and what is wrong is met again by the next fetch.
            cursor.buffer.clear();
            self.counts.discarded_bytes += complete(records).bytes as u64;
            return self.touch(slot);
        }
        if data.error_code != ErrorCode::NONE {
            if is_current {
                let wait = failed(cursor, &self.settings, self.random.next_u64());
                let reset = self.settings.reset;
                cursor.refusal = Some(data.error_code);
                refused(cursor, part, now_ms + wait, reset, accepted);
                if !accepted.leaders.is_empty() {
                    self.uses_changed = true;
                    accepted.uses_changed = true;
                }
                if let Some(entry) = cursor::delayed(cursor, slot) {
                    self.delayed.insert(entry);
                }
                if cursor.error().is_some() {
                    self.note_failed(slot);
                }
                self.touch(slot);
            }
            return;
        }
        if !is_current {
            self.counts.discarded_bytes += complete(records).bytes as u64;
            return;
        }
        if !std::mem::replace(&mut cursor.is_used, true) {
            self.uses_changed = true;
            accepted.uses_changed = true;
        }
        if cursor.leader.is_some_and(|leader| leader.id == broker) {
            cursor.leadership.confirm();
        }
        cursor.is_moved &= cursor.sessionless;
        cursor.is_stale = false;
        cursor.refusal = None;
        cursor.note_watermarks(watermarks(data));
        if is_diverging(data) {
            let agrees_to = data.diverging_epoch.end_offset;
            let stood_at = cursor.position().map(|position| position.offset);
            truncated(cursor, agrees_to, data.diverging_epoch.epoch, self.settings.reset);
            let stands_at = cursor.position().map(|position| position.offset);
            if cursor.error().is_some() {
                accepted.has_errors = true;
                self.note_failed(slot);
            }
            if let (Some(from), Some(to)) = (stood_at, stands_at) {
                self.note_reset(slot, (from, to), ResetCause::Truncated);
            }
            return self.touch(slot);
        }
        if data.preferred_read_replica >= 0 {
            let until = now_ms + self.settings.replica_lease_ms;
            cursor.replica = Some((data.preferred_read_replica, until));
            return self.touch(slot);
        }
        if let Some(broken) = broken(records) {
            // No batch begins here, and none ever will.
            cursor.fail(PartitionErrorKind::Fault(Fault::Batch(broken)));
            accepted.has_errors = true;
            self.note_failed(slot);
            return self.touch(slot);
        }
        let Complete { bytes: whole, last, largest } = complete(records);
        let goes_on = last.is_some_and(|end| end.offset > cursor.fetch_at.offset);
        if whole > 0 && !goes_on {
            // Asked for at once it would come at once again: bytes that are no batch, which stop
            // the partition when they are looked at, or batches from before the offset, which no
            // sound broker sends.
            let wait = failed(cursor, &self.settings, self.random.next_u64());
            cursor.retry_at = Some(now_ms + wait);
            self.delayed.extend(cursor::delayed(cursor, slot));
            if !cursor.buffer.is_empty() {
                self.counts.discarded_bytes += whole as u64;
                return self.touch(slot);
            }
        } else {
            cursor.failures = 0;
        }
        take_in(cursor, data, whole, last, body, frame, &mut self.counts);
        if whole > 0 {
            accepted.has_records |= cursor.is_deliverable();
            self.note_ready(slot);
            self.touch(slot);
            self.note_batch(slot, largest);
        } else if cursor.ask_at_least > 0 {
            self.touch(slot);
        }
    }
}

/// Counts a failure of a partition; gives the milliseconds until it is asked for again.
fn failed(cursor: &mut Cursor, settings: &FetchSettings, random: u64) -> u64 {
    cursor.failures = cursor.failures.saturating_add(1);
    let (first, longest) = (settings.retry_backoff_ms, settings.retry_backoff_max_ms);
    backoff_ms(first, longest, cursor.failures, random).max(1)
}

fn watermarks(data: &PartitionDataView<'_>) -> Watermarks {
    Watermarks {
        high_watermark: data.high_watermark,
        last_stable_offset: data.last_stable_offset,
        log_start_offset: data.log_start_offset,
    }
}

/// The log does not have what was read, as its leader says.
fn is_diverging(data: &PartitionDataView<'_>) -> bool {
    data.diverging_epoch.epoch >= 0 && data.diverging_epoch.end_offset >= 0
}

/// Why no batch begins here, however much follows.
fn broken(records: &[u8]) -> Option<BatchError> {
    match frame_len(records) {
        Err(broken @ (BatchError::BadLength(_) | BatchError::BadMagic(_))) => Some(broken),
        _ => None,
    }
}

/// Whether the log goes on from what was asked for.
fn is_sound(data: &PartitionDataView<'_>) -> bool {
    data.error_code == ErrorCode::NONE
        && !is_diverging(data)
        && broken(data.records.unwrap_or_default()).is_none()
}

/// The complete batches at the front of what came.
struct Complete {
    bytes: usize,
    /// Where the last of them ends.
    last: Option<Position>,
    /// Bytes of the largest one.
    largest: usize,
}

fn complete(records: &[u8]) -> Complete {
    let mut at = 0;
    let mut last = None;
    let mut largest = 0;
    while let Ok(len) = frame_len(&records[at..])
        && at + len <= records.len()
    {
        last = Some(at);
        at += len;
        largest = largest.max(len);
    }
    let end = last.and_then(|last| BatchView::parse(&records[last..at]).ok());
    let end = end.map(|batch| Position {
        offset: batch.next_offset(),
        leader_epoch: batch.partition_leader_epoch(),
    });
    Complete { bytes: at, last: end, largest }
}

/// Buffers what came.
fn take_in(
    cursor: &mut Cursor,
    data: &PartitionDataView<'_>,
    whole: usize,
    last: Option<Position>,
    body: &Bytes,
    frame: &Arc<Frame>,
    counts: &mut FetchCounts,
) {
    let records = data.records.unwrap_or_default();
    let partial = records.len() - whole;
    counts.batch_bytes += whole as u64;
    counts.partial_bytes += partial as u64;
    cursor.ask_at_least = 0;
    if whole == 0 {
        if partial > 0 {
            // Brokers of before KIP-74 cut even the first batch.
            let needed = frame_len(records).unwrap_or(2 * partial);
            cursor.ask_at_least = needed;
        }
        return;
    }
    let aborted = data.aborted_transactions.into_iter().flatten();
    let aborted = aborted.map(|aborted| (aborted.first_offset, aborted.producer_id)).collect();
    cursor.buffer.push(Fetched::new(body.slice_ref(&records[..whole]), frame, aborted));
    if let Some(end) = last
        && end.offset > cursor.fetch_at.offset
    {
        cursor.fetch_at = end;
    }
}

/// The log does not go on from where this reader stands.
fn truncated(cursor: &mut Cursor, agrees_to: i64, epoch: i32, reset: OffsetReset) {
    let stood_at = cursor.position().map_or(agrees_to, |position| position.offset);
    if stood_at > agrees_to && reset == OffsetReset::None {
        return cursor.fail(PartitionErrorKind::Truncated { agrees_to });
    }
    // What was not handed out yet is fetched from the log as it is now.
    let offset = stood_at.min(agrees_to);
    cursor.go_back(Position { offset, leader_epoch: epoch });
}

/// The broker refused one partition.
fn refused(
    cursor: &mut Cursor,
    &Part { broker, data, now_ms, .. }: &Part<'_>,
    retry_at: u64,
    reset: OffsetReset,
    accepted: &mut Accepted,
) {
    let code = data.error_code;
    match code {
        ErrorCode::OFFSET_OUT_OF_RANGE if cursor.replica.is_some() => {
            // A follower may lag behind: the leader decides.
            cursor.replica = None;
        }
        ErrorCode::OFFSET_OUT_OF_RANGE => {
            if !cursor.buffer.is_empty() {
                // What is there is handed out first; then it is asked again.
                cursor.retry_at = Some(retry_at);
                return;
            }
            if reset == OffsetReset::None {
                cursor.fail(PartitionErrorKind::OffsetOutOfRange);
                accepted.has_errors = true;
            } else {
                cursor.begin_reset(ResetCause::OffsetOutOfRange);
                cursor.reset(reset);
                accepted.has_unresolved = true;
            }
        }
        ErrorCode::NOT_LEADER_OR_FOLLOWER
        | ErrorCode::FENCED_LEADER_EPOCH
        | ErrorCode::UNKNOWN_LEADER_EPOCH
        | ErrorCode::LEADER_NOT_AVAILABLE
        | ErrorCode::REPLICA_NOT_AVAILABLE
        | ErrorCode::KAFKA_STORAGE_ERROR
        | ErrorCode::OFFSET_NOT_AVAILABLE
        | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        | ErrorCode::UNKNOWN_TOPIC_ID
        | ErrorCode::INCONSISTENT_TOPIC_ID => {
            let is_by_leader = cursor.leader.is_some_and(|leader| leader.id == broker);
            cursor.replica = None;
            let hint = data.current_leader;
            let hint = Leader { id: hint.leader_id, epoch: hint.leader_epoch };
            let known = cursor.leader.map_or(-1, |leader| leader.epoch);
            if hint.id >= 0 && hint.epoch > known {
                // No waiting, no asking (KIP-951).
                cursor.lead_by(Some(hint));
                accepted.leaders.push(((*cursor.partition).clone(), hint));
            } else if let Some(pause_ms) =
                is_by_leader.then(|| cursor.leadership.refuse(code, hint)).flatten()
            {
                cursor.retry_at = Some(now_ms + pause_ms);
                // It was early, which makes no later pause longer.
                cursor.failures = 0;
            } else {
                cursor.retry_at = Some(retry_at);
                accepted.needs_metadata = true;
            }
        }
        // A broker that does not know what is wrong may know better next time, and so may one of
        // which this client does not know what it says; what is corrupt on its disk stays so.
        code if code == ErrorCode::UNKNOWN_SERVER_ERROR
            || code.name().is_none()
            || (code.is_retriable() && code != ErrorCode::CORRUPT_MESSAGE) =>
        {
            cursor.retry_at = Some(retry_at);
        }
        code => {
            cursor.fail(PartitionErrorKind::Broker(code));
            accepted.has_errors = true;
        }
    }
}
