//! How many partitions move within a block, from where to where.
//!
//! The loads of a block are known: its partitions divided by its members, and one more for some.
//! Who gets one more is free, and so is who keeps what, so the plan is the one with the fewest
//! moves.

use super::blocks::Block;
use super::owned::Owned;
use crate::assignor::flow::Network;
use crate::assignor::plan::Plan;
use crate::assignor::subscriptions::Subscriptions;

/// Pools and classes are those of a block.
impl Plan {
    /// `places` are those of topics: block and pool.
    pub(super) fn new(
        block: &Block,
        owned: &Owned,
        places: &[(u32, u32)],
        subscriptions: &Subscriptions,
    ) -> Plan {
        if block.is_uniform() {
            Plan::uniform(block, owned)
        } else {
            Plan::by_flow(block, owned, places, subscriptions)
        }
    }

    /// Where every member can get every partition, who has too many keeps as many as it may.
    fn uniform(block: &Block, owned: &Owned) -> Plan {
        let (partitions, count) = block.size();
        let (quota, mut extra) = (partitions / count, partitions % count);
        let members = &block.classes[0].members;
        // One more goes to who would otherwise give up one: the fewest moves. Among equals, members
        // are preferred whose assignment then stays what it is, or changes anyway: each change is a
        // record and a rebalance of that member.
        let rank = |member: u32| {
            let load = owned.of(member).len() as u32;
            let changes = owned.changed[member as usize];
            match load {
                _ if load == quota + 1 && !changes => 0,
                _ if load > quota => 1,
                _ if load < quota || changes => 2,
                _ => 3,
            }
        };
        let ranks: Vec<u8> = members.iter().map(|&member| rank(member)).collect();
        let mut loads = vec![quota; members.len()];
        for turn in 0..4 {
            for (load, &rank) in loads.iter_mut().zip(&ranks) {
                if rank == turn && extra > 0 {
                    *load += 1;
                    extra -= 1;
                }
            }
        }
        let mut plan = Plan::default();
        let mut free = partitions;
        for (&load, &member) in loads.iter().zip(members) {
            let owns = owned.of(member).len() as u32;
            if owns > load {
                plan.given_up.push((member, 0, owns - load));
            } else if owns < load {
                plan.gained.push((0, member, load - owns));
            }
            free -= owns.min(load);
        }
        if free > 0 {
            plan.moved.push((0, 0, free));
        }
        plan
    }

    /// A flow from pools to members, as large as there are partitions: along an edge without cost as
    /// far as a member has partitions of a pool, and for one move each through its class.
    fn by_flow(
        block: &Block,
        owned: &Owned,
        places: &[(u32, u32)],
        subscriptions: &Subscriptions,
    ) -> Plan {
        let (partitions, count) = block.size();
        let (quota, extra) = (partitions / count, partitions % count);
        let first_class = 3 + block.pools.len() as u32;
        let first_member = first_class + block.classes.len() as u32;
        // What takes the one more that some members get.
        let extras = 2;
        let mut network = Network::new((first_member + count) as usize);
        network.edge(extras, Network::SINK, extra, 0);
        let mut moved = Vec::new();
        for (index, pool) in (0..).zip(&block.pools) {
            network.edge(Network::SOURCE, 3 + index, pool.partitions, 0);
            for &class in &pool.classes {
                let edge = network.edge(3 + index, first_class + class, pool.partitions, 1);
                moved.push((index, class, edge));
            }
        }
        let mut kept = Vec::new();
        let mut gained = Vec::new();
        // How many partitions of each pool a member has.
        let mut owns: Vec<u32> = vec![0; block.pools.len()];
        let mut node = first_member;
        for (index, class) in (0..).zip(&block.classes) {
            for &member in &class.members {
                let mut topics = subscriptions.cursor();
                let mut seen = Vec::new();
                for &partition in owned.of(member) {
                    let (_, pool) = places[topics.seek(partition)];
                    if owns[pool as usize] == 0 {
                        seen.push(pool);
                    }
                    owns[pool as usize] += 1;
                }
                for pool in seen {
                    let owns = std::mem::take(&mut owns[pool as usize]);
                    kept.push((member, pool, owns, network.edge(3 + pool, node, owns, 0)));
                }
                let edge = network.edge(first_class + index, node, quota + 1, 0);
                gained.push((index, member, edge));
                network.edge(node, Network::SINK, quota, 0);
                network.edge(node, extras, 1, 0);
                node += 1;
            }
        }
        let sent = network.run();
        debug_assert_eq!(sent, u64::from(partitions), "a block can be balanced");
        let flow = |(from, to, edge)| (from, to, network.flow(edge));
        let some = |&(_, _, count): &(u32, u32, u32)| count > 0;
        Plan {
            given_up: kept
                .into_iter()
                .map(|(member, pool, owns, edge)| (member, pool, owns - network.flow(edge)))
                .filter(some)
                .collect(),
            moved: moved.into_iter().map(flow).filter(some).collect(),
            gained: gained.into_iter().map(flow).filter(some).collect(),
        }
    }
}
