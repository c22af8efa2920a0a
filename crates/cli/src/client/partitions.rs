//! Partitions as Kafka's tools write them: `topic:0`, `topic:0,1,2`.

use std::collections::BTreeSet;

use thalweg::TopicPartition;
use thalweg_wire::grouped::by_topic;

/// One partition: `topic:0`.
pub fn parse_partition(text: &str) -> Result<TopicPartition, String> {
    let wrong = || format!("'{text}' is not topic:partition");
    let (topic, partition) = text.rsplit_once(':').ok_or_else(wrong)?;
    let partition: i32 = partition.trim().parse().map_err(|_| wrong())?;
    if topic.is_empty() || partition < 0 {
        return Err(wrong());
    }
    Ok(TopicPartition::new(topic, partition))
}

/// A topic and some of its partitions; all of them without: `topic`, `topic:0,1,2`.
pub fn parse_partitions(text: &str) -> Result<(String, Option<BTreeSet<i32>>), String> {
    let wrong = || format!("'{text}' is not topic, or topic:partition,partition");
    let Some((topic, list)) = text.split_once(':') else {
        return if text.is_empty() { Err(wrong()) } else { Ok((text.to_owned(), None)) };
    };
    let index = |part: &str| part.trim().parse::<i32>().ok().filter(|index| *index >= 0);
    let indexes: Option<BTreeSet<i32>> = list.split(',').map(index).collect();
    match indexes {
        Some(indexes) if !topic.is_empty() => Ok((topic.to_owned(), Some(indexes))),
        _ => Err(wrong()),
    }
}

/// Partitions by topic: `a:0,1 b:2`.
pub fn show_partitions(partitions: &[TopicPartition]) -> String {
    let indexes = partitions.iter().map(|p| (&*p.topic, p.partition.to_string()));
    by_topic(indexes, |topic, all| format!("{topic}:{}", all.join(","))).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions() {
        assert_eq!(parse_partition("a-b:7"), Ok(TopicPartition::new("a-b", 7)));
        assert_eq!(parse_partitions("t"), Ok(("t".into(), None)));
        assert_eq!(parse_partitions("t:2,0"), Ok(("t".into(), Some([0, 2].into()))));
        let partitions = [("b", 2), ("a", 0), ("a", 1)].map(|(t, p)| TopicPartition::new(t, p));
        assert_eq!(show_partitions(&partitions), "a:0,1 b:2");
        assert_eq!(show_partitions(&[]), "");
        for bad in ["t", "t:", ":0", "t:-1", "t:x", "t:99999999999"] {
            assert!(parse_partition(bad).is_err(), "{bad}");
        }
        for bad in ["", ":0", "t:", "t:0,,1", "t:-1"] {
            assert!(parse_partitions(bad).is_err(), "{bad}");
        }
    }
}
