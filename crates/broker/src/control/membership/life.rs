//! Tells the active controller what `thalweg_metadata::lifecycle` says, when it says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_metadata::image::MetadataImage;
use thalweg_metadata::lifecycle::{
    BrokerState, Lifecycle, LifecycleError, Milestone, Settings, ToController,
};
use thalweg_wire::{ErrorCode, Uuid};
use tokio::sync::{Notify, watch};
use tokio::time::error::Elapsed;

use crate::control::kraft::Channel;
use crate::net::outgoing::OutgoingError;
use crate::node::Node;
use crate::node::logged_once::LoggedOnce;

/// The least time that a controller has to answer.
const ANSWER_MIN: Duration = Duration::from_millis(500);

/// This broker's life in the cluster.
pub(crate) struct Life {
    lifecycle: Mutex<Lifecycle>,
    node: Arc<Node>,
    /// Time for one request.
    timeout: Duration,
    /// There is something to say before it is time to.
    news: Notify,
    state: watch::Sender<BrokerState>,
    /// When a controller answered last.
    heard_ms: AtomicU64,
}

impl std::fmt::Debug for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Life").field("lifecycle", &self.lifecycle).finish_non_exhaustive()
    }
}

impl Life {
    /// Begins. `cordoned` are the directories that get no new replicas.
    pub(crate) fn new(settings: Settings, cordoned: Vec<Uuid>, node: Arc<Node>) -> Life {
        let timeout = Duration::from_millis(settings.heartbeat_interval_ms).max(ANSWER_MIN);
        let now_ms = node.clock().monotonic_ms();
        let lifecycle = Lifecycle::new(settings, cordoned, now_ms);
        let state = watch::Sender::new(lifecycle.state());
        Life {
            lifecycle: Mutex::new(lifecycle),
            timeout,
            news: Notify::new(),
            state,
            heard_ms: AtomicU64::new(now_ms),
            node,
        }
    }

    /// Where the broker is in its life, now and later.
    pub(crate) fn state(&self) -> watch::Receiver<BrokerState> {
        self.state.subscribe()
    }

    fn tell<T>(&self, change: impl FnOnce(&mut Lifecycle, u64) -> T) -> T {
        let mut lifecycle = self.lifecycle.lock();
        let told = change(&mut lifecycle, self.node.clock().monotonic_ms());
        // Under the lock: states are told in the order in which they were.
        let state = lifecycle.state();
        self.node.set_broker_epoch(lifecycle.epoch());
        self.state.send_if_modified(|before| std::mem::replace(before, state) != state);
        drop(lifecycle);
        self.news.notify_one();
        told
    }

    fn heard_if(&self, is_answered: bool) {
        if is_answered {
            self.heard_ms.store(self.node.clock().monotonic_ms(), Ordering::Relaxed);
        }
    }

    /// For how long no controller has answered.
    pub(crate) fn unheard(&self) -> Duration {
        let heard = self.heard_ms.load(Ordering::Relaxed);
        Duration::from_millis(self.node.clock().monotonic_ms().saturating_sub(heard))
    }

    /// The broker can serve.
    pub(crate) fn ready(&self) {
        self.tell(Lifecycle::ready);
    }

    /// The broker does not know what is so: it asks to be fenced.
    pub(crate) fn faulty(&self) {
        self.tell(Lifecycle::faulty);
    }

    /// The broker is to stop. Says whether it may at once.
    pub(crate) fn shut_down(&self) -> bool {
        self.tell(Lifecycle::shut_down)
    }

    /// Directories are lost.
    pub(crate) fn directories_lost(&self, ids: Vec<Uuid>) {
        self.tell(|lifecycle, now| ids.iter().for_each(|id| lifecycle.directory_lost(*id, now)));
    }

    /// These directories get no new replicas.
    pub(crate) fn set_cordoned(&self, ids: Vec<Uuid>) {
        self.tell(|lifecycle, now| lifecycle.set_cordoned(ids, now));
    }

