//! The embedded controller: one decision at a time, from the newest image, durable before it is answered.
//!
//! Checkpoints are written beside decisions: the controller's lock is held to see what is due and to
//! note what was done, never while the disk is waited for.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use thalweg_metadata::controller::{Context, ControllerRequest, HeartbeatState, RequestContext};
use thalweg_metadata::image::{Loader, MetadataImage};
use thalweg_wire::Uuid;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use tokio::sync::Mutex;

use super::checkpoints::Due;
use super::controller::ControllerError;
use super::log::{MetadataLog, MetadataLogError};
use crate::node::Node;
use crate::node::metadata_listener::MetadataListener;

/// What the controller holds.
#[derive(Debug)]
struct State {
    log: MetadataLog,
    loader: Loader,
    /// Set by the first failure: what was written then is not known, so nothing is decided on top.
    failed: Option<String>,
}

/// Decides, writes, publishes. Clones are the same controller.
#[derive(Clone)]
pub(crate) struct EmbeddedController {
    node: Arc<Node>,
    /// Has decisions take effect.
    listener: Arc<dyn MetadataListener>,
    kraft_version: i16,
    state: Arc<Mutex<State>>,
    /// Held by the thread that writes and removes checkpoints. It may wait.
    checkpointing: Arc<parking_lot::Mutex<()>>,
}

impl std::fmt::Debug for EmbeddedController {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedController").field("state", &self.state).finish_non_exhaustive()
    }
}

impl EmbeddedController {
    pub(crate) fn new(
        node: Arc<Node>,
        listener: Arc<dyn MetadataListener>,
        log: MetadataLog,
        loader: Loader,
    ) -> EmbeddedController {
        let kraft_version = log.kraft_version();
        let state = State { log, loader, failed: None };
        EmbeddedController {
            node,
            listener,
            kraft_version,
            state: Arc::new(Mutex::new(state)),
            checkpointing: Arc::default(),
        }
    }

    /// Level of `kraft.version`, which does not change while this controller runs.
    pub(crate) fn kraft_version(&self) -> i16 {
        self.kraft_version
    }

    /// Decides about a request on the newest image, writes the records, applies them to the broker,
    /// and answers.
    pub(crate) async fn send<R: ControllerRequest>(
        &self,
        request: Arc<R>,
        version: i16,
    ) -> Result<R::Response, ControllerError> {
        if R::READ_ONLY {
            return Ok(self.decide(&self.node.image(), &*request, version).1);
        }
        let state = Arc::clone(&self.state).lock_owned().await;
        let deciding = self.clone();
        // The log's fsync and the partitions' directories wait for the disk.
        let (decided, is_due) = tokio::task::spawn_blocking(move || {
            let mut state = state;
            let decided =
                deciding.apply(&mut state, |image| deciding.decide(image, &*request, version));
            (decided, state.log.is_checkpoint_due())
        })
        .await
        .map_err(|panic| {
            // The decision itself: it looks at the image, and nothing was changed yet.
            if !panic.is_panic() {
                return ControllerError::Stopped;
            }
            self.node.metrics().panics.add(1);
            tracing::error!(api = %R::API_KEY, "a decision panicked; it is not carried out");
            ControllerError::Panicked
        })?;
        if is_due {
            let controller = self.clone();
            tokio::task::spawn_blocking(move || controller.checkpoint());
        }
        let Decided { answer, put_off } = decided?;
        // What was made is served when the client is answered; other decisions are made meanwhile.
        let mut shutdown = self.node.subscribe_shutdown();
        tokio::select! {
            () = self.listener.wait_opened(&put_off) => {}
            _ = shutdown.wait_for(|stop| *stop) => {}
        }
        Ok(answer)
    }

    /// The same in the newest version, on a thread that may wait.
    pub(crate) fn send_blocking<R: ControllerRequest>(
        &self,
        request: &R,
    ) -> Result<R::Response, ControllerError> {
        let mut state = self.state.blocking_lock();
        let decided = self.apply(&mut state, |image| self.decide(image, request, R::MAX_VERSION));
        decided.map(|decided| decided.answer)
    }

    /// What a new log begins with. On a thread that may wait.
    pub(crate) fn bootstrap(&self, records: Vec<MetadataRecord>) -> Result<(), ControllerError> {
        self.apply(&mut self.state.blocking_lock(), |_| (records, ())).map(|_| ())
    }

