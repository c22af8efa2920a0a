//! OffsetCommit.

use thalweg_wire::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use thalweg_wire::messages::{OffsetCommitRequest, OffsetCommitResponse, OffsetCommitValue};
use thalweg_wire::{ErrorCode, Uuid};

use crate::classic::{ClassicGroup, ClassicGroupState, Env};
use crate::consumer::{CommitCheck, ConsumerGroup};
use crate::model::{
    GroupConfig, GroupRecord, GroupTimer, offset_commit_answer, offset_commit_error,
};

/// First version in which a group that does not exist is called that.
const FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND: i16 = 9;
/// `retention_time_ms` of requests that do not set one.
const BROKER_RETENTION: i64 = -1;

/// The group that offsets are committed of.
pub(crate) enum CommitGroup<'a> {
    /// There is none.
    None,
    /// A classic group.
    Classic(&'a mut ClassicGroup),
    /// A consumer group.
    Consumer {
        /// The group.
        group: &'a ConsumerGroup,
        /// Whether the coordinator assigns its classic members.
        is_hosted: bool,
    },
}

/// Whether the request may commit, and what.
fn admit<'a>(
    group: CommitGroup<'a>,
    request: &OffsetCommitRequest,
    api_version: i16,
    env: &mut Env<'_>,
) -> Result<CommitCheck<'a>, ErrorCode> {
    let epoch = request.generation_id_or_member_epoch;
    match group {
        CommitGroup::Classic(group) => group.accept_commit(request, env).map(|()| CommitCheck::Any),
        CommitGroup::Consumer { group, is_hosted } => {
            let instance_id = request.group_instance_id.as_deref();
            group.check_instance(instance_id, &request.member_id, is_hosted)?;
            let check = group.check_commit(&request.member_id, epoch, api_version, is_hosted)?;
            if is_hosted {
                keep_session(group, request, env);
            }
            Ok(check)
        }
        // Nobody manages this group: its offsets are somebody's own business.
        CommitGroup::None if epoch < 0 => Ok(CommitCheck::Any),
        CommitGroup::None if api_version >= FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND => {
            Err(ErrorCode::GROUP_ID_NOT_FOUND)
        }
        CommitGroup::None => Err(ErrorCode::ILLEGAL_GENERATION),
    }
}

/// A commit of a classic member extends its session, as in Kafka's classic groups.
fn keep_session(group: &ConsumerGroup, request: &OffsetCommitRequest, env: &mut Env<'_>) {
    let Some(member) = group.member(&request.member_id) else { return };
    let Some(classic) = &member.metadata.classic else { return };
    let timer = GroupTimer::ConsumerSession(request.group_id.as_str().into(), member.id.clone());
    env.out.schedule(timer, u64::try_from(classic.session_timeout_ms).unwrap_or(0));
}

/// Computes the records and the answer. A request with one partition that the member may not commit
/// is refused as a whole.
pub(crate) fn commit_offsets(
    group: CommitGroup<'_>,
    request: &OffsetCommitRequest,
    api_version: i16,
    env: &mut Env<'_>,
) -> OffsetCommitResponse {
    let check = match admit(group, request, api_version, env) {
        Ok(check) => check,
        Err(error) => return offset_commit_error(request, error),
    };
    for topic in &request.topics {
        for partition in &topic.partitions {
            if !metadata_is_too_large(partition.committed_metadata.as_deref(), env.config)
                && let Err(error) = check.partition(topic.topic_id, partition.partition_index)
            {
                return offset_commit_error(request, error);
            }
        }
    }
    let now_ms = env.now.wall_ms;
    let expire_timestamp = match request.retention_time_ms {
        BROKER_RETENTION => -1,
        retention_ms => now_ms.wrapping_add(retention_ms),
    };
    offset_commit_answer(request, |topic, partition| {
        let owned = check.owned(&topic.name, topic.topic_id, partition.partition_index);
        let refused = if metadata_is_too_large(partition.committed_metadata.as_deref(), env.config)
        {
            ErrorCode::OFFSET_METADATA_TOO_LARGE
        } else {
            owned.err().unwrap_or_default()
        };
        if refused.is_ok() {
            let value = value_of(topic, partition, now_ms, expire_timestamp);
            env.out.record(GroupRecord::offset_commit(
                &request.group_id,
                &topic.name,
                partition.partition_index,
                Some(value),
            ));
        }
        refused
    })
}

pub(super) fn metadata_is_too_large(text: Option<&str>, config: &GroupConfig) -> bool {
    // In UTF-16 code units, of which there are never more than bytes.
    let limit = config.offset_metadata_max_bytes;
    text.is_some_and(|text| text.len() > limit && text.encode_utf16().count() > limit)
}

fn value_of(
    topic: &OffsetCommitRequestTopic,
    partition: &OffsetCommitRequestPartition,
    now_ms: i64,
    expire_timestamp: i64,
) -> OffsetCommitValue {
    let mut value = OffsetCommitValue {
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition.committed_metadata.clone().unwrap_or_default(),
        commit_timestamp: now_ms,
        expire_timestamp,
        topic_id: topic.topic_id,
        ..Default::default()
    };
    if expire_timestamp != -1 {
        // The record version that has an expiry lacks these. What the log does not hold must not be
        // held before a restart either.
        value.leader_epoch = -1;
        value.topic_id = Uuid::ZERO;
    }
    value
}

impl ClassicGroup {
    /// Whether the request may commit offsets of this group. A member that does lives on.
    fn accept_commit(
        &mut self,
        request: &OffsetCommitRequest,
        env: &mut Env<'_>,
    ) -> Result<(), ErrorCode> {
        let generation = request.generation_id_or_member_epoch;
        let empty = self.is(ClassicGroupState::Empty);
        if generation < 0 && empty {
            // An administrator, or a consumer that assigns itself.
            return Ok(());
        }
        if generation >= 0 || !request.member_id.is_empty() || request.group_instance_id.is_some() {
            self.validate_member(&request.member_id, request.group_instance_id.as_deref())?;
            if !self.is_generation_of(&request.member_id, generation) {
                return Err(ErrorCode::ILLEGAL_GENERATION);
            }
        } else if !empty {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        }
        match self.state() {
            // The member knows the new generation, but not yet what is its to commit.
            ClassicGroupState::CompletingRebalance => Err(ErrorCode::REBALANCE_IN_PROGRESS),
            ClassicGroupState::Stable | ClassicGroupState::PreparingRebalance => {
                self.reschedule_session(&request.member_id, env);
                Ok(())
            }
            ClassicGroupState::Empty | ClassicGroupState::Dead => Ok(()),
        }
    }
}
