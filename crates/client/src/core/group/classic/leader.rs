//! What a member does when it leads: the assignment for everybody, and an eye on the group's
//! topics, because only the leader joins again when they change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_wire::messages::join_group_response::JoinGroupResponseMember;
use thalweg_wire::messages::sync_group_request::SyncGroupRequestAssignment;

use super::{ClassicMember, State};
use crate::core::group::action::Action;
use crate::core::group::assignor::{Assignment, Assignor, AssignorSpec, MemberSpec};
use crate::core::group::protocol::{MemberSubscription, ProtocolError, encode_assignment};
use crate::core::group::status::GroupError;
use crate::core::metadata::Metadata;

/// A member of the group, as it joined.
#[derive(Debug)]
pub(super) struct Candidate {
    id: Arc<str>,
    instance_id: Option<Arc<str>>,
    subscription: MemberSubscription,
}

/// What is known of the group's topics.
#[derive(Debug, Default)]
pub(super) struct Leader {
    /// Topics whose partitions matter.
    watched: BTreeSet<Arc<str>>,
    /// Those that metadata has been seen for, whether they exist or not.
    seen: BTreeSet<Arc<str>>,
    partitions: BTreeMap<Arc<str>, i32>,
    /// What the assignment was made from; `None` when another member leads.
    assigned_from: Option<BTreeMap<Arc<str>, i32>>,
    /// The last assignment that it made itself: its generation, what from, whether incomplete.
    made: Option<(i32, BTreeMap<Arc<str>, i32>, bool)>,
    /// Partitions may have been left to nobody, until those that have them let go.
    pub(super) is_incomplete: bool,
    /// When to join again if by then nobody else has.
    pub(super) complete_by_ms: Option<u64>,
}

impl Leader {
    /// The member's own topics matter, and while it leads those of the others.
    pub(super) fn watch<'a>(&mut self, topics: impl IntoIterator<Item = &'a Arc<str>>) {
        if self.assigned_from.is_none() {
            self.watched.clear();
        }
        self.watched.extend(topics.into_iter().cloned());
        self.seen.retain(|topic| self.watched.contains(topic));
        self.partitions.retain(|topic, _| self.watched.contains(topic));
    }

    pub(super) fn update(&mut self, metadata: &Metadata) {
        self.partitions.clear();
        for topic in &self.watched {
            if let Some(known) = metadata.topics.get(&**topic) {
                let count = i32::try_from(known.partitions.len()).unwrap_or(i32::MAX);
                self.partitions.insert(Arc::clone(topic), count);
            }
        }
        self.seen = self.watched.clone();
    }

    /// Topics that no metadata was seen for.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &Arc<str>> {
        self.watched.difference(&self.seen)
    }

    /// Whether the assignment would have come out differently.
    pub(super) fn has_changed(&self) -> bool {
        self.assigned_from.as_ref().is_some_and(|before| *before != self.partitions)
    }

    /// Whoever is to let go of partitions joins again when it has, and the assignment is completed
    /// then. But a static member can have lost them, and come back without a rebalance and without
    /// anything to let go of. Kafka's leader leaves such partitions to nobody; this one joins again.
    pub(super) fn expect_completion(&mut self, by_ms: u64) {
        self.complete_by_ms = self.is_incomplete.then_some(by_ms);
    }

    pub(super) fn resign(&mut self) {
        self.assigned_from = None;
        self.is_incomplete = false;
        self.complete_by_ms = None;
    }
}

impl ClassicMember {
    /// It was made the leader of the generation.
    pub(super) fn lead(&mut self, members: Vec<JoinGroupResponseMember>, skip_assignment: bool) {
        let mut candidates = Vec::with_capacity(members.len());
        for member in members {
            let subscription = match MemberSubscription::decode(&member.metadata) {
                Ok(subscription) => subscription,
                Err(source) => {
                    // It gets nothing, which harms nobody else.
                    self.warn(GroupError::MalformedSubscription {
                        member: member.member_id.clone(),
                        source,
                    });
                    MemberSubscription::default()
                }
            };
            candidates.push(Candidate {
                id: member.member_id.into(),
                instance_id: member.group_instance_id.map(Arc::from),
                subscription,
            });
        }
        let topics: BTreeSet<Arc<str>> =
            candidates.iter().flat_map(|c| c.subscription.topics.iter().cloned()).collect();
        self.leader.resign();
        self.leader.watch(topics.iter().chain(self.topics.iter().flatten()));
        let unknown: Vec<_> = self.leader.unknown().cloned().collect();
        if unknown.is_empty() {
            return self.assign(&candidates, skip_assignment);
        }
        self.events.push_back(Action::RefreshMetadata { topics: unknown, ids: Vec::new() });
        self.state = State::Assigning { candidates, skip_assignment };
    }

    /// Makes the assignment from what is known of the topics now. A static leader that came back
    /// does not (KIP-814): the assignment stands, but from now on it looks after the topics.
    pub(super) fn assign(&mut self, candidates: &[Candidate], skip_assignment: bool) {
        let Some(assignor) = self.assignor else { return };
        if skip_assignment {
            let (from, is_incomplete) = match self.leader.made.take() {
                Some((generation, from, is_incomplete)) if generation == self.generation => {
                    (from, is_incomplete)
                }
                // Somebody else's, and what it was made from cannot be seen.
                _ => {
                    let is_incomplete = assignor == Assignor::CooperativeSticky;
                    (self.leader.partitions.clone(), is_incomplete)
                }
            };
            self.leader.assigned_from = Some(from);
            self.leader.is_incomplete = is_incomplete;
            self.state = State::Syncing { request: None, assignments: Vec::new() };
            return;
        }
        let from = self.leader.partitions.clone();
        let spec = spec(assignor, candidates, &self.leader.partitions);
        let assignment = assignor.assign(&spec);
        let assigned: usize = assignment.values().map(Vec::len).sum();
        let is_incomplete = assigned < spec.subscribed_partitions();
        self.leader.is_incomplete = is_incomplete;
        self.leader.made = Some((self.generation, from.clone(), is_incomplete));
        self.leader.assigned_from = Some(from);
        match encoded(assignment) {
            Ok(assignments) => self.state = State::Syncing { request: None, assignments },
            Err(error) => self.fail(GroupError::Unwritable(error)),
        }
    }
}

fn spec(
    assignor: Assignor,
    candidates: &[Candidate],
    partitions: &BTreeMap<Arc<str>, i32>,
) -> AssignorSpec {
    let member = |candidate: &Candidate| {
        let instance_id = candidate.instance_id.clone();
        let spec = MemberSpec::new(assignor, &candidate.subscription, instance_id);
        (Arc::clone(&candidate.id), spec)
    };
    AssignorSpec {
        members: candidates.iter().map(member).collect(),
        partitions: partitions.clone(),
    }
}

fn encoded(assignment: Assignment) -> Result<Vec<SyncGroupRequestAssignment>, ProtocolError> {
    let encoded = |(id, partitions): (Arc<str>, Vec<_>)| {
        Ok(SyncGroupRequestAssignment {
            member_id: id.to_string(),
            assignment: encode_assignment(&partitions)?,
            ..SyncGroupRequestAssignment::default()
        })
    };
    assignment.into_iter().map(encoded).collect()
}
