//! Opens the logs that [`Openings`](crate::replicas::openings::Openings) waits for, and serves their partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use thalweg_log::{CreateError, CreateRequest, Log, LogDir};
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;

use crate::node::internal_topics::InternalTopic;
use crate::replicas::Replicas;
use crate::replicas::openings::{Group, InDir, Indexes, Place};
use crate::replicas::topics::TopicTable;

/// After which time a partition is made whose predecessor of the same name was still being deleted.
const DELETED_LATER: Duration = Duration::from_millis(50);

/// What has panicked, where opening logs has.
const OPENING: &str = "opening partitions";

/// What opening a log came to.
type Opened = Result<Arc<Log>, CreateError>;

/// Whether it failed for lack of descriptors or memory.
fn is_retriable(opened: &Opened) -> bool {
    matches!(opened, Err(CreateError::Storage(failure)) if failure.is_retriable)
}

impl Replicas {
    /// Opens a partition's log, or makes it. One that lacks descriptors or memory waits again after a while.
    pub(super) fn open_log(&self, request: &CreateRequest<'_>) -> Opened {
        let opened = self.logs.create(request, self.node.clock().wall_ms());
        if is_retriable(&opened) {
            self.open_later(request.topic_id, request.partition, request.is_new);
        }
        opened
    }

    fn open_later(&self, topic: Uuid, index: i32, is_new: bool) {
        self.unopened.lock().entry(topic).or_default().insert(index, is_new);
        self.unopened_added.notify_one();
    }

    /// These partitions are not here any more.
    pub(super) fn forget_unopened(&self, partitions: &[(Uuid, Arc<str>, i32)]) {
        let mut unopened = self.unopened.lock();
        for (topic, _, index) in partitions {
            if let Some(indexes) = unopened.get_mut(topic) {
                indexes.remove(index);
            }
        }
    }

    /// Tries again to open what could not be opened for lack of descriptors or memory.
    pub(crate) fn open_missing(&self) {
        let unopened = std::mem::take(&mut *self.unopened.lock());
        for (id, indexes) in unopened {
            indexes.into_iter().for_each(|(index, is_new)| self.openings.note(id, index, is_new));
        }
    }
}

impl Replicas {
    /// Begins to open logs of partitions that wait for them, each directory's on a thread of its own.
    fn open_waiting(self: &Arc<Self>) {
        loop {
            // Before the turn is taken: it looks at all logs.
            let counts =
                self.logs.dirs().iter().map(|dir| (dir.id(), self.logs.partitions_in(dir)));
            let counts: BTreeMap<Uuid, usize> = counts.collect();
            let (groups, image) = {
                // The image that names them is in force.
                let _publishing = self.begin_publishing();
                let image = self.node.image().0;
                let groups = self.openings.next(|topic, index, there| {
                    self.place_to_open_in(&image, topic, index, &counts, there)
                });
                (groups, image)
            };
            if groups.is_empty() {
                return;
            }
            for group in groups {
                self.begin_to_open(group, Arc::clone(&image));
            }
        }
    }

    /// The directory whose thread opens a partition's log: the one that the metadata names, or else one that
    /// AlterReplicaLogDirs has named, or the one with the fewest partitions.
    fn place_to_open_in(
        &self,
        image: &MetadataImage,
        topic: Uuid,
        index: i32,
        counts: &BTreeMap<Uuid, usize>,
        there: &InDir<'_>,
    ) -> Place {
        let known = image.topics.by_id(topic);
        let Some((known, partition)) = known.and_then(|it| Some((it, it.partitions.get(&index)?)))
        else {
            return Place::Gone;
        };
        if !partition.replicas.contains(&self.node.id()) {
            return Place::Gone;
        }
        let here = |id: Uuid| {
            let dir = self.logs.dirs().iter().find(|dir| dir.id() == id && !id.is_reserved())?;
            Some((id, dir.check().is_ok()))
        };
        let named = partition.directory(self.node.id()).and_then(here);
        let preferred = || self.logs.preferred_dir(&known.name, index).and_then(here);
        match named.or_else(preferred) {
            Some((id, true)) if there.is_full(id) => return Place::Later,
            Some((id, true)) => return Place::In(id),
            // Its threads may hang, and nothing is opened there.
            Some((_, false)) => return Place::In(Uuid::ZERO),
            None => {}
        }
        let count = |dir: &LogDir| {
            counts.get(&dir.id()).map_or(0, |count| count + there.partitions(dir.id()))
        };
        let is_usable = |dir: &LogDir| dir.check().is_ok() && !self.logs.is_cordoned(dir.id());
        match self.logs.choose_dir(|dir| !there.is_full(dir.id()), count) {
            Some(dir) => Place::In(dir.id()),
            None if self.logs.dirs().iter().any(|dir| is_usable(dir)) => Place::Later,
            // All are cordoned or offline: what a partition is answered with then is found when it is made.
            None => Place::In(Uuid::ZERO),
        }
    }

