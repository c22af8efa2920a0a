//! Back-off of everything that has a clock: `core::backoff` with chance, and with times that can be
//! added to a moment.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::bounded;
use crate::core::backoff;
pub(crate) use crate::core::backoff::{AUTHENTICATION_BACKOFF, RETRY_BACKOFF, RETRY_BACKOFF_MAX};

/// No pause at all would be nothing but trying.
const PAUSE_MIN: Duration = Duration::from_millis(1);

/// The pause after so many failures in a row.
pub(crate) fn pause(first: Duration, longest: Duration, failures: u32) -> Duration {
    let (first, longest) = (bounded(first.max(PAUSE_MIN)), bounded(longest));
    backoff::backoff(first, longest, failures, random())
}

/// The same for somebody who adds chance in another way.
pub(crate) fn pause_without_chance(first: Duration, longest: Duration, failures: u32) -> Duration {
    backoff::doubled(bounded(first.max(PAUSE_MIN)), bounded(longest), failures)
}

/// For so long after the connection to a leader was lost, or while nobody leads, metadata is asked for at
/// [`seek_pause`]: longer than it takes a controller to find out that a broker has died, by its defaults
/// (`broker.session.timeout.ms`, 9 s).
pub(crate) const SEEK_FOR: Duration = Duration::from_secs(12);

/// The pause between two requests for metadata while a new leader is looked for: 40 ms by default, two fifths of
/// `retry.backoff.ms`. It does not grow, so the election is heard of 20 ms after it, on average.
pub(crate) fn seek_pause(first: Duration) -> Duration {
    let pause = bounded(first) * 2 / 5;
    self::pause(pause, pause, 1)
}

/// Longest pause before a broker is tried again to which a connection is opened ahead.
const AHEAD_PAUSE_MAX: Duration = Duration::from_secs(10);

/// A connection that lasted so long was sound: what comes after it is a first failure.
pub(crate) const SOUND_AFTER: Duration = Duration::from_secs(10);

/// The pause after so many failures in a row to open a connection ahead.
pub(crate) fn ahead_pause(first: Duration, failures: u32) -> Duration {
    pause(first, AHEAD_PAUSE_MAX, failures)
}

/// Chance, where nothing depends on nobody guessing it.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_do_not_come_back_in_step() {
        let ms = Duration::from_millis;
        let pauses: Vec<Duration> = (0..50).map(|_| pause(ms(100), ms(1_000), 3)).collect();
        assert!(pauses.iter().all(|pause| (ms(320)..=ms(480)).contains(pause)), "{pauses:?}");
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "all pauses are {:?}", pauses[0]);
        assert!(pause(Duration::MAX, Duration::MAX, 40) <= bounded(Duration::MAX));
        assert!(pause(ms(0), ms(0), 5) >= Duration::from_micros(800));
    }
}
