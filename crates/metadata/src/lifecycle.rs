//! A broker's life as its controllers see it: registered, caught up with the metadata, unfenced, about to stop.
//!
//! [`Lifecycle::next`] says what the active controller is to be told now; its answer, or that there is none, goes
//! to [`Lifecycle::registered`] or [`Lifecycle::heartbeat_answered`]. One request is in flight at a time, and whatever
//! changes meanwhile is said with the next one, at once.
//!
//! *Invariants*: an incarnation has one epoch, which is what a registration was answered with; nothing is said of
//! cordoned directories before the broker has caught up, and of a lost directory until the process ends; a broker
//! that another process has replaced says nothing more.

use std::collections::BTreeMap;

use thalweg_wire::messages::{
    BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest,
    BrokerRegistrationResponse,
};
use thalweg_wire::{ErrorCode, Uuid};

use crate::features::MetadataVersion;
use crate::image::{BrokerRegistration, MetadataImage};

/// How soon a heartbeat follows another one while the broker starts.
const STARTING_MS: u64 = 10;
/// The same while it waits to be unfenced, or to be let go: a controller hears of others first.
const WAITING_MS: u64 = 50;
/// Pause after an answer that may be another one in a moment, if heartbeats are not closer.
const RETRY_MS: u64 = 250;

/// Where a broker is in its life; Kafka's states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BrokerState {
    /// It registers, and catches up with the metadata up to its own registration.
    Starting,
    /// It opens its logs.
    Recovery,
    /// It serves.
    Running,
    /// It is about to stop: what it leads moves to others.
    PendingControlledShutdown,
    /// It may stop.
    ShuttingDown,
}

/// What is told to the controller.
#[derive(Clone, Debug, PartialEq)]
pub enum ToController {
    /// The answer goes to [`Lifecycle::registered`].
    Register(BrokerRegistrationRequest),
    /// The answer goes to [`Lifecycle::heartbeat_answered`].
    Heartbeat(BrokerHeartbeatRequest),
}

/// What has come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// It is registered, and knows its epoch.
    Registered,
    /// The metadata has come as far as its own registration: what it says is for this process.
    CaughtUp,
    /// It may be asked by clients, and lead.
    Unfenced,
    /// Nothing depends on it any more.
    MayStop,
}

/// Why a broker cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LifecycleError {
    /// No registration in time.
    #[error("no controller registered this broker within {0} ms; the last answer: {1}")]
    NotRegistered(u64, String),
    /// Another process has this id.
    #[error(
        "another process has registered as broker {id} (incarnation {incarnation}): two brokers must not \
         have one node.id"
    )]
    Replaced {
        /// The id.
        id: i32,
        /// The other one.
        incarnation: Uuid,
    },
    /// A lost directory could not be reported.
    #[error("the loss of log directory {0} could not be reported within {1} ms")]
    LostDirectoryUnreported(Uuid, u64),
}

/// What a broker says of itself, and how often.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it registers with.
    pub registration: BrokerRegistrationRequest,
    /// `broker.heartbeat.interval.ms`
    pub heartbeat_interval_ms: u64,
    /// `initial.broker.registration.timeout.ms`
    pub registration_timeout_ms: u64,
    /// `log.dir.failure.timeout.ms`
    pub directory_timeout_ms: u64,
}

/// A directory that was lost.
#[derive(Clone, Copy, Debug)]
struct Lost {
    since_ms: u64,
    is_reported: bool,
}

/// What the request in flight has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InFlight {
    Registration,
    Heartbeat,
}

/// A broker's life.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    settings: Settings,
    state: BrokerState,
    epoch: i64,
    is_registered: bool,
    /// Whether it ever was, in this process.
    was_registered: bool,
    is_ready: bool,
    /// Something is wrong with what it knows: it must not lead.
    is_faulty: bool,
    lost: BTreeMap<Uuid, Lost>,
    cordoned: Vec<Uuid>,
    in_flight: Option<InFlight>,
    /// Directories that the request in flight reports lost.
    reporting: Vec<Uuid>,
    next_ms: u64,
    /// Something changed since the request in flight was made.
    is_news: bool,
    began_ms: u64,
    /// Whether a controller has heard that it is about to stop.
    was_told_to_wait: bool,
    last_answer: String,
}