    /// The metadata has changed.
    pub(crate) fn metadata_changed(&self, image: &MetadataImage) -> Result<(), LifecycleError> {
        self.tell(|lifecycle, now| lifecycle.metadata_changed(image, now))
    }

    /// Talks to the controller until the broker may stop. `metadata` gives the last offset that has taken effect,
    /// and the image.
    ///
    /// # Errors
    /// [`LifecycleError`]: the process has to end.
    pub(crate) async fn run(
        &self,
        channel: &Channel,
        metadata: impl Fn() -> (i64, Arc<MetadataImage>) + Send,
    ) -> Result<(), LifecycleError> {
        let mut said = Said::default();
        loop {
            let (applied, image) = metadata();
            let (next, wakes_at, state, now) = {
                let mut lifecycle = self.lifecycle.lock();
                let now = self.node.clock().monotonic_ms();
                let next = lifecycle.next(now, applied, image.metadata_version())?;
                (next, lifecycle.wakes_at(), lifecycle.state(), now)
            };
            drop(image);
            match next {
                None if state == BrokerState::ShuttingDown => return Ok(()),
                None => {
                    let pause = wakes_at.map_or(1, |at| at.saturating_sub(now).max(1));
                    let pause = Duration::from_millis(pause);
                    // What it is woken for may be nothing new: then it waits on.
                    let _ = tokio::time::timeout(pause, self.news.notified()).await;
                }
                Some(ToController::Register(request)) => {
                    let answer = tokio::time::timeout(self.timeout, channel.call(&request)).await;
                    let answer = said.answer(answer, |it| it.error_code);
                    self.heard_if(answer.is_some());
                    self.answered(|it, now| it.registered(answer.as_ref(), now));
                    // What was said of this broker while it registered may be about another process.
                    self.metadata_changed(&metadata().1)?;
                }
                Some(ToController::Heartbeat(request)) => {
                    let answer = tokio::time::timeout(self.timeout, channel.call(&request)).await;
                    let answer = said.answer(answer, |it| it.error_code);
                    self.heard_if(answer.is_some());
                    self.answered(|it, now| it.heartbeat_answered(answer.as_ref(), now));
                }
            }
        }
    }

    fn answered(&self, answered: impl FnOnce(&mut Lifecycle, u64) -> Option<Milestone>) {
        let epoch = match self.tell(answered) {
            Some(Milestone::Registered) => self.node.broker_epoch(),
            Some(Milestone::CaughtUp) => {
                tracing::info!("caught up with the cluster's metadata");
                return;
            }
            Some(Milestone::Unfenced) => {
                tracing::info!("unfenced: clients and other brokers are told of this broker");
                return;
            }
            Some(Milestone::MayStop) => {
                tracing::info!("nothing depends on this broker any more");
                return;
            }
            None => return,
        };
        tracing::info!(epoch, "registered with the cluster's controllers");
    }
}

/// What was wrong last, so that it is said once and not with every attempt.
#[derive(Default)]
struct Said(LoggedOnce);

impl Said {
    /// An answer, if there is one. Says what is wrong with it, or with that there is none.
    fn answer<T>(
        &mut self,
        answer: Result<Result<T, OutgoingError>, Elapsed>,
        code: impl Fn(&T) -> ErrorCode,
    ) -> Option<T> {
        let (answer, wrong) = match answer {
            Ok(Ok(answer)) => {
                let wrong = Some(code(&answer)).filter(|code| code.is_err());
                (Some(answer), wrong.map(|code| code.to_string()))
            }
            Ok(Err(error)) => (None, Some(error.to_string())),
            Err(_) => (None, Some("no answer in time".to_owned())),
        };
        if self.0.is_news(wrong.as_deref().unwrap_or_default()) {
            match wrong {
                Some(error) => {
                    tracing::warn!(
                        error,
                        "the active controller does not take what this broker says"
                    );
                }
                None => tracing::info!("the active controller takes what this broker says again"),
            }
        }
        answer
    }
}