    fn begin_to_open(self: &Arc<Self>, group: Group, image: Arc<MetadataImage>) {
        let (opening, replicas) = (Arc::clone(self), Arc::clone(self));
        let dir = group.dir;
        let open = move || (opening.open_group(&group, &image), group);
        let opened = self.change_for_metadata(dir, OPENING, open);
        tokio::spawn(async move {
            let Some((early, group)) = opened.await else { return };
            replicas.openings.done(&group, &early);
            if !early.is_empty() {
                tokio::time::sleep(DELETED_LATER).await;
                replicas.openings.retry(&early);
            }
        });
    }

    /// Opens the logs of a group and serves its partitions, on a thread that may wait. Gives those that have to wait longer,
    /// because something else changes partitions of their names: a deletion, most likely.
    fn open_group(self: &Arc<Self>, group: &Group, image: &MetadataImage) -> BTreeSet<(Uuid, i32)> {
        let (mut due, mut opened, mut early) = (Indexes::new(), BTreeMap::new(), BTreeSet::new());
        for (id, indexes) in &group.partitions {
            for (&index, &is_new) in indexes {
                let Some(topic) = image.topics.by_id(*id) else { continue };
                let Some(partition) = topic.partitions.get(&index) else { continue };
                let dir = partition.directory(self.node.id());
                let request = CreateRequest {
                    dir: dir.filter(|id| !id.is_reserved()),
                    chosen: Some(group.dir).filter(|id| !id.is_reserved()),
                    is_new,
                    ..CreateRequest::new(&topic.name, index, *id)
                };
                let Some(change) = self.logs.try_change(&topic.name, index) else {
                    early.insert((*id, index));
                    continue;
                };
                // In this order, so that a stop waits for it.
                if self.node.is_stopping() {
                    return early;
                }
                if !self.openings.is_waiting(*id, index) {
                    continue;
                }
                let now_ms = self.node.clock().wall_ms();
                let log = self.logs.create_in(&change, &request, now_ms);
                if self.openings.is_waiting(*id, index) {
                    opened.insert((*id, index), log);
                    due.entry(*id).or_default().insert(index, is_new);
                } else if log.is_ok()
                    && let Err(error) = self.logs.delete_in(change, now_ms)
                {
                    tracing::error!(%error, "partitions could not be deleted");
                }
            }
        }
        if !opened.is_empty() {
            self.serve_opened(&due, opened);
        }
        early
    }

    /// Serves partitions whose logs were opened, as the image of now says.
    fn serve_opened(self: &Arc<Self>, due: &Indexes, mut opened: BTreeMap<(Uuid, i32), Opened>) {
        let _publishing = self.begin_publishing();
        let image = self.node.image().0;
        // One that was taken away meanwhile was deleted. If it is here again, it waits for another log.
        opened.retain(|(id, index), opened| {
            self.openings.is_waiting(*id, *index)
                && opened.as_ref().map_or(true, |log| {
                    let current = self.logs.get(log.topic(), *index);
                    current.is_some_and(|current| Arc::ptr_eq(&current, log))
                })
        });
        let done: Vec<(Uuid, i32)> = opened.keys().copied().collect();
        let is_new = |(id, index): &(Uuid, i32)| due.get(id)?.get(index).copied();
        let failed = opened.iter().filter(|(_, opened)| is_retriable(opened));
        let failed: Vec<_> = failed.filter_map(|(at, _)| Some((*at, is_new(at)?))).collect();
        let mut table = TopicTable::clone(&self.topics());
        for id in due.keys() {
            let Some(topic) = image.topics.by_id(*id) else { continue };
            let open = |request: &CreateRequest<'_>| opened.remove(&(*id, request.partition));
            table.insert(Arc::new(self.build_topic(&table, open, &image, topic)));
        }
        self.topics.store(Arc::new(table));
        self.begin_opened(&image, due);
        self.openings.remove(done);
        // Now, because they waited here until now: noted again before, they would be taken out with the others.
        for ((id, index), is_new) in failed {
            self.open_later(id, index, is_new);
        }
    }

    /// Begins what a broker does with partitions: to lead, to follow, to coordinate.
    pub(super) fn begin_opened(self: &Arc<Self>, image: &Arc<MetadataImage>, due: &Indexes) {
        let table = self.topics();
        let (mut led, mut moved, mut is_internal) = (Vec::new(), BTreeSet::new(), false);
        for (id, indexes) in due {
            let Some(topic) = table.by_id(*id) else { continue };
            is_internal |= InternalTopic::named(&topic.name).is_some();
            for (&index, &is_new) in indexes {
                let Some(partition) = topic.partition(index) else { continue };
                if partition.leader().is_local {
                    led.push((*id, index));
                    moved.extend((!is_new).then_some(*id));
                }
                self.fetchers.update(*id, partition);
                self.moves.found(self, *id, partition);
            }
        }
        drop(table);
        self.tell_fetches(image, &led, moved);
        self.fetchers.begin(self);
        if is_internal {
            self.begin_coordinators();
        }
    }
}

/// Opens what waits, for as long as it is polled.
pub(crate) async fn run(replicas: Arc<Replicas>) {
    loop {
        replicas.openings.added().await;
        let opening = Arc::clone(&replicas);
        if tokio::task::spawn_blocking(move || opening.open_waiting()).await.is_err() {
            replicas.node.fail_unless_stopping(OPENING);
            return;
        }
    }
}

#[cfg(test)]
mod tests;
