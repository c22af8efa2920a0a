//! Wake lists: what parked requests wait on (Kafka's purgatory).
//!
//! A fetch that found too little registers one [`Waiter`] with every partition it asked for. An
//! append adds its bytes to the waiters of that partition alone and wakes those that have enough;
//! nobody else is touched, and nothing is polled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// One parked request.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// Bytes that are still missing; woken when none are.
    missing: AtomicI64,
    done: AtomicBool,
    /// Something else than data came up.
    changed: AtomicBool,
    wake: Notify,
}

impl Waiter {
    /// A request that waits for `missing` more bytes.
    pub(crate) fn new(missing: i64) -> Arc<Waiter> {
        Arc::new(Waiter {
            missing: AtomicI64::new(missing.max(1)),
            done: AtomicBool::new(false),
            changed: AtomicBool::new(false),
            wake: Notify::new(),
        })
    }

    /// `bytes` more can be read. Says whether that is enough.
    pub(crate) fn add(&self, bytes: i64) -> bool {
        if self.missing.fetch_sub(bytes, Ordering::AcqRel) <= bytes {
            self.wake.notify_one();
            return true;
        }
        false
    }

    /// Something changed that the request has to look at whatever it waits for.
    fn wake(&self) {
        self.changed.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Whether a partition changed in another way than by an append.
    pub(crate) fn is_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }

    /// Waits until enough was added or the request was woken.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// The request is over; lists drop it when they next look.
    pub(crate) fn finish(&self) {
        self.done.store(true, Ordering::Release);
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}

/// The requests parked on one partition.
#[derive(Debug, Default)]
pub(crate) struct WakeList {
    waiters: Mutex<Vec<Arc<Waiter>>>,
    /// Waiters in the list, finished ones included: appends look here before they lock.
    len: AtomicUsize,
}

/// A list this long is searched for finished waiters before it grows.
const SWEEP_FROM: usize = 16;

impl WakeList {
    /// Adds a waiter. What became readable before this must be looked for again afterwards.
    pub(crate) fn register(&self, waiter: &Arc<Waiter>) {
        let mut waiters = self.waiters.lock();
        if waiters.len() >= SWEEP_FROM && waiters.len().is_power_of_two() {
            waiters.retain(|w| !w.is_done());
        }
        waiters.push(Arc::clone(waiter));
        self.len.store(waiters.len(), Ordering::Release);
    }

    /// `bytes` more can be read from the partition.
    #[inline]
    pub(crate) fn add(&self, bytes: i64) {
        // Pairs with the re-check after `register`: either the append sees the waiter here, or the
        // waiter sees the append there.
        std::sync::atomic::fence(Ordering::SeqCst);
        if self.len.load(Ordering::Acquire) > 0 {
            self.add_slow(bytes);
        }
    }

    fn add_slow(&self, bytes: i64) {
        let mut waiters = self.waiters.lock();
        waiters.retain(|w| !w.is_done() && !w.add(bytes));
        self.len.store(waiters.len(), Ordering::Release);
    }

    /// The partition changed (leadership, deletion, an offline directory): all have to look.
    pub(crate) fn wake_all(&self) {
        let mut waiters = self.waiters.lock();
        waiters.drain(..).for_each(|w| w.wake());
        self.len.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn wakes_when_enough_came_and_not_before() {
        let list = WakeList::default();
        let waiter = Waiter::new(100);
        list.register(&waiter);
        list.add(60);
        assert!(tokio::time::timeout(Duration::from_millis(5), waiter.woken()).await.is_err());
        list.add(40);
        waiter.woken().await;
        assert_eq!(list.len.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn finished_waiters_do_not_pile_up() {
        let list = WakeList::default();
        for _ in 0..1000 {
            let waiter = Waiter::new(1);
            list.register(&waiter);
            waiter.finish();
        }
        assert!(list.len.load(Ordering::Relaxed) <= 2 * SWEEP_FROM);
    }

    #[tokio::test]
    async fn a_change_wakes_everybody() {
        let list = WakeList::default();
        let waiters: Vec<_> = (0..3).map(|_| Waiter::new(1 << 40)).collect();
        waiters.iter().for_each(|w| list.register(w));
        list.wake_all();
        for waiter in waiters {
            waiter.woken().await;
            assert!(waiter.is_changed());
        }
    }
}
