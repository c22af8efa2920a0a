//! Which leader epoch began at which offset.
//!
//! Invariant: epochs and start offsets both strictly increase. The file
//! (`leader-epoch-checkpoint`) may lag: what it lacks, or has too much after a truncation, is found in the batches after
//! the recovery point.

/// The list, and what its file holds.
#[derive(Clone, Default, Debug)]
pub(crate) struct Epochs {
    entries: Vec<(i32, i64)>,
    /// What was last read from the file or written to it; `None` while that is not known.
    on_file: Option<Box<[(i32, i64)]>>,
    /// The file was written and not synced.
    unsynced: bool,
    /// Perhaps by a process that died: to be synced before anything is called flushed.
    inherited: bool,
}

/// What stands for "none" in answers about epochs.
const UNDEFINED_EPOCH: i32 = -1;
/// What stands for "none" in answers about epochs' offsets.
const UNDEFINED_EPOCH_OFFSET: i64 = -1;

impl Epochs {
    /// From the file. Entries that contradict earlier ones replace them, as Kafka does it.
    pub(crate) fn from_file(on_file: Vec<(i32, i64)>) -> Epochs {
        let mut epochs = Epochs::default();
        for &(epoch, offset) in &on_file {
            epochs.assign(epoch, offset);
        }
        epochs.entries.shrink_to_fit();
        epochs.on_file = Some(on_file.into());
        epochs
    }

    /// The file may be of a process that died, which did not sync it.
    pub(crate) fn set_inherited(&mut self, is_inherited: bool) {
        self.inherited = is_inherited;
    }

