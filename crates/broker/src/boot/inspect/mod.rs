//! What a start would do, and what stands in its way, before it: for `thalweg migrate check`, which looks at a Java
//! broker whose place is to be taken, and for `thalweg serve --dry-run`.
//!
//! Nothing is written, locked or registered. What is refused is decided by the functions by which a start refuses, so
//! the two cannot disagree. The metadata is read into a directory of its own, which goes at the end; the controllers
//! are asked as by a client that is no replica.

mod cluster;
mod configs;
mod directories;
mod metadata;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use thalweg_log::{DirSurvey, LockHolder};
use thalweg_metadata::config::{BrokerConfig, Properties};
use thalweg_metadata::features::METADATA_VERSION;
use thalweg_metadata::image::MetadataImage;
use thalweg_wire::Uuid;

use crate::boot::{listen, open};
use crate::control::membership::{self, Cluster};
use crate::net::hosts;

pub use cluster::Reassignment;

/// How much something matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The start refuses it.
    Refused,
    /// It could not be found out.
    NotChecked,
    /// The broker starts, and does not do it.
    NotHonoured,
    /// It is good to know.
    Note,
}

impl Severity {
    /// For people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Refused => "refused",
            Severity::NotChecked => "not checked",
            Severity::NotHonoured => "not honoured",
            Severity::Note => "note",
        }
    }
}

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Area {
    /// The configuration.
    Config,
    /// The log directories.
    Directories,
    /// The cluster and its metadata.
    Cluster,
}

impl Area {
    /// For people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Area::Config => "config",
            Area::Directories => "directories",
            Area::Cluster => "cluster",
        }
    }
}

/// Something that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub area: Area,
    /// What is so.
    pub what: String,
    /// What to do about it.
    pub action: String,
}

/// Findings of one area, as they come.
struct Findings<'a> {
    area: Area,
    all: &'a mut Vec<Finding>,
}

impl Findings<'_> {
    fn add(&mut self, severity: Severity, what: impl Into<String>, action: impl Into<String>) {
        let (what, action) = (what.into(), action.into());
        self.all.push(Finding { severity, area: self.area, what, action });
    }

    fn refused(&mut self, what: impl Into<String>, action: impl Into<String>) {
        self.add(Severity::Refused, what, action);
    }

    fn not_honoured(&mut self, what: impl Into<String>, action: impl Into<String>) {
        self.add(Severity::NotHonoured, what, action);
    }

    fn note(&mut self, what: impl Into<String>, action: impl Into<String>) {
        self.add(Severity::Note, what, action);
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether a broker runs on these directories and is to be stopped before the start: then it is no obstacle that it
    /// runs.
    pub is_takeover: bool,
    /// Not to ask the controllers: what the directories say must do.
    pub offline: bool,
    /// How long the controllers may take to answer.
    pub timeout: Duration,
}

/// Where a listener listens, and where clients are told to come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListenerState {
    /// Its name.
    pub name: String,
    /// Its security protocol.
    pub protocol: &'static str,
    /// Where it listens.
    pub listens: String,
    /// Where clients are told to come; port 0 is one that the system chooses.
    pub advertised: String,
}

/// A log directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirState {
    /// As configured.
    pub path: PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// `directory.id`, if it has one.
    pub id: Option<Uuid>,
    /// `cluster.id`, if it has one.
    pub cluster_id: Option<String>,
    /// Partitions in it.
    pub partitions: usize,
    /// Whether the metadata log is in it.
    pub has_metadata_log: bool,
    /// Process that uses it; 0 for one that this machine does not tell.
    pub used_by: Option<i32>,
    /// Whether the last stop was a clean one.
    pub is_clean: bool,
}

/// The cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct ClusterState {
    /// Its id.
    pub id: String,
    /// Controllers and where they are reached.
    pub controllers: BTreeMap<i32, String>,
    /// The active controller, if it is known.
    pub active_controller: Option<i32>,
    /// Levels of the features that are in use.
    pub features: BTreeMap<String, i16>,
    /// Whether this broker would ask for no replicas to be placed on it.
    pub is_cordoned: bool,
    /// The registration of this node's id, if there is one.
    pub registration: Option<Registration>,
    /// Partitions that have a replica on this node.
    pub replicas: Option<usize>,
}

