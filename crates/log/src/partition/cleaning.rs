//! What a log knows of its own compaction: how far it came, who is at it, and whether it can be done.
//!
//! Whoever takes segments away does not wait for a pass that is going through the log, but ends it: a
//! pass asks before each piece of work whether it still counts ([`Ticket::is_current`]), and once more,
//! with the log's `change` in hand, before it replaces segments.

use std::sync::Arc;

use crate::partition::log::Log;

/// Behind a leaf lock of the log.
#[derive(Default, Debug)]
pub(crate) struct Cleaning {
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

impl Cleaning {
    /// Of a log that was found on disk. A checkpoint behind the log's end is of records that are gone;
    /// what has their offsets now is new.
    pub(crate) fn found(cleaned: Option<i64>, log_start: i64, end: i64) -> Cleaning {
        let cleaned_offset = cleaned.map(|offset| if offset > end { log_start } else { offset });
        Cleaning { cleaned_offset, ..Cleaning::default() }
    }
}

impl Log {
    /// Everything before it was compacted, if the log ever was: what `cleaner-offset-checkpoint` says.
    pub fn cleaned_offset(&self) -> Option<i64> {
        self.cleaning.lock().cleaned_offset
    }

    /// Whether compaction has given the log up: something in it cannot be read.
    pub fn is_uncleanable(&self) -> bool {
        self.cleaning.lock().is_uncleanable
    }

    pub(crate) fn set_uncleanable(&self) {
        self.cleaning.lock().is_uncleanable = true;
    }

    pub(crate) fn is_being_cleaned(&self) -> bool {
        self.cleaning.lock().is_busy
    }

    /// Whether it is not compacted because it is moving to another directory.
    pub(crate) fn is_cleaning_paused(&self) -> bool {
        self.cleaning.lock().is_paused
    }

    /// Ends the pass that goes through the log, if there is one, and begins no other until it is let go on.
    pub(crate) fn pause_cleaning(&self, is_paused: bool) {
        let mut cleaning = self.cleaning.lock();
        if is_paused && !cleaning.is_paused {
            cleaning.generation = cleaning.generation.wrapping_add(1);
        }
        cleaning.is_paused = is_paused;
    }

    /// Ends the pass that goes through the log, if there is one; what it has replaced so far stays.
    pub(crate) fn abort_cleaning(&self) {
        let mut cleaning = self.cleaning.lock();
        cleaning.generation = cleaning.generation.wrapping_add(1);
    }

    /// Ends the pass that goes through the log, and has everything from `offset` on compacted again.
    pub(crate) fn lower_cleaned_offset(&self, offset: i64) {
        let mut cleaning = self.cleaning.lock();
        cleaning.generation = cleaning.generation.wrapping_add(1);
        cleaning.cleaned_offset = cleaning.cleaned_offset.map(|cleaned| cleaned.min(offset));
    }

    /// Sets where the next pass begins, of a log that begins or ends somewhere else than it did.
    pub(crate) fn reset_cleaned_offset(&self, offset: i64) {
        self.cleaning.lock().cleaned_offset = Some(offset);
    }

    /// Everything that `other` has compacted is so here as well.
    pub(crate) fn take_cleaned_offset(&self, other: &Log) {
        self.cleaning.lock().cleaned_offset = other.cleaned_offset();
    }
}

/// The right to compact a log, for one at a time; given back when it is dropped.
pub(crate) struct Ticket {
    pub(crate) log: Arc<Log>,
    generation: u64,
}

impl Ticket {
    /// For a log that nobody compacts now, and that can be.
    pub(crate) fn take(log: &Arc<Log>) -> Option<Ticket> {
        let mut cleaning = log.cleaning.lock();
        if cleaning.is_busy || cleaning.is_paused || cleaning.is_uncleanable || log.is_closed() {
            return None;
        }
        cleaning.is_busy = true;
        Some(Ticket { log: Arc::clone(log), generation: cleaning.generation })
    }

    /// Whether the pass still counts.
    pub(crate) fn is_current(&self) -> bool {
        !self.log.is_closed() && self.log.cleaning.lock().generation == self.generation
    }

    /// Everything before `offset` is compacted; false if the pass does not count.
    pub(crate) fn finish(&self, offset: i64) -> bool {
        let mut cleaning = self.log.cleaning.lock();
        let counts = cleaning.generation == self.generation && !self.log.is_closed();
        if counts {
            cleaning.cleaned_offset = Some(offset);
        }
        counts
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.log.cleaning.lock().is_busy = false;
    }
}
