//! The segments of a log, and its end as readers see it.
//!
//! Invariants:
//! - The list is never empty, ascends by base offset, and is replaced as a whole.
//! - The end lies in the last segment of the list, but for the moment in which a roll or a cut publishes
//!   first the list and then the end.
//! - A log that moves changes list and end together. A reader takes both together, or it would use a
//!   position of one directory in a file of the other.
//!
//! Not here: which segments go and come (`roll`, `retention`, `cut`).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::partition::segment::Segment;

/// The segments in order, never empty; replaced as a whole.
pub(crate) type Segments = Arc<Vec<Arc<Segment>>>;

/// Where the log ends: an offset, and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    pub(crate) offset: i64,
    pub(crate) segment: i64,
    pub(crate) position: u32,
}

/// The part of a log that has its segments. Its locks are leaves.
#[derive(Debug)]
pub(crate) struct SegmentList {
    list: RwLock<Segments>,
    end: Mutex<End>,
    /// The same as the end's, for readers that need no position.
    end_offset: AtomicI64,
}

impl SegmentList {
    pub(crate) fn new(segments: Vec<Arc<Segment>>, end: End) -> SegmentList {
        SegmentList {
            list: RwLock::new(Arc::new(segments)),
            end: Mutex::new(end),
            end_offset: AtomicI64::new(end.offset),
        }
    }

    pub(crate) fn all(&self) -> Segments {
        self.list.read().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.list.read().len()
    }

    pub(crate) fn end(&self) -> End {
        *self.end.lock()
    }

    /// The offset the next record will get; without a lock.
    #[inline]
    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset.load(Ordering::Acquire)
    }

    /// The segments and the end, of the same directory.
    pub(crate) fn with_end(&self) -> (Segments, End) {
        let segments = self.list.read();
        (segments.clone(), self.end())
    }

    /// Changes the list. A roll may add to it while another thread takes away from its beginning.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Vec<Arc<Segment>>)) {
        let mut segments = self.list.write();
        let mut list = segments.as_ref().clone();
        change(&mut list);
        *segments = Arc::new(list);
    }

    /// Readers see the log end here.
    #[inline]
    pub(crate) fn publish_end(&self, end: End) {
        *self.end.lock() = end;
        self.end_offset.store(end.offset, Ordering::Release);
    }

    /// Takes the segments of another log, which hold the same batches; readers see all of it or
    /// nothing. `move_log` is called while they wait.
    pub(crate) fn move_to(&self, others: Segments, end: End, move_log: impl FnOnce()) {
        let mut segments = self.list.write();
        let mut own_end = self.end.lock();
        move_log();
        *segments = others;
        *own_end = end;
    }
}

/// Index of the segment that `offset` lies in; the first for offsets before it.
pub(crate) fn floor_segment(segments: &[Arc<Segment>], offset: i64) -> usize {
    segments.partition_point(|segment| segment.base_offset <= offset).saturating_sub(1)
}
