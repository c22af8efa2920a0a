//! What all sources do alike: hand things out, one reader at a time.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::shape::Shape;
use crate::core::fetch::{Records, SharedRecord};
use crate::core::partition::Position;
use crate::stream::hub::Hub;
use crate::stream::hub::assigned::AssignedPartition;

/// How a source hands out what it has taken.
pub(in crate::stream) struct Reading<S> {
    pub hub: Arc<Hub>,
    pub shape: S,
    /// What was handed out last and is done with when more is asked for.
    last: Option<(Arc<AssignedPartition>, Position)>,
}

impl<S: Shape> Reading<S> {
    pub fn new(hub: Arc<Hub>, shape: S) -> Reading<S> {
        Reading { hub, shape, last: None }
    }

    /// Whether assignments have to count what is handed out.
    pub fn tracks(&self) -> bool {
        S::HAS_OFFSET || self.hub.auto_commit.is_some()
    }

    /// More is asked for.
    pub fn begin(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some((assignment, behind)) = self.last.take() {
            assignment.acknowledge_at(behind);
            assignment.release();
            if let Some(interval) = self.hub.auto_commit {
                self.hub.commit_within(interval);
            }
        }
        // Whoever reads in a loop lets the tasks run that fetch.
        ready!(tokio::task::coop::poll_proceed(cx)).made_progress();
        Poll::Ready(())
    }

    pub fn item(
        &mut self,
        record: SharedRecord,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> S::Item {
        self.remember(behind, assignment);
        self.shape.item(record, behind, assignment)
    }

    pub fn batch(
        &mut self,
        records: Records,
        behind: Position,
        assignment: &Arc<AssignedPartition>,
    ) -> S::Batch {
        self.remember(behind, assignment);
        self.shape.batch(records, behind, assignment)
    }

    fn remember(&mut self, behind: Position, assignment: &Arc<AssignedPartition>) {
        if !S::HAS_OFFSET && self.hub.auto_commit.is_some() {
            self.last = Some((Arc::clone(assignment), behind));
        }
    }
}

impl<S> Drop for Reading<S> {
    fn drop(&mut self) {
        // Nobody knows what became of it: it is not acknowledged.
        if let Some((assignment, _)) = self.last.take() {
            assignment.release();
        }
    }
}
