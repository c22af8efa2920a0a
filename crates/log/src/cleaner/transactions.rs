//! Which transactions a pass has met while it goes through a log: whose records may go because they
//! were aborted, and whose markers may go because nothing is left that they end.
//!
//! The rules are Kafka's. Pure: the caller brings the aborted transactions of the segments it is about
//! to read, and writes those that stay to the new segment's index.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use thalweg_records::BatchView;

use crate::format::control::{ControlKind, control_kind};
use crate::format::txn_index::AbortedTxn;

/// What is known of transactions at one place of the log.
#[derive(Default, Debug)]
pub(crate) struct CleanedTransactions {
    /// Aborted transactions that begin further on, by their first offset.
    ahead: BinaryHeap<Reverse<(i64, Ahead)>>,
    /// Aborted transactions that have begun, and whether any of their batches was met.
    aborted: HashMap<i64, Aborted>,
    /// Producers with batches of a transaction that is to be committed.
    committed: HashSet<i64>,
}

#[derive(Debug)]
struct Aborted {
    txn: AbortedTxn,
    has_batches: bool,
}

/// An aborted transaction in the heap; its order beside the first offset has no meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Ahead {
    producer_id: i64,
    last_offset: i64,
    last_stable_offset: i64,
}

/// What a control batch comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ControlVerdict {
    /// Nothing is left of what it ends, or it is empty.
    pub(crate) can_go: bool,
    /// It ends an aborted transaction of which a batch was met: the new segment's index names it.
    pub(crate) aborted: Option<AbortedTxn>,
}

impl CleanedTransactions {
    /// Adds aborted transactions of the part that is read next. Those that reach into several
    /// segments may be added for each of them.
    pub(crate) fn add(&mut self, aborted: &[AbortedTxn]) {
        self.ahead.extend(aborted.iter().map(|txn| {
            let rest = Ahead {
                producer_id: txn.producer_id,
                last_offset: txn.last_offset,
                last_stable_offset: txn.last_stable_offset,
            };
            Reverse((txn.first_offset, rest))
        }));
    }

    /// Takes notice of a batch of records; says whether they were aborted.
    pub(crate) fn on_batch(&mut self, batch: &BatchView<'_>) -> bool {
        self.begin_upto(batch.last_offset());
        if !batch.is_transactional() {
            return false;
        }
        match self.aborted.get_mut(&batch.producer_id()) {
            Some(aborted) => {
                aborted.has_batches = true;
                true
            }
            None => {
                self.committed.insert(batch.producer_id());
                false
            }
        }
    }

    /// Takes notice of a control batch.
    pub(crate) fn on_control(
        &mut self,
        batch: &BatchView<'_>,
    ) -> Result<ControlVerdict, &'static str> {
        self.begin_upto(batch.last_offset());
        let verdict = |can_go| ControlVerdict { can_go, aborted: None };
        Ok(match control_kind(batch)? {
            // A pass before this one has emptied it.
            None => verdict(true),
            Some(ControlKind::Abort) => match self.aborted.remove(&batch.producer_id()) {
                Some(Aborted { txn, has_batches: true }) => {
                    ControlVerdict { can_go: false, aborted: Some(txn) }
                }
                _ => verdict(true),
            },
            Some(ControlKind::Commit) => verdict(!self.committed.remove(&batch.producer_id())),
            Some(ControlKind::Other) => verdict(false),
        })
    }

    fn begin_upto(&mut self, offset: i64) {
        while let Some(Reverse((first_offset, _))) = self.ahead.peek()
            && *first_offset <= offset
            && let Some(Reverse((first_offset, ahead))) = self.ahead.pop()
        {
            let Ahead { producer_id, last_offset, last_stable_offset } = ahead;
            let txn = AbortedTxn { producer_id, first_offset, last_offset, last_stable_offset };
            let known = self.aborted.entry(producer_id);
            known.or_insert(Aborted { txn, has_batches: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::BatchSpec;

    fn txn(producer_id: i64, first_offset: i64, last_offset: i64) -> AbortedTxn {
        AbortedTxn { producer_id, first_offset, last_offset, last_stable_offset: last_offset + 1 }
    }

    fn data(txns: &mut CleanedTransactions, offset: i64, producer: i64) -> bool {
        let spec = BatchSpec::new(offset, 1).producer(producer, 0, 0).transactional();
        txns.on_batch(&BatchView::parse(&spec.build()).unwrap())
    }

    fn marker(
        txns: &mut CleanedTransactions,
        offset: i64,
        producer: i64,
        commit: bool,
    ) -> ControlVerdict {
        let spec = BatchSpec::marker(offset, producer, 0, 0, commit);
        txns.on_control(&BatchView::parse(&spec.build()).unwrap()).unwrap()
    }

    #[test]
    fn a_marker_goes_when_nothing_is_left_of_its_transaction() {
        let mut txns = CleanedTransactions::default();
        let aborted = txn(1, 0, 3);
        txns.add(&[aborted]);
        // Of a second one nothing is left; and one that reaches into two segments is told twice.
        txns.add(&[txn(2, 4, 5), aborted]);
        assert!(data(&mut txns, 0, 1));
        assert!(!data(&mut txns, 1, 9), "another producer's");
        assert!(data(&mut txns, 2, 1));
        let verdict = marker(&mut txns, 3, 1, false);
        assert_eq!(verdict, ControlVerdict { can_go: false, aborted: Some(aborted) });
        assert!(marker(&mut txns, 5, 2, false).can_go);
        assert!(!marker(&mut txns, 6, 9, true).can_go);
        assert!(marker(&mut txns, 7, 9, true).can_go, "it ends nothing that was met");
        assert!(!data(&mut txns, 8, 1), "the next transaction of the same producer");
    }

    #[test]
    fn batches_without_a_transaction_are_none_of_it() {
        let mut txns = CleanedTransactions::default();
        txns.add(&[txn(1, 0, 3)]);
        let spec = BatchSpec::new(1, 1).producer(1, 0, 0);
        assert!(!txns.on_batch(&BatchView::parse(&spec.build()).unwrap()));
        assert!(marker(&mut txns, 3, 1, false).can_go);
    }
}
