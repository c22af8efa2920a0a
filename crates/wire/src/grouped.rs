//! Lists of partitions as messages have them: a list of topics, each with its partitions.

use std::collections::BTreeMap;

/// Partitions by topic: what `topic` makes of each topic and its partitions, sorted by topic. The partitions of a
/// topic keep their order.
pub fn by_topic<K: Ord, P, T>(
    partitions: impl IntoIterator<Item = (K, P)>,
    mut topic: impl FnMut(K, Vec<P>) -> T,
) -> Vec<T> {
    let mut topics: BTreeMap<K, Vec<P>> = BTreeMap::new();
    for (key, partition) in partitions {
        topics.entry(key).or_default().push(partition);
    }
    topics.into_iter().map(|(key, partitions)| topic(key, partitions)).collect()
}

/// As [`by_topic`], for partitions that are sorted by topic already. It looks only at neighbours: a topic that comes
/// again after another one is listed again.
pub fn by_sorted_topic<K: PartialEq, P, T>(
    partitions: impl IntoIterator<Item = (K, P)>,
    mut topic: impl FnMut(K, Vec<P>) -> T,
) -> Vec<T> {
    let mut topics = Vec::new();
    let mut open: Option<(K, Vec<P>)> = None;
    for (key, partition) in partitions {
        match &mut open {
            Some((last, partitions)) if *last == key => partitions.push(partition),
            _ => {
                let before = open.replace((key, vec![partition]));
                topics.extend(before.map(|(key, partitions)| topic(key, partitions)));
            }
        }
    }
    topics.extend(open.map(|(key, partitions)| topic(key, partitions)));
    topics
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITIONS: [(&str, i32); 5] = [("b", 2), ("b", 0), ("a", 1), ("a", 7), ("b", 1)];

    #[test]
    fn topics_are_sorted_and_partitions_keep_their_order() {
        let topics = by_topic(PARTITIONS, |topic, partitions| (topic, partitions));
        assert_eq!(topics, [("a", vec![1, 7]), ("b", vec![2, 0, 1])]);
        assert_eq!(by_topic([(); 0].map(|()| (0, 0)), |_, _| ()), []);
    }

    #[test]
    fn sorted_partitions_are_listed_as_they_come() {
        let topics = by_sorted_topic(PARTITIONS, |topic, partitions| (topic, partitions));
        assert_eq!(topics, [("b", vec![2, 0]), ("a", vec![1, 7]), ("b", vec![1])]);
        assert_eq!(by_sorted_topic([(); 0].map(|()| (0, 0)), |_, _| ()), []);
    }
}
