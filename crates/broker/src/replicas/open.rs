//! Opens the logs that [`Openings`](crate::replicas::openings::Openings) waits for, and serves their partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use thalweg_log::{CreateError, CreateRequest, Log, LogDir};
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;

use crate::node::internal_topics::InternalTopic;
use crate::replicas::Replicas;
use crate::replicas::openings::{Group, InDir, Indexes};
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
            let (groups, image) = {
                // The image that names them is in force.
                let _publishing = self.begin_publishing();
                let image = self.node.image().0;
                let groups = self
                    .openings
                    .next(|topic, index, there| self.dir_to_open_in(&image, topic, index, there));
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

    /// The directory whose thread opens a partition's log: the one that the metadata names, or else the one with the fewest
    /// partitions. `None` while too much is being opened there.
    fn dir_to_open_in(
        &self,
        image: &MetadataImage,
        topic: Uuid,
        index: i32,
        there: &InDir<'_>,
    ) -> Option<Uuid> {
        let named =
            image.topics.partition(topic, index).and_then(|it| it.directory(self.node.id()));
        let is_here = |id: &Uuid| self.logs.dirs().iter().any(|dir| dir.id() == *id);
        if let Some(named) = named.filter(is_here) {
            return (!there.is_full(named)).then_some(named);
        }
        let is_free = |dir: &LogDir| !there.is_full(dir.id());
        let chosen = self.logs.choose_dir(is_free, |dir| there.partitions(dir.id()));
        let is_usable = |dir: &LogDir| dir.check().is_ok() && !self.logs.is_cordoned(dir.id());
        match chosen {
            Some(dir) => Some(dir.id()),
            None if self.logs.dirs().iter().any(|dir| is_usable(dir)) => None,
            // They are cordoned or offline: what a partition is answered with then is found when it is made.
            None => Some(Uuid::ZERO),
        }
    }

    fn begin_to_open(self: &Arc<Self>, group: Group, image: Arc<MetadataImage>) {
        let (opening, replicas) = (Arc::clone(self), Arc::clone(self));
        let dir = group.dir;
        let open = move || (opening.open_group(&group, &image), group);
        let opened = self.change_for_metadata(dir, OPENING, open);
        tokio::spawn(async move {
            let Some((is_early, group)) = opened.await else { return };
            if is_early {
                tokio::time::sleep(DELETED_LATER).await;
            }
            replicas.openings.done(&group);
        });
    }

    /// Opens the logs of a group and serves its partitions, on a thread that may wait. Says whether some have to wait longer,
    /// because something else changes partitions of their names: a deletion, most likely.
    fn open_group(self: &Arc<Self>, group: &Group, image: &MetadataImage) -> bool {
        let mut opened = BTreeMap::new();
        let mut is_early = false;
        for (id, indexes) in &group.partitions {
            let Some(topic) = image.topics.by_id(*id) else {
                self.openings.remove(indexes.keys().map(|index| (*id, *index)));
                continue;
            };
            for (&index, &is_new) in indexes {
                let partition = topic.partitions.get(&index);
                let Some(partition) = partition.filter(|it| it.replicas.contains(&self.node.id()))
                else {
                    self.openings.remove([(*id, index)]);
                    continue;
                };
                let dir = partition.directory(self.node.id());
                let request = CreateRequest {
                    dir: dir.filter(|id| !id.is_reserved()),
                    chosen: Some(group.dir).filter(|id| !id.is_reserved()),
                    is_new,
                    ..CreateRequest::new(&topic.name, index, *id)
                };
                let Some(change) = self.logs.try_change(&topic.name, index) else {
                    is_early = true;
                    continue;
                };
                // In this order, so that whoever stops waits for it.
                if self.node.is_stopping() {
                    return false;
                }
                if !self.openings.is_waiting(*id, index) {
                    continue;
                }
                let now_ms = self.node.clock().wall_ms();
                let log = self.logs.create_in(&change, &request, now_ms);
                if self.openings.is_waiting(*id, index) {
                    opened.insert((*id, index), log);
                } else if log.is_ok()
                    && let Err(error) = self.logs.delete_in(change, now_ms)
                {
                    tracing::error!(%error, "partitions could not be deleted");
                }
            }
        }
        self.serve_opened(&group.partitions, opened);
        is_early
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
