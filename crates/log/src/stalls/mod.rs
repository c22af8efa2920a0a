//! Log directories whose writes stall: how a write that does not come back is seen (`watch`), what then
//! becomes of appends (`pace`), and here, whether any directory stalls, for whoever sleeps until one
//! does (a worker of the broker, `broker::spare_worker`).

pub(crate) mod pace;
mod watch;

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How many directories of a manager stall, as [`crate::stalls::pace`] sees it.
#[derive(Debug, Default)]
pub struct Stalls {
    state: Mutex<State>,
    changed: Condvar,
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

    use super::*;

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
