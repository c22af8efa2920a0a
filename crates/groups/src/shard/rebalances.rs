//! What a shard knows of its groups' rebalances, and of the rules that they are run by.

use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::Now;
use thalweg_wire::messages::GroupRebalances;
use thalweg_wire::{GROUP_REBALANCES_TAG, Message as _, RawTags, Writer};

use super::GroupShard;
use crate::assignor::MemberAssignment;
use crate::classic::{ClassicGroup, ClassicGroupState};
use crate::consumer::{ConsumerGroup, is_built_in, is_server_mode};
use crate::formats::CONSUMER_PROTOCOL_TYPE;
use crate::logged::GroupKind;
use crate::model::{ConsumerGroupRecord, ConsumerMember, GroupRecord, GroupTimer};

/// What a record of a consumer group changes, as it was before.
pub(super) enum Before {
    Epoch(i32),
    Member(Option<Arc<ConsumerMember>>),
    Target(Option<Arc<MemberAssignment>>),
    Regex(Option<Arc<[Arc<str>]>>),
    Other,
}

impl GroupShard {
    /// What is to be known of the state before a record is replayed.
    pub(super) fn before_rebalance(&self, record: &GroupRecord) -> Option<Before> {
        use ConsumerGroupRecord as R;
        let GroupRecord::ConsumerGroup(record) = record else { return None };
        if self.loading {
            return None;
        }
        let group = self.logged.consumer_group(record.group_id());
        Some(match &**record {
            R::Metadata { .. } => Before::Epoch(group.map_or(0, |group| group.epochs().group)),
            R::MemberMetadata { key, .. } => {
                Before::Member(group.and_then(|group| group.member(&key.member_id)).cloned())
            }
            R::CurrentMemberAssignment { key, .. } if self.rebalances.is_moving(&key.group_id) => {
                Before::Member(group.and_then(|group| group.member(&key.member_id)).cloned())
            }
            R::TargetAssignmentMember { key, .. } => Before::Target(
                group.and_then(|group| group.target(key.member_id.as_str())).cloned(),
            ),
            R::RegularExpression { key, .. } => {
                let regex = key.regular_expression.as_str();
                let known = group.and_then(|group| group.regexes().get(regex));
                Before::Regex(known.map(|known| known.topics.clone()))
            }
            _ => Before::Other,
        })
    }

    /// Takes note of a record that has been replayed.
    pub(super) fn note_rebalance(&mut self, record: &GroupRecord, before: Before, now: Now) {
        use ConsumerGroupRecord as R;
        let GroupRecord::ConsumerGroup(record) = record else { return };
        let known = self.logged.group_with_id(record.group_id());
        let known = known.and_then(|(id, _)| Some((id, self.logged.consumer_group(id)?)));
        let Some((id, group)) = known.map(|(id, group)| (id.clone(), group)) else {
            // The record that makes it a classic group may follow.
            return self.rebalances.becomes_classic(record.group_id());
        };
        let now_ms = now.wall_ms;
        match (&**record, before) {
            (R::Metadata { value: Some(_), .. }, Before::Epoch(epoch)) => {
                let now = group.epochs().group;
                if now > epoch {
                    let members = group.members().len();
                    self.rebalances.begins(&id, now, members, now_ms);
                    if members == 0 {
                        // Nobody is left whom a target assignment would be computed for.
                        self.rebalances.assigned(&id, group, now, &self.image, now_ms);
                    }
                }
            }
            (R::MemberMetadata { key, .. }, Before::Member(before)) => {
                let member = group.member(&key.member_id);
                self.rebalances.member(&id, before.as_deref(), member.map(|member| &**member));
            }
            (R::CurrentMemberAssignment { key, .. }, Before::Member(before)) => {
                let member = group.member(&key.member_id).map(|member| &**member);
                self.rebalances.reconciled(&id, before.as_deref(), member, &self.image, now_ms);
            }
            (R::TargetAssignmentMember { key, .. }, Before::Target(before)) => {
                let target = group.target(key.member_id.as_str()).map(|target| &**target);
                let member = key.member_id.as_str();
                self.rebalances.retargeted(&id, member, before.as_deref(), target, now_ms);
            }
            (R::TargetAssignmentMetadata { value: Some(_), .. }, _) => {
                let epoch = group.epochs().assignment;
                self.rebalances.assigned(&id, group, epoch, &self.image, now_ms);
            }
            (R::RegularExpression { key, .. }, Before::Regex(before)) => {
                let regex = key.regular_expression.as_str();
                let topics = group.regexes().get(regex).map(|known| &known.topics);
                // One that is new comes with the member that subscribes with it.
                if before.is_some() && topics.is_some() && before.as_ref() != topics {
                    self.rebalances.regex(&id, regex);
                }
            }
            _ => {}
        }
    }