    /// Whether the file may not be on the disk as it was written or found.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.unsynced || self.inherited
    }

    /// Whether a flush has to sync the file. One that was found, of a log without epochs, need not be.
    pub(crate) fn needs_sync(&self) -> bool {
        self.unsynced || self.inherited && !self.entries.is_empty()
    }

    /// The file was synced.
    pub(crate) fn synced(&mut self) {
        (self.unsynced, self.inherited) = (false, false);
    }

    /// Whether the file holds something else.
    pub(crate) fn is_dirty(&self) -> bool {
        self.on_file.as_deref() != Some(&self.entries)
    }

    /// Whether the file says all that matters of a log that ends at `end_offset`: it may be wrong
    /// about epochs that begin there, because they have no records.
    pub(crate) fn file_covers(&self, end_offset: i64) -> bool {
        let with_records =
            |entries: &[(i32, i64)]| entries.partition_point(|&(_, start)| start < end_offset);
        self.on_file.as_deref().is_some_and(|file| {
            file[..with_records(file)] == self.entries[..with_records(&self.entries)]
        })
    }

    /// The same list of a log whose file is that of `other`.
    pub(crate) fn move_to(&mut self, other: &Epochs) {
        self.on_file = other.on_file.clone();
        (self.unsynced, self.inherited) = (other.unsynced, other.inherited);
    }

    /// Takes the list of another log of the same batches; the file follows.
    pub(crate) fn take(&mut self, other: &Epochs) {
        self.entries = other.entries.clone();
    }

    /// The file holds `entries` now.
    pub(crate) fn written(&mut self, entries: Vec<(i32, i64)>, synced: bool) {
        self.unsynced = !synced && !entries.is_empty();
        self.inherited &= !synced;
        self.on_file = Some(entries.into());
    }

    pub(crate) fn entries(&self) -> &[(i32, i64)] {
        &self.entries
    }

    pub(crate) fn latest(&self) -> Option<(i32, i64)> {
        self.entries.last().copied()
    }

    pub(crate) fn earliest(&self) -> Option<(i32, i64)> {
        self.entries.first().copied()
    }

    /// Notes that `epoch` begins at `offset`; conflicting entries go.
    pub(crate) fn assign(&mut self, epoch: i32, offset: i64) {
        if epoch < 0 || offset < 0 {
            return;
        }
        if let Some((last, start)) = self.latest()
            && last == epoch
            && offset >= start
        {
            return;
        }
        while let Some((last, start)) = self.latest()
            && (last >= epoch || start >= offset)
        {
            self.entries.pop();
        }
        self.entries.push((epoch, offset));
    }

    /// Takes what a batch says that recovery found: it is right where the list, whose file may be
    /// older, says something else. The list may even lack what was truncated, and have what was
    /// written there before.
    pub(crate) fn learn(&mut self, epoch: i32, offset: i64, last_offset: i64) {
        if epoch < 0 {
            return;
        }
        let after = self.entries.partition_point(|&(_, start)| start <= last_offset);
        // Nothing begins within the batch.
        if self.entries[..after]
            .last()
            .is_some_and(|&(known, start)| known == epoch && start <= offset)
        {
            return;
        }
        let later = self.entries.split_off(after);
        self.entries.retain(|&(known, start)| known <= epoch && start < offset);
        if self.latest().is_none_or(|(latest, _)| latest < epoch) {
            self.entries.push((epoch, offset));
        }
        self.entries.extend(later.into_iter().filter(|&(known, _)| known > epoch));
    }

    /// Kafka's `endOffsetFor`: the epoch at or below `epoch`, and where it ends.
    pub(crate) fn end_offset_for(&self, epoch: i32, log_end_offset: i64) -> (i32, i64) {
        if epoch == UNDEFINED_EPOCH {
            return (UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET);
        }
        if self.latest().is_some_and(|(latest, _)| latest == epoch) {
            return (epoch, log_end_offset);
        }
        let higher = self.entries.partition_point(|&(e, _)| e <= epoch);
        match self.entries.get(higher) {
            None => (UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET),
            Some(&(_, start)) => match higher.checked_sub(1).and_then(|at| self.entries.get(at)) {
                None => (epoch, start),
                Some(&(floor, _)) => (floor, start),
            },
        }
    }

    /// The epoch that `offset` was written in.
    pub(crate) fn epoch_of(&self, offset: i64) -> Option<i32> {
        let after = self.entries.partition_point(|&(_, start)| start <= offset);
        after.checked_sub(1).and_then(|at| self.entries.get(at)).map(|&(epoch, _)| epoch)
    }

    /// Drops epochs that begin at or after `end_offset`.
    pub(crate) fn truncate_from_end(&mut self, end_offset: i64) {
        let keep = self.entries.partition_point(|&(_, start)| start < end_offset);
        if end_offset >= 0 && keep < self.entries.len() {
            self.entries.truncate(keep);
        }
    }

    /// Drops epochs that end before `start_offset`; the one it lies in then begins there.
    pub(crate) fn truncate_from_start(&mut self, start_offset: i64) {
        let before = self.entries.partition_point(|&(_, start)| start <= start_offset);
        if let Some(last) = before.checked_sub(1) {
            if last == 0 && self.entries[0].1 == start_offset {
                return;
            }
            self.entries.drain(..last);
            self.entries[0].1 = start_offset;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[(i32, i64)]) -> Epochs {
        Epochs::from_file(entries.to_vec())
    }

    #[test]
    fn end_offsets() {
        let epochs = of(&[(2, 10), (4, 20), (7, 50)]);
        assert_eq!(epochs.end_offset_for(-1, 99), (-1, -1));
        assert_eq!(
            epochs.end_offset_for(0, 99),
            (0, 10),
            "before the first: where the first starts"
        );
        assert_eq!(epochs.end_offset_for(2, 99), (2, 20));
        assert_eq!(epochs.end_offset_for(3, 99), (2, 20), "a gap: the floor");
        assert_eq!(epochs.end_offset_for(7, 99), (7, 99), "the latest: the log's end");
        assert_eq!(epochs.end_offset_for(8, 99), (-1, -1), "newer than known");
        assert_eq!(Epochs::default().end_offset_for(0, 9), (-1, -1));
    }

    #[test]
    fn conflicting_entries_are_replaced() {
        let mut epochs = of(&[(1, 10), (2, 20), (3, 30)]);
        epochs.assign(3, 40);
        assert_eq!(epochs.entries(), [(1, 10), (2, 20), (3, 30)], "the same epoch later on");
        epochs.assign(5, 20);
        assert_eq!(epochs.entries(), [(1, 10), (5, 20)]);
        epochs.assign(4, 30);
        assert_eq!(epochs.entries(), [(1, 10), (4, 30)]);
        epochs.assign(4, 25);
        assert_eq!(epochs.entries(), [(1, 10), (4, 25)]);
        epochs.assign(-1, 7);
        assert_eq!(epochs.entries(), [(1, 10), (4, 25)]);
    }

    #[test]
    fn truncation_from_both_ends() {
        let mut epochs = of(&[(1, 10), (2, 20), (3, 30)]);
        epochs.truncate_from_end(30);
        assert_eq!(epochs.entries(), [(1, 10), (2, 20)]);
        epochs.truncate_from_end(25);
        assert_eq!(epochs.entries(), [(1, 10), (2, 20)]);
        epochs.truncate_from_start(22);
        assert_eq!(epochs.entries(), [(2, 22)]);
        epochs.written(epochs.entries().to_vec(), true);
        epochs.truncate_from_start(22);
        epochs.truncate_from_start(5);
        assert!(!epochs.is_dirty());
        assert_eq!(epochs.epoch_of(21), None);
        assert_eq!(epochs.epoch_of(22), Some(2));
        assert_eq!(epochs.epoch_of(1000), Some(2));
    }

    #[test]
    fn batches_are_right_where_the_file_is_older() {
        let mut epochs = of(&[(1, 10), (4, 20), (5, 30)]);
        epochs.learn(4, 25, 29);
        assert_eq!(epochs.entries(), [(1, 10), (4, 20), (5, 30)], "as the file says");
        epochs.learn(4, 30, 32);
        assert_eq!(epochs.entries(), [(1, 10), (4, 20)], "epoch 5 began without records");
        epochs.learn(6, 33, 33);
        assert_eq!(epochs.entries(), [(1, 10), (4, 20), (6, 33)]);
        // What epoch 6 wrote was lost or truncated, and larger batches of epoch 4 came there.
        epochs.learn(4, 31, 34);
        assert_eq!(epochs.entries(), [(1, 10), (4, 20)]);
        // All of it was, and other epochs began there, earlier than the file says.
        let mut epochs = of(&[(1, 10), (2, 20), (4, 30), (6, 40)]);
        epochs.learn(4, 10, 14);
        assert_eq!(epochs.entries(), [(4, 10), (6, 40)]);
        epochs.learn(-1, 15, 15);
        assert_eq!(epochs.entries(), [(4, 10), (6, 40)], "of before there were epochs");
    }

    #[test]
    fn the_file_need_not_be_written_for_an_epoch_without_records() {
        let mut epochs = of(&[(1, 10), (2, 20)]);
        epochs.truncate_from_end(20);
        assert!(epochs.is_dirty() && epochs.file_covers(20));
        // The same leader again: the file is right as it is.
        epochs.assign(2, 20);
        assert!(!epochs.is_dirty());
        // Another one, without records and with them.
        epochs.assign(3, 20);
        assert!(epochs.is_dirty() && epochs.file_covers(20) && !epochs.file_covers(21));
        epochs.written(epochs.entries().to_vec(), true);
        epochs.truncate_from_end(15);
        assert!(!epochs.file_covers(15 + 6), "the file has records in an epoch that has none");
        // A file whose content is not known covers nothing, an empty one everything before it.
        assert!(!Epochs::default().file_covers(0) && Epochs::default().is_dirty());
        assert!(of(&[]).file_covers(0) && of(&[]).file_covers(9));
    }
}
