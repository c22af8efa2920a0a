//! Appends that wait for a log's turn: their bytes, copied one after the other, so that whoever has
//! the turn writes them all at once. Bounded; full means that the caller has to wait.
//! Besides this list another one may be half written, so a log holds twice the bound at most.

use std::sync::Arc;

use crate::partition::request::{AppendContext, AppendWaiter};

/// Bytes that may wait, unless a single append is larger.
const MAX_BYTES: usize = 4 << 20;
/// Appends that may wait.
const MAX_APPENDS: usize = 1024;

/// Bytes and appends that an empty list keeps room for.
const KEPT_BYTES: usize = 64 << 10;
pub(crate) const KEPT_APPENDS: usize = 128;

pub(crate) struct PendingAppend {
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) context: AppendContext,
    pub(crate) waiter: Arc<dyn AppendWaiter>,
    pub(crate) token: u64,
}

#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) bytes: Vec<u8>,
    pub(crate) appends: Vec<PendingAppend>,
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending")
            .field("bytes", &self.bytes.len())
            .field("appends", &self.appends.len())
            .finish()
    }
}

impl Pending {
    /// False when there is no room.
    pub(crate) fn push(
        &mut self,
        records: &[u8],
        context: &AppendContext,
        waiter: &Arc<dyn AppendWaiter>,
        token: u64,
    ) -> bool {
        let full = self.appends.len() >= MAX_APPENDS
            || (!self.appends.is_empty() && self.bytes.len() + records.len() > MAX_BYTES);
        if !full {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(records);
            self.appends.push(PendingAppend {
                start,
                len: records.len(),
                context: *context,
                waiter: waiter.clone(),
                token,
            });
        }
        !full
    }

    /// Empty, with the memory that ordinary use needs: what a stall has filled is given back, or
    /// every partition that ever waited for a disk would keep megabytes.
    pub(crate) fn clear(&mut self) {
        self.appends.clear();
        self.appends.shrink_to(KEPT_APPENDS);
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::error::AppendError;
    use crate::partition::request::AppendInfo;

    struct Nobody;

    impl AppendWaiter for Nobody {
        fn done(&self, _: u64, _: Result<AppendInfo, AppendError>) {}
    }

    #[test]
    fn what_a_stall_has_filled_is_given_back() {
        let waiter: Arc<dyn AppendWaiter> = Arc::new(Nobody);
        let context = AppendContext::client(0, 0);
        let mut pending = Pending::default();
        let record = vec![0; 4 << 10];
        while pending.push(&record, &context, &waiter, 0) {}
        assert_eq!(pending.bytes.len(), MAX_BYTES);
        pending.clear();
        assert!(pending.bytes.capacity() <= KEPT_BYTES, "{}", pending.bytes.capacity());
        assert!(pending.appends.capacity() <= KEPT_APPENDS);
        // Ordinary use keeps what it has.
        assert!(pending.push(&record, &context, &waiter, 0));
        let kept = pending.bytes.capacity();
        pending.clear();
        assert_eq!(pending.bytes.capacity(), kept);
    }
}
