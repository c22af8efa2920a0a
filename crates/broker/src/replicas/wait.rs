//! Wake lists: what parked requests wait on (Kafka's purgatory).
//!
//! A fetch that found too little registers one [`Waiter`] with every partition it asked for. An
//! append adds its bytes to the waiters of that partition alone and wakes those that have enough;
//! no other waiter is touched, and nothing is polled. A request that is over leaves its lists, however it
//! ended: nothing may ever be appended to a partition that clients asked for and went away.

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

    /// The request is over: its lists drop it.
    pub(super) fn set_done(&self) {
        self.done.store(true, Ordering::Release);
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}

/// The requests parked on one partition.
#[derive(Debug, Default)]
pub(crate) struct WakeList {
    waiters: Mutex<Waiters>,
    /// Waiters in the list, finished ones included: appends look here before they lock.
    len: AtomicUsize,
}

#[derive(Debug, Default)]
struct Waiters {
    list: Vec<Arc<Waiter>>,
    /// Waiters that have left since the list was last searched for them, at most.
    left: usize,
}

/// In a list up to this length a waiter that leaves is looked for. A longer one is searched as a whole
/// when half of it has left, so that leaving costs the same on average however many wait.
const SHORT: usize = 16;
/// Room that an empty list keeps.
const KEPT: usize = 16;

impl Waiters {
    fn leave(&mut self, waiter: &Arc<Waiter>) {
        self.left += 1;
        if self.list.len() <= SHORT {
            if let Some(at) = self.list.iter().position(|other| Arc::ptr_eq(other, waiter)) {
                self.list.swap_remove(at);
            }
        } else if self.left * 2 >= self.list.len() {
            self.list.retain(|waiter| !waiter.is_done());
        } else {
            return;
        }
        self.left = 0;
        if self.list.capacity() > KEPT && self.list.len() * 4 < self.list.capacity() {
            self.list.shrink_to(KEPT.max(self.list.len() * 2));
        }
    }
}

impl WakeList {
    pub(super) fn register(&self, waiter: &Arc<Waiter>) {
        let mut waiters = self.waiters.lock();
        waiters.list.push(Arc::clone(waiter));
        self.len.store(waiters.list.len(), Ordering::Release);
    }

    pub(super) fn leave(&self, waiter: &Arc<Waiter>) {
        // Woken waiters are removed already, usually all.
        if self.len.load(Ordering::Acquire) > 0 {
            let mut waiters = self.waiters.lock();
            waiters.leave(waiter);
            self.len.store(waiters.list.len(), Ordering::Release);
        }
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
        waiters.list.retain(|w| !w.is_done() && !w.add(bytes));
        waiters.left = 0;
        self.len.store(waiters.list.len(), Ordering::Release);
    }

    /// The partition changed (leadership, deletion, an offline directory): all have to look.
    pub(crate) fn wake_all(&self) {
        let mut waiters = self.waiters.lock();
        waiters.list.drain(..).for_each(|w| w.wake());
        waiters.left = 0;
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

    /// Registers a waiter, as a fetch does.
    fn enter(list: &WakeList) -> Arc<Waiter> {
        let waiter = Waiter::new(1);
        list.register(&waiter);
        waiter
    }

    fn leave(list: &WakeList, waiter: &Arc<Waiter>) {
        waiter.set_done();
        list.leave(waiter);
    }

    #[test]
    fn who_leaves_is_in_no_list_any_more() {
        let list = WakeList::default();
        for count in [1, SHORT, SHORT + 1, 1_000] {
            let waiters: Vec<_> = (0..count).map(|_| enter(&list)).collect();
            assert_eq!(list.len.load(Ordering::Relaxed), count);
            for (gone, waiter) in waiters.iter().enumerate() {
                leave(&list, waiter);
                let live = count - gone - 1;
                let len = list.len.load(Ordering::Relaxed);
                assert!(len <= SHORT.max(live * 2 + 1), "{len} in the list, {live} of them live");
            }
            assert_eq!(list.len.load(Ordering::Relaxed), 0);
            assert!(list.waiters.lock().list.capacity() <= 2 * KEPT);
            assert!(waiters.iter().all(|waiter| Arc::strong_count(waiter) == 1));
        }
        // Waiters that stay are not touched by others that come and go.
        let stays: Vec<_> = (0..40).map(|_| enter(&list)).collect();
        for _ in 0..1_000 {
            leave(&list, &enter(&list));
        }
        assert!(list.len.load(Ordering::Relaxed) <= 2 * stays.len());
        list.add(1);
        assert!(stays.iter().all(|waiter| waiter.missing.load(Ordering::Relaxed) == 0));
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
