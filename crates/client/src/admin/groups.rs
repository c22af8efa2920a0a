//! Groups and their members.

use std::collections::BTreeMap;

use thalweg_wire::messages::consumer_group_describe_response::{
    Assignment, DescribedGroup as ConsumerGroup, Member as ConsumerMember,
};
use thalweg_wire::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use thalweg_wire::messages::leave_group_request::MemberIdentity;
use thalweg_wire::messages::{
    ConsumerGroupDescribeRequest, DeleteGroupsRequest, DescribeGroupsRequest, LeaveGroupRequest,
    ListGroupsRequest,
};
use thalweg_wire::{ApiKey, ErrorCode};

use super::attempt::{Answers, at_least, for_all, join};
use super::{Admin, AdminError, AdminFuture, Results};
use crate::cluster::coordinator;
use crate::core::group::protocol;
use crate::core::partition::TopicPartition;
use crate::options::setters::setters;

/// Protocol of groups whose members are consumers.
const CONSUMER_PROTOCOL: &str = "consumer";

/// Which groups to list; all by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct GroupFilter {
    /// In one of these states: `Stable`, `Empty`, ... Needs brokers from 2.6 on.
    pub states: Vec<String>,
    /// Of one of these types: `Classic`, `Consumer`, ... Needs brokers from 3.8 on.
    pub kinds: Vec<String>,
    /// With one of these protocols: `consumer`, `connect`, or empty for groups that only keep
    /// offsets.
    pub protocols: Vec<String>,
}

setters! {
    GroupFilter {
        states: Vec<String> => with_states,
        kinds: Vec<String> => with_kinds,
        protocols: Vec<String> => with_protocols,
    }
}

/// A group in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GroupListing {
    /// Its id.
    pub id: String,
    /// What its members speak; empty where it never had any.
    pub protocol: String,
    /// Its state; not told by brokers before 2.6.
    pub state: Option<String>,
    /// Its type: `Classic`, `Consumer`, `Share`, `Streams`; not told by brokers before 3.8.
    pub kind: Option<String>,
    /// The broker that told of it, its coordinator.
    pub coordinator: i32,
}

/// How a group is kept together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroupKind {
    /// By a leader among the members.
    Classic,
    /// By the coordinator (KIP-848).
    Consumer,
}

impl GroupKind {
    /// Kafka's name of it.
    pub fn name(self) -> &'static str {
        match self {
            GroupKind::Classic => "Classic",
            GroupKind::Consumer => "Consumer",
        }
    }
}

/// A group with its members.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GroupDescription {
    /// Its id.
    pub id: String,
    /// How it is kept together.
    pub kind: GroupKind,
    /// Its state, in Kafka's words.
    pub state: String,
    /// What its members speak.
    pub protocol: String,
    /// Who assigns partitions: the assignor's name.
    pub assignor: String,
    /// The broker that keeps it together.
    pub coordinator: i32,
    /// Epoch of the group; KIP-848 only.
    pub epoch: Option<i32>,
    /// Epoch of the assignment that members are brought to; KIP-848 only.
    pub assignment_epoch: Option<i32>,
    /// By id.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GroupMember {
    /// Its id.
    pub id: String,
    /// Its `group.instance.id`, where it is static.
    pub instance_id: Option<String>,
    /// Its client's name.
    pub client_id: String,
    /// Where it connects from, as the coordinator shows it.
    pub host: String,
    /// Its rack, where it told.
    pub rack: Option<String>,
    /// Its epoch; KIP-848 only.
    pub epoch: Option<i32>,
    /// What it subscribed to; KIP-848 only.
    pub topics: Vec<String>,
    /// The pattern that it subscribed to.
    pub topic_regex: Option<String>,
    /// What it has, sorted. Nothing where members do not speak as consumers do.
    pub assignment: Vec<TopicPartition>,
    /// What it is to have, where that differs in kind: KIP-848 only.
    pub target_assignment: Option<Vec<TopicPartition>>,
    /// Whether it speaks the protocol of a consumer in a KIP-848 group; not told by brokers before
    /// 4.0, or of classic groups.
    pub is_classic: Option<bool>,
}

/// A member to take out of its group.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MemberToRemove {
    /// A static one, by its `group.instance.id`.
    Instance(String),
    /// By its id. Needs brokers from 2.4 on, as the other does.
    Member(String),
}

