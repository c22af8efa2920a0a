//! The follower's side of an incremental fetch session (KIP-227): what the leader was told of each partition, so that
//! a request names only what changed.

use std::collections::BTreeMap;

use crate::NextFetch;

/// Session id of a request that has no session yet.
const NO_SESSION: i32 = 0;
/// Epoch of a request that wants a new session, and ends the one whose id it has.
const INITIAL_EPOCH: i32 = 0;

/// What a leader is told of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// What it is asked for.
    pub fetch: NextFetch,
    /// Where the follower's log begins: the leader derives the low watermark from it.
    pub log_start: i64,
}

/// What a request says of partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes<K> {
    /// Those that the leader does not know of, or knows something else of.
    pub named: Vec<(K, Told)>,
    /// Those that it need not look at any more.
    pub forgotten: Vec<K>,
}

/// A session with one leader. One request is in flight at a time: [`Self::next`], then [`Self::answered`] or
/// [`Self::lost`].
#[derive(Clone, Debug)]
pub struct FetchSession<K> {
    id: i32,
    epoch: i32,
    told: BTreeMap<K, Told>,
}

impl<K> Default for FetchSession<K> {
    fn default() -> FetchSession<K> {
        FetchSession { id: NO_SESSION, epoch: INITIAL_EPOCH, told: BTreeMap::new() }
    }
}

impl<K: Ord + Copy> FetchSession<K> {
    /// Session id and epoch of the next request.
    pub fn id_and_epoch(&self) -> (i32, i32) {
        (self.id, self.epoch)
    }

    /// Whether the next request names all partitions.
    pub fn is_full(&self) -> bool {
        self.epoch == INITIAL_EPOCH
    }

    /// What the next request says, so that the leader looks at `wanted`, in ascending order of keys, and nothing else.
    /// What did not change costs a comparison.
    pub fn next(&mut self, wanted: impl Iterator<Item = (K, Told)>) -> Changes<K> {
        if self.is_full() {
            let named: Vec<_> = wanted.collect();
            self.told = named.iter().copied().collect();
            return Changes { named, forgotten: Vec::new() };
        }
        let (mut named, mut forgotten, mut added) = (Vec::new(), Vec::new(), Vec::new());
        let mut told = self.told.iter_mut().peekable();
        for (key, wants) in wanted {
            while let Some((gone, _)) = told.next_if(|(known, _)| **known < key) {
                forgotten.push(*gone);
            }
            match told.next_if(|(known, _)| **known == key) {
                Some((_, known)) if *known == wants => continue,
                Some((_, known)) => *known = wants,
                None => added.push((key, wants)),
            }
            named.push((key, wants));
        }
        forgotten.extend(told.map(|(gone, _)| *gone));
        self.told.extend(added);
        for gone in &forgotten {
            self.told.remove(gone);
        }
        Changes { named, forgotten }
    }

    /// What the request in flight asks for of a partition, whether it names it or an earlier one did.
    pub fn asked(&self, key: &K) -> Option<&NextFetch> {
        self.told.get(key).map(|told| &told.fetch)
    }

    /// All that the request in flight asks for.
    pub fn all_asked(&self) -> impl Iterator<Item = (&K, &NextFetch)> {
        self.told.iter().map(|(key, told)| (key, &told.fetch))
    }

    /// The request was answered without an error, with this session id. A leader that has no room for a session answers
    /// 0, and is told everything each time.
    pub fn answered(&mut self, id: i32) {
        self.id = id;
        self.epoch = match id {
            NO_SESSION => INITIAL_EPOCH,
            _ => self.epoch.checked_add(1).unwrap_or(1),
        };
    }

    /// The request was not answered, or the leader does not have the session any more: which epoch it expects, and what
    /// it believes this follower has been told, is not known. The next request ends the session and begins another.
    pub fn lost(&mut self) {
        self.epoch = INITIAL_EPOCH;
        self.told.clear();
    }

    /// The leader does not have a session of this id, or not this follower's.
    pub fn refused(&mut self) {
        self.lost();
        self.id = NO_SESSION;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(offset: i64) -> Told {
        let fetch = NextFetch { leader_epoch: 3, offset, last_epoch: 2 };
        Told { fetch, log_start: 0 }
    }

    fn next(session: &mut FetchSession<i32>, wanted: &[(i32, i64)]) -> (Vec<i32>, Vec<i32>) {
        let changes = session.next(wanted.iter().map(|&(key, offset)| (key, told(offset))));
        let asked: Vec<_> = session.all_asked().map(|(key, it)| (*key, it.offset)).collect();
        assert_eq!(asked, wanted, "what the leader looks at");
        (changes.named.into_iter().map(|(key, _)| key).collect(), changes.forgotten)
    }

    #[test]
    fn only_what_changed_is_named() {
        let mut session = FetchSession::default();
        assert_eq!(next(&mut session, &[(1, 0), (2, 0), (4, 0)]), (vec![1, 2, 4], vec![]));
        assert_eq!(session.id_and_epoch(), (0, 0));
        session.answered(7);
        assert_eq!(session.id_and_epoch(), (7, 1));
        assert_eq!(next(&mut session, &[(1, 0), (2, 0), (4, 0)]), (vec![], vec![]));
        session.answered(7);
        assert_eq!(next(&mut session, &[(0, 0), (2, 5), (3, 0), (4, 0)]), (vec![0, 2, 3], vec![1]));
        assert_eq!(session.asked(&1), None);
        session.answered(7);
        assert_eq!(next(&mut session, &[(0, 0), (2, 5)]), (vec![], vec![3, 4]));
        session.answered(7);
        assert_eq!(session.id_and_epoch(), (7, 4));
        assert_eq!(next(&mut session, &[]), (vec![], vec![0, 2]));
    }

    #[test]
    fn where_a_log_begins_is_told_too() {
        let mut session = FetchSession::default();
        let _ = session.next([(1, told(9))].into_iter());
        session.answered(7);
        let moved = Told { log_start: 4, ..told(9) };
        assert_eq!(session.next([(1, moved)].into_iter()).named, [(1, moved)]);
    }

    #[test]
    fn a_lost_session_is_ended_by_the_request_that_begins_another() {
        let mut session = FetchSession::default();
        let _ = next(&mut session, &[(1, 0), (2, 0)]);
        session.answered(7);
        let _ = next(&mut session, &[(1, 8), (2, 0)]);
        session.lost();
        assert_eq!(session.id_and_epoch(), (7, 0));
        assert_eq!(next(&mut session, &[(1, 8), (2, 0)]), (vec![1, 2], vec![]));
        session.answered(9);
        assert_eq!(session.id_and_epoch(), (9, 1));
        session.refused();
        assert_eq!(session.id_and_epoch(), (0, 0));
    }

    #[test]
    fn a_leader_without_room_for_a_session_is_told_everything_each_time() {
        let mut session = FetchSession::default();
        for _ in 0..3 {
            assert_eq!(next(&mut session, &[(1, 0)]), (vec![1], vec![]));
            session.answered(0);
        }
    }

    #[test]
    fn epochs_go_round_without_the_special_ones() {
        let mut session = FetchSession::<i32> { id: 7, epoch: i32::MAX, told: BTreeMap::new() };
        session.answered(7);
        assert_eq!(session.id_and_epoch(), (7, 1));
    }
}
