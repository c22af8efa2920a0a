//! The APIs of the group coordinator: cut by shard, resolved against the topics there are, put
//! together again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use thalweg_groups::{
    GroupRequest, GroupResponse, HeldHeartbeat, RequestContext, Submission, offset_commit_error,
    partition_for,
};
use thalweg_wire::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use thalweg_wire::messages::offset_delete_response::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use thalweg_wire::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use thalweg_wire::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use thalweg_wire::messages::*;
use thalweg_wire::{ErrorCode, GROUP_REBALANCES_TAG, Uuid};

use crate::api::context::Context;
use crate::coordination::runtime::Submitted;
use crate::net::budget::Charge;
use crate::replicas::Replicas;
use crate::replicas::topics::TopicTable;
use thalweg_metadata::controller::OFFSETS_TOPIC;
use thalweg_metadata::features::GROUP_VERSION;

fn request_context(context: &Context) -> RequestContext {
    RequestContext {
        api_version: context.version,
        client_id: Arc::clone(&context.client_id),
        client_host: Arc::clone(context.peer.host()),
        random: context.services.node.random().u128(),
        hold: None,
        connection: None,
        is_repeat: false,
    }
}

/// Partitions of the groups' topic; 0 while there is none.
pub(super) fn shards(replicas: &Replicas) -> u32 {
    let table = replicas.topics();
    table.by_name(OFFSETS_TOPIC).map_or(0, |topic| u32::try_from(topic.slots().len()).unwrap_or(0))
}

/// The partition of the groups' topic that a group lives in; `None` while there is no such topic.
pub(super) fn partition_of(context: &Context, group: &str) -> Option<i32> {
    let shards = shards(&context.services.replicas);
    (shards > 0).then(|| partition_for(group, shards))
}

/// Asks the shard of `group`.
fn submit(context: &Context, group: &str, request: GroupRequest) -> Submitted<GroupResponse> {
    submit_to(context, partition_of(context, group), request, None)
}

/// A request that belongs to no connection of a member.
pub(super) fn submission(context: &Context, request: GroupRequest) -> Submission {
    Submission { context: request_context(context), request }
}

/// Asks the shard of a partition. `hold` is of a heartbeat whose answer may be kept back.
pub(super) fn submit_to(
    context: &Context,
    partition: Option<i32>,
    request: GroupRequest,
    hold: Option<&Arc<HeldHeartbeat>>,
) -> Submitted<GroupResponse> {
    let connection =
        request.member().and_then(|(group, member)| context.members.note(group, member));
    let submission = Submission {
        context: RequestContext { hold: hold.cloned(), connection, ..request_context(context) },
        request,
    };
    context.services.coordination.groups().submit(partition, submission, None)
}

/// Asks the shard once more, with a request that was held. It says nothing about the member's connections.
pub(super) fn submit_again(
    context: &Context,
    partition: Option<i32>,
    request: GroupRequest,
    hold: Option<&Arc<HeldHeartbeat>>,
) -> Submitted<GroupResponse> {
    let submission = Submission {
        context: RequestContext {
            hold: hold.cloned(),
            is_repeat: true,
            ..request_context(context)
        },
        request,
    };
    context.services.coordination.groups().submit(partition, submission, None)
}

/// The answer for the version asked in, or the one for a coordinator that went away.
async fn answer(
    context: &Context,
    submitted: Submitted<GroupResponse>,
    gone: impl FnOnce() -> GroupResponse,
) -> GroupResponse {
    submitted.wait().await.unwrap_or_else(gone).for_version(context.version)
}

macro_rules! one_group {
    ($name:ident, $request:ident, $response:ident, $variant:ident) => {
        pub(super) async fn $name(context: Context, request: $request, held: Charge) -> $response {
            let partition = partition_of(&context, &request.group_id);
            let submitted = submit_to(&context, partition, GroupRequest::$variant(request), None);
            // The coordinator has consumed the request. What it keeps has an account of its own.
            drop(held);
            let gone = || {
                GroupResponse::$variant($response {
                    error_code: ErrorCode::NOT_COORDINATOR,
                    ..Default::default()
                })
            };
            match answer(&context, submitted, gone).await {
                GroupResponse::$variant(response) => response,
                _ => {
                    $response { error_code: ErrorCode::UNKNOWN_SERVER_ERROR, ..Default::default() }
                }
            }
        }
    };
}

one_group!(join, JoinGroupRequest, JoinGroupResponse, JoinGroup);
one_group!(leave, LeaveGroupRequest, LeaveGroupResponse, LeaveGroup);