/// The groups that brokers listed, and for each broker whether it answered.
pub type ListedGroups = (Vec<GroupListing>, Results<i32, ()>);

impl Admin {
    /// Groups, by id. What a broker that could not be asked has is missing, and it is among the
    /// errors, by its id.
    pub fn list_groups<'a>(
        &'a self,
        filter: &'a GroupFilter,
    ) -> AdminFuture<'a, Result<ListedGroups, AdminError>> {
        Box::pin(self.list_groups_inner(filter))
    }

    async fn list_groups_inner(&self, filter: &GroupFilter) -> Result<ListedGroups, AdminError> {
        let api = ApiKey::LIST_GROUPS;
        let brokers = self.broker_ids(api).await?;
        let listed = self
            .settle(api, brokers, |brokers, _| {
                let asking = brokers.into_iter().map(|broker| {
                    let (admin, filter) = (self.clone(), filter.clone());
                    async move { (broker, admin.list_groups_of(broker, &filter).await) }
                });
                join(asking.collect::<Vec<_>>())
            })
            .await;
        let mut groups: BTreeMap<String, GroupListing> = BTreeMap::new();
        let mut failed = Results::new();
        for (broker, result) in listed {
            match result {
                Ok(of_broker) => groups.extend(of_broker.into_iter().map(|g| (g.id.clone(), g))),
                Err(error) => {
                    failed.insert(broker, Err(error));
                }
            }
        }
        let mut groups: Vec<GroupListing> = groups.into_values().collect();
        groups.retain(|group| {
            filter.protocols.is_empty() || filter.protocols.contains(&group.protocol)
        });
        Ok((groups, failed))
    }

    async fn list_groups_of(
        &self,
        broker: i32,
        filter: &GroupFilter,
    ) -> Result<Vec<GroupListing>, AdminError> {
        let connection = self.cluster.broker(broker).await?;
        let needed = match (filter.states.is_empty(), filter.kinds.is_empty()) {
            (true, true) => 0,
            (false, true) => 4,
            (_, false) => 5,
        };
        let version =
            at_least::<ListGroupsRequest>(&connection, needed, "listing groups by state or type")?;
        let request = ListGroupsRequest {
            states_filter: filter.states.clone(),
            types_filter: filter.kinds.clone(),
            ..Default::default()
        };
        let response = connection.send(&request).await?;
        AdminError::check(ApiKey::LIST_GROUPS, response.error_code, None)?;
        let listing = response.groups.into_iter().map(|group| GroupListing {
            id: group.group_id,
            protocol: group.protocol_type,
            state: (version >= 4).then_some(group.group_state),
            kind: (version >= 5).then(|| capitalized(&group.group_type)),
            coordinator: broker,
        });
        Ok(listing.collect())
    }

    /// Groups with their members, classic ones and those of KIP-848. One that is not there is an
    /// error; brokers before 4.1 say that it is `Dead` instead.
    pub fn describe_groups<G: Into<String>>(
        &self,
        groups: impl IntoIterator<Item = G>,
    ) -> AdminFuture<'_, Results<String, GroupDescription>> {
        fn boxed(
            admin: &Admin,
            groups: Vec<String>,
        ) -> AdminFuture<'_, Results<String, GroupDescription>> {
            Box::pin(admin.describe_groups_inner(groups))
        }
        boxed(self, groups.into_iter().map(Into::into).collect())
    }

    async fn describe_groups_inner(
        &self,
        groups: Vec<String>,
    ) -> Results<String, GroupDescription> {
        self.for_groups(ApiKey::DESCRIBE_GROUPS, groups, |admin, coordinator, groups, _| {
            admin.describe_groups_at(coordinator, groups)
        })
        .await
    }

    async fn describe_groups_at(
        self,
        coordinator: i32,
        groups: Vec<String>,
    ) -> Answers<String, GroupDescription> {
        let connection = match self.cluster.broker(coordinator).await {
            Ok(connection) => connection,
            Err(error) => return for_all(groups, error),
        };
        let mut answers = Vec::new();
        let mut classic = groups;
        if connection.version_of::<ConsumerGroupDescribeRequest>().is_ok() {
            let request =
                ConsumerGroupDescribeRequest { group_ids: classic.clone(), ..Default::default() };
            let response = match connection.send(&request).await {
                Ok(response) => response,
                Err(error) => return for_all(classic, error),
            };
            classic.clear();
            for group in response.groups {
                match group.error_code {
                    // It is another kind of group, if there is one, or the broker has none of
                    // this kind.
                    ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::UNSUPPORTED_VERSION => {
                        classic.push(group.group_id);
                    }
                    code => {
                        let api = ApiKey::CONSUMER_GROUP_DESCRIBE;
                        let message = group.error_message.as_deref();
                        let checked = AdminError::check(api, code, message);
                        let id = group.group_id.clone();
                        answers.push((id, checked.map(|()| consumer_group(group, coordinator))));
                    }
                }
            }
        }
        if classic.is_empty() {
            return answers;
        }
        let request = DescribeGroupsRequest { groups: classic.clone(), ..Default::default() };
        match connection.send(&request).await {
            Ok(response) => answers.extend(response.groups.into_iter().map(|group| {
                let api = ApiKey::DESCRIBE_GROUPS;
                let message = group.error_message.as_deref();
                let checked = AdminError::check(api, group.error_code, message);
                let id = group.group_id.clone();
                (id, checked.and_then(|()| classic_group(group, coordinator)))
            })),
            Err(error) => answers.extend(for_all(classic, error)),
        }
        answers
    }

    /// Deletes groups without members, and their offsets.
    pub fn delete_groups<G: Into<String>>(
        &self,
        groups: impl IntoIterator<Item = G>,
    ) -> AdminFuture<'_, Results<String, ()>> {
        fn boxed(admin: &Admin, groups: Vec<String>) -> AdminFuture<'_, Results<String, ()>> {
            Box::pin(admin.delete_groups_inner(groups))
        }
        boxed(self, groups.into_iter().map(Into::into).collect())
    }

    async fn delete_groups_inner(&self, groups: Vec<String>) -> Results<String, ()> {
        self.for_groups(
            ApiKey::DELETE_GROUPS,
            groups,
            |admin, coordinator, groups, left| async move {
                let request =
                    DeleteGroupsRequest { groups_names: groups.clone(), ..Default::default() };
                let sent = async {
                    admin.cluster.broker(coordinator).await?.send_within(&request, left).await
                };
                match sent.await {
                    Ok(response) => response
                        .results
                        .into_iter()
                        .map(|group| {
                            let api = ApiKey::DELETE_GROUPS;
                            let message = group.error_message.as_deref();
                            (group.group_id, AdminError::check(api, group.error_code, message))
                        })
                        .collect(),
                    Err(error) => for_all(groups, error),
                }
            },
        )
        .await
    }

    /// Takes members out of a classic group, as if they had left; `reason` is for the broker's log.
    pub fn remove_members<'a>(
        &'a self,
        group: &'a str,
        members: impl IntoIterator<Item = MemberToRemove>,
        reason: &'a str,
    ) -> AdminFuture<'a, Results<MemberToRemove, ()>> {
        fn boxed<'a>(
            admin: &'a Admin,
            group: &'a str,
            members: Vec<MemberToRemove>,
            reason: &'a str,
        ) -> AdminFuture<'a, Results<MemberToRemove, ()>> {
            Box::pin(admin.remove_members_inner(group, members, reason))
        }
        boxed(self, group, members.into_iter().collect(), reason)
    }

    async fn remove_members_inner(
        &self,
        group: &str,
        members: Vec<MemberToRemove>,
        reason: &str,
    ) -> Results<MemberToRemove, ()> {
        let api = ApiKey::LEAVE_GROUP;
        self.settle(api, members, |members, _| async move {
            let left = self.remove_members_once(group, members.clone(), reason).await;
            left.unwrap_or_else(|error| for_all(members, error))
        })
        .await
    }

    async fn remove_members_once(
        &self,
        group: &str,
        members: Vec<MemberToRemove>,
        reason: &str,
    ) -> Result<Answers<MemberToRemove, ()>, AdminError> {
        let api = ApiKey::LEAVE_GROUP;
        let coordinator = coordinator::find(&self.cluster, group).await?;
        let connection = self.cluster.broker(coordinator).await?;
        let version = at_least::<LeaveGroupRequest>(&connection, 3, "removing members")?;
        let identity = |member: &MemberToRemove| {
            let (member_id, instance) = match member {
                MemberToRemove::Instance(id) => (String::new(), Some(id.clone())),
                MemberToRemove::Member(id) => (id.clone(), None),
            };
            MemberIdentity {
                member_id,
                group_instance_id: instance,
                reason: (version >= 5 && !reason.is_empty()).then(|| reason.to_owned()),
                ..Default::default()
            }
        };
        let request = LeaveGroupRequest {
            group_id: group.to_owned(),
            members: members.iter().map(identity).collect(),
            ..Default::default()
        };
        let response = connection.send(&request).await?;
        AdminError::check(api, response.error_code, None)?;
        let answers = response.members.into_iter().map(|member| {
            let result = AdminError::check(api, member.error_code, None);
            let key = match member.group_instance_id {
                Some(id) => MemberToRemove::Instance(id),
                None => MemberToRemove::Member(member.member_id),
            };
            (key, result)
        });
        Ok(answers.collect())
    }
}

