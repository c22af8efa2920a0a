//! What it takes to get back to the last committed state.
//!
//! `replay` applies records when they are handed to the log, before the log has confirmed them. For
//! each change it leaves here the value that was there before, under the offset of the record.
//! Kafka keeps snapshots of persistent maps for the same purpose; an undo log costs nothing while
//! nothing is in flight, and in flight is only what the high watermark has not passed yet.
//!
//! Two uses: *reverting* takes entries newest first, *reading the committed state* overlays them on
//! the current one.

use std::collections::VecDeque;

/// Previous values, oldest first, each under the offset of the record that replaced it.
#[derive(Debug)]
pub struct UndoLog<U> {
    entries: VecDeque<(i64, U)>,
    recording: bool,
}

impl<U> Default for UndoLog<U> {
    fn default() -> Self {
        UndoLog { entries: VecDeque::new(), recording: false }
    }
}

impl<U> UndoLog<U> {
    /// While loading nothing is recorded: what stands in the log is never reverted.
    pub fn start(&mut self) {
        self.recording = true;
    }

    /// Notes the value that the record at `offset` replaced.
    pub fn push(&mut self, offset: i64, entry: U) {
        if self.recording {
            debug_assert!(self.entries.back().is_none_or(|(last, _)| *last <= offset));
            self.entries.push_back((offset, entry));
        }
    }

    /// Everything below `offset` is committed and can no longer be reverted.
    pub fn forget_below(&mut self, offset: i64) {
        while self.entries.front().is_some_and(|(at, _)| *at < offset) {
            self.entries.pop_front();
        }
    }

    /// Takes the newest entry at or above `offset`.
    pub fn pop_from(&mut self, offset: i64) -> Option<U> {
        if self.entries.back().is_some_and(|(at, _)| *at >= offset) {
            return self.entries.pop_back().map(|(_, entry)| entry);
        }
        None
    }

    /// Entries of records that are not committed yet, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &U> {
        self.entries.iter().map(|(_, entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reverts_newest_first_and_only_what_is_not_committed() {
        let mut undo = UndoLog::default();
        undo.push(1, "while loading");
        undo.start();
        for (offset, entry) in [(5, "a"), (6, "b"), (6, "c"), (9, "d")] {
            undo.push(offset, entry);
        }
        undo.forget_below(6);
        assert_eq!(undo.iter().copied().collect::<Vec<_>>(), ["b", "c", "d"]);
        assert_eq!(undo.pop_from(9), Some("d"));
        assert_eq!(undo.pop_from(9), None);
        assert_eq!(undo.pop_from(0), Some("c"));
        assert_eq!(undo.pop_from(0), Some("b"));
        assert_eq!(undo.pop_from(0), None);
        assert!(undo.iter().next().is_none());
    }
}
