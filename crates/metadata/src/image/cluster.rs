//! Registered brokers and controllers.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_wire::Uuid;
use thalweg_wire::messages::register_broker_record::{BrokerEndpoint, BrokerFeature};
use thalweg_wire::messages::register_controller_record::{ControllerEndpoint, ControllerFeature};
use thalweg_wire::messages::{RegisterBrokerRecord, RegisterControllerRecord};

use crate::features::MetadataVersion;

/// An address under a listener's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerEndpoint {
    /// Name of the listener.
    pub listener: String,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Number of the security protocol.
    pub security_protocol: i16,
}

/// Feature names with the lowest and highest level a node can live with.
pub type FeatureLevels = BTreeMap<String, (i16, i16)>;

/// A registered broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerRegistration {
    /// Node id.
    pub id: i32,
    /// Offset of the registration in the metadata log; tells incarnations apart.
    pub epoch: i64,
    /// Id of the running process.
    pub incarnation_id: Uuid,
    /// Addresses, in the order they were registered in.
    pub endpoints: Vec<ListenerEndpoint>,
    /// Features it supports.
    pub features: FeatureLevels,
    /// Rack.
    pub rack: Option<String>,
    /// Whether it must not lead or serve.
    pub fenced: bool,
    /// Whether it is about to stop.
    pub in_controlled_shutdown: bool,
    /// Whether it came from ZooKeeper; kept as it is.
    pub is_migrating_zk_broker: bool,
    /// Its log directories that are online, sorted.
    pub directories: Vec<Uuid>,
    /// Directories that get no new replicas; `None` if it never said.
    pub cordoned_directories: Option<Vec<Uuid>>,
}

impl BrokerRegistration {
    /// The broker a record registers.
    pub fn from_record(record: &RegisterBrokerRecord) -> BrokerRegistration {
        BrokerRegistration {
            id: record.broker_id,
            epoch: record.broker_epoch,
            incarnation_id: record.incarnation_id,
            endpoints: record
                .end_points
                .iter()
                .map(|endpoint| ListenerEndpoint {
                    listener: endpoint.name.clone(),
                    host: endpoint.host.clone(),
                    port: endpoint.port,
                    security_protocol: endpoint.security_protocol,
                })
                .collect(),
            features: record
                .features
                .iter()
                .map(|f| (f.name.clone(), (f.min_supported_version, f.max_supported_version)))
                .collect(),
            rack: record.rack.clone(),
            fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            is_migrating_zk_broker: record.is_migrating_zk_broker,
            directories: sorted(&record.log_dirs),
            cordoned_directories: record.cordoned_log_dirs.as_deref().map(sorted),
        }
    }

    /// The record that says all of this broker.
    pub fn to_record(&self, metadata_version: MetadataVersion) -> RegisterBrokerRecord {
        let with_dirs = metadata_version.has_directory_assignment();
        RegisterBrokerRecord {
            broker_id: self.id,
            is_migrating_zk_broker: self.is_migrating_zk_broker,
            incarnation_id: self.incarnation_id,
            broker_epoch: self.epoch,
            end_points: self
                .endpoints
                .iter()
                .map(|endpoint| BrokerEndpoint {
                    name: endpoint.listener.clone(),
                    host: endpoint.host.clone(),
                    port: endpoint.port,
                    security_protocol: endpoint.security_protocol,
                    ..BrokerEndpoint::default()
                })
                .collect(),
            features: self
                .features
                .iter()
                .map(|(name, (min, max))| BrokerFeature {
                    name: name.clone(),
                    min_supported_version: *min,
                    max_supported_version: *max,
                    ..BrokerFeature::default()
                })
                .collect(),
            rack: self.rack.clone(),
            fenced: self.fenced,
            in_controlled_shutdown: self.in_controlled_shutdown,
            log_dirs: if with_dirs { self.directories.clone() } else { Vec::new() },
            cordoned_log_dirs: match metadata_version.has_cordoned_dirs() {
                true => self.cordoned_directories.clone(),
                false => None,
            },
            ..RegisterBrokerRecord::default()
        }
    }

