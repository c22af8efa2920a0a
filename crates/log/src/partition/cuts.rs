//! Cuts of a log's end, as the role and a future replica see them.
//!
//! Invariants:
//! - The role does not change while a follower cuts its log off.
//! - While a change of role waits, every append is refused.
//! - A future replica sees every cut since it last looked, by the lowest offset.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// No cut was noted.
const NO_CUT: i64 = i64::MAX;

/// The part of a log that knows of its cuts.
#[derive(Debug)]
pub(crate) struct Cuts {
    role: Mutex<()>,
    /// A change of role waits.
    role_waits: AtomicBool,
    /// The lowest offset that the log was cut at since its future replica followed.
    lowest: AtomicI64,
}

impl Default for Cuts {
    fn default() -> Cuts {
        Cuts {
            role: Mutex::new(()),
            role_waits: AtomicBool::new(false),
            lowest: AtomicI64::new(NO_CUT),
        }
    }
}

impl Cuts {
    /// Keeps the role, or a cut from beginning, for as long as the guard lives.
    pub(crate) fn lock_role(&self) -> MutexGuard<'_, ()> {
        self.role.lock()
    }

    /// The same, if that takes no longer than `limit`.
    pub(crate) fn try_lock_role(&self, limit: Duration) -> Option<MutexGuard<'_, ()>> {
        self.role.try_lock_for(limit)
    }

    /// Whether a change of role waits.
    #[inline]
    pub(crate) fn role_waits(&self) -> bool {
        self.role_waits.load(Ordering::Acquire)
    }

    pub(crate) fn set_role_waits(&self, waits: bool) {
        self.role_waits.store(waits, Ordering::Release);
    }

    /// Notes that the log was cut off at `offset`.
    pub(crate) fn note(&self, offset: i64) {
        self.lowest.fetch_min(offset, Ordering::AcqRel);
    }

    /// Takes the lowest offset of the cuts since the last time; `i64::MAX` without one.
    pub(crate) fn take(&self) -> i64 {
        self.lowest.swap(NO_CUT, Ordering::AcqRel)
    }

    /// Forgets the cuts so far: a future replica begins.
    pub(crate) fn forget(&self) {
        self.lowest.store(NO_CUT, Ordering::Release);
    }
}
