//! Fetches that do not wait for long, because this broker has just begun to lead what their fetchers ask for next.
//!
//! A follower has one fetch in flight at a leader. Of partitions that move here while it waits it is answered nothing
//! until then, for up to `replica.fetch.wait.max.ms`; meanwhile nothing of them is committed that their in-sync
//! followers have to have. So it is answered at once, and soon for a while: the follower learns of the new leader a
//! little before or after this broker does.
//!
//! Java's consumer and librdkafka's have one fetch in flight at a broker, too, and do not give it up. Which of those that
//! wait here has read what moves here is not known, but it is one that reads the topic. It learns of the new leader from
//! the old one, a little before or after; so its fetch waits as long again as the leader change is ago: a handful of
//! answers, instead of one for every five milliseconds, because there may be thousands of consumers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// How long a fetch waits meanwhile, and how long for each of its partitions, if that is longer: all of them are looked at
/// for each answer.
const WAIT: Duration = Duration::from_millis(5);
const WAIT_OF_PARTITION: Duration = Duration::from_micros(20);
/// For so long after a leader change.
const LASTS_MS: u64 = 200;

/// The replicas that this is so of, and the topics.
#[derive(Debug, Default)]
pub(crate) struct ShortPolls {
    /// By the replica's broker; until when.
    until_ms: Mutex<BTreeMap<i32, u64>>,
    begun: Notify,
    /// When the last of a topic's partitions was elected here.
    elected_ms: Mutex<BTreeMap<Arc<str>, u64>>,
    /// The last of these, so that consumers look at nothing else at other times; 0 before the first.
    last_elected_ms: AtomicU64,
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
        is_one.then(|| least(partitions))
    }

    /// This broker leads partitions of these topics from now on; their consumers have to be woken behind that.
    pub(crate) fn elected(&self, topics: impl IntoIterator<Item = Arc<str>>, now_ms: u64) {
        let mut elected_ms = self.elected_ms.lock();
        elected_ms.retain(|_, at_ms| is_recent(*at_ms, now_ms));
        for topic in topics {
            elected_ms.insert(topic, now_ms);
            self.last_elected_ms.store(now_ms.max(1), Ordering::Release);
        }
    }

    /// How long a consumer's fetch of so many partitions waits, which are of these topics, if that is less than it asks
    /// for.
    pub(crate) fn consumer_wait_max<'a>(
        &self,
        topics: impl IntoIterator<Item = &'a str>,
        partitions: usize,
        now_ms: u64,
    ) -> Option<Duration> {
        let last_ms = self.last_elected_ms.load(Ordering::Acquire);
        if last_ms == 0 || !is_recent(last_ms, now_ms) {
            return None;
        }
        let elected_ms = self.elected_ms.lock();
        let elected = topics.into_iter().filter_map(|topic| elected_ms.get(topic));
        let at_ms = elected.copied().max().filter(|at_ms| is_recent(*at_ms, now_ms))?;
        Some(Duration::from_millis(now_ms.saturating_sub(at_ms)).max(least(partitions)))
    }

    /// Ends when there are more of them: a fetch that waits looks whether it is one.
    pub(crate) fn begun(&self) -> tokio::sync::futures::Notified<'_> {
        self.begun.notified()
    }
}

fn is_recent(at_ms: u64, now_ms: u64) -> bool {
    now_ms.saturating_sub(at_ms) < LASTS_MS
}

/// The least that a fetch of so many partitions waits.
fn least(partitions: usize) -> Duration {
    let partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
    WAIT.max(WAIT_OF_PARTITION.saturating_mul(partitions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumers_of_topics_with_new_leaders_are_answered_a_few_times() {
        let polls = ShortPolls::default();
        assert_eq!(polls.consumer_wait_max(["t"], 1, 0), None);
        polls.elected([], 0);
        assert_eq!(polls.consumer_wait_max(["t"], 1, 0), None);
        polls.elected(["t".into()], 0);
        assert_eq!(polls.consumer_wait_max(["other"], 1, 0), None);
        assert_eq!(polls.consumer_wait_max(["other", "t"], 500, 0), Some(2 * WAIT));
        let (mut now_ms, mut answers) = (0, 0);
        while let Some(wait) = polls.consumer_wait_max(["t"], 1, now_ms) {
            now_ms += wait.as_millis() as u64;
            answers += 1;
        }
        assert_eq!((answers, now_ms), (7, 320));
        // Another topic does not begin it again.
        polls.elected(["other".into()], 1_000);
        assert_eq!(polls.consumer_wait_max(["t"], 1, 1_000), None);
        assert_eq!(polls.consumer_wait_max(["other"], 1, 1_010), Some(2 * WAIT));
        polls.elected([], 1_000 + LASTS_MS);
        assert!(polls.elected_ms.lock().is_empty());
    }

    #[tokio::test]
    async fn only_followers_of_what_is_led_anew_wait_shortly_and_only_for_a_while() {
        let polls = ShortPolls::default();
        let begun = polls.begun();
        polls.begin([], 1_000);
        polls.begin([2, 3], 1_000);
        // A wait that had begun before ends.
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
