//! OffsetDelete, DeleteGroups' part in offsets, and topics that go away.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use thalweg_wire::messages::offset_delete_response::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use thalweg_wire::messages::{OffsetDeleteRequest, OffsetDeleteResponse};
use thalweg_wire::{ErrorCode, Uuid};

use crate::classic::{ClassicGroup, ClassicGroupState};
use crate::logged::Logged;
use crate::model::GroupRecord;

/// The error of a request for a group that may not lose offsets.
pub(crate) fn refuse_delete(group: &ClassicGroup) -> Option<OffsetDeleteResponse> {
    // The topics of members are known for consumers only; others must be gone first.
    let refused = !group.is(ClassicGroupState::Empty) && !group.uses_consumer_protocol();
    refused.then(|| OffsetDeleteResponse {
        error_code: ErrorCode::NON_EMPTY_GROUP,
        ..Default::default()
    })
}

/// Tombstones for the offsets asked for, but for topics that members are subscribed to.
pub(crate) fn delete_offsets(
    logged: &Logged,
    is_subscribed: impl Fn(&str) -> bool,
    request: &OffsetDeleteRequest,
    records: &mut Vec<GroupRecord>,
) -> OffsetDeleteResponse {
    let id = request.group_id.as_str();
    let mut response = OffsetDeleteResponse::default();
    for topic in &request.topics {
        let subscribed = is_subscribed(&topic.name);
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let index = partition.partition_index;
            let held = logged.offset(id, &topic.name, index).is_some()
                || logged.has_pending(id, &topic.name, index);
            if !subscribed && held {
                records.push(GroupRecord::offset_commit(id, &topic.name, index, None));
            }
            partitions.push(OffsetDeleteResponsePartition {
                partition_index: index,
                error_code: if subscribed {
                    ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC
                } else {
                    ErrorCode::NONE
                },
            });
        }
        response.topics.push(OffsetDeleteResponseTopic { name: topic.name.clone(), partitions });
    }
    response
}

/// Tombstones for everything a group holds.
pub(crate) fn delete_all_offsets(
    logged: &Logged,
    group: &str,
    records: &mut Vec<GroupRecord>,
) -> usize {
    let before = records.len();
    for (topic, partitions) in logged.offsets_of(group).into_iter().flatten() {
        for &partition in partitions.keys() {
            records.push(GroupRecord::offset_commit(group, topic, partition, None));
        }
    }
    for (topic, partition) in logged.pending_of(group) {
        if logged.offset(group, topic, partition).is_none() {
            records.push(GroupRecord::offset_commit(group, topic, partition, None));
        }
    }
    records.len() - before
}

/// Tombstones for the offsets of topics that are gone. Offsets without a topic id, from before there
/// were any, go by name.
pub(crate) fn delete_topics(
    logged: &Logged,
    topics: &[(Uuid, Arc<str>)],
    records: &mut Vec<GroupRecord>,
) {
    let names: HashSet<&str> = topics.iter().map(|(_, name)| &**name).collect();
    let deleted: HashSet<(&str, Uuid)> = topics.iter().map(|(id, name)| (&**name, *id)).collect();
    let is_deleted = |name: &str, id: Uuid| match id.is_zero() {
        true => names.contains(name),
        false => deleted.contains(&(name, id)),
    };
    let mut gone: BTreeSet<(Arc<str>, Arc<str>, i32)> = BTreeSet::new();
    for (group, offsets) in logged.offset_groups() {
        for name in &names {
            let Some((topic, partitions)) = offsets.get_key_value(*name) else { continue };
            for (&partition, offset) in partitions {
                if is_deleted(topic, offset.topic_id) {
                    gone.insert((group.clone(), topic.clone(), partition));
                }
            }
        }
    }
    for (group, topic, partition, topic_id) in logged.pending() {
        if is_deleted(topic, topic_id) {
            gone.insert((group.clone(), topic.clone(), partition));
        }
    }
    for (group, topic, partition) in gone {
        records.push(GroupRecord::offset_commit(&group, &topic, partition, None));
    }
}
