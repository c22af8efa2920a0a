//! Offsets of asynchronous commits that wait for the commit under way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_wire::Uuid;
use tokio::sync::{oneshot, watch};

use crate::cluster::coordinator::CommittedOffset;
use crate::core::partition::TopicPartition;
use crate::error::Error;

/// Ids of topics by name, as far as they are known.
pub(in crate::consumer) type TopicIds = BTreeMap<Arc<str>, Uuid>;

/// The commits of one consumer that nobody has to wait for.
pub(in crate::consumer) struct PendingCommits {
    next: Mutex<NextCommit>,
    /// Set and cleared under the lock.
    pub is_running: watch::Sender<bool>,
}

/// What the next one commits, and who wants to know.
#[derive(Default)]
pub(in crate::consumer) struct NextCommit {
    pub offsets: BTreeMap<TopicPartition, CommittedOffset>,
    /// The last loss of partitions that the offsets know of.
    pub known_losses: u64,
    /// The topics' ids when the offsets were read.
    pub topic_ids: TopicIds,
    pub waiting: Vec<oneshot::Sender<Result<(), Error>>>,
}

impl Default for PendingCommits {
    fn default() -> PendingCommits {
        PendingCommits { next: Mutex::default(), is_running: watch::Sender::new(false) }
    }
}

impl PendingCommits {
    pub fn lock(&self) -> MutexGuard<'_, NextCommit> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until none is under way.
    pub async fn idle(&self) {
        // The sender is part of this.
        drop(self.is_running.subscribe().wait_for(|is_running| !is_running).await);
    }
}
