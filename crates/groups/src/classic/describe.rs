//! How groups look from outside: DescribeGroups and ListGroups.

use std::collections::BTreeSet;

use bytes::Bytes;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::ListGroupsRequest;
use thalweg_wire::messages::describe_groups_response::DescribedGroup;
use thalweg_wire::messages::list_groups_response::ListedGroup;

use super::group::ClassicGroup;
use super::state::ClassicGroupState;

/// Name of the kind of groups this is, in ListGroups.
pub(crate) const CLASSIC: &str = "classic";

/// First version of DescribeGroups with an error for groups that do not exist.
const FIRST_VERSION_WITH_NOT_FOUND: i16 = 6;

impl ClassicGroup {
    pub(crate) fn describe(&self) -> DescribedGroup {
        let stable = self.is(ClassicGroupState::Stable);
        // What members say is shown under the chosen protocol, which only a stable group has for sure.
        let protocol = self.protocol_name.as_deref().filter(|_| stable);
        DescribedGroup {
            group_id: self.id.to_string(),
            group_state: self.state.name().to_owned(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            protocol_data: protocol.unwrap_or_default().to_owned(),
            members: self
                .members
                .values()
                .map(|m| m.describe(protocol.map_or_else(Bytes::new, |p| m.metadata(p))))
                .collect(),
            ..Default::default()
        }
    }

    /// The description of a group that is none, or none of this type, as `message` says.
    pub(crate) fn describe_unknown(
        group_id: &str,
        api_version: i16,
        message: String,
    ) -> DescribedGroup {
        let mut described = DescribedGroup {
            group_id: group_id.to_owned(),
            group_state: ClassicGroupState::Dead.name().to_owned(),
            ..Default::default()
        };
        if api_version >= FIRST_VERSION_WITH_NOT_FOUND {
            described.error_code = ErrorCode::GROUP_ID_NOT_FOUND;
            described.error_message = Some(message);
        }
        described
    }

    pub(crate) fn list(&self) -> ListedGroup {
        ListedGroup {
            group_id: self.id.to_string(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            group_state: self.state.name().to_owned(),
            group_type: CLASSIC.to_owned(),
            ..Default::default()
        }
    }
}

/// Which groups a ListGroups request asks for. Case does not matter; a filter with only unknown
/// names lets nothing through.
pub(crate) struct ListFilter {
    states: BTreeSet<String>,
    /// Empty for all types.
    types: BTreeSet<String>,
}

impl ListFilter {
    pub(crate) fn new(request: &ListGroupsRequest) -> ListFilter {
        ListFilter {
            states: request
                .states_filter
                .iter()
                .map(|s| s.to_lowercase().trim().to_owned())
                .collect(),
            types: request.types_filter.iter().map(|t| t.to_lowercase()).collect(),
        }
    }

    pub(crate) fn lets_through(&self, group: &ListedGroup) -> bool {
        (self.types.is_empty() || self.types.contains(&group.group_type))
            && (self.states.is_empty() || self.states.contains(&group.group_state.to_lowercase()))
    }
}
