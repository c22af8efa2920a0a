//! What a broker is to a partition, and which appends that allows.

use crate::partition::producers::AppendOrigin;

/// What this broker is to a partition. An append says for which leader epoch it is, and is refused
/// if the role is another one by the time its offsets are assigned: what was queued for a leader is
/// not appended by a follower, nor in the epoch of another leadership.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// No role was set: the caller that opened the log is responsible for what is appended. A broker gives every
    /// partition a role before it serves it.
    #[default]
    Unassigned,
    /// It assigns offsets.
    Leader {
        /// In this leader epoch.
        epoch: i32,
    },
    /// It appends what the leader has.
    Follower {
        /// Of the leader in this epoch.
        epoch: i32,
    },
}

impl Role {
    /// Whether an append of this origin and leader epoch is this role's.
    pub(crate) fn allows(self, origin: AppendOrigin, leader_epoch: i32) -> bool {
        let is_replication = origin == AppendOrigin::Replication;
        match self {
            Role::Unassigned => true,
            Role::Leader { epoch } => !is_replication && leader_epoch == epoch,
            Role::Follower { epoch } => is_replication && leader_epoch == epoch,
        }
    }
}
