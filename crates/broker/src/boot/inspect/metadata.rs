//! The cluster's metadata as it is now, or as a broker's own copy had it, for who only wants to read it.
//!
//! It goes into a directory of its own in the system's directory for temporary files. The controllers are asked as by
//! somebody who is no replica (-1), whom they do not take note of.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thalweg_log::{CLUSTER_METADATA_TOPIC, LogConfig, LogManager, ManagerConfig};
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::features::MetadataVersion;
use thalweg_metadata::image::{MetadataImage, Update};
use thalweg_replication::Epochs;
use thalweg_replication::observer::{Endpoint, Settings};
use thalweg_wire::Uuid;
use thalweg_wire::messages::DescribeQuorumRequest;
use thalweg_wire::messages::describe_quorum_request::{PartitionData, TopicData};
use tokio::time::Instant;

use super::{Area, Finding, Findings, Options, Severity};
use crate::boot::listen;
use crate::control::kraft::{
    MetadataLogError, ObserverLog, ObserverTask, Owner, QuorumStatus, Retention, sole_voter,
};
use crate::control::membership::{self, Cluster};
use crate::net::outgoing::Outgoing;
use crate::node::clock::Clock;
use crate::node::metadata_listener::MetadataListener;
use crate::node::random::Random;

/// Who reads without being a replica.
const NO_REPLICA: i32 = -1;
/// Pause before the active controller is asked again.
const RETRY: Duration = Duration::from_millis(100);
/// Checkpoints are not written, and nothing is removed.
const KEEP: Retention =
    Retention { snapshot_after_bytes: u64::MAX, snapshot_interval_ms: 0, bytes: -1, ms: -1 };

/// The newest metadata that can be had, and the active controller. What stands in the way of it is told.
pub(super) async fn image(
    config: &BrokerConfig,
    options: &Options,
    cluster: Option<&Cluster>,
    metadata_dir: &Path,
    own_cluster: Option<&str>,
    findings: &mut Vec<Finding>,
) -> (Option<MetadataImage>, Option<i32>) {
    let mut found = Findings { area: Area::Cluster, all: findings };
    if let Some(cluster) = cluster {
        match follow(config, cluster, options.timeout).await {
            Ok((image, active)) => return (Some(image), active),
            Err(reason) => found.add(
                Severity::NotChecked,
                format!("the cluster's metadata cannot be read: {reason}"),
                "check again when the active controller can be reached",
            ),
        }
    }
    let log = metadata_dir.join(format!("{CLUSTER_METADATA_TOPIC}-0"));
    let cluster_id = own_cluster.map(str::to_owned);
    let (Some(cluster_id), true) = (cluster_id, log.exists()) else { return (None, None) };
    let has_controller = config.roles().controller;
    let owner = has_controller.then(|| owner(config, metadata_dir));
    let read = tokio::task::spawn_blocking(move || own_copy(&log, &cluster_id, owner.as_ref()));
    match read.await.unwrap_or_else(|panic| Err(Failed::Unreadable(panic.to_string()))) {
        Ok(image) => {
            if !has_controller {
                let at = image.provenance;
                found.note(
                    format!(
                        "what is said of the cluster is from this broker's own copy of the metadata, up to offset \
                         {} of epoch {}",
                        at.offset, at.epoch
                    ),
                    "check again with the controllers",
                );
            }
            (Some(image), has_controller.then(|| config.node_id()))
        }
        Err(Failed::Refused(error)) => {
            found.refused(error.to_string(), "leave this node to Apache Kafka");
            (None, None)
        }
        Err(Failed::Unreadable(reason)) => {
            let what = format!("this node's copy of the metadata cannot be read: {reason}");
            match has_controller {
                true => {
                    found.refused(what, "start the former broker again, and stop it with SIGTERM")
                }
                // It begins anew with what the controllers have.
                false => found.note(what, "nothing: a start fetches it from the controllers"),
            }
            (None, None)
        }
    }
}

