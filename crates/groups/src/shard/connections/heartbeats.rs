//! The heartbeat interval of a member, as the connection shows it that carried the last heartbeat.
//!
//! A classic client does not send its heartbeat interval, so the interval is measured. It is the longer one of the
//! last two: a heartbeat that a client sends early (franz-go forces one, librdkafka sends one after a rebalance)
//! would make the next regular one look overdue.
//!
//! A heartbeat that the coordinator holds counts from its arrival. Clients that wait for the answer, and count their
//! interval from it, so show a longer interval, which is the one they have.

use crate::model::{ConnectionId, GroupRequest};

/// What a member's request says about its heartbeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Heartbeat,
    /// JoinGroup, SyncGroup, or the heartbeat that joins a group of the consumer protocol. The client's interval starts
    /// with it again, so the time between the heartbeats before and after is no interval.
    Join,
    /// A commit does not change when the next heartbeat is sent.
    Other,
}

impl Sign {
    pub(super) fn of(request: &GroupRequest) -> Sign {
        match request {
            GroupRequest::JoinGroup(_) | GroupRequest::SyncGroup(_) => Sign::Join,
            GroupRequest::ConsumerGroupHeartbeat(request) if request.member_epoch == 0 => {
                Sign::Join
            }
            GroupRequest::Heartbeat(_) | GroupRequest::ConsumerGroupHeartbeat(_) => Sign::Heartbeat,
            _ => Sign::Other,
        }
    }
}

/// The heartbeats of a member on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeartbeatTimes {
    connection: ConnectionId,
    /// When the last heartbeat or join came.
    last_ms: u64,
    /// The last one was a heartbeat: the next heartbeat ends an interval.
    is_heartbeat: bool,
    /// The last interval between two heartbeats; `None` if the connection has not carried two.
    interval_ms: Option<u64>,
    /// The interval before.
    before_ms: u64,
}

impl HeartbeatTimes {
    /// Those of a member after a request on `connection`, which may be the first one; `None` while there is neither a
    /// heartbeat nor a join.
    pub(super) fn after(
        times: Option<HeartbeatTimes>,
        sign: Sign,
        connection: ConnectionId,
        now_ms: u64,
    ) -> Option<HeartbeatTimes> {
        if sign == Sign::Other {
            return times;
        }
        let is_heartbeat = sign == Sign::Heartbeat;
        let Some(mut times) = times.filter(|times| times.connection == connection) else {
            return Some(HeartbeatTimes {
                connection,
                last_ms: now_ms,
                is_heartbeat,
                interval_ms: None,
                before_ms: 0,
            });
        };
        if times.is_heartbeat && is_heartbeat {
            times.before_ms = times.interval_ms.unwrap_or(0);
            times.interval_ms = Some(now_ms.saturating_sub(times.last_ms));
        }
        times.last_ms = now_ms;
        times.is_heartbeat = is_heartbeat;
        Some(times)
    }

    /// How long after the end of its connection a member's next heartbeat is due; `None` if the connection has not
    /// carried two heartbeats.
    ///
    /// It is two intervals: a heartbeat that finds no connection fails, and some clients send the next one a whole
    /// interval later (librdkafka). The coordinator tells members of the consumer protocol the interval, `told_ms` (0 for
    /// others), and holds their heartbeats for so long, so what is measured of them is up to twice of it already. No
    /// heartbeat is due after the session, which ends then anyway.
    pub(super) fn due_after_ms(&self, told_ms: u64, session_ms: u64) -> Option<u64> {
        let measured_ms = self.interval_ms?.max(self.before_ms);
        let interval_ms = if told_ms > 0 { told_ms } else { measured_ms };
        Some(interval_ms.saturating_mul(2).max(measured_ms).min(session_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ConnectionId = ConnectionId(1);
    const OTHER: ConnectionId = ConnectionId(2);

    fn due_after_ms(signs: &[(Sign, ConnectionId, u64)], told_ms: u64) -> Option<u64> {
        let after = |times, &(sign, connection, now_ms): &(Sign, ConnectionId, u64)| {
            HeartbeatTimes::after(times, sign, connection, now_ms)
        };
        signs.iter().fold(None, after)?.due_after_ms(told_ms, 10_000)
    }

    #[test]
    fn heartbeat_is_due_after_two_intervals() {
        use Sign::{Heartbeat, Join, Other};
        let beats = [(Heartbeat, ONE, 1_000), (Heartbeat, ONE, 4_000)];
        assert_eq!(due_after_ms(&beats[..1], 0), None);
        assert_eq!(due_after_ms(&beats, 0), Some(6_000));
        // Commits change nothing.
        let commit = [beats[0], (Other, ONE, 2_000), beats[1], (Other, OTHER, 6_000)];
        assert_eq!(due_after_ms(&commit, 0), Some(6_000));
        assert_eq!(due_after_ms(&[(Join, ONE, 900), beats[0], beats[1]], 0), Some(6_000));
        assert_eq!(due_after_ms(&[(Other, ONE, 0)], 0), None);
    }

    #[test]
    fn early_heartbeat_does_not_shorten_the_interval() {
        use Sign::{Heartbeat, Join};
        let beats = [(Heartbeat, ONE, 0), (Heartbeat, ONE, 3_000), (Heartbeat, ONE, 3_100)];
        assert_eq!(due_after_ms(&beats, 0), Some(6_000));
        // One after a join ends no interval.
        let joined = [beats[0], beats[1], (Join, ONE, 4_000), (Heartbeat, ONE, 4_050)];
        assert_eq!(due_after_ms(&joined, 0), Some(6_000));
        assert_eq!(due_after_ms(&[beats[0], (Join, ONE, 1), (Heartbeat, ONE, 2)], 0), None);
    }

    #[test]
    fn told_interval_counts_before_a_measured_one() {
        use Sign::Heartbeat;
        let beats = [(Heartbeat, ONE, 0), (Heartbeat, ONE, 100)];
        assert_eq!(due_after_ms(&beats, 4_000), Some(8_000));
        assert_eq!(due_after_ms(&[beats[0], (Heartbeat, ONE, 6_000)], 4_000), Some(8_000));
        assert_eq!(due_after_ms(&[beats[0], (Heartbeat, ONE, 9_000)], 4_000), Some(9_000));
        // A session is the longest.
        assert_eq!(due_after_ms(&[beats[0], (Heartbeat, ONE, 90_000)], 4_000), Some(10_000));
    }

    #[test]
    fn interval_is_measured_on_one_connection() {
        use Sign::Heartbeat;
        let beats = [
            (Heartbeat, ONE, 0),
            (Heartbeat, ONE, 3_000),
            (Heartbeat, OTHER, 6_000),
            (Heartbeat, OTHER, 7_000),
        ];
        assert_eq!(due_after_ms(&beats[..3], 0), None);
        assert_eq!(due_after_ms(&beats, 0), Some(2_000));
    }
}
