//! Pauses before something that failed is tried again: they double, and chance makes them differ, so
//! that clients that lost the same broker do not come back in step (KIP-144, KIP-580).

use std::time::Duration;

/// First pause of Kafka's clients (`retry.backoff.ms`).
pub const RETRY_BACKOFF: Duration = Duration::from_millis(100);
/// Their longest (`retry.backoff.max.ms`).
pub const RETRY_BACKOFF_MAX: Duration = Duration::from_secs(1);
/// Pause before a broker is tried again with which authentication failed: settings are wrong, and
/// some brokers lock out who tries often.
pub const AUTHENTICATION_BACKOFF: Duration = Duration::from_secs(10);

/// Pauses before a broker is asked again that was just named the leader and does not know of it yet: metadata reaches
/// brokers at different times, mostly within milliseconds. They double from the first to the longest.
const UNREADY_FIRST_MS: u64 = 2;
const UNREADY_LONGEST_MS: u64 = 20;
/// The pause before a new leader is asked again that has refused so often in a row.
pub fn unready_ms(refusals: u32) -> u64 {
    let doublings = refusals.saturating_sub(1).min(DOUBLINGS_MAX);
    (UNREADY_FIRST_MS << doublings).min(UNREADY_LONGEST_MS)
}

/// Doublings beyond which nothing changes.
const DOUBLINGS_MAX: u32 = 16;

/// The pause after so many failures in a row: doubles from the first to the longest, then differs by
/// a fifth up or down, as `random` says. Never longer than the longest.
pub fn backoff(first: Duration, longest: Duration, failures: u32, random: u64) -> Duration {
    let longest = longest.max(first);
    let pause = doubled(first, longest, failures);
    let fifth = pause / 5;
    let spread = u64::try_from((2 * fifth).as_micros()).unwrap_or(u64::MAX - 1);
    (pause - fifth).saturating_add(Duration::from_micros(random % (spread + 1))).min(longest)
}

/// The same in milliseconds.
pub fn backoff_ms(first_ms: u64, longest_ms: u64, failures: u32, random: u64) -> u64 {
    let ms = Duration::from_millis;
    let pause = backoff(ms(first_ms), ms(longest_ms), failures, random);
    u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)
}

/// The same without chance.
pub fn doubled(first: Duration, longest: Duration, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(DOUBLINGS_MAX);
    first.saturating_mul(1 << doublings).min(longest.max(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let ms = Duration::from_millis;
        let pauses = [0, 1, 2, 3, 4, 9_999].map(|failures| doubled(ms(100), ms(350), failures));
        assert_eq!(pauses, [ms(100), ms(100), ms(200), ms(350), ms(350), ms(350)]);
        assert_eq!(doubled(Duration::MAX, Duration::MAX, 40), Duration::MAX);
    }

    #[test]
    fn a_leader_that_is_not_ready_is_asked_again_soon() {
        assert_eq!([0, 1, 2, 3, 4, 5, 9_999].map(unready_ms), [2, 2, 4, 8, 16, 20, 20]);
    }

    #[test]
    fn chance_is_a_fifth_and_never_goes_beyond_the_longest() {
        let ms = Duration::from_millis;
        let of = |failures, random| backoff(ms(100), ms(1_000), failures, random);
        assert_eq!(of(1, 0), ms(80));
        assert_eq!(of(1, 40_000), ms(120));
        assert_eq!(of(1, 40_001), ms(80));
        assert_eq!(of(9, 400_000), ms(1_000));
        assert_eq!(of(9, 0), ms(800));
        assert_eq!(backoff(ms(0), ms(0), 3, 7), ms(0));
        assert!(backoff(Duration::MAX, Duration::MAX, 40, u64::MAX) <= Duration::MAX);
    }
}
