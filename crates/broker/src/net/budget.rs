//! The one hard limit on memory that requests may hold (`queued.max.request.bytes`), and the one on
//! memory that answers to fetches may hold.
//!
//! A frame's buffer grows while its bytes arrive, and a request that is decoded into memory of its
//! own takes more, so a holder of memory may need more before it can finish. When all of the budget
//! is held by such requests, one of them at a time may go past the limit until it is done: the
//! bound is the limit plus one request, and nothing can deadlock. What a request leaves behind while
//! it is parked is not charged here (see `Account` in the coordinators' crate, and the budget of
//! answers to fetches for fetches that wait), or requests that
//! wait would hold what those need that they wait for.
//!
//! Some requests keep their memory while they wait for other requests: a Produce for its transaction's coordinator, a
//! coordinator's request for its record to be replicated. Followers replicate by Fetch. So a Fetch, which waits for no
//! other request before it is parked, has a reserve where the budget is used up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

/// Bytes that requests hold, and the limit they share.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    used: AtomicUsize,
    freed: Notify,
    overdraft: Arc<Mutex<()>>,
    /// For requests that wait for no other one.
    reserve: Option<Arc<Budget>>,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Arc<Budget> {
        Budget::with(limit, None)
    }

    /// A budget with a reserve of so many bytes beside it ([`Charge::raise_in_reserve`]).
    pub(crate) fn with_reserve(limit: usize, reserve: usize) -> Arc<Budget> {
        Budget::with(limit, Some(Budget::new(reserve)))
    }

    fn with(limit: usize, reserve: Option<Arc<Budget>>) -> Arc<Budget> {
        Arc::new(Budget {
            limit,
            used: AtomicUsize::new(0),
            freed: Notify::new(),
            overdraft: Arc::new(Mutex::new(())),
            reserve,
        })
    }

    /// Bytes held now of the reserve.
    pub(crate) fn reserve_used(&self) -> usize {
        self.reserve.as_ref().map_or(0, |reserve| reserve.used())
    }

    /// Bytes held now.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The limit.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    fn try_take(&self, bytes: usize) -> bool {
        self.used
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |used| {
                // The first holder gets what it asks for, or a limit below one frame would stop all.
                (used == 0 || used + bytes <= self.limit).then_some(used + bytes)
            })
            .is_ok()
    }
}

/// What one request holds of the budget; gives it back when dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
    overdraft: Option<OwnedMutexGuard<()>>,
}

impl Charge {
    pub(crate) fn new(budget: &Arc<Budget>) -> Charge {
        Charge { budget: Arc::clone(budget), bytes: 0, overdraft: None }
    }

