//! Contexts that validation and decompression reuse, one set per running validation: taken from the
//! worker thread, given back to the one it ends on.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use thalweg_records::validate;

/// Sets a worker keeps; more exist only while more validations are interrupted halfway.
const KEEP: usize = 4;

thread_local! {
    // Boxed, because a set is large and moves between list and lease for every batch.
    #[allow(clippy::vec_box)]
    static KEPT: RefCell<Vec<Box<validate::Scratch>>> = const { RefCell::new(Vec::new()) };
}

/// A set of contexts; goes back when dropped.
pub(crate) struct Lease(Option<Box<validate::Scratch>>);

/// Contexts for one validation.
pub(crate) fn validation() -> Lease {
    Lease(Some(KEPT.with_borrow_mut(Vec::pop).unwrap_or_default()))
}

impl Deref for Lease {
    type Target = validate::Scratch;
    fn deref(&self) -> &validate::Scratch {
        // Some until dropped.
        self.0.as_deref().unwrap_or_else(|| unreachable!("a lease is used after it was dropped"))
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut validate::Scratch {
        self.0
            .as_deref_mut()
            .unwrap_or_else(|| unreachable!("a lease is used after it was dropped"))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(scratch) = self.0.take() {
            KEPT.with_borrow_mut(|kept| {
                if kept.len() < KEEP {
                    kept.push(scratch);
                }
            });
        }
    }
}
