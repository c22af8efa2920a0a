//! What an application sees of its member, and what must hold of that.

use std::collections::BTreeSet;

use super::super::{Action, Member};
use crate::core::partition::TopicPartition;

/// The partitions that were given to an application and not taken from it yet.
#[derive(Debug, Default)]
pub(super) struct Application {
    pub owned: BTreeSet<TopicPartition>,
    /// To be handed over; nothing of these is delivered.
    pub handing_over: BTreeSet<TopicPartition>,
    pub deadline_ms: u64,
}

impl Application {
    /// Takes in what the member wants, and checks that it makes sense.
    pub fn see(&mut self, action: &Action, member: &Member) {
        match action {
            Action::Assign { added, all } => {
                let all: BTreeSet<_> = all.iter().cloned().collect();
                for partition in added {
                    assert!(all.contains(partition), "{partition} is added and not there");
                    assert!(self.owned.insert(partition.clone()), "{partition} is added twice");
                }
                let kept: BTreeSet<_> =
                    self.owned.difference(&self.handing_over).cloned().collect();
                assert_eq!(all, kept, "the application has something else");
            }
            Action::Revoke { partitions, deadline_ms } => {
                assert!(self.handing_over.is_empty(), "one hand-over at a time");
                assert!(!partitions.is_empty());
                assert!(
                    member.identity().is_some(),
                    "what was acknowledged could not be committed"
                );
                self.handing_over = partitions.iter().cloned().collect();
                self.deadline_ms = *deadline_ms;
                assert!(self.handing_over.is_subset(&self.owned), "revoked what it does not have");
            }
            Action::Lost { partitions } => {
                for partition in partitions {
                    assert!(self.owned.remove(partition), "{partition} is lost and was not there");
                    self.handing_over.remove(partition);
                }
            }
            _ => {}
        }
    }

    /// What was to be handed over is committed and gone.
    pub fn hand_over(&mut self) {
        self.owned.retain(|partition| !self.handing_over.contains(partition));
        self.handing_over.clear();
    }

    /// What must hold after the member said everything it has to say.
    pub fn check(&self, member: &Member) {
        let is_member = member.identity().is_some();
        assert!(is_member || self.owned.is_empty(), "has partitions of no generation");
    }
}
