//! Fetches of replicas that do not wait for long, because this broker has just begun to lead what they follow.
//!
//! A follower has one fetch in flight at a leader. Of partitions that move here while it waits it is answered nothing
//! until then, for up to `replica.fetch.wait.max.ms`; meanwhile nothing of them is committed that their in-sync
//! followers have to have. So it is answered at once, and soon for a while: the follower hears of the new leader a
//! little before or after this broker does.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// How long a fetch waits meanwhile, and how long for each of its partitions, if that is longer: all of them are looked at
/// for each answer.
const WAIT: Duration = Duration::from_millis(5);
const WAIT_OF_PARTITION: Duration = Duration::from_micros(20);
/// For so long after a leader change.
const LASTS_MS: u64 = 200;

/// The replicas that this is so of.
#[derive(Debug, Default)]
pub(crate) struct ShortPolls {
    /// By the replica's broker; until when.
    until_ms: Mutex<BTreeMap<i32, u64>>,
    begun: Notify,
}

impl ShortPolls {
    /// This broker leads partitions from now on that `replicas` follow.
    pub(crate) fn begin(&self, replicas: impl IntoIterator<Item = i32>, now_ms: u64) {
        let mut until_ms = self.until_ms.lock();
        until_ms.retain(|_, until| *until > now_ms);
        until_ms.extend(replicas.into_iter().map(|id| (id, now_ms.saturating_add(LASTS_MS))));
        let is_empty = until_ms.is_empty();
        drop(until_ms);
        if !is_empty {
            self.begun.notify_waiters();
        }
    }

    /// How long a fetch of so many partitions waits, if that replica is one of these.
    pub(crate) fn wait_max(
        &self,
        replica: i32,
        partitions: usize,
        now_ms: u64,
    ) -> Option<Duration> {
        let is_one = self.until_ms.lock().get(&replica).is_some_and(|until| *until > now_ms);
        let partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
        is_one.then(|| WAIT.max(WAIT_OF_PARTITION.saturating_mul(partitions)))
    }

    /// Hears when there are more of them: whoever waits looks whether it is one.
    pub(crate) fn begun(&self) -> tokio::sync::futures::Notified<'_> {
        self.begun.notified()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_followers_of_what_is_led_anew_wait_shortly_and_only_for_a_while() {
        let polls = ShortPolls::default();
        let begun = polls.begun();
        polls.begin([], 1_000);
        polls.begin([2, 3], 1_000);
        // A wait that had begun before hears of it.
        begun.await;
        assert_eq!(polls.wait_max(2, 1, 1_000), Some(WAIT));
        assert_eq!(polls.wait_max(3, 250, 1_000 + LASTS_MS - 1), Some(WAIT));
        assert_eq!(polls.wait_max(3, 500, 1_000), Some(2 * WAIT));
        assert_eq!(polls.wait_max(3, 1, 1_000 + LASTS_MS), None);
        assert_eq!(polls.wait_max(4, 1, 1_000), None);
        polls.begin([4], 1_000 + LASTS_MS);
        assert_eq!(polls.until_ms.lock().keys().copied().collect::<Vec<_>>(), [4]);
    }
}
