//! Who may commit and fetch offsets of a consumer group.

use thalweg_wire::{ErrorCode, Uuid};

use super::group::ConsumerGroup;
use crate::model::ConsumerMember;

/// First version in which a member of the consumer protocol can say its epoch.
const FIRST_VERSION_WITH_MEMBER_EPOCH: i16 = 9;

/// What a commit that was let in may commit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CommitCheck<'a> {
    /// Any partition.
    Any,
    /// Partitions that the member has been assigned in `epoch` or before (KIP-1251): it has missed
    /// that it is in a later one.
    AssignedBefore(&'a ConsumerMember, i32),
    /// Partitions that the member owns, and those of topics that the group does not subscribe to: clients
    /// send commits in the generation of now that they have begun in a membership before it, in which
    /// others may have got the partition and committed since.
    Owned(&'a ConsumerGroup, &'a ConsumerMember),
}

fn stale(member: &ConsumerMember) -> ErrorCode {
    if member.is_classic() { ErrorCode::ILLEGAL_GENERATION } else { ErrorCode::STALE_MEMBER_EPOCH }
}

impl CommitCheck<'_> {
    /// Whether an offset of this partition may be committed.
    pub(crate) fn partition(&self, topic_id: Uuid, partition: i32) -> Result<(), ErrorCode> {
        let CommitCheck::AssignedBefore(member, epoch) = self else { return Ok(()) };
        match owned_since(member, topic_id, partition) {
            Some(assigned) if *epoch >= assigned => Ok(()),
            _ => Err(stale(member)),
        }
    }

    /// Whether this partition's offset, beside others that may be committed, is somebody else's. The answer
    /// is the barrier's to a member that does not know yet what it owns.
    pub(crate) fn owned(
        &self,
        topic: &str,
        topic_id: Uuid,
        partition: i32,
    ) -> Result<(), ErrorCode> {
        match self {
            CommitCheck::Owned(group, member)
                if group.topics().contains_key(topic)
                    && owned_since(member, topic_id, partition).is_none() =>
            {
                Err(ErrorCode::REBALANCE_IN_PROGRESS)
            }
            _ => Ok(()),
        }
    }
}

/// The epoch in which the member got a partition that it owns.
fn owned_since(member: &ConsumerMember, topic_id: Uuid, partition: i32) -> Option<i32> {
    let assigned = member.assigned.assignment_epoch(topic_id, partition);
    assigned.or_else(|| member.pending_revocation.assignment_epoch(topic_id, partition))
}

impl ConsumerGroup {
    /// Lets a commit in, or does not. Of a group that is `hosted`, Kafka's rules do not say whose a
    /// partition is.
    pub(crate) fn check_commit(
        &self,
        member_id: &str,
        epoch: i32,
        api_version: i16,
        hosted: bool,
    ) -> Result<CommitCheck<'_>, ErrorCode> {
        // An administrator, or a consumer that assigns itself.
        if epoch < 0 && self.members().is_empty() {
            return Ok(CommitCheck::Any);
        }
        let member = self.member(member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if !member.is_classic() && api_version < FIRST_VERSION_WITH_MEMBER_EPOCH {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        self.check_epoch(member, epoch, hosted)
    }

    /// The same of a producer that commits on a member's behalf, in whichever version.
    pub(crate) fn check_transactional_commit(
        &self,
        member_id: &str,
        epoch: i32,
        hosted: bool,
    ) -> Result<CommitCheck<'_>, ErrorCode> {
        if epoch < 0 && self.members().is_empty() {
            return Ok(CommitCheck::Any);
        }
        let member = self.member(member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        self.check_epoch(member, epoch, hosted)
    }

    /// Checks the instance id of a member of a `hosted` group as a classic group does. Kafka looks at no
    /// instance id in groups of this type.
    pub(crate) fn check_instance(
        &self,
        instance_id: Option<&str>,
        member_id: &str,
        hosted: bool,
    ) -> Result<(), ErrorCode> {
        let Some(instance_id) = instance_id.filter(|_| hosted) else { return Ok(()) };
        match self.static_member(instance_id) {
            None => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            Some(member) if *member.id != *member_id => Err(ErrorCode::FENCED_INSTANCE_ID),
            Some(_) => Ok(()),
        }
    }

    fn check_epoch<'a>(
        &'a self,
        member: &'a ConsumerMember,
        epoch: i32,
        hosted: bool,
    ) -> Result<CommitCheck<'a>, ErrorCode> {
        if epoch == member.epoch {
            Ok(if hosted { CommitCheck::Owned(self, member) } else { CommitCheck::Any })
        } else if epoch > member.epoch {
            Err(stale(member))
        } else {
            Ok(CommitCheck::AssignedBefore(member, epoch))
        }
    }
}

/// Lets a fetch of offsets in, or does not. `find` looks a member up.
pub(crate) fn check_fetch<'m>(
    member_id: Option<&str>,
    epoch: i32,
    find: impl FnOnce(&str) -> Option<&'m ConsumerMember>,
) -> Result<(), ErrorCode> {
    let member = match member_id {
        None if epoch < 0 => return Ok(()),
        id => id.and_then(find).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?,
    };
    if epoch == member.epoch { Ok(()) } else { Err(stale(member)) }
}
