//! Membership in a cluster whose controllers run on other nodes: the settings of it, the broker's life in it (`life`), and
//! what the cluster may ask of this broker (`duties`). How the broker starts and stops there is in `boot::joined`.

mod duties;
mod life;
mod probe;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thalweg_log::LogDir;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::image::MetadataImage;
use thalweg_metadata::lifecycle;
use thalweg_replication::observer::{self, Endpoint};
use thalweg_wire::Uuid;
use thalweg_wire::messages::BrokerRegistrationRequest;

pub(crate) use duties::{NOT_SERVED, Unmet, check, must_be_cordoned, unmet, unserved};
pub(crate) use life::Life;
pub(crate) use probe::{Cluster, describe};

use crate::control::kraft::QuorumConfig;
use crate::net::outgoing::{ANSWER_MAX, Timeouts};
use crate::node::settings::cordoned_dirs;

/// How the quorum is reached, by the configuration.
pub(crate) fn quorum_config(config: &BrokerConfig) -> QuorumConfig {
    let milliseconds = |value: i32| u64::try_from(value).unwrap_or(0);
    let endpoint = |(host, port)| Endpoint { host, port };
    let voters = config.voters().into_iter();
    QuorumConfig {
        bootstrap: config.quorum_addresses().into_iter().map(endpoint).collect(),
        voters: voters.map(|it| (it.id, endpoint((it.host, it.port)))).collect::<BTreeMap<_, _>>(),
        listener: config.controller_listener_names().first().cloned().unwrap_or_default(),
        retry_backoff_ms: milliseconds(config.controller_quorum_retry_backoff_ms()).max(1),
        request_timeout: Duration::from_millis(
            milliseconds(config.controller_quorum_request_timeout_ms()).max(1),
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
        fetch_max_bytes: config.controller_quorum_fetch_max_bytes(),
        fetch_snapshot_max_bytes: config.controller_quorum_fetch_snapshot_max_bytes(),
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
        heartbeat_interval_ms: milliseconds(config.broker_heartbeat_interval_ms().into()).max(1),
        registration_timeout_ms: milliseconds(
            config.initial_broker_registration_timeout_ms().into(),
        ),
        directory_timeout_ms: milliseconds(config.log_dir_failure_timeout_ms()),
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

/// The directories that get no new replicas: all of them where features are in use that this broker does not serve.
pub(crate) fn cordoned(
    dirs: &[Arc<LogDir>],
    config: &BrokerConfig,
    image: &MetadataImage,
) -> Vec<Uuid> {
    // Before the metadata is known, it may be anything.
    let is_unknown = image.features.metadata_version.is_none();
    let levels = image.features.levels.iter().map(|(name, level)| (name.as_str(), *level));
    match is_unknown || duties::must_be_cordoned(levels) {
        true => dirs.iter().map(|dir| dir.id()).collect(),
        false => cordoned_dirs(dirs, config),
    }
}
