//! The kind of a group: which state machine answers its requests.
//!
//! Invariant: [`GroupKind::of`] and [`GroupKind::committed`] end in one function, and requests are routed by it. The kind
//! follows from the log and the settings alone. Code that has a consumer group asks `is_hosted`, the rule that this uses.

use super::{GroupEntry, Logged};
use crate::consumer::{committed_vote, is_built_in, is_hosted, is_server_mode};
use crate::model::{GroupConfig, ReservedType};

/// The kinds of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// The log has no group of that name.
    Absent,
    /// A classic group, or a group that only commits offsets.
    Classic,
    /// A consumer group without members, which may become a group of any type.
    EmptyConsumer,
    /// A consumer group by the rules of Kafka.
    Consumer,
    /// A consumer group of classic members that the coordinator assigns (`hosted`).
    Hosted,
    /// A group of a type that this release does not run.
    Reserved(ReservedType),
}

/// Properties of a consumer group that decide its kind.
struct ConsumerTraits {
    is_empty: bool,
    is_hosted: bool,
}

impl GroupKind {
    /// The kind of a group as everything written says.
    pub(crate) fn of(logged: &Logged, config: &GroupConfig, id: &str) -> GroupKind {
        let traits = || {
            logged.consumer_group(id).map(|group| ConsumerTraits {
                is_empty: group.members().is_empty(),
                is_hosted: is_hosted(group, config, id),
            })
        };
        GroupKind::of_entry(logged.group(id), traits)
    }

    /// The kind of a group as of the last commit. Of a group with records in flight it looks at all members where it may be
    /// hosted; elsewhere such a group is a consumer group, with or without members, which no caller tells apart.
    pub(crate) fn committed(logged: &Logged, config: &GroupConfig, id: &str) -> GroupKind {
        let traits = || {
            if let Some(group) = logged.unchanged_consumer_group(id) {
                return Some(ConsumerTraits {
                    is_empty: group.members().is_empty(),
                    is_hosted: is_hosted(group, config, id),
                });
            }
            if !is_server_mode(config, id) {
                return Some(ConsumerTraits { is_empty: false, is_hosted: false });
            }
            let group = logged.committed_consumer_group(id)?;
            let is_hostable = || committed_vote(&group).is_some_and(|name| is_built_in(&name));
            Some(ConsumerTraits { is_empty: group.members.is_empty(), is_hosted: is_hostable() })
        };
        GroupKind::of_entry(logged.committed_group(id), traits)
    }

    fn of_entry(
        entry: Option<&GroupEntry>,
        traits: impl FnOnce() -> Option<ConsumerTraits>,
    ) -> GroupKind {
        match entry {
            None => GroupKind::Absent,
            Some(GroupEntry::Offsets | GroupEntry::Classic(_)) => GroupKind::Classic,
            Some(GroupEntry::Reserved(group_type)) => GroupKind::Reserved(*group_type),
            Some(GroupEntry::Consumer) => match traits() {
                None | Some(ConsumerTraits { is_empty: true, .. }) => GroupKind::EmptyConsumer,
                Some(ConsumerTraits { is_hosted: true, .. }) => GroupKind::Hosted,
                Some(_) => GroupKind::Consumer,
            },
        }
    }
}