/// Whose metadata log it is, for one that has a controller of its own.
fn owner(config: &BrokerConfig, metadata_dir: &Path) -> Owner {
    let meta = std::fs::read(metadata_dir.join("meta.properties")).ok();
    let meta = meta.and_then(|bytes| thalweg_log::MetaProperties::parse(&bytes).ok());
    Owner {
        node_id: config.node_id(),
        directory_id: meta.and_then(|meta| meta.directory_id).unwrap_or(Uuid::ZERO),
        listener: listen::controller_listener(config, &[]),
        static_voters: config.voters().iter().map(|voter| voter.id).collect(),
        release: MetadataVersion::named(config.format_release_version())
            .unwrap_or(MetadataVersion::LATEST),
    }
}

/// A metadata log in a directory that goes with it.
struct Copy {
    log: ObserverLog,
    // In this order: the directory goes last.
    _logs: LogManager,
    _dir: TemporaryDir,
}

impl Copy {
    fn open(dir: TemporaryDir, cluster_id: &str, now_ms: i64) -> Result<Copy, String> {
        let mut config =
            ManagerConfig::new(vec![dir.0.clone()], NO_REPLICA, LogConfig::default(), now_ms);
        config.cluster_id = Some(cluster_id.to_owned());
        let (logs, _) = LogManager::open(config).map_err(|error| error.to_string())?;
        let kept = LogConfig {
            retention_bytes: -1,
            retention_ms: -1,
            max_message_bytes: u32::MAX,
            ..LogConfig::default()
        };
        let log = ObserverLog::open(&logs, logs.metadata_dir(), kept, KEEP, now_ms);
        let log = log.map_err(|error| error.to_string())?;
        Ok(Copy { log, _logs: logs, _dir: dir })
    }
}

/// Why a node's own copy says nothing.
enum Failed {
    /// The start would refuse it.
    Refused(MetadataLogError),
    Unreadable(String),
}

/// The metadata as a node's own log has it, which may be in use: copied first, so that nothing of it changes. Of a log
/// that this node alone decides about, `owner` says whose it must be.
fn own_copy(log: &Path, cluster_id: &str, owner: Option<&Owner>) -> Result<MetadataImage, Failed> {
    let unreadable = |error: String| Failed::Unreadable(error);
    let failed = |error: io::Error| Failed::Unreadable(error.to_string());
    let dir = TemporaryDir::new().map_err(failed)?;
    let to = dir.0.join(format!("{CLUSTER_METADATA_TOPIC}-0"));
    std::fs::create_dir(&to).map_err(failed)?;
    for entry in std::fs::read_dir(log).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        // Indexes are made anew; what is being deleted is of no use.
        let is_wanted = name.to_str().is_some_and(|name| {
            let kept = ["quorum-state", "leader-epoch-checkpoint", "partition.metadata"];
            name.ends_with(".log") || name.ends_with(".checkpoint") || kept.contains(&name)
        });
        if is_wanted {
            match std::fs::copy(entry.path(), to.join(&name)) {
                // Retention took it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => {
                    copied.map_err(failed)?;
                }
            }
        }
    }
    let mut copy = Copy::open(dir, cluster_id, Clock::new(None).wall_ms()).map_err(unreadable)?;
    let end = copy.log.log_end();
    let mut image = copy.log.image().clone();
    copy.log
        .advance_to(end, |update| image = update.new)
        .map_err(|error| Failed::Unreadable(error.to_string()))?;
    image.provenance = copy.log.image().provenance;
    if let Some(owner) = owner {
        let (voters, version) = (copy.log.voters(), copy.log.kraft_version());
        sole_voter(owner, voters, version).map_err(Failed::Refused)?;
        if image.has_acls() {
            return Err(Failed::Refused(MetadataLogError::Acls));
        }
    }
    Ok(image)
}

