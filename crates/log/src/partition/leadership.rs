//! Changes of a log's role, which wait until a follower's cut is done, and the check of appends against it.

use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use crate::partition::error::AppendError;
use crate::partition::log::{Log, Writer};
use crate::partition::request::AppendContext;
use crate::partition::role::Role;

/// How long a change of role waits at most for an append or a cut that is under way, before it is left to a thread that may
/// wait.
const ROLE_WAIT_MAX: Duration = Duration::from_millis(100);
/// How often it is looked whether the directory stalls.
const ROLE_WAIT_STEP: Duration = Duration::from_millis(5);

impl Log {
    /// What this broker is to the partition.
    pub fn role(&self) -> Role {
        self.writer().role
    }

    /// Changes the role. A leader begins where the log ends now; its epoch is in the epoch's file with the next flush at the
    /// latest. Appends that the role does not allow are refused from here on, those on the queue among them.
    ///
    /// Waits for an append that is being written, and for a follower's cut: what it decided in another epoch does not
    /// count.
    pub fn set_role(&self, role: Role) {
        let _cut = self.cuts.lock_role();
        self.change_role(&mut self.writer(), role);
    }

    /// The same, if nothing hangs. Says whether the role has changed. Until it has, every append is refused when its offsets
    /// are to be assigned, and so are cuts of a follower and verifications.
    ///
    /// Waits for what is under way for as long as its directory does not stall, but not for long.
    pub fn try_set_role(&self, role: Role) -> bool {
        let until = Instant::now() + ROLE_WAIT_MAX;
        loop {
            if let Some(_cut) = self.cuts.try_lock_role(ROLE_WAIT_STEP)
                && let Some(mut writer) = self.try_writer_for(ROLE_WAIT_STEP)
            {
                self.change_role(&mut writer, role);
                return true;
            }
            if self.dir().is_slow() || Instant::now() >= until {
                self.cuts.set_role_waits(true);
                return false;
            }
        }
    }

    /// Waits for an append that is being written, and for a cut: whatever [`Self::try_set_role`] found in its way. Changes
    /// nothing.
    pub fn wait_for_changes(&self) {
        let _cut = self.cuts.lock_role();
        drop(self.writer());
    }

    fn change_role(&self, writer: &mut Writer, role: Role) {
        if let Role::Leader { epoch } = role {
            let end = writer.end_offset;
            self.note_epoch(writer, epoch, end);
        }
        writer.role = role;
        self.cuts.set_role_waits(false);
    }

    /// This broker leads, in this epoch: to be called before the first append of the epoch. See [`Self::set_role`].
    pub fn make_leader(&self, epoch: i32) {
        self.set_role(Role::Leader { epoch });
    }

    /// Another broker leads, in this epoch. See [`Self::set_role`].
    pub fn make_follower(&self, epoch: i32) {
        self.set_role(Role::Follower { epoch });
    }

    /// Keeps the role while a follower cuts its log off, if it is that of a follower in this epoch.
    pub(crate) fn cut_as_follower(&self, epoch: i32) -> Option<MutexGuard<'_, ()>> {
        let cut = self.cuts.lock_role();
        let is_this = !self.cuts.role_waits() && self.role() == Role::Follower { epoch };
        is_this.then_some(cut)
    }

    /// Refuses an append that is not for the role of now.
    pub(crate) fn check_role(
        &self,
        role: Role,
        context: &AppendContext,
    ) -> Result<(), AppendError> {
        if role.allows(context.origin, context.leader_epoch) && !self.cuts.role_waits() {
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
