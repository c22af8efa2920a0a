//! Groups of classic consumers that the coordinator assigns, so that a rebalance stops nobody.
//!
//! In the classic protocol one join stops every member: all join again, a barrier waits for the
//! slowest of them, one of them computes the assignment, all sync. But what the built-in assignors
//! compute the coordinator can compute, too. So a group whose members vote for one of those is held as
//! a consumer group whose members all speak the classic protocol (`thalweg.group.classic.rebalance.mode`
//! is `server`):
//! - A join, a leave, a failure, another subscription or topic leads to a new target assignment.
//! - Only members whose partitions change are told, by REBALANCE_IN_PROGRESS in their next heartbeat. A
//!   JoinGroup is answered at once, and so is the SyncGroup after it.
//! - Members that keep their partitions stay in the generation that they are in, however far the group
//!   goes on. Their heartbeats and commits are those of a member that is up to date.
//! - A partition goes to its new owner when the old one has given it up: its JoinGroup said so, or it
//!   is gone.
//!
//! A generation is a member's epoch. From outside the group is a stable classic one. Its records are
//! Kafka's for consumer groups, so that Kafka's coordinator can go on with it: by its rules for classic
//! members, which make those join again that are in an older epoch. The name of a server assignor in
//! every member's record, which Kafka's classic members never have, says that the group is one of these.
//!
//! Kafka's own rules hold as soon as a member of the consumer protocol is in the group
//! (`consumer::classic_members`). Where the votes leave an assignor that is not built in the group goes
//! back to the barrier.

mod assign;
mod describe;
mod join;
mod member;

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_wire::messages::join_group_request::JoinGroupRequestProtocol;

use crate::assignor::{Assignor, StickyRangeAssignor, UniformAssignor};
use crate::classic::winner;
use crate::consumer::{ConsumerGroup, ConsumerMember, Step};
use crate::{ClassicRebalanceMode, GroupConfig};

pub(crate) use describe::{describe, list};
pub(crate) use join::{Entry, founds_hosted_group};

/// Kafka's `range`, the only built-in assignor that is not one of balance and few moves alone.
const RANGE: &str = "range";

/// The assignors that every Kafka consumer has, by their names in JoinGroup.
const BUILT_IN: [&str; 4] = [RANGE, "roundrobin", "sticky", "cooperative-sticky"];

/// Whether the coordinator can assign a group whose members have voted for this assignor.
pub(crate) fn is_built_in(protocol: &str) -> bool {
    BUILT_IN.contains(&protocol)
}

/// The server's assignor that gives the guarantees of a classic one.
fn assignor_of(protocol: &str) -> &'static dyn Assignor {
    if protocol == RANGE { &StickyRangeAssignor } else { &UniformAssignor }
}

/// Whether the coordinator is to assign groups of classic members.
pub(crate) fn is_server_mode(config: &GroupConfig, group: &str) -> bool {
    config.of_group(group).classic_rebalance_mode == ClassicRebalanceMode::Server
}

/// The server assignor that members are stored with, for a coordinator that goes by it.
pub(crate) fn stored_assignor(protocol: &str) -> &'static str {
    assignor_of(protocol).name()
}

type Protocols = [(Box<str>, Bytes)];

fn protocols(member: &ConsumerMember) -> &Protocols {
    member.metadata.classic.as_ref().map_or(&[], |classic| &classic.protocols)
}

fn names(protocols: &Protocols) -> impl Iterator<Item = &str> {
    protocols.iter().map(|(name, _)| &**name)
}

/// The assignor that classic members have voted for, each for the first of its list that all have.
fn voted<'m>(members: impl Iterator<Item = &'m ConsumerMember> + Clone) -> Option<&'m str> {
    let first = members.clone().next()?;
    let mut common: BTreeSet<&str> = names(protocols(first)).collect();
    for member in members.clone() {
        common.retain(|name| names(protocols(member)).any(|other| other == *name));
    }
    let votes = members.filter_map(|member| names(protocols(member)).find(|n| common.contains(n)));
    winner(votes)
}

/// Whether all members speak the classic protocol and have a built-in assignor in common.
pub(crate) fn is_hostable(group: &ConsumerGroup) -> bool {
    let members = group.members().len();
    members > 0
        && group.classic_members() == members
        && BUILT_IN.iter().any(|name| group.classic_supporters(name) == members)
}

/// Whether the coordinator assigns this group's classic members.
pub(crate) fn is_hosted(group: &ConsumerGroup, config: &GroupConfig, id: &str) -> bool {
    is_hostable(group) && is_server_mode(config, id)
}

impl Step<'_, '_> {
    /// Whether the coordinator assigns the group, or did while the setting was another one.
    pub(crate) fn was_hosted(&self) -> bool {
        is_hostable(self.group) && self.group.members_with_assignor() == self.group.members().len()
    }

    fn is_server_mode(&self) -> bool {
        is_server_mode(self.cx.config, self.id)
    }

    /// Whether the coordinator assigns this group's classic members.
    pub(crate) fn is_hosted(&self) -> bool {
        is_hosted(self.group, self.cx.config, self.id)
    }

    /// Whether it did, and the setting says now that it is not to. Where groups may not become classic
    /// ones, or this one is too large for it, its members go on by Kafka's rules.
    pub(crate) fn leaves_server(&self) -> bool {
        let members = self.group.members().len();
        !self.is_server_mode()
            && self.was_hosted()
            && self.may_downgrade(members)
            && !self.cx.live.stays_hosted(self.id)
    }

    /// Whether the coordinator assigns what is left without these members.
    pub(crate) fn is_hosted_without(&self, leaving: &[Arc<ConsumerMember>]) -> bool {
        let left = self.group.members().len().saturating_sub(leaving.len());
        let classic = leaving.iter().filter(|member| member.is_classic()).count();
        let supporters = |name: &str| {
            let leaving = leaving.iter().filter(|m| names(protocols(m)).any(|n| n == name));
            self.group.classic_supporters(name).saturating_sub(leaving.count())
        };
        left > 0
            && self.is_server_mode()
            && self.group.classic_members().saturating_sub(classic) == left
            && BUILT_IN.iter().any(|name| supporters(name) == left)
    }

    /// The assignor that the group votes for as it is.
    fn voted(&self) -> Option<&str> {
        voted(self.group.members().values().map(|member| &**member))
    }

    /// The assignor that the group votes for with `joining` in the place of `before`; `None` if it has
    /// none in common with all others.
    fn ballot<'r>(
        &'r self,
        before: Option<&ConsumerMember>,
        joining: &'r [JoinGroupRequestProtocol],
    ) -> Option<&'r str> {
        let others = self.group.members().len() - usize::from(before.is_some());
        let own = |name: &str| before.is_some_and(|b| names(protocols(b)).any(|n| n == name));
        let common: BTreeSet<&str> = joining
            .iter()
            .map(|protocol| protocol.name.as_str())
            .filter(|name| self.group.classic_supporters(name) - usize::from(own(name)) == others)
            .collect();
        let own = joining.iter().map(|p| p.name.as_str()).find(|name| common.contains(name))?;
        let members = self.group.members().values();
        let members = members.filter(|member| before.is_none_or(|before| before.id != member.id));
        let votes =
            members.filter_map(|member| names(protocols(member)).find(|n| common.contains(n)));
        winner(votes.chain([own]))
    }
}
