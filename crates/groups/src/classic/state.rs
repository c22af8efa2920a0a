//! The states of a classic group and the moves between them.

use std::fmt;

/// State of a classic group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassicGroupState {
    /// No members; may still hold offsets.
    Empty,
    /// Waiting for the members to join.
    PreparingRebalance,
    /// Waiting for the leader's assignment.
    CompletingRebalance,
    /// Every member can have its assignment.
    Stable,
    /// Gone, or moved away. No group that a shard holds is dead; descriptions of unknown groups are.
    Dead,
}

impl ClassicGroupState {
    /// Kafka's name of the state, as clients see it.
    pub fn name(self) -> &'static str {
        match self {
            ClassicGroupState::Empty => "Empty",
            ClassicGroupState::PreparingRebalance => "PreparingRebalance",
            ClassicGroupState::CompletingRebalance => "CompletingRebalance",
            ClassicGroupState::Stable => "Stable",
            ClassicGroupState::Dead => "Dead",
        }
    }

    /// Whether a group may go from `self` to `next`.
    pub fn may_become(self, next: ClassicGroupState) -> bool {
        use ClassicGroupState::{CompletingRebalance, Dead, Empty, PreparingRebalance, Stable};
        match next {
            Empty | CompletingRebalance => self == PreparingRebalance,
            PreparingRebalance => matches!(self, Stable | CompletingRebalance | Empty),
            Stable => self == CompletingRebalance,
            Dead => true,
        }
    }
}

impl fmt::Display for ClassicGroupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