/// Whether groups of the consumer protocol (KIP-848) are served: its feature is finalized for the
/// cluster, and the broker's configuration does not leave it out. Their APIs are listed all the same, as
/// in Kafka.
pub(super) fn has_consumer_protocol(context: &Context) -> bool {
    let services = &context.services;
    services.node.settings().has_consumer_protocol
        && services.node.image().features.level(GROUP_VERSION) >= 1
}

/// Groups by the shard they live in, in the order of the request.
fn by_shard(context: &Context, groups: Vec<String>) -> Vec<Vec<String>> {
    let shards = shards(&context.services.replicas);
    let mut cut: BTreeMap<i32, Vec<String>> = BTreeMap::new();
    for group in groups {
        cut.entry(partition_for(&group, shards)).or_default().push(group);
    }
    cut.into_values().collect()
}

/// Asks the shards of groups, all at the same time, for each shard's groups with `request`. There is no answer of a
/// shard that is not here.
async fn ask_shards(
    context: &Context,
    groups: Vec<String>,
    request: impl Fn(Vec<String>) -> GroupRequest,
) -> Vec<GroupResponse> {
    let submitted: Vec<_> = by_shard(context, groups)
        .into_iter()
        .map(|groups| {
            let first = groups[0].clone();
            submit(context, &first, request(groups))
        })
        .collect();
    let mut answers = Vec::with_capacity(submitted.len());
    for one in submitted {
        answers.extend(one.wait().await);
    }
    answers
}

pub(super) async fn describe(
    context: Context,
    request: DescribeGroupsRequest,
) -> DescribeGroupsResponse {
    // Once each, however often a group is named: an answer is no larger than what there is.
    let mut named = HashSet::new();
    let rebalances = request.unknown_tags.iter().any(|(tag, _)| *tag == GROUP_REBALANCES_TAG);
    let mut order = request.groups;
    order.retain(|group| named.insert(group.clone()));
    let ask = |groups| GroupRequest::DescribeGroups { groups, rebalances };
    let mut found = BTreeMap::new();
    for answer in ask_shards(&context, order.clone(), ask).await {
        if let GroupResponse::DescribeGroups(groups) = answer {
            found.extend(groups.into_iter().map(|group| (group.group_id.clone(), group)));
        }
    }
    let groups = order
        .into_iter()
        .map(|group_id| {
            let mut group = found.remove(&group_id).unwrap_or_else(|| {
                describe_groups_response::DescribedGroup {
                    group_id,
                    error_code: ErrorCode::NOT_COORDINATOR,
                    ..Default::default()
                }
            });
            if request.include_authorized_operations && group.error_code.is_ok() {
                group.authorized_operations = super::operations::GROUP_OPERATIONS;
            }
            group
        })
        .collect();
    DescribeGroupsResponse { groups, ..Default::default() }
}

pub(super) async fn consumer_describe(
    context: Context,
    request: ConsumerGroupDescribeRequest,
) -> ConsumerGroupDescribeResponse {
    let failed = |group_id: String, error_code| consumer_group_describe_response::DescribedGroup {
        group_id,
        error_code,
        ..Default::default()
    };
    // Once each, as in `describe`.
    let mut named = HashSet::new();
    let mut order = request.group_ids;
    order.retain(|group| named.insert(group.clone()));
    if !has_consumer_protocol(&context) {
        let refused = |id| failed(id, ErrorCode::UNSUPPORTED_VERSION);
        let groups = order.into_iter().map(refused).collect();
        return ConsumerGroupDescribeResponse { groups, ..Default::default() };
    }
    let asked = order.iter().filter(|group| !group.is_empty()).cloned().collect();
    let mut found = BTreeMap::new();
    for answer in ask_shards(&context, asked, GroupRequest::ConsumerGroupDescribe).await {
        if let GroupResponse::ConsumerGroupDescribe(groups) = answer {
            found.extend(groups.into_iter().map(|group| (group.group_id.clone(), group)));
        }
    }
    let groups = order
        .into_iter()
        .map(|id| {
            if id.is_empty() {
                return failed(id, ErrorCode::INVALID_GROUP_ID);
            }
            let found = found.remove(&id);
            let mut group = found.unwrap_or_else(|| failed(id, ErrorCode::NOT_COORDINATOR));
            if request.include_authorized_operations && group.error_code.is_ok() {
                group.authorized_operations = super::operations::GROUP_OPERATIONS;
            }
            group
        })
        .collect();
    ConsumerGroupDescribeResponse { groups, ..Default::default() }
}

