//! One hard limit on the bytes that a consumer has asked for or fetched and not let go of.
//!
//! Invariants:
//! - Bytes are counted from the request that asks for them until the last view on them is gone,
//!   whoever holds it: a record that an application keeps is counted.
//! - What is counted is the memory taken, not the part of it in use.
//! - Buffers that come back are kept for the next fetch within a quarter of the limit: fresh
//!   memory costs a page fault every 4 KiB.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Buffers kept at most.
const KEPT_MAX: usize = 16;
/// Buffers smaller than this are not worth keeping.
const KEEP_MIN: usize = 64 << 10;

type OnRoom = Box<dyn Fn() + Send + Sync>;

/// The limit, what counts against it, and buffers at rest.
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    /// Highest that `used` has been.
    peak: AtomicUsize,
    /// Somebody waits for room.
    wanted: AtomicBool,
    on_room: OnRoom,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Budget {
    /// A budget of `limit` bytes. `on_room` is called, from whichever thread let go of bytes, when
    /// there is room again after [`Self::want_room`].
    pub fn new(limit: usize, on_room: impl Fn() + Send + Sync + 'static) -> Arc<Budget> {
        Arc::new(Budget {
            limit,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            wanted: AtomicBool::new(false),
            on_room: Box::new(on_room),
            kept: Mutex::default(),
        })
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes counted now.
    pub fn used(&self) -> usize {
        // With those of `release` and `want_room` in one order: no wake-up for room is lost.
        self.used.load(Ordering::SeqCst)
    }

    /// The most bytes ever counted.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Bytes that may still be asked for.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.used())
    }

    /// Asks to be told of room. Check [`Self::room`] once more afterwards: what was let go before
    /// this is not reported.
    pub fn want_room(&self) {
        self.wanted.store(true, Ordering::SeqCst);
    }

    /// Counts `bytes` until the result is dropped.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Reservation {
        self.take(bytes);
        Reservation { budget: Arc::clone(self), bytes }
    }

    /// Counts a buffer for as long as anything refers to it.
    pub fn share(self: &Arc<Self>, buffer: Vec<u8>) -> Bytes {
        self.take(buffer.capacity());
        Bytes::from_owner(Shared { budget: Arc::clone(self), buffer })
    }

    /// As [`Self::share`], for what was reserved: only what goes beyond that is counted anew.
    pub fn share_reserved(
        self: &Arc<Self>,
        buffer: Vec<u8>,
        reservation: &mut Reservation,
    ) -> Bytes {
        let covered = buffer.capacity().min(reservation.bytes);
        reservation.bytes -= covered;
        self.take(buffer.capacity() - covered);
        Bytes::from_owner(Shared { budget: Arc::clone(self), buffer })
    }

    /// An empty buffer with room for about `capacity` bytes when one is at rest, else without
    /// any: what comes from a broker must arrive before memory is taken for it.
    pub fn buffer(&self, capacity: usize) -> Vec<u8> {
        let mut kept = self.kept();
        let fits = |buffer: &Vec<u8>| {
            buffer.capacity() >= capacity && buffer.capacity() / 2 <= capacity.max(KEEP_MIN)
        };
        match kept.buffers.iter().position(fits) {
            Some(at) => {
                let buffer = kept.buffers.swap_remove(at);
                kept.bytes -= buffer.capacity();
                buffer
            }
            None => Vec::new(),
        }
    }

    /// Takes a buffer back that nobody refers to any more.
    pub fn give_back(&self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        if capacity < KEEP_MIN || capacity > self.limit / 4 {
            return;
        }
        buffer.clear();
        let mut kept = self.kept();
        // The oldest goes: sizes follow what is fetched now.
        while !kept.buffers.is_empty()
            && (kept.buffers.len() >= KEPT_MAX || kept.bytes + capacity > self.limit / 4)
        {
            let old = kept.buffers.remove(0);
            kept.bytes -= old.capacity();
        }
        kept.bytes += capacity;
        kept.buffers.push(buffer);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, bytes: usize) {
        let used = self.used.fetch_add(bytes, Ordering::AcqRel) + bytes;
        self.peak.fetch_max(used, Ordering::Relaxed);
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        if bytes > 0
            && self.wanted.load(Ordering::SeqCst)
            && self.wanted.swap(false, Ordering::SeqCst)
        {
            (self.on_room)();
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Budget({} of {} bytes)", self.used(), self.limit)
    }
}

/// Bytes asked for and not received.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Reservation {
    /// How many.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}

struct Shared {
    budget: Arc<Budget>,
    buffer: Vec<u8>,
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        let bytes = buffer.capacity();
        self.budget.give_back(buffer);
        self.budget.release(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_the_last_view_is_gone() {
        let budget = Budget::new(1 << 20, || {});
        let whole = budget.share(vec![7; 100_000]);
        let part = whole.slice(10..20);
        drop(whole);
        assert_eq!(budget.used(), 100_000);
        drop(part);
        assert_eq!((budget.used(), budget.peak()), (0, 100_000));
        // The buffer is used again.
        assert_eq!(budget.buffer(90_000).capacity(), 100_000);
        assert_eq!(budget.buffer(90_000).capacity(), 0);
    }

    #[test]
    fn whoever_wants_room_hears_of_it_once() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let budget = Budget::new(1000, move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let first = budget.reserve(600);
        let second = budget.reserve(400);
        assert_eq!(budget.room(), 0);
        budget.want_room();
        drop(first);
        drop(second);
        assert_eq!((calls.load(Ordering::Relaxed), budget.room()), (1, 1000));
    }

    #[test]
    fn buffers_at_rest_are_bounded() {
        let budget = Budget::new(1 << 20, || {});
        for _ in 0..100 {
            budget.give_back(Vec::with_capacity(KEEP_MIN));
        }
        budget.give_back(Vec::with_capacity(1 << 20));
        budget.give_back(Vec::with_capacity(10));
        let kept = budget.kept();
        assert!(kept.bytes <= 1 << 18 && kept.buffers.len() == 4, "{}", kept.bytes);
    }
}
