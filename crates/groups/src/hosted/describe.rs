//! How a group that the coordinator assigns looks from outside: as the classic group that it is to its
//! members.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use thalweg_wire::messages::list_groups_response::ListedGroup;

use crate::classic::{CLASSIC, ClassicGroupState};
use crate::consumer::{CommittedGroup, committed_vote};
use crate::formats::CONSUMER_PROTOCOL_TYPE;
use crate::model::ConsumerMember;
use crate::step::assigned_bytes;

type Members<'a> = BTreeMap<&'a Arc<str>, &'a Arc<ConsumerMember>>;

/// The description in DescribeGroups.
pub(crate) fn describe(
    id: &str,
    group: &CommittedGroup<'_>,
    image: &MetadataImage,
) -> DescribedGroup {
    let members: &Members<'_> = &group.members;
    let protocol = committed_vote(group).unwrap_or_default();
    let protocol = protocol.as_str();
    DescribedGroup {
        group_id: id.to_owned(),
        group_state: ClassicGroupState::Stable.name().to_owned(),
        protocol_type: CONSUMER_PROTOCOL_TYPE.to_owned(),
        protocol_data: protocol.to_owned(),
        members: members.values().map(|member| describe_member(member, protocol, image)).collect(),
        ..Default::default()
    }
}

fn describe_member(
    member: &ConsumerMember,
    protocol: &str,
    image: &MetadataImage,
) -> DescribedGroupMember {
    let said = &member.metadata;
    let offered = said.classic.iter().flat_map(|classic| &classic.protocols);
    let metadata = offered.into_iter().find(|(name, _)| &**name == protocol);
    let metadata = metadata.map_or_else(Bytes::new, |(_, metadata)| metadata.clone());
    let assignment = assigned_bytes(member, &metadata, image).unwrap_or_default();
    DescribedGroupMember {
        member_id: member.id.to_string(),
        group_instance_id: said.instance_id.as_deref().map(str::to_owned),
        client_id: said.client_id.to_string(),
        client_host: said.client_host.to_string(),
        member_metadata: metadata,
        member_assignment: assignment,
        ..Default::default()
    }
}

/// The group's line in ListGroups.
pub(crate) fn list(id: &str) -> ListedGroup {
    ListedGroup {
        group_id: id.to_owned(),
        protocol_type: CONSUMER_PROTOCOL_TYPE.to_owned(),
        group_state: ClassicGroupState::Stable.name().to_owned(),
        group_type: CLASSIC.to_owned(),
        ..Default::default()
    }
}
