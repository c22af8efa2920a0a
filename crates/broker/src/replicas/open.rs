//! Opens the logs that [`Openings`] waits for, and serves their partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thalweg_log::{CreateError, CreateRequest, Log};
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;

use crate::node::internal_topics::InternalTopic;
use crate::replicas::Replicas;
use crate::replicas::openings::Indexes;
#[cfg(doc)]
use crate::replicas::openings::Openings;
use crate::replicas::topics::TopicTable;

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
    /// Opens the logs of some partitions that wait for them; says whether there were any. On a thread that may wait.
    pub(crate) fn open_waiting(self: &Arc<Self>) -> bool {
        let (due, image) = {
            // The image that names them is in force.
            let _publishing = self.begin_publishing();
            (self.openings.next(), self.node.image().0)
        };
        if due.is_empty() {
            return false;
        }
        let mut opened = BTreeMap::new();
        for (id, indexes) in &due {
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
                    is_new,
                    ..CreateRequest::new(&topic.name, index, *id)
                };
                let _opening = self.openings.opening.lock();
                if self.node.is_stopping() {
                    return false;
                }
                if self.openings.is_waiting(*id, index) {
                    let log = self.logs.create(&request, self.node.clock().wall_ms());
                    opened.insert((*id, index), log);
                }
            }
        }
        self.serve_opened(&due, opened);
        true
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
        replicas.openings.added.notified().await;
        loop {
            let opening = Arc::clone(&replicas);
            match tokio::task::spawn_blocking(move || opening.open_waiting()).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::error!(%error, "opening partitions panicked");
                    replicas.node.metrics().panics.add(1);
                    replicas.node.fail("opening partitions panicked; see the message above");
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
