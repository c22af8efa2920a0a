//! A block where racks count: its pools and classes are split by them.

use std::collections::BTreeMap;

use super::Gained;
use super::blocks::Block;
use super::owned::Owned;
use crate::assignor::plan::{Plan, Pool, Problem, Taker};
use crate::assignor::racks::Racks;
use crate::assignor::subscriptions::Subscriptions;

/// What happens to the partitions of a block, and the pools that this speaks of.
pub(super) struct RackPlan {
    pub plan: Plan,
    pub pools: u32,
}

/// Makes the plan of a block. Which pool each of its partitions is in is put into `pool_of`.
pub(super) fn plan(
    block: &Block,
    owned: &Owned,
    racks: &Racks,
    subscriptions: &Subscriptions,
    pool_of: &mut [u32],
) -> RackPlan {
    let (partitions, count) = block.size();
    let (quota, extra) = (partitions / count, partitions % count);
    // Classes by the block's and the rack.
    let mut classes: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    for (class, members) in (0..).zip(&block.classes) {
        for &member in &members.members {
            let rack = racks.of_member[member as usize];
            classes.entry((class, rack)).or_default().push(member);
        }
    }
    let numbers: BTreeMap<(u32, u32), u32> = classes.keys().copied().zip(0..).collect();
    let mut by_rack: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    for (&(class, rack), &number) in &numbers {
        by_rack.entry(rack).or_default().push((class, number));
    }
    let of_class = |class: u32| numbers.range((class, 0)..=(class, u32::MAX)).map(|(_, n)| *n);
    let takers = block.pools.iter();
    let takers = takers.map(|pool| pool.classes.iter().flat_map(|&c| of_class(c)).collect());
    let mut problem = Problem {
        pools: Vec::new(),
        takers: takers.collect(),
        classes: classes.len() as u32,
        members: Vec::with_capacity(count as usize),
        extra,
        nearest: 1,
    };
    let mut sets = Vec::new();
    let mut pool_of_set = vec![u32::MAX; racks.sets.len()];
    for (index, pool) in (0..).zip(&block.pools) {
        let begin = problem.pools.len();
        for &topic in &pool.topics {
            let topic = &subscriptions.topics[topic as usize];
            for partition in topic.first..topic.first + topic.partitions {
                let set = racks.of_partition[partition as usize];
                let number = &mut pool_of_set[set as usize];
                if *number == u32::MAX {
                    *number = problem.pools.len() as u32;
                    let racks = racks.sets[set as usize].iter();
                    let near = racks.flat_map(|rack| by_rack.get(rack).into_iter().flatten());
                    let near = near.filter(|(class, _)| pool.classes.binary_search(class).is_ok());
                    let near = near.map(|&(_, number)| (number, 1));
                    problem.pools.push(Pool { size: 0, takers: index, near: near.collect() });
                    sets.push(set);
                }
                problem.pools[*number as usize].size += 1;
                pool_of[partition as usize] = *number;
            }
        }
        sets[begin..].iter().for_each(|&set| pool_of_set[set as usize] = u32::MAX);
    }
    let mut counts = vec![0; problem.pools.len()];
    for ((&(_, rack), members), class) in classes.iter().zip(0..) {
        for &member in members {
            let mut seen = Vec::new();
            for &partition in owned.of(member) {
                let pool = pool_of[partition as usize];
                if counts[pool as usize] == 0 {
                    seen.push(pool);
                }
                counts[pool as usize] += 1;
            }
            let held = seen.into_iter().map(|pool| {
                let is_near = racks.sets[sets[pool as usize] as usize].contains(&rack);
                (pool, std::mem::take(&mut counts[pool as usize]), u32::from(is_near))
            });
            // Whose assignment can stay what it is comes first where it does so with one more, and last
            // where it does so with none.
            let rank = match owned.of(member).len() as u32 {
                owns if owns > quota => owns > quota + 1 || owned.changed[member as usize],
                owns => owns == quota && !owned.changed[member as usize],
            };
            let rank = u32::from(rank);
            let held = held.collect();
            problem.members.push(Taker { member, class, held, quota, rank: Some(rank) });
        }
    }
    let pools = problem.pools.len() as u32;
    RackPlan { plan: problem.solve(), pools }
}

/// Gives what is free in a block to its members.
pub(super) fn deal(
    gained: &mut Gained,
    found: &RackPlan,
    block: &Block,
    owned: &Owned,
    subscriptions: &Subscriptions,
    pool_of: &[u32],
) {
    let mut free: Vec<Vec<u32>> = vec![Vec::new(); found.pools as usize];
    for &topic in block.pools.iter().flat_map(|pool| &pool.topics) {
        let topic = &subscriptions.topics[topic as usize];
        for partition in owned.free(topic.first, topic.first + topic.partitions) {
            free[pool_of[partition as usize] as usize].push(partition);
        }
    }
    gained.deal_out(&found.plan, |pool| std::mem::take(&mut free[pool as usize]), false);
}
