//! The in-sync replicas of a partition: what is committed, and the change that the controller was asked for.

use smallvec::SmallVec;

/// Broker ids; few.
pub(crate) type Ids = SmallVec<[i32; 4]>;

/// A change of the ISR that the controller is to be asked for (AlterPartition v3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterPartition {
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// The partition epoch that the change is made to.
    pub partition_epoch: i32,
    /// The new ISR, by broker id. A recovering leader has recovered with it.
    pub isr: Vec<IsrMember>,
    /// What changes.
    pub change: IsrChange,
}

/// A replica in a proposed ISR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IsrMember {
    /// Broker id.
    pub broker: i32,
    /// Its epoch as its last fetch said; -1 if it has not fetched or does not say, which the controller does
    /// not check.
    pub epoch: i64,
}

/// What changes in an ISR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IsrChange {
    /// A follower that has caught up joins.
    Expand(i32),
    /// Followers that have not caught up for too long leave.
    Shrink(Vec<i32>),
}

/// The in-sync replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Isr {
    pub(crate) committed: Ids,
    /// What the controller was asked for, and has not answered or refused for good.
    pub(crate) pending: Option<Box<AlterPartition>>,
}

impl Isr {
    pub(crate) fn committed(ids: impl IntoIterator<Item = i32>) -> Isr {
        Isr { committed: ids.into_iter().collect(), pending: None }
    }

    /// Whether a replica counts for the high watermark: a member until the controller has said that it is none,
    /// and who is about to become one.
    pub(crate) fn holds_back(&self, id: i32) -> bool {
        self.committed.contains(&id) || self.joining() == Some(id)
    }

    /// Who is about to become a member.
    pub(crate) fn joining(&self) -> Option<i32> {
        match self.pending.as_ref()?.change {
            IsrChange::Expand(id) => Some(id),
            IsrChange::Shrink(_) => None,
        }
    }

    /// How many replicas count for the high watermark ("maximal ISR", KIP-497).
    pub(crate) fn maximal_len(&self) -> usize {
        let joins = self.joining().is_some_and(|id| !self.committed.contains(&id));
        self.committed.len() + usize::from(joins)
    }
}
