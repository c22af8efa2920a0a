//! Batches of transactions that their coordinator has to be asked about first (KIP-890).

use thalweg_log::{BeginVerification, VerificationGuard};

use super::{AppendFailure, Partition};

/// A batch of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transactional {
    pub(crate) producer_id: i64,
    pub(crate) producer_epoch: i16,
    /// Its first sequence number.
    pub(crate) sequence: i32,
    /// Each transaction of its producer has an epoch of its own (`transaction.version` 2).
    pub(crate) bumps_epoch: bool,
}

impl Partition {
    /// The guard of the question that the transaction's coordinator has to be asked; `None` where the partition knows
    /// the transaction. Gives nothing while an append is being written: it is to be asked again.
    pub(crate) fn try_begin_verification(
        &self,
        asked: &Transactional,
        now_ms: i64,
    ) -> Option<Result<Option<VerificationGuard>, AppendFailure>> {
        match self.to_begin(asked, now_ms) {
            Err(failure) => Some(Err(failure)),
            Ok(begin) => {
                let begun = self.log.try_begin_verification(&begin)?;
                Some(begun.map_err(|error| self.append_refused(error)))
            }
        }
    }

    fn to_begin(
        &self,
        asked: &Transactional,
        now_ms: i64,
    ) -> Result<BeginVerification, AppendFailure> {
        let leader_epoch = self.led_epoch().map_err(|leader| self.append_elsewhere(leader))?;
        let Transactional { producer_id, producer_epoch, sequence, bumps_epoch } = *asked;
        Ok(BeginVerification {
            leader_epoch,
            producer_id,
            producer_epoch,
            sequence,
            bumps_epoch,
            now_ms,
        })
    }
}
