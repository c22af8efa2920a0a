//! What a move does next. Pure.

use thalweg_wire::Uuid;

/// What is so now of a partition that moves to another log directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// The future replica had all that the log had, when that was last looked at.
    pub(super) is_caught_up: bool,
    /// Where the partition goes.
    pub(super) to: Uuid,
    /// Where the metadata says that it is; `None` where it says nothing of directories.
    pub(super) assigned: Option<Uuid>,
    /// When the controller was told last that the partition is there.
    pub(super) told_ms: Option<u64>,
    pub(super) now_ms: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// Copy what the future replica lacks.
    Copy,
    /// Tell the controller where the partition is going to be.
    Tell,
    /// Wait for the controller, until then at most.
    WaitUntil(u64),
    /// The log moves to its future replica.
    Switch,
}

/// The controller is told again after this.
const TELL_AGAIN_MS: u64 = 10_000;

impl Now {
    /// The log moves once the metadata says where it goes (KIP-858): if the directory that it leaves fails afterwards,
    /// the controller must not look for the partition there.
    pub(super) fn next(&self) -> Next {
        if !self.is_caught_up {
            return Next::Copy;
        }
        if self.assigned.is_none_or(|assigned| assigned == self.to) {
            return Next::Switch;
        }
        match self.told_ms.map(|told| told.saturating_add(TELL_AGAIN_MS)) {
            Some(until) if self.now_ms < until => Next::WaitUntil(until),
            _ => Next::Tell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Uuid = Uuid([1; 16]);
    const THERE: Uuid = Uuid([2; 16]);

    #[test]
    fn a_log_moves_when_the_controller_knows_where_to() {
        let mut now =
            Now { is_caught_up: false, to: THERE, assigned: Some(HERE), told_ms: None, now_ms: 5 };
        assert_eq!(now.next(), Next::Copy);
        now.is_caught_up = true;
        assert_eq!(now.next(), Next::Tell);
        now.told_ms = Some(5);
        assert_eq!(now.next(), Next::WaitUntil(5 + TELL_AGAIN_MS));
        now.now_ms += TELL_AGAIN_MS;
        assert_eq!(now.next(), Next::Tell, "what it was told may be lost");
        now.assigned = Some(THERE);
        assert_eq!(now.next(), Next::Switch);
        // What was appended while the controller was waited for is more than goes with the switch.
        now.is_caught_up = false;
        assert_eq!(now.next(), Next::Copy);
    }

    #[test]
    fn metadata_without_directories_is_not_waited_for() {
        let now = Now { is_caught_up: true, to: THERE, assigned: None, told_ms: None, now_ms: 0 };
        assert_eq!(now.next(), Next::Switch);
    }
}
