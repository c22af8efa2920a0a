//! The way to the coordinator: who it is, when to try again, which request is whose.

use thalweg_wire::ErrorCode;

use super::GroupSettings;
use super::action::{Action, GroupRequest, RequestId};
use crate::core::backoff::backoff_ms;

/// Shared by both kinds of members.
#[derive(Debug)]
pub(super) struct CoordinatorRequests {
    coordinator: Option<i32>,
    /// The driver was asked to find it.
    is_finding: bool,
    /// Failures since the last success.
    attempts: u32,
    /// Nothing is tried before.
    retry_at_ms: u64,
    backoff_ms: u64,
    backoff_max_ms: u64,
    random: u64,
    next_id: RequestId,
}

impl CoordinatorRequests {
    pub(super) fn new(settings: &GroupSettings, random: u64) -> CoordinatorRequests {
        CoordinatorRequests {
            coordinator: None,
            is_finding: false,
            attempts: 0,
            retry_at_ms: 0,
            backoff_ms: u64::from(settings.retry_backoff_ms),
            backoff_max_ms: u64::from(settings.retry_backoff_max_ms),
            random: random | 1,
            next_id: 0,
        }
    }

    pub(super) fn coordinator(&self) -> Option<i32> {
        self.coordinator
    }

    /// Asks for the coordinator if it is not known.
    pub(super) fn find(&mut self, now_ms: u64) -> Option<Action> {
        let due = self.coordinator.is_none() && !self.is_finding && now_ms >= self.retry_at_ms;
        due.then(|| {
            self.is_finding = true;
            Action::FindCoordinator
        })
    }

    pub(super) fn found(&mut self, id: i32) {
        self.is_finding = false;
        self.coordinator = Some(id);
    }

    pub(super) fn not_found(&mut self, now_ms: u64) {
        self.is_finding = false;
        self.failed(now_ms);
    }

    pub(super) fn lose_coordinator(&mut self) {
        self.coordinator = None;
    }

    /// Something failed that is worth another try, later each time.
    pub(super) fn failed(&mut self, now_ms: u64) {
        self.attempts = self.attempts.saturating_add(1);
        let random = self.random();
        let pause = backoff_ms(self.backoff_ms, self.backoff_max_ms, self.attempts, random);
        self.retry_at_ms = now_ms.saturating_add(pause);
    }

    /// The first failure in a row is tried again at once, later ones are not.
    pub(super) fn failed_once(&mut self, now_ms: u64) {
        if self.attempts == 0 {
            self.attempts = 1;
        } else {
            self.failed(now_ms);
        }
    }

    pub(super) fn succeeded(&mut self) {
        self.attempts = 0;
        self.retry_at_ms = 0;
    }

    /// Whether a request may go out.
    pub(super) fn is_ready(&self, now_ms: u64) -> bool {
        self.coordinator.is_some() && now_ms >= self.retry_at_ms
    }

    /// When it will be worth asking again, if nothing else happens.
    pub(super) fn retry_at(&self) -> Option<u64> {
        (!self.is_finding).then_some(self.retry_at_ms)
    }

    /// An action that sends a request, and its id; `None` while nobody can be asked.
    pub(super) fn send(
        &mut self,
        request: GroupRequest,
        timeout_ms: u64,
    ) -> Option<(RequestId, Action)> {
        let coordinator = self.coordinator?;
        let id = self.next_id;
        self.next_id += 1;
        Some((id, Action::Request { id, coordinator, request: Box::new(request), timeout_ms }))
    }

    fn random(&mut self) -> u64 {
        // xorshift; it only has to spread members out.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

/// Whether the application still polls (`max.poll.interval.ms`).
#[derive(Debug)]
pub(super) struct PollTimer {
    last_ms: u64,
    interval_ms: u64,
}

impl PollTimer {
    pub(super) fn new(interval_ms: u64, now_ms: u64) -> PollTimer {
        PollTimer { last_ms: now_ms, interval_ms }
    }

    pub(super) fn polled(&mut self, now_ms: u64) {
        self.last_ms = self.last_ms.max(now_ms);
    }

    pub(super) fn ends_at(&self) -> u64 {
        self.last_ms.saturating_add(self.interval_ms)
    }

    pub(super) fn is_over(&self, now_ms: u64) -> bool {
        now_ms > self.ends_at()
    }
}

/// Errors after which the coordinator has to be looked up again.
pub(super) fn has_moved(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE)
}
