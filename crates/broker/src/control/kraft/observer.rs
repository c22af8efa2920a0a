//! Follows the metadata log of the controllers' quorum: asks whom `thalweg_replication::observer` names, and carries
//! out what it says. Committed records take effect.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thalweg_replication::Epochs;
use thalweg_replication::observer::{
    Endpoint, Next, Observer, ObserverLog as Offsets, Question, Quorum, Retry, Settings, Step,
};
use thalweg_wire::messages::{FetchResponse, FetchSnapshotResponse};
use tokio::sync::watch;

use super::log::MetadataLogError;
use super::observer_log::ObserverLog;
use crate::net::kept::KeptConnection;
use crate::net::outgoing::{ANSWER_MAX, OutgoingError, Timeouts};
use crate::node::clock::Clock;
use crate::node::logged_once::LoggedOnce;
use crate::node::metadata_listener::MetadataListener;

/// Answers in a row that cannot be carried out: about half a minute of them. A broker without new metadata must not lead.
const FAILURES_MAX: u32 = 60;
/// The longest pause after failures: an election takes about a second, and is not to be slept through.
const BACKOFF_MAX_MS: u64 = 500;

/// How the quorum is reached.
#[derive(Clone, Debug)]
pub(crate) struct QuorumConfig {
    /// `controller.quorum.bootstrap.servers`, or the addresses of `controller.quorum.voters`.
    pub(crate) bootstrap: Vec<Endpoint>,
    /// `controller.quorum.voters`
    pub(crate) voters: BTreeMap<i32, Endpoint>,
    /// The first of `controller.listener.names`.
    pub(crate) listener: String,
    /// `controller.quorum.retry.backoff.ms`
    pub(crate) retry_backoff_ms: u64,
    /// `controller.quorum.request.timeout.ms`
    pub(crate) request_timeout: Duration,
}

/// What is known of the quorum and its log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuorumStatus {
    /// The newest epoch.
    pub(crate) epoch: i32,
    /// The active controller, if it is known.
    pub(crate) leader: Option<i32>,
    /// Where it is reached.
    pub(crate) endpoint: Option<Endpoint>,
    /// The last offset that has taken effect.
    pub(crate) applied: i64,
    /// Up to where the log is committed, as far as is known; `None` before a leader has said so.
    pub(crate) high_watermark: Option<i64>,
    /// Level of `kraft.version`.
    pub(crate) kraft_version: i16,
}

/// Why the log is not followed any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the metadata log cannot be followed any more: {reason}")]
pub(crate) struct Failure {
    reason: Arc<str>,
    /// This broker must not go on with what it has either.
    pub(crate) is_fatal: bool,
}

impl Failure {
    fn new(reason: impl std::fmt::Display, is_fatal: bool) -> Failure {
        Failure { reason: reason.to_string().into(), is_fatal }
    }
}

/// What carries out an answer: it waits for disks.
struct State {
    observer: Observer,
    log: ObserverLog,
    applier: Arc<dyn MetadataListener>,
    listener_name: String,
    clock: Clock,
    /// The last trouble that was said, so that it is said once.
    logged: LoggedOnce,
    /// Answers in a row that could not be carried out.
    failures: u32,
}

/// The task.
pub(crate) struct ObserverTask {
    state: Box<State>,
    clock: Clock,
    client_id: Arc<str>,
    timeouts: Timeouts,
    /// To the node that was asked last.
    connection: KeptConnection,
    status: watch::Sender<QuorumStatus>,
}

/// An answer.
enum Answer {
    Fetched(FetchResponse),
    SnapshotFetched(FetchSnapshotResponse),
    None(OutgoingError),
}