impl Lifecycle {
    /// Begins. `cordoned` are the directories that get no new replicas.
    pub fn new(settings: Settings, cordoned: Vec<Uuid>, now_ms: u64) -> Lifecycle {
        Lifecycle {
            settings,
            state: BrokerState::Starting,
            epoch: -1,
            is_registered: false,
            was_registered: false,
            is_ready: false,
            is_faulty: false,
            lost: BTreeMap::new(),
            cordoned,
            in_flight: None,
            reporting: Vec::new(),
            next_ms: now_ms,
            is_news: false,
            began_ms: now_ms,
            was_told_to_wait: false,
            last_answer: "there was none".into(),
        }
    }

    /// Where it is.
    pub fn state(&self) -> BrokerState {
        self.state
    }

    /// Its epoch; -1 before it is registered.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// What is to be told now, if anything is. `applied` is the last metadata offset that has taken effect.
    ///
    /// # Errors
    /// [`LifecycleError`]: the process has to end.
    pub fn next(
        &mut self,
        now_ms: u64,
        applied: i64,
        metadata_version: MetadataVersion,
    ) -> Result<Option<ToController>, LifecycleError> {
        let timeout = self.settings.registration_timeout_ms;
        if !self.was_registered && now_ms.saturating_sub(self.began_ms) >= timeout {
            return Err(LifecycleError::NotRegistered(timeout, self.last_answer.clone()));
        }
        let timeout = self.settings.directory_timeout_ms;
        let is_overdue =
            |lost: &Lost| !lost.is_reported && now_ms.saturating_sub(lost.since_ms) >= timeout;
        if let Some((id, _)) = self.lost.iter().find(|(_, lost)| is_overdue(lost)) {
            return Err(LifecycleError::LostDirectoryUnreported(*id, timeout));
        }
        let is_over = self.state == BrokerState::ShuttingDown;
        if is_over || self.in_flight.is_some() || now_ms < self.next_ms {
            return Ok(None);
        }
        self.is_news = false;
        if !self.is_registered {
            self.in_flight = Some(InFlight::Registration);
            return Ok(Some(ToController::Register(self.settings.registration.clone())));
        }
        self.in_flight = Some(InFlight::Heartbeat);
        self.reporting = self.lost.keys().copied().collect();
        let may_cordon = self.state > BrokerState::Starting && metadata_version.has_cordoned_dirs();
        Ok(Some(ToController::Heartbeat(BrokerHeartbeatRequest {
            broker_id: self.settings.registration.broker_id,
            broker_epoch: self.epoch,
            current_metadata_offset: applied,
            want_fence: !self.is_ready || self.is_faulty,
            want_shut_down: self.state == BrokerState::PendingControlledShutdown,
            offline_log_dirs: self.reporting.clone(),
            cordoned_log_dirs: may_cordon.then(|| self.cordoned.clone()),
            ..BrokerHeartbeatRequest::default()
        })))
    }

    /// When [`Self::next`] has something to say next, as far as is known; `None` while an answer is waited for.
    pub fn wakes_at(&self) -> Option<u64> {
        self.in_flight.is_none().then_some(self.next_ms)
    }

    /// The answer to a registration; `None` if there was none.
    pub fn registered(
        &mut self,
        response: Option<&BrokerRegistrationResponse>,
        now_ms: u64,
    ) -> Option<Milestone> {
        if self.in_flight.take() != Some(InFlight::Registration) {
            return None;
        }
        match response {
            Some(answer) if answer.error_code.is_ok() => {
                self.epoch = answer.broker_epoch;
                self.is_registered = true;
                self.was_registered = true;
                self.next_ms = now_ms;
                Some(Milestone::Registered)
            }
            answer => {
                self.failed(answer.map(|answer| answer.error_code), now_ms);
                None
            }
        }
    }

    /// The answer to a heartbeat; `None` if there was none.
    pub fn heartbeat_answered(
        &mut self,
        response: Option<&BrokerHeartbeatResponse>,
        now_ms: u64,
    ) -> Option<Milestone> {
        if self.in_flight.take() != Some(InFlight::Heartbeat) {
            return None;
        }
        let reporting = std::mem::take(&mut self.reporting);
        let answer = match response {
            Some(answer) if answer.error_code.is_ok() => answer,
            answer => {
                self.failed(answer.map(|answer| answer.error_code), now_ms);
                return None;
            }
        };
        for id in reporting {
            if let Some(lost) = self.lost.get_mut(&id) {
                lost.is_reported = true;
            }
        }
        let interval = self.settings.heartbeat_interval_ms;
        let (pause, milestone) = match self.state {
            BrokerState::Starting if answer.is_caught_up => {
                self.state = BrokerState::Recovery;
                (STARTING_MS, Some(Milestone::CaughtUp))
            }
            BrokerState::Starting => (STARTING_MS, None),
            BrokerState::Recovery if self.is_ready && !answer.is_fenced => {
                self.state = BrokerState::Running;
                (interval, Some(Milestone::Unfenced))
            }
            // It is soon, once it is ready.
            BrokerState::Recovery if self.is_ready => (WAITING_MS, None),
            BrokerState::Recovery | BrokerState::Running => (interval, None),
            BrokerState::PendingControlledShutdown if answer.should_shut_down => {
                self.state = BrokerState::ShuttingDown;
                (interval, Some(Milestone::MayStop))
            }
            BrokerState::PendingControlledShutdown => {
                let is_first = !std::mem::replace(&mut self.was_told_to_wait, true);
                (if is_first { WAITING_MS } else { interval }, None)
            }
            BrokerState::ShuttingDown => (interval, None),
        };
        self.next_ms =
            if self.is_news { now_ms } else { now_ms.saturating_add(pause.min(interval)) };
        milestone
    }

