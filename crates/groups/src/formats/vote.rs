//! The vote of classic members on an assignor: the one with the most votes among those that all support.
//!
//! Invariant: a tie goes to the name that comes first in a Java `HashMap`, because Kafka counts with one.

use std::collections::{BTreeMap, HashSet};

use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;

use super::partition::java_string_hash;

/// How many assignors a member of a group of this kind may offer, and how many different offers its
/// members may make.
const OFFERS_MAX: usize = 64;

/// Names of the assignors that a classic member offers, the one it likes best first.
pub(crate) type Offer = Box<[Box<str>]>;

/// Members by what they offer.
pub(crate) type Offers<'o> = BTreeMap<&'o [Box<str>], usize>;

pub(crate) fn offers(counts: &BTreeMap<Offer, usize>) -> Offers<'_> {
    counts.iter().map(|(offer, count)| (&**offer, *count)).collect()
}

/// The assignor that classic members have voted for (see [`voted`]).
pub(crate) fn vote_of(counts: &BTreeMap<Offer, usize>) -> Option<&str> {
    // Before anything is made of them: a group may have a different one of each member.
    if counts.len() > OFFERS_MAX { None } else { voted(&offers(counts)) }
}

/// The offers without those of some members.
pub(crate) fn offers_without<'o>(
    mut offers: Offers<'o>,
    leaving: impl Iterator<Item = &'o Offer>,
) -> Offers<'o> {
    for offer in leaving {
        if let Some(count) = offers.get_mut(&**offer) {
            *count = count.saturating_sub(1);
        }
    }
    offers.retain(|_, count| *count > 0);
    offers
}

/// The assignor that classic members have voted for, each for the first of its list that all have.
/// It is none if the members make too many different offers to compare at each change.
pub(crate) fn voted<'o>(offers: &Offers<'o>) -> Option<&'o str> {
    let (first, _) = offers.first_key_value()?;
    if offers.len() > OFFERS_MAX || offers.keys().any(|offer| offer.len() > OFFERS_MAX) {
        return None;
    }
    let mut common: HashSet<&str> = first.iter().map(|name| &**name).collect();
    for offer in offers.keys() {
        let offer: HashSet<&str> = offer.iter().map(|name| &**name).collect();
        common.retain(|name| offer.contains(name));
    }
    let vote = |offer: &'o [Box<str>]| offer.iter().map(|n| &**n).find(|n| common.contains(n));
    winner(offers.iter().filter_map(|(offer, count)| Some((vote(offer)?, *count))))
}

pub(crate) fn offer_of(protocols: &[JoinGroupRequestProtocol]) -> Offer {
    let mut seen = HashSet::new();
    let names = protocols.iter().map(|said| said.name.as_str());
    names.filter(|name| seen.insert(*name)).map(Box::from).collect()
}

/// The name with the most votes, of names and how many vote for them; a tie goes to the one that comes
/// first in a Java `HashMap`.
pub(crate) fn winner<'v>(cast: impl Iterator<Item = (&'v str, usize)>) -> Option<&'v str> {
    let mut votes: Vec<(&str, usize)> = Vec::new();
    for (name, cast) in cast {
        match votes.iter_mut().find(|(voted, _)| *voted == name) {
            Some((_, count)) => *count += cast,
            None => votes.push((name, cast)),
        }
    }
    let buckets = hash_map_buckets(votes.len());
    votes.sort_by_cached_key(|(name, _)| bucket(spread_hash(name), buckets));
    let mut best: Option<(&str, usize)> = None;
    for (name, count) in votes {
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((name, count));
        }
    }
    best.map(|(name, _)| name)
}

/// Size of the table of a Java `HashMap` that `entries` were put into one by one.
pub(crate) fn hash_map_buckets(entries: usize) -> u32 {
    let mut buckets: u32 = 16;
    while entries > (buckets as usize / 4) * 3 && buckets < 1 << 30 {
        buckets *= 2;
    }
    buckets
}

/// The hash that a Java `HashMap` goes by.
pub(crate) fn spread_hash(text: &str) -> u32 {
    let hash = java_string_hash(text).cast_unsigned();
    hash ^ (hash >> 16)
}

/// Where a Java `HashMap` of that size keeps what has that hash.
pub(crate) fn bucket(spread_hash: u32, buckets: u32) -> u32 {
    spread_hash & (buckets - 1)
}