    /// Raises the charge to `bytes`, at once or not at all.
    pub(crate) fn try_raise_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 {
            if self.overdraft.is_some() {
                self.budget.used.fetch_add(more, Ordering::AcqRel);
            } else if !self.budget.try_take(more) {
                return false;
            }
            self.bytes = bytes;
        }
        true
    }

    /// The same, and where there is no room one holder at a time may go past the limit until it is done:
    /// for what must be done some time, and cannot wait with what it holds.
    pub(crate) fn try_raise_past(&mut self, bytes: usize) -> bool {
        if self.try_raise_to(bytes) {
            return true;
        }
        self.overdraft = Arc::clone(&self.budget.overdraft).try_lock_owned().ok();
        self.overdraft.is_some() && self.try_raise_to(bytes)
    }

    /// Raises the charge to `bytes`, past the limit where there is no room: for what must not wait for others, and is
    /// bounded by something else.
    pub(crate) fn raise_past(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.bytes);
        self.budget.used.fetch_add(more, Ordering::AcqRel);
        self.bytes += more;
    }

    /// Raises the charge to `bytes`, waiting until others have given enough back.
    pub(crate) async fn raise_to(&mut self, bytes: usize) {
        if !self.try_raise_to(bytes) {
            // In a box: there is room for this wait in the future of each connection, and few ever wait.
            Box::pin(self.wait_to_raise(bytes)).await;
        }
    }

    async fn wait_to_raise(&mut self, bytes: usize) {
        loop {
            let budget = Arc::clone(&self.budget);
            let freed = budget.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.try_raise_to(bytes) {
                return;
            }
            if self.bytes == 0 {
                // Holds nothing yet: others can finish without it.
                freed.await;
            } else {
                tokio::select! {
                    () = freed => {}
                    guard = Arc::clone(&budget.overdraft).lock_owned() => {
                        self.overdraft = Some(guard);
                    }
                }
            }
        }
    }

    /// The same for a request that waits for no other one while it holds this: without room it moves to the reserve,
    /// which only such requests hold.
    pub(crate) async fn raise_in_reserve(&mut self, bytes: usize) {
        if self.try_raise_to(bytes) {
            return;
        }
        let Some(reserve) = &self.budget.reserve else {
            return self.raise_to(bytes).await;
        };
        let mut reserved = Charge::new(reserve);
        reserved.raise_to(bytes).await;
        *self = reserved;
    }

    /// Whether this is a charge of another budget, which can only be the reserve.
    pub(crate) fn is_in_reserve_of(&self, budget: &Arc<Budget>) -> bool {
        !Arc::ptr_eq(&self.budget, budget)
    }

    /// Moves the charge back from the reserve, waiting for room.
    pub(crate) async fn leave_reserve_to(&mut self, budget: &Arc<Budget>) {
        let mut charge = Charge::new(budget);
        charge.raise_to(self.bytes).await;
        *self = charge;
    }

    /// Bytes this holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `bytes` of what this holds, or all of it, into a charge of their own. The right to go
    /// past the limit goes with them: who got it keeps it until what it was for is dropped.
    pub(crate) fn split(&mut self, bytes: usize) -> Charge {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Charge { budget: Arc::clone(&self.budget), bytes, overdraft: self.overdraft.take() }
    }

    /// Gives back what is above `bytes`.
    pub(crate) fn lower_to(&mut self, bytes: usize) {
        if let Some(less) = self.bytes.checked_sub(bytes).filter(|less| *less > 0) {
            self.bytes = bytes;
            self.budget.used.fetch_sub(less, Ordering::AcqRel);
            self.budget.freed.notify_waiters();
        }
    }

    /// Gives everything back.
    pub(crate) fn release(&mut self) {
        if self.bytes > 0 {
            self.budget.used.fetch_sub(self.bytes, Ordering::AcqRel);
            self.bytes = 0;
            self.budget.freed.notify_waiters();
        }
        self.overdraft = None;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn waits_for_room_and_takes_it() {
        let budget = Budget::new(100);
        let mut first = Charge::new(&budget);
        first.raise_to(80).await;
        let mut second = Charge::new(&budget);
        assert!(!second.try_raise_to(30));
        let waiter = tokio::spawn(async move {
            second.raise_to(30).await;
            second
        });
        tokio::task::yield_now().await;
        assert_eq!(budget.used(), 80);
        first.release();
        let second = waiter.await.unwrap();
        assert_eq!(budget.used(), 30);
        drop(second);
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn a_part_outlives_the_rest_and_keeps_the_right_to_go_past_the_limit() {
        let budget = Budget::new(100);
        let mut other = Charge::new(&budget);
        other.raise_to(60).await;
        let mut frame = Charge::new(&budget);
        frame.raise_to(40).await;
        frame.raise_to(70).await;
        assert_eq!(budget.used(), 130);
        let mut decoded = frame.split(30);
        drop(frame);
        assert_eq!((budget.used(), decoded.bytes()), (90, 30));
        // It goes on where others have to wait, until it is dropped.
        assert!(decoded.try_raise_to(50) && !other.try_raise_to(80));
        assert!(budget.overdraft.try_lock().is_err());
        decoded.lower_to(10);
        assert_eq!(budget.used(), 70);
        drop(decoded);
        assert_eq!(budget.used(), 60);
        assert!(budget.overdraft.try_lock().is_ok());
    }

    #[test]
    fn one_at_a_time_goes_past_the_limit_without_waiting() {
        let budget = Budget::new(100);
        let mut first = Charge::new(&budget);
        assert!(first.try_raise_past(90));
        let mut past = Charge::new(&budget);
        assert!(past.try_raise_past(30));
        let mut none = Charge::new(&budget);
        assert!(!none.try_raise_past(30));
        assert_eq!((budget.used(), none.bytes()), (120, 0));
        drop(past);
        assert!(none.try_raise_past(30));
        drop((first, none));
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn reserve_serves_where_the_budget_is_used_up() {
        let budget = Budget::with_reserve(100, 50);
        let mut keeps = Charge::new(&budget);
        keeps.raise_to(90).await;
        // Holds a part of the budget already, and gives that back.
        let mut fetch = Charge::new(&budget);
        fetch.raise_in_reserve(10).await;
        assert!(!fetch.is_in_reserve_of(&budget));
        fetch.raise_in_reserve(30).await;
        assert!(fetch.is_in_reserve_of(&budget));
        assert_eq!((budget.used(), budget.reserve_used()), (90, 30));
        // In the reserve one at a time goes past the limit, as in the budget.
        let mut other = Charge::new(&budget);
        other.raise_in_reserve(20).await;
        fetch.raise_in_reserve(40).await;
        assert_eq!((budget.used(), budget.reserve_used()), (90, 60));
        keeps.release();
        fetch.leave_reserve_to(&budget).await;
        assert_eq!((budget.used(), budget.reserve_used()), (40, 20));
        drop((keeps, fetch, other));
        assert_eq!((budget.used(), budget.reserve_used()), (0, 0));
    }

    #[tokio::test]
    async fn unfinished_frames_never_deadlock() {
        let budget = Budget::new(100);
        let mut tasks = Vec::new();
        for _ in 0..10 {
            let budget = Arc::clone(&budget);
            tasks.push(tokio::spawn(async move {
                let mut charge = Charge::new(&budget);
                for step in 1..=20 {
                    charge.raise_to(step * 10).await;
                    tokio::task::yield_now().await;
                }
                // The limit and what one frame may hold above it.
                assert!(budget.used() <= 100 + 200, "{}", budget.used());
            }));
        }
        for task in tasks {
            tokio::time::timeout(Duration::from_secs(10), task).await.unwrap().unwrap();
        }
        assert_eq!(budget.used(), 0);
    }
}
