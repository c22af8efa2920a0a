//! What the controller decides: from the image, the configuration and a request to records and a
//! response. Nothing here changes state; the records do, once they are in the log.
//!
//! Each file has an API, or a few that share their work, and implements [`ControllerRequest`] for the wire's own requests.
//! The order of checks and the error codes are Kafka's, the messages are ours. Time, epochs and random numbers come with
//! the request ([`RequestContext`]). What a broker checks before it forwards a request is part of the decision, too: an
//! embedded controller is in the same process. A broker that has joined other nodes' controllers makes these checks
//! itself (`refused_by_broker`).

mod alter_configs;
mod alter_partition;
mod assign_directories;
mod brokers;
mod create_partitions;
mod create_topics;
mod delete_topics;
mod describe;
mod elect_leaders;
mod partition_change;
mod placement;
mod producer_ids;
mod quotas;
mod reassignments;
mod request;
mod topic_name;
mod update_features;

use std::collections::BTreeMap;

use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::{ErrorCode, Uuid};

use crate::ApiError;
use crate::config::{BrokerConfig, Value, topic};
use crate::features::MetadataVersion;
use crate::image::{ConfigResource, MetadataImage, Partition, TopicImage};

pub use alter_configs::{legacy_refused_by_broker, refused_by_broker};
pub use brokers::fence_broker;
pub use describe::{
    QuorumState, describe_cluster, describe_configs, describe_quorum, list_config_resources,
};
pub use producer_ids::PRODUCER_ID_BLOCK;
pub use quotas::describe_client_quotas;
pub use request::{ControllerRequest, HeartbeatState, RequestContext};
pub use topic_name::{
    INTERNAL_TOPICS, METADATA_TOPIC, OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC,
    check_topic_name, is_internal_topic, is_legal_topic_name,
};

/// Most partitions that one CreateTopics or CreatePartitions request may ask for.
pub const MAX_PARTITIONS_PER_REQUEST: i64 = 10_000;

/// Most records one request may cause.
pub const MAX_RECORDS_PER_REQUEST: usize = 10_000;

/// What a decision is made on.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The metadata as it is.
    pub image: &'a MetadataImage,
    /// The configuration of this node, dynamic configs included.
    pub config: &'a BrokerConfig,
}

/// Records to append, and what to answer once they are in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<R> {
    /// The records, in order; they take effect together.
    pub records: Vec<MetadataRecord>,
    /// The answer.
    pub response: R,
}

impl<R> Decision<R> {
    /// An answer without consequences.
    pub fn answer(response: R) -> Decision<R> {
        Decision { records: Vec::new(), response }
    }

    fn validated(mut self, validate_only: bool) -> Decision<R> {
        if validate_only {
            self.records.clear();
        }
        self
    }
}

/// Random numbers, passed in by the caller.
pub trait Random {
    /// The next 64 random bits.
    fn next_u64(&mut self) -> u64;
}

impl<F: FnMut() -> u64> Random for F {
    fn next_u64(&mut self) -> u64 {
        self()
    }
}

/// A random number below `bound`, which must not be 0.
fn below(random: &mut dyn Random, bound: usize) -> usize {
    // The bias of the remainder is far below what placement could show.
    (random.next_u64() % bound.max(1) as u64) as usize
}

/// A random id that `is_taken` does not know; `None` if the numbers do not give one.
fn random_id(random: &mut dyn Random, is_taken: impl Fn(Uuid) -> bool) -> Option<Uuid> {
    // One in 64 ids begins with a dash and is refused; more tries than this mean broken numbers.
    for _ in 0..1000 {
        let mut bytes = [0u8; 16];
        let (high, low) = bytes.split_at_mut(8);
        high.copy_from_slice(&random.next_u64().to_be_bytes());
        low.copy_from_slice(&random.next_u64().to_be_bytes());
        if let Some(id) = Uuid::from_random(bytes).filter(|id| !is_taken(*id)) {
            return Some(id);
        }
    }
    None
}

fn too_many_records() -> ApiError {
    ApiError::new(
        ErrorCode::POLICY_VIOLATION,
        format!("the request would take more than {MAX_RECORDS_PER_REQUEST} records"),
    )
}

