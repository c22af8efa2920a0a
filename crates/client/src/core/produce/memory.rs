//! One hard limit on the bytes of records that wait to be acknowledged, and the buffers that they
//! lie in.
//!
//! Invariants:
//! - What is counted is the memory taken, not the part of it in use; buffers at rest fit the limit
//!   together with those in use.
//! - Nothing is taken beyond the limit, but for one thing: a batch that a broker finds too large is
//!   copied into two, and for that moment all three count. What the two take beyond the one after
//!   that is a second header.
//! - Buffers of the usual size come back for the next batch: fresh memory costs a page fault every
//!   4 KiB.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Buffers at rest take at most this part of the limit.
const KEPT_PART: usize = 4;

type OnRoom = Box<dyn Fn() + Send + Sync>;

/// The limit, what counts against it, and buffers at rest.
pub struct Memory {
    limit: usize,
    inner: Mutex<Inner>,
    on_room: OnRoom,
}

#[derive(Default)]
struct Inner {
    used: usize,
    /// Highest that `used` has been.
    peak: usize,
    kept: Vec<Vec<u8>>,
    kept_bytes: usize,
    /// Somebody was refused and waits for room.
    is_wanted: bool,
}

impl Memory {
    /// A limit of `limit` bytes (`buffer.memory`). `on_room` is called, from whichever thread let
    /// go of bytes, when there is room again after somebody was refused.
    pub fn new(limit: usize, on_room: impl Fn() + Send + Sync + 'static) -> Arc<Memory> {
        Arc::new(Memory { limit, inner: Mutex::default(), on_room: Box::new(on_room) })
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes counted now.
    pub fn used(&self) -> usize {
        self.lock().used
    }

    /// The most bytes ever counted.
    pub fn peak(&self) -> usize {
        self.lock().peak
    }

    #[cfg(test)]
    /// Bytes of buffers at rest.
    pub fn kept(&self) -> usize {
        self.lock().kept_bytes
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty buffer of `capacity` bytes; `None` when it does not fit, and `on_room` is called
    /// when there is room again.
    pub(super) fn lease(self: &Arc<Self>, capacity: usize) -> Option<(Charge, Vec<u8>)> {
        let mut inner = self.lock();
        if inner.used + capacity > self.limit {
            inner.is_wanted = true;
            return None;
        }
        Some(self.take(&mut inner, capacity))
    }

    /// As [`Self::lease`], whatever the limit says.
    pub(super) fn force(self: &Arc<Self>, capacity: usize) -> (Charge, Vec<u8>) {
        self.take(&mut self.lock(), capacity)
    }

    fn release(&self, bytes: usize) {
        let mut inner = self.lock();
        inner.used -= bytes;
        let is_wanted = std::mem::take(&mut inner.is_wanted);
        drop(inner);
        if is_wanted {
            (self.on_room)();
        }
    }

    fn take(self: &Arc<Self>, inner: &mut Inner, capacity: usize) -> (Charge, Vec<u8>) {
        inner.used += capacity;
        inner.peak = inner.peak.max(inner.used);
        let charge = Charge { memory: Arc::clone(self), bytes: capacity };
        if inner.kept.last().is_some_and(|buffer| buffer.capacity() == capacity)
            && let Some(buffer) = inner.kept.pop()
        {
            inner.kept_bytes -= buffer.capacity();
            return (charge, buffer);
        }
        while inner.used + inner.kept_bytes > self.limit
            && let Some(buffer) = inner.kept.pop()
        {
            inner.kept_bytes -= buffer.capacity();
        }
        (charge, Vec::with_capacity(capacity))
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.lock();
        f.debug_struct("Memory")
            .field("limit", &self.limit)
            .field("used", &inner.used)
            .field("kept", &inner.kept_bytes)
            .finish_non_exhaustive()
    }
}

/// Bytes that count until this is dropped.
#[derive(Debug)]
pub(super) struct Charge {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Charge {
    /// Counts for no more than `bytes` from here on.
    pub fn shrink(&mut self, bytes: usize) {
        let spare = self.bytes.saturating_sub(bytes);
        if spare > 0 {
            self.bytes -= spare;
            self.memory.release(spare);
        }
    }

    /// Gives the buffer back together with what it counted for.
    pub fn give_back(self, mut buffer: Vec<u8>, usual: usize) {
        buffer.clear();
        let mut inner = self.memory.lock();
        let capacity = buffer.capacity();
        // Sizes follow what is sent now; one kind at rest is enough.
        if inner.kept.last().is_some_and(|kept| kept.capacity() != usual) {
            inner.kept.clear();
            inner.kept_bytes = 0;
        }
        let fits = inner.kept_bytes + capacity <= self.memory.limit / KEPT_PART
            && inner.used - self.bytes + inner.kept_bytes + capacity <= self.memory.limit;
        if capacity == usual && capacity == self.bytes && fits {
            inner.kept_bytes += capacity;
            inner.kept.push(buffer);
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.memory.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn nothing_is_taken_beyond_the_limit_and_room_is_told_once() {
        let told = Arc::new(AtomicUsize::new(0));
        let telling = Arc::clone(&told);
        let memory = Memory::new(1000, move || {
            telling.fetch_add(1, Ordering::Relaxed);
        });
        let (first, _) = memory.lease(600).unwrap();
        let (second, _) = memory.lease(400).unwrap();
        drop(memory.lease(0).unwrap());
        assert_eq!(told.load(Ordering::Relaxed), 0, "nobody was refused");
        assert!(memory.lease(1).is_none());
        drop(first);
        drop(second);
        assert_eq!(told.load(Ordering::Relaxed), 1);
        assert_eq!((memory.used(), memory.peak()), (0, 1000));
    }

    #[test]
    fn buffers_come_back_within_a_part_of_the_limit() {
        let memory = Memory::new(1000, || {});
        let leases: Vec<_> = (0..9).map(|_| memory.lease(100).unwrap()).collect();
        for (charge, mut buffer) in leases {
            buffer.push(1);
            charge.give_back(buffer, 100);
        }
        let kept: Vec<_> = (0..3).map(|_| memory.lease(100).unwrap()).collect();
        assert_eq!(memory.kept(), 0, "a quarter of the limit was kept, and used");
        assert!(kept.iter().all(|(_, buffer)| buffer.is_empty() && buffer.capacity() == 100));
        for (charge, buffer) in kept {
            charge.give_back(buffer, 100);
        }
        assert_eq!(memory.kept(), 200);
        // What is at rest makes way for what is needed.
        let large = memory.lease(950).unwrap();
        assert_eq!(memory.kept(), 0);
        drop(large);
        assert_eq!(memory.used(), 0);
    }
}
