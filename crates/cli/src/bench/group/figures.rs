//! What an event came to.

use super::ledger::Micros;

/// Times of which percentiles are wanted, exact.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<Micros>);

impl Samples {
    /// One more.
    pub fn add(&mut self, sample: Micros) {
        self.0.push(sample);
    }

    /// Those of another, too.
    pub fn merge(&mut self, other: &Samples) {
        self.0.extend_from_slice(&other.0);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The values at these percentiles, by the nearest rank; `None` without samples.
    pub fn percentiles<const N: usize>(&self, at: [f64; N]) -> Option<[Micros; N]> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        let rank = |percentile: f64| (percentile / 100.0 * sorted.len() as f64).ceil() as usize;
        Some(at.map(|percentile| sorted[rank(percentile).saturating_sub(1).min(last)]))
    }
}

/// An event of a group, or a tick of a storm.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Members at its end.
    pub members: usize,
    /// Pauses: from giving up the last partition - eager members do when they are told of a
    /// rebalance - until the member has one again.
    pub pauses: Samples,
    /// Members with a pause.
    pub paused: u64,
    /// The longest time that one member spent in pauses.
    pub slowest_pause: Micros,
    /// Members, newcomers apart, that were told of a change.
    pub told: u64,
    /// From being told to having settled.
    pub settling: Samples,
    /// How often members, newcomers apart, joined again.
    pub rejoins: u64,
    /// How often newcomers joined again.
    pub newcomers_rejoins: u64,
    /// Members that had partitions and have all of them still.
    pub kept: u64,
    /// Of them, those with a pause.
    pub kept_paused: u64,
    /// The longest time that one of them spent in pauses.
    pub kept_slowest_pause: Micros,
    /// How often they joined again.
    pub kept_rejoins: u64,
    /// How often a partition came to another member than the last.
    pub moves: u64,
    /// Fewest moves from the first to the last assignment.
    pub least_moves: u64,
    /// From the last owner's release or end to the new owner, of each move.
    pub unowned: Samples,
    /// How often a partition got an owner while it had one.
    pub doubles: u64,
    /// Longest time that one had two.
    pub double_longest: Micros,
    /// From its begin until it was looked at.
    pub length: Micros,
    /// From its begin to the last change.
    pub stable_after: Micros,
    /// Sum over partitions of the time without owner after an owner stopped.
    pub unavailable_orphaned: Micros,
    /// The same after a live owner gave the partition up.
    pub unavailable_revoked: Micros,
}

impl Figures {
    /// Adds what another event came to, so that several make one. Longest times stay longest.
    pub fn merge(&mut self, other: &Figures) {
        self.members = other.members;
        self.pauses.merge(&other.pauses);
        self.settling.merge(&other.settling);
        self.unowned.merge(&other.unowned);
        self.slowest_pause = self.slowest_pause.max(other.slowest_pause);
        self.kept_slowest_pause = self.kept_slowest_pause.max(other.kept_slowest_pause);
        self.double_longest = self.double_longest.max(other.double_longest);
        self.stable_after = self.length + other.stable_after;
        for (sum, part) in [
            (&mut self.paused, other.paused),
            (&mut self.told, other.told),
            (&mut self.rejoins, other.rejoins),
            (&mut self.newcomers_rejoins, other.newcomers_rejoins),
            (&mut self.kept, other.kept),
            (&mut self.kept_paused, other.kept_paused),
            (&mut self.kept_rejoins, other.kept_rejoins),
            (&mut self.moves, other.moves),
            (&mut self.least_moves, other.least_moves),
            (&mut self.doubles, other.doubles),
            (&mut self.length, other.length),
            (&mut self.unavailable_orphaned, other.unavailable_orphaned),
            (&mut self.unavailable_revoked, other.unavailable_revoked),
        ] {
            *sum += part;
        }
    }

    /// Share of the time of all partitions in which they had no owner: after an owner stopped, and
    /// after a live one gave them up.
    pub fn unavailable(&self, partitions: usize) -> (f64, f64) {
        let all = (self.length as f64 * partitions as f64).max(1.0);
        (self.unavailable_orphaned as f64 / all, self.unavailable_revoked as f64 / all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let mut samples = Samples::default();
        assert_eq!(samples.percentiles([50.0]), None);
        (1..=100).rev().for_each(|sample| samples.add(sample));
        assert_eq!(samples.percentiles([0.0, 50.0, 99.0, 100.0]), Some([1, 50, 99, 100]));
    }

    #[test]
    fn merged_events_are_one_behind_the_other() {
        let event = |length, stable_after| Figures {
            length,
            stable_after,
            moves: 2,
            slowest_pause: stable_after,
            unavailable_orphaned: length,
            ..Figures::default()
        };
        let mut all = Figures::default();
        all.merge(&event(100, 60));
        all.merge(&event(50, 10));
        assert_eq!((all.length, all.stable_after, all.moves), (150, 110, 4));
        assert_eq!(all.slowest_pause, 60);
        assert_eq!(all.unavailable(2), (0.5, 0.0));
    }
}
