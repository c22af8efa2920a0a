//! What is given to a transaction, and what speaks against it.

use smallvec::SmallVec;
use tokio::task::JoinHandle;

use crate::core::produce::AbortReason;
use crate::producer::Delivery;
use crate::stream::hub::committable::CommittableOffset;
use crate::stream::hub::transactional::Transactional;
use crate::stream::sinks::envelope::{Envelope, OwnedProducerRecord};

/// What goes into one transaction together: an envelope, but for what its application keeps. One that goes
/// into none must not be passed over: what is behind it in its partitions is refused from then on.
pub(super) struct Given {
    pub records: SmallVec<[OwnedProducerRecord; 1]>,
    pub offsets: SmallVec<[CommittableOffset; 1]>,
}

/// What speaks against taking something in.
pub(super) enum Objection {
    /// All its partitions were given up: others do it.
    Gone,
    /// Nothing goes on.
    Because(AbortReason),
}

/// Where an envelope is that was taken in.
pub(super) struct TakenIn {
    /// The transaction.
    pub number: u64,
    /// What becomes of its records.
    pub deliveries: SmallVec<[Delivery; 1]>,
    /// The same of those for which there was no room; there when the transaction is committed.
    pub rest: Option<JoinHandle<Vec<Delivery>>>,
}

impl Given {
    pub fn of<C: Transactional>(envelope: Envelope<C>) -> (Given, C) {
        let Envelope { records, pass_through } = envelope;
        let mut offsets = SmallVec::new();
        pass_through.each(&mut |offset| offsets.push(offset.clone()));
        (Given { records, offsets }, pass_through)
    }

    pub fn objection(&self) -> Option<Objection> {
        for offset in &self.offsets {
            let (partition, at) = (offset.topic_partition(), offset.position().offset);
            if offset.assignment().has_committed_behind(at) {
                let (partition, offset) = (partition.clone(), at);
                return Some(Objection::Because(AbortReason::Order { partition, offset }));
            }
        }
        let is_gone = |offset: &&CommittableOffset| !offset.assignment().is_held();
        match self.offsets.iter().find(is_gone) {
            Some(_) if self.offsets.iter().all(|offset| is_gone(&offset)) => {
                return Some(Objection::Gone);
            }
            // The rest of it is nobody else's to do.
            Some(gone) => {
                let partition = gone.topic_partition().clone();
                return Some(Objection::Because(AbortReason::Revoked(partition)));
            }
            None => {}
        }
        let is_past =
            |offset: &&CommittableOffset| offset.assignment().has_skipped() || !offset.is_of_now();
        let past = self.offsets.iter().find(is_past)?;
        Some(Objection::Because(AbortReason::Skipped(past.topic_partition().clone())))
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        self.offsets.iter().for_each(|offset| offset.assignment().note_skipped());
    }
}
