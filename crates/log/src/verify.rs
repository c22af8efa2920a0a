//! Transactions that their coordinator is asked about before a partition takes their first batch (KIP-890).

use crate::append::AppendContext;
use crate::error::AppendError;
use crate::log::{Log, Writer};
use crate::producers::VerificationGuard;

/// A producer that is about to send a batch of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct BeginVerification {
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// Whose batch it is.
    pub producer_id: i64,
    /// And of which of its epochs.
    pub producer_epoch: i16,
    /// First sequence number of the batch.
    pub sequence: i32,
    /// Each of its transactions has an epoch of its own (`transaction.version` 2).
    pub bumps_epoch: bool,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

impl Log {
    /// The guard of the question that a transaction's coordinator has to be asked before this batch is appended;
    /// `None` where the log knows the transaction already. Fails for a producer of an older epoch
    /// (INVALID_PRODUCER_EPOCH), and where another broker leads.
    ///
    /// Takes a lock that is held while an append is written: not for threads that must not wait for a disk that hangs.
    pub fn begin_verification(
        &self,
        asked: &BeginVerification,
    ) -> Result<Option<VerificationGuard>, AppendError> {
        self.begin_in(&mut self.writer(), asked)
    }

    /// The same without waiting; `None` while somebody has the lock.
    pub fn try_begin_verification(
        &self,
        asked: &BeginVerification,
    ) -> Option<Result<Option<VerificationGuard>, AppendError>> {
        let mut writer = self.try_writer()?;
        Some(self.begin_in(&mut writer, asked))
    }

    fn begin_in(
        &self,
        writer: &mut Writer,
        asked: &BeginVerification,
    ) -> Result<Option<VerificationGuard>, AppendError> {
        self.check_role(writer.role, &AppendContext::client(asked.leader_epoch, asked.now_ms))?;
        let BeginVerification {
            producer_id, producer_epoch, sequence, bumps_epoch, now_ms, ..
        } = *asked;
        let guard = writer.producers.begin_verification(
            producer_id,
            producer_epoch,
            sequence,
            bumps_epoch,
            now_ms,
        );
        guard.map_err(|error| self.refusal(error))
    }

    /// The coordinator knows nothing of the producer: the guard is of no more use. Does not wait: while somebody has the
    /// lock the guard stays, until it expires with the producers (`producer.id.expiration.ms`).
    pub fn forget_verification(&self, producer_id: i64, guard: VerificationGuard) {
        if let Some(mut writer) = self.try_writer() {
            writer.producers.forget_verification(producer_id, guard);
        }
    }
}
