//! Requests of administrators, about groups of any kind: DescribeGroups, ListGroups, DeleteGroups; and the
//! counts for the metrics.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_coordinator::Now;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::describe_groups_response::DescribedGroup;
use thalweg_wire::messages::{ListGroupsRequest, ListGroupsResponse};

use super::{GroupShard, Out};
use crate::classic::{ClassicGroup, ClassicGroupState, ListFilter};
use crate::consumer::{ConsumerGroupState, list as list_consumer_group};
use crate::hosted::list as list_hosted;
use crate::logged::GroupKind;
use crate::model::{
    GroupCounts, GroupRecord, GroupResponse, RequestContext, deleted_group, list_reserved,
};
use crate::offsets::delete_all_offsets;

impl GroupShard {
    pub(super) fn count(&self, id: &Arc<str>, counts: &mut GroupCounts) {
        let kind = self.kind(id);
        match kind {
            GroupKind::Absent | GroupKind::Reserved(_) => {}
            GroupKind::Classic => {
                let Some(group) = self.classic_groups.get(id) else { return };
                counts.members += group.members().len();
                match group.state() {
                    ClassicGroupState::Empty => counts.empty += 1,
                    ClassicGroupState::PreparingRebalance => counts.preparing_rebalance += 1,
                    ClassicGroupState::CompletingRebalance => counts.completing_rebalance += 1,
                    ClassicGroupState::Stable => counts.stable += 1,
                    ClassicGroupState::Dead => counts.dead += 1,
                }
            }
            GroupKind::EmptyConsumer | GroupKind::Consumer | GroupKind::Hosted => {
                let Some(group) = self.logged.consumer_group(id) else { return };
                counts.members += group.members().len();
                if kind == GroupKind::Hosted {
                    counts.stable += 1;
                    return;
                }
                match group.state() {
                    ConsumerGroupState::Empty => counts.consumer_empty += 1,
                    ConsumerGroupState::Assigning => counts.consumer_assigning += 1,
                    ConsumerGroupState::Reconciling => counts.consumer_reconciling += 1,
                    ConsumerGroupState::Stable => counts.consumer_stable += 1,
                }
            }
        }
    }

    pub(super) fn describe(
        &self,
        context: &RequestContext,
        group_ids: &[String],
        rebalances: bool,
    ) -> GroupResponse {
        let unknown =
            |id: &str, message| ClassicGroup::describe_unknown(id, context.api_version, message);
        let not_found = |id: &str| unknown(id, format!("Group {id} not found."));
        let not_classic = |id: &str| unknown(id, format!("Group {id} is not a classic group."));
        let describe = |id: &String| -> DescribedGroup {
            match self.committed_kind(id) {
                GroupKind::Absent => not_found(id),
                GroupKind::Classic => match self.committed_group(id) {
                    Some(group) => group.describe(),
                    None => not_classic(id),
                },
                GroupKind::Hosted => self.describe_hosted(id).unwrap_or_else(|| not_classic(id)),
                GroupKind::EmptyConsumer | GroupKind::Consumer | GroupKind::Reserved(_) => {
                    not_classic(id)
                }
            }
        };
        let mut groups: Vec<DescribedGroup> = group_ids.iter().map(describe).collect();
        if rebalances {
            for group in &mut groups {
                group.unknown_tags = self.rebalances_field(&group.group_id);
            }
        }
        GroupResponse::DescribeGroups(groups)
    }

    pub(super) fn list(&self, request: &ListGroupsRequest) -> GroupResponse {
        let filter = ListFilter::new(request);
        let mut groups = Vec::new();
        for id in self.logged.committed_groups() {
            let listed = match self.committed_kind(&id) {
                GroupKind::Absent => None,
                GroupKind::Classic => self.committed_group(&id).map(ClassicGroup::list),
                GroupKind::EmptyConsumer | GroupKind::Consumer => {
                    let state = self.logged.committed_consumer_state(&id);
                    state.map(|state| list_consumer_group(&id, state))
                }
                GroupKind::Hosted => Some(list_hosted(&id)),
                GroupKind::Reserved(group_type) => Some(list_reserved(&id, group_type)),
            };
            groups.extend(listed.filter(|group| filter.lets_through(group)));
        }
        GroupResponse::ListGroups(ListGroupsResponse { groups, ..Default::default() })
    }

    pub(super) fn delete_groups(
        &mut self,
        group_ids: &[String],
        now: Now,
        out: &mut Out,
    ) -> GroupResponse {
        let mut results = Vec::with_capacity(group_ids.len());
        let mut named = HashSet::new();
        for id in group_ids {
            if !named.insert(id) {
                continue; // Kafka answers a group once, however often it is named.
            }
            let error = match self.kind(id) {
                GroupKind::Absent => ErrorCode::GROUP_ID_NOT_FOUND,
                GroupKind::EmptyConsumer => {
                    self.rebalances.forget(id);
                    self.counters.offset_deletions +=
                        delete_all_offsets(&self.logged, id, &mut out.records) as u64;
                    self.end_consumer_group(id, now, out);
                    ErrorCode::NONE
                }
                GroupKind::Consumer | GroupKind::Hosted => ErrorCode::NON_EMPTY_GROUP,
                // The log does not tell whether it has members.
                GroupKind::Reserved(_) => ErrorCode::NON_EMPTY_GROUP,
                GroupKind::Classic => match self.classic_groups.get(id.as_str()) {
                    None => ErrorCode::GROUP_ID_NOT_FOUND,
                    Some(group) if !group.is(ClassicGroupState::Empty) => {
                        ErrorCode::NON_EMPTY_GROUP
                    }
                    Some(_) => {
                        self.counters.offset_deletions +=
                            delete_all_offsets(&self.logged, id, &mut out.records) as u64;
                        out.record(GroupRecord::group_metadata(id, None));
                        self.rebalances.forget(id);
                        ErrorCode::NONE
                    }
                },
            };
            results.push(deleted_group(id, error));
        }
        GroupResponse::DeleteGroups(results)
    }
}