/// Brokers write types in lower case, and take them in any; Kafka's tools write them like this.
fn capitalized(kind: &str) -> String {
    let mut rest = kind.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

fn consumer_group(group: ConsumerGroup, coordinator: i32) -> GroupDescription {
    let mut members: Vec<GroupMember> = group.members.into_iter().map(consumer_member).collect();
    members.sort_by(|one, other| one.id.cmp(&other.id));
    GroupDescription {
        id: group.group_id,
        kind: GroupKind::Consumer,
        state: group.group_state,
        protocol: CONSUMER_PROTOCOL.to_owned(),
        assignor: group.assignor_name,
        coordinator,
        epoch: Some(group.group_epoch),
        assignment_epoch: Some(group.assignment_epoch),
        members,
    }
}

fn consumer_member(member: ConsumerMember) -> GroupMember {
    GroupMember {
        id: member.member_id,
        instance_id: member.instance_id,
        client_id: member.client_id,
        host: member.client_host,
        rack: member.rack_id,
        epoch: Some(member.member_epoch),
        topics: member.subscribed_topic_names,
        topic_regex: member.subscribed_topic_regex.filter(|regex| !regex.is_empty()),
        assignment: partitions(member.assignment),
        target_assignment: Some(partitions(member.target_assignment)),
        is_classic: match member.member_type {
            0 => Some(true),
            1 => Some(false),
            _ => None,
        },
    }
}

fn partitions(assignment: Assignment) -> Vec<TopicPartition> {
    let mut all = Vec::new();
    for topic in assignment.topic_partitions {
        let name: std::sync::Arc<str> = topic.topic_name.into();
        all.extend(topic.partitions.into_iter().map(|p| TopicPartition::new(name.clone(), p)));
    }
    all.sort();
    all
}

fn classic_group(group: DescribedGroup, coordinator: i32) -> Result<GroupDescription, AdminError> {
    let is_consumer = group.protocol_type == CONSUMER_PROTOCOL;
    let members = group.members.into_iter().map(|member| classic_member(member, is_consumer));
    let mut members = members.collect::<Result<Vec<GroupMember>, AdminError>>()?;
    members.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(GroupDescription {
        id: group.group_id,
        kind: GroupKind::Classic,
        state: group.group_state,
        protocol: group.protocol_type,
        assignor: group.protocol_data,
        coordinator,
        epoch: None,
        assignment_epoch: None,
        members,
    })
}

fn classic_member(
    member: DescribedGroupMember,
    is_consumer: bool,
) -> Result<GroupMember, AdminError> {
    let mut assignment = Vec::new();
    // While a group rebalances there is none.
    if is_consumer && !member.member_assignment.is_empty() {
        assignment = protocol::decode_assignment(&member.member_assignment).map_err(|error| {
            AdminError::Invalid(format!("member {} has an assignment {error}", member.member_id))
        })?;
        assignment.sort();
    }
    Ok(GroupMember {
        id: member.member_id,
        instance_id: member.group_instance_id,
        client_id: member.client_id,
        host: member.client_host,
        rack: None,
        epoch: None,
        topics: Vec::new(),
        topic_regex: None,
        assignment,
        target_assignment: None,
        is_classic: None,
    })
}
