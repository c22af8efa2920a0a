//! The broker's clocks: the one place where time is read.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use thalweg_coordinator::Now;
use tokio::sync::watch;

/// The furthest that a [`TestClock`] can be moved: wall time has to stay what logs can hold.
const ADVANCE_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A clock for tests: it goes on like the machine's, and a test moves it forward, so that nothing has to be waited for
/// that takes its time.
///
/// It is what the broker takes for wall time and for the time since its start. These follow it, and are looked at as
/// soon as it is moved: what coordinators of transactions and of groups do by the clock (timeouts of transactions,
/// expiration of transactional ids and of offsets, sessions of members, time for rebalances); the times that the
/// broker writes into logs and compares with those in them; and all that it does at intervals (retention, expiration
/// of producer ids, checkpoints, deletion of files).
///
/// What is about connections and disks does not: timeouts of requests and of fetches that wait, heartbeats that are
/// held back, idle connections, pauses before something is tried again. That needs real time, which does not stand
/// still. Nor do clients follow it, who have their own clocks: a member whose session timeout is shorter than what the
/// clock is moved by has not been heard of for so long, and is out of its group.
#[derive(Clone, Debug)]
pub struct TestClock {
    /// By how many milliseconds it is ahead of the machine's.
    ahead_ms: Arc<watch::Sender<u64>>,
}

impl Default for TestClock {
    fn default() -> TestClock {
        TestClock::new()
    }
}

impl TestClock {
    /// A clock that shows the machine's time.
    pub fn new() -> TestClock {
        TestClock { ahead_ms: Arc::new(watch::Sender::new(0)) }
    }

    /// Moves it forward, by whole milliseconds. Brokers that have it see that at once; what they do upon it is theirs to
    /// do, and has to be waited for by what it changes.
    ///
    /// # Panics
    /// If it were moved by more than a hundred years altogether.
    pub fn advance(&self, by: Duration) {
        self.ahead_ms.send_modify(|ahead_ms| {
            let ahead = Duration::from_millis(*ahead_ms).saturating_add(by);
            assert!(ahead <= ADVANCE_MAX, "a test clock is moved by a hundred years at most");
            *ahead_ms = u64::try_from(ahead.as_millis()).unwrap_or(u64::MAX);
        });
    }

    /// By how much it is ahead of the machine's clock.
    pub fn advanced(&self) -> Duration {
        Duration::from_millis(self.ahead_ms())
    }

    fn ahead_ms(&self) -> u64 {
        *self.ahead_ms.borrow()
    }
}

/// Wall and monotonic time.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Moves both, in a test.
    test: Option<TestClock>,
}

impl Clock {
    /// The machine's clock, or a test's.
    pub(crate) fn new(test: Option<TestClock>) -> Clock {
        Clock { start: Instant::now(), test }
    }

    /// By how much a test has moved it.
    #[inline]
    pub(crate) fn ahead_ms(&self) -> u64 {
        self.test.as_ref().map_or(0, TestClock::ahead_ms)
    }

    /// Milliseconds since 1970.
    #[inline]
    pub(crate) fn wall_ms(&self) -> i64 {
        let machine_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX));
        machine_ms.saturating_add_unsigned(self.ahead_ms())
    }

    /// Milliseconds since the broker started.
    #[inline]
    pub(crate) fn monotonic_ms(&self) -> u64 {
        (self.start.elapsed().as_millis() as u64).saturating_add(self.ahead_ms())
    }

    /// Both at once.
    pub(crate) fn now(&self) -> Now {
        Now { wall_ms: self.wall_ms(), monotonic_ms: self.monotonic_ms() }
    }

    /// Waits until [`Self::monotonic_ms`] has come so far, in whatever way.
    pub(crate) async fn sleep_until(&self, monotonic_ms: u64) {
        let at = |ahead_ms: u64| {
            let real_ms = monotonic_ms.saturating_sub(ahead_ms);
            tokio::time::sleep_until((self.start + Duration::from_millis(real_ms)).into())
        };
        let Some(test) = &self.test else { return at(0).await };
        let mut ahead_ms = test.ahead_ms.subscribe();
        loop {
            let now_ahead_ms = *ahead_ms.borrow_and_update();
            tokio::select! {
                () = at(now_ahead_ms) => return,
                // Whoever moves it is there as long as `test` is.
                _ = ahead_ms.changed() => {}
            }
        }
    }

    /// Waits until so much time has passed. What the clock was moved by since it was ahead by `ahead_ms` has passed
    /// already.
    pub(crate) async fn sleep_since(&self, ahead_ms: u64, time: Duration) {
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        // In this order: what it is moved by in between is counted.
        let now_ms = self.monotonic_ms();
        let moved_ms = self.ahead_ms().saturating_sub(ahead_ms);
        self.sleep_until(now_ms.saturating_sub(moved_ms).saturating_add(time_ms)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{is_ready, soon};

    const WEEK: Duration = Duration::from_secs(7 * 86_400);

    #[tokio::test]
    async fn who_sleeps_wakes_when_a_test_moves_the_clock_far_enough() {
        let test = TestClock::new();
        let clock = Clock::new(Some(test.clone()));
        let before = clock.now();
        let mut sleep = std::pin::pin!(clock.sleep_since(0, 2 * WEEK));
        assert!(!is_ready(sleep.as_mut()).await);
        test.advance(WEEK);
        assert!(!is_ready(sleep.as_mut()).await);
        test.advance(WEEK);
        soon("the end of the sleep", sleep).await;
        let (now, weeks_ms) = (clock.now(), 2 * WEEK.as_millis() as u64);
        assert!(now >= before.plus_ms(weeks_ms), "both have moved: {before:?}, {now:?}");
        assert_eq!(test.advanced(), 2 * WEEK);
        // Whoever comes later begins from there.
        assert!(Clock::new(Some(test)).monotonic_ms() >= weeks_ms);
        let mut sleep = std::pin::pin!(clock.sleep_since(clock.ahead_ms(), WEEK));
        assert!(!is_ready(sleep.as_mut()).await);
        soon("a sleep that is over", clock.sleep_since(0, WEEK)).await;
    }

    #[test]
    #[should_panic(expected = "a hundred years")]
    fn a_clock_is_not_moved_past_what_logs_can_hold() {
        TestClock::new().advance(Duration::MAX);
    }
}
