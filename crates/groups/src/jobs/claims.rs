//! What members of the sticky assignors say that they had, before the coordinator knew anything of them.
//!
//! When a group is formed again (its record is gone, or all of its members were) its members come one by
//! one, and each remembers what it had. Of the partitions that move anyway they get that back. A claim
//! steers the target assignment and nothing else: the log alone says which member holds a partition. Nor does a claim take
//! a partition from a member that could keep it.
//!
//! Nothing is believed here: bytes that cannot be read claim nothing, and of two members with the same
//! partition the one of the newer generation had it; if that is the same, neither had.

use std::collections::BTreeMap;

use thalweg_wire::messages::ConsumerProtocolSubscription;
use thalweg_wire::{Reader, Uuid};

use crate::assignor::MemberAssignment;
use crate::formats::subscription_of;

/// Gives everything up before it joins, and says in its user data what it had.
const STICKY: &str = "sticky";
/// Says what it has in fields of its subscription.
const COOPERATIVE_STICKY: &str = "cooperative-sticky";

/// The generation of claims that name none: older than every other.
const NO_GENERATION: i32 = -1;

/// Whether members say under this assignor what they had.
pub(crate) fn has_claims(protocol: &str) -> bool {
    matches!(protocol, STICKY | COOPERATIVE_STICKY)
}

/// What a member says that it had.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Claim {
    generation: i32,
    topics: Vec<(String, Vec<i32>)>,
}

/// What a member's subscription claims under `protocol`; `None` if that is nothing.
fn claim(protocol: &str, said: &[u8]) -> Option<Claim> {
    let said = subscription_of(said)?;
    let claim = if protocol == STICKY {
        sticky_claim(said.user_data.as_deref()?)?
    } else {
        cooperative_claim(said)
    };
    (!claim.topics.is_empty()).then_some(claim)
}

/// The user data of `sticky`: partitions by topic, and a generation since its version 1.
fn sticky_claim(user_data: &[u8]) -> Option<Claim> {
    let mut r = Reader::new(user_data);
    let topics = r.vec(false, |r| Ok((r.string(false)?, r.vec(false, |r| r.i32())?))).ok()?;
    Some(Claim { generation: r.i32().unwrap_or(NO_GENERATION).max(NO_GENERATION), topics })
}

/// Before subscriptions had a field for the generation, in version 2, it was the user data.
fn cooperative_claim(said: ConsumerProtocolSubscription) -> Claim {
    let generation = Some(said.generation_id).filter(|generation| *generation >= 0);
    let in_user_data = || Reader::new(said.user_data.as_deref()?).i32().ok();
    Claim {
        generation: generation.or_else(in_user_data).unwrap_or(NO_GENERATION).max(NO_GENERATION),
        topics: said.owned_partitions.into_iter().map(|t| (t.topic, t.partitions)).collect(),
    }
}

/// A member, as claims are looked at.
pub(crate) struct Claimant<'a> {
    /// What it said under the group's assignor.
    pub(crate) said: &'a [u8],
    /// Whether the coordinator has not assigned it anything.
    pub(crate) is_new: bool,
}

