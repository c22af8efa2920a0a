//! What an application sees of its member, and what must hold of that.

use std::collections::BTreeSet;

use super::super::{Action, Member};
use crate::core::partition::TopicPartition;

/// The partitions that were given to an application and not taken from it yet.
#[derive(Debug, Default)]
pub(super) struct Application {
    pub owned: BTreeSet<TopicPartition>,
    /// To be given up; nothing of these is delivered.
    pub revoking: BTreeSet<TopicPartition>,
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
                let kept: BTreeSet<_> = self.owned.difference(&self.revoking).cloned().collect();
                assert_eq!(all, kept, "the application has something else");
            }
            Action::Revoke { partitions, deadline_ms } => {
                assert!(self.revoking.is_empty(), "one revocation at a time");
                assert!(!partitions.is_empty());
                assert!(
                    member.identity().is_some(),
                    "what was acknowledged could not be committed"
                );
                self.revoking = partitions.iter().cloned().collect();
                self.deadline_ms = *deadline_ms;
                assert!(self.revoking.is_subset(&self.owned), "revoked what it does not have");
            }
            Action::Lost { partitions } => {
                for partition in partitions {
                    assert!(self.owned.remove(partition), "{partition} is lost and was not there");
                    self.revoking.remove(partition);
                }
            }
            _ => {}
        }
    }

    /// What was to be given up is committed and gone.
    pub fn revoke(&mut self) {
        self.owned.retain(|partition| !self.revoking.contains(partition));
        self.revoking.clear();
    }

    /// What must hold after the member said everything it has to say.
    pub fn check(&self, member: &Member) {
        let is_member = member.identity().is_some();
        assert!(is_member || self.owned.is_empty(), "has partitions of no generation");
    }
}
