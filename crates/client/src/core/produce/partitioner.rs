//! Which partition a record without a key goes to: one partition until it got about a batch of
//! bytes, then another (KIP-480), and rather one whose queue is short than one whose leader is
//! slow (KIP-794).
//!
//! Partitions without a leader are left out as long as there are others.

/// What is known of a partition when one is to be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Batches that wait to be sent.
    pub queued: u32,
    /// Whether somebody leads it.
    pub has_leader: bool,
}

/// The choice for one topic.
#[derive(Debug, Default)]
pub struct Sticky {
    current: Option<u32>,
    /// Bytes that the current partition got.
    produced: usize,
    /// Running sums of weights, kept for their memory.
    sums: Vec<u64>,
}

impl Sticky {
    /// The partition of the moment.
    pub fn current(&self) -> Option<u32> {
        self.current
    }

    /// Counts bytes for the current partition.
    pub fn count(&mut self, bytes: usize) {
        self.produced += bytes;
    }

    /// Whether the current partition has had its share of `share` bytes, or would with `next`
    /// more. To be asked when a batch would have to be begun: leaving one that still has room
    /// makes for batches that are half empty.
    pub fn is_done(&self, next: usize, share: usize) -> bool {
        self.produced + next >= share
    }

    /// Chooses the next partition. `random` is any number; `loads` are the topic's partitions by
    /// index. `None` when there are no partitions.
    pub fn choose(
        &mut self,
        loads: impl Iterator<Item = Load> + Clone,
        is_adaptive: bool,
        random: u64,
    ) -> Option<u32> {
        let any_leader = loads.clone().any(|load| load.has_leader);
        let counts = |load: &Load| load.has_leader || !any_leader;
        let longest = loads.clone().filter(counts).map(|load| load.queued).max().unwrap_or(0);
        self.sums.clear();
        let mut sum = 0;
        for load in loads {
            // The longer the queue, the less likely; the longest keeps a chance.
            sum += match (counts(&load), is_adaptive) {
                (false, _) => 0,
                (true, false) => 1,
                (true, true) => u64::from(longest - load.queued.min(longest)) + 1,
            };
            self.sums.push(sum);
        }
        let at = random.checked_rem(sum)?;
        let chosen = self.sums.partition_point(|&sum| sum <= at) as u32;
        self.current = Some(chosen);
        self.produced = 0;
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(loads: &[(u32, bool)], is_adaptive: bool, rounds: u64) -> Vec<u64> {
        let mut sticky = Sticky::default();
        let mut counts = vec![0; loads.len()];
        let loads = loads.iter().map(|&(queued, has_leader)| Load { queued, has_leader });
        for random in 0..rounds {
            let partition = sticky.choose(loads.clone(), is_adaptive, random).unwrap();
            counts[partition as usize] += 1;
        }
        counts
    }

    #[test]
    fn equal_queues_get_equal_shares() {
        assert_eq!(chosen(&[(0, true), (0, true), (0, true)], true, 300), [100, 100, 100]);
        assert_eq!(chosen(&[(9, true), (0, true)], false, 300), [150, 150]);
    }

    #[test]
    fn short_queues_are_preferred_as_kip_794_says() {
        // Weights 1, 3 and 4 for queues of 3, 1 and 0.
        assert_eq!(chosen(&[(3, true), (1, true), (0, true)], true, 800), [100, 300, 400]);
    }

    #[test]
    fn partitions_without_leader_are_the_last_resort() {
        assert_eq!(chosen(&[(0, false), (7, true), (0, false)], true, 50), [0, 50, 0]);
        assert_eq!(chosen(&[(0, false), (0, false)], true, 50), [25, 25]);
        assert_eq!(Sticky::default().choose([].into_iter(), true, 3), None);
    }

    #[test]
    fn a_share_is_had_when_the_next_record_would_go_beyond_it() {
        let mut sticky = Sticky::default();
        let one = Load { queued: 0, has_leader: true };
        assert_eq!((sticky.current(), sticky.choose([one].into_iter(), true, 9)), (None, Some(0)));
        sticky.count(900);
        assert!(!sticky.is_done(99, 1000));
        assert!(sticky.is_done(100, 1000));
        sticky.choose([one].into_iter(), true, 9);
        assert!(!sticky.is_done(100, 1000), "the next share begins at nothing");
    }
}
