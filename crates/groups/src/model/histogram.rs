//! How often something took how long.

use std::ops::AddAssign;

/// How often something took how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationHistogram {
    /// How often it took no longer than each of [`Self::BOUNDS_MS`], and longer than the one before.
    counts: [u64; DurationHistogram::BOUNDS_MS.len()],
    longer: u64,
    sum_ms: u64,
}

impl DurationHistogram {
    /// Upper bounds, in milliseconds.
    pub const BOUNDS_MS: [u64; 14] =
        [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000];

    /// It took so many milliseconds; none if that is negative, as it is when the clock was set back.
    pub fn add(&mut self, ms: i64) {
        let ms = u64::try_from(ms).unwrap_or(0);
        match Self::BOUNDS_MS.iter().position(|bound| ms <= *bound) {
            Some(at) => self.counts[at] += 1,
            None => self.longer += 1,
        }
        self.sum_ms = self.sum_ms.saturating_add(ms);
    }

    /// For each bound how often it took no longer.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = Self::BOUNDS_MS.into_iter().zip(self.counts);
        counts.scan(0, |sum, (bound_ms, count)| {
            *sum += count;
            Some((bound_ms, *sum))
        })
    }

    /// How often it was.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.longer
    }

    /// How long all of them took, in milliseconds.
    pub fn sum_ms(&self) -> u64 {
        self.sum_ms
    }
}

impl AddAssign for DurationHistogram {
    fn add_assign(&mut self, other: DurationHistogram) {
        for (sum, count) in self.counts.iter_mut().zip(other.counts) {
            *sum += count;
        }
        self.longer += other.longer;
        self.sum_ms = self.sum_ms.saturating_add(other.sum_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_with_those_that_took_no_longer() {
        let mut histogram = DurationHistogram::default();
        for ms in [-7, 0, 1, 2, 60_000, 60_001] {
            histogram.add(ms);
        }
        let mut sum = histogram;
        sum += histogram;
        let cumulative: Vec<(u64, u64)> = sum.cumulative().collect();
        assert_eq!(cumulative[..2], [(1, 6), (5, 8)]);
        assert_eq!(cumulative[12..], [(30_000, 8), (60_000, 10)]);
        assert_eq!((sum.count(), sum.sum_ms()), (12, 240_008));
    }
}
