//! Transactions that their coordinator is asked about before a partition takes their first batch (KIP-890).

use crate::partition::error::AppendError;
use crate::partition::log::Log;
use crate::partition::producers::VerificationGuard;
use crate::partition::request::AppendContext;

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
    /// Does not wait, and gives `None` itself, while an append is being written, whose disk may hang. What is asked about
    /// and never appended expires with the producers (`producer.id.expiration.ms`), as in Kafka.
    pub fn try_begin_verification(
        &self,
        asked: &BeginVerification,
    ) -> Option<Result<Option<VerificationGuard>, AppendError>> {
        let mut writer = self.try_writer()?;
        let context = AppendContext::client(asked.leader_epoch, asked.now_ms);
        if let Err(error) = self.check_role(writer.role, &context) {
            return Some(Err(error));
        }
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
        Some(guard.map_err(|error| self.refusal(error)))
    }
}
