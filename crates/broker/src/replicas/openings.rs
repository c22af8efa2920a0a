//! Partitions whose logs are opened after the image that names them has taken effect.
//!
//! Making thousands of directories takes seconds, and making one in a directory that hangs takes as long as that hangs. An
//! image takes effect without the logs of new partitions, and threads of their directories open them
//! (`Replicas::open_waiting`). Until a partition's log is open its requests are answered with NOT_LEADER_OR_FOLLOWER, as by
//! a broker that has not seen the image yet. The request that made the partitions is answered when they are open
//! ([`Openings::wait`]).
//!
//! *Invariants*: a log is opened without `Replicas::begin_publishing`, and enters the topic table under it, with what the
//! image says then. A partition that the metadata takes away waits no more ([`Openings::remove`]), and a log that was made
//! of it before is deleted: by the thread that made it, if it is not among the logs yet when the image takes it away. A
//! directory that hangs holds up no more than [`GROUPS_PER_DIR`] groups.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use thalweg_wire::Uuid;
use tokio::sync::Notify;

/// Logs that are opened before the topic table is replaced.
const GROUP: usize = 64;
/// Groups of one directory that are being opened at a time: one is opened while another one's partitions are served.
const GROUPS_PER_DIR: usize = 2;

/// Partitions of topics, each with whether it has never been on this node: such a one is made, others have to be found.
pub(crate) type Indexes = BTreeMap<Uuid, BTreeMap<i32, bool>>;

/// Where a partition's log is opened.
pub(super) enum Place {
    /// On a thread of this directory.
    In(Uuid),
    /// Later: too much is being opened there.
    Later,
    /// Nowhere: the image in force does not have the partition here.
    Gone,
}

/// Partitions whose logs one thread opens.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The directory they are in, or are to be made in; zero if that is not known.
    pub(super) dir: Uuid,
    pub(super) partitions: Indexes,
}

/// The partitions that wait for their logs.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    state: Mutex<State>,
    added: Notify,
    /// Some do not wait any more.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: Indexes,
    /// Those whose logs a thread opens, or that are early.
    busy: BTreeSet<(Uuid, i32)>,
    /// How many groups and partitions of each directory threads open.
    dirs: BTreeMap<Uuid, (usize, usize)>,
}

impl Openings {
    pub(crate) fn note(&self, topic: Uuid, index: i32, is_new: bool) {
        self.state.lock().waiting.entry(topic).or_default().insert(index, is_new);
        self.added.notify_one();
    }

    pub(crate) fn is_waiting(&self, topic: Uuid, index: i32) -> bool {
        let state = self.state.lock();
        state.waiting.get(&topic).is_some_and(|indexes| indexes.contains_key(&index))
    }

    /// Waits until no partition of these topics waits.
    pub(crate) async fn wait(&self, topics: &BTreeSet<Uuid>) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if !topics.iter().any(|topic| self.state.lock().waiting.contains_key(topic)) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until there may be something for [`Self::next`].
    pub(super) async fn added(&self) {
        self.added.notified().await;
    }

    /// Some that wait, by their directories, each group to be opened on a thread. `place_of` says where, given what is being
    /// opened in directories. To be called with the turn to publish.
    pub(super) fn next(&self, place_of: impl Fn(Uuid, i32, &InDir<'_>) -> Place) -> Vec<Group> {
        let mut state = self.state.lock();
        let State { waiting, busy, dirs } = &mut *state;
        let mut groups: BTreeMap<Uuid, Group> = BTreeMap::new();
        // Of each topic some: a small one does not wait for a large one.
        let share = (GROUP / waiting.len().max(1)).max(1);
        let (mut count, mut gone) = (0, Vec::new());
        for (topic, indexes) in waiting.iter() {
            let mut left = share.min(GROUP - count);
            for (&index, &is_new) in indexes {
                if left == 0 {
                    break;
                }
                if busy.contains(&(*topic, index)) {
                    continue;
                }
                let dir = match place_of(*topic, index, &InDir { dirs, groups: &groups }) {
                    Place::In(dir) => dir,
                    Place::Later => continue,
                    Place::Gone => {
                        gone.push((*topic, index));
                        continue;
                    }
                };
                let group = groups.entry(dir).or_insert_with(|| Group { dir, ..Group::default() });
                group.partitions.entry(*topic).or_default().insert(index, is_new);
                (left, count) = (left - 1, count + 1);
            }
            if count == GROUP {
                break;
            }
        }
        for group in groups.values() {
            let (opening, partitions) = dirs.entry(group.dir).or_default();
            *opening += 1;
            *partitions += group.len();
            busy.extend(group.all());
        }
        drop(state);
        if !gone.is_empty() {
            self.remove(gone);
        }
        groups.into_values().collect()
    }

    /// A group is not being opened any more. What of it still waits is in the next one, but for `early` partitions, which
    /// wait for [`Self::retry`].
    pub(super) fn done(&self, group: &Group, early: &BTreeSet<(Uuid, i32)>) {
        let mut state = self.state.lock();
        group.all().filter(|partition| !early.contains(partition)).for_each(|partition| {
            state.busy.remove(&partition);
        });
        if let Some((opening, partitions)) = state.dirs.get_mut(&group.dir) {
            *opening -= 1;
            *partitions -= group.len();
        }
        drop(state);
        self.look_again();
    }

    /// Partitions that were early may be opened now.
    pub(super) fn retry(&self, early: &BTreeSet<(Uuid, i32)>) {
        let mut state = self.state.lock();
        early.iter().for_each(|partition| {
            state.busy.remove(partition);
        });
        drop(state);
        self.look_again();
    }

    /// There may be something for [`Self::next`].
    pub(crate) fn look_again(&self) {
        self.added.notify_one();
    }

    /// These do not wait any more: no thread begins to make a log of them.
    pub(crate) fn remove(&self, partitions: impl IntoIterator<Item = (Uuid, i32)>) {
        let mut state = self.state.lock();
        for (topic, index) in partitions {
            let Some(indexes) = state.waiting.get_mut(&topic) else { continue };
            indexes.remove(&index);
            if indexes.is_empty() {
                state.waiting.remove(&topic);
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }
}

impl Group {
    pub(super) fn all(&self) -> impl Iterator<Item = (Uuid, i32)> + '_ {
        let of_topic = |(topic, indexes): (&Uuid, _)| {
            let topic = *topic;
            BTreeMap::keys(indexes).map(move |index| (topic, *index))
        };
        self.partitions.iter().flat_map(of_topic)
    }

    fn len(&self) -> usize {
        self.partitions.values().map(BTreeMap::len).sum()
    }
}

/// What is being opened in log directories.
pub(super) struct InDir<'a> {
    dirs: &'a BTreeMap<Uuid, (usize, usize)>,
    groups: &'a BTreeMap<Uuid, Group>,
}

impl InDir<'_> {
    /// Whether threads open so many groups of a directory that another one has to wait.
    pub(super) fn is_full(&self, dir: Uuid) -> bool {
        self.dirs.get(&dir).is_some_and(|(groups, _)| *groups >= GROUPS_PER_DIR)
    }

