//! What a classic group has in common with the consumer group that it was, or will be.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::{Account, Now};
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::GroupMetadataValue;

use super::group::ClassicGroup;
use super::state::ClassicGroupState;
use crate::formats::CONSUMER_PROTOCOL_TYPE;
use crate::model::{GroupOutcome, GroupResponse, Member, Protocol, join_error, sync_error};

/// A member that a group is made with.
pub(crate) struct JoinedMember<'a> {
    pub(crate) id: Arc<str>,
    pub(crate) instance_id: Option<Arc<str>>,
    pub(crate) client_id: &'a str,
    pub(crate) client_host: &'a str,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) session_timeout_ms: i32,
    /// Names and subscriptions of its assignors, best first.
    pub(crate) protocols: &'a [(Box<str>, Bytes)],
}

impl ClassicGroup {
    /// A stable group of consumers, each with what it owns. `encode` makes a member's assignment of
    /// that and of what it says under the protocol of the group.
    pub(crate) fn from_members<T, E>(
        id: Arc<str>,
        generation: i32,
        members: Vec<(JoinedMember<'_>, T)>,
        encode: impl Fn(T, &[u8]) -> Result<Bytes, E>,
        account: &Arc<Account>,
        now: Now,
    ) -> Result<ClassicGroup, E> {
        let mut group = ClassicGroup::new(id, now);
        group.state = ClassicGroupState::Stable;
        group.generation = generation;
        group.protocol_type = Some(CONSUMER_PROTOCOL_TYPE.to_owned());
        let mut owned = BTreeMap::new();
        for (joined, owns) in members {
            owned.insert(joined.id.clone(), owns);
            let protocols = joined.protocols.iter().map(|(name, metadata)| Protocol {
                name: name.to_string(),
                metadata: account.keep(metadata.clone(), size_of::<Protocol>() + name.len()),
            });
            group.insert(Member {
                protocols: protocols.collect(),
                ..Member::joined(
                    joined.id,
                    joined.instance_id,
                    joined.client_id,
                    joined.client_host,
                    (joined.rebalance_timeout_ms, joined.session_timeout_ms),
                )
            });
        }
        let protocol = group.selected_protocol();
        for (id, owns) in owned {
            if let Some(member) = group.members.get_mut(&id) {
                let assignment = encode(owns, &member.metadata(&protocol))?;
                member.assignment = account.keep(assignment, 0);
            }
        }
        group.protocol_name = Some(protocol);
        group.subscribed_topics = group.compute_subscribed_topics();
        Ok(group)
    }

    /// The record of a group whose members have their assignments.
    pub(crate) fn stable_record(&self) -> GroupMetadataValue {
        let assignments =
            self.members.values().map(|member| (member.id.clone(), member.assignment.clone()));
        self.to_record(&assignments.collect())
    }

    /// About how many bytes the records of a consumer group with these members and `assignments` take, in
    /// one batch: no less than they do.
    pub(crate) fn upgraded_bytes(&self, assignments: &BTreeMap<Arc<str>, Bytes>) -> usize {
        let members = self.members.values().map(|member| {
            let offered = member.protocols.iter();
            let offered: usize = offered.map(|p| p.name.len() + 2 * p.metadata.len() + 16).sum();
            offered + 3 * (self.id.len() + member.id.len()) + 512
        });
        let assigned = assignments.values().map(|assignment| 4 * assignment.len());
        members.sum::<usize>() + assigned.sum::<usize>()
    }

    /// What a member says under a protocol.
    pub(crate) fn metadata_of(&self, member: &Member, protocol: &str) -> Bytes {
        member.metadata(protocol)
    }

    /// Answers whoever waits: the group goes on as one of another type, and they have to join that.
    pub(crate) fn interrupt(&mut self, out: &mut GroupOutcome) {
        let error = ErrorCode::REBALANCE_IN_PROGRESS;
        for member in self.members.values_mut() {
            if let Some(token) = member.awaiting_join.take() {
                self.awaiting_join -= 1;
                out.complete(token, GroupResponse::JoinGroup(join_error(&member.id, error)));
            }
            if let Some(token) = member.awaiting_sync.take() {
                out.complete(token, GroupResponse::SyncGroup(sync_error(error)));
            }
        }
    }
}
