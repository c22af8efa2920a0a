//! Which members can be balanced with which.
//!
//! Where members subscribe to different topics, loads cannot all be equal: who alone subscribes to
//! a large topic has to take all of it. The best there is are loads of which no partition, and no
//! chain of them, could move to a member with at least two fewer. All assignments with such loads
//! have the same loads but for their order, and they agree on more than that: members fall into
//! blocks, each with one load or two that follow each other, and the partitions of a topic go to
//! those of its subscribers whose block has the lowest load. That is what is found here; what
//! is left of the problem is a block for itself, without any regard to loads elsewhere.
//!
//! A set of members is split where its average load cannot be had: if some topics have too many
//! partitions for their subscribers, those are a part of their own (and its average is higher); if
//! some members cannot get enough, so are they. Both are minimum cuts of a flow.
//!
//! Topics with the same subscribers are one [`Pool`], members with the same subscription one
//! [`Class`]: there are as many of either as there are different subscriptions, not as there are
//! topics and members.

use std::collections::BTreeMap;

use crate::assignor::flow::Network;
use crate::assignor::subscriptions::Subscriptions;

/// Members that share their topics among them, all with the same load or two that follow each
/// other, and those topics.
#[derive(Debug)]
pub(super) struct Block {
    pub pools: Vec<Pool>,
    pub classes: Vec<Class>,
}

/// Topics with the same subscribers.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub topics: Vec<u32>,
    /// Partitions of these topics.
    pub partitions: u32,
    /// The classes that can get them, sorted.
    pub classes: Vec<u32>,
}

/// Members with the same subscription.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    pub members: Vec<u32>,
}

impl Block {
    /// Number of partitions, and of members.
    pub fn size(&self) -> (u32, u32) {
        let members = self.classes.iter().map(|class| class.members.len() as u32).sum();
        (self.pools.iter().map(|pool| pool.partitions).sum(), members)
    }

    /// Whether every member can get every partition.
    pub fn is_uniform(&self) -> bool {
        self.pools.len() == 1 && self.classes.len() == 1
    }

    /// If every member can get every partition, one pool and one class are enough.
    fn simplify(&mut self) {
        let complete = self.pools.iter().all(|pool| pool.classes.len() == self.classes.len());
        if self.is_uniform() || !complete || self.pools.is_empty() {
            return;
        }
        let (partitions, _) = self.size();
        let mut topics: Vec<u32> = self.pools.drain(..).flat_map(|pool| pool.topics).collect();
        topics.sort_unstable();
        let mut members: Vec<u32> =
            self.classes.drain(..).flat_map(|class| class.members).collect();
        members.sort_unstable();
        self.classes.push(Class { members });
        self.pools.push(Pool { topics, partitions, classes: vec![0] });
    }
}

/// The blocks of a group.
pub(super) fn blocks(subscriptions: &Subscriptions) -> Vec<Block> {
    let mut classes: Vec<Class> = vec![Class::default(); subscriptions.distinct.len()];
    for (member, &subscription) in subscriptions.of_member.iter().enumerate() {
        classes[subscription as usize].members.push(member as u32);
    }
    let pools = pools(subscriptions);
    let mut blocks = Vec::new();
    // A member without a topic is in no block.
    let with_topics = |&class: &u32| !subscriptions.distinct[class as usize].is_empty();
    let all = Part {
        pools: (0..pools.len() as u32).collect(),
        classes: (0..classes.len() as u32).filter(with_topics).collect(),
    };
    let mut splitter = Splitter {
        local: vec![0; classes.len()],
        part_of: vec![0; classes.len()],
        parts: 0,
        pools: &pools,
        classes: &classes,
    };
    let mut parts = vec![all];
    while let Some(part) = parts.pop() {
        if part.classes.is_empty() {
            continue;
        }
        match splitter.split(&part) {
            Some((high, low)) => parts.extend([high, low]),
            None => splitter.finish(&part, &mut blocks),
        }
    }
    blocks
}

/// The block of each topic, and its pool there.
pub(super) fn places(blocks: &[Block], subscriptions: &Subscriptions) -> Vec<(u32, u32)> {
    let mut places = vec![(0, 0); subscriptions.topics.len()];
    for (at, block) in (0..).zip(blocks) {
        for (index, pool) in (0..).zip(&block.pools) {
            pool.topics.iter().for_each(|&topic| places[topic as usize] = (at, index));
        }
    }
    places
}

fn pools(subscriptions: &Subscriptions) -> Vec<Pool> {
    let mut classes_of: Vec<Vec<u32>> = vec![Vec::new(); subscriptions.topics.len()];
    for (class, topics) in subscriptions.distinct.iter().enumerate() {
        for &topic in topics {
            classes_of[topic as usize].push(class as u32);
        }
    }
    let mut pools: Vec<Pool> = Vec::new();
    let mut known: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    for (topic, classes) in classes_of.into_iter().enumerate() {
        let pool = *known.entry(classes).or_insert_with_key(|classes| {
            pools.push(Pool { topics: Vec::new(), partitions: 0, classes: classes.clone() });
            pools.len() - 1
        });
        pools[pool].topics.push(topic as u32);
        pools[pool].partitions += subscriptions.topics[topic].partitions;
    }
    pools
}

/// Pools and classes that are not split from each other yet.
struct Part {
    pools: Vec<u32>,
    classes: Vec<u32>,
}

struct Splitter<'a> {
    pools: &'a [Pool],
    classes: &'a [Class],
    /// The index of a class in its part.
    local: Vec<u32>,
    /// The part that a class is in. Of a pool's classes those count that are in its part.
    part_of: Vec<u32>,
    parts: u32,
}

