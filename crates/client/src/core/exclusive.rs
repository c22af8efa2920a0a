//! What one owner alone gets at.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Holds something that only `&mut` gives access to, so that it may be shared between threads
/// without being `Sync`: a future that somebody else wrote, mostly. Costs no locking.
pub(crate) struct Exclusive<T>(Mutex<T>);

impl<T> Exclusive<T> {
    pub(crate) fn new(value: T) -> Exclusive<T> {
        Exclusive(Mutex::new(value))
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        // Nobody locks it, so nobody panics while it is locked.
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Exclusive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exclusive")
    }
}
