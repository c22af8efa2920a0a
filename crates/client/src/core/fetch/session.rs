//! The consumer's side of a fetch session (KIP-227): what the broker has been told of each
//! partition, so that a request names only what changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_wire::Uuid;

use crate::core::partition::TopicPartition;

/// The epoch that asks for a new session.
const NEW: i32 = 0;

/// What a broker knows of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RequestedPartition {
    pub topic_id: Uuid,
    pub offset: i64,
    /// Epoch of the leader that is meant.
    pub leader_epoch: i32,
    /// Epoch of the record before `offset`.
    pub last_epoch: i32,
    pub max_bytes: i32,
}

/// Where a partition's log ends, as a broker said last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Watermarks {
    pub high_watermark: i64,
    pub last_stable_offset: i64,
    pub log_start_offset: i64,
}

/// Sorted by topic, so that a request names each topic once.
pub(super) type ByPartition<T> = BTreeMap<Arc<TopicPartition>, T>;

/// A session with one broker.
#[derive(Debug, Default)]
pub(super) struct FetchSession {
    pub id: i32,
    pub epoch: i32,
    /// What is wanted of the broker by now.
    wanted: ByPartition<RequestedPartition>,
    /// What the broker has been told, with the request that is under way: its answers are to this.
    told: ByPartition<RequestedPartition>,
    /// What the broker said of partitions that it has been told of. In a session it says so again only
    /// when it changes, also of a partition that was given up and is taken back between two requests.
    watermarks: ByPartition<Watermarks>,
    /// What the next request names, where `wanted` is not what was told.
    named: ByPartition<RequestedPartition>,
    /// What the next request has forgotten, with the id it was told of by.
    forgotten: ByPartition<Uuid>,
    /// Sessions begun.
    pub begun: u64,
}

static NOTHING_FORGOTTEN: ByPartition<Uuid> = BTreeMap::new();

impl FetchSession {
    pub fn is_new(&self) -> bool {
        self.epoch == NEW
    }

    /// Starts over: the next request names everything, and what is under way has no answer.
    pub fn reset(&mut self) {
        (self.id, self.epoch) = (0, NEW);
        self.told.clear();
        self.watermarks.clear();
        self.named.clear();
        self.forgotten.clear();
    }

    /// What the broker is to know of a partition from the next request on; `None` to have it
    /// forgotten.
    pub fn set(&mut self, partition: &Arc<TopicPartition>, wanted: Option<RequestedPartition>) {
        let told = self.told.get(partition);
        self.named.remove(partition);
        self.forgotten.remove(partition);
        let Some(asked) = wanted else {
            self.wanted.remove(partition);
            if let Some(told) = told {
                self.forgotten.insert(Arc::clone(partition), told.topic_id);
            }
            return;
        };
        self.wanted.insert(Arc::clone(partition), asked);
        match told {
            Some(told) if *told == asked => return,
            // An id that changed is another topic: the old one is forgotten.
            Some(told) if told.topic_id != asked.topic_id => {
                self.forgotten.insert(Arc::clone(partition), told.topic_id);
            }
            _ => {}
        }
        self.named.insert(Arc::clone(partition), asked);
    }

    /// What the broker was told of a partition last: what it answers is to that, whatever is wanted
    /// by now.
    pub fn told(&self, partition: &TopicPartition) -> Option<&RequestedPartition> {
        self.told.get(partition)
    }

    /// The broker said where a partition's log ends; `None` after an error, after which it says so again.
    pub fn note_watermarks(
        &mut self,
        partition: &Arc<TopicPartition>,
        watermarks: Option<Watermarks>,
    ) {
        match watermarks.filter(|_| self.told.contains_key(partition)) {
            Some(watermarks) => drop(self.watermarks.insert(Arc::clone(partition), watermarks)),
            None => drop(self.watermarks.remove(partition)),
        }
    }

    /// What the broker said last of a partition, if the next request does not have it forgotten: it will
    /// not say so again.
    pub fn watermarks(&self, partition: &TopicPartition, topic_id: Uuid) -> Option<Watermarks> {
        let told = self.told.get(partition).filter(|told| told.topic_id == topic_id)?;
        let is_kept = told.topic_id == topic_id && !self.forgotten.contains_key(partition);
        self.watermarks.get(partition).copied().filter(|_| is_kept)
    }

    /// What is wanted and was not told: what the request under way does not ask for.
    pub fn untold(&self) -> impl Iterator<Item = (&Arc<TopicPartition>, &RequestedPartition)> {
        self.named.iter()
    }

