//! Sources of all that a consumer reads, in one stream.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream};

use super::control::Control;
use super::reading::Reading;
use super::shape::Shape;
use crate::core::fetch::{Chunk, Records};
use crate::error::Error;
use crate::stream::hub::Hub;
use crate::stream::hub::assigned::{AssignedPartition, TAKE_MAX};

/// Records of all partitions in one stream: in order within each partition, and each partition in
/// its turn.
///
/// An error of one partition is reported once; the others go on. The stream ends after
/// [`Control::stop`], or when the member is out of its group for good. Dropping it ends the
/// consumer in the background: what is in the application's hands can still be acknowledged, for
/// [`ConsumerSettings::stop_timeout`](crate::stream::ConsumerSettings::stop_timeout) at most, and then the
/// group is left.
pub struct Source<S: Shape> {
    reading: Reading<S>,
    /// Whose turn it is: a partition for each chunk that was taken and that its assignment keeps.
    turns: VecDeque<Arc<AssignedPartition>>,
    is_over: bool,
}

impl<S: Shape> Source<S> {
    pub(in crate::stream) fn new(hub: Arc<Hub>, shape: S) -> Source<S> {
        Source { reading: Reading::new(hub, shape), turns: VecDeque::new(), is_over: false }
    }

    /// Stops and ends it, from wherever.
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.reading.hub))
    }

    /// The same source, up to `max` records of one partition at a time: what is there, without
    /// waiting for more. Costs less per record, and with offsets there is one for all of them.
    pub fn batches(self, max: usize) -> Batches<Source<S>> {
        Batches { source: self, max: max.max(1) }
    }

    /// There are turns then.
    fn poll_fill(&mut self, max: usize, cx: &mut Context<'_>) -> Poll<Option<Result<(), Error>>> {
        while self.turns.is_empty() {
            if self.is_over {
                return Poll::Ready(None);
            }
            let hub = &self.reading.hub;
            let is_stopped = hub.is_stopped();
            let taken = if is_stopped { Poll::Pending } else { hub.handle.poll_take(max, cx) };
            match taken {
                Poll::Ready(Ok(records)) => self.stash(records),
                Poll::Ready(Err(error)) => {
                    self.is_over = matches!(error, Error::Membership(_));
                    return Poll::Ready(Some(Err(error)));
                }
                // In this order: what stops it from now on wakes the task.
                Poll::Pending => {
                    let error = ready!(hub.poll_over());
                    self.is_over = true;
                    return Poll::Ready(error.map(Err));
                }
            }
        }
        Poll::Ready(Some(Ok(())))
    }

    fn stash(&mut self, records: Records) {
        // All chunks of a partition are kept or none: of an assignment that ends in between, the first would
        // be given back and the next be lost, and whoever reads on would pass over it.
        let mut assignments: Vec<(Arc<AssignedPartition>, Vec<Chunk>)> = Vec::new();
        let mut order = Vec::new();
        for chunk in records.into_chunks() {
            let known = |(assignment, _): &(Arc<AssignedPartition>, _)| {
                assignment.partition == **chunk.partition()
            };
            let at = match assignments.iter().position(known) {
                Some(at) => at,
                None => {
                    // Without an assignment the partition was lost this moment.
                    let Some(assignment) = self.reading.hub.assignment(chunk.partition()) else {
                        continue;
                    };
                    assignments.push((assignment, Vec::new()));
                    assignments.len() - 1
                }
            };
            assignments[at].1.push(chunk);
            order.push(at);
        }
        let kept: Vec<Option<Arc<AssignedPartition>>> = assignments
            .into_iter()
            .map(|(assignment, chunks)| assignment.keep(chunks).then_some(assignment))
            .collect();
        self.turns.extend(order.into_iter().filter_map(|at| kept[at].clone()));
    }
}

impl<S: Shape> Stream for Source<S> {
    type Item = Result<S::Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        ready!(this.reading.begin(cx));
        let tracks = this.reading.tracks();
        loop {
            while let Some(assignment) = this.turns.front() {
                if let Some((record, behind)) = assignment.next_kept(tracks) {
                    let item = this.reading.item(record, behind, assignment);
                    return Poll::Ready(Some(Ok(item)));
                }
                this.turns.pop_front();
            }
            match ready!(this.poll_fill(TAKE_MAX, cx)) {
                Some(Ok(())) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<S: Shape> FusedStream for Source<S> {
    fn is_terminated(&self) -> bool {
        self.is_over && self.turns.is_empty()
    }
}

impl<S: Shape> Drop for Source<S> {
    fn drop(&mut self) {
        self.reading.hub.end_dropped();
    }
}

impl<S: Shape> fmt::Debug for Source<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

/// A source that hands out several records at a time.
#[derive(Debug)]
pub struct Batches<T> {
    pub(in crate::stream) source: T,
    pub(in crate::stream) max: usize,
}

impl<T> Batches<T> {
    /// The source, which hands out single records.
    pub fn into_inner(self) -> T {
        self.source
    }
}

impl<S: Shape> Batches<Source<S>> {
    /// Stops and ends it, from wherever.
    pub fn control(&self) -> Control {
        self.source.control()
    }
}

impl<S: Shape> Stream for Batches<Source<S>> {
    type Item = Result<S::Batch, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let max = self.max;
        let this = &mut self.source;
        ready!(this.reading.begin(cx));
        let tracks = this.reading.tracks();
        loop {
            while let Some(assignment) = this.turns.front() {
                let assignment = Arc::clone(assignment);
                // As much as there is of the same partition.
                let same = |next: &&Arc<AssignedPartition>| Arc::ptr_eq(next, &assignment);
                let chunks = this.turns.iter().take_while(same).count();
                let (taken, used) = assignment.take_kept(max, chunks, tracks);
                this.turns.drain(..used);
                if let Some((records, behind)) = taken {
                    let batch = this.reading.batch(records, behind, &assignment);
                    return Poll::Ready(Some(Ok(batch)));
                }
            }
            match ready!(this.poll_fill(max, cx)) {
                Some(Ok(())) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}
