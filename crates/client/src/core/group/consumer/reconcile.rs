//! The way from what a member has to what it should have: first give up, then take.

use std::collections::BTreeSet;

use thalweg_wire::Uuid;

use super::{ConsumerMember, Partitions, State};
use crate::core::group::action::Action;
use crate::core::group::revocation::{Revocation, listed};
use crate::core::partition::TopicPartition;

impl ConsumerMember {
    /// The coordinator wants the member to have this.
    pub(super) fn aim_for(&mut self, target: Partitions) {
        // An assignment that is the same is not news, but any other is to be answered, even when
        // it leads back to what the member has.
        let is_new = self.target.as_ref() != Some(&target);
        if is_new {
            self.owes_answer = true;
            self.is_dirty = true;
            self.is_announced = false;
        }
        self.target = Some(target);
    }

    /// Topics to be had whose names are not known.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = Uuid> {
        let topics = self.target.iter().flat_map(|target| target.keys());
        topics.filter(|id| !self.names.contains_key(id)).copied()
    }

    fn known(&self, target: &Partitions) -> Partitions {
        let known = target.iter().filter(|(id, _)| self.names.contains_key(id));
        known.map(|(id, partitions)| (*id, partitions.clone())).collect()
    }

    /// Takes the next step. Topics that are not known do not hold up the others.
    pub(super) fn reconcile(&mut self) {
        if !matches!(self.state, State::Member) || !std::mem::take(&mut self.is_dirty) {
            return;
        }
        let unresolved: BTreeSet<Uuid> = self.unresolved().collect();
        if unresolved.is_empty() {
            self.asked_for.clear();
        } else if self.asked_for != unresolved {
            let ids = unresolved.iter().copied().collect();
            self.events.push_back(Action::RefreshMetadata { topics: Vec::new(), ids });
            self.asked_for = unresolved;
        }
        self.is_settled = false;
        let Some(target) = self.target.as_ref().filter(|_| self.revocation.is_none()) else {
            return;
        };
        let known = self.known(target);
        let surplus = without(&self.owned, &known);
        if !surplus.is_empty() {
            // The coordinator's clock started before its answer left, but after it was asked.
            let partitions = self.named(&surplus);
            return self.ask_to_revoke(partitions, self.sent_ms);
        }
        self.is_settled = true;
        let missing = without(&known, &self.owned);
        if missing.is_empty() && self.is_announced {
            return;
        }
        let added = listed(&self.named(&missing));
        self.owned = known;
        let all = listed(&self.named(&self.owned));
        self.owes_answer = true;
        self.is_announced = true;
        self.events.push_back(Action::Assign { added, all });
    }

    pub(super) fn ask_to_revoke(&mut self, partitions: BTreeSet<TopicPartition>, since_ms: u64) {
        let timeout_ms = u64::from(self.settings.rebalance_timeout_ms);
        let revocation =
            Revocation { partitions, deadline_ms: since_ms.saturating_add(timeout_ms) };
        self.events.push_back(revocation.ask());
        self.revocation = Some(revocation);
    }

    /// See [`Member::revoked`](crate::core::group::Member::revoked).
    pub fn revoked(&mut self, _now_ms: u64) {
        // One that the application has not been told of cannot be meant.
        if self.events.iter().any(|event| matches!(event, Action::Revoke { .. })) {
            return;
        }
        if let Some(revocation) = self.revocation.take() {
            self.let_go(&revocation.partitions);
        }
    }

    /// Partitions are not the member's any more.
    pub(super) fn let_go(&mut self, partitions: &BTreeSet<TopicPartition>) {
        let names = &self.names;
        for (id, indexes) in &mut self.owned {
            if let Some(name) = names.get(id) {
                let gone =
                    |&index: &i32| partitions.contains(&TopicPartition::new(name.clone(), index));
                indexes.retain(|index| !gone(index));
            }
        }
        self.owned.retain(|_, indexes| !indexes.is_empty());
        self.owes_answer = true;
        self.is_dirty = true;
    }
}

/// The partitions of `all` that `some` does not have.
fn without(all: &Partitions, some: &Partitions) -> Partitions {
    let mut left = Partitions::new();
    for (id, partitions) in all {
        let missing: BTreeSet<i32> = match some.get(id) {
            Some(theirs) => partitions.difference(theirs).copied().collect(),
            None => partitions.clone(),
        };
        if !missing.is_empty() {
            left.insert(*id, missing);
        }
    }
    left
}
