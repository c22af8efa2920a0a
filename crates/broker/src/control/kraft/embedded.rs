//! The embedded controller: one decision at a time, from the newest image, durable before anybody
//! hears of it.
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
use crate::broker::Broker;
use crate::control::registration;

/// What the controller holds.
#[derive(Debug)]
struct State {
    log: MetadataLog,
    loader: Loader,
    /// Set by the first failure: what was written then is not known, so nothing is decided on top.
    failed: Option<String>,
}

/// Decides, writes, publishes. Clones are the same controller.
#[derive(Clone, Debug)]
pub(crate) struct EmbeddedController {
    kraft_version: i16,
    state: Arc<Mutex<State>>,
    /// Held by whoever writes and removes checkpoints: one at a time, on threads that may wait.
    checkpointing: Arc<parking_lot::Mutex<()>>,
}

impl EmbeddedController {
    pub(crate) fn new(log: MetadataLog, loader: Loader) -> EmbeddedController {
        let kraft_version = log.kraft_version();
        let state = State { log, loader, failed: None };
        EmbeddedController {
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
        broker: &Arc<Broker>,
        request: Arc<R>,
        version: i16,
    ) -> Result<R::Response, ControllerError> {
        if R::READ_ONLY {
            return Ok(decide(broker, &broker.node.image(), &*request, version).1);
        }
        let state = Arc::clone(&self.state).lock_owned().await;
        let deciding = Arc::clone(broker);
        // The log's fsync and the partitions' directories wait for the disk.
        let (decided, is_due) = tokio::task::spawn_blocking(move || {
            let mut state = state;
            let decided =
                apply(&mut state, &deciding, |image| decide(&deciding, image, &*request, version));
            (decided, state.log.is_checkpoint_due())
        })
        .await
        .map_err(|panic| {
            // The decision itself: it looks at the image, and nothing was changed yet.
            if panic.is_panic() {
                broker.node.metrics().panics.add(1);
                tracing::error!(api = %R::API_KEY, "a decision panicked; it is not carried out");
            }
            ControllerError::Stopped
        })?;
        if is_due {
            let broker = Arc::clone(broker);
            let controller = self.clone();
            tokio::task::spawn_blocking(move || controller.checkpoint(&broker));
        }
        let Decided { answer, put_off } = decided?;
        // What was made is served when the client is answered; other decisions are made meanwhile.
        let mut shutdown = broker.node.subscribe_shutdown();
        tokio::select! {
            () = broker.replicas.openings().wait(&put_off) => {}
            _ = shutdown.wait_for(|stop| *stop) => {}
        }
        Ok(answer)
    }

    /// The same in the newest version, on a thread that may wait.
    pub(crate) fn send_blocking<R: ControllerRequest>(
        &self,
        broker: &Arc<Broker>,
        request: &R,
    ) -> Result<R::Response, ControllerError> {
        let mut state = self.state.blocking_lock();
        let decided =
            apply(&mut state, broker, |image| decide(broker, image, request, R::MAX_VERSION));
        decided.map(|decided| decided.answer)
    }

    /// What a new log begins with. On a thread that may wait.
    pub(crate) fn bootstrap(
        &self,
        broker: &Arc<Broker>,
        records: Vec<MetadataRecord>,
    ) -> Result<(), ControllerError> {
        apply(&mut self.state.blocking_lock(), broker, |_| (records, ())).map(|_| ())
    }

    /// The broker goes: nobody leads its partitions until it is back. On a thread that may wait.
    pub(crate) fn leave(&self, broker: &Arc<Broker>) -> Result<(), ControllerError> {
        apply(&mut self.state.blocking_lock(), broker, |image| {
            (registration::leave(image, broker.node.id()), ())
        })
        .map(|_| ())
    }

    /// The start is over: what it decided is flushed. On a thread that may wait.
    pub(crate) fn settle(&self, now_ms: i64) -> Result<(), ControllerError> {
        Ok(self.state.blocking_lock().log.settle(now_ms)?)
    }

    /// Writes a checkpoint if enough was written since the last one. On a thread that may wait.
    fn checkpoint(&self, broker: &Broker) {
        // Somebody who is at it writes one that is new enough, or the next decision sees to it.
        let Some(_one) = self.checkpointing.try_lock() else { return };
        let due = {
            let mut state = self.state.blocking_lock();
            let State { log, loader, failed } = &mut *state;
            if failed.is_some() || !log.is_checkpoint_due() {
                return;
            }
            log.begin_checkpoint(loader.image(), broker.node.clock().wall_ms())
        };
        if let Err(error) = self.write(due, broker.node.clock().wall_ms()) {
            // The decisions are on the disk and count; without the checkpoint a start reads more.
            tracing::error!(%error,
                "a checkpoint of the metadata could not be written; it is tried again");
        }
    }

    /// Writes what is due without the controller's lock, and notes it.
    fn write(&self, due: Due, now_ms: i64) -> Result<(), MetadataLogError> {
        let written = due.write(now_ms);
        self.state.blocking_lock().log.end_checkpoint(&due, written.is_ok(), now_ms);
        written
    }

    /// Writes and removes checkpoints that are due by the clock. On a thread that may wait.
    pub(crate) fn tidy(&self, broker: &Broker) {
        let now_ms = broker.node.clock().wall_ms();
        let _one = self.checkpointing.lock();
        let (due, retained) = {
            let mut state = self.state.blocking_lock();
            let State { log, loader, failed } = &mut *state;
            if failed.is_some() {
                return;
            }
            let is_due = log.is_checkpoint_due_by(now_ms);
            (is_due.then(|| log.begin_checkpoint(loader.image(), now_ms)), log.retained())
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
        state.log.close(now_ms);
        // Tasks that are still there must neither decide nor write a checkpoint any more.
        state.failed.get_or_insert_with(|| "the broker has stopped".into());
    }
}

/// Decides about a request on an image and the configuration of now.
fn decide<R: ControllerRequest>(
    broker: &Broker,
    image: &MetadataImage,
    request: &R,
    version: i16,
) -> (Vec<MetadataRecord>, R::Response) {
    let settings = broker.node.settings();
    let context = Context { image, config: &settings.config };
    let node = image.cluster.broker(broker.node.id());
    let decision = request.decide(
        &context,
        &mut RequestContext {
            version,
            random: &mut || broker.node.random().u64(),
            cluster_id: broker.node.cluster_id(),
            kraft_version: broker.control.controller().kraft_version(),
            next_offset: image.provenance.offset + 1,
            heartbeats: HeartbeatState {
                // The process that was registered before is this one's past.
                has_session: false,
                registration_offset: node.map_or(0, |node| node.epoch),
                // Nobody else has to hear of anything.
                lowest_active_offset: None,
                shutdown_offset: None,
            },
        },
    );
    (decision.records, decision.response)
}

/// A decision that is in force.
struct Decided<T> {
    answer: T,
    /// Topics with partitions whose logs are opened later.
    put_off: BTreeSet<Uuid>,
}

/// Has a decision made on the newest image, writes the records, and applies them to the broker.
fn apply<T>(
    state: &mut State,
    broker: &Arc<Broker>,
    decision: impl FnOnce(&MetadataImage) -> (Vec<MetadataRecord>, T),
) -> Result<Decided<T>, ControllerError> {
    if let Some(reason) = &state.failed {
        return Err(ControllerError::Failed(reason.clone()));
    }
    let (records, answer) = decision(state.loader.image());
    let now = broker.node.clock().wall_ms();
    // From here on a panic leaves half of it: records that are written and not in the image, or an
    // image that did not take effect. Nobody may go on with that, and a start does it all again.
    let committed = catch_unwind(AssertUnwindSafe(|| {
        let updates = state.log.commit(records, &mut state.loader, now)?;
        let mut put_off = BTreeSet::new();
        for update in updates {
            put_off.append(&mut broker.publish(update));
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
            broker.node.fail("the metadata log failed; see the log above");
            Err(error.into())
        }
        Err(_) => {
            let reason = "a decision panicked while it took effect";
            tracing::error!(reason, "nothing more is decided");
            broker.node.metrics().panics.add(1);
            state.failed = Some(reason.into());
            broker.node.fail(reason);
            Err(ControllerError::Failed(reason.into()))
        }
    }
}
