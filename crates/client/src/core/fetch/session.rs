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
pub(super) struct Asked {
    pub topic_id: Uuid,
    pub offset: i64,
    /// Epoch of the leader that is meant.
    pub leader_epoch: i32,
    /// Epoch of the record before `offset`.
    pub last_epoch: i32,
    pub max_bytes: i32,
}

/// Sorted by topic, so that a request names each topic once.
pub(super) type ByPartition<T> = BTreeMap<Arc<TopicPartition>, T>;

/// A partition that the broker is to forget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Forgotten {
    pub topic_id: Uuid,
    /// What the broker knows of it until then, where that is certain.
    told: Option<Asked>,
}

/// A session with one broker.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub id: i32,
    pub epoch: i32,
    /// Partitions of the session; the broker's answers are about these.
    asked: ByPartition<Asked>,
    /// To be named in the next request.
    named: ByPartition<Asked>,
    /// To be forgotten with the next request.
    forgotten: ByPartition<Forgotten>,
    /// Sessions begun.
    pub begun: u64,
}

impl Session {
    pub fn is_new(&self) -> bool {
        self.epoch == NEW
    }

    /// Starts over: the next request names everything.
    pub fn reset(&mut self) {
        (self.id, self.epoch) = (0, NEW);
        self.forgotten.clear();
        self.named = self.asked.clone();
    }

    /// What the broker is to know of a partition from the next request on; `None` to have it
    /// forgotten.
    pub fn set(&mut self, partition: &Arc<TopicPartition>, wanted: Option<Asked>) {
        match wanted {
            Some(asked) => {
                let before = self.asked.insert(Arc::clone(partition), asked);
                let known = match self.forgotten.remove(partition) {
                    // Wanted again before the broker heard that it was not.
                    Some(forgotten) => forgotten.told,
                    None => before,
                };
                if known == Some(asked) {
                    return;
                }
                // An id that changed is another topic: the old one is forgotten.
                if let Some(before) = before
                    && before.topic_id != asked.topic_id
                    && !self.is_new()
                {
                    let forgotten = Forgotten { topic_id: before.topic_id, told: None };
                    self.forgotten.insert(Arc::clone(partition), forgotten);
                }
                self.named.insert(Arc::clone(partition), asked);
            }
            None => {
                if let Some(before) = self.asked.remove(partition) {
                    let is_unsent = self.named.remove(partition).is_some();
                    // Whether the broker ever heard of one that was to be named is not known here;
                    // to forget one too many does no harm.
                    if !self.is_new() {
                        let told = (!is_unsent).then_some(before);
                        let forgotten = Forgotten { topic_id: before.topic_id, told };
                        self.forgotten.insert(Arc::clone(partition), forgotten);
                    }
                }
            }
        }
    }

    /// What the broker was told of a partition last, when it is part of the session.
    pub fn asked(&self, partition: &TopicPartition) -> Option<&Asked> {
        self.asked.get(partition)
    }

    /// Partitions of the session.
    pub fn len(&self) -> usize {
        self.asked.len()
    }

    /// What the next request names, and has forgotten; in order of topics.
    pub fn changes(&self) -> (&ByPartition<Asked>, &ByPartition<Forgotten>) {
        (if self.is_new() { &self.asked } else { &self.named }, &self.forgotten)
    }

    /// The request was written.
    pub fn sent(&mut self) {
        self.named.clear();
        self.forgotten.clear();
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

    fn asked(offset: i64) -> Asked {
        let topic_id = Uuid::from_u128(777);
        Asked { topic_id, offset, leader_epoch: 0, last_epoch: -1, max_bytes: 100 }
    }

    fn names(session: &Session) -> (Vec<i32>, Vec<i32>) {
        let (named, forgotten) = session.changes();
        let index = |partition: &Arc<TopicPartition>| partition.partition;
        (named.keys().map(index).collect(), forgotten.keys().map(index).collect())
    }

    fn round(session: &mut Session) -> (Vec<i32>, Vec<i32>) {
        let names = names(session);
        session.sent();
        session.answered(9);
        names
    }

    #[test]
    fn only_what_changed_is_named() {
        let mut session = Session::default();
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
        assert_eq!(round(&mut session), (vec![1], vec![]));
        assert_eq!((session.begun, session.len()), (1, 2));
    }

    #[test]
    fn a_lost_session_names_everything_that_is_still_wanted() {
        let mut session = Session::default();
        for index in 0..3 {
            session.set(&partition(index), Some(asked(0)));
        }
        round(&mut session);
        session.set(&partition(2), None);
        session.reset();
        assert_eq!(round(&mut session), (vec![0, 1], vec![]));
    }

    #[test]
    fn a_broker_without_sessions_is_told_everything_each_time() {
        let mut session = Session::default();
        session.set(&partition(0), Some(asked(0)));
        for _ in 0..3 {
            assert_eq!(names(&session).0, [0]);
            session.sent();
            session.answered(0);
        }
    }
}
