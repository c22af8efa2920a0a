//! How fast replicas move (`replica.alter.log.dirs.io.max.bytes.per.second`). Pure.

/// Bytes of a step, at most, where nothing is slower.
pub(super) const STEP_BYTES: u32 = 1 << 20;

/// Bytes that were moved and are not paid for yet: a step may be taken when there are none.
#[derive(Debug, Default)]
pub(super) struct MoveThrottle {
    owed: u64,
    since_ms: u64,
}

impl MoveThrottle {
    /// How long no step may be taken, at so many bytes per second; `None` if one may be.
    pub(super) fn wait_ms(&mut self, rate: u64, now_ms: u64) -> Option<u64> {
        let elapsed = now_ms.saturating_sub(self.since_ms);
        let paid = u128::from(rate) * u128::from(elapsed) / 1_000;
        if paid > 0 || self.owed == 0 {
            self.owed = self.owed.saturating_sub(u64::try_from(paid).unwrap_or(u64::MAX));
            self.since_ms = now_ms;
        }
        if rate == 0 {
            // Until another rate is set.
            return Some(u64::MAX);
        }
        let wait = (u128::from(self.owed) * 1_000).div_ceil(u128::from(rate));
        (wait > 0).then(|| u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// So much was moved.
    pub(super) fn moved(&mut self, bytes: u64) {
        self.owed = self.owed.saturating_add(bytes);
    }
}

/// Bytes of a step: a slow move goes in small ones, ten a second.
pub(super) fn step_bytes(rate: u64) -> u32 {
    u32::try_from(rate / 10).unwrap_or(u32::MAX).clamp(1, STEP_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_is_waited_for() {
        let mut throttle = MoveThrottle::default();
        assert_eq!(throttle.wait_ms(1_000, 70), None);
        throttle.moved(500);
        assert_eq!(throttle.wait_ms(1_000, 70), Some(500));
        assert_eq!(throttle.wait_ms(1_000, 270), Some(300));
        // Another rate counts from now on.
        assert_eq!(throttle.wait_ms(3_000, 270), Some(100));
        assert_eq!(throttle.wait_ms(3_000, 370), None);
        // An unused rate is not saved up.
        assert_eq!(throttle.wait_ms(3_000, 90_000), None);
        throttle.moved(3_000);
        assert_eq!(throttle.wait_ms(3_000, 90_000), Some(1_000));
    }

    #[test]
    fn small_rates_are_paid_bit_by_bit() {
        let mut throttle = MoveThrottle::default();
        assert_eq!(throttle.wait_ms(3, 0), None);
        throttle.moved(3);
        // Looked at more often than a byte takes.
        let waited = (0..).step_by(10).find(|now| throttle.wait_ms(3, *now).is_none());
        assert!(waited.is_some_and(|at| (1_000..=1_030).contains(&at)), "{waited:?}");
    }

    #[test]
    fn the_ends_of_the_range() {
        let mut throttle = MoveThrottle::default();
        assert_eq!(throttle.wait_ms(0, 5), Some(u64::MAX));
        throttle.moved(u64::MAX);
        throttle.moved(u64::MAX);
        assert_eq!(throttle.wait_ms(u64::MAX, 6), Some(1_000));
        assert_eq!(throttle.wait_ms(u64::MAX, 1_006), None);
        assert_eq!(step_bytes(0), 1);
        assert_eq!(step_bytes(50_000), 5_000);
        assert_eq!(step_bytes(u64::MAX), STEP_BYTES);
    }
}