/// What each member had, as far as that is to be looked at: `None` if no newcomer had anything. `topic` knows
/// the topics that there are, and how many partitions they have.
pub(crate) fn remembered(
    protocol: &str,
    members: &[Claimant<'_>],
    topic: impl Fn(&str) -> Option<(Uuid, i32)>,
) -> Option<Vec<MemberAssignment>> {
    let read = |member: &Claimant<'_>| claim(protocol, member.said);
    // In a group that is settled nobody's bytes are read but of those who have nothing.
    if !members.iter().any(|member| member.is_new && read(member).is_some()) {
        return None;
    }
    // The newest generation in which a partition was claimed, and by whom.
    let mut newest: BTreeMap<(Uuid, i32), (i32, Option<usize>)> = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        let Some(Claim { generation, topics }) = read(member) else { continue };
        for (name, partitions) in topics {
            let Some((id, count)) = topic(&name) else { continue };
            for partition in partitions.into_iter().filter(|p| (0..count).contains(p)) {
                let newest = newest.entry((id, partition)).or_insert((generation, Some(at)));
                if newest.0 < generation {
                    *newest = (generation, Some(at));
                } else if newest.0 == generation && newest.1 != Some(at) {
                    newest.1 = None;
                }
            }
        }
    }
    let mut had: Vec<Vec<(Uuid, [i32; 1])>> = vec![Vec::new(); members.len()];
    for ((id, partition), (_, owner)) in newest {
        if let Some(owner) = owner {
            had[owner].push((id, [partition]));
        }
    }
    let is_of_use = members.iter().zip(&had).any(|(member, had)| member.is_new && !had.is_empty());
    is_of_use.then(|| had.into_iter().map(MemberAssignment::new).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_wire::messages::consumer_protocol_subscription::TopicPartition;
    use thalweg_wire::prefixed;

    fn said(version: i16, subscription: &ConsumerProtocolSubscription) -> Vec<u8> {
        prefixed::encode_version(subscription, version).unwrap().to_vec()
    }

    fn user_data(topics: &[(&str, &[i32])], generation: Option<i32>) -> Vec<u8> {
        let mut out = (topics.len() as i32).to_be_bytes().to_vec();
        for (topic, partitions) in topics {
            out.extend((topic.len() as i16).to_be_bytes());
            out.extend(topic.as_bytes());
            out.extend((partitions.len() as i32).to_be_bytes());
            partitions.iter().for_each(|partition| out.extend(partition.to_be_bytes()));
        }
        generation.iter().for_each(|generation| out.extend(generation.to_be_bytes()));
        out
    }

    fn sticky(user_data: Vec<u8>) -> Vec<u8> {
        said(
            3,
            &ConsumerProtocolSubscription {
                topics: vec!["t".to_owned()],
                user_data: Some(user_data.into()),
                ..Default::default()
            },
        )
    }

    fn found(topics: &[(&str, &[i32])], generation: i32) -> Option<Claim> {
        let topics = topics.iter().map(|(topic, of)| ((*topic).to_owned(), of.to_vec()));
        Some(Claim { generation, topics: topics.collect() })
    }

    #[test]
    fn sticky_members_say_it_in_their_user_data() {
        let topics: &[(&str, &[i32])] = &[("t", &[3, 1]), ("u", &[0])];
        let of = |generation| claim("sticky", &sticky(user_data(topics, generation)));
        assert_eq!(of(Some(7)), found(topics, 7));
        assert_eq!(of(None), found(topics, -1));
        assert_eq!(of(Some(i32::MIN)), found(topics, -1));
        assert_eq!(claim("sticky", &sticky(user_data(&[], Some(7)))), None);
        // In another assignor's data that is no claim.
        assert_eq!(claim("cooperative-sticky", &sticky(user_data(topics, Some(7)))), None);
    }

    #[test]
    fn cooperative_members_say_it_in_their_subscription() {
        let topics: &[(&str, &[i32])] = &[("t", &[3, 1])];
        let mut subscription = ConsumerProtocolSubscription {
            topics: vec!["t".to_owned()],
            user_data: Some(9i32.to_be_bytes().to_vec().into()),
            owned_partitions: vec![TopicPartition {
                topic: "t".to_owned(),
                partitions: vec![3, 1],
            }],
            generation_id: 12,
            ..Default::default()
        };
        let of = |version, said_of: &ConsumerProtocolSubscription| {
            claim("cooperative-sticky", &said(version, said_of))
        };
        assert_eq!(of(3, &subscription), found(topics, 12));
        assert_eq!(of(2, &subscription), found(topics, 12));
        subscription.generation_id = -1;
        assert_eq!(of(3, &subscription), found(topics, 9));
        assert_eq!(of(1, &subscription), found(topics, 9));
        subscription.user_data = Some(vec![1, 2].into());
        assert_eq!(of(1, &subscription), found(topics, -1));
        subscription.user_data = None;
        assert_eq!(of(1, &subscription), found(topics, -1));
        assert_eq!(claim("sticky", &said(3, &subscription)), None);
    }

    #[test]
    fn what_cannot_be_read_claims_nothing() {
        let topics: &[(&str, &[i32])] = &[("topic", &[3, 1]), ("u", &[0])];
        let data = user_data(topics, None);
        for cut in 0..data.len() {
            assert_eq!(claim("sticky", &sticky(data[..cut].to_vec())), None, "cut at {cut}");
        }
        let whole = sticky(data.clone());
        for cut in 0..whole.len() - 12 {
            assert_eq!(claim("sticky", &whole[..cut]), None, "cut at {cut}");
        }
        // Lengths that nothing is reserved for.
        for length in [i32::MAX, i32::MIN, -1, 1 << 30] {
            let mut data = length.to_be_bytes().to_vec();
            data.extend([0; 32]);
            assert_eq!(claim("sticky", &sticky(data)), None);
            let mut data = user_data(&[("t", &[])], None);
            let end = data.len() - 4;
            data.splice(end.., length.to_be_bytes());
            assert_eq!(claim("sticky", &sticky(data)), None);
        }
    }

    /// Newcomers, and who is no newcomer, with what they claim and in which generation.
    type Said<'a> = (bool, Option<(&'a [i32], i32)>);

    fn check(members: &[Said<'_>], expected: Option<&[&[i32]]>) {
        let said: Vec<Vec<u8>> = members
            .iter()
            .map(|(_, claim)| {
                let data = |(of, generation): (&[i32], i32)| {
                    sticky(user_data(&[("t", of), ("gone", of)], Some(generation)))
                };
                claim.map_or_else(Vec::new, data)
            })
            .collect();
        let claimants: Vec<Claimant<'_>> = said
            .iter()
            .zip(members)
            .map(|(said, (is_new, _))| Claimant { said, is_new: *is_new })
            .collect();
        let found =
            remembered("sticky", &claimants, |name| (name == "t").then_some((Uuid::ONE, 9)));
        let assigned = |of: &&[i32]| MemberAssignment::new([(Uuid::ONE, of.iter().copied())]);
        assert_eq!(found, expected.map(|all| all.iter().map(assigned).collect::<Vec<_>>()));
    }

    #[test]
    fn the_newer_generation_had_it_and_of_two_equal_ones_neither() {
        let (new, known) = (true, false);
        check(&[(known, None), (new, Some((&[1, 5], 4)))], Some(&[&[], &[1, 5]]));
        check(&[(new, Some((&[0, 1], 4))), (new, Some((&[1, 2], 5)))], Some(&[&[0], &[1, 2]]));
        check(&[(new, Some((&[0, 1], 5))), (new, Some((&[1, 2], 5)))], Some(&[&[0], &[2]]));
        check(&[(known, Some((&[1], 6))), (new, Some((&[0, 1], 5)))], Some(&[&[1], &[0]]));
        // A partition that a member names twice is claimed once; what is not there is not kept in mind.
        check(&[(new, Some((&[1, 1], 5)))], Some(&[&[1]]));
        check(&[(new, Some((&[-1, 8, 9, i32::MAX, i32::MIN], 5)))], Some(&[&[8]]));
        // Nothing to go by.
        check(&[(known, Some((&[1], 5))), (new, None)], None);
        check(&[(known, Some((&[0], 5))), (new, Some((&[0], 4)))], None);
        check(&[], None);
    }
}