impl Splitter<'_> {
    /// The classes of `part` that can get a pool's partitions, as indices in the part.
    fn classes_of(&self, pool: u32) -> impl Iterator<Item = u32> {
        let inside = |&&class: &&u32| self.part_of[class as usize] == self.parts;
        let classes = self.pools[pool as usize].classes.iter().filter(inside);
        classes.map(|&class| self.local[class as usize])
    }

    fn enter(&mut self, part: &Part) {
        self.parts += 1;
        for (local, &class) in part.classes.iter().enumerate() {
            self.local[class as usize] = local as u32;
            self.part_of[class as usize] = self.parts;
        }
    }

    /// Splits a part into those with the higher and those with the lower loads, if it is not a
    /// block.
    fn split(&mut self, part: &Part) -> Option<(Part, Part)> {
        self.enter(part);
        if part.classes.len() == 1 {
            return None;
        }
        let members = |class: u32| self.classes[class as usize].members.len() as u32;
        let all_members: u32 = part.classes.iter().map(|&class| members(class)).sum();
        let partitions: u32 =
            part.pools.iter().map(|&pool| self.pools[pool as usize].partitions).sum();
        let (quota, extra) = (partitions / all_members, partitions % all_members);

        let first_class = 2 + part.pools.len() as u32;
        let mut network = Network::new(first_class as usize + part.classes.len());
        for (node, &pool) in (2..).zip(&part.pools) {
            let size = self.pools[pool as usize].partitions;
            network.edge(Network::SOURCE, node, size, 0);
            for class in self.classes_of(pool) {
                // More than can flow: a cut never goes through it.
                network.edge(node, first_class + class, u32::MAX, 0);
            }
        }
        let loads: Vec<usize> = (first_class..)
            .zip(&part.classes)
            .map(|(node, &class)| network.edge(node, Network::SINK, quota * members(class), 0))
            .collect();

        // Nodes of the part with the higher loads.
        let mut sent = network.run();
        if extra > 0 {
            if sent < u64::from(quota) * u64::from(all_members) {
                // Some members cannot get as much as the others have.
                let low = network.reaching_sink();
                return Some(self.cut(part, |node| !low[node]));
            }
            for (&edge, &class) in loads.iter().zip(&part.classes) {
                network.widen(edge, members(class));
            }
            sent += network.run();
        }
        if sent < u64::from(partitions) {
            // Some topics have more partitions than their subscribers should get.
            let high = network.reached_from_source();
            return Some(self.cut(part, |node| high[node]));
        }
        None
    }

    fn cut(&self, part: &Part, is_high: impl Fn(usize) -> bool) -> (Part, Part) {
        let halves = |items: &[u32], first: usize| -> (Vec<u32>, Vec<u32>) {
            let numbered: Vec<(usize, u32)> = (first..).zip(items.iter().copied()).collect();
            let (high, low): (Vec<_>, Vec<_>) =
                numbered.into_iter().partition(|&(node, _)| is_high(node));
            let items = |half: Vec<(usize, u32)>| half.into_iter().map(|(_, item)| item).collect();
            (items(high), items(low))
        };
        let (high_pools, low_pools) = halves(&part.pools, 2);
        let (high_classes, low_classes) = halves(&part.classes, 2 + part.pools.len());
        debug_assert!(!high_classes.is_empty() && !low_classes.is_empty());
        let high = Part { pools: high_pools, classes: high_classes };
        (high, Part { pools: low_pools, classes: low_classes })
    }

    /// Makes blocks of a part that is balanced: one for each set of classes that is connected by
    /// pools.
    fn finish(&self, part: &Part, blocks: &mut Vec<Block>) {
        let mut parent: Vec<u32> = (0..part.classes.len() as u32).collect();
        fn root(parent: &mut [u32], mut class: u32) -> u32 {
            while parent[class as usize] != class {
                parent[class as usize] = parent[parent[class as usize] as usize];
                class = parent[class as usize];
            }
            class
        }
        for &pool in &part.pools {
            let mut classes = self.classes_of(pool);
            let Some(first) = classes.next() else { continue };
            for class in classes {
                let (a, b) = (root(&mut parent, first), root(&mut parent, class));
                parent[a.max(b) as usize] = a.min(b);
            }
        }
        let begin = blocks.len();
        let mut block_of_root = vec![usize::MAX; part.classes.len()];
        // The index of each class in its block.
        let mut inner = vec![0; part.classes.len()];
        for (class, inner) in inner.iter_mut().enumerate() {
            let root = root(&mut parent, class as u32) as usize;
            if block_of_root[root] == usize::MAX {
                block_of_root[root] = blocks.len();
                blocks.push(Block { pools: Vec::new(), classes: Vec::new() });
            }
            let block = &mut blocks[block_of_root[root]];
            *inner = block.classes.len() as u32;
            block.classes.push(self.classes[part.classes[class] as usize].clone());
        }
        for &pool in &part.pools {
            let classes: Vec<u32> = self.classes_of(pool).collect();
            let Some(&first) = classes.first() else { continue };
            let block = &mut blocks[block_of_root[root(&mut parent, first) as usize]];
            let Pool { topics, partitions, .. } = self.pools[pool as usize].clone();
            let classes = classes.iter().map(|&class| inner[class as usize]).collect();
            block.pools.push(Pool { topics, partitions, classes });
        }
        for block in &mut blocks[begin..] {
            block.simplify();
        }
    }
}
