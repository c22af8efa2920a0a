//! Sees writes that do not come back.
//!
//! Each thread that writes has a slot with a number that is odd while it is inside a write. One
//! thread of the process looks at all slots every few milliseconds: the same odd number for long is
//! a stall. So a write costs two stores, and the thread that is stuck in one need not notice it.
//! A thread that merely waits for a processor is not stalled: the system says which of the two.
//! While nothing is written the watch sleeps.

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::Thread;
use std::time::Duration;

use parking_lot::Mutex;

use crate::stalls::pace::Pace;

/// How often the watch looks.
const TICK: Duration = Duration::from_millis(5);
/// A write that was seen at so many looks after the first is stalled if its thread sleeps: more than
/// 10 ms.
const STALL_TICKS: u32 = 2;
/// The same whatever its thread does, where the system does not say it truly.
const LONG_TICKS: u32 = 20;
/// A directory without stalls for so many looks is not slow any more: one second.
const QUIET_TICKS: u64 = 200;
/// Without a write for so many looks, the watch sleeps.
const IDLE_TICKS: u32 = 100;
/// It looks once in a while even then: a write may have begun just as it fell asleep.
const SLEEP: Duration = Duration::from_secs(1);

/// One thread's writes.
#[repr(align(64))]
#[derive(Debug)]
struct Slot {
    /// Odd inside of a write.
    number: AtomicU64,
    /// Of which directory.
    dir: AtomicU64,
    tid: i32,
}

#[derive(Default)]
struct Registry {
    slots: Vec<Weak<Slot>>,
    dirs: Vec<Weak<Pace>>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { slots: Vec::new(), dirs: Vec::new() });
static AWAKE: AtomicBool = AtomicBool::new(false);
static THREAD: OnceLock<Option<Thread>> = OnceLock::new();
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static SLOT: OnceCell<Arc<Slot>> = const { OnceCell::new() };
}

/// A write that is under way on this thread.
pub(crate) struct Mark {
    // Belongs to the thread that made it.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for Mark {
    #[inline]
    fn drop(&mut self) {
        SLOT.with(|slot| {
            if let Some(slot) = slot.get() {
                let number = slot.number.load(Ordering::Relaxed);
                slot.number.store(number.wrapping_add(1), Ordering::Release);
            }
        });
    }
}

/// Begins a write to a directory.
#[inline]
pub(crate) fn mark(dir: u64) -> Mark {
    SLOT.with(|slot| {
        let slot = slot.get_or_init(register);
        slot.dir.store(dir, Ordering::Relaxed);
        let number = slot.number.load(Ordering::Relaxed);
        slot.number.store(number.wrapping_add(1), Ordering::Release);
    });
    if !AWAKE.load(Ordering::Relaxed) {
        wake();
    }
    Mark { _not_send: std::marker::PhantomData }
}

#[cold]
fn register() -> Arc<Slot> {
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    let slot = Arc::new(Slot { number: AtomicU64::new(0), dir: AtomicU64::new(0), tid });
    REGISTRY.lock().slots.push(Arc::downgrade(&slot));
    slot
}

pub(crate) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// A directory that is to be told of its stalls.
pub(crate) fn add(pace: &Arc<Pace>) {
    REGISTRY.lock().dirs.push(Arc::downgrade(pace));
}

#[cold]
fn wake() {
    if AWAKE.swap(true, Ordering::SeqCst) {
        return;
    }
    let thread = THREAD.get_or_init(|| {
        let spawned = std::thread::Builder::new().name("thalweg-watch".into()).spawn(watch);
        match spawned {
            Ok(handle) => Some(handle.thread().clone()),
            Err(error) => {
                tracing::warn!(%error, "stalls of disks are not noticed: no thread for it");
                None
            }
        }
    });
    if let Some(thread) = thread {
        thread.unpark();
    }
}

