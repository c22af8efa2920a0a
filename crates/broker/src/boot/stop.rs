//! The end of a broker: of one that runs, and of a start that failed.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::api::services::Services;
use crate::control::directories;
use crate::control::kraft::Controller;

/// How long a stop may take before it is cut short.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(300);

/// Ends the tasks, answers what waits, and has the logs closed on a thread that may wait.
pub(super) async fn end(
    services: Arc<Services>,
    tasks: Vec<JoinHandle<()>>,
    close: impl FnOnce(&Services) + Send + 'static,
) {
    services.node.stop();
    for task in tasks {
        let _ = task.await;
    }
    services.answer_all().await;
    if tokio::task::spawn_blocking(move || close(&services)).await.is_err() {
        tracing::error!("the shutdown was not clean");
    }
}

/// Flushes everything, and marks the shutdown as clean. Waits for disks.
pub(super) fn close(services: &Services) {
    let now = services.node.clock().wall_ms();
    let epoch = services.node.broker_epoch();
    if let Controller::Embedded(controller) = services.control.controller() {
        // A start that failed before the registration has nothing to leave.
        if epoch >= 0 {
            // A directory that is offline at the next start is known to have these partitions.
            directories::report_noted(&services.control, controller);
            if let Err(error) = controller.leave() {
                tracing::warn!(%error, "the broker could not sign off");
            }
        }
        controller.close(now);
    }
    services.replicas.logs().shut_down(epoch, now);
}

#[cfg(test)]
mod tests {
    use thalweg_wire::Uuid;

    use super::*;
    use crate::testing::Node;

    /// Otherwise a partition whose directory is offline at the next start would keep a leader there.
    #[tokio::test]
    async fn stop_reports_directories_that_are_not_reported_yet() {
        let node = Node::start(&[]).await;
        let services = Arc::clone(node.services());
        services.node.stop();
        // The task that reports them ends.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let (topic, dir) = (Uuid::from_u128(8 << 64), Uuid::from_u128(7 << 64));
        services.control.news().assign(topic, vec![(0, dir)]);
        let closing = Arc::clone(&services);
        tokio::task::spawn_blocking(move || close(&closing)).await.unwrap();
        assert!(services.control.news().take().is_empty());
        node.shut_down().await;
    }
}
