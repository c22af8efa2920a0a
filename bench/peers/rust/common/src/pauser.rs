//! Which partitions stay at the next poll: drawn at random, the same in every peer.

/// What is different at the next poll.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// To be paused.
    pub pause: Vec<i32>,
    /// To be resumed.
    pub resume: Vec<i32>,
}

/// Draws the partitions that stay.
pub struct Pauser {
    random: u64,
    order: Vec<i32>,
    paused: Vec<bool>,
    keep: usize,
    change: Change,
}

impl Pauser {
    /// For so many partitions, none of which is paused yet.
    pub fn new(partitions: usize, paused: usize) -> Pauser {
        Pauser {
            random: 0x7468_616c_7765_6721,
            order: (0..).take(partitions).collect(),
            paused: vec![false; partitions],
            keep: partitions.saturating_sub(paused),
            change: Change::default(),
        }
    }

    /// The first steps of a Fisher-Yates shuffle choose the partitions that stay; the rest is
    /// paused. Returned is what that changes.
    pub fn draw(&mut self) -> &Change {
        for at in 0..self.keep {
            let other = at + self.below(self.order.len() - at);
            self.order.swap(at, other);
        }
        self.change.pause.clear();
        self.change.resume.clear();
        for (place, &partition) in self.order.iter().enumerate() {
            let Some(paused) = self.paused.get_mut(partition as usize) else { continue };
            let pause = place >= self.keep;
            if *paused != pause {
                *paused = pause;
                let list = if pause { &mut self.change.pause } else { &mut self.change.resume };
                list.push(partition);
            }
        }
        &self.change
    }

    /// xorshift64*.
    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_ones_stay_as_in_the_other_peers() {
        let mut pauser = Pauser::new(10, 9);
        for wanted in [2, 2, 4, 1, 2, 0, 3, 9, 6, 7, 4, 8] {
            pauser.draw();
            assert_eq!(pauser.order[0], wanted);
        }
    }

    #[test]
    fn as_many_stay_as_asked_for_and_only_changes_are_told() {
        let mut pauser = Pauser::new(10, 9);
        assert_eq!(pauser.draw().pause.len(), 9);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            let change = pauser.draw();
            assert_eq!(change.pause.len(), change.resume.len());
            assert!(change.pause.len() <= 1);
            assert!(change.pause.is_empty() || change.pause != change.resume);
            seen.extend(change.resume.iter().copied());
            assert_eq!(pauser.paused.iter().filter(|paused| **paused).count(), 9);
        }
        assert_eq!(seen.len(), 10);
    }
}
