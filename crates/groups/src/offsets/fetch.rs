//! OffsetFetch of one group.

use std::collections::BTreeMap;

use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use thalweg_wire::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use thalweg_wire::{ErrorCode, Uuid};

use crate::consumer::check_fetch;
use crate::logged::{CommittedOffset, GroupEntry, Logged};
use crate::model::{no_offset, offset_fetch_error};

/// From committed state. The member and its epoch count unless the group `is_classic` to its members: Kafka's classic
/// groups look at neither. That is asked only where it matters, because it may be a look at all members.
pub(crate) fn fetch_committed(
    logged: &Logged,
    request: &OffsetFetchRequestGroup,
    api_version: i16,
    is_classic: impl FnOnce() -> bool,
) -> OffsetFetchResponseGroup {
    let group = logged.committed_group(&request.group_id);
    if matches!(group, Some(GroupEntry::Consumer)) {
        let find = |member: &str| logged.committed_member(&request.group_id, member);
        if let Err(error) = check_fetch(request.member_id.as_deref(), request.member_epoch, find)
            && !is_classic()
        {
            return offset_fetch_error(request, error, api_version);
        }
    }
    let exists = group.is_some();
    match &request.topics {
        Some(topics) => fetch_topics(request, topics, |topic, partition| {
            let offset = logged.committed_offset(&request.group_id, topic, partition);
            Ok(offset.filter(|_| exists))
        }),
        None if exists => {
            fetch_all(request, logged.committed_offsets_of(&request.group_id), |_, _| false)
        }
        None => empty(request),
    }
}

/// From everything written; the answer must wait until that is committed. Partitions that a
/// transaction in progress commits are UNSTABLE_OFFSET_COMMIT. `is_classic` as in [`fetch_committed`].
pub(crate) fn fetch_stable(
    logged: &Logged,
    request: &OffsetFetchRequestGroup,
    api_version: i16,
    is_classic: impl FnOnce() -> bool,
) -> OffsetFetchResponseGroup {
    let group = request.group_id.as_str();
    if let Some(members) = logged.consumer_group(group) {
        let find = |member: &str| members.member(member).map(|member| &**member);
        if let Err(error) = check_fetch(request.member_id.as_deref(), request.member_epoch, find)
            && !is_classic()
        {
            return offset_fetch_error(request, error, api_version);
        }
    }
    let exists = logged.group(group).is_some();
    let unstable = |topic: &str, partition| logged.has_pending(group, topic, partition);
    match &request.topics {
        Some(topics) => fetch_topics(request, topics, |topic, partition| {
            if unstable(topic, partition) {
                return Err(ErrorCode::UNSTABLE_OFFSET_COMMIT);
            }
            Ok(logged.offset(group, topic, partition).filter(|_| exists))
        }),
        None if exists => {
            let all = logged.offsets_of(group).into_iter().flatten();
            let all = all
                .map(|(topic, partitions)| {
                    (&**topic, partitions.iter().map(|(index, offset)| (*index, offset)).collect())
                })
                .collect();
            fetch_all(request, all, unstable)
        }
        None => empty(request),
    }
}

fn empty(request: &OffsetFetchRequestGroup) -> OffsetFetchResponseGroup {
    OffsetFetchResponseGroup { group_id: request.group_id.clone(), ..Default::default() }
}

fn fetch_topics<'l>(
    request: &OffsetFetchRequestGroup,
    topics: &[OffsetFetchRequestTopics],
    find: impl Fn(&str, i32) -> Result<Option<&'l CommittedOffset>, ErrorCode>,
) -> OffsetFetchResponseGroup {
    let mut response = empty(request);
    for topic in topics {
        let partitions = topic
            .partition_indexes
            .iter()
            .map(|&index| match find(&topic.name, index) {
                Err(error) => no_offset(index, error),
                // A topic that was deleted and created again has offsets of neither.
                Ok(Some(offset)) if !is_of_another_topic(offset, topic.topic_id) => {
                    found(index, offset)
                }
                Ok(_) => no_offset(index, ErrorCode::NONE),
            })
            .collect();
        response.topics.push(OffsetFetchResponseTopics {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            partitions,
            ..Default::default()
        });
    }
    response
}

fn is_of_another_topic(offset: &CommittedOffset, topic_id: Uuid) -> bool {
    !offset.topic_id.is_zero() && !topic_id.is_zero() && offset.topic_id != topic_id
}

fn fetch_all(
    request: &OffsetFetchRequestGroup,
    offsets: BTreeMap<&str, BTreeMap<i32, &CommittedOffset>>,
    unstable: impl Fn(&str, i32) -> bool,
) -> OffsetFetchResponseGroup {
    let mut response = empty(request);
    for (topic, partitions) in offsets {
        let partitions = partitions
            .into_iter()
            .map(|(index, offset)| {
                if unstable(topic, index) {
                    no_offset(index, ErrorCode::UNSTABLE_OFFSET_COMMIT)
                } else {
                    found(index, offset)
                }
            })
            .collect();
        response.topics.push(OffsetFetchResponseTopics {
            name: topic.to_owned(),
            partitions,
            ..Default::default()
        });
    }
    response
}

fn found(partition_index: i32, offset: &CommittedOffset) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: offset.offset,
        committed_leader_epoch: offset.leader_epoch,
        metadata: Some(offset.metadata.to_string()),
        ..Default::default()
    }
}
