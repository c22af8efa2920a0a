//! What an append says besides its bytes, and how it is answered.

use std::sync::Arc;

use crate::partition::error::AppendError;
use crate::partition::producers::{AppendOrigin, Judgement, TransactionCheck};

/// What an append needs besides the bytes.
#[derive(Clone, Copy, Debug)]
pub struct AppendContext {
    /// The leader's epoch, stamped on the batches.
    pub leader_epoch: i32,
    /// Who appends.
    pub origin: AppendOrigin,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// The append time that validation stamped (LogAppendTime), or -1; comes back in the result.
    pub log_append_time: i64,
    /// What is shown of the transaction of a transactional batch that begins one in this partition.
    pub transaction: TransactionCheck,
    /// `transaction.version` of a marker's sender; 0 for data.
    pub transaction_version: i16,
    /// Where a follower's log ended when it asked for these batches: they are refused if it ends elsewhere now.
    pub expected_end: Option<i64>,
}

impl AppendContext {
    /// For a producer's batches. Nothing has to be shown of its transactions.
    pub fn client(leader_epoch: i32, now_ms: i64) -> AppendContext {
        AppendContext {
            leader_epoch,
            origin: AppendOrigin::Client,
            now_ms,
            log_append_time: -1,
            transaction: TransactionCheck::Waived,
            transaction_version: 0,
            expected_end: None,
        }
    }

    /// For what a follower has fetched in a leader epoch, from where its log ended.
    pub fn replication(leader_epoch: i32, expected_end: i64, now_ms: i64) -> AppendContext {
        AppendContext {
            origin: AppendOrigin::Replication,
            expected_end: Some(expected_end),
            ..Self::client(leader_epoch, now_ms)
        }
    }

    /// For a coordinator's own records and its markers.
    pub fn coordinator(leader_epoch: i32, now_ms: i64) -> AppendContext {
        AppendContext { origin: AppendOrigin::Coordinator, ..Self::client(leader_epoch, now_ms) }
    }

    pub(crate) fn judgement(&self) -> Judgement {
        Judgement {
            origin: self.origin,
            transaction: self.transaction,
            transaction_version: self.transaction_version,
        }
    }
}

/// What became of an append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppendInfo {
    /// Offset of the first record; of a duplicate: what it was the first time.
    pub first_offset: i64,
    /// Offset of the last record.
    pub last_offset: i64,
    /// The append time stamped on the records, or -1; of a duplicate the batch's timestamp, as
    /// Kafka answers it.
    pub log_append_time: i64,
    /// Where the log begins.
    pub log_start_offset: i64,
    /// The epoch stamped on the batches.
    pub leader_epoch: i32,
    /// Nothing was written, because it was before.
    pub duplicate: bool,
}

/// Receives the result of an append that had to wait. Called without any of the log's locks and without
/// its turn.
pub trait AppendWaiter: Send + Sync {
    /// `token` is what was passed to [`crate::Log::submit`].
    fn done(&self, token: u64, result: Result<AppendInfo, AppendError>);
}

/// What [`crate::Log::submit`] did.
#[derive(Debug)]
pub enum Submitted {
    /// The append succeeded or failed; the waiter will not be called.
    Done(Result<AppendInfo, AppendError>),
    /// The bytes were taken; the waiter will be called.
    Queued,
    /// Too much is waiting; nothing was taken. Stop reading from the producers, try again later.
    Full,
}

/// A result to be handed out.
pub(crate) struct Done {
    pub(crate) waiter: Arc<dyn AppendWaiter>,
    pub(crate) token: u64,
    pub(crate) result: Result<AppendInfo, AppendError>,
}

impl std::fmt::Debug for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Done").field("token", &self.token).field("result", &self.result).finish()
    }
}