/// What the metadata says of this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registration {
    /// Its broker epoch.
    pub epoch: i64,
    /// Whether it is fenced, as one that does not run is.
    pub is_fenced: bool,
    /// Where it is reached.
    pub endpoints: Vec<String>,
}

/// What a start would find.
#[derive(Debug, Default)]
pub struct Inspection {
    /// What was found, by weight.
    pub findings: Vec<Finding>,
    /// `node.id`, if the configuration can be read.
    pub node_id: Option<i32>,
    /// Whether the node would have a controller of its own.
    pub has_controller: bool,
    /// Whether a new cluster would be founded.
    pub is_new_cluster: bool,
    /// `broker.rack`
    pub rack: Option<String>,
    /// The listeners for clients and brokers.
    pub listeners: Vec<ListenerState>,
    /// The log directories, the metadata log's last if it is another one.
    pub directories: Vec<DirState>,
    /// The broker epoch of the last clean stop, which the controllers are told.
    pub previous_broker_epoch: Option<i64>,
    /// The cluster, as far as it is known.
    pub cluster: Option<ClusterState>,
    /// Replicas that have to move to other brokers before the start.
    pub reassignments: Vec<Reassignment>,
}

impl Inspection {
    /// Whether there is a finding of this weight.
    pub fn has(&self, severity: Severity) -> bool {
        self.findings.iter().any(|finding| finding.severity == severity)
    }
}

/// Looks at what a start with this configuration would find.
pub async fn inspect(props: Properties, options: &Options) -> Inspection {
    let mut inspection = Inspection::default();
    let config = configs::read(props, &mut inspection.findings);
    if let Some(config) = config {
        look(&config, options, &mut inspection).await;
    }
    // Of two of the same weight, the one that was looked at first.
    inspection.findings.sort_by_key(|finding| (finding.severity, finding.area));
    inspection
}

async fn look(config: &BrokerConfig, options: &Options, inspection: &mut Inspection) {
    inspection.node_id = Some(config.node_id());
    inspection.has_controller = config.roles().controller;
    inspection.rack = config.broker_rack().map(str::to_owned);
    inspection.listeners = listeners(config);
    if !options.is_takeover {
        configs::sockets(config, &mut inspection.findings);
    }

    let (paths, metadata_dir) = open::directories(config);
    let mut all = paths.clone();
    if !all.contains(&metadata_dir) {
        all.push(metadata_dir.clone());
    }
    let surveyed = tokio::task::spawn_blocking(move || {
        all.iter().map(|path| DirSurvey::of(path)).collect::<Vec<_>>()
    });
    let Ok(surveys) = surveyed.await else {
        directories::unknown(&mut inspection.findings);
        return;
    };
    inspection.directories = surveys.iter().map(dir_state).collect();
    inspection.previous_broker_epoch = directories::previous_broker_epoch(&surveys, paths.len());
    directories::check(&surveys, config, options.is_takeover, &mut inspection.findings);

    let own_cluster = open::existing_cluster_id(paths.iter().chain([&metadata_dir]));
    let cluster = match (config.roles().controller, options.offline) {
        (true, _) => {
            inspection.is_new_cluster = own_cluster.is_none();
            directories::check_founding(&paths, &metadata_dir, &mut inspection.findings);
            None
        }
        (false, true) => None,
        (false, false) => cluster::probe(config, options.timeout, &mut inspection.findings).await,
    };
    let image = metadata::image(
        config,
        options,
        cluster.as_ref(),
        &metadata_dir,
        own_cluster.as_deref(),
        &mut inspection.findings,
    );
    let (image, active) = image.await;
    if let Some(cluster) = &cluster {
        cluster::check(cluster, config, own_cluster.as_deref(), &mut inspection.findings);
    }
    match &image {
        Some(image) => {
            cluster::check_metadata(image, config, &mut inspection.findings);
            directories::check_against(&surveys, image, config, &mut inspection.findings);
            let (moves, stuck) = match config.roles().controller {
                true => Default::default(),
                false => cluster::reassignments(image, config.node_id()),
            };
            inspection.reassignments = moves;
            cluster::report_stuck(&stuck, &mut inspection.findings);
        }
        None if !config.roles().controller => {
            directories::check_alone(&surveys, &mut inspection.findings);
        }
        None => {}
    }
    inspection.cluster =
        state(config, cluster.as_ref(), image.as_ref(), own_cluster.as_deref(), active);
}

