//! The broker's clocks: the one place where time is read.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use thalweg_coordinator::Now;

/// Wall and monotonic time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { start: Instant::now() }
    }

    /// Milliseconds since 1970.
    #[inline]
    pub(crate) fn wall_ms(&self) -> i64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
    }

    /// Milliseconds since the broker started.
    #[inline]
    pub(crate) fn monotonic_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    /// Both at once.
    pub(crate) fn now(&self) -> Now {
        Now { wall_ms: self.wall_ms(), monotonic_ms: self.monotonic_ms() }
    }

    /// The moment that `monotonic_ms` stands for.
    pub(crate) fn instant(&self, monotonic_ms: u64) -> Instant {
        self.start + std::time::Duration::from_millis(monotonic_ms)
    }
}