    /// The address under a listener's name.
    pub fn endpoint(&self, listener: &str) -> Option<&ListenerEndpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.listener == listener)
    }

    /// Whether a directory of this broker is online, as far as it said which are.
    pub fn has_online_directory(&self, directory: Uuid) -> bool {
        match directory {
            super::UNASSIGNED | super::MIGRATING => true,
            super::LOST => false,
            _ => self.directories.is_empty() || self.directories.contains(&directory),
        }
    }

    /// Whether a directory is left that may get new replicas.
    pub fn has_uncordoned_directory(&self) -> bool {
        match &self.cordoned_directories {
            Some(cordoned) if !self.directories.is_empty() => {
                self.directories.iter().any(|directory| !cordoned.contains(directory))
            }
            _ => true,
        }
    }

    /// The directory of a new replica: the only one there is, or the broker's choice.
    pub fn default_directory(&self) -> Uuid {
        match self.directories[..] {
            [] => super::MIGRATING,
            [only] => only,
            _ => super::UNASSIGNED,
        }
    }
}

pub(super) fn sorted(ids: &[Uuid]) -> Vec<Uuid> {
    let mut ids = ids.to_vec();
    ids.sort();
    ids
}

/// A registered controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerRegistration {
    /// Node id.
    pub id: i32,
    /// Id of the running process.
    pub incarnation_id: Uuid,
    /// Whether it could take over from ZooKeeper; kept as it is.
    pub zk_migration_ready: bool,
    /// Addresses.
    pub endpoints: Vec<ListenerEndpoint>,
    /// Features it supports.
    pub features: FeatureLevels,
}

impl ControllerRegistration {
    /// The controller a record registers.
    pub fn from_record(record: &RegisterControllerRecord) -> ControllerRegistration {
        ControllerRegistration {
            id: record.controller_id,
            incarnation_id: record.incarnation_id,
            zk_migration_ready: record.zk_migration_ready,
            endpoints: record
                .end_points
                .iter()
                .map(|endpoint| ListenerEndpoint {
                    listener: endpoint.name.clone(),
                    host: endpoint.host.clone(),
                    port: endpoint.port,
                    security_protocol: endpoint.security_protocol,
                })
                .collect(),
            features: record
                .features
                .iter()
                .map(|f| (f.name.clone(), (f.min_supported_version, f.max_supported_version)))
                .collect(),
        }
    }

    /// The record that says all of this controller.
    pub fn to_record(&self) -> RegisterControllerRecord {
        RegisterControllerRecord {
            controller_id: self.id,
            incarnation_id: self.incarnation_id,
            zk_migration_ready: self.zk_migration_ready,
            end_points: self
                .endpoints
                .iter()
                .map(|endpoint| ControllerEndpoint {
                    name: endpoint.listener.clone(),
                    host: endpoint.host.clone(),
                    port: endpoint.port,
                    security_protocol: endpoint.security_protocol,
                    ..ControllerEndpoint::default()
                })
                .collect(),
            features: self
                .features
                .iter()
                .map(|(name, (min, max))| ControllerFeature {
                    name: name.clone(),
                    min_supported_version: *min,
                    max_supported_version: *max,
                    ..ControllerFeature::default()
                })
                .collect(),
            ..RegisterControllerRecord::default()
        }
    }
}

/// All registered nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterImage {
    /// Brokers by id.
    pub brokers: BTreeMap<i32, Arc<BrokerRegistration>>,
    /// Controllers by id.
    pub controllers: BTreeMap<i32, Arc<ControllerRegistration>>,
}

impl ClusterImage {
    /// A broker.
    pub fn broker(&self, id: i32) -> Option<&Arc<BrokerRegistration>> {
        self.brokers.get(&id)
    }

    /// Whether a broker is registered and not fenced.
    pub fn is_unfenced(&self, id: i32) -> bool {
        self.brokers.get(&id).is_some_and(|broker| !broker.fenced)
    }

    /// Whether a broker may lead and be in sync: registered, not fenced, not about to stop.
    pub fn is_active(&self, id: i32) -> bool {
        self.brokers.get(&id).is_some_and(|b| !b.fenced && !b.in_controlled_shutdown)
    }
}
