//! Stopping what runs, from outside of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::drain::{self, Drain};
use super::metadata::MetadataClient;
use crate::consumer::Why;
use crate::core::fetch::FetchCounts;
use crate::core::partition::TopicPartition;
use crate::error::Error;
use crate::stream::hub::Hub;

/// Controls the consumer behind a source. Clones control the same one.
#[derive(Clone)]
pub struct Control {
    hub: Arc<Hub>,
}

/// What a source's consumer has done and is doing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SourceMetrics {
    /// Counts since the beginning: requests, bytes, records taken.
    pub fetched: FetchCounts,
    /// Bytes that count against the budget now, and the most that ever did.
    pub budget_used: (usize, usize),
    /// For each partition, in order, the records between its position and its end, as of the last
    /// answer.
    pub lags: Vec<(TopicPartition, Option<i64>)>,
}

impl Control {
    pub(in crate::stream) fn new(hub: Arc<Hub>) -> Control {
        Control { hub }
    }

    /// Hands no more records out: every stream of the source ends. The consumer stays a member of
    /// its group, so that what was handed out can be acknowledged; fetching stops.
    pub fn stop(&self) {
        self.hub.stop();
    }

    /// Stops, waits until `completion` (the application's own end, such as the task that runs the
    /// stream) and what was handed out is acknowledged or dropped, commits, and leaves the group:
    /// nothing is lost, and nothing comes twice. All of it takes `limit` at most; what is missing
    /// then is read again by others. Gives what `completion` gave, if it was in time.
    ///
    /// If the future is dropped before `completion` is over the source stays stopped; afterwards
    /// the rest goes on in the background.
    pub async fn drain_and_shutdown<F: Future>(
        &self,
        completion: F,
        limit: Duration,
    ) -> Option<F::Output> {
        drain::drain(self, completion, limit).await
    }

    /// Runs until `signal` comes, such as Ctrl-C, and does what [`Self::drain_and_shutdown`] does
    /// then; or until `completion` is over before, because the stream failed: nobody waits for a
    /// signal then, and what it gave says what happened.
    ///
    /// If the future is dropped before either, nothing happens.
    pub async fn drain_when<S: Future, F: Future>(
        &self,
        signal: S,
        completion: F,
        limit: Duration,
    ) -> Option<F::Output> {
        drain::drain_when(self, signal, completion, limit).await
    }

    /// Runs a task that works on the stream until `signal` comes, such as Ctrl-C, and ends it as
    /// [`Self::drain_when`] does. Gives the task's own result, and an error where there is none: what
    /// was under way then is read again.
    ///
    /// # Errors
    /// The task's own; [`Error::Callback`] where it panicked or was cancelled, [`Error::Timeout`] where
    /// it was not over within `limit` after the signal.
    pub async fn run_until<S: Future, T, E: From<Error>>(
        &self,
        signal: S,
        task: JoinHandle<Result<T, E>>,
        limit: Duration,
    ) -> Result<T, E> {
        drain::run_until(self, signal, task, limit).await
    }

    /// Ends a source that was stopped; waits until the consumer is gone. Where this is quick nobody
    /// waits for what is still in the application's hands.
    pub(in crate::stream) async fn finish(&self, limit: Duration, is_quick: bool) {
        self.hub.end(limit, is_quick);
        self.hub.done().await;
    }

    /// This and what runs the stream together, to be ended together later.
    pub fn draining<F: Future>(self, completion: F) -> DrainingControl<F> {
        DrainingControl { control: self, completion }
    }

    /// Stops, commits what was acknowledged, and leaves the group, without waiting for what is
    /// still in the application's hands: that will be read again. Takes `limit` at most. The rest
    /// goes on in the background if the future is dropped.
    pub async fn shutdown(&self, limit: Duration) {
        self.stop();
        self.finish(limit, true).await;
    }

    /// Waits until the consumer is gone, by whatever ended it.
    pub async fn is_shutdown(&self) {
        self.hub.done().await;
    }

    /// Commits what was acknowledged so far, now.
    ///
    /// # Errors
    /// When the coordinator refuses, or cannot be asked in time.
    pub async fn commit(&self) -> Result<(), Error> {
        self.hub.flush().await
    }

    /// What the consumer has done.
    pub fn metrics(&self) -> SourceMetrics {
        let handle = &self.hub.handle;
        let mut partitions = handle.partitions();
        partitions.sort_unstable();
        SourceMetrics {
            fetched: handle.counts(),
            budget_used: handle.budget_used(),
            lags: partitions.into_iter().map(|p| (p.clone(), handle.lag(&p))).collect(),
        }
    }

    /// What the consumer is doing, or waiting for.
    pub fn why(&self) -> Why {
        self.hub.handle.why()
    }

    /// Asks for topics, offsets and what is committed, with the source's consumer.
    pub fn metadata_client(&self) -> MetadataClient {
        MetadataClient::new(self.hub.handle.clone())
    }
}

impl Drain for Control {
    fn stop(&self) {
        self.stop();
    }

    fn at_work(&self) -> Option<Control> {
        Some(self.clone())
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_stopped = self.hub.is_stopped();
        let is_shutdown = self.hub.is_done();
        f.debug_struct("Control")
            .field("is_stopped", &is_stopped)
            .field("is_shutdown", &is_shutdown)
            .finish()
    }
}

/// A source's control, and what tells that its stream has run to the end.
#[derive(Debug)]
pub struct DrainingControl<F> {
    control: Control,
    completion: F,
}

impl<F: Future> DrainingControl<F> {
    /// See [`Control::drain_and_shutdown`].
    pub async fn drain_and_shutdown(self, limit: Duration) -> Option<F::Output> {
        self.control.drain_and_shutdown(self.completion, limit).await
    }

    /// See [`Control::drain_when`].
    pub async fn drain_when<S: Future>(self, signal: S, limit: Duration) -> Option<F::Output> {
        self.control.drain_when(signal, self.completion, limit).await
    }

    /// The control alone.
    pub fn control(&self) -> &Control {
        &self.control
    }
}
