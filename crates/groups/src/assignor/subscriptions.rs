//! Who subscribes to what, in dense indices.
//!
//! Ids are looked up here and never again: topics are numbered by their ids, and subscriptions are
//! few where members are many.

use std::collections::BTreeMap;

use thalweg_wire::Uuid;

use super::{GroupSpec, SubscriptionType};

/// A topic that exists and that somebody subscribes to.
#[derive(Clone, Debug)]
pub(super) struct Topic {
    pub id: Uuid,
    pub partitions: u32,
    /// The number of its partition 0 among those of all topics.
    pub first: u32,
}

/// The subscriptions of a group.
#[derive(Debug)]
pub(super) struct Subscriptions {
    /// Sorted by id.
    pub topics: Vec<Topic>,
    /// Partitions of all topics.
    pub partitions: u32,
    /// The different subscriptions, each as sorted indices into `topics`.
    pub distinct: Vec<Vec<u32>>,
    /// The index into `distinct` of each member, in the order given to `new`.
    pub of_member: Vec<u32>,
}

impl Subscriptions {
    /// Reads the subscriptions of the members in this order.
    pub fn new(group: &GroupSpec<'_>, order: &[u32]) -> Subscriptions {
        let (lists, list_of_member) = lists(group, order);
        let known = known(group, &lists);
        // Where the topics of each list are in `known`: each id is looked up once.
        let mut found: Vec<Vec<u32>> = Vec::with_capacity(lists.len());
        let mut subscribed = vec![false; known.len()];
        for list in lists {
            let find = |id: &Uuid| known.binary_search_by_key(&id.as_u128(), |&(id, _)| id).ok();
            let list: Vec<u32> = list.iter().filter_map(find).map(|at| at as u32).collect();
            list.iter().for_each(|&at| subscribed[at as usize] = true);
            found.push(list);
        }
        let mut topics = Vec::new();
        let mut partitions = 0;
        let mut index_of_known = Vec::with_capacity(known.len());
        for ((id, count), subscribed) in known.into_iter().zip(subscribed) {
            index_of_known.push(topics.len() as u32);
            if subscribed {
                topics.push(Topic {
                    id: Uuid::from_u128(id),
                    partitions: count,
                    first: partitions,
                });
                partitions += count;
            }
        }
        // Lists that differ in their order, or in topics that do not exist, are the same
        // subscription.
        let mut numbers: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut distinct: Vec<Vec<u32>> = Vec::new();
        let subscription_of_list: Vec<u32> = found
            .into_iter()
            .map(|mut list| {
                list.iter_mut().for_each(|at| *at = index_of_known[*at as usize]);
                list.sort_unstable();
                list.dedup();
                *numbers.entry(list).or_insert_with_key(|list| {
                    distinct.push(list.clone());
                    distinct.len() as u32 - 1
                })
            })
            .collect();
        let of_member =
            list_of_member.iter().map(|&list| subscription_of_list[list as usize]).collect();
        Subscriptions { topics, partitions, distinct, of_member }
    }

    /// Number of subscribers of each topic.
    pub fn subscribers(&self) -> Vec<u32> {
        let mut members = vec![0; self.distinct.len()];
        for &subscription in &self.of_member {
            members[subscription as usize] += 1;
        }
        let mut subscribers = vec![0; self.topics.len()];
        for (subscription, members) in self.distinct.iter().zip(members) {
            for &topic in subscription {
                subscribers[topic as usize] += members;
            }
        }
        subscribers
    }

    /// Finds the topics of partitions that come in ascending order.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { topics: &self.topics, at: 0 }
    }
}

/// See [`Subscriptions::cursor`].
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    topics: &'a [Topic],
    at: usize,
}

impl Cursor<'_> {
    /// The index of the topic that a partition is one of.
    pub fn seek(&mut self, partition: u32) -> usize {
        let topic = &self.topics[self.at];
        debug_assert!(topic.first <= partition);
        if partition - topic.first >= topic.partitions {
            let rest = &self.topics[self.at..];
            self.at += rest.partition_point(|topic| topic.first <= partition) - 1;
        }
        self.at
    }
}

/// At least the topics of these lists that have partitions, sorted by id, with their partitions.
fn known(group: &GroupSpec<'_>, lists: &[&[Uuid]]) -> Vec<(u128, u32)> {
    let with_partitions = |(id, &count): (&Uuid, &i32)| {
        u32::try_from(count).ok().filter(|&count| count > 0).map(|count| (id.as_u128(), count))
    };
    let entries: usize = lists.iter().map(|list| list.len()).sum();
    if entries >= group.topics.len() {
        return group.topics.iter().filter_map(with_partitions).collect();
    }
    let ids = lists.iter().copied().flatten();
    let topics = ids.filter_map(|id| group.topics.get_key_value(id));
    let mut known: Vec<(u128, u32)> = topics.filter_map(with_partitions).collect();
    known.sort_unstable();
    known.dedup();
    known
}

/// The lists that differ as they stand, and the index of each member's.
fn lists<'a>(group: &GroupSpec<'a>, order: &[u32]) -> (Vec<&'a [Uuid]>, Vec<u32>) {
    let mut lists: Vec<&[Uuid]> = Vec::new();
    let mut by_content: BTreeMap<&[Uuid], u32> = BTreeMap::new();
    let mut by_address: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    if group.subscription_type == SubscriptionType::Homogeneous {
        lists.extend(order.first().map(|&first| group.members[first as usize].topic_ids));
        return (lists, vec![0; order.len()]);
    }
    let of_member = order
        .iter()
        .map(|&member| {
            let list = group.members[member as usize].topic_ids;
            *by_address.entry((list.as_ptr().addr(), list.len())).or_insert_with(|| {
                *by_content.entry(list).or_insert_with(|| {
                    lists.push(list);
                    lists.len() as u32 - 1
                })
            })
        })
        .collect();
    (lists, of_member)
}
