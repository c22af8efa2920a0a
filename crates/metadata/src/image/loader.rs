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
    /// The last batch of [`Loader::catch_up`] that the image does not say yet.
    behind: Option<Provenance>,
}

impl Loader {
    /// Goes on behind an image.
    pub fn new(image: MetadataImage) -> Loader {
        let next_offset = image.provenance.offset + 1;
        Loader {
            delta: Delta::new(image.clone()),
            image,
            transaction: None,
            next_offset,
            behind: None,
        }
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

    /// Takes the next batch without an update for it: while a log is read from its beginning, an
    /// image for each batch would cost a copy of all topics each time. The image follows with
    /// [`Loader::caught_up`].
    pub fn catch_up(&mut self, batch: &Batch) -> Result<(), LoadError> {
        self.take(batch, &mut Vec::new())?;
        if self.transaction.is_none() {
            let (offset, epoch) = (batch.last_offset, batch.epoch);
            self.behind = Some(Provenance { offset, epoch, timestamp_ms: batch.timestamp_ms });
        }
        Ok(())
    }

    /// The image says what [`Loader::catch_up`] has taken.
    pub fn caught_up(&mut self) {
        if let Some(provenance) = self.behind.take() {
            self.publish(provenance, &mut Vec::new());
        }
    }

    /// Takes the next batch; gives one update, two if a transaction begins in its middle, or none.
    pub fn load(&mut self, batch: &Batch) -> Result<Vec<Update>, LoadError> {
        self.caught_up();
        let mut updates = Vec::new();
        self.take(batch, &mut updates)?;
        if self.transaction.is_none() {
            let (offset, epoch) = (batch.last_offset, batch.epoch);
            let provenance = Provenance { offset, epoch, timestamp_ms: batch.timestamp_ms };
            self.publish(provenance, &mut updates);
        }
        Ok(updates)
    }

    fn take(&mut self, batch: &Batch, updates: &mut Vec<Update>) -> Result<(), LoadError> {
        if batch.base_offset != self.next_offset {
            return Err(LoadError::Gap { expected: self.next_offset, found: batch.base_offset });
        }
        if let BatchContents::Data(records) = &batch.contents {
            for (offset, record) in (batch.base_offset..).zip(records) {
                self.record(batch, offset, record, updates)
                    .map_err(|error| LoadError::Replay { offset, error })?;
            }
        }
        self.next_offset = batch.last_offset + 1;
        Ok(())
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
                self.behind = None;
                let before = Provenance {
                    offset: offset - 1,
                    epoch: batch.epoch,
                    timestamp_ms: batch.timestamp_ms,
                };
                self.publish(before, updates);
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

    fn publish(&mut self, provenance: Provenance, updates: &mut Vec<Update>) {
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

#[cfg(test)]
mod tests {
    use thalweg_wire::Uuid;
    use thalweg_wire::messages::{
        AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord, NoOpRecord,
        RemoveTopicRecord, TopicRecord,
    };

    use super::*;
    use crate::records::ControlRecord;

    fn batch(base_offset: i64, records: Vec<MetadataRecord>) -> Batch {
        Batch {
            base_offset,
            last_offset: base_offset + records.len() as i64 - 1,
            epoch: 4,
            timestamp_ms: 1000 + base_offset,
            contents: BatchContents::Data(records),
        }
    }

    /// Both ways of reading the same batches end with the same image.
    fn check_catch_up(batches: &[Batch]) {
        let (mut one, mut all) =
            (Loader::new(MetadataImage::empty()), Loader::new(MetadataImage::empty()));
        for batch in batches {
            one.load(batch).unwrap();
            all.catch_up(batch).unwrap();
        }
        all.caught_up();
        assert_eq!(one.image(), all.image());
        assert_eq!(one.next_offset(), all.next_offset());
        assert_eq!(one.open_transaction(), all.open_transaction());
        let end = one.next_offset();
        assert_eq!(one.load(&batch(end, vec![topic(99)])), all.load(&batch(end, vec![topic(99)])));
        assert_eq!(one.image(), all.image());
    }

    #[test]
    fn catching_up_ends_with_the_same_image() {
        let begin = || MetadataRecord::from(BeginTransactionRecord::default());
        let end: MetadataRecord = EndTransactionRecord::default().into();
        let abort: MetadataRecord = AbortTransactionRecord::default().into();
        check_catch_up(&[batch(0, vec![topic(1)]), batch(1, vec![topic(2), topic(3)])]);
        check_catch_up(&[batch(0, vec![topic(1), begin(), topic(2)]), batch(3, vec![topic(3)])]);
        check_catch_up(&[
            batch(0, vec![topic(1)]),
            batch(1, vec![topic(2), begin(), topic(3)]),
            batch(4, vec![topic(4), abort, topic(5)]),
            batch(7, vec![begin(), topic(6), end]),
            batch(10, vec![NoOpRecord::default().into()]),
        ]);
    }

    fn topic(id: u128) -> MetadataRecord {
        let topic_id = Uuid::from_u128(id);
        TopicRecord { name: format!("topic-{id}"), topic_id, ..TopicRecord::default() }.into()
    }

    fn begin() -> MetadataRecord {
        BeginTransactionRecord::default().into()
    }

    fn end() -> MetadataRecord {
        EndTransactionRecord::default().into()
    }

    #[test]
    fn batches_follow_each_other() {
        let mut loader = Loader::new(MetadataImage::empty());
        let updates = loader.load(&batch(0, vec![topic(7), topic(8)])).expect("two topics");
        let [update] = &updates[..] else { panic!("{updates:?}") };
        let provenance = Provenance { offset: 1, epoch: 4, timestamp_ms: 1000 };
        assert_eq!(update.new.provenance, provenance);
        assert_eq!(update.changes.created_topics.len(), 2);
        assert!(update.old.is_empty());
        for found in [0, 1, 3] {
            let error = loader.load(&batch(found, vec![topic(9)])).expect_err("a gap");
            assert_eq!(error, LoadError::Gap { expected: 2, found });
        }
        // What says nothing moves the offset on and is no update.
        assert_eq!(loader.load(&batch(2, vec![NoOpRecord::default().into()])), Ok(vec![]));
        let control = Batch {
            contents: BatchContents::Control(vec![ControlRecord::Other(99)]),
            ..batch(3, vec![begin()])
        };
        assert_eq!(loader.load(&control), Ok(vec![]));
        assert_eq!(loader.next_offset(), 4);
        assert_eq!(loader.image().provenance.offset, 3);
    }

    #[test]
    fn transactions_show_up_at_once_or_never() {
        let mut loader = Loader::new(MetadataImage::empty());
        // One begins in the middle of a batch: what lies before it shows up.
        let updates = loader.load(&batch(0, vec![topic(1), begin(), topic(2)])).expect("a batch");
        assert_eq!(updates.len(), 1);
        assert_eq!(loader.image().provenance.offset, 0);
        assert_eq!(loader.image().topics.len(), 1);
        assert_eq!(loader.open_transaction(), Some(1));
        assert_eq!(loader.load(&batch(3, vec![topic(3)])), Ok(vec![]));
        let updates = loader.load(&batch(4, vec![end(), topic(4)])).expect("the end");
        assert_eq!(updates.len(), 1);
        assert_eq!(loader.image().topics.len(), 4);

        let dropped = AbortTransactionRecord::default();
        let updates =
            loader.load(&batch(6, vec![begin(), topic(5), dropped.into()])).expect("dropped");
        assert_eq!(updates, []);
        assert_eq!(loader.image().topics.len(), 4);
        assert_eq!(loader.image().provenance.offset, 8);
        assert_eq!(loader.open_transaction(), None);
    }

    #[test]
    fn what_does_not_fit_is_an_error_with_its_offset() {
        let transaction = ReplayError::Transaction("a metadata transaction ends, none is open");
        let unknown = Uuid::from_u128(99);
        let removed = RemoveTopicRecord { topic_id: unknown, ..RemoveTopicRecord::default() };
        for (record, error) in
            [(end(), transaction), (removed.into(), ReplayError::UnknownTopic(unknown))]
        {
            let mut loader = Loader::new(MetadataImage::empty());
            let found = loader.load(&batch(0, vec![topic(1), record]));
            assert_eq!(found, Err(LoadError::Replay { offset: 1, error }));
        }
        let mut loader = Loader::new(MetadataImage::empty());
        let found = loader.load(&batch(0, vec![begin(), begin()])).expect_err("two begin");
        assert!(found.to_string().contains("offset 1"), "{found}");
    }
}
