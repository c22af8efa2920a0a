//! `uniform`: loads as equal as subscriptions allow, with the fewest moves.
//!
//! Invariants, beyond those of every assignor:
//! - *Balance*: no partition, and no chain of partitions handed on from member to member, could go
//!   to a member with at least two fewer. Members with the same subscription differ by one at most.
//! - *Moves*: no assignment with such loads takes fewer partitions from who has them.
//!
//! Kafka 4.4 has the first for groups whose members all subscribe to the same topics, and for
//! single partitions otherwise; the second for neither.
//!
//! Where moves leave a choice: members change their assignment rather than others if they change it
//! anyway; and what is given up, and what is given, is taken in turn from all topics, because
//! partitions of one topic have more often the same load than those of two.
//!
//! With racks ([`StickyAssignor`]): of the assignments with this balance and so few moves it is one that
//! has the most partitions near who gets them. `uniform` itself looks at none, as in Kafka 4.4.
//!
//! In four steps: what each member has ([`owned`]), which members can be balanced with which
//! ([`blocks`]), how many partitions move ([`plan`]), and which (here). Topics and members
//! are numbers throughout, partitions too: a partition's is its topic's first number plus its
//! index, so a set of them is a few words of bits, and what a step costs where nothing moves is to
//! read the group once.

mod blocks;
mod owned;
mod plan;
mod racks;

use std::sync::Arc;

use super::plan::Plan;
use super::racks::{Racks, Scope};
use super::subscriptions::{Cursor, Subscriptions};
use super::{Assignor, GroupSpec, MemberAssignment};
use blocks::Block;
use owned::Owned;

/// The assignor `uniform`.
#[derive(Clone, Copy, Debug)]
pub struct UniformAssignor;

/// `roundrobin`, `sticky` and `cooperative-sticky` of groups whose classic members the server assigns:
/// `uniform` that looks at racks.
#[derive(Clone, Copy, Debug)]
pub struct StickyAssignor;

impl Assignor for UniformAssignor {
    fn name(&self) -> &'static str {
        "uniform"
    }

    fn assign(&self, group: &GroupSpec<'_>) -> Vec<Arc<MemberAssignment>> {
        assign(group, false)
    }
}

impl Assignor for StickyAssignor {
    fn name(&self) -> &'static str {
        "uniform"
    }

    fn looks_at_racks(&self) -> bool {
        true
    }

    fn assign(&self, group: &GroupSpec<'_>) -> Vec<Arc<MemberAssignment>> {
        assign(group, true)
    }
}

fn assign(group: &GroupSpec<'_>, looks_at_racks: bool) -> Vec<Arc<MemberAssignment>> {
    let mut order: Vec<u32> = (0..group.members.len() as u32).collect();
    order.sort_by_key(|&member| group.members[member as usize].id);
    let subscriptions = Subscriptions::new(group, &order);
    let racks = looks_at_racks.then(|| Racks::new(group, &order, &subscriptions, Scope::Group));
    let racks = racks.flatten();
    let mut owned = Owned::new(group, &order, &subscriptions);
    let blocks = blocks::blocks(&subscriptions);
    let places = blocks::places(&blocks, &subscriptions);
    if blocks.len() > 1 {
        owned.retain_blocks(&blocks, &places, &subscriptions);
    }
    let mut gained = Gained::new(order.len());
    // The pool of each partition, where racks count.
    let mut pool_of = vec![0; racks.as_ref().map_or(0, |racks| racks.of_partition.len())];
    for block in &blocks {
        if let Some(racks) = &racks {
            let found = racks::plan(block, &owned, racks, &subscriptions, &mut pool_of);
            let pool_of_partition = |_: &mut Cursor<'_>, partition| pool_of[partition as usize];
            give_up(&found.plan, found.pools, pool_of_partition, &mut owned, &subscriptions);
            racks::deal(&mut gained, &found, block, &owned, &subscriptions, &pool_of);
            continue;
        }
        let plan = Plan::new(block, &owned, &places, &subscriptions);
        let is_uniform = block.is_uniform();
        let pool_of = |topics: &mut Cursor<'_>, partition| {
            if is_uniform { 0 } else { places[topics.seek(partition)].1 }
        };
        give_up(&plan, block.pools.len() as u32, pool_of, &mut owned, &subscriptions);
        gained.deal(&plan, block, &owned, &subscriptions);
    }
    let mut assignments: Vec<Arc<MemberAssignment>> =
        group.members.iter().map(|member| Arc::clone(member.assignment)).collect();
    for (number, &member) in (0..).zip(&order) {
        let gained = gained.of(number);
        if !gained.is_empty() || owned.changed[number as usize] {
            let assignment = merge(owned.of(number), gained, &subscriptions);
            // A member that claims what another has may get it now.
            if *assignments[member as usize] != assignment {
                assignments[member as usize] = Arc::new(assignment);
            }
        }
    }
    assignments
}

