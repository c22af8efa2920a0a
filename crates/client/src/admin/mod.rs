//! What administers a cluster: topics, configs, groups, records, transactions, brokers, users and their
//! limits.
//!
//! Every function asks whom it has to - the controller (any broker passes it on), the coordinator of a
//! group or a transactional id, a partition's leader, a certain broker - and tries again what may succeed
//! a moment later, until [`AdminConfig::timeout`] is over. What is asked of several things is answered for
//! each of them: [`Results`]. Names are those of Kafka's `Admin`.
//!
//! ```no_run
//! use thalweg::admin::{Admin, AdminConfig, Mode, NewTopic};
//! use thalweg::{Cluster, Options};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = Cluster::connect("127.0.0.1:9092", Options::default()).await?;
//! let admin = Admin::new(cluster, AdminConfig::default());
//! let topic = NewTopic::new("orders").with_partitions(12).with_config("retention.ms", "86400000");
//! for (name, result) in admin.create_topics([topic], Mode::Apply).await {
//!     match result {
//!         Ok(created) => println!("{name} has the id {}", created.id),
//!         Err(error) => eprintln!("{name}: {error}"),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Dropping a future stops the waiting; what was sent by then may still happen. A function that
//! changes something and loses its connection asks again: the second answer may then be that it was
//! done before, as [`ErrorCode::TOPIC_ALREADY_EXISTS`](thalweg_wire::ErrorCode::TOPIC_ALREADY_EXISTS).

mod acls;
mod attempt;
mod brokers;
mod configs;
mod coordinators;
mod error;
mod group_offsets;
mod groups;
mod log_dirs;
mod quotas;
mod reassignments;
mod rebalances;
mod records;
mod topics;
mod transactions;
mod users;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use crate::backoff;
use crate::cluster::Cluster;
use crate::options;
use crate::setters::setters;

pub use acls::{
    AclBinding, AclFilter, AclOperation, AclPattern, AclPatternFilter, AclPermission, AclResource,
};
pub use brokers::{
    BrokerDescription, BrokerVersions, ClusterDescription, FeatureRange, FeatureUpdate, Features,
    QuorumDescription, QuorumNode, QuorumReplica, UpgradeType,
};
pub use configs::{
    ConfigChange, ConfigDetails, ConfigEntry, ConfigKind, ConfigOperation, ConfigResource,
    ConfigSource, ConfigSynonym, ResourceType,
};
pub use error::AdminError;
pub use group_offsets::GroupOffsets;
pub use groups::{
    GroupDescription, GroupFilter, GroupKind, GroupListing, GroupMember, MemberToRemove,
};
pub use log_dirs::{LogDir, LogDirReplica, ReplicaMove};
pub use quotas::{QuotaEntity, QuotaMatch};
pub use reassignments::{Election, Reassignment};
pub use rebalances::{
    GroupRebalance, GroupRebalances, PartitionMove, RebalanceStep, RebalanceTrigger, RebalanceWait,
};
pub use records::{OffsetSpec, ProducerState};
pub use topics::{
    CreatedTopic, NewPartitions, NewTopic, PartitionDescription, TopicDescription, TopicListing,
    TopicRef,
};
pub use transactions::{
    FencedProducer, ListedTransactions, TransactionDescription, TransactionFilter,
    TransactionListing, TransactionToAbort,
};
pub use users::{ScramChange, ScramCredential};

/// What became of each thing that something was asked of.
pub type Results<K, T> = BTreeMap<K, Result<T, AdminError>>;

/// What a call of [`Admin`] returns: nothing happens until it is awaited.
///
/// It is boxed, so that the code of a call is compiled once, here, and not again in every program that
/// uses it; beside a request to a broker the allocation is nothing.
pub type AdminFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The groups that brokers listed, and for each broker whether it answered.
pub type ListedGroups = (Vec<GroupListing>, Results<i32, ()>);

/// Limits by what they are of: names of quotas with their values.
pub type Quotas = BTreeMap<QuotaEntity, BTreeMap<String, f64>>;

/// Whether to do it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Do it.
    #[default]
    Apply,
    /// Only say whether it could be done.
    ValidateOnly,
}

impl Mode {
    fn is_validation(self) -> bool {
        self == Mode::ValidateOnly
    }
}

/// Settings of an [`Admin`]. Defaults are those of Kafka's admin client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdminConfig {
    /// How long one call tries (`default.api.timeout.ms`); 1 minute.
    pub timeout: Duration,
    /// First pause before something is tried again (`retry.backoff.ms`); 100 ms.
    pub retry_backoff: Duration,
    /// Longest such pause (`retry.backoff.max.ms`); 1 s.
    pub retry_backoff_max: Duration,
}

setters! {
    AdminConfig {
        timeout: Duration => with_timeout,
        retry_backoff: Duration => with_retry_backoff,
        retry_backoff_max: Duration => with_retry_backoff_max,
    }
}

impl Default for AdminConfig {
    fn default() -> AdminConfig {
        AdminConfig {
            timeout: Duration::from_secs(60),
            retry_backoff: backoff::RETRY_BACKOFF,
            retry_backoff_max: backoff::RETRY_BACKOFF_MAX,
        }
    }
}

/// Administers a cluster; clones are handles to the same connections.
#[derive(Clone, Debug)]
pub struct Admin {
    cluster: Cluster,
    config: AdminConfig,
}

impl Admin {
    /// For a cluster that is connected.
    pub fn new(cluster: Cluster, mut config: AdminConfig) -> Admin {
        config.timeout = options::bounded(config.timeout);
        Admin { cluster, config }
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}
