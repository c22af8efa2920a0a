//! What two logs have in common, by their leader epochs.

/// Up to which offset two logs hold the same records, each given by its leader epochs with the offsets at which they
/// begin, ascending, and its end. A leader epoch has one leader, which gives each offset once.
pub(super) fn common_end(one: (&[(i32, i64)], i64), other: (&[(i32, i64)], i64)) -> i64 {
    let end = one.1.min(other.1);
    let (Some(first), Some(others_first)) = (one.0.first(), other.0.first()) else { return end };
    // Before that one of them has nothing.
    let from = first.1.max(others_first.1);
    let mut boundaries: Vec<i64> = one
        .0
        .iter()
        .chain(other.0)
        .map(|(_, start)| *start)
        .filter(|start| *start > from)
        .collect();
    boundaries.push(from);
    boundaries.sort_unstable();
    let differs = |at: &i64| epoch_at(one.0, *at) != epoch_at(other.0, *at);
    boundaries.into_iter().take_while(|at| *at < end).find(differs).unwrap_or(end)
}

fn epoch_at(epochs: &[(i32, i64)], offset: i64) -> Option<i32> {
    let after = epochs.partition_point(|(_, start)| *start <= offset);
    after.checked_sub(1).and_then(|at| epochs.get(at)).map(|(epoch, _)| *epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_one_is_all_there_is_in_common() {
        let epochs = [(1, 0), (3, 50)];
        assert_eq!(common_end((&epochs, 100), (&epochs, 70)), 70);
        assert_eq!(common_end((&epochs, 70), (&epochs, 100)), 70);
        assert_eq!(common_end((&epochs, 70), (&epochs[..1], 50)), 50);
        assert_eq!(common_end((&epochs, 70), (&[], 0)), 0);
        assert_eq!(common_end((&[], 9), (&[], 7)), 7);
    }

    #[test]
    fn what_another_leader_wrote_is_not_the_same() {
        // Cut off at 60, and led by another one since.
        assert_eq!(common_end((&[(1, 0), (4, 60)], 90), (&[(1, 0)], 80)), 60);
        assert_eq!(common_end((&[(1, 0), (4, 60)], 90), (&[(1, 0), (2, 70)], 80)), 60);
        assert_eq!(common_end((&[(1, 0), (4, 60)], 90), (&[(1, 0), (2, 40)], 80)), 40);
        // From the first record on.
        assert_eq!(common_end((&[(2, 0)], 90), (&[(1, 0)], 80)), 0);
    }

    #[test]
    fn they_need_not_begin_at_the_same_offset() {
        // An epoch that begins at a log's start may have begun before.
        assert_eq!(common_end((&[(1, 30), (4, 60)], 90), (&[(0, 0), (1, 20)], 50)), 50);
        assert_eq!(common_end((&[(4, 60)], 90), (&[(0, 0), (1, 20)], 50)), 50);
        assert_eq!(common_end((&[(4, 60)], 90), (&[(0, 0), (1, 20)], 80)), 60);
        // An epoch without records, and one that begins behind the end.
        assert_eq!(common_end((&[(1, 0), (2, 80), (3, 80)], 90), (&[(1, 0), (3, 80)], 85)), 85);
        assert_eq!(common_end((&[(1, 0), (5, 90)], 90), (&[(1, 0)], 90)), 90);
    }
}
