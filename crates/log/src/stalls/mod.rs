//! Log directories whose writes stall: how a write that does not come back is seen (`watch`), what then
//! becomes of appends (`pace`), and here, whether any directory stalls, for whoever sleeps until one
//! does (a worker of the broker, `broker::spare_worker`).

pub(crate) mod pace;
mod watch;

use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How many directories of a manager stall, as [`crate::stalls::pace`] sees it.
#[derive(Default)]
pub struct Stalls {
    state: Mutex<State>,
    changed: Condvar,
    listener: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for Stalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stalls").field("state", &self.state).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    slow: usize,
    closed: bool,
}

impl Stalls {
    pub(crate) fn begin(&self) {
        self.state.lock().slow += 1;
        self.changed.notify_all();
    }

    /// A write was seen that does not come back.
    pub(crate) fn seen(&self) {
        if let Some(listener) = self.listener.get() {
            listener();
        }
    }

    /// Calls `listener` for every write that does not come back, every few milliseconds until it does. It must not wait,
    /// nor panic: the thread that calls it looks after all disks. There is one; says whether it is this one.
    #[must_use]
    pub fn on_stalled_write(&self, listener: impl Fn() + Send + Sync + 'static) -> bool {
        self.listener.set(Box::new(listener)).is_ok()
    }

    pub(crate) fn end(&self) {
        self.state.lock().slow -= 1;
    }

    /// Whether a directory stalls.
    pub fn any(&self) -> bool {
        self.state.lock().slow > 0
    }

    /// Blocks this thread until a directory stalls, nobody is to sleep here any more, or `limit` is
    /// over; says whether one of the first two was the reason.
    pub fn sleep_until_any(&self, limit: Option<Duration>) -> bool {
        let mut state = self.state.lock();
        let nothing = |state: &mut State| state.slow == 0 && !state.closed;
        match limit {
            Some(limit) => {
                self.changed.wait_while_for(&mut state, nothing, limit);
            }
            None => self.changed.wait_while(&mut state, nothing),
        }
        state.slow > 0 || state.closed
    }

    /// Wakes whoever sleeps, for good.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Whether [`Self::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_listener_hears_of_every_write_that_does_not_come_back() {
        let stalls = Stalls::default();
        stalls.seen();
        let heard = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&heard);
        assert!(stalls.on_stalled_write(move || {
            count.fetch_add(1, Ordering::Relaxed);
        }));
        assert!(!stalls.on_stalled_write(|| {}));
        stalls.seen();
        stalls.seen();
        assert_eq!(heard.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn sleepers_wake_for_stalls_and_at_the_end() {
        let stalls = Arc::new(Stalls::default());
        assert!(!stalls.sleep_until_any(Some(Duration::ZERO)));
        let sleeper = {
            let stalls = Arc::clone(&stalls);
            std::thread::spawn(move || stalls.sleep_until_any(None))
        };
        stalls.begin();
        assert!(sleeper.join().expect("wakes"));
        assert!(stalls.any() && stalls.sleep_until_any(None));
        stalls.end();
        assert!(!stalls.any() && !stalls.sleep_until_any(Some(Duration::ZERO)));
        stalls.close();
        assert!(stalls.sleep_until_any(None) && stalls.is_closed() && !stalls.any());
    }
}
