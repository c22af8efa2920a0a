//! The target assignment: who is to own what.
//!
//! A small group's is computed where it is needed. A large one's is computed away from the requests;
//! meanwhile its members live with the one there is. What was computed counts only if the group is
//! still in the epoch that it was computed for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;

use super::context::Step;
use super::server::Chosen;
use super::subscription::Subscription;
use crate::assignor::{MemberAssignment, SubscriptionType};
use crate::consumer::{INITIAL_EPOCH, NO_ASSIGNMENT_EPOCH};
use crate::jobs::{ChangedTarget, JobMember, TargetComputed, TargetJob};
use crate::model::{ConsumerGroupRecord, ConsumerMember};

/// What a member subscribes to, and what that comes to in topics.
type SubscriptionKey = (*const Arc<str>, usize, Option<Arc<str>>);

/// Whether partitions can differ in the racks that they have replicas in.
fn have_different_racks(image: &MetadataImage) -> bool {
    let mut racks = image.cluster.brokers.values().map(|broker| &broker.rack);
    let first = racks.next();
    racks.any(|rack| Some(rack) != first)
}

impl Step<'_, '_> {
    /// The target assignment that a member is to be reconciled with, and its epoch: a new one if one
    /// is due and small, else the last one.
    pub(crate) fn update_target(
        &mut self,
        subscription: &Subscription,
        before: &ConsumerMember,
        after: &ConsumerMember,
    ) -> (i32, Arc<MemberAssignment>) {
        // After the end of a group that was written in part there is no assignment, and no epoch of one.
        let epoch = self.group.epochs().assignment;
        let epoch = if epoch == NO_ASSIGNMENT_EPOCH { INITIAL_EPOCH } else { epoch };
        let last = (epoch, self.last_target(after));
        // One is computed at a time, and nobody gathers the members for another one until it is there:
        // that takes as long as the group is large, and every heartbeat would do it.
        let is_computing = self.consumer_state().assigning.is_some();
        if last.0 >= subscription.group_epoch || is_computing || !self.may_assign() {
            return last;
        }
        let job = self.target_job(
            subscription.group_epoch,
            subscription.subscription_type,
            self.chosen_assignor(Some((before, after))),
            Some(after),
        );
        if job.size() > self.cx.config.assign_in_place_max {
            self.assign_elsewhere(job);
            return last;
        }
        let changed = job.compute();
        let own = changed.iter().find(|changed| changed.id == after.id);
        let own = own.map(|own| &own.target).or_else(|| {
            let same = job.members.iter().find(|member| member.id == after.id);
            same.and_then(|member| member.logged.as_ref())
        });
        let own = own.cloned().unwrap_or_default();
        self.write_targets(&changed, subscription.group_epoch);
        (subscription.group_epoch, own)
    }

    fn write_targets(&mut self, changed: &[ChangedTarget], epoch: i32) {
        for changed in changed {
            let target = Some(&*changed.target);
            self.record(ConsumerGroupRecord::target_assignment(self.id, &changed.id, target));
        }
        self.target_epoch(epoch);
    }

    /// Computes the target assignment of the group as it is, or has it computed.
    pub(crate) fn assign(&mut self, epoch: i32) {
        let chosen = self.chosen_assignor(None);
        let job = self.target_job(epoch, self.subscription_type(), chosen, None);
        if job.size() > self.cx.config.assign_in_place_max {
            self.assign_elsewhere(job);
        } else {
            let changed = job.compute();
            self.write_targets(&changed, epoch);
        }
    }

    pub(crate) fn is_assigning(&mut self) -> bool {
        self.consumer_state().assigning.is_some()
    }

    /// Whether the last target assignment is old enough for another one.
    fn may_assign(&self) -> bool {
        self.assignment_delay_ms() == 0
    }

    /// How long it takes until the last target assignment is old enough for another one.
    pub(crate) fn assignment_delay_ms(&self) -> u64 {
        let interval_ms = self.cx.config.of_group(self.id).assignment_interval_ms;
        let last_ms = self.group.epochs().assignment_timestamp_ms;
        self.cx.consumer_state.assignment_delay_ms(self.id, last_ms, interval_ms, self.cx.now)
    }

    fn target_epoch(&mut self, epoch: i32) {
        let now_ms = self.cx.now.wall_ms;
        self.record(ConsumerGroupRecord::target_epoch(self.id, Some((epoch, now_ms))));
    }

