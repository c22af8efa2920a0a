//! From batches of the metadata log to images.
//!
//! Only committed batches come in here, in order. An update comes out at the end of each batch
//! that changed something, except within a metadata transaction: what lies between its begin and
//! its end shows up at once, or never.

use thalweg_wire::messages::metadata_record::MetadataRecord;

use super::{Changes, Delta, MetadataImage, Provenance, ReplayError};
use crate::records::{Batch, BatchContents};

/// A new image and what is different in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The image before.
    pub old: MetadataImage,
    /// The image after.
    pub new: MetadataImage,
    /// What is different.
    pub changes: Changes,
}

/// Why a batch cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A record does not fit.
    #[error("metadata record at offset {offset}: {error}")]
    Replay {
        /// Offset of the record.
        offset: i64,
        /// What is wrong.
        error: ReplayError,
    },
    /// A batch is not the next one.
    #[error("metadata batch at offset {found}, where {expected} should follow")]
    Gap {
        /// The offset that should come.
        expected: i64,
        /// The offset that came.
        found: i64,
    },
}

/// Takes batches, gives images.
#[derive(Debug, Clone)]
pub struct Loader {
    image: MetadataImage,
    delta: Delta,
    /// Offset of the begin record of the transaction that is open.
    transaction: Option<i64>,
    next_offset: i64,
}

impl Loader {
    /// Goes on behind an image.
    pub fn new(image: MetadataImage) -> Loader {
        let next_offset = image.provenance.offset + 1;
        Loader { delta: Delta::new(image.clone()), image, transaction: None, next_offset }
    }

    /// The last image that was given out.
    pub fn image(&self) -> &MetadataImage {
        &self.image
    }

    /// The offset that must come next.
    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// Where the open metadata transaction began, if one is open.
    pub fn open_transaction(&self) -> Option<i64> {
        self.transaction
    }

    /// Takes the next batch; gives one update, two if a transaction begins in its middle, or none.
    pub fn load(&mut self, batch: &Batch) -> Result<Vec<Update>, LoadError> {
        if batch.base_offset != self.next_offset {
            return Err(LoadError::Gap { expected: self.next_offset, found: batch.base_offset });
        }
        let mut updates = Vec::new();
        if let BatchContents::Data(records) = &batch.contents {
            for (offset, record) in (batch.base_offset..).zip(records) {
                self.record(batch, offset, record, &mut updates)
                    .map_err(|error| LoadError::Replay { offset, error })?;
            }
        }
        self.next_offset = batch.last_offset + 1;
        if self.transaction.is_none() {
            self.publish(batch, batch.last_offset, &mut updates);
        }
        Ok(updates)
    }

    fn record(
        &mut self,
        batch: &Batch,
        offset: i64,
        record: &MetadataRecord,
        updates: &mut Vec<Update>,
    ) -> Result<(), ReplayError> {
        match record {
            MetadataRecord::BeginTransaction(_) => {
                if self.transaction.is_some() {
                    return Err(ReplayError::Transaction(
                        "a metadata transaction begins while another is open",
                    ));
                }
                self.publish(batch, offset - 1, updates);
                self.transaction = Some(offset);
                Ok(())
            }
            MetadataRecord::EndTransaction(_) => match self.transaction.take() {
                Some(_) => Ok(()),
                None => Err(ReplayError::Transaction("a metadata transaction ends, none is open")),
            },
            MetadataRecord::AbortTransaction(_) => match self.transaction.take() {
                Some(_) => {
                    self.delta = Delta::new(self.image.clone());
                    Ok(())
                }
                None => {
                    Err(ReplayError::Transaction("a metadata transaction is aborted, none is open"))
                }
            },
            _ => self.delta.replay(record),
        }
    }

    fn publish(&mut self, batch: &Batch, offset: i64, updates: &mut Vec<Update>) {
        let provenance =
            Provenance { offset, epoch: batch.epoch, timestamp_ms: batch.timestamp_ms };
        if self.delta.is_untouched() {
            // The log went on, the state did not.
            self.image.provenance = provenance;
            self.delta = Delta::new(self.image.clone());
            return;
        }
        let delta = std::mem::replace(&mut self.delta, Delta::new(MetadataImage::empty()));
        let (new, changes) = delta.apply(provenance);
        let old = std::mem::replace(&mut self.image, new.clone());
        self.delta = Delta::new(new.clone());
        if !changes.is_empty() {
            updates.push(Update { old, new, changes });
        }
    }
}
