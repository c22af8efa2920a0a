//! How far a follower is, as its leader sees it.

/// What a leader knows of a follower: what its last fetch said, and since when it has not been at the log's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The follower's log end: the offset that it fetched. -1 until it has fetched.
    pub log_end: i64,
    /// The follower's log start. -1 until it has fetched.
    pub log_start: i64,
    /// Epoch of the broker that fetched; -1 if the request had none, `None` until it has fetched.
    pub broker_epoch: Option<i64>,
    /// The last moment at which the follower had all that the leader had; `None` if there is none.
    pub caught_up_ms: Option<u64>,
    /// When it fetched last.
    fetched_ms: Option<u64>,
    /// The leader's log end at its last fetch.
    leader_end: i64,
}

impl Progress {
    /// Of a follower that has not fetched.
    pub(crate) const UNKNOWN: Progress = Progress {
        log_end: -1,
        log_start: -1,
        broker_epoch: None,
        caught_up_ms: None,
        fetched_ms: None,
        leader_end: -1,
    };

    /// A leader's epoch begins. A follower in the ISR counts as caught up at that moment, so that it is not
    /// taken out before it had its time; one that is not in it does not hold the high watermark back.
    pub(crate) fn begin_epoch(
        &mut self,
        now_ms: u64,
        leader_end: i64,
        is_new_leader: bool,
        is_in_sync: bool,
    ) {
        let since = is_in_sync.then_some(now_ms);
        if is_new_leader {
            *self = Progress { caught_up_ms: since, ..Progress::UNKNOWN };
        } else {
            (self.caught_up_ms, self.fetched_ms, self.leader_end) = (since, since, leader_end);
        }
    }

    /// The follower fetched from `log_end` on, when the leader's log ended at `leader_end`. One that fetches all
    /// there is, but always a little later than something is appended, was caught up when it fetched before.
    pub(crate) fn fetched(
        &mut self,
        log_end: i64,
        log_start: i64,
        broker_epoch: i64,
        leader_end: i64,
        now_ms: u64,
    ) {
        if log_end >= leader_end {
            self.caught_up_ms = self.caught_up_ms.max(Some(now_ms));
        } else if log_end >= self.leader_end {
            self.caught_up_ms = self.caught_up_ms.max(self.fetched_ms);
        }
        *self = Progress {
            log_end,
            log_start,
            broker_epoch: Some(broker_epoch),
            caught_up_ms: self.caught_up_ms,
            fetched_ms: Some(now_ms),
            leader_end: self.leader_end.max(leader_end),
        };
    }

    /// Whether it is at the leader's log end, or was so recently.
    pub(crate) fn is_caught_up(&self, leader_end: i64, now_ms: u64, lag_max_ms: u64) -> bool {
        self.log_end == leader_end
            || self.caught_up_ms.is_some_and(|at| now_ms.saturating_sub(at) <= lag_max_ms)
    }
}