    /// What is to be computed, with the group's members as they are, but for `updated`.
    fn target_job(
        &self,
        epoch: i32,
        subscription_type: SubscriptionType,
        chosen: Chosen,
        updated: Option<&ConsumerMember>,
    ) -> TargetJob {
        let Chosen { assignor, claimed_under } = chosen;
        let group = self.group;
        // A static member that comes back under another id takes the old one's place.
        let instance_id = updated.and_then(|updated| updated.metadata.instance_id.as_ref());
        let replaced = instance_id.and_then(|instance_id| group.static_member(instance_id));
        let mut topics = BTreeMap::new();
        let mut resolved: HashMap<SubscriptionKey, Arc<[Uuid]>> = HashMap::new();
        let mut members = Vec::with_capacity(group.members().len() + 1);
        let mut add = |member: &ConsumerMember, target_of: &Arc<str>| {
            let said = &member.metadata;
            let key = (said.topics.as_ptr(), said.topics.len(), said.regex().cloned());
            let ids = resolved.entry(key).or_insert_with(|| {
                let ids: Arc<[Uuid]> = self.subscribed_ids(member).into();
                for id in ids.iter() {
                    let topic = self.cx.image.topics.by_id(*id);
                    let partitions = topic.map_or(0, |topic| topic.partitions.len());
                    topics.insert(*id, i32::try_from(partitions).unwrap_or(i32::MAX));
                }
                ids
            });
            // A step that puts the member in another one's place writes the other's target for it.
            let logged = group.target(target_of).cloned();
            let under = claimed_under.as_deref().zip(said.classic.as_ref());
            let said_under = under.and_then(|(under, classic)| {
                classic.protocols.iter().find(|(name, _)| **name == *under)
            });
            members.push(JobMember {
                id: member.id.clone(),
                instance_id: said.instance_id.clone(),
                rack_id: said.rack_id.clone(),
                topic_ids: ids.clone(),
                assignment: logged.clone().unwrap_or_default(),
                logged,
                said: said_under.map(|(_, said)| said.clone()).unwrap_or_default(),
            });
        };
        for (id, member) in group.members() {
            let is_updated = updated.is_some_and(|updated| updated.id == *id);
            let is_replaced = replaced.is_some_and(|replaced| replaced.id == *id);
            if !is_updated && !is_replaced {
                add(member, id);
            }
        }
        if let Some(updated) = updated {
            add(updated, replaced.map_or(&updated.id, |replaced| &replaced.id));
        }
        members.sort_by(|a, b| a.id.cmp(&b.id));
        let has_racks = assignor.looks_at_racks()
            && members.iter().any(|member| member.rack_id.is_some())
            && have_different_racks(self.cx.image);
        TargetJob {
            id: 0,
            group: self.id.clone(),
            epoch,
            assignor,
            members,
            topics,
            image: Arc::clone(self.cx.image),
            has_racks,
            claimed_under,
            subscription_type,
        }
    }

    /// Has a target assignment computed away from the requests, one at a time.
    fn assign_elsewhere(&mut self, job: TargetJob) {
        debug_assert!(self.consumer_state().assigning.is_none());
        let id = self.cx.consumer_state.job_id();
        self.consumer_state().assigning = Some(id);
        self.cx.out.start(TargetJob { id, ..job }.into());
    }

    /// Takes a target assignment, or has another one computed if the group has gone on.
    pub(crate) fn target_computed(&mut self, done: TargetComputed) {
        let epoch = done.epoch;
        self.take_target(done);
        // Nobody asks for the next one where heartbeats do not.
        if self.is_hosted() && self.group.epochs().group > epoch && !self.is_assigning() {
            self.assign_soon();
        }
    }

    fn take_target(&mut self, done: TargetComputed) {
        let live = self.consumer_state();
        if live.assigning != Some(done.id) {
            return;
        }
        live.assigning = None;
        if std::mem::take(&mut live.is_assignment_stale) {
            return;
        }
        let epochs = *self.group.epochs();
        if epochs.assignment >= epochs.group || self.group.members().is_empty() {
            return;
        }
        let Some(changed) = done.changed else { return };
        if done.epoch != epochs.group {
            if self.may_assign() {
                let chosen = self.chosen_assignor(None);
                let job = self.target_job(epochs.group, self.subscription_type(), chosen, None);
                self.assign_elsewhere(job);
            }
            return;
        }
        for changed in changed {
            let known = self.group.member(&changed.id);
            // A static member may have come back under another id, in the same epoch.
            let instance_id = changed.instance_id.as_deref();
            let known = known.or_else(|| self.group.static_member(instance_id?));
            let Some(id) = known.map(|member| member.id.clone()) else { continue };
            let target = Some(&*changed.target);
            self.record(ConsumerGroupRecord::target_assignment(self.id, &id, target));
        }
        self.target_epoch(done.epoch);
        self.consumer_state().written_by_job = Some(done.epoch);
        // Written in parts if it is too large for one batch. The epoch comes last: until it is written,
        // the group counts as assigning, and an assignment is computed again if it never is.
        self.cx.out.split();
    }
}
