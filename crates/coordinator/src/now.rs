//! The two clocks a coordinator reads, passed in by whoever drives it.

/// One moment, read from both clocks at the same time.
///
/// Timers run on the monotonic clock, so that setting the machine's clock ends nobody's session.
/// What is written to the log (commit and state timestamps) is wall time, as Kafka writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Now {
    /// Milliseconds since 1970, UTC.
    pub wall_ms: i64,
    /// Milliseconds since some fixed moment in the life of the process; never goes back.
    pub monotonic_ms: u64,
}

impl Now {
    /// This moment `ms` later on both clocks.
    pub fn plus_ms(self, ms: u64) -> Now {
        Now {
            wall_ms: self.wall_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)),
            monotonic_ms: self.monotonic_ms.saturating_add(ms),
        }
    }
}