fn listeners(config: &BrokerConfig) -> Vec<ListenerState> {
    let each = config.broker_listeners().into_iter().map(|endpoint| {
        let (host, port) = listen::advertised(config, endpoint, endpoint.port);
        ListenerState {
            name: endpoint.listener.clone(),
            protocol: endpoint.protocol.name(),
            listens: match endpoint.host.as_deref().unwrap_or_default() {
                host if hosts::is_wildcard(host) => format!("[::]:{}", endpoint.port),
                host if host.contains(':') => format!("[{host}]:{}", endpoint.port),
                host => format!("{host}:{}", endpoint.port),
            },
            advertised: format!("{host}:{port}"),
        }
    });
    each.collect()
}

fn dir_state(survey: &DirSurvey) -> DirState {
    let meta = survey.meta.as_ref().and_then(|meta| meta.as_ref().ok());
    DirState {
        path: survey.path.clone(),
        exists: survey.exists,
        id: meta.and_then(|meta| meta.directory_id),
        cluster_id: meta.map(|meta| meta.cluster_id.clone()),
        partitions: survey.partitions.len(),
        has_metadata_log: survey.has_metadata_log,
        used_by: match survey.lock {
            Some(LockHolder::Process(id)) => Some(id),
            Some(LockHolder::ThisProcess) => i32::try_from(std::process::id()).ok(),
            Some(LockHolder::Nobody) | None => None,
        },
        is_clean: survey.is_clean,
    }
}

fn state(
    config: &BrokerConfig,
    cluster: Option<&Cluster>,
    image: Option<&MetadataImage>,
    own_cluster: Option<&str>,
    active: Option<i32>,
) -> Option<ClusterState> {
    let node_id = config.node_id();
    let id = cluster.map(|cluster| cluster.id.as_str()).or(own_cluster)?;
    let controllers = match (cluster, image) {
        (Some(cluster), _) => {
            let known = cluster.controllers.iter();
            known.map(|(id, endpoint)| (*id, endpoint.to_string())).collect()
        }
        (None, Some(image)) => {
            let registered = image.cluster.controllers.values();
            let address = |endpoint: &thalweg_metadata::image::ListenerEndpoint| {
                format!("{}:{}", endpoint.host, endpoint.port)
            };
            let each = registered.map(|controller| {
                (controller.id, controller.endpoints.first().map(address).unwrap_or_default())
            });
            each.collect()
        }
        (None, None) => BTreeMap::new(),
    };
    let features: BTreeMap<String, i16> = match (cluster, image) {
        (Some(cluster), _) => cluster.features.clone(),
        (None, Some(image)) => {
            let version = image.features.metadata_version;
            let version = version.map(|it| (METADATA_VERSION.to_owned(), it.level()));
            image.features.levels.clone().into_iter().chain(version).collect()
        }
        (None, None) => BTreeMap::new(),
    };
    let levels = features.iter().map(|(name, level)| (name.as_str(), *level));
    let is_cordoned = !config.roles().controller && membership::must_be_cordoned(levels);
    let registration = image.and_then(|image| image.cluster.broker(node_id));
    Some(ClusterState {
        id: id.to_owned(),
        controllers,
        active_controller: active,
        features,
        is_cordoned,
        registration: registration.map(|broker| Registration {
            epoch: broker.epoch,
            is_fenced: broker.fenced,
            endpoints: broker
                .endpoints
                .iter()
                .map(|it| format!("{}://{}:{}", it.listener, it.host, it.port))
                .collect(),
        }),
        replicas: image.map(|image| cluster::replicas_on(image, node_id).count()),
    })
}

#[cfg(test)]
mod testing {
    use thalweg_metadata::config::BrokerConfig;
    use thalweg_metadata::config::broker::Mode;

    /// A broker that would join.
    pub(super) fn config_of_node_4(log_dirs: &str) -> BrokerConfig {
        let props = [
            ("process.roles", "broker"),
            ("node.id", "4"),
            ("controller.quorum.bootstrap.servers", "c:9093"),
            ("controller.listener.names", "CONTROLLER"),
            ("log.dirs", log_dirs),
        ];
        let props = props.map(|(name, value)| (name.to_owned(), value.to_owned()));
        BrokerConfig::new(props.into(), Mode::Embedded).unwrap()
    }
}
