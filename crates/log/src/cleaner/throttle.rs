//! `log.cleaner.io.max.bytes.per.second`, for all threads together: reads and writes are counted, and
//! whoever comes while there is more than the rate allows waits for it to pass.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The longest single wait, so that who waits can look whether it should still.
pub(crate) const PAUSE_MAX: Duration = Duration::from_millis(100);

/// What was not used for so long is not made up for.
const BURST: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(crate) struct Throttle {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    bytes_per_second: f64,
    /// When all that was counted so far is paid for.
    paid_at: Option<Instant>,
}

impl Throttle {
    pub(crate) fn new(bytes_per_second: f64) -> Throttle {
        Throttle { state: Mutex::new(State { bytes_per_second, paid_at: None }) }
    }

    pub(crate) fn set_rate(&self, bytes_per_second: f64) {
        *self.state.lock() = State { bytes_per_second, paid_at: None };
    }

    /// Counts bytes that were read or written.
    pub(crate) fn count(&self, bytes: u64, now: Instant) {
        let mut state = self.state.lock();
        // Kafka's default is the largest number there is.
        let seconds = bytes as f64 / state.bytes_per_second.max(1.0);
        let Ok(cost) = Duration::try_from_secs_f64(seconds) else { return };
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        let from = state.paid_at.map_or(earliest, |at| at.max(earliest));
        state.paid_at = from.checked_add(cost).or(state.paid_at);
    }

    /// How long to wait before the next piece of work; at most [`PAUSE_MAX`], and then to ask again.
    pub(crate) fn pause(&self, now: Instant) -> Option<Duration> {
        let paid_at = self.state.lock().paid_at?;
        let left = paid_at.saturating_duration_since(now).min(PAUSE_MAX);
        (!left.is_zero()).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds until `bytes` in pieces have gone through.
    fn seconds(rate: f64, bytes: u64) -> f64 {
        let throttle = Throttle::new(rate);
        let begin = Instant::now();
        let mut now = begin;
        for _ in 0..bytes / 100 {
            throttle.count(100, now);
            while let Some(pause) = throttle.pause(now) {
                assert!(pause <= PAUSE_MAX);
                now += pause;
            }
        }
        (now - begin).as_secs_f64()
    }

    #[test]
    fn the_rate_is_kept() {
        assert!((seconds(1_000.0, 10_000) - 9.7).abs() < 0.01);
        assert!((seconds(500.0, 10_000) - 19.7).abs() < 0.01);
        assert!(seconds(f64::MAX, 1_000_000) < 1e-9);
        // No rate at all is a byte per second, which comes on.
        assert!((seconds(0.0, 200) - 199.7).abs() < 0.01);
    }

    #[test]
    fn another_rate_holds_at_once() {
        let throttle = Throttle::new(1.0);
        let now = Instant::now();
        throttle.count(1_000_000, now);
        assert_eq!(throttle.pause(now), Some(PAUSE_MAX));
        throttle.set_rate(f64::MAX);
        assert_eq!(throttle.pause(now), None);
        throttle.count(1_000_000, now);
        assert_eq!(throttle.pause(now), None);
    }
}
