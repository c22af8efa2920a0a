//! One partition that is being read.

use std::ops::Range;
use std::sync::Arc;
use std::task::Waker;

use thalweg_wire::{ErrorCode, Uuid};

use super::buffer::{Buffer, Decoding, Fault, Next};
use super::error::{PartitionError, PartitionErrorKind};
use super::resets::{PositionReset, ResetCause};
use super::session::Watermarks;
use super::settings::OffsetReset;
use crate::core::leadership::Leadership;
use crate::core::metadata::Leader;
use crate::core::partition::{Position, TopicPartition};

/// A place in the table of partitions.
pub(super) type Slot = u32;

/// Where a partition stands that has passed offsets which no application sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passed {
    /// The offset behind the last record that was handed out, if any was since it was placed.
    pub handed_out: Option<i64>,
    /// Where it stands.
    pub position: Position,
}

/// What is to be done about a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// What its group committed is to be looked up.
    Committed,
    /// Its offset is to be looked up.
    Reset(OffsetReset),
    /// It is read.
    Fetching,
    /// It waits for somebody to move it.
    Failed(PartitionErrorKind),
}

pub(super) struct Cursor {
    pub partition: Arc<TopicPartition>,
    pub topic_id: Uuid,
    pub phase: Phase,
    /// The next record to hand out, once that is known.
    position: Position,
    is_placed: bool,
    /// Where it was placed last.
    placed_at: i64,
    /// From the first record that was handed out since it was placed to behind the last one, as far
    /// as the log still has them. `position` may be further on: behind markers of transactions, and
    /// offsets that no record has any more.
    handed_out: Option<Range<i64>>,
    /// Where it stood before the take of this number handed something out: that is not
    /// acknowledged before the next one.
    before_take: (u64, Position),
    /// The next record to ask for: the end of what is buffered.
    pub fetch_at: Position,
    pub buffer: Buffer,
    pub paused: bool,
    /// It is being given up.
    pub held: bool,
    /// It was given up, and may come back with the next assignment: only its buffer is kept.
    pub parked: bool,
    pub leader: Option<Leader>,
    pub leadership: Leadership,
    /// See [`Metadata::lowered_by`](crate::core::metadata::Metadata::lowered_by).
    pub lowered_by: u64,
    /// What a broker refused it with last, until something is answered.
    pub refusal: Option<ErrorCode>,
    /// Something of it was answered.
    pub is_used: bool,
    /// A replica to read from instead of the leader, and until when (KIP-392).
    pub replica: Option<(i32, u64)>,
    /// The broker whose session it is part of.
    pub source: Option<i32>,
    /// It is asked for without a session.
    pub sessionless: bool,
    /// Another leader has it since it was answered in a session, and more of it will come.
    pub is_moved: bool,
    /// The round of its broker in which there is nothing more to be had without a session.
    pub sessionless_round: u64,
    /// Not asked for before this time.
    pub retry_at: Option<u64>,
    /// Errors in a row of whoever was asked for it.
    pub failures: u32,
    /// Bytes to ask for at least: a batch that did not fit before.
    pub ask_at_least: usize,
    /// Bytes of its largest batch of late, rounded up; 0 while there was none.
    pub batch: usize,
    /// Whoever takes its records on their own, and waits for some.
    pub waker: Option<Waker>,
    /// Its failure was reported.
    pub is_reported: bool,
    /// Where it stood before a lookup that the application did not ask for, and why.
    pub resetting: Option<(i64, ResetCause)>,
    /// The last change of its position that the application did not ask for.
    pub last_reset: Option<Arc<PositionReset>>,
    /// Is in the queue of those with records.
    pub queued: bool,
    /// Is in the list of those of which sessions have to hear.
    pub dirty: bool,
    pub high_watermark: i64,
    /// The watermarks may be old: it was not asked for since it was paused, or moved.
    pub is_stale: bool,
    pub last_stable_offset: i64,
    pub log_start_offset: i64,
}

impl Cursor {
    pub fn new(partition: Arc<TopicPartition>) -> Cursor {
        Cursor {
            partition,
            topic_id: Uuid::ZERO,
            phase: Phase::Fetching,
            position: Position::at(-1),
            is_placed: false,
            placed_at: 0,
            handed_out: None,
            before_take: (0, Position::at(0)),
            fetch_at: Position::at(0),
            buffer: Buffer::default(),
            paused: false,
            held: false,
            parked: false,
            leader: None,
            leadership: Leadership::default(),
            lowered_by: 0,
            refusal: None,
            is_used: false,
            replica: None,
            source: None,
            retry_at: None,
            failures: 0,
            sessionless: false,
            is_moved: false,
            sessionless_round: u64::MAX,
            ask_at_least: 0,
            batch: 0,
            waker: None,
            is_reported: false,
            resetting: None,
            last_reset: None,
            queued: false,
            dirty: false,
            high_watermark: -1,
            is_stale: true,
            last_stable_offset: -1,
            log_start_offset: -1,
        }
    }