fn watch() {
    let mut looked: Vec<(Weak<Slot>, Look)> = Vec::new();
    let mut tick = 0;
    let mut idle = 0;
    loop {
        if idle >= IDLE_TICKS {
            AWAKE.store(false, Ordering::SeqCst);
            std::thread::park_timeout(SLEEP);
            AWAKE.store(true, Ordering::SeqCst);
            idle = IDLE_TICKS - 1;
        } else {
            std::thread::sleep(TICK);
        }
        tick += 1;
        let is_busy = look(&mut looked, tick);
        idle = if is_busy { 0 } else { idle + 1 };
    }
}

/// Looks at everything once; says whether anything was going on.
fn look(looked: &mut Vec<(Weak<Slot>, Look)>, tick: u64) -> bool {
    let dirs: Vec<Arc<Pace>> = {
        let mut registry = REGISTRY.lock();
        looked.extend(registry.slots.drain(..).map(|slot| (slot, Look::default())));
        registry.dirs.retain(|dir| dir.strong_count() > 0);
        registry.dirs.iter().filter_map(Weak::upgrade).collect()
    };
    let mut is_busy = false;
    looked.retain_mut(|(slot, look)| {
        let Some(slot) = slot.upgrade() else { return false };
        let number = slot.number.load(Ordering::Acquire);
        let dir = slot.dir.load(Ordering::Relaxed);
        is_busy |= number % 2 == 1 || number != look.number;
        if look.is_stalled(number, || is_blocked(slot.tid))
            && let Some(pace) = dirs.iter().find(|pace| pace.id() == dir)
        {
            pace.stalled(tick);
        }
        true
    });
    for pace in &dirs {
        pace.recover(tick, QUIET_TICKS);
        is_busy |= pace.is_slow();
    }
    is_busy
}

/// What was seen of a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    number: u64,
    /// Looks at which the same write was still there.
    ticks: u32,
}

impl Look {
    /// Takes a look's number; says whether the write of this number is stalled.
    fn is_stalled(&mut self, number: u64, is_blocked: impl FnOnce() -> bool) -> bool {
        if number != self.number || number.is_multiple_of(2) {
            *self = Look { number, ticks: 0 };
            return false;
        }
        self.ticks = self.ticks.saturating_add(1);
        self.ticks >= LONG_TICKS || (self.ticks >= STALL_TICKS && is_blocked())
    }
}

/// Whether a thread of this process sleeps, in the system's eyes; true where nobody says.
fn is_blocked(tid: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")) {
        // The state follows the name, which may hold anything but ends with the last parenthesis.
        Ok(stat) => {
            let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
            state != Some('R')
        }
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_is_still_there_after_two_looks_is_stalled() {
        let mut look = Look::default();
        assert!(!look.is_stalled(0, || true));
        assert!(!look.is_stalled(1, || true));
        assert!(!look.is_stalled(1, || true));
        assert!(look.is_stalled(1, || true));
        assert!(look.is_stalled(1, || true));
        // Other writes since, and no write at all.
        assert!(!look.is_stalled(3, || true));
        assert!(!look.is_stalled(5, || true));
        for _ in 0..100 {
            assert!(!look.is_stalled(6, || true));
        }
    }

    #[test]
    fn a_thread_that_waits_for_a_processor_is_not_stalled_for_long() {
        let mut look = Look::default();
        assert!(!look.is_stalled(7, || false));
        for _ in 1..LONG_TICKS {
            assert!(!look.is_stalled(7, || false));
        }
        assert!(look.is_stalled(7, || false));
    }

    #[test]
    fn the_system_says_who_sleeps() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            sender.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let _ = ended.recv();
        });
        let tid = receiver.recv().unwrap();
        while !is_blocked(tid) {
            std::thread::yield_now();
        }
        assert!(!is_blocked(rustix::thread::gettid().as_raw_nonzero().get()));
        drop(end);
        sleeper.join().unwrap();
    }
}