impl ObserverTask {
    /// For a log that is open. Nothing is asked before [`Self::run`].
    pub(crate) fn new(
        settings: Settings,
        config: QuorumConfig,
        log: ObserverLog,
        applier: Arc<dyn MetadataListener>,
        clock: Clock,
    ) -> ObserverTask {
        let retry = Retry { backoff_ms: config.retry_backoff_ms, backoff_max_ms: BACKOFF_MAX_MS };
        let epoch = log.quorum_epoch().max(log.latest_epoch().unwrap_or(0));
        let mut quorum = Quorum::new(config.bootstrap, config.voters, epoch, retry);
        if let Some(voters) = log.voters() {
            quorum.voters(voters, &config.listener);
        }
        let timeouts = Timeouts {
            connect: config.request_timeout,
            request: config.request_timeout,
            answer_max: ANSWER_MAX,
        };
        let client_id = format!("raft-client-{}", settings.replica_id).into();
        let state = Box::new(State {
            observer: Observer::new(settings, quorum),
            log,
            applier,
            listener_name: config.listener,
            clock: clock.clone(),
            logged: LoggedOnce::default(),
            failures: 0,
        });
        let status = watch::Sender::new(state.status());
        ObserverTask {
            state,
            clock,
            client_id,
            timeouts,
            connection: KeptConnection::default(),
            status,
        }
    }

    /// What is known of the quorum, now and later.
    pub(crate) fn status(&self) -> watch::Receiver<QuorumStatus> {
        self.status.subscribe()
    }

    /// Follows the log until `stopped`, and closes it.
    ///
    /// # Errors
    /// [`Failure`] if records cannot be read or applied. Everything else is tried again.
    pub(crate) async fn run(mut self, stopped: impl Future<Output = ()>) -> Result<(), Failure> {
        let mut stopped = std::pin::pin!(stopped);
        loop {
            let answer = tokio::select! {
                answer = self.next_answer() => answer,
                () = &mut stopped => {
                    let (state, now_ms) = (self.state, self.clock.wall_ms());
                    let _ = tokio::task::spawn_blocking(move || state.log.files.close(now_ms)).await;
                    return Ok(());
                }
            };
            let mut state = self.state;
            // It waits for disks, and for what the metadata changes here.
            let taken = tokio::task::spawn_blocking(move || {
                let taken = state.take(answer);
                (state, taken)
            });
            let Ok((state, taken)) = taken.await else {
                // The image in force may be half of two.
                return Err(Failure::new("a panic while it took effect", true));
            };
            let status = state.status();
            self.state = state;
            self.status.send_if_modified(|before| {
                let is_news = *before != status;
                *before = status;
                is_news
            });
            taken?;
        }
    }

    /// Asks the node that [`Observer`] names, when it is time to.
    async fn next_answer(&mut self) -> Answer {
        loop {
            let now = self.clock.monotonic_ms();
            match self.state.observer.next(now, &self.state.log) {
                Next::Wait(until) => {
                    let pause = until.saturating_sub(now).max(1);
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
                Next::Ask(endpoint, question) => return self.ask(&endpoint, &question).await,
            }
        }
    }

    async fn ask(&mut self, endpoint: &Endpoint, question: &Question) -> Answer {
        match self.try_to_ask(endpoint, question).await {
            Ok(answer) => answer,
            Err(error) => {
                self.connection.close();
                Answer::None(error)
            }
        }
    }

    async fn try_to_ask(
        &mut self,
        endpoint: &Endpoint,
        question: &Question,
    ) -> Result<Answer, OutgoingError> {
        let connection = self.connection.to(endpoint, &self.client_id, self.timeouts).await?;
        Ok(match question {
            Question::Fetch(request) => Answer::Fetched(connection.call(request).await?),
            Question::FetchSnapshot(request) => {
                Answer::SnapshotFetched(connection.call(request).await?)
            }
        })
    }
}

impl State {
    fn status(&self) -> QuorumStatus {
        let quorum = self.observer.quorum();
        let leader = quorum.leader();
        QuorumStatus {
            epoch: quorum.epoch(),
            leader: leader.map(|leader| leader.id),
            endpoint: leader.and_then(|leader| leader.endpoint.clone()),
            applied: self.log.applied(),
            high_watermark: self.log.high_watermark(),
            kraft_version: self.log.kraft_version(),
        }
    }