impl Context<'_> {
    fn metadata_version(&self) -> MetadataVersion {
        self.image.metadata_version()
    }

    fn topic_config(&self, topic: &str, name: &str) -> Option<Value> {
        let overrides = self.image.configs.get(&ConfigResource::topic(topic));
        let empty = BTreeMap::new();
        let overrides = overrides.map_or(&empty, |overrides| &**overrides);
        topic::value(self.config, overrides, name)
    }

    /// `min.insync.replicas` of a topic, at most its replication factor.
    fn min_isr(&self, topic: &TopicImage) -> usize {
        let configured = match self.topic_config(&topic.name, "min.insync.replicas") {
            Some(Value::Int(count)) => usize::try_from(count).unwrap_or(1),
            _ => 1,
        };
        let replicas = topic.partitions.get(&0).map_or(1, |partition| partition.replicas.len());
        configured.min(replicas)
    }

    /// Whether a replica that is not in sync may lead this topic's partitions.
    fn unclean_elections(&self, topic: &str) -> bool {
        let configured = self.topic_config(topic, "unclean.leader.election.enable");
        configured == Some(Value::Boolean(true))
    }

    /// The directory of a new replica on a broker.
    fn default_directory(&self, broker: i32) -> Uuid {
        match self.image.cluster.broker(broker) {
            Some(broker) => broker.default_directory(),
            None => crate::image::UNASSIGNED,
        }
    }

    /// Whether a broker may lead this partition: it is active, and its replica's directory online.
    fn may_lead(&self, partition: &Partition, broker: i32) -> bool {
        self.image.cluster.is_active(broker) && self.has_online_replica(partition, broker)
    }

    fn has_online_replica(&self, partition: &Partition, broker: i32) -> bool {
        let registration = self.image.cluster.broker(broker);
        match (registration, partition.directory(broker)) {
            (Some(registration), Some(directory)) => registration.has_online_directory(directory),
            _ => false,
        }
    }

    fn check_broker_epoch(&self, broker: i32, epoch: i64) -> Result<(), ApiError> {
        match self.image.cluster.broker(broker) {
            Some(registration) if registration.epoch == epoch => Ok(()),
            Some(registration) => Err(ApiError::new(
                ErrorCode::STALE_BROKER_EPOCH,
                format!("broker {broker} has epoch {}, not {epoch}", registration.epoch),
            )),
            None => Err(ApiError::new(
                ErrorCode::STALE_BROKER_EPOCH,
                format!("broker {broker} is not registered"),
            )),
        }
    }

    /// Checks replicas that somebody chose by hand.
    fn check_assignment(
        &self,
        replicas: &[i32],
        replication_factor: Option<usize>,
    ) -> Result<(), ApiError> {
        let refuse =
            |message: String| Err(ApiError::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
        if replicas.is_empty() {
            return refuse("the assignment has a partition without replicas".into());
        }
        let mut sorted = replicas.to_vec();
        sorted.sort_unstable();
        for (at, broker) in sorted.iter().enumerate() {
            let Some(registration) = self.image.cluster.broker(*broker) else {
                return refuse(format!(
                    "the assignment names broker {broker}, which is not registered"
                ));
            };
            if !registration.has_uncordoned_directory() {
                return refuse(format!(
                    "the assignment names broker {broker}, all of whose log directories are cordoned"
                ));
            }
            if at > 0 && sorted.get(at - 1) == Some(broker) {
                return refuse(format!(
                    "the assignment names broker {broker} twice for a partition"
                ));
            }
        }
        match replication_factor {
            Some(factor) if factor != replicas.len() => refuse(format!(
                "the assignment has a partition with {} replicas, where the others have {factor}",
                replicas.len()
            )),
            _ => Ok(()),
        }
    }

    /// A new partition on these replicas; `None` if no broker of them is active.
    fn new_partition(&self, replicas: Vec<i32>) -> Option<Partition> {
        let isr: Vec<i32> =
            replicas.iter().copied().filter(|id| self.image.cluster.is_active(*id)).collect();
        Some(Partition {
            directories: replicas.iter().map(|id| self.default_directory(*id)).collect(),
            leader: *isr.first()?,
            replicas,
            isr,
            removing_replicas: Vec::new(),
            adding_replicas: Vec::new(),
            elr: Vec::new(),
            last_known_elr: Vec::new(),
            is_recovering: false,
            leader_epoch: 0,
            partition_epoch: 0,
        })
    }
}
