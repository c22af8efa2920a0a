//! What a log knows of its own compaction: how far it came, whether a pass is under way, and whether it
//! can be done.
//!
//! Invariants:
//! - One pass at a time.
//! - A thread that takes segments away does not wait for a pass that is going through the log, but ends
//!   it: the pass asks before each piece of work whether its generation is still the current one, and
//!   once more, with the log's `change` in hand, before it replaces segments.

use parking_lot::Mutex;

/// The part of a log that says what is compacted. Its lock is a leaf.
#[derive(Debug)]
pub(crate) struct Cleaning(Mutex<CleaningState>);

#[derive(Default, Debug)]
struct CleaningState {
    /// Everything before it was compacted; none if the log never was. What the checkpoint says.
    cleaned_offset: Option<i64>,
    /// Raised by everything that a pass must not survive.
    generation: u64,
    is_busy: bool,
    is_uncleanable: bool,
    /// The log has a future replica: what that one lacks yet must not go, nor anything be compacted that it has as it
    /// was.
    is_paused: bool,
}

impl CleaningState {
    fn next_generation(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }
}

impl Cleaning {
    /// Of a log that was found on disk. A checkpoint behind the log's end is of records that are gone;
    /// what has their offsets now is new.
    pub(crate) fn found(cleaned: Option<i64>, log_start: i64, end: i64) -> Cleaning {
        let cleaned_offset = cleaned.map(|offset| if offset > end { log_start } else { offset });
        Cleaning(Mutex::new(CleaningState { cleaned_offset, ..CleaningState::default() }))
    }

    /// Everything before it was compacted, if the log ever was.
    pub(crate) fn cleaned_offset(&self) -> Option<i64> {
        self.0.lock().cleaned_offset
    }

    /// Whether compaction has given the log up: something in it cannot be read.
    pub(crate) fn is_uncleanable(&self) -> bool {
        self.0.lock().is_uncleanable
    }

    pub(crate) fn set_uncleanable(&self) {
        self.0.lock().is_uncleanable = true;
    }

    /// Whether a pass goes through the log.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.lock().is_busy
    }

    /// Whether the log is not compacted because it is moving to another directory.
    pub(crate) fn is_paused(&self) -> bool {
        self.0.lock().is_paused
    }

    /// Ends the pass that goes through the log, if there is one, and begins no other until [`Self::resume`].
    pub(crate) fn pause(&self) {
        let mut cleaning = self.0.lock();
        if !cleaning.is_paused {
            cleaning.next_generation();
        }
        cleaning.is_paused = true;
    }

    /// The log may be compacted again.
    pub(crate) fn resume(&self) {
        self.0.lock().is_paused = false;
    }

    /// Ends the pass that goes through the log, if there is one; what it has replaced so far stays.
    pub(crate) fn abort(&self) {
        self.0.lock().next_generation();
    }

    /// Ends the pass that goes through the log, and has everything from `offset` on compacted again.
    pub(crate) fn lower(&self, offset: i64) {
        let mut cleaning = self.0.lock();
        cleaning.next_generation();
        cleaning.cleaned_offset = cleaning.cleaned_offset.map(|cleaned| cleaned.min(offset));
    }

    /// Sets where the next pass begins, of a log that begins or ends somewhere else than it did.
    pub(crate) fn reset(&self, offset: i64) {
        self.0.lock().cleaned_offset = Some(offset);
    }

    /// Everything that `other` has compacted is compacted here as well.
    pub(crate) fn take_over(&self, other: &Cleaning) {
        let cleaned_offset = other.cleaned_offset();
        self.0.lock().cleaned_offset = cleaned_offset;
    }

    /// Begins a pass, and gives its generation; none where another one goes through the log, or the log must not
    /// or cannot be compacted.
    pub(crate) fn begin_pass(&self) -> Option<u64> {
        let mut cleaning = self.0.lock();
        if cleaning.is_busy || cleaning.is_paused || cleaning.is_uncleanable {
            return None;
        }
        cleaning.is_busy = true;
        Some(cleaning.generation)
    }

    /// Whether a pass of this generation still counts.
    pub(crate) fn is_current(&self, generation: u64) -> bool {
        self.0.lock().generation == generation
    }

    /// A pass has compacted everything before `offset`; false if it does not count.
    pub(crate) fn finish_pass(&self, generation: u64, offset: i64) -> bool {
        let mut cleaning = self.0.lock();
        let counts = cleaning.generation == generation;
        if counts {
            cleaning.cleaned_offset = Some(offset);
        }
        counts
    }

    /// The pass is over.
    pub(crate) fn end_pass(&self) {
        self.0.lock().is_busy = false;
    }
}
