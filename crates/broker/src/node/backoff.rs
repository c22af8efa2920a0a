//! Pauses between attempts, each twice as long as the one before.

use std::time::Duration;

/// The next pause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff { first, longest, next: first }
    }

    /// The pause before the next attempt.
    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = pause.saturating_mul(2).min(self.longest);
        pause
    }

    /// An attempt succeeded: the next pause is the first one again.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// The pause after so many failures, the first of which is 1.
    pub(crate) fn after(self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(20), ms(100));
        let pauses = [(); 5].map(|()| backoff.pause());
        assert_eq!(pauses, [20, 40, 80, 100, 100].map(ms));
        assert_eq!(
            [0, 1, 2, 3, 4, 99].map(|it| backoff.after(it)),
            [20, 20, 40, 80, 100, 100].map(ms)
        );
        backoff.reset();
        assert_eq!(backoff.pause(), ms(20));
    }
}
