//! Several sources over one consumer: one set of connections, one budget, one session with each
//! broker.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::stream::Stream;

use super::connect::connect;
use super::control::Control;
use super::reading::Reading;
use super::shape::{Plain, Shape, WithOffset};
use crate::cluster::Cluster;
use crate::core::fetch;
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::stream::hub::Hub;
use crate::stream::hub::assigned::AssignedPartition;
use crate::stream::settings::{ConsumerSettings, Offset, Subscription, positions};

/// A consumer for several sources, each of which is assigned partitions of its own. It ends, and its
/// sources with it, by its [`Control`], or when this, its clones and its sources are dropped.
#[derive(Clone)]
pub struct SharedConsumer {
    handle: Arc<Handle>,
}

struct Handle {
    hub: Arc<Hub>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.hub.end_dropped();
    }
}

impl SharedConsumer {
    /// A consumer of nothing yet. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Config`] when settings make no sense.
    pub fn new(
        cluster: &Cluster,
        settings: impl Into<ConsumerSettings>,
    ) -> Result<SharedConsumer, Error> {
        let nothing = Subscription::Assignment(Vec::new());
        let reading = fetch::ReadMode::Partitions;
        let hub = connect::<Plain>(cluster, settings.into(), nothing, reading, None)?;
        Ok(SharedConsumer { handle: Arc::new(Handle { hub }) })
    }

    /// Records of these partitions, each from an offset or, without one, from where the group
    /// committed, or where `auto.offset.reset` says.
    ///
    /// # Errors
    /// [`Error::Config`] when another of this consumer's sources reads one of them, or when it has
    /// ended.
    pub fn plain_source(
        &self,
        partitions: impl IntoIterator<Item = (TopicPartition, Option<Offset>)>,
    ) -> Result<ExternalSource<Plain>, Error> {
        self.source(partitions, Plain)
    }

    /// The same with the offsets that acknowledge them.
    ///
    /// # Errors
    /// As [`Self::plain_source`], and without a group.
    pub fn committable_source(
        &self,
        partitions: impl IntoIterator<Item = (TopicPartition, Option<Offset>)>,
    ) -> Result<ExternalSource<WithOffset>, Error> {
        if !self.handle.hub.has_group {
            return Err(wrong("is needed to commit".to_owned()));
        }
        self.source(partitions, WithOffset::default())
    }

    fn source<S: Shape>(
        &self,
        partitions: impl IntoIterator<Item = (TopicPartition, Option<Offset>)>,
        shape: S,
    ) -> Result<ExternalSource<S>, Error> {
        let hub = &self.handle.hub;
        let wanted = positions(partitions.into_iter().collect());
        let mut source = ExternalSource {
            reading: Reading::new(Arc::clone(hub), shape),
            assignments: Vec::new(),
            turn: 0,
            _handle: Arc::clone(&self.handle),
        };
        for (partition, from) in wanted {
            // What was begun for the source ends with it, should one fail.
            let assignment = hub.open_apart(&partition).ok_or_else(|| {
                wrong(format!("cannot help: {partition} is read by another source, or all is over"))
            })?;
            source.assignments.push(assignment);
            hub.handle.add(partition, from);
        }
        Ok(source)
    }

    /// Stops and ends all of it.
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.handle.hub))
    }
}

impl fmt::Debug for SharedConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedConsumer").finish_non_exhaustive()
    }
}

fn wrong(reason: String) -> Error {
    Error::Config { name: "group.id".into(), reason }
}

/// Records of the partitions that a source over a [`SharedConsumer`] was assigned. They are let go
/// of when this is dropped; what was handed out of them can still be acknowledged, which should be
/// over before another source is assigned the same. An error that concerns no single partition is reported by one of the sources.
pub struct ExternalSource<S: Shape> {
    reading: Reading<S>,
    assignments: Vec<Arc<AssignedPartition>>,
    /// Whose turn it is.
    turn: usize,
    _handle: Arc<Handle>,
}

/// Records that one partition hands out before it is the next one's turn.
const TURN_MAX: usize = 100;

impl<S: Shape> ExternalSource<S> {
    /// The partitions it reads, in order.
    pub fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.assignments.iter().map(|assignment| &assignment.partition)
    }
}

impl<S: Shape> Stream for ExternalSource<S> {
    type Item = Result<S::Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let ExternalSource { reading, assignments, turn, .. } = &mut *self;
        ready!(reading.begin(cx));
        let tracks = reading.tracks();
        let count = assignments.len();
        let first = *turn / TURN_MAX;
        for at in 0..count {
            let index = (first + at) % count;
            let Some(assignment) = assignments.get(index) else { continue };
            match assignment.poll_record(&reading.hub.handle, tracks, cx) {
                Poll::Pending | Poll::Ready(None) => {}
                Poll::Ready(Some(next)) => {
                    *turn = if at == 0 { *turn + 1 } else { index * TURN_MAX + 1 };
                    *turn %= count * TURN_MAX;
                    let item =
                        next.map(|(record, behind)| reading.item(record, behind, assignment));
                    return Poll::Ready(Some(item));
                }
            }
        }
        match reading.hub.poll_error(cx) {
            Poll::Ready(Some(error)) => Poll::Ready(Some(Err(error))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: Shape> Drop for ExternalSource<S> {
    fn drop(&mut self) {
        self.reading.hub.let_go(&self.assignments);
    }
}

impl<S: Shape> fmt::Debug for ExternalSource<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.partitions()).finish()
    }
}
