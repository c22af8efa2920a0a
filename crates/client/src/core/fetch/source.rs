//! What is fetched from one broker: its session, its request under way, and what is asked beside that.

use super::session::{ByPartition, FetchSession, RequestedPartition};
use super::window::Window;

/// What is fetched from one broker.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub session: FetchSession,
    pub in_flight: bool,
    /// The broker's task was told that there may be something, and has not looked yet.
    pub woken: bool,
    pub window: Window,
    /// The last connection was lost, and no other has brought an answer.
    pub is_lost: bool,
    /// Answers so far.
    pub rounds: u64,
    pub sessionless: Sessionless,
}

/// What is asked of a broker without a session.
#[derive(Debug, Default)]
pub(super) struct Sessionless {
    pub in_flight: bool,
    /// Somebody was told that there may be something, and has not looked yet.
    pub woken: bool,
    /// Requests for which the broker waited since the session's last answer.
    pub waits: u32,
    pub asked: ByPartition<RequestedPartition>,
}

impl Sessionless {
    /// The next one that wants something says so again.
    pub fn forget_wake(&mut self) {
        self.woken = false;
        self.waits = 0;
    }
}
