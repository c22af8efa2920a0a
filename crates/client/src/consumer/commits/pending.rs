//! Commits that nobody has to wait for.
//!
//! One is under way at a time, so that a later one is never overtaken; what is to be committed
//! meanwhile goes with the next one. So there is one task and one set of offsets at most, however
//! often a commit is asked for.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::commit;
use super::offsets::{self, Offsets};
use crate::consumer::state::pending::NextCommit;
use crate::consumer::state::shared::Shared;
use crate::error::Error;

/// A commit that goes on whether or not anybody waits for it: see
/// [`Consumer::commit_async`](crate::Consumer::commit_async). As a future it gives what became of
/// the commit.
#[must_use = "drop it if nobody wants to know what becomes of the commit"]
pub struct PendingCommit {
    done: oneshot::Receiver<Result<(), Error>>,
}

impl Future for PendingCommit {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.done).poll(cx);
        // Its task went with the runtime.
        polled.map(|done| done.unwrap_or(Err(Error::ConsumerClosed)))
    }
}

impl fmt::Debug for PendingCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCommit").finish_non_exhaustive()
    }
}

/// Commits what polls have given so far, behind what is under way; of a partition the last offset counts.
pub(in crate::consumer) fn begin(shared: &Arc<Shared>) -> PendingCommit {
    let (tell, done) = oneshot::channel();
    let pending = &shared.pending;
    let mut next = pending.lock();
    // Looked at under the lock: of two that begin at the same time the later one must know more.
    let given = offsets::handed_out(shared);
    // What was lost since the last time is not committed as if it were of now: [`commit::commit_given`]
    // says so.
    let before = std::mem::replace(&mut next.known_losses, given.known_losses);
    if before < given.known_losses {
        shared.with_group(|group, _| {
            next.offsets.retain(|partition, _| !group.is_lost_since(partition, before));
        });
    }
    // Offsets that were read before a topic was created again are void.
    for (topic, id) in given.topic_ids {
        let before = next.topic_ids.insert(Arc::clone(&topic), id);
        if before.is_some_and(|before| before != id) {
            next.offsets.retain(|partition, _| partition.topic != topic);
        }
    }
    next.offsets.extend(given.offsets);
    next.waiting.retain(|waiting| !waiting.is_closed());
    next.waiting.push(tell);
    // Under the lock, under which the task finds nothing more to do.
    if !pending.is_running.send_replace(true) {
        shared.spawn(run(Arc::clone(shared)));
    }
    drop(next);
    PendingCommit { done }
}

async fn run(shared: Arc<Shared>) {
    loop {
        let NextCommit { offsets, known_losses, topic_ids, waiting } = {
            let mut next = shared.pending.lock();
            if next.waiting.is_empty() {
                shared.pending.is_running.send_replace(false);
                return;
            }
            std::mem::take(&mut *next)
        };
        let offsets = Offsets { offsets: offsets.into_iter().collect(), known_losses, topic_ids };
        let result = commit::commit_given(&shared, offsets).await;
        if let Err(error) = &result {
            tracing::warn!(%error, "offsets could not be committed");
        }
        for waiting in waiting {
            // Whoever dropped it does not want to know.
            drop(waiting.send(result.clone()));
        }
    }
}
