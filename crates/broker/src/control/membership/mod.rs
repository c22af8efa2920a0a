//! A broker of a cluster whose controllers run on other nodes: how it joins, follows the metadata, and leaves.
//!
//! Until the metadata has come as far as this process's own registration, images are only taken note of: what they
//! say was meant for an earlier process. From then on each takes effect as it comes.

mod duties;
mod life;
mod probe;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_log::LogManager;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::image::{MetadataImage, Update};
use thalweg_metadata::lifecycle::{self, BrokerState};
use thalweg_replication::observer::{self, Endpoint};
use thalweg_wire::Uuid;
use thalweg_wire::messages::BrokerRegistrationRequest;
use tokio::task::JoinHandle;

pub(crate) use duties::{NOT_SERVED, Unmet, must_be_cordoned, unmet, unserved};
pub(crate) use life::Life;
pub(crate) use probe::{Cluster, describe};

use crate::broker::Broker;
use crate::control::kraft::{MetadataPublisher, ObserverTask, QuorumConfig, RemoteController};
use crate::net::outgoing::{ANSWER_MAX, Timeouts};
use crate::node::catch_panic::CatchPanic;

/// How long a broker waits for the controllers to let it go: less than a stop may take in all, so that it is a clean
/// one.
const CONTROLLED_SHUTDOWN: Duration = Duration::from_secs(240);
/// How long a broker that has handed its leaderships over still says who leads, and how long nobody must have asked.
const NAME_LEADERS_MAX: Duration = Duration::from_secs(1);
const NAME_LEADERS_QUIET: Duration = Duration::from_millis(200);
/// Without a word of them for so long, it does not wait for them.
const UNHEARD_MAX: Duration = Duration::from_secs(15);

/// How the quorum is reached, by the configuration.
pub(crate) fn quorum_config(config: &BrokerConfig) -> QuorumConfig {
    let milliseconds = |value: i32| u64::try_from(value).unwrap_or(0);
    let endpoint = |(host, port)| Endpoint { host, port };
    let voters = config.voters().into_iter();
    QuorumConfig {
        bootstrap: config.quorum_addresses().into_iter().map(endpoint).collect(),
        voters: voters.map(|it| (it.id, endpoint((it.host, it.port)))).collect::<BTreeMap<_, _>>(),
        listener: config.controller_listener_names().first().cloned().unwrap_or_default(),
        retry_backoff_ms: milliseconds(config.quorum_retry_backoff_ms()).max(1),
        request_timeout: Duration::from_millis(
            milliseconds(config.quorum_request_timeout_ms()).max(1),
        ),
    }
}

/// What the observer asks with, by the configuration.
pub(crate) fn observer_settings(
    config: &BrokerConfig,
    cluster_id: &str,
    directory_id: Uuid,
) -> observer::Settings {
    observer::Settings {
        cluster_id: cluster_id.to_owned(),
        replica_id: config.node_id(),
        directory_id,
        fetch_max_bytes: config.quorum_fetch_max_bytes(),
        fetch_snapshot_max_bytes: config.quorum_fetch_snapshot_max_bytes(),
    }
}

/// How often the controller hears of this broker, by the configuration.
pub(crate) fn lifecycle_settings(
    config: &BrokerConfig,
    registration: BrokerRegistrationRequest,
) -> lifecycle::Settings {
    let milliseconds = |value: i64| u64::try_from(value).unwrap_or(0);
    lifecycle::Settings {
        registration,
        heartbeat_interval_ms: milliseconds(config.heartbeat_interval_ms().into()).max(1),
        registration_timeout_ms: milliseconds(config.registration_timeout_ms().into()),
        directory_timeout_ms: milliseconds(config.directory_failure_timeout_ms()),
    }
}

/// Timeouts of what is asked of the active controller. Topics may take it as long as a client may wait.
pub(crate) fn timeouts(config: &BrokerConfig) -> Timeouts {
    let request = u64::try_from(config.controller_socket_timeout_ms()).unwrap_or(30_000);
    Timeouts {
        connect: quorum_config(config).request_timeout,
        request: Duration::from_millis(request.max(1)),
        answer_max: ANSWER_MAX,
    }
}

/// Has images take effect, once the broker serves.
#[derive(Debug, Default)]
pub(crate) struct Publication {
    broker: OnceLock<Weak<Broker>>,
    /// Held while an image takes effect.
    is_serving: Mutex<bool>,
    /// What was last said of replicas that cannot be coordinated here.
    said: Mutex<String>,
    /// The features in use that are not served, as they were last logged.
    unserved: Mutex<String>,
}

impl Publication {
    pub(crate) fn attach(&self, broker: &Arc<Broker>) {
        let _ = self.broker.set(Arc::downgrade(broker));
    }

    /// Whether partitions may have been changed.
    pub(crate) fn is_serving(&self) -> bool {
        *self.is_serving.lock()
    }

    fn broker(&self) -> Option<Arc<Broker>> {
        self.broker.get().and_then(Weak::upgrade)
    }

