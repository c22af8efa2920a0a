//! Who gets which numbers of co-partitioned topics where racks count.

use std::collections::BTreeMap;

use super::plan::{Plan, Pool, Problem, Taker};
use super::racks::{NO_RACK, Racks};

/// Nobody, among subscribers.
const NOBODY: u32 = u32::MAX;

/// Co-partitioned topics and their subscribers. Whoever gets a number gets it of all topics, so it is as
/// near to a member as the topics are many of which a replica is in the member's rack.
pub(super) struct Class<'a> {
    pub racks: &'a Racks,
    /// The number of each topic's partition 0 among those of all topics.
    pub firsts: &'a [u32],
    /// The rack of each subscriber.
    pub of_slot: &'a [u32],
}

/// How many numbers subscribers get.
pub(super) struct Shares {
    /// At least, each.
    pub quotas: Vec<u32>,
    /// So many get one more: by these ranks, where other things are equal.
    pub extra: u32,
    pub ranks: Vec<u32>,
}

impl Class<'_> {
    /// Who gets each number, if `owners` had them: the fewest moves, and of those as many near ones as
    /// possible.
    pub fn assign(&self, owners: Vec<u32>, shares: &Shares) -> Vec<u32> {
        let mut problem = Problem {
            pools: Vec::new(),
            takers: vec![(0..=self.racks.count).collect()],
            classes: self.racks.count + 1,
            members: Vec::with_capacity(self.of_slot.len()),
            extra: shares.extra,
            nearest: self.firsts.len() as u32,
        };
        let pool_of = self.pools(owners.len(), &mut problem.pools);
        let mut held: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); self.of_slot.len()];
        for (&owner, &pool) in owners.iter().zip(&pool_of).filter(|(owner, _)| **owner != NOBODY) {
            *held[owner as usize].entry(pool).or_default() += 1;
        }
        let class_of = |slot: usize| match self.of_slot[slot] {
            NO_RACK => self.racks.count,
            rack => rack,
        };
        for (slot, held) in held.into_iter().enumerate() {
            let class = class_of(slot);
            let near = |pool: u32| {
                let near = problem.pools[pool as usize].near.iter();
                near.clone().find(|(of, _)| *of == class).map_or(0, |(_, weight)| *weight)
            };
            let held = held.into_iter().map(|(pool, count)| (pool, count, near(pool))).collect();
            let rank = (shares.extra > 0).then(|| shares.ranks[slot]);
            let quota = shares.quotas[slot];
            problem.members.push(Taker { member: slot as u32, class, held, quota, rank });
        }
        problem.members.sort_by_key(|member| member.class);
        let pools = problem.pools.len();
        carry_out(&problem.solve(), owners, &pool_of, pools)
    }

    /// The pool of each number, and the pools.
    fn pools(&self, numbers: usize, pools: &mut Vec<Pool>) -> Vec<u32> {
        let mut known: BTreeMap<Vec<(u32, u32)>, u32> = BTreeMap::new();
        let mut weights = vec![0u32; self.racks.count as usize];
        let of_number = (0..numbers as u32).map(|number| {
            weights.fill(0);
            for first in self.firsts {
                self.racks.of(first + number).iter().for_each(|&rack| weights[rack as usize] += 1);
            }
            let near = (0..).zip(weights.iter().copied()).filter(|(_, weight)| *weight > 0);
            let pool = *known.entry(near.collect()).or_insert_with_key(|near| {
                pools.push(Pool { size: 0, takers: 0, near: near.clone() });
                pools.len() as u32 - 1
            });
            pools[pool as usize].size += 1;
            pool
        });
        of_number.collect()
    }
}

/// Who gets each number by a plan.
fn carry_out(plan: &Plan, mut owners: Vec<u32>, pool_of: &[u32], pools: usize) -> Vec<u32> {
    let given_up = plan.given_up.iter().map(|&(slot, pool, count)| ((slot, pool), count));
    let mut given_up: BTreeMap<(u32, u32), u32> = given_up.collect();
    if !given_up.is_empty() {
        for (owner, &pool) in owners.iter_mut().zip(pool_of).rev() {
            if let Some(count) = given_up.get_mut(&(*owner, pool)).filter(|count| **count > 0) {
                *count -= 1;
                *owner = NOBODY;
            }
        }
    }
    let mut free: Vec<Vec<u32>> = vec![Vec::new(); pools];
    for (number, (_, &pool)) in
        (0..).zip(owners.iter().zip(pool_of)).filter(|(_, (owner, _))| **owner == NOBODY)
    {
        free[pool as usize].push(number);
    }
    let classes = plan.gained.last().map_or(0, |(class, ..)| *class as usize + 1);
    let mut of_class: Vec<Vec<u32>> = vec![Vec::new(); classes];
    let mut free: Vec<_> = free.into_iter().map(Vec::into_iter).collect();
    for &(pool, class, count) in &plan.moved {
        of_class[class as usize].extend(free[pool as usize].by_ref().take(count as usize));
    }
    for gained in plan.gained.chunk_by(|a, b| a.0 == b.0) {
        let numbers = &mut of_class[gained[0].0 as usize];
        numbers.sort_unstable();
        let slots = gained.iter().flat_map(|&(_, slot, n)| std::iter::repeat_n(slot, n as usize));
        numbers.iter().zip(slots).for_each(|(number, slot)| owners[*number as usize] = slot);
    }
    owners
}
