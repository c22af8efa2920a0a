//! What a handler of a consumer group works with.

use std::sync::Arc;

use thalweg_coordinator::{Account, Now};
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;

use crate::assignor::MemberAssignment;
use crate::consumer::{ConsumerGroup, Live, LiveGroups, TopicHashes};
use crate::model::{
    ConsumerGroupRecord, ConsumerMember, GroupConfig, GroupCounters, GroupOutcome, GroupRecord,
};

/// What is there beside the group: settings, metadata, the clock, the way out.
pub(crate) struct Cx<'a> {
    pub(crate) config: &'a GroupConfig,
    /// What members leave behind is held of this.
    pub(crate) account: &'a Arc<Account>,
    /// The metadata of now.
    pub(crate) image: &'a Arc<MetadataImage>,
    pub(crate) hashes: &'a mut TopicHashes,
    pub(crate) consumer_state: &'a mut LiveGroups,
    pub(crate) counters: &'a mut GroupCounters,
    pub(crate) now: Now,
    pub(crate) out: &'a mut GroupOutcome,
}

/// One request, timer or result for a group. It reads the group as it is; what it decides is in
/// `records`, which the caller hands on if the request is not refused.
pub(crate) struct Step<'s, 'a> {
    pub(crate) cx: &'s mut Cx<'a>,
    pub(crate) id: &'s Arc<str>,
    pub(crate) group: &'s ConsumerGroup,
    pub(crate) records: Vec<GroupRecord>,
}

impl Step<'_, '_> {
    pub(crate) fn consumer_state(&mut self) -> &mut Live {
        self.cx.consumer_state.of(self.id)
    }

    pub(crate) fn record(&mut self, record: ConsumerGroupRecord) {
        self.records.push(record.into());
    }

    /// Records that take a member out.
    pub(crate) fn remove_member(&mut self, member_id: &str) {
        self.record(ConsumerGroupRecord::current_assignment(self.id, member_id, None));
        self.record(ConsumerGroupRecord::target_assignment(self.id, member_id, None));
        self.record(ConsumerGroupRecord::member_metadata(self.id, member_id, None));
    }

    /// What `member` is to own as of the last target assignment. A static member that comes back
    /// under another id is to own what it was to own under the old one.
    pub(crate) fn last_target(&self, member: &ConsumerMember) -> Arc<MemberAssignment> {
        let id = match &member.metadata.instance_id {
            None => Some(&member.id),
            Some(instance_id) => self.group.static_member(instance_id).map(|member| &member.id),
        };
        // A member that has just taken an instance keeps its own. Kafka has it own nothing then, while its
        // target assignment says otherwise.
        let id = id.unwrap_or(&member.id);
        self.group.target(id).cloned().unwrap_or_default()
    }

    /// Names of the topics that a member subscribes to, by name and by what its regular expression
    /// stands for.
    pub(crate) fn subscribed_names<'m>(
        &'m self,
        member: &'m ConsumerMember,
    ) -> impl Iterator<Item = &'m Arc<str>> {
        let resolved = member.metadata.regex().and_then(|regex| self.group.regexes().get(regex));
        let by_regex = resolved.into_iter().flat_map(|resolved| resolved.topics.iter());
        member.metadata.topics.iter().chain(by_regex)
    }

    /// Ids of the topics that a member subscribes to and that exist, sorted.
    pub(crate) fn subscribed_ids(&self, member: &ConsumerMember) -> Vec<Uuid> {
        let topics = &self.cx.image.topics;
        let names = self.subscribed_names(member);
        let mut ids: Vec<Uuid> =
            names.filter_map(|name| topics.by_name(name)).map(|topic| topic.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
