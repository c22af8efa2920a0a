//! Voters and `kraft.version` as the metadata log says them at each offset. The newest count at once, committed or not;
//! a snapshot has those of its offset, and what is cut off takes its own with it.

use thalweg_metadata::records::{BatchContents, ControlRecord};
use thalweg_wire::messages::VotersRecord;

/// From one offset on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Voters {
    /// Who votes, if the log says so.
    pub(super) record: Option<VotersRecord>,
    pub(super) kraft_version: i16,
}

/// What was so at which offset.
#[derive(Debug)]
pub(super) struct VoterHistory {
    /// At what the log begins with.
    first: Voters,
    /// Changes behind that, in the order of their offsets.
    changes: Vec<(i64, Voters)>,
}

impl VoterHistory {
    pub(super) fn new(first: Voters) -> VoterHistory {
        VoterHistory { first, changes: Vec::new() }
    }

    /// What counts now.
    pub(super) fn newest(&self) -> &Voters {
        self.changes.last().map_or(&self.first, |(_, voters)| voters)
    }

    /// What the records up to `offset` say, that one included.
    pub(super) fn at(&self, offset: i64) -> &Voters {
        let known = self.changes.iter().rev().find(|(from, _)| *from <= offset);
        known.map_or(&self.first, |(_, voters)| voters)
    }

    /// A batch that begins at `offset` is in the log.
    pub(super) fn appended(&mut self, offset: i64, contents: &BatchContents) {
        let BatchContents::Control(records) = contents else { return };
        let mut voters = self.newest().clone();
        for record in records {
            match record {
                ControlRecord::Voters(record) => voters.record = Some(record.clone()),
                ControlRecord::KRaftVersion(record) => voters.kraft_version = record.k_raft_version,
                _ => {}
            }
        }
        if voters != *self.newest() {
            self.changes.push((offset, voters));
        }
    }

    /// The log ends before `offset`. Says whether something else counts now.
    pub(super) fn truncated(&mut self, offset: i64) -> bool {
        let before = self.changes.len();
        self.changes.retain(|(from, _)| *from < offset);
        self.changes.len() < before
    }

    /// The log is not cut off at or before `offset` any more: what was so before it is forgotten.
    pub(super) fn committed(&mut self, offset: i64) {
        let count = self.changes.iter().take_while(|(from, _)| *from <= offset).count();
        if let Some((_, voters)) = self.changes.drain(..count).next_back() {
            self.first = voters;
        }
    }
}

#[cfg(test)]
mod tests {
    use thalweg_wire::messages::KRaftVersionRecord;

    use super::*;

    fn level(k_raft_version: i16) -> BatchContents {
        let record = KRaftVersionRecord { k_raft_version, ..Default::default() };
        BatchContents::Control(vec![ControlRecord::KRaftVersion(record)])
    }

    #[test]
    fn what_is_cut_off_counts_no_more_and_a_snapshot_has_what_was_so_at_its_offset() {
        let mut history = VoterHistory::new(Voters { record: None, kraft_version: 0 });
        history.appended(3, &level(0));
        history.appended(5, &level(1));
        history.appended(9, &level(2));
        assert_eq!(history.newest().kraft_version, 2);
        assert_eq!([4, 5, 8, 9].map(|offset| history.at(offset).kraft_version), [0, 1, 1, 2]);
        assert!(!history.truncated(10));
        assert!(history.truncated(9));
        assert_eq!(history.newest().kraft_version, 1);
        history.committed(4);
        assert_eq!(history.at(4).kraft_version, 0);
        history.committed(7);
        assert_eq!((history.newest().kraft_version, history.changes.len()), (1, 0));
        assert!(!history.truncated(8), "what is committed is not cut off");
        assert_eq!(history.newest().kraft_version, 1);
    }
}
