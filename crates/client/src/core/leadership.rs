//! How far one partition's leader has shown that it leads.
//!
//! Whoever moves with a leader may be there before it: a broker that was just named the leader may not have heard of
//! it, and refuses. It is asked again after a moment. A leader that has answered before and refuses leads no more.

use thalweg_wire::ErrorCode;

use crate::core::backoff::unready_ms;
use crate::core::metadata::Leader;

/// So often a new leader is asked again, over 90 ms.
const REFUSALS_MAX: u32 = 7;
/// The same, over 550 ms, for one whose answers show that it is behind: it names the leader that was before, or does not
/// know the leader epoch that it leads in. A Java broker names no leader beside UNKNOWN_LEADER_EPOCH.
const REFUSALS_BEHIND_MAX: u32 = 30;

/// What the broker that leads by the metadata of now has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leadership {
    is_confirmed: bool,
    refusals: u32,
}

impl Leadership {
    /// It has answered as the leader.
    pub fn confirm(&mut self) {
        *self = Leadership { is_confirmed: true, refusals: 0 };
    }

    /// Whether it has.
    pub fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// It has refused, and named this leader, if any. The milliseconds after which it is asked again, because it is
    /// likely to hear of its leadership soon; `None` where that is not to be expected.
    pub fn refuse(&mut self, code: ErrorCode, named: Leader) -> Option<u64> {
        if self.is_confirmed || !may_be_early(code) {
            return None;
        }
        self.refusals = self.refusals.saturating_add(1);
        let is_behind = named.id >= 0 || code == ErrorCode::UNKNOWN_LEADER_EPOCH;
        let most = if is_behind { REFUSALS_BEHIND_MAX } else { REFUSALS_MAX };
        (self.refusals <= most).then(|| unready_ms(self.refusals))
    }
}

/// Whether a broker answers so that has not heard of a partition, or of its leadership.
fn may_be_early(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::NOT_LEADER_OR_FOLLOWER
            | ErrorCode::LEADER_NOT_AVAILABLE
            | ErrorCode::UNKNOWN_LEADER_EPOCH
            | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode::UNKNOWN_TOPIC_ID
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Leader = Leader { id: -1, epoch: -1 };
    const FORMER: Leader = Leader { id: 1, epoch: 4 };

    #[test]
    fn only_a_new_leader_is_asked_again() {
        let mut leadership = Leadership::default();
        assert_eq!(leadership.refuse(ErrorCode::KAFKA_STORAGE_ERROR, NOBODY), None);
        assert_eq!(leadership.refuse(ErrorCode::NOT_LEADER_OR_FOLLOWER, NOBODY), Some(2));
        assert_eq!(leadership.refuse(ErrorCode::UNKNOWN_TOPIC_ID, NOBODY), Some(4));
        leadership.confirm();
        let again = leadership.refuse(ErrorCode::NOT_LEADER_OR_FOLLOWER, FORMER);
        assert_eq!(again, None, "it has led before");
    }

    #[test]
    fn a_new_leader_is_asked_again_for_a_while() {
        let (not_leader, unknown_epoch) =
            (ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::UNKNOWN_LEADER_EPOCH);
        for (code, named, pauses, ms) in [
            (not_leader, NOBODY, 7, 90),
            (not_leader, FORMER, 30, 550),
            (unknown_epoch, NOBODY, 30, 550),
        ] {
            let mut leadership = Leadership::default();
            let mut refuse = || leadership.refuse(code, named);
            let pause_ms: Vec<u64> = (0..100).map_while(|_| refuse()).collect();
            assert_eq!((pause_ms.len(), pause_ms.iter().sum()), (pauses, ms));
            assert_eq!(refuse(), None);
        }
    }
}
