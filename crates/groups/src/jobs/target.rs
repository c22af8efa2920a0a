//! Computes a target assignment: which member is to own which partition.
//!
//! Invariant: the job owns a snapshot, and the same snapshot gives the same targets.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use thalweg_coordinator::Job;
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;

use super::claims::{Claimant, remembered};
use super::id::JobId;
use crate::assignor::{
    Assignor, GroupSpec, MemberAssignment, MemberSpec, PartitionRacks, SubscriptionType,
};

/// A member, as it is given to the assignor.
#[derive(Clone, Debug)]
pub(crate) struct JobMember {
    pub(crate) id: Arc<str>,
    pub(crate) instance_id: Option<Arc<str>>,
    pub(crate) rack_id: Option<Box<str>>,
    pub(crate) topic_ids: Arc<[Uuid]>,
    /// Its last target assignment, under this id or the one whose place it takes; empty if there is none.
    pub(crate) assignment: Arc<MemberAssignment>,
    /// The same; `None` if the log has none.
    pub(crate) logged: Option<Arc<MemberAssignment>>,
    /// What it says of itself, if what it claims is to be looked at.
    pub(crate) said: Bytes,
}

/// Computes a target assignment.
#[derive(Clone, Debug)]
pub struct TargetJob {
    pub(crate) id: JobId,
    pub(crate) group: Arc<str>,
    pub(crate) epoch: i32,
    pub(crate) assignor: &'static dyn Assignor,
    pub(crate) members: Vec<JobMember>,
    pub(crate) topics: BTreeMap<Uuid, i32>,
    pub(crate) image: Arc<MetadataImage>,
    /// Whether racks can make a difference.
    pub(crate) has_racks: bool,
    /// The assignor of consumers under which members say what they had before they joined.
    pub(crate) claimed_under: Option<String>,
    pub(crate) subscription_type: SubscriptionType,
}

/// A target assignment.
#[derive(Debug)]
pub struct TargetComputed {
    pub(crate) id: JobId,
    pub(crate) group: Arc<str>,
    pub(crate) epoch: i32,
    /// As [`TargetJob::compute`] finds them; `None` if it failed.
    pub(crate) changed: Option<Vec<ChangedTarget>>,
}

#[derive(Debug)]
pub(crate) struct ChangedTarget {
    pub(crate) id: Arc<str>,
    pub(crate) instance_id: Option<Arc<str>>,
    pub(crate) target: Arc<MemberAssignment>,
}

impl Job for TargetJob {
    type Done = TargetComputed;

    fn run(&self) -> TargetComputed {
        self.done(Some(self.compute()))
    }

    fn failed(&self) -> TargetComputed {
        self.done(None)
    }
}

impl TargetJob {
    /// The members whose target is another one now, or the first.
    pub(crate) fn compute(&self) -> Vec<ChangedTarget> {
        let members: Vec<MemberSpec<'_>> = self
            .members
            .iter()
            .map(|member| MemberSpec {
                id: &member.id,
                instance_id: member.instance_id.as_deref(),
                rack_id: member.rack_id.as_deref(),
                topic_ids: &member.topic_ids,
                assignment: &member.assignment,
            })
            .collect();
        let racks = self.has_racks.then(|| racks(&self.image, &self.topics));
        let remembered = self.remembered();
        let targets = self.assignor.assign(&GroupSpec {
            members: &members,
            topics: &self.topics,
            racks: racks.as_ref(),
            remembered: remembered.as_deref(),
            subscription_type: self.subscription_type,
        });
        self.members
            .iter()
            .zip(targets)
            .filter(|(member, target)| member.logged.as_ref() != Some(target))
            .map(|(member, target)| ChangedTarget {
                id: member.id.clone(),
                instance_id: member.instance_id.clone(),
                target,
            })
            .collect()
    }

    /// What members say that they had, if the assignor is to know.
    fn remembered(&self) -> Option<Vec<MemberAssignment>> {
        let protocol = self.claimed_under.as_deref()?;
        let members = self.members.iter();
        let claimants: Vec<Claimant<'_>> =
            members.map(|m| Claimant { said: &m.said, is_new: m.assignment.is_empty() }).collect();
        remembered(protocol, &claimants, |name| {
            let id = self.image.topics.by_name(name)?.id;
            Some((id, *self.topics.get(&id)?))
        })
    }

    fn done(&self, changed: Option<Vec<ChangedTarget>>) -> TargetComputed {
        TargetComputed { id: self.id, group: self.group.clone(), epoch: self.epoch, changed }
    }

    /// What it costs, about: members and partitions to look at, and what members say that they had.
    pub(crate) fn size(&self) -> usize {
        let partitions: usize = self.topics.values().map(|count| (*count).max(0) as usize).sum();
        let claims: usize = self.members.iter().map(|member| member.said.len() / 64).sum();
        self.members.len() + partitions + claims
    }
}

impl TargetComputed {
    /// Whether the computation came to nothing, by a fault of its own.
    pub(crate) fn has_failed(&self) -> bool {
        self.changed.is_none()
    }
}

/// The racks of topics, by all replicas that their partitions are to have.
fn racks(image: &MetadataImage, topics: &BTreeMap<Uuid, i32>) -> PartitionRacks {
    let brokers = image.cluster.brokers.iter();
    let brokers = brokers.filter_map(|(id, broker)| Some((*id, broker.rack.as_deref()?))).collect();
    let topics = topics.keys().map(|id| {
        let partitions = image.topics.by_id(*id).map(|topic| topic.partitions.values());
        (*id, partitions.into_iter().flatten().map(|partition| partition.replicas.as_slice()))
    });
    PartitionRacks::new(&brokers, topics)
}
