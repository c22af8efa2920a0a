//! The metadata image: everything the metadata log says, at one offset.
//!
//! An image never changes. A [`Delta`] takes records on top of one and becomes the next; what did
//! not change is shared between the two. The same records give the same image, whoever wrote them:
//! the embedded controller or Apache Kafka's.

mod cluster;
mod configs;
mod delta;
mod loader;
mod quotas;
mod snapshot;
mod topics;

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg_wire::Uuid;
use thalweg_wire::messages::{
    AccessControlEntryRecord, DelegationTokenRecord, UserScramCredentialRecord,
};

pub use cluster::{
    BrokerRegistration, ClusterImage, ControllerRegistration, FeatureLevels, ListenerEndpoint,
};
pub use configs::{ConfigResource, ConfigsImage, ResourceType};
pub use delta::{Changes, Delta, LocalChanges, ReplayError};
pub use loader::{LoadError, Loader, Update};
pub use quotas::{QuotaEntity, QuotasImage};
pub use snapshot::{SnapshotError, SnapshotReader, snapshot_records};
pub use topics::{
    LOST, MIGRATING, NO_LEADER, NO_LEADER_CHANGE, Partition, TopicImage, TopicsImage, UNASSIGNED,
};

use crate::features::{ELR_VERSION, MetadataVersion};

/// Up to where the metadata log is contained in an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provenance {
    /// Offset of the last record; -1 for none.
    pub offset: i64,
    /// Epoch of the last record; -1 for none.
    pub epoch: i32,
    /// Append time of the last record, in milliseconds since the epoch; -1 for none.
    pub timestamp_ms: i64,
}

impl Provenance {
    /// Nothing is contained.
    pub const NONE: Provenance = Provenance { offset: -1, epoch: -1, timestamp_ms: -1 };
}

/// Finalized features and their levels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeaturesImage {
    /// Level of `metadata.version`; `None` until the log's first records.
    pub metadata_version: Option<MetadataVersion>,
    /// Levels of the other features; those at level 0 are not in here.
    pub levels: BTreeMap<String, i16>,
}

impl FeaturesImage {
    /// Level of a feature other than `kraft.version`, 0 if it is not finalized.
    pub fn level(&self, name: &str) -> i16 {
        match name {
            crate::features::METADATA_VERSION => self.metadata_version.map_or(0, |v| v.level()),
            _ => self.levels.get(name).copied().unwrap_or(0),
        }
    }

    /// Whether eligible leader replicas are maintained.
    pub fn elr_enabled(&self) -> bool {
        self.level(ELR_VERSION) >= 1
    }
}

/// SCRAM credentials by mechanism and user name.
pub type ScramImage = BTreeMap<(i8, String), UserScramCredentialRecord>;

/// Everything the metadata log says. Cloning it copies a handful of pointers.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataImage {
    /// Up to where the log is contained.
    pub provenance: Provenance,
    /// Finalized features.
    pub features: Arc<FeaturesImage>,
    /// Brokers and controllers.
    pub cluster: Arc<ClusterImage>,
    /// Topics and partitions.
    pub topics: Arc<TopicsImage>,
    /// Configs of topics, brokers, groups and client metrics subscriptions.
    pub configs: Arc<ConfigsImage>,
    /// Client quotas.
    pub quotas: Arc<QuotasImage>,
    /// First producer id of the next block; -1 while none was handed out.
    pub next_producer_id: i64,
    /// Access control entries by id.
    pub acls: Arc<BTreeMap<Uuid, AccessControlEntryRecord>>,
    /// SCRAM credentials.
    pub scram: Arc<ScramImage>,
    /// Delegation tokens by id.
    pub tokens: Arc<BTreeMap<String, DelegationTokenRecord>>,
}

impl MetadataImage {
    /// The image of an empty log.
    pub fn empty() -> MetadataImage {
        MetadataImage {
            provenance: Provenance::NONE,
            features: Arc::default(),
            cluster: Arc::default(),
            topics: Arc::default(),
            configs: Arc::default(),
            quotas: Arc::default(),
            next_producer_id: -1,
            acls: Arc::default(),
            scram: Arc::default(),
            tokens: Arc::default(),
        }
    }

    /// Whether there is no state at all, whatever the offset.
    pub fn is_empty(&self) -> bool {
        MetadataImage { provenance: Provenance::NONE, ..self.clone() } == MetadataImage::empty()
    }

    /// Level of `metadata.version`; the lowest until the log's first records.
    pub fn metadata_version(&self) -> MetadataVersion {
        self.features.metadata_version.unwrap_or(MetadataVersion::MINIMUM)
    }

    /// Whether the log restricts who may do what. Serving such a cluster without an authorizer
    /// would let everybody in.
    pub fn has_acls(&self) -> bool {
        !self.acls.is_empty()
    }
}
