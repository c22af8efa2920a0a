//! How fast connections come, over a window that slides by samples, as Kafka's quotas measure it.

use std::collections::VecDeque;

/// `quota.window.num` samples of `quota.window.size.seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) samples: u64,
    pub(crate) sample_ms: u64,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    start_ms: u64,
    last_ms: u64,
    count: u64,
}

/// Counts events and says how long to wait until their rate is within a quota again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rate {
    /// Oldest first; never more than the window has, and one.
    samples: VecDeque<Sample>,
}

impl Rate {
    /// Counts an event; gives the milliseconds, at most one sample, that the next one has to wait
    /// for the rate to be at most `quota` per second.
    pub(crate) fn record(&mut self, quota: u32, window: Window, now_ms: u64) -> u64 {
        self.forget(window, now_ms);
        match self.samples.back_mut() {
            Some(sample) if now_ms.saturating_sub(sample.start_ms) < window.sample_ms => {
                sample.count += 1;
                sample.last_ms = now_ms;
            }
            _ => {
                self.samples.push_back(Sample { start_ms: now_ms, last_ms: now_ms, count: 1 });
            }
        }
        let count: u64 = self.samples.iter().map(|sample| sample.count).sum();
        let begin = self.samples.front().map_or(now_ms, |sample| sample.start_ms);
        // A window that has just begun counts as full: a burst after a silence is let in.
        let mut elapsed = now_ms.saturating_sub(begin);
        let full = elapsed / window.sample_ms;
        elapsed += window.samples.saturating_sub(1).saturating_sub(full) * window.sample_ms;
        let elapsed = elapsed.max(1) as f64;
        let rate = count as f64 * 1_000.0 / elapsed;
        let quota = f64::from(quota);
        if rate <= quota {
            return 0;
        }
        // A quota of 0 gives infinity, which the bound makes one sample.
        let wait = ((rate - quota) / quota * elapsed).round();
        wait.min(window.sample_ms as f64) as u64
    }

    /// The event that was counted last did not take place.
    pub(crate) fn unrecord(&mut self) {
        if let Some(sample) = self.samples.back_mut() {
            sample.count = sample.count.saturating_sub(1);
        }
    }

    /// Whether nothing is remembered any more.
    pub(crate) fn is_idle(&mut self, window: Window, now_ms: u64) -> bool {
        self.forget(window, now_ms);
        self.samples.is_empty()
    }

    fn forget(&mut self, window: Window, now_ms: u64) {
        let age = window.samples.saturating_mul(window.sample_ms);
        while self.samples.front().is_some_and(|s| now_ms.saturating_sub(s.last_ms) >= age) {
            self.samples.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { samples: 11, sample_ms: 1_000 };

    /// Milliseconds that `count` events in a row take when each waits as it is told.
    fn span(rate: &mut Rate, quota: u32, count: usize, mut now: u64) -> u64 {
        let begin = now;
        for _ in 0..count {
            now += rate.record(quota, WINDOW, now);
        }
        now - begin
    }

    #[test]
    fn a_burst_passes_and_then_the_quota_holds() {
        let mut rate = Rate::default();
        assert_eq!(span(&mut rate, 10, 100, 5_000), 0, "ten seconds' worth at once");
        let more = span(&mut rate, 10, 200, 5_000);
        assert!((15_000..=25_000).contains(&more), "200 more took {more} ms");
        assert!(rate.samples.len() <= 12);
        assert!(!rate.is_idle(WINDOW, 5_000 + more));
        assert!(rate.is_idle(WINDOW, 5_000 + more + 11_000));
    }

    #[test]
    fn waits_are_bounded_and_taken_back() {
        let mut rate = Rate::default();
        assert_eq!(rate.record(0, WINDOW, 0), 1_000, "nothing is allowed");
        rate.unrecord();
        assert_eq!(rate.record(u32::MAX, WINDOW, 1), 0);
        let mut rate = Rate::default();
        for _ in 0..10 {
            assert_eq!(rate.record(1, WINDOW, 0), 0);
        }
        let wait = rate.record(1, WINDOW, 0);
        assert_eq!(wait, 1_000);
        rate.unrecord();
        assert_eq!(rate.record(1, WINDOW, 0), wait, "as if it had not been");
    }
}
