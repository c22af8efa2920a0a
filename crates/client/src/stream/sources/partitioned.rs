//! One stream for each partition.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::stream::Stream;

use super::control::Control;
use super::reading::Reading;
use super::shape::Shape;
use super::source::Batches;
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::stream::hub::Hub;
use crate::stream::hub::assigned::AssignedPartition;

/// A stream of `(partition, stream)`, one for each partition that is assigned, as they come. Each
/// has a demand of its own: of a partition whose stream is not polled no more is fetched than its
/// share of the budget, and none of the others waits for it.
///
/// A partition's stream ends when the partition is given up; comes it back, so does a new stream.
/// Errors that concern one partition are reported by its stream, once; others here.
///
/// Dropping this ends all of it, as dropping a [`Source`](crate::stream::Source) does.
pub struct PartitionedSource<S: Shape> {
    hub: Arc<Hub>,
    shape: S,
    is_over: bool,
}

impl<S: Shape> PartitionedSource<S> {
    pub(in crate::stream) fn new(hub: Arc<Hub>, shape: S) -> PartitionedSource<S> {
        PartitionedSource { hub, shape, is_over: false }
    }

    /// Stops and ends it, from wherever.
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.hub))
    }
}

impl<S: Shape> Stream for PartitionedSource<S> {
    type Item = Result<(TopicPartition, PartitionSource<S>), Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        // First this, which has the task woken by whatever comes.
        let error = match self.hub.poll_error(cx) {
            Poll::Ready(Some(error)) => Some(error),
            Poll::Ready(None) => {
                self.is_over = true;
                return Poll::Ready(None);
            }
            Poll::Pending => None,
        };
        if let Some(error) = error {
            self.is_over = self.hub.is_stopped();
            return Poll::Ready(Some(Err(error)));
        }
        match self.hub.next_fresh() {
            Some(assignment) => {
                let reading = Reading::new(Arc::clone(&self.hub), self.shape.clone());
                let partition = assignment.partition.clone();
                Poll::Ready(Some(Ok((partition, PartitionSource { reading, assignment }))))
            }
            None => Poll::Pending,
        }
    }
}

impl<S: Shape> Drop for PartitionedSource<S> {
    fn drop(&mut self) {
        self.hub.end_dropped();
    }
}

impl<S: Shape> fmt::Debug for PartitionedSource<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedSource").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

/// Records of one partition, in order. Ends when the partition is given up, and hands nothing out
/// from then on; a partition whose stream is dropped before is handed out again, and goes on with
/// the first record that this one did not hand out.
pub struct PartitionSource<S: Shape> {
    reading: Reading<S>,
    assignment: Arc<AssignedPartition>,
}

impl<S: Shape> PartitionSource<S> {
    /// Which partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.assignment.partition
    }

    /// The same, up to `max` records at a time: what is there, without waiting for more.
    pub fn batches(self, max: usize) -> Batches<PartitionSource<S>> {
        Batches { source: self, max: max.max(1) }
    }
}

impl<S: Shape> Stream for PartitionSource<S> {
    type Item = Result<S::Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let PartitionSource { reading, assignment } = &mut *self;
        ready!(reading.begin(cx));
        let polled = assignment.poll_record(&reading.hub.handle, reading.tracks(), cx);
        polled.map(|next| {
            let next = next?;
            Some(next.map(|(record, behind)| reading.item(record, behind, assignment)))
        })
    }
}

impl<S: Shape> Stream for Batches<PartitionSource<S>> {
    type Item = Result<S::Batch, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let max = self.max;
        let PartitionSource { reading, assignment } = &mut self.source;
        ready!(reading.begin(cx));
        let polled = assignment.poll_records(&reading.hub.handle, max, reading.tracks(), cx);
        polled.map(|next| {
            let next = next?;
            Some(next.map(|(records, behind)| reading.batch(records, behind, assignment)))
        })
    }
}

impl<S: Shape> Drop for PartitionSource<S> {
    fn drop(&mut self) {
        self.reading.hub.give_back(&self.assignment);
    }
}

impl<S: Shape> fmt::Debug for PartitionSource<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartitionSource({})", self.assignment.partition)
    }
}
