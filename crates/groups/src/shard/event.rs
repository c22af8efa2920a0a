//! What a shard is told of the world outside its log, and what it has computed elsewhere.

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_coordinator::Now;
use thalweg_metadata::image::{Changes, MetadataImage};
use thalweg_wire::Uuid;

use super::{GroupShard, Out};
use crate::consumer::{RETRY_MS, is_hosted};
use crate::jobs::GroupJobDone;
use crate::model::GroupTimer;
use crate::offsets::delete_topics;
use crate::step::UNKNOWN_TOPIC;

impl GroupShard {
    pub(super) fn metadata_changed(
        &mut self,
        image: Arc<MetadataImage>,
        changes: Option<&Changes>,
        now: Now,
        out: &mut Out,
    ) {
        self.image = image;
        let version = self.image.provenance.offset;
        let brings_topics = changes.is_some_and(|changes| !changes.created_topics.is_empty());
        if self.hashes.last_new_topics.is_none() || brings_topics {
            self.hashes.last_new_topics = Some(version);
        }
        if brings_topics {
            for group in self.classic_groups.values_mut() {
                group.unhostable.take_if(|(_, why)| why.contains(UNKNOWN_TOPIC));
            }
        }
        let Some(changes) = changes else {
            self.hashes.forget_all();
            self.consumer_state.refresh_all();
            return;
        };
        if !changes.brokers.is_empty() {
            // Racks are part of the hashes. As in Kafka a group takes note of another rack when it
            // looks at its topics the next time.
            self.hashes.forget_all();
        }
        let changed = changes.partitions.keys().filter_map(|id| self.image.topics.by_id(*id));
        let names: Vec<Arc<str>> = changed
            .chain(changes.deleted_topics.values())
            .map(|topic| topic.name.clone())
            .collect();
        for name in &names {
            self.hashes.forget(name);
        }
        if brings_topics {
            self.release_for_new_topics();
        }
        if !names.is_empty() {
            let mut hosted = Vec::new();
            let changed: HashSet<&Arc<str>> = names.iter().collect();
            for (id, group) in self.logged.consumer_groups() {
                // The fewer are looked for among the more: there may be very many of either.
                let topics = group.topics();
                let is_concerned = match topics.len() < names.len() {
                    true => topics.keys().any(|topic| changed.contains(topic)),
                    false => names.iter().any(|name| topics.contains_key(name)),
                };
                if is_concerned {
                    self.consumer_state.refresh(id);
                    if is_hosted(group, &self.config, id) {
                        hosted.push(id.clone());
                    } else if self.held.has_group(id) {
                        // A leader or replicas in sync that changed concern no group.
                        let hash = self.hashes.group_hash(group.topics().keys(), &self.image);
                        if hash != group.epochs().metadata_hash {
                            self.held.release_one(id);
                        }
                    }
                }
            }
            for id in hosted {
                self.with_consumer_group(&id, now, out, |step| {
                    step.hosted_refresh();
                    Ok(((), None))
                });
                out.split();
            }
        }
        let deleted: Vec<(Uuid, Arc<str>)> =
            changes.deleted_topics.values().map(|topic| (topic.id, topic.name.clone())).collect();
        if !deleted.is_empty() {
            delete_topics(&self.logged, &deleted, &mut out.records);
            out.split();
        }
    }

    pub(super) fn take_result(&mut self, done: GroupJobDone, now: Now, out: &mut Out) {
        match done {
            GroupJobDone::Target(done) => {
                let group = done.group.clone();
                let failed = done.has_failed();
                self.with_consumer_group(&group, now, out, |step| {
                    step.target_computed(done);
                    Ok(((), None))
                });
                if failed {
                    // At once it would fail again.
                    out.schedule_if_absent(GroupTimer::Assign(group), RETRY_MS);
                } else if out.records.is_empty() && self.consumer_state.jobs(&group).1.is_none() {
                    self.assign_by_heartbeat(&group);
                }
            }
            GroupJobDone::Regexes(done) => {
                let group = done.group.clone();
                self.with_consumer_group(&group, now, out, |step| {
                    step.regexes_resolved(done);
                    Ok(((), None))
                });
                // An expression that stands for nothing has nothing to bring to its member.
                self.held.release_newcomers(&group);
            }
        }
    }
}