    /// Takes an answer, on a thread that may wait.
    fn take(&mut self, answer: Answer) -> Result<(), Failure> {
        let now = self.clock.monotonic_ms();
        let step = match answer {
            Answer::None(error) => {
                self.say(&error);
                self.observer.failed(now);
                return Ok(());
            }
            Answer::Fetched(response) => self.observer.fetched(response, now, &self.log),
            Answer::SnapshotFetched(response) => self.observer.snapshot_fetched(response, now),
        };
        let step = match step {
            Ok(step) => step,
            Err(error) if error.is_fatal() => return Err(Failure::new(error, true)),
            Err(error) => {
                self.say(&error);
                return Ok(());
            }
        };
        let leader = self.observer.quorum().leader().map_or(-1, |leader| leader.id);
        let noted = self.log.note_leader(leader, self.observer.quorum().epoch());
        match noted.and_then(|()| self.carry_out(step)) {
            Ok(()) => {
                self.failures = 0;
                self.say_if_leaderless();
                Ok(())
            }
            Err(error) => self.failed(error),
        }
    }

    fn carry_out(&mut self, step: Step) -> Result<(), MetadataLogError> {
        let now_ms = self.clock.wall_ms();
        match step {
            Step::Nothing => {}
            Step::Append { records, leader_epoch, high_watermark } => {
                if self.log.append(&records, leader_epoch, now_ms)? {
                    self.name_voters();
                }
                if let Some(high_watermark) = high_watermark {
                    let applier = Arc::clone(&self.applier);
                    self.log.advance_to(high_watermark, |update| drop(applier.apply(update)))?;
                }
                self.logged.clear();
            }
            Step::Truncate(to) => {
                tracing::info!(
                    to,
                    "the metadata log is cut off, where the quorum's leader has something else"
                );
                if self.log.truncate(to, now_ms)? {
                    self.name_voters();
                }
            }
            Step::Snapshot { id, position, bytes, is_complete } => {
                self.log.write_part(id, position, &bytes)?;
                if is_complete {
                    let applier = Arc::clone(&self.applier);
                    self.log.load_snapshot(id, now_ms, |update| drop(applier.apply(update)))?;
                    tracing::info!(
                        end_offset = id.end_offset,
                        epoch = id.epoch,
                        "the metadata begins with a snapshot of the quorum's leader"
                    );
                    self.name_voters();
                }
            }
        }
        self.checkpoint(now_ms);
        Ok(())
    }

    fn name_voters(&mut self) {
        if let Some(voters) = self.log.voters() {
            self.observer.quorum_mut().voters(voters, &self.listener_name);
        }
    }

    /// Writes a snapshot of the image, if one is due, and removes what retention does not keep.
    fn checkpoint(&mut self, now_ms: i64) {
        let Some(due) = self.log.checkpoint_due(now_ms) else { return };
        let written = due.write(now_ms);
        self.log.files.end_checkpoint(&due, written.is_ok(), now_ms);
        // Also where nothing could be written: a full disk gets room by it.
        let cleaned = self.log.files.retained().clean(now_ms);
        if let Err(error) = written.and(cleaned) {
            tracing::error!(%error, "checkpoints of the metadata could not be seen to");
        }
    }

    /// What was to be done with an answer could not be done.
    fn failed(&mut self, error: MetadataLogError) -> Result<(), Failure> {
        self.failures += 1;
        // Records that were committed and cannot be read or applied stay so.
        let is_final = matches!(error, MetadataLogError::Record(_) | MetadataLogError::Load(_));
        if is_final || self.failures >= FAILURES_MAX {
            return Err(Failure::new(error, false));
        }
        self.say(&error);
        let now = self.clock.monotonic_ms();
        self.observer.snapshot_failed(now);
        Ok(())
    }

    /// Logs that no leader is known. During elections that is usual; if it lasts, something is wrong.
    fn say_if_leaderless(&mut self) {
        let quorum = self.observer.quorum();
        if quorum.leader().is_none() {
            let epoch = quorum.epoch();
            self.say(&format!("no active controller is known (epoch {epoch})"));
        }
    }

    /// Says what is wrong, once.
    fn say(&mut self, error: &dyn std::fmt::Display) {
        let text = error.to_string();
        if self.logged.is_news(&text) {
            tracing::warn!(error = text, "the metadata log of the quorum is not followed for now");
        }
    }
}
