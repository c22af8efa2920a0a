//! Draining: the same whether one source is controlled, or those that follow each other.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout_at};

use super::control::Control;
use crate::error::Error;
use crate::options;

/// What can be drained.
pub(in crate::stream) trait Drain: Sync {
    /// Hands no more records out.
    fn stop(&self);
    /// The source that is at work once it was stopped, if there is one.
    fn at_work(&self) -> Option<Control>;
}

/// See [`Control::drain_and_shutdown`].
pub(in crate::stream) async fn drain<F: Future>(
    what: &impl Drain,
    completion: F,
    limit: Duration,
) -> Option<F::Output> {
    let deadline = Instant::now() + options::bounded(limit);
    what.stop();
    let completed = timeout_at(deadline, completion).await.ok();
    if let Some(control) = what.at_work() {
        let left = deadline.saturating_duration_since(Instant::now());
        control.finish(left, completed.is_none()).await;
    }
    completed
}

/// See [`Control::drain_when`].
pub(in crate::stream) async fn drain_when<S: Future, F: Future>(
    what: &impl Drain,
    signal: S,
    completion: F,
    limit: Duration,
) -> Option<F::Output> {
    let mut completion = pin!(completion);
    let over = tokio::select! {
        biased;
        over = &mut completion => Some(over),
        _ = signal => None,
    };
    match over {
        Some(over) => drain(what, std::future::ready(over), limit).await,
        None => drain(what, completion, limit).await,
    }
}

/// See [`Control::run_until`].
pub(in crate::stream) async fn run_until<S: Future, T, E: From<Error>>(
    what: &impl Drain,
    signal: S,
    task: JoinHandle<Result<T, E>>,
    limit: Duration,
) -> Result<T, E> {
    match drain_when(what, signal, task, limit).await {
        Some(Ok(result)) => result,
        Some(Err(lost)) => Err(task_lost(lost).into()),
        None => {
            let (addr, what) = ("the source".into(), "draining its stream".to_owned());
            Err(Error::Timeout { addr, what, after: limit }.into())
        }
    }
}

/// The task that runs a stream panicked, or was cancelled.
fn task_lost(lost: JoinError) -> Error {
    Error::Callback { what: "the task that runs the stream".into(), source: Arc::new(lost) }
}