pub(super) async fn list(context: Context, request: ListGroupsRequest) -> ListGroupsResponse {
    let submission = Submission {
        context: request_context(&context),
        request: GroupRequest::ListGroups(request),
    };
    let mut parts = Vec::new();
    for one in context.services.coordination.groups().submit_all(&submission) {
        parts.push(one.wait().await);
    }
    listed(parts)
}

/// The groups of all shards; the error of a shard that is loading or gave no answer. As in Kafka, a shard that has moved to
/// another broker answers with no groups (`Submission::refused`).
fn listed(parts: Vec<Option<GroupResponse>>) -> ListGroupsResponse {
    let mut out = ListGroupsResponse::default();
    for part in parts {
        let error_code = match part {
            Some(GroupResponse::ListGroups(part)) if part.error_code.is_ok() => {
                out.groups.extend(part.groups);
                continue;
            }
            Some(GroupResponse::ListGroups(part)) => part.error_code,
            None => ErrorCode::COORDINATOR_NOT_AVAILABLE,
            Some(_) => ErrorCode::UNKNOWN_SERVER_ERROR,
        };
        return ListGroupsResponse { error_code, ..Default::default() };
    }
    out
}

pub(super) async fn delete(context: Context, request: DeleteGroupsRequest) -> DeleteGroupsResponse {
    let mut names = request.groups_names;
    names.sort();
    names.dedup();
    let submitted: Vec<_> = by_shard(&context, names)
        .into_iter()
        .map(|groups| {
            let first = groups[0].clone();
            let request = GroupRequest::DeleteGroups(groups.clone());
            (groups, submit(&context, &first, request))
        })
        .collect();
    let mut out = DeleteGroupsResponse::default();
    for (groups, one) in submitted {
        match one.wait().await {
            Some(GroupResponse::DeleteGroups(results)) => out.results.extend(results),
            _ => out.results.extend(groups.into_iter().map(|group_id| {
                delete_groups_response::DeletableGroupResult {
                    group_id,
                    error_code: ErrorCode::NOT_COORDINATOR,
                    ..Default::default()
                }
            })),
        }
    }
    out
}

