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
mod client;
mod config;
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

pub use acls::{
    AclBinding, AclFilter, AclOperation, AclPattern, AclPatternFilter, AclPermission, AclResource,
};
pub use brokers::{
    BrokerDescription, BrokerVersions, ClusterDescription, FeatureRange, FeatureUpdate, Features,
    QuorumDescription, QuorumNode, QuorumReplica, UpgradeType,
};
pub use client::{Admin, AdminFuture, Mode, Results};
pub use config::AdminConfig;
pub use configs::{
    ConfigChange, ConfigDetails, ConfigEntry, ConfigKind, ConfigOperation, ConfigResource,
    ConfigSource, ConfigSynonym, ResourceType,
};
pub use error::AdminError;
pub use group_offsets::GroupOffsets;
pub use groups::{
    GroupDescription, GroupFilter, GroupKind, GroupListing, GroupMember, ListedGroups,
    MemberToRemove,
};
pub use log_dirs::{LogDir, LogDirReplica, ReplicaMove};
pub use quotas::{QuotaEntity, QuotaMatch, Quotas};
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
