//! A partition's log without a disk, for simulations of what is built upon logs. Whom it lets append, where its last
//! stable offset is and which of its transactions were aborted is decided by what decides it of a real log.

use std::convert::Infallible;
use std::sync::Arc;

use thalweg_records::BatchView;
use thalweg_wire::ErrorCode;

use super::BatchSpec;
use crate::format::txn_index::AbortedTxn;
use crate::partition::producers::{
    AppendOrigin, Judgement, ProducerError, ProducerState, TransactionCheck, Updates, Verdict,
    VerificationGuard,
};
use crate::partition::refusal::refusal;

/// Where a batch came to stand, or stands since it was appended before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its first offset.
    pub base_offset: i64,
    /// The offset behind it.
    pub end_offset: i64,
    /// It was there before.
    pub is_duplicate: bool,
}

/// A transaction that is open in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Whose.
    pub producer_id: i64,
    /// In which epoch.
    pub producer_epoch: i16,
    /// Its first record.
    pub first_offset: i64,
}

/// The log.
#[derive(Debug, Default)]
pub struct MemoryLog {
    batches: Vec<(i64, Vec<u8>)>,
    producers: ProducerState,
    aborted: Vec<AbortedTxn>,
    end: i64,
    high_watermark: i64,
    updates: Updates,
}

impl MemoryLog {
    /// Appends a batch at the log's end, whatever offset it was made for. `transaction_version` is that of a marker's
    /// sender.
    ///
    /// # Errors
    /// What whoever appends is told.
    pub fn append(
        &mut self,
        mut batch: BatchSpec,
        origin: AppendOrigin,
        transaction: TransactionCheck,
        transaction_version: i16,
    ) -> Result<Taken, ErrorCode> {
        batch.base_offset = self.end;
        let judgement = Judgement { origin, transaction, transaction_version };
        let base_offset = self.end;
        match self.take(&batch.build(), &judgement)? {
            None => Ok(Taken { base_offset, end_offset: self.end, is_duplicate: false }),
            Some((first, last)) => {
                Ok(Taken { base_offset: first, end_offset: last + 1, is_duplicate: true })
            }
        }
    }

    /// Gives the first and last offset of a batch that is there already.
    fn take(
        &mut self,
        bytes: &[u8],
        judgement: &Judgement,
    ) -> Result<Option<(i64, i64)>, ErrorCode> {
        let batch = BatchView::parse(bytes).map_err(|_| ErrorCode::CORRUPT_MESSAGE)?;
        self.updates.clear();
        let verdict = self.producers.analyze(&batch, judgement, &mut self.updates);
        match verdict.map_err(code_of)? {
            Verdict::Duplicate(known) => Ok(Some((known.first_offset(), known.last_offset))),
            Verdict::Append => {
                let aborted = &mut self.aborted;
                let Ok(()) = self.producers.apply(&self.updates, |txn| {
                    aborted.push(txn);
                    Ok::<(), Infallible>(())
                });
                self.end = batch.next_offset();
                self.batches.push((batch.base_offset(), bytes.to_vec()));
                Ok(None)
            }
        }
    }

    /// As [`Log::try_begin_verification`](crate::Log::try_begin_verification).
    ///
    /// # Errors
    /// What the producer is told.
    pub fn begin_verification(
        &mut self,
        producer_id: i64,
        producer_epoch: i16,
        sequence: i32,
        bumps_epoch: bool,
        now_ms: i64,
    ) -> Result<Option<VerificationGuard>, ErrorCode> {
        self.producers
            .begin_verification(producer_id, producer_epoch, sequence, bumps_epoch, now_ms)
            .map_err(code_of)
    }

    /// The offset that the next record gets.
    pub fn log_end_offset(&self) -> i64 {
        self.end
    }

    /// Consumers see what is before it.
    pub fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// Consumers of committed transactions see what is before it.
    pub fn last_stable_offset(&self) -> i64 {
        self.producers.first_unstable_offset().unwrap_or(i64::MAX).min(self.high_watermark)
    }

    /// Raises the high watermark, to the log's end at most.
    pub fn raise_high_watermark(&mut self, to: i64) {
        self.high_watermark = self.high_watermark.max(to.min(self.end));
        self.producers.on_high_watermark(self.high_watermark);
    }

    /// The log as another replica has it, which ends at an offset and has heard of so much that is committed. Neither may
    /// be in the middle of a batch.
    pub fn replicate(&mut self, end: i64, high_watermark: i64) {
        let mut batches = std::mem::take(&mut self.batches);
        batches.retain(|(base, _)| *base < end);
        *self = MemoryLog::default();
        for (_, bytes) in batches {
            // What a leader took its followers take.
            let _ = self.take(&bytes, &Judgement::REPLAY);
        }
        self.raise_high_watermark(high_watermark);
    }

    /// The aborted transactions that a reader of these offsets is told of.
    pub fn aborted(&self, from: i64, upto: i64) -> Vec<AbortedTxn> {
        let mut found = Vec::new();
        for txn in &self.aborted {
            if txn.overlaps(from, upto) {
                found.push(*txn);
            }
            if txn.is_last_for(upto) {
                break;
            }
        }
        found
    }

    /// The transactions that are open.
    pub fn open_transactions(&self) -> impl Iterator<Item = OpenTransaction> {
        let open = self.producers.iter().filter(|(_, it)| it.txn_first_offset >= 0);
        open.map(|(&producer_id, it)| OpenTransaction {
            producer_id,
            producer_epoch: it.epoch,
            first_offset: it.txn_first_offset,
        })
    }
}

fn code_of(error: ProducerError) -> ErrorCode {
    refusal(error, &Arc::from(""), 0).code()
}