    /// What was said until now takes effect, and what will be said as it comes. On a thread that may wait.
    fn serve(&self) -> Result<(), String> {
        let mut is_serving = self.is_serving.lock();
        if let Some(broker) = self.broker() {
            let image = broker.node.image().0;
            duties::check(&image, broker.node.id())?;
            *is_serving = true;
            broker.serve_image().map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

impl Publication {
    /// Logs a change of the features in use that this broker does not serve.
    fn log_unserved(&self, image: &MetadataImage) {
        let levels = image.features.levels.iter().map(|(name, level)| (name.as_str(), *level));
        let unserved = duties::unserved(levels);
        if std::mem::replace(&mut *self.unserved.lock(), unserved.clone()) == unserved {
            return;
        }
        if unserved.is_empty() {
            tracing::info!("all features in use are served, and none has the directories cordoned");
            return;
        }
        match image.metadata_version().has_cordoned_dirs() {
            true => tracing::warn!(
                features = unserved,
                "features are in use that this broker does not serve: its directories are cordoned, and get no new \
                 replicas"
            ),
            false => tracing::warn!(
                features = unserved,
                "features are in use that this broker does not serve, and metadata.version is too low to cordon its \
                 directories"
            ),
        }
    }

    /// What the cluster asks of this broker, which runs, and cannot get.
    fn act_on(&self, broker: &Broker, unmet: Vec<Unmet>) {
        for unmet in unmet {
            if let Unmet::Replicas { .. } = unmet {
                // Nothing is wrong with following these partitions. Whoever needs a coordinator of one that is led here
                // does not get one until it has moved, and this broker does not start again.
                let reason = unmet.to_string();
                if std::mem::replace(&mut *self.said.lock(), reason.clone()) != reason {
                    tracing::error!(reason, "this broker got replicas that it cannot coordinate");
                }
                continue;
            }
            tracing::error!(reason = %unmet, "this broker stops");
            broker.node.fail(&unmet.to_string());
        }
    }
}

impl MetadataPublisher for Publication {
    fn publish(&self, update: Update) {
        let Some(broker) = self.broker() else { return };
        {
            let is_serving = self.is_serving.lock();
            match *is_serving {
                true => {
                    let is_concerned = update.changes.acls || !update.changes.partitions.is_empty();
                    let unmet = match is_concerned {
                        true => duties::unmet(&update.new, broker.node.id()),
                        false => Vec::new(),
                    };
                    broker.publish(update);
                    self.act_on(&broker, unmet);
                }
                false => broker.node.set_image(Arc::new(update.new)),
            }
        }
        let image = broker.node.image().0;
        self.log_unserved(&image);
        let Some(remote) = broker.control.controller().remote() else { return };
        remote.life.set_cordoned(cordoned(
            broker.replicas.logs(),
            &broker.node.settings().config,
            &image,
        ));
        if let Err(error) = remote.life.metadata_changed(&image) {
            tracing::error!(%error, "this broker stops");
            broker.node.fail(&error.to_string());
        }
    }
}

/// The directories that get no new replicas: all of them where features are in use that this broker does not serve.
pub(crate) fn cordoned(
    logs: &LogManager,
    config: &BrokerConfig,
    image: &MetadataImage,
) -> Vec<Uuid> {
    // Before the metadata is known, it may be anything.
    let is_unknown = image.features.metadata_version.is_none();
    let levels = image.features.levels.iter().map(|(name, level)| (name.as_str(), *level));
    match is_unknown || duties::must_be_cordoned(levels) {
        true => logs.dirs().iter().map(|dir| dir.id()).collect(),
        false => crate::control::registration::cordoned(logs, config),
    }
}

/// A start that is not at its end yet: if it is given up, its tasks end.
struct Starting(Arc<Broker>, bool);

impl Drop for Starting {
    fn drop(&mut self) {
        if !self.1 {
            self.0.node.stop();
        }
    }
}

/// Registers the broker, catches up with the metadata, opens what it says is here, and waits until the controllers
/// let clients come, until `deadline` at most; `accept` has them come. Gives the tasks that go on until the broker stops.
pub(crate) async fn join(
    broker: &Arc<Broker>,
    publication: &Arc<Publication>,
    observer: ObserverTask,
    deadline: tokio::time::Instant,
    accept: impl FnOnce(&Arc<Broker>) -> Result<Vec<JoinHandle<()>>, String>,
) -> Result<Vec<JoinHandle<()>>, String> {
    let mut starting = Starting(Arc::clone(broker), false);
    let mut tasks = vec![follow(broker, observer), live(broker)];
    let joined = tokio::time::timeout_at(deadline, joined(broker, publication, &mut tasks, accept));
    let joined = joined.await.unwrap_or_else(|_| {
        let time_max = broker.node.settings().config.startup_time_max_ms();
        Err(format!("not started within server.max.startup.time.ms={time_max}"))
    });
    if joined.is_err() {
        // Nothing of it goes on, so that the directories can be given back.
        broker.node.stop();
        for task in tasks.drain(..) {
            let _ = task.await;
        }
    }
    starting.1 = true;
    joined.map(|()| tasks)
}

async fn joined(
    broker: &Arc<Broker>,
    publication: &Arc<Publication>,
    tasks: &mut Vec<JoinHandle<()>>,
    accept: impl FnOnce(&Arc<Broker>) -> Result<Vec<JoinHandle<()>>, String>,
) -> Result<(), String> {
    let Some(remote) = broker.control.controller().remote() else { return Ok(()) };
    let mut state = remote.life.state();
    reach(broker, &mut state, BrokerState::Recovery).await?;
    {
        let publication = Arc::clone(publication);
        let served = tokio::task::spawn_blocking(move || publication.serve()).await;
        served.map_err(|error| error.to_string())??;
    }
    // What was found elsewhere than the metadata says, and what failed meanwhile.
    tasks.push(
        broker.node.spawn_until_stopped(crate::control::directories::report(Arc::clone(broker))),
    );
    broker.control.directories().wake();
    // Before the controllers tell of it: who has heard must not be refused.
    tasks.extend(accept(broker)?);
    remote.life.ready();
    reach(broker, &mut state, BrokerState::Running).await
}

/// Waits until the broker has come so far; the reason if it stops instead.
async fn reach(
    broker: &Arc<Broker>,
    state: &mut tokio::sync::watch::Receiver<BrokerState>,
    wanted: BrokerState,
) -> Result<(), String> {
    let mut shutdown = broker.node.subscribe_shutdown();
    tokio::select! {
        _ = state.wait_for(|state| *state >= wanted) => Ok(()),
        _ = shutdown.wait_for(|stop| *stop) => {
            Err(broker.node.fatal().unwrap_or_else(|| "the broker was stopped".into()))
        }
    }
}

/// Follows the metadata log.
fn follow(broker: &Arc<Broker>, observer: ObserverTask) -> JoinHandle<()> {
    let broker = Arc::clone(broker);
    tokio::spawn(async move {
        let mut shutdown = broker.node.subscribe_shutdown();
        let stopped = async move {
            let _ = shutdown.wait_for(|stop| *stop).await;
        };
        let failure = match CatchPanic(observer.run(stopped)).await {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(()) => {
                broker.node.metrics().panics.add(1);
                return broker
                    .node
                    .fail("what follows the metadata log panicked; see the message above");
            }
        };
        tracing::error!(%failure, "this broker knows nothing new from here on");
        match broker.control.controller().remote() {
            // Others go on without it. What it has is still there for who repairs it.
            Some(remote)
                if !failure.is_fatal && *remote.life.state().borrow() >= BrokerState::Running =>
            {
                remote.life.faulty();
            }
            _ => broker.node.fail(&failure.to_string()),
        }
    })
}

/// Talks to the controllers.
fn live(broker: &Arc<Broker>) -> JoinHandle<()> {
    let served = Arc::clone(broker);
    broker.node.spawn_until_stopped(async move {
        let Some(remote) = served.control.controller().remote() else { return };
        let metadata = || (remote.status().applied, served.node.image().0);
        if let Err(error) = remote.life.run(&remote.heartbeats, metadata).await {
            tracing::error!(%error, "this broker stops");
            served.node.fail(&error.to_string());
        }
    })
}

/// Waits until what this broker leads has moved to others.
pub(crate) async fn leave(broker: &Arc<Broker>, remote: &RemoteController) {
    if broker.node.is_stopping() || !broker.node.settings().config.controlled_shutdown() {
        return;
    }
    if remote.life.shut_down() {
        return;
    }
    let mut state = remote.life.state();
    let left = reach(broker, &mut state, BrokerState::ShuttingDown);
    let silence = async {
        while remote.life.unheard() < UNHEARD_MAX {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    tokio::select! {
        left = left => {
            if left.is_ok() {
                name_leaders(broker).await;
            }
            return;
        }
        () = tokio::time::sleep(CONTROLLED_SHUTDOWN) => {}
        () = silence => {}
    }
    tracing::warn!("the controllers have not let this broker go: it stops nevertheless");
}

/// Serves on for a moment: clients that have not heard who leads now are told with the next request that they send
/// here, where a connection that breaks would have them ask for metadata. It ends when nobody has asked for a while.
async fn name_leaders(broker: &Arc<Broker>) {
    let deadline = tokio::time::Instant::now() + NAME_LEADERS_MAX;
    let mut named = broker.node.metrics().leader_hints.get();
    let mut shutdown = broker.node.subscribe_shutdown();
    while tokio::time::Instant::now() < deadline {
        tokio::select! {
            () = tokio::time::sleep(NAME_LEADERS_QUIET) => {}
            _ = shutdown.wait_for(|stop| *stop) => return,
        }
        let now = broker.node.metrics().leader_hints.get();
        if now == named {
            return;
        }
        named = now;
    }
}
