//! The embedded controller: one decision at a time, from the newest image, durable before anybody
//! hears of it.

use std::sync::Arc;

use thalweg_metadata::image::{Loader, MetadataImage};
use thalweg_wire::messages::metadata_record::MetadataRecord;
use tokio::sync::Mutex;

use super::log::{MetadataLog, MetadataLogError};
use crate::broker::Broker;

/// Why a decision did not take effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControllerError {
    #[error(transparent)]
    Log(#[from] MetadataLogError),
    #[error("the broker is stopping")]
    Stopped,
    #[error("the controller did not answer within request.timeout.ms")]
    TimedOut,
    #[error("the controller refused: {0}")]
    Refused(thalweg_wire::ErrorCode),
    #[error("the metadata log failed earlier: {0}")]
    Failed(String),
}

/// What the controller holds.
#[derive(Debug)]
struct State {
    log: MetadataLog,
    loader: Loader,
    /// Set by the first failure: what was written then is not known, so nothing is decided on top.
    failed: Option<String>,
}

/// Decides, writes, publishes.
#[derive(Debug)]
pub(crate) struct Controller {
    state: Arc<Mutex<State>>,
}

impl Controller {
    pub(crate) fn new(log: MetadataLog, loader: Loader) -> Controller {
        Controller { state: Arc::new(Mutex::new(State { log, loader, failed: None })) }
    }

    /// Lets `decision` look at the newest image and give records and an answer; writes the records,
    /// applies them to the broker, and gives the answer.
    pub(crate) async fn decide<T: Send + 'static>(
        &self,
        broker: &Arc<Broker>,
        decision: impl FnOnce(&MetadataImage) -> (Vec<MetadataRecord>, T) + Send + 'static,
    ) -> Result<T, ControllerError> {
        let state = Arc::clone(&self.state).lock_owned().await;
        let broker = Arc::clone(broker);
        // The log's fsync and the partitions' directories wait for the disk.
        tokio::task::spawn_blocking(move || {
            let mut state = state;
            apply(&mut state, &broker, decision)
        })
        .await
        .map_err(|_| ControllerError::Stopped)?
    }

    /// The same on a thread that may wait.
    pub(crate) fn decide_blocking<T>(
        &self,
        broker: &Arc<Broker>,
        decision: impl FnOnce(&MetadataImage) -> (Vec<MetadataRecord>, T),
    ) -> Result<T, ControllerError> {
        let mut state = self.state.blocking_lock();
        apply(&mut state, broker, decision)
    }

    /// The start is over: what it decided is brought to the disk. On a thread that may wait.
    pub(crate) fn settle(&self, now_ms: i64) -> Result<(), ControllerError> {
        Ok(self.state.blocking_lock().log.settle(now_ms)?)
    }

    /// Does `work` with the newest image, while nothing is decided. On a thread that may wait.
    pub(crate) fn between_decisions(&self, work: impl FnOnce(&MetadataImage)) {
        work(self.state.blocking_lock().loader.image());
    }

    /// Writes and removes checkpoints that are due. On a thread that may wait.
    pub(crate) fn tidy(&self, broker: &Broker) {
        let mut state = self.state.blocking_lock();
        if state.failed.is_some() {
            return;
        }
        let State { log, loader, .. } = &mut *state;
        if let Err(error) = log.tidy(loader.image(), broker.clock.wall_ms()) {
            // The log itself is whole: what is not removed is looked at again.
            tracing::error!(%error, "checkpoints of the metadata could not be seen to");
        }
    }

    /// Epoch and end of the log, as DescribeQuorum tells them.
    pub(crate) async fn quorum(&self) -> (i32, i64) {
        let state = self.state.lock().await;
        (state.log.epoch(), state.log.end_offset())
    }

    /// Brings everything to the disk.
    pub(crate) fn close(&self, now_ms: i64) {
        self.state.blocking_lock().log.close(now_ms);
    }
}

fn apply<T>(
    state: &mut State,
    broker: &Arc<Broker>,
    decision: impl FnOnce(&MetadataImage) -> (Vec<MetadataRecord>, T),
) -> Result<T, ControllerError> {
    if let Some(reason) = &state.failed {
        return Err(ControllerError::Failed(reason.clone()));
    }
    let (records, answer) = decision(state.loader.image());
    let now = broker.clock.wall_ms();
    match state.log.commit(records, &mut state.loader, now) {
        Ok(updates) => {
            for update in updates {
                broker.publish(update);
            }
            Ok(answer)
        }
        // The log is as it was; who asked may ask again.
        Err(error) if error.is_retriable() => {
            tracing::warn!(%error, "a decision could not be written for now");
            Err(error.into())
        }
        Err(error) => {
            tracing::error!(%error, "the metadata log failed; nothing more is decided");
            state.failed = Some(error.to_string());
            broker.metadata_failed();
            Err(error.into())
        }
    }
}