/// Keeps the newest image.
struct Newest(Mutex<MetadataImage>);

impl MetadataListener for Newest {
    fn apply(&self, update: Update) -> BTreeSet<Uuid> {
        *self.0.lock() = update.new;
        BTreeSet::new()
    }
}

/// The metadata as the controllers have it, as far as it was committed when this began; and the active controller.
async fn follow(
    config: &BrokerConfig,
    cluster: &Cluster,
    within: Duration,
) -> Result<(MetadataImage, Option<i32>), String> {
    let clock = Clock::new(None);
    let id = cluster.id.clone();
    let now_ms = clock.wall_ms();
    let opening = tokio::task::spawn_blocking(move || {
        let dir = TemporaryDir::new().map_err(|error| error.to_string())?;
        Copy::open(dir, &id, now_ms)
    });
    let Copy { log, _logs, _dir } = opening.await.map_err(|error| error.to_string())??;
    let newest = Arc::new(Newest(Mutex::new(log.image().clone())));
    let settings = Settings {
        replica_id: NO_REPLICA,
        ..membership::observer_settings(config, &cluster.id, Uuid::ZERO)
    };
    let listener = Arc::clone(&newest) as Arc<dyn MetadataListener>;
    let quorum = membership::quorum_config(config);
    let task = ObserverTask::new(settings, quorum, log, listener, clock);
    let mut status = task.status();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let following = tokio::spawn(task.run(async {
        let _ = stopped.await;
    }));
    let until = Instant::now() + within;
    let caught_up = async {
        let end = committed(config, &mut status).await?;
        let reached = status.wait_for(|status| status.applied + 1 >= end).await;
        // It gives the reason itself, below.
        reached.map(|status| status.leader).map_err(|_| "it is not followed any more".to_owned())
    };
    let caught_up = tokio::time::timeout_at(until, caught_up).await;
    let _ = stop.send(());
    let ended = following.await.map_err(|error| error.to_string())?;
    ended.map_err(|failure| failure.to_string())?;
    let leader = caught_up
        .map_err(|_| format!("it was not read to its end within {} s", within.as_secs_f64()))??;
    Ok((newest.0.lock().clone(), leader))
}

/// Up to where the active controller has committed the metadata.
async fn committed(
    config: &BrokerConfig,
    status: &mut tokio::sync::watch::Receiver<QuorumStatus>,
) -> Result<i64, String> {
    let partition = PartitionData { partition_index: 0, ..Default::default() };
    let topic = TopicData {
        topic_name: CLUSTER_METADATA_TOPIC.to_owned(),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = DescribeQuorumRequest { topics: vec![topic], ..Default::default() };
    let client_id: Arc<str> = format!("{}-inspect", config.node_id()).into();
    loop {
        let known = status.wait_for(|status| status.endpoint.is_some()).await;
        let endpoint: Option<Endpoint> = known.map_err(|_| "nobody leads it")?.endpoint.clone();
        let asked = async {
            let endpoint = endpoint.as_ref()?;
            let timeouts = membership::timeouts(config);
            let mut connection = Outgoing::open(endpoint, &client_id, timeouts).await.ok()?;
            let answer = connection.call(&request).await.ok()?;
            let partition = answer.topics.into_iter().next()?.partitions.into_iter().next()?;
            let is_known = answer.error_code.is_ok() && partition.error_code.is_ok();
            is_known.then_some(partition.high_watermark).filter(|end| *end >= 0)
        };
        if let Some(end) = asked.await {
            return Ok(end);
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// A directory that goes when this is dropped, which nobody else may read.
struct TemporaryDir(PathBuf);

impl TemporaryDir {
    fn new() -> io::Result<TemporaryDir> {
        let name = format!("thalweg-inspect-{}-{}", std::process::id(), Random::new().uuid());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(TemporaryDir(path))
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(dir = %self.0.display(), %error, "a temporary directory stays");
        }
    }
}