    /// The broker stops: its partitions have no leader until it is back. On a thread that may wait.
    pub(crate) fn leave(&self) -> Result<(), ControllerError> {
        self.apply(&mut self.state.blocking_lock(), |image| (leave(image, self.node.id()), ()))
            .map(|_| ())
    }

    /// The start is over: what it decided is flushed. On a thread that may wait.
    pub(crate) fn flush_start(&self, now_ms: i64) -> Result<(), ControllerError> {
        Ok(self.state.blocking_lock().log.flush_start(now_ms)?)
    }

    /// Writes a checkpoint if enough was written since the last one. On a thread that may wait.
    fn checkpoint(&self) {
        // Another thread is writing a checkpoint that is new enough, or the next decision has one written.
        let Some(_one) = self.checkpointing.try_lock() else { return };
        let due = {
            let mut state = self.state.blocking_lock();
            let State { log, loader, failed } = &mut *state;
            if failed.is_some() || !log.is_checkpoint_due() {
                return;
            }
            log.begin_checkpoint(loader.image(), self.node.clock().wall_ms())
        };
        if let Err(error) = self.write(due, self.node.clock().wall_ms()) {
            // The decisions are on the disk and count; without the checkpoint a start reads more.
            tracing::error!(%error,
                "a checkpoint of the metadata could not be written; it is tried again");
        }
    }

    /// Writes what is due without the controller's lock, and notes it.
    fn write(&self, due: Due, now_ms: i64) -> Result<(), MetadataLogError> {
        let written = due.write(now_ms);
        self.state.blocking_lock().log.files.end_checkpoint(&due, written.is_ok(), now_ms);
        written
    }

    /// Writes and removes checkpoints that are due by the clock. On a thread that may wait.
    pub(crate) fn tidy(&self) {
        let now_ms = self.node.clock().wall_ms();
        let _one = self.checkpointing.lock();
        let (due, retained) = {
            let mut state = self.state.blocking_lock();
            let State { log, loader, failed } = &mut *state;
            if failed.is_some() {
                return;
            }
            let is_due = log.is_checkpoint_due_by(now_ms);
            (is_due.then(|| log.begin_checkpoint(loader.image(), now_ms)), log.files.retained())
        };
        let written = due.map_or(Ok(()), |due| self.write(due, now_ms));
        // In any case: the disk may be full, of just these.
        if let Err(error) = written.and(retained.clean(now_ms)) {
            // The log itself is whole: what is not removed is looked at again.
            tracing::error!(%error, "checkpoints of the metadata could not be seen to");
        }
    }

    /// Epoch and end of the log, as DescribeQuorum tells them.
    pub(crate) async fn quorum(&self) -> (i32, i64) {
        let state = self.state.lock().await;
        (state.log.epoch(), state.log.end_offset())
    }

    /// Flushes everything.
    pub(crate) fn close(&self, now_ms: i64) {
        let _one = self.checkpointing.lock();
        let mut state = self.state.blocking_lock();
        state.log.files.close(now_ms);
        // Tasks that are still there must neither decide nor write a checkpoint any more.
        state.failed.get_or_insert_with(|| "the broker has stopped".into());
    }
}

impl EmbeddedController {
    /// Decides about a request on an image and the configuration of now.
    fn decide<R: ControllerRequest>(
        &self,
        image: &MetadataImage,
        request: &R,
        version: i16,
    ) -> (Vec<MetadataRecord>, R::Response) {
        let settings = self.node.settings();
        let context = Context { image, config: &settings.config };
        let node = image.cluster.broker(self.node.id());
        let decision = request.decide(
            &context,
            &mut RequestContext {
                version,
                random: &mut || self.node.random().u64(),
                cluster_id: self.node.cluster_id(),
                kraft_version: self.kraft_version,
                next_offset: image.provenance.offset + 1,
                heartbeats: HeartbeatState {
                    // The process that was registered before is this one's past.
                    has_session: false,
                    registration_offset: node.map_or(0, |node| node.epoch),
                    // There is no other broker.
                    lowest_active_offset: None,
                    shutdown_offset: None,
                },
            },
        );
        (decision.records, decision.response)
    }