    /// Partitions that are wanted.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// What the next request names, and has forgotten; in order of topics.
    pub fn changes(&self) -> (&ByPartition<RequestedPartition>, &ByPartition<Uuid>) {
        match self.is_new() {
            true => (&self.wanted, &NOTHING_FORGOTTEN),
            false => (&self.named, &self.forgotten),
        }
    }

    /// The request was written.
    pub fn sent(&mut self) {
        let (named, forgotten) =
            (std::mem::take(&mut self.named), std::mem::take(&mut self.forgotten));
        if self.is_new() {
            self.told.clone_from(&self.wanted);
            self.watermarks.clear();
            return;
        }
        for partition in forgotten.keys() {
            self.told.remove(partition);
            self.watermarks.remove(partition);
        }
        self.told.extend(named);
    }

    /// The request was answered without an error.
    pub fn answered(&mut self, id: i32) {
        if self.is_new() {
            self.begun += 1;
        }
        self.id = id;
        // Without an id the broker keeps no session, and wants everything each time.
        self.epoch = if id == 0 { NEW } else { self.epoch.checked_add(1).unwrap_or(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(index: i32) -> Arc<TopicPartition> {
        Arc::new(TopicPartition::new("t", index))
    }

    fn asked(offset: i64) -> RequestedPartition {
        let topic_id = Uuid::from_u128(777);
        RequestedPartition { topic_id, offset, leader_epoch: 0, last_epoch: -1, max_bytes: 100 }
    }

    fn names(session: &FetchSession) -> (Vec<i32>, Vec<i32>) {
        let (named, forgotten) = session.changes();
        let index = |partition: &Arc<TopicPartition>| partition.partition;
        (named.keys().map(index).collect(), forgotten.keys().map(index).collect())
    }

    fn round(session: &mut FetchSession) -> (Vec<i32>, Vec<i32>) {
        let names = names(session);
        session.sent();
        session.answered(9);
        names
    }

    #[test]
    fn only_what_changed_is_named() {
        let mut session = FetchSession::default();
        for index in 0..3 {
            session.set(&partition(index), Some(asked(0)));
        }
        assert_eq!(round(&mut session), (vec![0, 1, 2], vec![]));
        assert_eq!(round(&mut session), (vec![], vec![]));
        session.set(&partition(1), Some(asked(5)));
        session.set(&partition(2), Some(asked(0)));
        session.set(&partition(0), None);
        assert_eq!(round(&mut session), (vec![1], vec![0]));
        // Forgotten and wanted again before a request went out.
        session.set(&partition(1), None);
        session.set(&partition(1), Some(asked(5)));
        assert_eq!(round(&mut session), (vec![], vec![]));
        session.set(&partition(1), Some(asked(6)));
        session.set(&partition(1), None);
        session.set(&partition(1), Some(asked(5)));
        assert_eq!(round(&mut session), (vec![], vec![]));
        assert_eq!((session.begun, session.len()), (1, 2));
    }

    #[test]
    fn a_lost_session_names_everything_that_is_still_wanted() {
        let mut session = FetchSession::default();
        for index in 0..3 {
            session.set(&partition(index), Some(asked(0)));
        }
        round(&mut session);
        session.set(&partition(2), None);
        session.reset();
        assert_eq!(round(&mut session), (vec![0, 1], vec![]));
    }

    #[test]
    fn what_changes_while_a_request_is_under_way_is_named_by_the_next() {
        let mut session = FetchSession::default();
        for index in 0..3 {
            session.set(&partition(index), Some(asked(0)));
        }
        session.sent();
        session.set(&partition(0), Some(asked(7)));
        session.set(&partition(1), None);
        // The answer is to what was told, not to what is wanted.
        assert_eq!(session.told(&partition(0)), Some(&asked(0)));
        assert_eq!(session.told(&partition(1)), Some(&asked(0)));
        session.answered(9);
        assert_eq!(round(&mut session), (vec![0], vec![1]));
        assert_eq!(
            (session.told(&partition(0)), session.told(&partition(1))),
            (Some(&asked(7)), None)
        );
    }

    #[test]
    fn a_broker_without_sessions_is_told_everything_each_time() {
        let mut session = FetchSession::default();
        session.set(&partition(0), Some(asked(0)));
        for _ in 0..3 {
            assert_eq!(names(&session).0, [0]);
            session.sent();
            session.answered(0);
        }
    }
}
