//! Which partition each member has, as far as what it claims can be believed.

use super::blocks::Block;
use crate::assignor::subscriptions::Subscriptions;
use crate::assignor::{GroupSpec, MemberAssignment};

/// The partitions of all members, and those that nobody has.
#[derive(Debug)]
pub(super) struct Owned {
    /// Those of one member after those of the other, sorted.
    partitions: Vec<u32>,
    /// Where those of each member begin and end.
    bounds: Vec<(u32, u32)>,
    /// A bit for each partition, set if somebody has it.
    taken: Vec<u64>,
    /// Whether a member has to give up some of what it claimed.
    pub changed: Vec<bool>,
}

impl Owned {
    /// Reads the assignments of the members in this order. A partition is the first one's that
    /// subscribes to its topic and claims it.
    pub fn new(group: &GroupSpec<'_>, order: &[u32], subscriptions: &Subscriptions) -> Owned {
        let mut owned = Owned {
            partitions: Vec::with_capacity(subscriptions.partitions as usize),
            bounds: Vec::with_capacity(order.len()),
            taken: vec![0; (subscriptions.partitions as usize).div_ceil(64)],
            changed: Vec::with_capacity(order.len()),
        };
        for (&member, &subscription) in order.iter().zip(&subscriptions.of_member) {
            let assignment = group.members[member as usize].assignment;
            let topics = &subscriptions.distinct[subscription as usize];
            let begin = owned.partitions.len();
            owned.claim(assignment, topics, subscriptions);
            let end = owned.partitions.len();
            owned.bounds.push((begin as u32, end as u32));
            owned.changed.push(end - begin < assignment.len());
        }
        owned
    }

    /// `topics` are those that the member subscribes to. They are sorted as the assignment is.
    fn claim(&mut self, assignment: &MemberAssignment, topics: &[u32], all: &Subscriptions) {
        let mut rest = topics;
        for (id, partitions) in assignment.iter() {
            let skipped = rest.partition_point(|&topic| all.topics[topic as usize].id < id);
            rest = &rest[skipped..];
            let Some(&topic) = rest.first() else { return };
            let topic = &all.topics[topic as usize];
            if topic.id != id {
                continue;
            }
            for &partition in partitions {
                // A negative one is beyond all that there are.
                if (partition as u32) < topic.partitions {
                    let number = topic.first + partition as u32;
                    let (word, bit) = (&mut self.taken[number as usize / 64], 1 << (number % 64));
                    if *word & bit == 0 {
                        *word |= bit;
                        self.partitions.push(number);
                    }
                }
            }
        }
    }

    /// The partitions of a member, sorted.
    pub fn of(&self, member: u32) -> &[u32] {
        let (begin, end) = self.bounds[member as usize];
        &self.partitions[begin as usize..end as usize]
    }

    /// Takes from a member what `keep` is false for.
    pub fn retain(&mut self, member: u32, mut keep: impl FnMut(u32) -> bool) {
        let (begin, end) = self.bounds[member as usize];
        let mut kept = begin;
        for at in begin..end {
            let partition = self.partitions[at as usize];
            if keep(partition) {
                self.partitions[kept as usize] = partition;
                kept += 1;
            } else {
                self.taken[partition as usize / 64] &= !(1 << (partition % 64));
            }
        }
        self.bounds[member as usize].1 = kept;
        self.changed[member as usize] |= kept < end;
    }

    /// Takes from every member what does not go to its block. `places` are those of
    /// topics: block and pool.
    pub fn retain_blocks(
        &mut self,
        blocks: &[Block],
        places: &[(u32, u32)],
        subscriptions: &Subscriptions,
    ) {
        for (index, block) in (0..).zip(blocks) {
            for &member in block.classes.iter().flat_map(|class| &class.members) {
                let mut topics = subscriptions.cursor();
                self.retain(member, |partition| places[topics.seek(partition)].0 == index);
            }
        }
    }

    /// The partitions from `begin` to `end` that nobody has.
    pub fn free(&self, begin: u32, end: u32) -> impl Iterator<Item = u32> {
        let words = begin / 64..end.div_ceil(64);
        words.flat_map(move |word| {
            let mut bits = !self.taken[word as usize];
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (bit < 64).then_some(word * 64 + bit)
            })
            .filter(move |partition| (begin..end).contains(partition))
        })
    }
}