    /// Why a timer takes a member out.
    pub(super) fn note_timer(&mut self, timer: &GroupTimer) {
        self.rebalances.reason(match timer {
            GroupTimer::ConsumerSession(..) | GroupTimer::Session(..) => "session timeout",
            GroupTimer::Disconnected(..) => "its connection was gone, and its heartbeat overdue",
            GroupTimer::Rebalance(..) => "rebalance timeout: it did not give its partitions up",
            GroupTimer::ClassicJoin(..) | GroupTimer::Join(..) => {
                "rebalance timeout: it did not join again"
            }
            GroupTimer::ClassicSync(..) | GroupTimer::Sync(..) => {
                "rebalance timeout: it did not ask for its assignment"
            }
            _ => "",
        });
    }

    /// The rules that a group is run by, and the reason.
    fn rules(&self, id: &str) -> (&'static str, String) {
        let group = self.logged.consumer_group(id);
        match self.kind(id) {
            GroupKind::Absent | GroupKind::Reserved(_) => ("", String::new()),
            GroupKind::Classic => match self.classic_groups.get(id) {
                Some(group) => ("barrier", self.reason_for_barrier(id, group)),
                None => ("", String::new()),
            },
            GroupKind::EmptyConsumer => ("consumer", "the group has no members".to_owned()),
            GroupKind::Consumer => ("consumer", self.reason_for_kafkas_rules(id, group)),
            GroupKind::Hosted => {
                let vote = group.and_then(ConsumerGroup::classic_vote).unwrap_or_default();
                ("server", format!("all members offer the assignor {vote}"))
            }
        }
    }

    /// The reason that a consumer group with members is run by the rules of Kafka.
    fn reason_for_kafkas_rules(&self, id: &str, group: Option<&ConsumerGroup>) -> String {
        let classic = group.map_or(0, ConsumerGroup::classic_members);
        let all = group.map_or(0, |group| group.members().len());
        if classic < all {
            return format!("{} of {all} members use the consumer protocol", all - classic);
        }
        let why = if !is_server_mode(&self.config, id) {
            "thalweg.group.classic.rebalance.mode is barrier, and the group cannot be a \
             classic one again"
        } else {
            "its members offer no assignor of Kafka's in common, and the group is too \
             large for the barrier"
        };
        why.to_owned()
    }

    /// The reason that a classic group is assigned by its leader.
    fn reason_for_barrier(&self, id: &str, group: &ClassicGroup) -> String {
        match group.protocol_type() {
            Some(other) if other != CONSUMER_PROTOCOL_TYPE => {
                format!("its members are no consumers, but of the protocol type {other}")
            }
            _ if !self.config.has_consumer_records => {
                "the cluster's group.version is 0: it does not know the records that the \
                 coordinator would assign it by"
                    .to_owned()
            }
            _ if !is_server_mode(&self.config, id) => {
                "thalweg.group.classic.rebalance.mode is barrier".to_owned()
            }
            _ if group.members().len() == 0 => "the group has no members".to_owned(),
            _ => match group.protocol_name() {
                Some(name) if !is_built_in(name) => {
                    format!("its members vote for {name}, which the coordinator does not have")
                }
                _ => match group.unhostable() {
                    Some(reason) => reason.to_owned(),
                    None if group.members().len() < 2 => {
                        "the coordinator assigns it when it has two members".to_owned()
                    }
                    None if !group.is(ClassicGroupState::Stable) => {
                        "its members assign this round; the coordinator assigns it from then on"
                            .to_owned()
                    }
                    None => "the coordinator takes it over with the next heartbeat".to_owned(),
                },
            },
        }
    }

    /// The field of a group's description that has its last rebalances.
    pub(super) fn rebalances_field(&self, id: &str) -> RawTags {
        let (mode, reason) = self.rules(id);
        let is_known = !mode.is_empty();
        let mut rebalances =
            if is_known { self.rebalances.of(id, &self.image) } else { Vec::new() };
        let under_way = self.classic_groups.get(id).and_then(ClassicGroup::rebalance_under_way);
        rebalances.splice(..0, under_way);
        let told =
            GroupRebalances { mode: mode.to_owned(), reason, rebalances, ..Default::default() };
        let mut tags = RawTags::default();
        let mut w = Writer::new();
        if told.encode(&mut w, 0).is_ok() {
            tags.push(GROUP_REBALANCES_TAG, Bytes::from(w.to_vec()));
        }
        tags
    }
}
