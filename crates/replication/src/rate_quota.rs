//! How many bytes per second went through, over the last samples, and whether that is more than may be: the throttle of
//! replication, in Kafka's way (`replication.quota.window.num`, `replication.quota.window.size.seconds`).

use std::collections::VecDeque;

/// A rate over a window that moves by whole samples.
#[derive(Clone, Debug)]
pub struct RateQuota {
    sample_ms: u64,
    samples_max: usize,
    /// When each sample began, and its bytes; the oldest first.
    samples: VecDeque<(u64, u64)>,
}

impl RateQuota {
    /// Over so many samples of that length; at least one, of a millisecond.
    pub fn new(samples_max: usize, sample_ms: u64) -> RateQuota {
        let (samples_max, sample_ms) = (samples_max.max(1), sample_ms.max(1));
        RateQuota { sample_ms, samples_max, samples: VecDeque::new() }
    }

    /// So many bytes went through.
    pub fn record(&mut self, bytes: u64, now_ms: u64) {
        self.forget_old(now_ms);
        match self.samples.back_mut() {
            Some((begun, sum)) if now_ms < begun.saturating_add(self.sample_ms) => {
                *sum = sum.saturating_add(bytes);
            }
            _ => self.samples.push_back((now_ms, bytes)),
        }
    }

    /// Bytes per second. Less than one sample's time counts as one, so that what comes at once is no burst.
    pub fn bytes_per_second(&mut self, now_ms: u64) -> u64 {
        self.forget_old(now_ms);
        let Some((begun, _)) = self.samples.front() else { return 0 };
        let elapsed_ms = now_ms.saturating_sub(*begun).max(self.sample_ms);
        let sum = self.samples.iter().fold(0u128, |sum, (_, bytes)| sum + u128::from(*bytes));
        u64::try_from(sum * 1_000 / u128::from(elapsed_ms)).unwrap_or(u64::MAX)
    }

    fn forget_old(&mut self, now_ms: u64) {
        let window_ms = self.sample_ms.saturating_mul(self.samples_max as u64);
        while let Some((begun, _)) = self.samples.front()
            && now_ms.saturating_sub(*begun) >= window_ms
        {
            self.samples.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_their_sample_is_out_of_the_window() {
        let mut quota = RateQuota::new(3, 1_000);
        assert_eq!(quota.bytes_per_second(0), 0);
        quota.record(600, 10_000);
        assert_eq!(quota.bytes_per_second(10_100), 600, "within the first sample");
        assert_eq!(quota.bytes_per_second(12_000), 300);
        quota.record(600, 12_000);
        assert_eq!(quota.bytes_per_second(12_000), 600);
        assert_eq!(quota.bytes_per_second(12_999), 400);
        // The first is forgotten; what is left is a second old.
        assert_eq!(quota.bytes_per_second(13_000), 600);
        assert_eq!(quota.bytes_per_second(14_999), 200);
        assert_eq!(quota.bytes_per_second(15_000), 0);
    }

    #[test]
    fn there_are_no_more_samples_than_the_window_has() {
        let mut quota = RateQuota::new(11, 1_000);
        for at in 0..100_000 {
            quota.record(u64::MAX, at * 10);
            assert!(quota.samples.len() <= 11);
        }
        assert_eq!(quota.bytes_per_second(999_990), u64::MAX);
    }
}
