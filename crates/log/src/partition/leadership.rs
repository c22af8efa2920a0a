//! Changes of a log's role, which wait until a follower's cut is done, and the check of appends against it.

use parking_lot::MutexGuard;

use crate::partition::error::AppendError;
use crate::partition::log::Log;
use crate::partition::request::AppendContext;
use crate::partition::role::Role;

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
        if role.allows(context.origin, context.leader_epoch) {
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
