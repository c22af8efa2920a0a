//! Where the replicas of new partitions go.
//!
//! Replicas of a partition are spread over racks, leaders over brokers, and fenced brokers get
//! replicas only where unfenced ones do not suffice - and never lead. Racks take turns, and so do
//! the brokers within a rack; once each broker had a partition to lead, the order is shuffled, so
//! that the same brokers do not always meet.

use std::collections::BTreeMap;

use thalweg_wire::ErrorCode;

use super::{Context, Random, below};
use crate::ApiError;

/// Brokers that take turns.
#[derive(Default)]
struct Turns {
    brokers: Vec<i32>,
    /// Where this round begins.
    offset: usize,
    /// How many were taken in this round.
    taken: usize,
    round: usize,
}

impl Turns {
    fn begin(&mut self, random: &mut dyn Random) {
        self.brokers.sort_unstable();
        if !self.brokers.is_empty() {
            self.offset = below(random, self.brokers.len());
        }
    }

    fn shuffle(&mut self, random: &mut dyn Random) {
        shuffle(&mut self.brokers, random);
    }

    fn next(&mut self, round: usize) -> Option<i32> {
        if self.brokers.is_empty() {
            return None;
        }
        if self.round != round {
            self.round = round;
            self.taken = 0;
            self.offset = (self.offset + 1) % self.brokers.len();
        }
        if self.taken >= self.brokers.len() {
            return None;
        }
        let at = (self.offset + self.taken) % self.brokers.len();
        self.taken += 1;
        self.brokers.get(at).copied()
    }
}

#[derive(Default)]
struct Rack {
    unfenced: Turns,
    fenced: Turns,
}

fn shuffle<T>(items: &mut [T], random: &mut dyn Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(random, last + 1));
    }
}

/// Chooses replicas for `partitions` partitions, the leader first.
pub(super) fn place(
    context: &Context<'_>,
    random: &mut dyn Random,
    partitions: usize,
    replication_factor: i16,
) -> Result<Vec<Vec<i32>>, ApiError> {
    let refuse =
        |message: String| Err(ApiError::new(ErrorCode::INVALID_REPLICATION_FACTOR, message));
    let mut racks: BTreeMap<Option<&str>, Rack> = BTreeMap::new();
    let (mut total, mut unfenced) = (0, 0);
    for broker in context.image.cluster.brokers.values() {
        if broker.in_controlled_shutdown || !broker.has_uncordoned_directory() {
            continue;
        }
        let rack = racks.entry(broker.rack.as_deref()).or_default();
        total += 1;
        if broker.fenced {
            rack.fenced.brokers.push(broker.id);
        } else {
            unfenced += 1;
            rack.unfenced.brokers.push(broker.id);
        }
    }
    let Ok(factor) = usize::try_from(replication_factor) else {
        return refuse(format!("replication factor {replication_factor} must be larger than 0"));
    };
    if factor == 0 {
        return refuse("replication factor 0 must be larger than 0".into());
    }
    if unfenced == 0 {
        return refuse("all brokers are fenced, or have all their log directories cordoned".into());
    }
    if factor > total {
        return refuse(format!(
            "replication factor {factor} cannot be reached: {total} broker(s) are registered and \
             have log directories that are not cordoned"
        ));
    }
    let mut racks: Vec<Rack> = racks.into_values().collect();
    for rack in &mut racks {
        rack.unfenced.begin(random);
        rack.fenced.begin(random);
    }
    let mut offset = below(random, racks.len());
    let mut round = 0;
    let mut placed = Vec::with_capacity(partitions);
    for _ in 0..partitions {
        // With one broker a new round must go on counting, or it would never begin.
        if round == unfenced && unfenced > 1 {
            shuffle(&mut racks, random);
            for rack in &mut racks {
                rack.unfenced.shuffle(random);
                rack.fenced.shuffle(random);
            }
            round = 0;
        }
        offset %= racks.len();
        placed.push(one_partition(&mut racks, offset, round, factor));
        round += 1;
        offset += 1;
    }
    Ok(placed)
}

fn one_partition(racks: &mut [Rack], offset: usize, round: usize, factor: usize) -> Vec<i32> {
    let mut replicas = Vec::with_capacity(factor);
    let count = racks.len();
    // The leader: the first unfenced broker from here on. There is one, somewhere.
    let mut leader_rack = offset;
    for step in 0..count {
        let at = (offset + step) % count;
        if let Some(broker) = racks.get_mut(at).and_then(|rack| rack.unfenced.next(round)) {
            replicas.push(broker);
            leader_rack = at;
            break;
        }
    }
    // The leader's rack had its turn; the others come first.
    let mut skip_leader_rack = true;
    let mut at = offset;
    let mut idle = 0;
    while replicas.len() < factor && idle <= count {
        if skip_leader_rack && at == leader_rack {
            skip_leader_rack = false;
        } else {
            let rack = racks.get_mut(at);
            let next =
                rack.and_then(|rack| rack.unfenced.next(round).or_else(|| rack.fenced.next(round)));
            idle = if next.is_some() { 0 } else { idle + 1 };
            replicas.extend(next);
        }
        at = (at + 1) % count;
    }
    replicas
}
