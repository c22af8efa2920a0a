//! What begins rebalances, and what they come to in numbers.

use std::ops::AddAssign;

use super::histogram::DurationHistogram;

/// What begins a rebalance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// A member joined.
    Joined,
    /// A member left, or was taken out.
    Left,
    /// A member subscribes to something else, or asks for another assignor.
    Subscription,
    /// A regular expression stands for other topics.
    Regex,
    /// Topics that the group subscribes to changed.
    Topics,
    /// A member of a group at the barrier joined again, which its leader may do at any time, and others when
    /// they own something else.
    Rejoined,
    /// The coordinator had a reason of its own.
    Coordinator,
}

impl TriggerKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [TriggerKind; 7] = [
        TriggerKind::Joined,
        TriggerKind::Left,
        TriggerKind::Subscription,
        TriggerKind::Regex,
        TriggerKind::Topics,
        TriggerKind::Rejoined,
        TriggerKind::Coordinator,
    ];

    /// Its number in [`RebalanceTrigger::kind`](thalweg_wire::messages::group_rebalances::RebalanceTrigger::kind).
    pub fn number(self) -> i8 {
        self as i8
    }

    /// The kind of a number.
    pub fn of(number: i8) -> Option<TriggerKind> {
        TriggerKind::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// Its name, as metrics have it.
    pub fn name(self) -> &'static str {
        match self {
            TriggerKind::Joined => "joined",
            TriggerKind::Left => "left",
            TriggerKind::Subscription => "subscription",
            TriggerKind::Regex => "regex",
            TriggerKind::Topics => "topics",
            TriggerKind::Rejoined => "rejoined",
            TriggerKind::Coordinator => "coordinator",
        }
    }
}

/// What all rebalances of a shard came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebalanceCounters {
    /// Rebalances by what began them first, in the order of [`TriggerKind::ALL`].
    pub triggered: [u64; TriggerKind::ALL.len()],
    /// Partitions that went from one member to another, or from or to none.
    pub moves: u64,
    /// How long those that another member took had no owner.
    pub unowned: DurationHistogram,
    /// How long members that were told to give partitions up kept those.
    pub revocation: DurationHistogram,
    /// How long rebalances took that are over.
    pub took: DurationHistogram,
}

impl AddAssign for RebalanceCounters {
    fn add_assign(&mut self, other: RebalanceCounters) {
        for (sum, count) in self.triggered.iter_mut().zip(other.triggered) {
            *sum += count;
        }
        self.moves += other.moves;
        self.unowned += other.unowned;
        self.revocation += other.revocation;
        self.took += other.took;
    }
}
