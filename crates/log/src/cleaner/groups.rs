//! Which segments a pass writes into one: neighbours, as long as the result fits a segment, its indexes
//! and 32 bits of relative offsets, even if nothing of them goes. Kafka's rule. Pure.

use std::ops::Range;

/// What is asked of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    pub(crate) base_offset: i64,
    pub(crate) size: u64,
    pub(crate) index_bytes: u64,
    pub(crate) time_index_bytes: u64,
}

/// What a group may come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// `segment.bytes`
    pub(crate) segment_bytes: u64,
    /// `segment.index.bytes`, for each of the indexes.
    pub(crate) index_bytes: u64,
    /// The offset before which everything may be compacted.
    pub(crate) first_uncleanable: i64,
}

/// Neighbours among `segments` that become one.
pub(crate) fn groups(segments: &[Facts], limits: &Limits) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut begin = 0;
    while let Some(first) = segments.get(begin) {
        let mut sum = *first;
        let mut end = begin + 1;
        while let Some(next) = segments.get(end) {
            sum.size += next.size;
            sum.index_bytes += next.index_bytes;
            sum.time_index_bytes += next.time_index_bytes;
            // Where the next one begins is known for sure; where this one ends is not.
            let last_offset = segments
                .get(end + 1)
                .map_or(limits.first_uncleanable, |segment| segment.base_offset)
                .saturating_sub(1);
            let fits = sum.size <= limits.segment_bytes
                && sum.index_bytes <= limits.index_bytes
                && sum.time_index_bytes <= limits.index_bytes
                // An empty one has no offset that could be too far away, and would stay for ever.
                && (next.size == 0 || last_offset - first.base_offset <= i64::from(i32::MAX));
            if !fits {
                break;
            }
            end += 1;
        }
        groups.push(begin..end);
        begin = end;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { segment_bytes: 100, index_bytes: 50, first_uncleanable: 1_000 };

    fn facts(base_offset: i64, size: u64, index_bytes: u64, time_index_bytes: u64) -> Facts {
        Facts { base_offset, size, index_bytes, time_index_bytes }
    }

    #[test]
    fn neighbours_come_together_up_to_each_limit() {
        let by_size = [facts(0, 60, 0, 0), facts(10, 40, 0, 0), facts(20, 1, 0, 0)];
        assert_eq!(groups(&by_size, &LIMITS), [0..2, 2..3]);
        let by_index = [facts(0, 1, 30, 0), facts(10, 1, 20, 0), facts(20, 1, 1, 0)];
        assert_eq!(groups(&by_index, &LIMITS), [0..2, 2..3]);
        let by_time = [facts(0, 1, 0, 30), facts(10, 1, 0, 21), facts(20, 1, 0, 1)];
        assert_eq!(groups(&by_time, &LIMITS), [0..1, 1..3]);
        // One that is too large by itself is a group by itself.
        let too_large = [facts(0, 500, 90, 0), facts(10, 1, 0, 0)];
        assert_eq!(groups(&too_large, &LIMITS), [0..1, 1..2]);
        assert_eq!(groups(&[], &LIMITS), []);
    }

    #[test]
    fn relative_offsets_stay_within_32_bits() {
        let far = i64::from(i32::MAX);
        let limits = Limits { first_uncleanable: far + 1, ..LIMITS };
        let two = [facts(0, 1, 0, 0), facts(10, 1, 0, 0)];
        assert_eq!(groups(&two, &limits), vec![0..2]);
        let limits = Limits { first_uncleanable: far + 2, ..LIMITS };
        assert_eq!(groups(&two, &limits), [0..1, 1..2]);
        // The next segment's beginning counts, not where everything ends.
        let three = [facts(0, 1, 0, 0), facts(10, 1, 0, 0), facts(far, 1, 0, 0)];
        assert_eq!(groups(&three, &limits), [0..2, 2..3]);
        let empty = [facts(0, 1, 0, 0), facts(far + 100, 0, 0, 0)];
        assert_eq!(groups(&empty, &limits), vec![0..2]);
    }
}