    fn failed(&mut self, code: Option<ErrorCode>, now_ms: u64) {
        self.last_answer = match code {
            Some(code) => code.to_string(),
            None => "there was none".into(),
        };
        let interval = self.settings.heartbeat_interval_ms;
        self.next_ms = match code {
            // The controller has forgotten this broker, or never heard of it.
            Some(ErrorCode::BROKER_ID_NOT_REGISTERED) => {
                self.is_registered = false;
                now_ms
            }
            _ => now_ms.saturating_add(RETRY_MS.min(interval)),
        };
    }

    /// Its logs are open, and the metadata has taken effect: it can serve.
    pub fn ready(&mut self, now_ms: u64) {
        self.is_ready = true;
        self.tell_now(now_ms);
    }

    /// What it knows of the cluster is not what is so, and it cannot learn it: it asks to be fenced.
    pub fn faulty(&mut self, now_ms: u64) {
        self.is_faulty = true;
        self.tell_now(now_ms);
    }

    /// It is to stop. Says whether it may at once: nobody depends on a broker that never was unfenced.
    pub fn shut_down(&mut self, now_ms: u64) -> bool {
        match self.state {
            BrokerState::Running => {
                self.state = BrokerState::PendingControlledShutdown;
                self.tell_now(now_ms);
            }
            BrokerState::PendingControlledShutdown => {}
            _ => self.state = BrokerState::ShuttingDown,
        }
        self.state == BrokerState::ShuttingDown
    }

    /// A directory is lost.
    pub fn directory_lost(&mut self, id: Uuid, now_ms: u64) {
        self.lost.entry(id).or_insert(Lost { since_ms: now_ms, is_reported: false });
        self.tell_now(now_ms);
    }

    /// Other directories are cordoned.
    pub fn set_cordoned(&mut self, ids: Vec<Uuid>, now_ms: u64) {
        if self.cordoned != ids {
            self.cordoned = ids;
            self.tell_now(now_ms);
        }
    }

    fn tell_now(&mut self, now_ms: u64) {
        self.is_news = true;
        if self.is_registered {
            self.next_ms = now_ms;
        }
    }

    /// The metadata has changed.
    ///
    /// # Errors
    /// [`LifecycleError::Replaced`] if another process has registered as this broker since.
    pub fn metadata_changed(
        &mut self,
        image: &MetadataImage,
        now_ms: u64,
    ) -> Result<(), LifecycleError> {
        let own = &self.settings.registration;
        // What was there before this process is its past.
        if !self.was_registered || image.provenance.offset < self.epoch {
            return Ok(());
        }
        match image.cluster.broker(own.broker_id) {
            Some(known) if known.incarnation_id == own.incarnation_id => {
                let level = image.metadata_version();
                if level.has_directory_assignment() && self.must_say_directories(known) {
                    self.register_again(now_ms);
                }
                Ok(())
            }
            Some(known) if known.epoch > self.epoch => Err(LifecycleError::Replaced {
                id: own.broker_id,
                incarnation: known.incarnation_id,
            }),
            Some(_) => Ok(()),
            // Somebody has unregistered it.
            None => {
                if self.state < BrokerState::PendingControlledShutdown {
                    self.register_again(now_ms);
                }
                Ok(())
            }
        }
    }

    /// Levels of `metadata.version` below 3.7-IV2 know no directories: they are told when the level rises.
    fn must_say_directories(&self, known: &BrokerRegistration) -> bool {
        known.directories.is_empty() && !self.settings.registration.log_dirs.is_empty()
    }

    fn register_again(&mut self, now_ms: u64) {
        if self.is_registered {
            self.is_registered = false;
            self.next_ms = now_ms;
        }
    }
}
