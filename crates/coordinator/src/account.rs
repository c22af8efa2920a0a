//! A bounded account of memory: what requests leave behind while they wait is counted here, and not
//! with the requests that are being read.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// Bytes that may be held at once, and how many are. Shared by all shards of a broker. What a log says is
/// held whatever the limit; then there is no room for anything else until enough of it is given back.
#[derive(Debug)]
pub struct Account {
    limit: usize,
    used: AtomicUsize,
}

impl Account {
    /// An account of `limit` bytes, of which none are held.
    pub fn new(limit: usize) -> Arc<Account> {
        Arc::new(Account { limit, used: AtomicUsize::new(0) })
    }

    /// Bytes that may be held.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes held now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Holds `bytes` until the value is dropped; `None` if there is no room for them.
    pub fn try_hold(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        self.used
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|after| *after <= self.limit)
            })
            .ok()?;
        Some(Held { account: Arc::clone(self), bytes })
    }

    /// Holds `bytes` until the value is dropped, whatever the limit.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Held {
        self.used.fetch_add(bytes, Ordering::AcqRel);
        Held { account: Arc::clone(self), bytes }
    }

    /// The same `bytes`, held until the last reference to them is gone, with `more` bytes for what
    /// belongs to them, whatever the limit.
    pub fn keep(self: &Arc<Self>, bytes: Bytes, more: usize) -> Bytes {
        let held = self.hold(bytes.len().saturating_add(more));
        Bytes::from_owner(Kept { bytes, _held: held })
    }

    /// A copy of `bytes` that is held until the last reference to it is gone, with `more` bytes
    /// for what belongs to it; `None` if there is no room for them.
    pub fn try_keep(self: &Arc<Self>, bytes: &[u8], more: usize) -> Option<Bytes> {
        let held = self.try_hold(bytes.len().saturating_add(more))?;
        let bytes = Bytes::copy_from_slice(bytes);
        Some(Bytes::from_owner(Kept { bytes, _held: held }))
    }
}

/// Bytes held of an [`Account`]; given back when dropped.
pub struct Held {
    account: Arc<Account>,
    bytes: usize,
}

impl Held {
    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.bytes).finish()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.account.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// Memory and what it holds of the account, dropped together.
struct Kept {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_held_until_the_last_reference_is_gone() {
        let account = Account::new(100);
        let first = account.try_keep(&[1; 60], 10).unwrap();
        assert_eq!(account.used(), 70);
        assert!(account.try_keep(&[2; 31], 0).is_none());
        assert!(account.try_keep(&[2; 1], usize::MAX).is_none());
        let slice = first.slice(5..6);
        drop(first);
        assert_eq!(account.used(), 70);
        let second = account.try_hold(30).unwrap();
        assert_eq!((account.used(), second.bytes()), (100, 30));
        drop(slice);
        assert_eq!(account.used(), 30);
        drop(second);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn what_has_to_be_held_may_exceed_the_limit_and_leaves_no_room() {
        let account = Account::new(100);
        let loaded = account.keep(Bytes::from(vec![1; 90]), 30);
        assert_eq!((account.used(), &loaded[..3]), (120, &[1, 1, 1][..]));
        assert!(account.try_hold(1).is_none());
        drop(loaded);
        assert!(account.try_hold(100).is_some());
    }
}