    /// Has a decision made on the newest image, writes the records, and applies them to the broker.
    fn apply<T>(
        &self,
        state: &mut State,
        decision: impl FnOnce(&MetadataImage) -> (Vec<MetadataRecord>, T),
    ) -> Result<Decided<T>, ControllerError> {
        if let Some(reason) = &state.failed {
            return Err(ControllerError::Failed(reason.clone()));
        }
        let (records, answer) = decision(state.loader.image());
        let now = self.node.clock().wall_ms();
        // From here on a panic leaves half of it: records that are written and not in the image, or an
        // image that did not take effect. No request may use that image, and a start applies the records again.
        let committed = catch_unwind(AssertUnwindSafe(|| {
            let updates = state.log.write_and_flush(records, &mut state.loader, now)?;
            let mut put_off = BTreeSet::new();
            for update in updates {
                put_off.append(&mut self.listener.apply(update));
            }
            Ok::<_, MetadataLogError>(put_off)
        }));
        match committed {
            Ok(Ok(put_off)) => Ok(Decided { answer, put_off }),
            // The log is as it was; who asked may ask again.
            Ok(Err(error)) if error.is_retriable() => {
                tracing::warn!(%error, "a decision could not be written for now");
                Err(error.into())
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "the metadata log failed; nothing more is decided");
                state.failed = Some(error.to_string());
                self.node.fail("the metadata log failed; see the log above");
                Err(error.into())
            }
            Err(_) => {
                let reason = "a decision panicked while it took effect";
                tracing::error!(reason, "nothing more is decided");
                self.node.metrics().panics.add(1);
                state.failed = Some(reason.into());
                self.node.fail(reason);
                Err(ControllerError::Failed(reason.into()))
            }
        }
    }
}

/// A decision that is in force.
struct Decided<T> {
    answer: T,
    /// Topics with partitions whose logs are opened later.
    put_off: BTreeSet<Uuid>,
}

/// Records with which the broker leaves: its partitions have no leader until it is back.
fn leave(image: &MetadataImage, node_id: i32) -> Vec<MetadataRecord> {
    let Some(broker) = image.cluster.broker(node_id).filter(|broker| !broker.fenced) else {
        return Vec::new();
    };
    // Fenced only: taking leadership away and giving it back would cost every client a new leader
    // epoch at each restart of the only broker there is.
    let record = thalweg_wire::messages::BrokerRegistrationChangeRecord {
        broker_id: node_id,
        broker_epoch: broker.epoch,
        fenced: 1,
        ..Default::default()
    };
    vec![record.into()]
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::image::Update;
    use thalweg_wire::messages::CreateTopicsRequest;
    use thalweg_wire::messages::create_topics_request::CreatableTopic;

    use super::*;
    use crate::control::kraft::controller::Controller;
    use crate::testing::Node;

    /// A listener with a bug.
    struct Panics;

    impl MetadataListener for Panics {
        fn apply(&self, _: Update) -> BTreeSet<Uuid> {
            panic!("a bug while metadata takes effect");
        }
    }

    fn create(name: &str) -> Arc<CreateTopicsRequest> {
        let topic = CreatableTopic {
            name: name.into(),
            num_partitions: 1,
            replication_factor: 1,
            ..Default::default()
        };
        let topics = vec![topic];
        Arc::new(CreateTopicsRequest { topics, timeout_ms: 60_000, ..Default::default() })
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn panic_while_metadata_takes_effect_stops_the_broker() {
        const REASON: &str = "a decision panicked while it took effect";
        let broker = Node::start(&[]).await;
        let services = Arc::clone(broker.services());
        let Controller::Embedded(controller) = services.control.controller() else {
            panic!("the controller is in this process");
        };
        let broken = EmbeddedController { listener: Arc::new(Panics), ..controller.clone() };
        let panics = services.node.metrics().panics.get();
        let refused = broken.send(create("lost"), 7).await;
        assert!(matches!(&refused, Err(ControllerError::Failed(reason)) if reason == REASON));
        assert_eq!(services.node.fatal().as_deref(), Some(REASON));
        assert_eq!(services.node.metrics().panics.get(), panics + 1);
        // No other decision goes by half of that one.
        let next = controller.send(create("next"), 7).await;
        assert!(matches!(&next, Err(ControllerError::Failed(reason)) if reason == REASON));
        broker.shut_down().await;
    }
}