/// Takes from members what they give up.
fn give_up(
    plan: &Plan,
    pools: u32,
    pool_of: impl Fn(&mut Cursor<'_>, u32) -> u32,
    owned: &mut Owned,
    subscriptions: &Subscriptions,
) {
    /// A member's partitions of one pool.
    #[derive(Clone, Copy, Default)]
    struct Part {
        owns: u64,
        gives_up: u64,
        sum: u64,
    }
    let mut parts = vec![Part::default(); pools as usize];
    let by_member = plan.given_up.chunk_by(|a, b| a.0 == b.0);
    for (turn, given_up) in (0u64..).zip(by_member) {
        let member = given_up[0].0;
        parts.fill(Part::default());
        for &(_, pool, count) in given_up {
            parts[pool as usize].gives_up = u64::from(count);
        }
        let mut topics = subscriptions.cursor();
        for &partition in owned.of(member) {
            parts[pool_of(&mut topics, partition) as usize].owns += 1;
        }
        // Each in its turn begins elsewhere, or all would give up of the same topic.
        parts.iter_mut().filter(|part| part.owns > 0).for_each(|part| part.sum = turn % part.owns);
        let mut topics = subscriptions.cursor();
        owned.retain(member, |partition| {
            // As a line is drawn: of `owns` steps just `gives_up` go beyond a multiple of `owns`.
            let part = &mut parts[pool_of(&mut topics, partition) as usize];
            part.sum += part.gives_up;
            let beyond = part.sum >= part.owns;
            part.sum -= if beyond { part.owns } else { 0 };
            !beyond
        });
    }
}

/// What members get.
struct Gained {
    partitions: Vec<u32>,
    /// Where those of each member begin and end.
    bounds: Vec<(u32, u32)>,
}

impl Gained {
    fn new(members: usize) -> Gained {
        Gained { partitions: Vec::new(), bounds: vec![(0, 0); members] }
    }

    /// The partitions that a member gets, sorted.
    fn of(&self, member: u32) -> &[u32] {
        let (begin, end) = self.bounds[member as usize];
        &self.partitions[begin as usize..end as usize]
    }

    /// Gives what is free in a block to its members.
    fn deal(&mut self, plan: &Plan, block: &Block, owned: &Owned, subscriptions: &Subscriptions) {
        let free = |pool: u32| {
            block.pools[pool as usize].topics.iter().flat_map(|&topic| {
                let topic = &subscriptions.topics[topic as usize];
                owned.free(topic.first, topic.first + topic.partitions)
            })
        };
        self.deal_out(plan, free, block.is_uniform());
    }

    /// Gives what is `free` in each pool to members. If it is in order so is what a class gets of it.
    fn deal_out<F: IntoIterator<Item = u32>>(
        &mut self,
        plan: &Plan,
        mut free: impl FnMut(u32) -> F,
        is_in_order: bool,
    ) {
        let classes = plan.gained.last().map_or(0, |(class, ..)| *class as usize + 1);
        let mut by_class: Vec<Vec<u32>> = vec![Vec::new(); classes];
        for moved in plan.moved.chunk_by(|a, b| a.0 == b.0) {
            let needs = moved.iter().map(|&(_, class, count)| (class, count)).collect();
            let free = free(moved[0].0).into_iter();
            in_turn(free, needs, |class, partition| by_class[class as usize].push(partition));
        }
        for gained in plan.gained.chunk_by(|a, b| a.0 == b.0) {
            let free = &mut by_class[gained[0].0 as usize];
            if !is_in_order {
                free.sort_unstable();
            }
            let mut end = self.partitions.len() as u32;
            for &(_, member, count) in gained {
                self.bounds[member as usize] = (end, end);
                end += count;
            }
            self.partitions.resize(end as usize, 0);
            let needs = gained.iter().map(|&(_, member, count)| (member, count)).collect();
            in_turn(free.iter().copied(), needs, |member, partition| {
                let end = &mut self.bounds[member as usize].1;
                self.partitions[*end as usize] = partition;
                *end += 1;
            });
        }
    }
}

/// Hands out partitions one by one in turn, to each as many as it needs.
fn in_turn(
    partitions: impl Iterator<Item = u32>,
    mut needs: Vec<(u32, u32)>,
    mut give: impl FnMut(u32, u32),
) {
    let mut partitions = partitions.peekable();
    while partitions.peek().is_some() && !needs.is_empty() {
        needs.retain_mut(|(who, count)| {
            if let Some(partition) = partitions.next() {
                give(*who, partition);
                *count -= 1;
            }
            *count > 0
        });
    }
    debug_assert!(partitions.peek().is_none() && needs.is_empty(), "all that is free is needed");
}

/// An assignment of these partitions; both are sorted.
fn merge(kept: &[u32], gained: &[u32], subscriptions: &Subscriptions) -> MemberAssignment {
    let mut assignment = MemberAssignment::default();
    assignment.partitions.reserve_exact(kept.len() + gained.len());
    let mut topics = subscriptions.cursor();
    let (mut kept, mut gained) = (kept.iter().peekable(), gained.iter().peekable());
    loop {
        let next = match (kept.peek(), gained.peek()) {
            (Some(a), Some(b)) if a < b => kept.next(),
            (_, Some(_)) => gained.next(),
            (_, None) => kept.next(),
        };
        let Some(&partition) = next else { return assignment };
        let topic = &subscriptions.topics[topics.seek(partition)];
        assignment.push(topic.id, (partition - topic.first) as i32);
    }
}