    /// Where it stands; `None` until that was looked up.
    pub fn position(&self) -> Option<Position> {
        match self.phase {
            Phase::Committed | Phase::Reset(_) => None,
            Phase::Failed(_) | Phase::Fetching => self.is_placed.then_some(self.position),
        }
    }

    /// Where it stood when take `number` began: everything before that is acknowledged.
    pub fn acknowledged(&self, number: u64) -> Option<Position> {
        match self.before_take {
            (last, before) if last == number => Some(before),
            _ => self.position(),
        }
    }

    /// The offset behind the last record that was handed out, if any was since it was placed that the
    /// log still has.
    pub fn handed_out(&self) -> Option<i64> {
        self.position()?;
        self.handed_out.as_ref().map(|offsets| offsets.end)
    }

    /// Where it stands if that is behind offsets that no application sees: those of markers, of aborted
    /// records, and of records that compaction took away.
    pub fn passed(&self) -> Option<Passed> {
        let position = self.position()?;
        let handed_out = self.handed_out();
        let is_behind = position.offset > handed_out.unwrap_or(self.placed_at);
        is_behind.then_some(Passed { handed_out, position })
    }

    /// Its position is about to be looked up because of this. The first cause counts until then.
    pub fn begin_reset(&mut self, cause: ResetCause) {
        if let Some(position) = self.position() {
            self.resetting = Some((position.offset, cause));
        }
    }

    /// The application moves it.
    pub fn forget_reset(&mut self) {
        (self.resetting, self.last_reset) = (None, None);
    }

    /// Starts anew at `to`, whatever is buffered.
    pub fn move_to(&mut self, to: Position) {
        self.before_take.0 = 0;
        self.handed_out = None;
        self.restart(to);
    }

    /// Keeps what is buffered, and nothing else: see [`super::Fetcher::park`].
    pub fn park(&mut self) {
        self.parked = true;
        self.held = true;
        self.paused = false;
    }

    /// Comes back, to begin where its group committed.
    pub fn unpark(&mut self) {
        self.parked = false;
        self.held = false;
        self.is_placed = false;
        self.before_take.0 = 0;
        self.retry_at = None;
        self.failures = 0;
        self.forget_reset();
        self.phase = Phase::Committed;
    }

    /// Goes back to where the log agrees with what was read. The application did not move: what it
    /// has not acknowledged is not acknowledged by this.
    pub fn go_back(&mut self, to: Position) {
        if self.before_take.1.offset > to.offset {
            self.before_take.1 = to;
        }
        // What the log has lost is not handed out to anybody again.
        let left = self.handed_out.take().map(|offsets| offsets.start..offsets.end.min(to.offset));
        self.handed_out = left.filter(|offsets| !offsets.is_empty());
        self.restart(to);
    }

    fn restart(&mut self, at: Position) {
        self.buffer.clear();
        self.position = at;
        self.is_placed = true;
        self.placed_at = at.offset;
        self.fetch_at = at;
        self.phase = Phase::Fetching;
        self.ask_at_least = 0;
        self.retry_at = None;
        self.is_stale = true;
    }

    /// Moves to `to`, within what is buffered where it is there.
    pub fn seek(&mut self, to: Position) {
        let is_buffered = !matches!(self.phase, Phase::Failed(_))
            && self.buffer.first_offset().is_some_and(|first| first <= to.offset)
            && to.offset <= self.fetch_at.offset;
        if !is_buffered {
            return self.move_to(to);
        }
        self.buffer.rewind_open();
        self.before_take.0 = 0;
        self.handed_out = None;
        // The epoch goes with what comes next, which is known here.
        self.position = to;
        self.is_placed = true;
        self.placed_at = to.offset;
        self.phase = Phase::Fetching;
    }

    /// Moves to where a lookup says.
    pub fn reset(&mut self, to: OffsetReset) {
        self.buffer.clear();
        self.look_up(to);
    }

    /// The topic is another one with the same name: nothing that is known of the old one holds.
    /// A position is void, and `reset` decides; a lookup that is still to come stays.
    pub fn recreate(&mut self, topic_id: Uuid, reset: OffsetReset) {
        self.topic_id = topic_id;
        self.lead_by(None);
        self.buffer.clear();
        self.handed_out = None;
        (self.high_watermark, self.last_stable_offset, self.log_start_offset) = (-1, -1, -1);
        self.is_stale = true;
        if self.parked {
            // It begins where the group committed when it comes back.
            return;
        }
        self.begin_reset(ResetCause::TopicRecreated);
        match self.phase {
            Phase::Committed | Phase::Reset(_) => {}
            Phase::Fetching | Phase::Failed(_) if reset == OffsetReset::None => {
                self.is_placed = false;
                self.before_take.0 = 0;
                self.fail(PartitionErrorKind::TopicRecreated);
            }
            Phase::Fetching | Phase::Failed(_) => self.look_up(reset),
        }
    }

