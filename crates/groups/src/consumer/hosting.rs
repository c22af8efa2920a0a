//! Whether the coordinator assigns the classic members of a group, by the group and the settings alone.
//!
//! Invariant: the same log and the same settings give the same result on every coordinator. `hosted` says
//! what such a group is.

use std::collections::BTreeMap;

use thalweg_metadata::image::MetadataImage;

use super::group::ConsumerGroup;
use super::logged::CommittedGroup;
use crate::assignor::{Assignor, StickyAssignor, StickyRangeAssignor};
use crate::formats::{Offer, vote_of};
use crate::model::{ClassicRebalanceMode, GroupConfig};

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

/// Whether all members speak the classic protocol and vote for an assignor that the coordinator has.
pub(crate) fn is_hostable(group: &ConsumerGroup) -> bool {
    let members = group.members().len();
    members > 0
        && group.classic_members() == members
        && group.classic_vote().is_some_and(is_built_in)
}

/// The assignor that a group has voted for, if all of its members speak the classic protocol.
pub(crate) fn committed_vote(group: &CommittedGroup<'_>) -> Option<String> {
    let mut counts: BTreeMap<Offer, usize> = BTreeMap::new();
    for member in group.members.values() {
        *counts.entry(member.metadata.classic.as_ref()?.offer()).or_default() += 1;
    }
    vote_of(&counts).map(str::to_owned)
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
