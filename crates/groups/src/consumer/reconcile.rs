//! How a member gets from what it owns to what it is to own (KIP-848).
//!
//! Revocation comes first: as long as a member has not said that it gave up what it has to, it stays
//! in its epoch. Then it comes to the epoch of the target assignment, with the partitions that are
//! free; those that others have not given up follow one heartbeat after the other.

use thalweg_wire::messages::consumer_group_heartbeat_request::TopicPartitions;
use thalweg_wire::{ErrorCode, Uuid};

use crate::assignor::MemberAssignment;
use crate::model::{ConsumerMember, MemberState, OwnedPartition, OwnedPartitions, Refused};

/// What a member is reconciled with.
pub(crate) struct Reconciliation<'a> {
    /// Epoch of the target assignment.
    pub target_epoch: i32,
    /// The member's part of it.
    pub target: &'a MemberAssignment,
    /// Ids of the topics that the member subscribes to, sorted.
    pub subscribed: &'a [Uuid],
    /// Whether it subscribes to no topic at all, not even to one that does not exist.
    pub names_nothing: bool,
    /// Whether it has just changed its subscription.
    pub subscription_changed: bool,
    /// What the member said that it owns, if it said anything.
    pub owned: Option<&'a [TopicPartitions]>,
    /// Whether some member owns a partition, or has not given it up.
    pub is_owned: &'a dyn Fn(Uuid, i32) -> bool,
}

impl Reconciliation<'_> {
    /// The member's next step; `None` if there is none to make.
    pub(crate) fn next(&self, member: &ConsumerMember) -> Result<Option<ConsumerMember>, Refused> {
        if !self.subscription_changed && member.is_reconciled_to(self.target_epoch) {
            return Ok(None);
        }
        let next = match member.state {
            MemberState::Stable if member.epoch != self.target_epoch => {
                Some(self.approach(member, member.epoch))
            }
            MemberState::Stable => self.drop_unsubscribed(member),
            MemberState::UnrevokedPartitions if self.still_owns(&member.pending_revocation) => {
                if self.subscription_changed {
                    self.drop_unsubscribed(member)
                } else {
                    None
                }
            }
            MemberState::UnrevokedPartitions | MemberState::UnreleasedPartitions => {
                Some(self.approach(member, member.epoch))
            }
            MemberState::Unknown => {
                if self.owned.is_none_or(|owned| !owned.is_empty()) {
                    return Err(Refused::new(
                        ErrorCode::FENCED_MEMBER_EPOCH,
                        "The member is in a state that this release does not know. It must give \
                         up its partitions and join again.",
                    ));
                }
                Some(self.approach(member, self.target_epoch))
            }
        };
        Ok(next.filter(|next| next != member))
    }

    fn is_subscribed(&self, topic_id: Uuid) -> bool {
        self.subscribed.binary_search(&topic_id).is_ok()
    }

    /// Whether the member says that it owns something of this, or does not say what it owns.
    fn still_owns(&self, partitions: &OwnedPartitions) -> bool {
        let Some(owned) = self.owned else { return true };
        owned.iter().any(|topic| {
            topic.partitions.iter().any(|&index| partitions.contains(topic.topic_id, index))
        })
    }

    /// Gives up the topics that the member does not subscribe to any more.
    fn drop_unsubscribed(&self, member: &ConsumerMember) -> Option<ConsumerMember> {
        let (kept, dropped): (Vec<_>, Vec<_>) =
            member.assigned.iter().copied().partition(|o| self.is_subscribed(o.topic_id));
        // A member that subscribes to nothing any more takes the step even if it owns nothing, as in
        // Kafka: its last epoch is this one then.
        let drops_all = self.names_nothing && member.pending_revocation.is_empty();
        if dropped.is_empty() && !drops_all {
            return None;
        }
        let mut pending: Vec<OwnedPartition> = member.pending_revocation.iter().copied().collect();
        pending.extend(dropped);
        let pending = OwnedPartitions::new(pending);
        let mut next = ConsumerMember {
            previous_epoch: member.epoch,
            assigned: OwnedPartitions::new(kept),
            ..member.clone()
        };
        if !pending.is_empty() && self.still_owns(&pending) {
            next.state = MemberState::UnrevokedPartitions;
            next.pending_revocation = pending;
        }
        Some(next)
    }

    /// One step towards the target assignment.
    fn approach(&self, member: &ConsumerMember, epoch: i32) -> ConsumerMember {
        let is_target = |topic_id, partition| {
            self.is_subscribed(topic_id) && self.target.contains(topic_id, partition)
        };
        let (mut assigned, revoked): (Vec<_>, Vec<_>) =
            member.assigned.iter().copied().partition(|o| is_target(o.topic_id, o.partition));
        let revoked = OwnedPartitions::new(revoked);
        if !revoked.is_empty() && self.still_owns(&revoked) {
            return ConsumerMember {
                epoch,
                previous_epoch: member.epoch,
                state: MemberState::UnrevokedPartitions,
                assigned: OwnedPartitions::new(assigned),
                pending_revocation: revoked,
                ..member.clone()
            };
        }
        let mut unreleased = false;
        for (topic_id, partitions) in self.target.iter() {
            if !self.is_subscribed(topic_id) {
                continue;
            }
            for &partition in partitions {
                if member.assigned.contains(topic_id, partition) {
                    continue;
                }
                // What the member itself has been giving up has no other owner.
                let taken = (self.is_owned)(topic_id, partition)
                    && !member.pending_revocation.contains(topic_id, partition);
                if taken {
                    unreleased = true;
                } else {
                    assigned.push(OwnedPartition {
                        topic_id,
                        partition,
                        assignment_epoch: self.target_epoch,
                    });
                }
            }
        }
        ConsumerMember {
            epoch: self.target_epoch,
            previous_epoch: member.epoch,
            state: if unreleased { MemberState::UnreleasedPartitions } else { MemberState::Stable },
            assigned: OwnedPartitions::new(assigned),
            pending_revocation: OwnedPartitions::default(),
            ..member.clone()
        }
    }
}
