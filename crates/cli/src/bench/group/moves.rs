//! How few partitions have to move.

/// Fewest of `partitions` that must change hands so that no member has two more than another, when
/// the members hold these numbers of them; what nobody holds moves in any case.
pub fn least_moves(held: &[usize], partitions: usize) -> usize {
    let members = held.len();
    if members == 0 {
        return 0;
    }
    let (base, larger) = (partitions / members, partitions % members);
    let mut held = held.to_vec();
    // The larger shares go to those that can fill them.
    held.sort_unstable_by(|a, b| b.cmp(a));
    let share = |place: usize| base + usize::from(place < larger);
    let kept: usize = held.iter().enumerate().map(|(place, &held)| held.min(share(place))).sum();
    partitions - kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::random::Random;

    /// Tries every balanced distribution of shares.
    fn by_trying(held: &[usize], partitions: usize) -> usize {
        fn best(held: &[usize], left: usize, base: usize, larger: usize) -> Option<usize> {
            let Some((&first, rest)) = held.split_first() else {
                return (left == 0 && larger == 0).then_some(0);
            };
            let mut kept = None;
            for (share, larger) in [(base, Some(larger)), (base + 1, larger.checked_sub(1))] {
                if let (Some(larger), Some(left)) = (larger, left.checked_sub(share))
                    && let Some(others) = best(rest, left, base, larger)
                {
                    kept = kept.max(Some(others + first.min(share)));
                }
            }
            kept
        }
        let (base, larger) = (partitions / held.len(), partitions % held.len());
        partitions - best(held, partitions, base, larger).unwrap()
    }

    #[test]
    fn known_cases() {
        assert_eq!(least_moves(&[2, 2, 2], 6), 0);
        assert_eq!(least_moves(&[3, 3, 0], 6), 2, "a newcomer takes its share");
        assert_eq!(least_moves(&[2, 2], 6), 2, "what a member left behind");
        assert_eq!(least_moves(&[6, 0], 6), 3);
        assert_eq!(least_moves(&[1, 1, 0], 2), 0, "more members than partitions");
        assert_eq!(least_moves(&[2, 1], 3), 0, "the larger share stays where it is");
        assert_eq!(least_moves(&[], 3), 0);
    }

    #[test]
    fn no_distribution_needs_fewer() {
        let mut random = Random::new(7);
        for _ in 0..2000 {
            let members = 1 + random.below(7);
            let partitions = random.below(20);
            let mut held = vec![0; members];
            for _ in 0..random.below(partitions + 1) {
                held[random.below(members)] += 1;
            }
            let fewest = by_trying(&held, partitions);
            assert_eq!(least_moves(&held, partitions), fewest, "{held:?} {partitions}");
        }
    }
}
