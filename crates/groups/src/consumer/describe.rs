//! How consumer groups look from outside: ConsumerGroupDescribe and ListGroups.

use std::collections::BTreeMap;

use thalweg_metadata::image::MetadataImage;
use thalweg_wire::grouped::by_topic;
use thalweg_wire::messages::consumer_group_describe_response::{
    Assignment, DescribedGroup, Member, TopicPartitions,
};
use thalweg_wire::messages::list_groups_response::ListedGroup;
use thalweg_wire::{ErrorCode, Uuid};

use super::group::{ConsumerGroupState, most_wanted};
use super::logged::CommittedGroup;
use crate::formats::CONSUMER_PROTOCOL_TYPE;
use crate::model::ConsumerMember;

/// Name of the type of groups this is, in ListGroups.
pub(crate) const CONSUMER: &str = "consumer";

/// `MemberType` of a member of the classic protocol.
const CLASSIC_MEMBER: i8 = 0;
/// `MemberType` of a member of the consumer protocol.
const CONSUMER_MEMBER: i8 = 1;

/// The description of a group that is not there.
pub(crate) fn describe_unknown(group_id: &str, message: String) -> DescribedGroup {
    DescribedGroup {
        group_id: group_id.to_owned(),
        error_code: ErrorCode::GROUP_ID_NOT_FOUND,
        error_message: Some(message),
        ..Default::default()
    }
}

fn assignment(partitions: impl Iterator<Item = (Uuid, i32)>, image: &MetadataImage) -> Assignment {
    let topic_partitions = by_topic(partitions, |topic_id, partitions| {
        let topic = image.topics.by_id(topic_id)?;
        Some(TopicPartitions {
            topic_id,
            topic_name: topic.name.to_string(),
            partitions,
            ..Default::default()
        })
    });
    Assignment {
        topic_partitions: topic_partitions.into_iter().flatten().collect(),
        ..Default::default()
    }
}

impl CommittedGroup<'_> {
    pub(crate) fn describe(
        &self,
        group_id: &str,
        default_assignor: &str,
        image: &MetadataImage,
    ) -> DescribedGroup {
        let mut assignors = BTreeMap::new();
        for name in self.members.values().filter_map(|m| m.metadata.server_assignor.as_ref()) {
            *assignors.entry(name.clone()).or_insert(0usize) += 1;
        }
        let assignor = most_wanted(assignors.iter());
        DescribedGroup {
            group_id: group_id.to_owned(),
            group_state: self.state().name().to_owned(),
            group_epoch: self.epochs.group,
            assignment_epoch: self.epochs.assignment,
            assignor_name: assignor.as_deref().unwrap_or(default_assignor).to_owned(),
            members: self.members.values().map(|m| self.describe_member(m, image)).collect(),
            ..Default::default()
        }
    }

    fn describe_member(&self, member: &ConsumerMember, image: &MetadataImage) -> Member {
        let said = &member.metadata;
        let owned = member.assigned.iter().chain(member.pending_revocation.iter());
        let target = self.targets.get(&member.id).into_iter().flat_map(|target| {
            target.iter().flat_map(|(id, partitions)| partitions.iter().map(move |&p| (id, p)))
        });
        Member {
            member_id: member.id.to_string(),
            instance_id: said.instance_id.as_ref().map(ToString::to_string),
            rack_id: said.rack_id.as_ref().map(ToString::to_string),
            member_epoch: member.epoch,
            client_id: said.client_id.to_string(),
            client_host: said.client_host.to_string(),
            subscribed_topic_names: said.topics.iter().map(ToString::to_string).collect(),
            subscribed_topic_regex: said.topic_regex.as_ref().map(ToString::to_string),
            assignment: assignment(owned.map(|o| (o.topic_id, o.partition)), image),
            target_assignment: assignment(target, image),
            member_type: if member.is_classic() { CLASSIC_MEMBER } else { CONSUMER_MEMBER },
            ..Default::default()
        }
    }
}

/// A group's line in ListGroups.
pub(crate) fn list(group_id: &str, state: ConsumerGroupState) -> ListedGroup {
    ListedGroup {
        group_id: group_id.to_owned(),
        protocol_type: CONSUMER_PROTOCOL_TYPE.to_owned(),
        group_state: state.name().to_owned(),
        group_type: CONSUMER.to_owned(),
        ..Default::default()
    }
}
