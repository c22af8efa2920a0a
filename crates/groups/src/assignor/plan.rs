//! How many partitions move, from where to where; and how many where racks count.
//!
//! Which of two equal partitions goes to which of two equal members is not decided here: partitions are
//! pools, members are classes. What is found is best in this order: the fewest moves, then the most
//! partitions that are near who gets them, then by rank who gets one more where it does not come out even.

use super::flow::Network;

/// What happens to partitions. Numbers of pools, classes and members are the caller's.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Member, pool, and how many of it the member gives up; by member.
    pub given_up: Vec<(u32, u32, u32)>,
    /// Pool, class, and how many of the pool's free partitions go to members of the class.
    pub moved: Vec<(u32, u32, u32)>,
    /// Class, member, and how many of those of its class the member gets; by class.
    pub gained: Vec<(u32, u32, u32)>,
}

/// Partitions that can go to the same members and are equally near each of them.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub size: u32,
    /// Who can get them: an index into [`Problem::takers`].
    pub takers: u32,
    /// The classes that a partition of it is near, and how much: 1, or more if it stands for more.
    pub near: Vec<(u32, u32)>,
}

/// Somebody who gets partitions.
#[derive(Clone, Debug)]
pub(super) struct Taker {
    /// Its number.
    pub member: u32,
    pub class: u32,
    /// The pools that it has something of: how many, and how near that is.
    pub held: Vec<(u32, u32, u32)>,
    /// What it gets.
    pub quota: u32,
    /// If it may get one more, its rank in that.
    pub rank: Option<u32>,
}

impl Taker {
    fn held(&self) -> u32 {
        self.held.iter().map(|(_, count, _)| count).sum()
    }
}

/// What is to be given out. The quotas and `extra` are as many as there are partitions.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub pools: Vec<Pool>,
    /// Sets of classes. One alone has all of them.
    pub takers: Vec<Vec<u32>>,
    pub classes: u32,
    /// By class.
    pub members: Vec<Taker>,
    /// How many members get one more than their quota.
    pub extra: u32,
    /// How much a partition that is near can count at most.
    pub nearest: u32,
}

/// What one of each costs. No sum of lower ones reaches a higher one: cheaper flows differ by circles, and
/// those come through each pool once and once to who gets one more.
struct Costs {
    moved: i64,
    far: i64,
}

impl Costs {
    fn new(problem: &Problem) -> Costs {
        let ranks = problem.members.iter().filter_map(|member| member.rank);
        let far = i64::from(ranks.max().unwrap_or(0)) + 1;
        let pools = problem.pools.len() as i64;
        Costs { far, moved: far * (pools * i64::from(problem.nearest) + 1) }
    }
}

impl Problem {
    /// The best plan.
    pub fn solve(mut self) -> Plan {
        let mut plan = Plan::default();
        if self.takers.len() == 1 {
            self.keep();
        }
        if self.pools.iter().any(|pool| pool.size > 0) {
            self.flow(&mut plan);
        }
        plan
    }

    /// Where everybody can get everything, only who has too much gives something up: all others keep what
    /// they have, and little is left to be decided in a group in which little changes.
    fn keep(&mut self) {
        let may_keep_more = |m: &Taker| m.rank.is_some() && m.held() > m.quota;
        let more = self.members.iter().filter(|member| may_keep_more(member)).count() as u32;
        let extra = self.extra;
        for member in &mut self.members {
            let keeps_more = may_keep_more(member);
            if keeps_more && more <= extra {
                member.quota += 1;
                member.rank = None;
                self.extra -= 1;
            } else if !keeps_more && more >= extra {
                member.rank = None;
            }
        }
        for member in self.members.iter_mut().filter(|member| member.held() <= member.quota) {
            for (pool, count, _) in std::mem::take(&mut member.held) {
                self.pools[pool as usize].size -= count;
                member.quota -= count;
            }
        }
        self.members
            .retain(|member| member.quota > 0 || member.rank.is_some() || member.held() > 0);
    }

    fn flow(&self, plan: &mut Plan) {
        const EXTRAS: u32 = 2;
        let costs = Costs::new(self);
        let far = |near: u32| costs.far * i64::from(self.nearest.saturating_sub(near));
        let first_set = 3 + self.pools.len() as u32;
        let first_class = first_set + self.takers.len() as u32;
        let first_member = first_class + self.classes;
        let mut network = Network::new(first_member as usize + self.members.len());
        network.edge(EXTRAS, Network::SINK, self.extra, 0);
        let mut near = Vec::new();
        // Where it is not near a class, what class it goes to makes no difference.
        let mut from_pool = Vec::new();
        for (index, pool) in (0..).zip(&self.pools) {
            network.edge(Network::SOURCE, 3 + index, pool.size, 0);
            for &(class, weight) in &pool.near {
                let cost = costs.moved + far(weight);
                let edge = network.edge(3 + index, first_class + class, pool.size, cost);
                near.push((index, class, edge));
            }
            let cost = costs.moved + far(0);
            let edge = network.edge(3 + index, first_set + pool.takers, pool.size, cost);
            from_pool.push((pool.takers, index, edge));
        }
        let mut to_class = Vec::new();
        for (index, classes) in (0..).zip(&self.takers) {
            for &class in classes {
                let edge = network.edge(first_set + index, first_class + class, u32::MAX, 0);
                to_class.push((index, class, edge));
            }
        }
        let (mut kept, mut gained) = (Vec::new(), Vec::new());
        for (node, taker) in (first_member..).zip(&self.members) {
            for &(pool, count, weight) in &taker.held {
                let edge = network.edge(3 + pool, node, count, far(weight));
                kept.push((taker.member, pool, count, edge));
            }
            let most = taker.quota + u32::from(taker.rank.is_some());
            let edge = network.edge(first_class + taker.class, node, most, 0);
            gained.push((taker.class, taker.member, edge));
            network.edge(node, Network::SINK, taker.quota, 0);
            if let Some(rank) = taker.rank {
                network.edge(node, EXTRAS, 1, i64::from(rank));
            }
        }
        let sent = network.run();
        let all: u64 = self.pools.iter().map(|pool| u64::from(pool.size)).sum();
        debug_assert_eq!(sent, all, "everything can be given out");
        let some = |&(_, _, count): &(u32, u32, u32)| count > 0;
        let flow = |(from, to, edge): &(u32, u32, usize)| (*from, *to, network.flow(*edge));
        let kept = kept.iter();
        let given_up =
            kept.map(|(member, pool, count, edge)| (*member, *pool, count - network.flow(*edge)));
        plan.given_up = given_up.filter(some).collect();
        plan.gained = gained.iter().map(flow).filter(some).collect();
        plan.moved = near.iter().map(flow).filter(some).collect();
        from_pool.sort_unstable();
        let mut from_pool = from_pool.iter().map(flow).filter(some).peekable();
        let mut left = 0;
        for (set, class, mut count) in to_class.iter().map(flow).filter(some) {
            while count > 0
                && let Some(&(of, pool, size)) = from_pool.peek()
            {
                debug_assert_eq!(of, set, "as much comes out of a set as went in");
                left = if left == 0 { size } else { left };
                let taken = left.min(count);
                plan.moved.push((pool, class, taken));
                (left, count) = (left - taken, count - taken);
                if left == 0 {
                    from_pool.next();
                }
            }
        }
        plan.moved.sort_unstable();
    }
}
