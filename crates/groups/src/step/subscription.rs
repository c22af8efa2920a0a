//! What a group subscribes to: changes of members' subscriptions, and of the topics behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::Step;
use crate::assignor::SubscriptionType;
use crate::consumer::{ConsumerGroup, Subscribers};
use crate::model::{ConsumerGroupRecord, ConsumerMember};

/// How long a group that nothing happens to goes without a look at the metadata, in milliseconds.
/// Changes of its topics make it look at once.
const METADATA_REFRESH_INTERVAL_MS: u64 = i32::MAX as u64;

/// What a change of subscriptions or topics leads to.
pub(crate) struct Subscription {
    pub(crate) group_epoch: i32,
    pub(crate) subscription_type: SubscriptionType,
}

impl Step<'_, '_> {
    /// Writes down what a member says of itself, if that is news. Whether it names other topics now.
    pub(crate) fn update_metadata(
        &mut self,
        before: &ConsumerMember,
        after: &ConsumerMember,
    ) -> bool {
        if before == after {
            return false;
        }
        let record =
            ConsumerGroupRecord::member_metadata(self.id, &after.id, Some(&after.metadata));
        self.record(record);
        before.metadata.topics != after.metadata.topics
    }

    /// Whether the group's members prefer another server assignor once `after` has taken the place of `before`.
    pub(crate) fn changes_preferred_assignor(
        &self,
        before: &ConsumerMember,
        after: &ConsumerMember,
    ) -> bool {
        let (leaving, joining) =
            (&before.metadata.server_assignor, &after.metadata.server_assignor);
        if leaving == joining {
            return false;
        }
        let config = self.cx.config;
        let name = |wanted: Option<Arc<str>>| config.consumer_assignor(wanted.as_deref()).name();
        let now = name(self.group.preferred_assignor(None, None));
        let then = name(self.group.preferred_assignor(leaving.as_ref(), joining.as_ref()));
        now != then
    }

    /// Whether the group has to look at the metadata again.
    pub(crate) fn has_metadata_expired(&mut self) -> bool {
        let now_ms = self.cx.now.monotonic_ms;
        let epoch = self.group.epochs().group;
        let live = self.consumer_state();
        now_ms >= live.refresh_at_ms || epoch < live.refresh_epoch
    }

    /// Looks at the subscriptions with the member as it will be, and at the topics behind them. Raises
    /// the group's epoch if they changed, or if `bump` says that something else did.
    pub(crate) fn refresh_subscription(
        &mut self,
        mut bump: bool,
        before: &ConsumerMember,
        after: &ConsumerMember,
    ) -> Subscription {
        let topics = self.group.topics_with(before, after);
        let hash = self.cx.hashes.group_hash(topics.keys(), self.cx.image);
        let known = self.group.member(&after.id).is_some()
            || after
                .metadata
                .instance_id
                .as_ref()
                .is_some_and(|instance_id| self.group.static_member(instance_id).is_some());
        let members = self.group.members().len() + usize::from(!known);
        let subscription_type = ConsumerGroup::subscription_type(
            &topics,
            &self.regex_members_with(before, after),
            members,
        );
        bump |= hash != self.group.epochs().metadata_hash;
        let mut group_epoch = self.group.epochs().group;
        if bump {
            group_epoch = self.bump_epoch(hash);
        }
        self.metadata_refreshed(group_epoch);
        if self.group.epochs().has_partition_metadata {
            self.record(ConsumerGroupRecord::no_partition_metadata(self.id));
        }
        Subscription { group_epoch, subscription_type }
    }

    /// Raises the group's epoch.
    pub(crate) fn bump_epoch(&mut self, hash: i64) -> i32 {
        let epoch = self.group.epochs().group.saturating_add(1);
        self.record(ConsumerGroupRecord::metadata(self.id, Some((epoch, hash))));
        self.cx.counters.consumer_rebalances += 1;
        epoch
    }

    /// The metadata has been looked at, and is in the group's epoch `group_epoch`.
    pub(crate) fn metadata_refreshed(&mut self, group_epoch: i32) {
        let at_ms = self.cx.now.monotonic_ms.saturating_add(METADATA_REFRESH_INTERVAL_MS);
        let live = self.consumer_state();
        live.refresh_at_ms = at_ms;
        live.refresh_epoch = group_epoch;
    }

    /// Members by the regular expression that they subscribe with, once a member has changed.
    pub(crate) fn regex_members_with(
        &self,
        before: &ConsumerMember,
        after: &ConsumerMember,
    ) -> BTreeMap<Arc<str>, usize> {
        let mut members = self.group.regex_members().clone();
        let (old, new) = (before.metadata.regex(), after.metadata.regex());
        if old == new {
            return members;
        }
        if let Some(old) = old
            && let Some(count) = members.get_mut(old)
        {
            *count -= 1;
            if *count == 0 {
                members.remove(old);
            }
        }
        if let Some(new) = new {
            *members.entry(new.clone()).or_default() += 1;
        }
        members
    }

    /// Whether all members subscribe to the same, as the group is.
    pub(crate) fn subscription_type(&self) -> SubscriptionType {
        let group = self.group;
        let members = group.members().len();
        ConsumerGroup::subscription_type(group.topics(), group.regex_members(), members)
    }

    /// Hash of the topics that are left when members and regular expressions go.
    pub(crate) fn hash_of(&mut self, topics: &BTreeMap<Arc<str>, Subscribers>) -> i64 {
        self.cx.hashes.group_hash(topics.keys(), self.cx.image)
    }
}