    /// As [`Self::reset`], but what is buffered is used if the lookup leads there.
    pub fn look_up(&mut self, to: OffsetReset) {
        self.is_placed = false;
        self.before_take.0 = 0;
        self.ask_at_least = 0;
        self.retry_at = None;
        self.phase = Phase::Reset(to);
        self.fail_without_reset();
    }

    /// A partition that has nowhere to begin has failed.
    pub fn fail_without_reset(&mut self) -> bool {
        let fails = self.phase == Phase::Reset(OffsetReset::None);
        if fails {
            self.fail(PartitionErrorKind::NoOffset);
        }
        fails
    }

    pub fn fail(&mut self, kind: PartitionErrorKind) {
        self.phase = Phase::Failed(kind);
        self.is_reported = false;
    }

    /// Somebody waits for it to have something.
    pub fn wait(&mut self, waker: &Waker) {
        match &mut self.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    pub fn error(&self) -> Option<PartitionError> {
        let Phase::Failed(kind) = &self.phase else { return None };
        Some(PartitionError {
            partition: (*self.partition).clone(),
            offset: self.position().map_or(-1, |position| position.offset),
            kind: kind.clone(),
        })
    }

    /// Takes over who leads it. A leader with an older epoch is old news.
    pub fn lead_by(&mut self, leader: Option<Leader>) {
        match (self.leader, leader) {
            (Some(known), Some(new)) if new.epoch >= 0 && new.epoch < known.epoch => {}
            (known, new) => {
                if known != new {
                    self.is_moved |= known.is_some();
                    self.leader = new;
                    self.leadership = Leadership::default();
                    // What the old leader said of replicas and waiting is void.
                    self.replica = None;
                    self.retry_at = None;
                    self.failures = 0;
                    self.is_stale = true;
                    // Its replica may be sound.
                    let corrupt = PartitionErrorKind::Broker(ErrorCode::CORRUPT_MESSAGE);
                    if self.phase == Phase::Failed(corrupt) {
                        self.phase = Phase::Fetching;
                    }
                }
            }
        }
    }

    /// The broker to read from.
    pub fn broker(&self) -> Option<i32> {
        let leader = self.leader?;
        Some(self.replica.map_or(leader.id, |(replica, _)| replica))
    }

    pub fn is_deliverable(&self) -> bool {
        // What was kept of an earlier assignment is not handed out before it is known from where.
        let is_placed = !matches!(self.phase, Phase::Committed | Phase::Reset(_));
        !self.paused && !self.held && is_placed
    }

    /// Whether an answer to what was asked at `fetch_at` is of use.
    pub fn takes_in(&self) -> bool {
        match self.phase {
            Phase::Fetching => true,
            Phase::Committed | Phase::Reset(_) => !self.buffer.is_empty(),
            Phase::Failed(_) => false,
        }
    }

    /// A broker said where the log ends.
    pub fn note_watermarks(&mut self, watermarks: Watermarks) {
        self.high_watermark = watermarks.high_watermark;
        self.last_stable_offset = watermarks.last_stable_offset;
        self.log_start_offset = watermarks.log_start_offset;
    }

    /// Whether little enough is buffered to ask for more.
    pub fn is_hungry(&self, ask: usize) -> bool {
        self.buffer.bytes() <= ask
            && self.phase == Phase::Fetching
            && self.is_deliverable()
            && self.retry_at.is_none()
            && !self.sessionless
    }

    /// Records of the open batch up to `next` were handed out, the last of them by the take of this
    /// number, before which it stood at this offset.
    pub fn advance_to(&mut self, next: i64, (number, before): (u64, i64)) {
        let leader_epoch = self.position.leader_epoch;
        self.before_take = (number, Position { offset: before, leader_epoch });
        self.position.offset = next;
        self.note_handed_out(next, || before);
    }

    /// The next records, `max` at most, for take `number`.
    pub fn next_records(
        &mut self,
        number: u64,
        max: usize,
        decoding: &mut Decoding,
    ) -> Result<Next, Fault> {
        if self.before_take.0 != number {
            self.before_take = (number, self.position);
        }
        let of = (&self.partition, self.topic_id);
        let next = self.buffer.next(of, &mut self.position, max, decoding)?;
        if let Next::Chunk { chunk, end } = &next {
            self.note_handed_out(*end, || chunk.first_offset());
        }
        Ok(next)
    }

    /// Records were handed out up to `end`.
    #[inline]
    fn note_handed_out(&mut self, end: i64, first_offset: impl FnOnce() -> i64) {
        match &mut self.handed_out {
            Some(offsets) => offsets.end = end,
            none => *none = Some(first_offset()..end),
        }
    }
}

/// By when a partition's turn to wait is over.
pub(super) fn delayed(cursor: &Cursor, slot: Slot) -> Option<(u64, Slot)> {
    cursor.retry_at.map(|at| (at, slot))
}
