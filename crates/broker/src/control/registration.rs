//! The broker's registration, and how an embedded controller registers and unfences its broker. Controllers of other nodes
//! get the same requests from `membership`.

use std::sync::Arc;

use thalweg_log::LogDir;
use thalweg_metadata::controller::ControllerRequest;
use thalweg_wire::Uuid;
use thalweg_wire::messages::broker_registration_request::{Feature, Listener};
use thalweg_wire::messages::{
    BrokerHeartbeatRequest, BrokerRegistrationRequest, ControllerRegistrationRequest,
    controller_registration_request,
};

use crate::control::kraft::EmbeddedController;
use crate::control::{Control, directories, membership};
use crate::node::settings::cordoned_dirs;

/// Security protocol PLAINTEXT.
const PLAINTEXT: i16 = 0;

/// What the broker registers with.
#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) node_id: i32,
    pub(crate) incarnation: Uuid,
    /// Name, host and port of each listener.
    pub(crate) endpoints: Vec<(String, String, u16)>,
    pub(crate) rack: Option<String>,
    pub(crate) directories: Vec<Uuid>,
    pub(crate) previous_broker_epoch: i64,
    pub(crate) cluster_id: String,
}

impl Registration {
    /// The request to a controller.
    pub(crate) fn request(&self) -> BrokerRegistrationRequest {
        BrokerRegistrationRequest {
            broker_id: self.node_id,
            cluster_id: self.cluster_id.clone(),
            incarnation_id: self.incarnation,
            listeners: self
                .endpoints
                .iter()
                .map(|(name, host, port)| Listener {
                    name: name.clone(),
                    host: host.clone(),
                    port: *port,
                    security_protocol: PLAINTEXT,
                    ..Default::default()
                })
                .collect(),
            features: thalweg_metadata::features::SUPPORTED
                .iter()
                .map(|range| Feature {
                    name: range.name.to_owned(),
                    min_supported_version: range.min,
                    max_supported_version: range.max,
                    ..Default::default()
                })
                .collect(),
            rack: self.rack.clone(),
            is_migrating_zk_broker: false,
            log_dirs: self.directories.clone(),
            previous_broker_epoch: self.previous_broker_epoch,
            ..Default::default()
        }
    }
}

/// Registers the embedded controller, at its listener, and the broker; says where partitions lie, and unfences
/// the broker.
pub(crate) fn register_with_own_controller(
    control: &Arc<Control>,
    controller: &EmbeddedController,
    registration: &Registration,
    (name, host, port): (String, String, u16),
) -> Result<(), String> {
    let features = || thalweg_metadata::features::SUPPORTED.iter();
    let request = ControllerRegistrationRequest {
        controller_id: registration.node_id,
        incarnation_id: registration.incarnation,
        listeners: vec![controller_registration_request::Listener {
            name,
            host,
            port,
            security_protocol: PLAINTEXT,
            ..Default::default()
        }],
        features: features()
            .map(|range| controller_registration_request::Feature {
                name: range.name.to_owned(),
                min_supported_version: range.min,
                max_supported_version: range.max,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    let answer = send(controller, &request)?;
    // Levels before 3.7 know no controllers' registrations.
    if answer.error_code.is_err()
        && answer.error_code != thalweg_wire::ErrorCode::UNSUPPORTED_VERSION
    {
        return Err(format!("the controller was not registered: {}", answer.error_code));
    }

    let request = registration.request();
    let answer = send(controller, &request)?;
    if answer.error_code.is_err() {
        return Err(format!("the broker was not registered: {}", answer.error_code));
    }
    control.node.set_broker_epoch(answer.broker_epoch);

    directories::report_noted(control, controller);
    let answer = send(controller, &heartbeat(control))?;
    if answer.error_code.is_err() || answer.is_fenced {
        return Err(format!("the broker stays fenced: {}", answer.error_code));
    }
    Ok(())
}

/// Has the controller decide while this thread waits; the error is for the log.
fn send<R: ControllerRequest>(
    controller: &EmbeddedController,
    request: &R,
) -> Result<R::Response, String> {
    controller.send_blocking(request).map_err(|error| error.to_string())
}

/// The heartbeat of a broker that serves.
fn heartbeat(control: &Control) -> BrokerHeartbeatRequest {
    BrokerHeartbeatRequest {
        broker_id: control.node.id(),
        broker_epoch: control.node.broker_epoch(),
        current_metadata_offset: control.node.image().provenance.offset,
        want_fence: false,
        want_shut_down: false,
        offline_log_dirs: offline(&control.dirs),
        cordoned_log_dirs: Some(cordoned_dirs(&control.dirs, &control.node.settings().config)),
        ..Default::default()
    }
}

/// Ids of the directories that are offline, as far as they were ever read.
fn offline(dirs: &[Arc<LogDir>]) -> Vec<Uuid> {
    let failed = dirs.iter().filter(|dir| dir.check().is_err());
    failed.map(|dir| dir.id()).filter(|id| !id.is_zero()).collect()
}

/// Reports to the controller which directories are cordoned and which are offline. Partitions in an offline directory get
/// no leader here, and the directory leaves the registration.
pub(crate) async fn report_directories(control: &Arc<Control>) {
    if let Some(life) = &control.life {
        life.directories_lost(offline(&control.dirs));
        let image = control.node.image();
        let config = &control.node.settings().config;
        life.set_cordoned(membership::cordoned(&control.dirs, config, &image));
        return;
    }
    if control.node.image().cluster.broker(control.node.id()).is_none_or(|node| node.fenced) {
        // Not unfenced yet: the heartbeat that unfences it says the same.
        return;
    }
    let _heartbeat = control.heartbeat.lock().await;
    match control.send(heartbeat(control)).await {
        Ok(answer) if answer.error_code.is_ok() => {}
        Ok(answer) => {
            tracing::error!(error = %answer.error_code,
                "the state of the log directories was not taken note of");
        }
        Err(error) => {
            tracing::error!(%error, "the state of the log directories is not reported");
        }
    }
}
