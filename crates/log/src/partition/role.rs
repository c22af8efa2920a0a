//! What a broker is to a partition, and which appends that allows.

use parking_lot::MutexGuard;

use crate::partition::append::AppendContext;
use crate::partition::error::AppendError;
use crate::partition::log::Log;
use crate::partition::producers::AppendOrigin;

/// What this broker is to a partition. An append says for which leader epoch it is, and is refused
/// if the role is another one by the time its offsets are assigned: what was queued for a leader is
/// not appended by a follower, nor in the epoch of another leadership.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// Nobody has said: whoever opened the log answers for what is appended. A broker gives every
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
    /// Whether an append of this kind is this role's.
    fn allows(self, context: &AppendContext) -> bool {
        let is_replication = context.origin == AppendOrigin::Replication;
        match self {
            Role::Unassigned => true,
            Role::Leader { epoch } => !is_replication && context.leader_epoch == epoch,
            Role::Follower { epoch } => is_replication && context.leader_epoch == epoch,
        }
    }
}

impl Log {
    /// What this broker is to the partition.
    pub fn role(&self) -> Role {
        self.writer().role
    }

    /// This broker leads from where the log ends now on: to be called before the first append of the
    /// epoch. Appends for other epochs are refused from here on. The epoch's file follows with the
    /// next flush at the latest.
    ///
    /// Waits until a follower's cut that is under way is done.
    pub fn make_leader(&self, epoch: i32) {
        let _cut = self.cuts.lock_role();
        let mut writer = self.writer();
        let end = writer.end_offset;
        self.note_epoch(&mut writer, epoch, end);
        writer.role = Role::Leader { epoch };
    }

    /// Another broker leads, in this epoch. Appends of a leader are refused from here on, those that
    /// wait on the queue, too.
    ///
    /// Waits until a follower's cut that is under way is done: what it decided in another epoch does not count.
    pub fn make_follower(&self, epoch: i32) {
        let _cut = self.cuts.lock_role();
        self.writer().role = Role::Follower { epoch };
    }

    /// Keeps the role while a follower cuts its log off, if it is that of a follower in this epoch.
    pub(crate) fn cut_as_follower(&self, epoch: i32) -> Option<MutexGuard<'_, ()>> {
        let cut = self.cuts.lock_role();
        (self.role() == Role::Follower { epoch }).then_some(cut)
    }

    /// Refuses an append that is not for the role of now.
    pub(crate) fn check_role(
        &self,
        role: Role,
        context: &AppendContext,
    ) -> Result<(), AppendError> {
        if role.allows(context) {
            return Ok(());
        }
        Err(AppendError::NotLeaderOrFollower {
            topic: self.topic.clone(),
            partition: self.partition,
            leader_epoch: context.leader_epoch,
            role,
        })
    }
}
