//! TxnOffsetCommit: offsets that count when a producer's transaction ends with a commit.
//!
//! Whose the transaction is, and that it is one, has been asked of its coordinator before; the log looks at the
//! producer's epoch. Here it is about the member of the group on whose behalf the producer commits (KIP-447).

use thalweg_wire::messages::txn_offset_commit_request::TxnOffsetCommitRequestPartition;
use thalweg_wire::messages::{OffsetCommitValue, TxnOffsetCommitRequest, TxnOffsetCommitResponse};
use thalweg_wire::{ErrorCode, Uuid};

use super::commit::{CommitGroup, metadata_is_too_large};
use crate::classic::{ClassicGroup, ClassicGroupState};
use crate::consumer::{CommitCheck, ConsumerGroup};
use crate::model::{GroupConfig, GroupRecord, txn_offset_commit_answer, txn_offset_commit_error};

/// First version (KIP-1319) in which a group that does not exist is called that, and a stale epoch, too.
const FIRST_VERSION_WITH_GROUP_ERRORS: i16 = 6;

/// Whether the request names no member: producers before KIP-447 cannot, and others need not. Every negative
/// generation is none in a classic group, only -1 in a consumer group.
fn names_no_member(request: &TxnOffsetCommitRequest, is_classic: bool) -> bool {
    let generation = request.generation_id_or_member_epoch;
    (generation == -1 || is_classic && generation < 0)
        && request.member_id.is_empty()
        && request.group_instance_id.is_none()
}

/// Whether the request may commit, and what.
fn admit<'a>(
    group: CommitGroup<'a>,
    request: &TxnOffsetCommitRequest,
    api_version: i16,
) -> Result<CommitCheck<'a>, ErrorCode> {
    match group {
        CommitGroup::Classic(group) => {
            group.accept_transactional_commit(request).map(|()| CommitCheck::Any)
        }
        CommitGroup::Consumer { group, is_hosted } => {
            admit_to_consumer_group(group, request, is_hosted)
        }
        CommitGroup::None if request.generation_id_or_member_epoch < 0 => Ok(CommitCheck::Any),
        CommitGroup::None if api_version >= FIRST_VERSION_WITH_GROUP_ERRORS => {
            Err(ErrorCode::GROUP_ID_NOT_FOUND)
        }
        CommitGroup::None => Err(ErrorCode::ILLEGAL_GENERATION),
    }
}

fn admit_to_consumer_group<'a>(
    group: &'a ConsumerGroup,
    request: &TxnOffsetCommitRequest,
    is_hosted: bool,
) -> Result<CommitCheck<'a>, ErrorCode> {
    if names_no_member(request, is_hosted) {
        return Ok(CommitCheck::Any);
    }
    group.check_instance(request.group_instance_id.as_deref(), &request.member_id, is_hosted)?;
    group.check_transactional_commit(
        &request.member_id,
        request.generation_id_or_member_epoch,
        is_hosted,
    )
}

/// The error in a form that a producer of this version knows.
fn for_version(error: ErrorCode, api_version: i16) -> ErrorCode {
    match error {
        ErrorCode::STALE_MEMBER_EPOCH if api_version < FIRST_VERSION_WITH_GROUP_ERRORS => {
            ErrorCode::ILLEGAL_GENERATION
        }
        // The answer to a plain commit of a member that does not know yet what it owns. A transaction over
        // partitions that the member has lost must be aborted instead.
        ErrorCode::REBALANCE_IN_PROGRESS => ErrorCode::ILLEGAL_GENERATION,
        other => other,
    }
}

/// Computes the records and the answer. A request with one partition that the member may not commit
/// is refused as a whole.
pub(crate) fn commit_transactional_offsets(
    group: CommitGroup<'_>,
    request: &TxnOffsetCommitRequest,
    api_version: i16,
    config: &GroupConfig,
    now_ms: i64,
    records: &mut Vec<GroupRecord>,
) -> TxnOffsetCommitResponse {
    let refused = |error| txn_offset_commit_error(request, for_version(error, api_version));
    let check = match admit(group, request, api_version) {
        Ok(check) => check,
        Err(error) => return refused(error),
    };
    let is_too_large = |partition: &TxnOffsetCommitRequestPartition| {
        metadata_is_too_large(partition.committed_metadata.as_deref(), config)
    };
    for topic in &request.topics {
        let id = topic.topic_id;
        for partition in topic.partitions.iter().filter(|partition| !is_too_large(partition)) {
            let index = partition.partition_index;
            let may = check.partition(id, index);
            if let Err(error) = may.and_then(|()| check.owned(&topic.name, id, index)) {
                return refused(error);
            }
        }
    }
    txn_offset_commit_answer(request, |topic, partition| {
        if is_too_large(partition) {
            return ErrorCode::OFFSET_METADATA_TOO_LARGE;
        }
        let value = Some(value_of(topic.topic_id, partition, now_ms));
        let (group, topic) = (&request.group_id, &topic.name);
        records.push(GroupRecord::offset_commit(group, topic, partition.partition_index, value));
        ErrorCode::NONE
    })
}

fn value_of(
    topic_id: Uuid,
    partition: &TxnOffsetCommitRequestPartition,
    now_ms: i64,
) -> OffsetCommitValue {
    OffsetCommitValue {
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition.committed_metadata.clone().unwrap_or_default(),
        commit_timestamp: now_ms,
        expire_timestamp: -1,
        topic_id,
        ..Default::default()
    }
}

impl ClassicGroup {
    /// Whether a producer may commit offsets of this group. The state of the group does not count, and the member's
    /// session goes on as it was, because it is not the member that is heard of.
    fn accept_transactional_commit(
        &self,
        request: &TxnOffsetCommitRequest,
    ) -> Result<(), ErrorCode> {
        let generation = request.generation_id_or_member_epoch;
        let is_empty = self.is(ClassicGroupState::Empty);
        if generation < 0 && is_empty || names_no_member(request, true) {
            return Ok(());
        }
        self.validate_member(&request.member_id, request.group_instance_id.as_deref())?;
        match self.is_generation_of(&request.member_id, generation) {
            true => Ok(()),
            false => Err(ErrorCode::ILLEGAL_GENERATION),
        }
    }
}