    /// Partitions that are being opened or made in a directory.
    pub(super) fn partitions(&self, dir: Uuid) -> usize {
        let opening = self.dirs.get(&dir).map_or(0, |(_, partitions)| *partitions);
        opening + self.groups.get(&dir).map_or(0, Group::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPICS: [Uuid; 2] = [Uuid([1; 16]), Uuid([2; 16])];
    const DIRS: [Uuid; 2] = [Uuid([3; 16]), Uuid([4; 16])];

    fn in_first(_: Uuid, _: i32, there: &InDir<'_>) -> Place {
        if there.is_full(DIRS[0]) { Place::Later } else { Place::In(DIRS[0]) }
    }

    #[test]
    fn directory_that_hangs_holds_up_its_own_groups() {
        let openings = Openings::default();
        (0..200).for_each(|index| openings.note(TOPICS[0], index, true));
        let first = openings.next(in_first);
        let second = openings.next(in_first);
        assert_eq!([first[0].len(), second[0].len()], [GROUP, GROUP]);
        assert!(openings.next(in_first).is_empty(), "two groups are being opened there");
        // Partitions without a directory go to another one, and to where fewer are being made.
        openings.note(TOPICS[1], 0, true);
        let other = openings.next(|topic, _, there| {
            assert_eq!(there.partitions(DIRS[0]), 2 * GROUP);
            if topic == TOPICS[1] { Place::In(DIRS[1]) } else { Place::Later }
        });
        assert_eq!(other[0].all().collect::<Vec<_>>(), [(TOPICS[1], 0)]);

        openings.remove(first[0].all());
        openings.done(&first[0], &BTreeSet::new());
        let third = openings.next(in_first);
        assert_eq!(third[0].all().next(), Some((TOPICS[0], 128)));
    }

    #[test]
    fn partitions_that_still_wait_are_in_the_next_group() {
        let openings = Openings::default();
        openings.note(TOPICS[0], 0, true);
        let group = openings.next(in_first).remove(0);
        assert!(openings.next(in_first).is_empty(), "it is being opened");
        openings.done(&group, &BTreeSet::new());
        assert_eq!(openings.next(in_first).len(), 1);
    }

    #[test]
    fn early_partitions_keep_no_others_from_their_directory() {
        let openings = Openings::default();
        (0..200).for_each(|index| openings.note(TOPICS[0], index, true));
        for _ in 0..4 {
            let group = openings.next(in_first).remove(0);
            let early: BTreeSet<_> = group.all().collect();
            openings.done(&group, &early);
        }
        assert!(openings.next(in_first).is_empty(), "all are early");
        openings.retry(&BTreeSet::from([(TOPICS[0], 7)]));
        let group = openings.next(in_first).remove(0);
        assert_eq!(group.all().collect::<Vec<_>>(), [(TOPICS[0], 7)]);
    }

    #[test]
    fn partitions_that_are_gone_do_not_wait() {
        let openings = Openings::default();
        openings.note(TOPICS[0], 0, true);
        assert!(openings.next(|_, _, _| Place::Gone).is_empty());
        assert!(!openings.is_waiting(TOPICS[0], 0));
    }

    #[test]
    fn small_topic_does_not_wait_for_a_large_one() {
        let openings = Openings::default();
        (0..200).for_each(|index| openings.note(TOPICS[0], index, true));
        openings.note(TOPICS[1], 0, true);
        let group = openings.next(in_first).remove(0);
        assert_eq!(group.partitions[&TOPICS[0]].len(), GROUP / 2);
        assert_eq!(group.partitions[&TOPICS[1]].len(), 1);
    }
}
