//! Groups of classic consumers that the coordinator assigns, so that a rebalance stops nobody.
//!
//! In the classic protocol one join stops every member: all join again, a barrier waits for the
//! slowest of them, one of them computes the assignment, all sync. But what the built-in assignors
//! compute the coordinator can compute, too. So a group whose members vote for one of those is held as
//! a consumer group whose members all speak the classic protocol (`thalweg.group.classic.rebalance.mode`
//! is `server`):
//! - The first round of a group is Kafka's: its initial delay, its leader, the assignment that the leader brings. The
//!   coordinator takes the group over when it is stable and has two members (`GroupShard::host`). No partition moves
//!   by that, and the generation stays. What the leader left out is given out with the next target.
//! - A join, a leave, a failure, another subscription or topic leads to a new target assignment.
//! - Only members whose partitions change are told, by REBALANCE_IN_PROGRESS in their next heartbeat. A
//!   JoinGroup is answered at once, and so is the SyncGroup after it. Only a newcomer's JoinGroup waits, for the
//!   partitions of its target (`newcomer`).
//! - Members that keep their partitions stay in the generation that they are in, however far the group
//!   goes on. Their heartbeats and commits are those of a member that is up to date.
//! - A partition goes to its new owner when the old one has given it up: its JoinGroup said so, or it
//!   is gone.
//!
//! A generation is a member's epoch. From outside the group is a stable classic one. Its records are
//! Kafka's for consumer groups, so that Kafka's coordinator can go on with it: by its rules for classic
//! members, which make those join again that are in an older epoch. The name of a server assignor in
//! the record of every member, which Kafka's classic members do not have, says that the group was one
//! of these when the setting is `barrier`.
//!
//! Kafka's own rules hold as soon as a member of the consumer protocol is in the group
//! (`consumer::classic_members`). Where the votes leave an assignor that is not built in, or a member's metadata is no
//! subscription, the group goes back to the barrier.

mod describe;
mod join;
mod member;
mod newcomer;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use thalweg_metadata::image::MetadataImage;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;

use crate::assignor::{Assignor, StickyAssignor, StickyRangeAssignor};
use crate::classic::winner;
use crate::consumer::{ConsumerGroup, ConsumerMember};
use crate::model::Offer;
use crate::step::Step;
use crate::{ClassicRebalanceMode, GroupConfig};

pub(crate) use describe::{describe, list, protocol};
pub(crate) use join::Entry;
pub(crate) use newcomer::{Admission, Newcomer};

/// How many assignors a member of a group of this kind may offer, and how many different offers its
/// members may make.
const OFFERS_MAX: usize = 64;

/// Kafka's `range`, the only built-in assignor that is not one of balance and few moves alone.
const RANGE: &str = "range";

/// The assignors that every Kafka consumer has, by their names in JoinGroup.
const BUILT_IN: [&str; 4] = [RANGE, "roundrobin", "sticky", "cooperative-sticky"];

/// Whether the coordinator can assign a group whose members have voted for this assignor.
pub(crate) fn is_built_in(protocol: &str) -> bool {
    BUILT_IN.contains(&protocol)
}

/// The server's assignor that gives the guarantees of a classic one.
pub(crate) fn assignor_of(protocol: &str) -> &'static dyn Assignor {
    if protocol == RANGE { &StickyRangeAssignor } else { &StickyAssignor }
}

/// Whether the coordinator is to assign groups of classic members.
pub(crate) fn is_server_mode(config: &GroupConfig, group: &str) -> bool {
    config.has_consumer_records
        && config.of_group(group).classic_rebalance_mode == ClassicRebalanceMode::Server
}

/// The server assignor that members are stored with, for a coordinator that goes by it.
pub(crate) fn stored_assignor(protocol: &str) -> &'static str {
    assignor_of(protocol).name()
}

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
/// None where members offer too many different things for it to be found out at each change.
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

/// Whether all members speak the classic protocol and vote for an assignor that the coordinator has.
pub(crate) fn is_hostable(group: &ConsumerGroup) -> bool {
    let members = group.members().len();
    members > 0
        && group.classic_members() == members
        && group.classic_vote().is_some_and(is_built_in)
}

/// Whether the coordinator assigns this group's classic members.
pub(crate) fn is_hosted(group: &ConsumerGroup, config: &GroupConfig, id: &str) -> bool {
    is_server_mode(config, id) && is_hostable(group)
}

/// Whether the members' targets leave partitions of their topics out.
pub(crate) fn leaves_out(group: &ConsumerGroup, image: &MetadataImage) -> bool {
    let topics = group.topics().keys().filter_map(|name| image.topics.by_name(name));
    let partitions: usize = topics.map(|topic| topic.partitions.len()).sum();
    group.targets().values().map(|target| target.len()).sum::<usize>() < partitions
}

fn offer_of(protocols: &[JoinGroupRequestProtocol]) -> Offer {
    let mut seen = HashSet::new();
    let names = protocols.iter().map(|said| said.name.as_str());
    names.filter(|name| seen.insert(*name)).map(Box::from).collect()
}

impl Step<'_, '_> {
    /// Whether the coordinator has assigned the group: it has done so until now, or it is stored in all of its
    /// members.
    pub(crate) fn was_hosted(&self) -> bool {
        let members = self.group.members().len();
        members > 0
            && self.group.classic_members() == members
            && (self.group.members_with_assignor() == members || self.cx.live.was_hosted(self.id))
    }

    pub(crate) fn is_server_mode(&self) -> bool {
        is_server_mode(self.cx.config, self.id)
    }

    /// Whether the coordinator assigns this group's classic members.
    pub(crate) fn is_hosted(&self) -> bool {
        is_hosted(self.group, self.cx.config, self.id)
    }

    /// Whether it did, and the setting says now that it is not to, or the votes leave it no assignor.
    /// Where groups may not become classic ones, or this one is too large for it, its members go on by
    /// Kafka's rules.
    pub(crate) fn leaves_server(&self) -> bool {
        let members = self.group.members().len();
        !self.is_hosted()
            && self.was_hosted()
            && self.may_downgrade(members)
            && self.cx.live.may_fit_barrier(self.id, members)
    }

    /// Whether the coordinator assigns what is left without these members.
    pub(crate) fn is_hosted_without(&self, leaving: &[Arc<ConsumerMember>]) -> bool {
        let left = self.group.members().len().saturating_sub(leaving.len());
        let classic = leaving.iter().filter(|member| member.is_classic()).count();
        if left == 0
            || !self.is_server_mode()
            || self.group.classic_members().saturating_sub(classic) != left
        {
            return false;
        }
        let gone: Vec<Offer> =
            leaving.iter().filter_map(|m| Some(m.metadata.classic.as_ref()?.offer())).collect();
        voted(&offers_without(offers(self.group.classic_offers()), gone.iter()))
            .is_some_and(is_built_in)
    }

    /// The assignor that the group votes for as it is.
    pub(crate) fn voted(&self) -> Option<&str> {
        self.group.classic_vote()
    }

    /// The assignor that the group votes for with `joining` in the place of `before`; `None` if it has
    /// none in common with all others.
    fn ballot(&self, before: Option<&ConsumerMember>, joining: &Offer) -> Option<String> {
        let before =
            before.and_then(|b| b.metadata.classic.as_ref()).map(|classic| classic.offer());
        let mut offers = offers_without(offers(self.group.classic_offers()), before.iter());
        *offers.entry(joining).or_default() += 1;
        voted(&offers).map(str::to_owned)
    }
}
