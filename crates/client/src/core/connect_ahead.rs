//! Which brokers to be connected to before they are needed: those that may lead next what is in use.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::core::metadata::{Leader, Metadata};
use crate::core::partition::TopicPartition;

/// How many of the partitions in use a broker may come to lead.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Chances {
    /// Those of which its replica is in sync: others lead only if nothing else is left.
    in_sync: usize,
    all: usize,
}

/// The brokers that have a replica of a partition in use and lead none of them: those with the most such partitions,
/// `most` of them. Of the others one has a connection already. Among equals `seed` chooses, so that the clients of a
/// large cluster do not all go to the same few.
pub fn choose<'a>(
    metadata: &Metadata,
    in_use: impl Iterator<Item = (&'a TopicPartition, Option<Leader>)>,
    most: usize,
    seed: u64,
) -> BTreeSet<i32> {
    if most == 0 {
        return BTreeSet::new();
    }
    let mut chances: BTreeMap<i32, Chances> = BTreeMap::new();
    let mut leaders = BTreeSet::new();
    for (TopicPartition { topic, partition }, leader) in in_use {
        leaders.extend(leader.map(|leader| leader.id));
        let known = metadata.topics.get(&**topic).and_then(|topic| topic.partitions.get(partition));
        let Some(known) = known else { continue };
        for replica in &known.replicas {
            let chances = chances.entry(*replica).or_default();
            chances.all += 1;
            chances.in_sync += usize::from(known.isr.contains(replica));
        }
    }
    // One that is not there has no address.
    chances.retain(|id, _| metadata.brokers.contains_key(id) && !leaders.contains(id));
    let mut ranked: Vec<_> = chances.into_iter().collect();
    ranked.sort_by_key(|&(id, chances)| (Reverse(chances), mixed(id, seed)));
    ranked.into_iter().take(most).map(|(id, _)| id).collect()
}

/// Another order of ids for each seed (the finalizer of splitmix64).
fn mixed(id: i32, seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(u64::from(id.cast_unsigned()));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use thalweg_wire::Uuid;

    use super::*;
    use crate::core::metadata::{Broker, Partition, Topic};

    /// A topic `t` with these partitions, leader first, on so many brokers.
    fn metadata(partitions: &[&[i32]], brokers: i32) -> Metadata {
        let mut metadata = Metadata::default();
        for id in 0..brokers {
            metadata.brokers.insert(id, Broker { id, host: "b".into(), port: 9092, rack: None });
        }
        let of = |replicas: &&[i32]| Partition {
            leader: Some(Leader { id: replicas[0], epoch: 0 }),
            replicas: replicas.to_vec(),
            isr: replicas.to_vec(),
        };
        let partitions = (0..).zip(partitions.iter().map(of)).collect();
        let topic = Topic { id: Uuid::ZERO, internal: false, partitions };
        metadata.topics.insert("t".into(), topic);
        metadata
    }

    fn chosen(metadata: &Metadata, in_use: &[i32], most: usize, seed: u64) -> Vec<i32> {
        let in_use: Vec<_> = in_use.iter().map(|index| TopicPartition::new("t", *index)).collect();
        let in_use = in_use
            .iter()
            .map(|partition| (partition, metadata.leader(&partition.topic, partition.partition)));
        choose(metadata, in_use, most, seed).into_iter().collect()
    }

    #[test]
    fn replicas_that_do_not_lead_are_chosen() {
        let metadata = metadata(&[&[1, 2, 3], &[2, 3, 4], &[5, 6, 7]], 8);
        assert_eq!(chosen(&metadata, &[0], 8, 0), [2, 3]);
        // A leader has a connection.
        assert_eq!(chosen(&metadata, &[0, 1], 8, 0), [3, 4]);
        assert_eq!(chosen(&metadata, &[], 8, 0), [0; 0]);
        assert_eq!(chosen(&metadata, &[0, 9], 8, 0), [2, 3], "what is not known says nothing");
        assert_eq!(chosen(&metadata, &[0, 1, 2], 0, 0), [0; 0]);
    }

    #[test]
    fn brokers_that_are_away_are_not_chosen() {
        let mut metadata = metadata(&[&[1, 2, 3]], 8);
        metadata.brokers.remove(&2);
        assert_eq!(chosen(&metadata, &[0], 8, 0), [3]);
    }

    #[test]
    fn the_likeliest_are_chosen_when_not_all_may_be() {
        let mut metadata = metadata(&[&[1, 2, 3], &[1, 3, 4], &[1, 4, 3]], 8);
        assert_eq!(chosen(&metadata, &[0, 1, 2], 1, 0), [3]);
        assert_eq!(chosen(&metadata, &[0, 1, 2], 2, 0), [3, 4]);
        // Out of sync they are the last.
        for partition in metadata.topics.get_mut("t").unwrap().partitions.values_mut() {
            partition.isr.retain(|id| *id != 3);
        }
        assert_eq!(chosen(&metadata, &[0, 1, 2], 2, 0), [2, 4]);
    }

    #[test]
    fn clients_of_a_large_cluster_do_not_choose_the_same() {
        let replicas: Vec<i32> = (0..1_000).collect();
        let metadata = metadata(&[&replicas], 1_000);
        let of = |seed| chosen(&metadata, &[0], 8, seed);
        let all: BTreeSet<i32> = (0..100).flat_map(|client| of(client * 0x9e37_79b9)).collect();
        assert_eq!(of(7).len(), 8);
        assert_eq!(of(7), of(7), "one client stays with its own");
        assert!(all.len() > 300, "{} brokers", all.len());
    }
}