pub(super) async fn offset_commit(
    context: Context,
    mut request: OffsetCommitRequest,
    held: Charge,
) -> OffsetCommitResponse {
    let by_id = context.version >= 10;
    let refused = take_unknown(
        &context.services.replicas.topics(),
        by_id,
        &mut request.topics,
        |topic| (&mut topic.name, &mut topic.topic_id, &mut topic.partitions),
        |partition| partition.partition_index,
        |topic, unknown, error_code| OffsetCommitResponseTopic {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            partitions: unknown
                .map(|partition_index| OffsetCommitResponsePartition {
                    partition_index,
                    error_code,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        },
    );
    let mut response = if request.topics.is_empty() {
        OffsetCommitResponse::default()
    } else {
        let gone = offset_commit_error(&request, ErrorCode::NOT_COORDINATOR);
        let unreadable = offset_commit_error(&request, ErrorCode::UNKNOWN_SERVER_ERROR);
        let group = request.group_id.clone();
        let submitted = submit(&context, &group, GroupRequest::OffsetCommit(request));
        drop(held);
        match answer(&context, submitted, || GroupResponse::OffsetCommit(gone)).await {
            GroupResponse::OffsetCommit(response) => response,
            // An answer without partitions reads as success.
            _ => unreadable,
        }
    };
    let key = |topic: &OffsetCommitResponseTopic| {
        if by_id { (topic.topic_id, String::new()) } else { (Uuid::ZERO, topic.name.clone()) }
    };
    merge(&mut response.topics, refused, key, |there, topic| {
        there.partitions.extend(topic.partitions);
    });
    response
}

/// Gives each topic of a commit its name and its id (KIP-1319), and takes out what is not there, with what `answer`
/// makes of the indexes of a topic's unknown partitions and their error.
pub(super) fn take_unknown<T, P, A>(
    table: &TopicTable,
    by_id: bool,
    topics: &mut Vec<T>,
    parts: fn(&mut T) -> (&mut String, &mut Uuid, &mut Vec<P>),
    index_of: fn(&P) -> i32,
    answer: impl Fn(&T, std::vec::IntoIter<i32>, ErrorCode) -> A,
) -> Vec<A> {
    let mut refused = Vec::new();
    topics.retain_mut(|topic| {
        let (name, id, partitions) = parts(topic);
        let known = if by_id { table.by_id(*id) } else { table.by_name(name) };
        let (count, code) = match known {
            Some(known) => {
                *name = known.name.to_string();
                *id = known.id;
                (known.slots().len(), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
            }
            None if by_id => (0, ErrorCode::UNKNOWN_TOPIC_ID),
            None => (0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        };
        let unknown = take_unknown_partitions(partitions, count, index_of);
        let is_left = !partitions.is_empty();
        if !unknown.is_empty() {
            refused.push(answer(topic, unknown.into_iter(), code));
        }
        is_left
    });
    refused
}

/// Takes out the partitions that a topic of so many does not have; gives their indexes.
fn take_unknown_partitions<P>(
    partitions: &mut Vec<P>,
    count: usize,
    index_of: fn(&P) -> i32,
) -> Vec<i32> {
    let is_there = |p: &P| usize::try_from(index_of(p)).is_ok_and(|index| index < count);
    partitions.extract_if(.., |p| !is_there(p)).map(|p| index_of(&p)).collect()
}

/// Adds topics to those of an answer, each topic once.
pub(super) fn merge<T, K: Hash + Eq>(
    topics: &mut Vec<T>,
    more: Vec<T>,
    key: impl Fn(&T) -> K,
    add: impl Fn(&mut T, T),
) {
    if more.is_empty() {
        return;
    }
    let mut places: HashMap<K, usize> =
        topics.iter().enumerate().map(|(at, topic)| (key(topic), at)).collect();
    for topic in more {
        let at = *places.entry(key(&topic)).or_insert(topics.len());
        match topics.get_mut(at) {
            Some(there) => add(there, topic),
            None => topics.push(topic),
        }
    }
}

/// A request below version 8 asks for one group, with its fields at the top.
fn fetch_groups(request: &OffsetFetchRequest, version: i16) -> Vec<OffsetFetchRequestGroup> {
    if version >= 8 {
        return request.groups.clone();
    }
    let topics = request.topics.as_ref().map(|topics| {
        topics
            .iter()
            .map(|topic| OffsetFetchRequestTopics {
                name: topic.name.clone(),
                partition_indexes: topic.partition_indexes.clone(),
                ..Default::default()
            })
            .collect()
    });
    vec![OffsetFetchRequestGroup {
        group_id: request.group_id.clone(),
        topics,
        ..Default::default()
    }]
}

pub(super) async fn offset_fetch(
    context: Context,
    request: OffsetFetchRequest,
) -> OffsetFetchResponse {
    let by_id = context.version >= 10;
    let mut pending = Vec::new();
    for mut group in fetch_groups(&request, context.version) {
        let mut unknown: Vec<OffsetFetchResponseTopics> = Vec::new();
        if by_id && let Some(topics) = &mut group.topics {
            let table = context.services.replicas.topics();
            topics.retain_mut(|topic| match table.by_id(topic.topic_id) {
                Some(known) => {
                    topic.name = known.name.to_string();
                    true
                }
                None => {
                    let partitions = topic
                        .partition_indexes
                        .iter()
                        .map(|&partition_index| OffsetFetchResponsePartitions {
                            partition_index,
                            committed_offset: -1,
                            committed_leader_epoch: -1,
                            metadata: Some(String::new()),
                            error_code: ErrorCode::UNKNOWN_TOPIC_ID,
                            ..Default::default()
                        })
                        .collect();
                    unknown.push(OffsetFetchResponseTopics {
                        topic_id: topic.topic_id,
                        partitions,
                        ..Default::default()
                    });
                    false
                }
            });
        }
        let id = group.group_id.clone();
        let submitted = submit(
            &context,
            &id,
            GroupRequest::OffsetFetch { group, require_stable: request.require_stable },
        );
        pending.push((id, unknown, submitted));
    }
    let mut groups = Vec::with_capacity(pending.len());
    for (group_id, unknown, submitted) in pending {
        let mut group = match submitted.wait().await {
            Some(GroupResponse::OffsetFetch(group)) => group,
            _ => OffsetFetchResponseGroup {
                group_id,
                error_code: ErrorCode::NOT_COORDINATOR,
                ..Default::default()
            },
        };
        if by_id && group.error_code.is_ok() {
            let table = context.services.replicas.topics();
            group.topics.retain_mut(|topic| {
                if topic.topic_id.is_zero() {
                    // Offsets of a topic that is gone cannot be named in this version.
                    topic.topic_id = table.by_name(&topic.name).map_or(Uuid::ZERO, |t| t.id);
                }
                !topic.topic_id.is_zero()
            });
        }
        if group.error_code.is_ok() {
            group.topics.extend(unknown);
        }
        groups.push(group);
    }
    if context.version >= 8 {
        return OffsetFetchResponse { groups, ..Default::default() };
    }
    single_group(groups.pop().unwrap_or_default())
}

/// The answer's form below version 8.
fn single_group(group: OffsetFetchResponseGroup) -> OffsetFetchResponse {
    let topics = group
        .topics
        .into_iter()
        .map(|topic| OffsetFetchResponseTopic {
            name: topic.name,
            partitions: topic
                .partitions
                .into_iter()
                .map(|p| OffsetFetchResponsePartition {
                    partition_index: p.partition_index,
                    committed_offset: p.committed_offset,
                    committed_leader_epoch: p.committed_leader_epoch,
                    metadata: p.metadata,
                    error_code: p.error_code,
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        })
        .collect();
    OffsetFetchResponse { topics, error_code: group.error_code, ..Default::default() }
}

pub(super) async fn offset_delete(
    context: Context,
    mut request: OffsetDeleteRequest,
) -> OffsetDeleteResponse {
    let mut unknown: Vec<OffsetDeleteResponseTopic> = Vec::new();
    {
        let table = context.services.replicas.topics();
        request.topics.retain_mut(|topic| {
            let slots = table.by_name(&topic.name).map_or(0, |known| known.slots().len());
            let gone = take_unknown_partitions(&mut topic.partitions, slots, |p| p.partition_index);
            if !gone.is_empty() {
                let gone = gone.into_iter().map(|partition_index| OffsetDeleteResponsePartition {
                    partition_index,
                    error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                });
                let name = topic.name.clone();
                unknown.push(OffsetDeleteResponseTopic { name, partitions: gone.collect() });
            }
            !topic.partitions.is_empty()
        });
    }
    let failed =
        |error_code| OffsetDeleteResponse { error_code, ..OffsetDeleteResponse::default() };
    let mut response = OffsetDeleteResponse::default();
    // Kafka looks at the group id before the topics, and at the group only if a topic is left.
    if !request.topics.is_empty() || unknown.is_empty() || request.group_id.is_empty() {
        let group = request.group_id.clone();
        let submitted = submit(&context, &group, GroupRequest::OffsetDelete(request));
        let gone = || GroupResponse::OffsetDelete(failed(ErrorCode::NOT_COORDINATOR));
        response = match answer(&context, submitted, gone).await {
            GroupResponse::OffsetDelete(answer) => answer,
            _ => failed(ErrorCode::UNKNOWN_SERVER_ERROR),
        };
    }
    if response.error_code.is_ok() {
        merge(
            &mut response.topics,
            unknown,
            |topic| topic.name.clone(),
            |there, topic| {
                there.partitions.extend(topic.partitions);
            },
        );
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(error_code: ErrorCode, group: &str) -> Option<GroupResponse> {
        let group =
            list_groups_response::ListedGroup { group_id: group.into(), ..Default::default() };
        let part = ListGroupsResponse { error_code, groups: vec![group], ..Default::default() };
        Some(GroupResponse::ListGroups(part))
    }

    #[test]
    fn a_shard_that_does_not_answer_is_an_error_of_list_groups() {
        let all = listed(vec![part(ErrorCode::NONE, "a"), part(ErrorCode::NONE, "b")]);
        assert_eq!((all.error_code, all.groups.len()), (ErrorCode::NONE, 2));
        let heartbeat = Some(GroupResponse::Heartbeat(HeartbeatResponse::default()));
        for (missing, code) in [
            (None, ErrorCode::COORDINATOR_NOT_AVAILABLE),
            (
                part(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS, "b"),
                ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
            ),
            (heartbeat, ErrorCode::UNKNOWN_SERVER_ERROR),
        ] {
            let listed = listed(vec![part(ErrorCode::NONE, "a"), missing]);
            assert_eq!((listed.error_code, listed.groups.len()), (code, 0));
        }
    }

    #[test]
    fn a_shard_that_has_moved_is_left_out_of_list_groups() {
        let request = GroupRequest::ListGroups(ListGroupsRequest::default());
        let submission = Submission { context: RequestContext::default(), request };
        let of = |code| Some(submission.refused(code));
        let all = listed(vec![part(ErrorCode::NONE, "a"), of(ErrorCode::NOT_COORDINATOR)]);
        assert_eq!((all.error_code, all.groups.len()), (ErrorCode::NONE, 1));
        let loading = ErrorCode::COORDINATOR_LOAD_IN_PROGRESS;
        let none = listed(vec![part(ErrorCode::NONE, "a"), of(loading)]);
        assert_eq!((none.error_code, none.groups.len()), (loading, 0));
    }
}
