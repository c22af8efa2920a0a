//! Partitions that come and go.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::assigned::AssignedPartition;
use super::{COMMIT_SHARE, Hub};
use crate::consumer::{ListenerFuture, Rebalance, RebalanceListener};
use crate::core::partition::TopicPartition;
use crate::error::Error;

impl Hub {
    /// Gives partitions up: waits for what is in the application's hands, then commits.
    async fn revoke(self: &Arc<Self>, rebalance: &Rebalance) {
        let assignments = self.end_assignments(rebalance.partitions());
        tokio::select! {
            () = self.settle_and_commit(&assignments, rebalance) => {}
            () = self.handle.until_lost(rebalance.partitions()) => {}
        }
        self.close_assignments(&assignments);
    }

    async fn settle_and_commit(
        self: &Arc<Self>,
        assignments: &[Arc<AssignedPartition>],
        rebalance: &Rebalance,
    ) {
        let now = Instant::now();
        let deadline = rebalance.deadline().map_or(now, Instant::from);
        let left = deadline.saturating_duration_since(now);
        let settle_by = now + (left - left / COMMIT_SHARE).min(self.revocation_timeout);
        let settled = async {
            for assignment in assignments {
                assignment.settled().await;
            }
        };
        tokio::select! {
            () = settled => {}
            () = self.until_quick(), if !self.is_quick() => {}
            () = std::future::ready(()), if self.is_quick() => {}
            () = sleep_until(settle_by) => {
                let count = assignments.len();
                tracing::warn!(count, "partitions are given up with records under way");
            }
        }
        if let Some(offsets) = &self.offsets {
            let hook = offsets.revoked(rebalance.partitions());
            if timeout_at(deadline, hook).await.is_err() {
                tracing::warn!("the hook for revoked partitions took too long");
            }
        }
        for assignment in assignments {
            self.pass(assignment);
        }
        match timeout_at(deadline, self.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "partitions are given up uncommitted"),
            Err(_) => tracing::warn!("partitions were not committed in time"),
        }
    }

    async fn take_over(self: &Arc<Self>, rebalance: &Rebalance) {
        let partitions = rebalance.partitions();
        if let Some(offsets) = &self.offsets {
            let asked = tokio::select! {
                asked = offsets.assigned(partitions) => asked,
                // Others may be lost with them: those must not be read on while this hangs.
                () = self.handle.until_lost(partitions) => return,
            };
            match asked {
                Ok(found) => {
                    let assigned: BTreeSet<&TopicPartition> = partitions.iter().collect();
                    for (partition, position) in found {
                        if assigned.contains(&partition) {
                            // One that was lost since is not read here.
                            drop(rebalance.seek(&partition, position));
                        }
                    }
                }
                Err(source) => {
                    let what = "asking for the offsets of assigned partitions".into();
                    return self.fail(Error::Callback { what, source: source.into() });
                }
            }
        }
        self.open(partitions.iter().cloned());
    }
}

/// Tells a hub what its consumer's group decides.
pub(super) struct Listener {
    hub: Weak<Hub>,
}

impl Listener {
    pub fn new(hub: &Arc<Hub>) -> Listener {
        Listener { hub: Arc::downgrade(hub) }
    }
}

impl RebalanceListener for Listener {
    fn assigned<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        Box::pin(async {
            if let Some(hub) = self.hub.upgrade() {
                hub.take_over(rebalance).await;
            }
        })
    }

    fn revoked<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        Box::pin(async {
            if let Some(hub) = self.hub.upgrade() {
                hub.revoke(rebalance).await;
            }
        })
    }

    fn lost<'a>(&'a self, rebalance: &'a Rebalance) -> ListenerFuture<'a> {
        Box::pin(async {
            if let Some(hub) = self.hub.upgrade() {
                let assignments = hub.end_assignments(rebalance.partitions());
                hub.close_assignments(&assignments);
                if let Some(offsets) = &hub.offsets {
                    let hook = offsets.revoked(rebalance.partitions());
                    if timeout(hub.revocation_timeout, hook).await.is_err() {
                        tracing::warn!("the hook for lost partitions took too long");
                    }
                }
            }
        })
    }
}
