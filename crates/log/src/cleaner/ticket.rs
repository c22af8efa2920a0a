//! The right to compact a log.

use std::sync::Arc;

use crate::partition::log::Log;

/// The right to compact a log, for one pass at a time; given back when it is dropped.
pub(super) struct Ticket {
    pub(super) log: Arc<Log>,
    generation: u64,
}

impl Ticket {
    /// For a log that no pass goes through now, and that can be compacted.
    pub(super) fn take(log: &Arc<Log>) -> Option<Ticket> {
        if log.is_closed() {
            return None;
        }
        let generation = log.cleaning.begin_pass()?;
        Some(Ticket { log: Arc::clone(log), generation })
    }

    /// Whether the pass still counts.
    pub(super) fn is_current(&self) -> bool {
        !self.log.is_closed() && self.log.cleaning.is_current(self.generation)
    }

    /// Everything before `offset` is compacted; false if the pass does not count.
    pub(super) fn finish(&self, offset: i64) -> bool {
        !self.log.is_closed() && self.log.cleaning.finish_pass(self.generation, offset)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.log.cleaning.end_pass();
    }
}
