//! The cluster itself: brokers, what they speak, features, the quorum of controllers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use thalweg_wire::messages::describe_quorum_request::{PartitionData, TopicData};
use thalweg_wire::messages::describe_quorum_response::ReplicaState;
use thalweg_wire::messages::update_features_request::FeatureUpdateKey;
use thalweg_wire::messages::{
    ApiVersionsRequest, DescribeClusterRequest, DescribeQuorumRequest, UnregisterBrokerRequest,
    UnregisterControllerRequest, UpdateFeaturesRequest,
};
use thalweg_wire::{ApiKey, Uuid};

use super::attempt::{at_least, for_all, join, millis};
use super::{Admin, AdminError, AdminFuture, Mode, Results};

/// The log of the metadata.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// A cluster and its brokers.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ClusterDescription {
    /// Its id.
    pub id: String,
    /// The broker to ask for what the controller does. With KRaft that is any that is alive.
    pub controller: Option<i32>,
    /// By id.
    pub brokers: Vec<BrokerDescription>,
}

/// A broker.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BrokerDescription {
    /// Its id.
    pub id: i32,
    /// Where it listens.
    pub host: String,
    /// Where it listens.
    pub port: i32,
    /// Its rack, where it is set.
    pub rack: Option<String>,
    /// Whether the controller takes it for gone.
    pub is_fenced: bool,
}

/// What a broker speaks.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BrokerVersions {
    /// Where it listens.
    pub address: String,
    /// First and last version of each API.
    pub apis: BTreeMap<ApiKey, RangeInclusive<i16>>,
}

/// The features of a cluster, as one broker knows them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Features {
    /// The levels in use, which the whole cluster keeps to, and what the broker could do.
    pub features: BTreeMap<String, FeatureRange>,
    /// Epoch of the levels in use; none where there are none.
    pub epoch: Option<i64>,
}

/// Levels of a feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct FeatureRange {
    /// The level in use.
    pub level: Option<i16>,
    /// The lowest that the broker asked supports.
    pub min_supported: Option<i16>,
    /// The highest.
    pub max_supported: Option<i16>,
}

/// How a feature's level may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UpgradeType {
    /// Only up.
    Upgrade,
    /// Down as well, as long as nothing is lost.
    SafeDowngrade,
    /// Down as well, whatever is lost.
    UnsafeDowngrade,
}

/// A feature's new level.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FeatureUpdate {
    /// The feature.
    pub name: String,
    /// The level; 0 puts it out of use.
    pub level: i16,
    /// How the level may change.
    pub upgrade: UpgradeType,
}

impl FeatureUpdate {
    /// An upgrade of a feature to this level.
    pub fn new(name: impl Into<String>, level: i16) -> FeatureUpdate {
        FeatureUpdate { name: name.into(), level, upgrade: UpgradeType::Upgrade }
    }

    /// Sets [`Self::upgrade`].
    #[must_use]
    pub fn with_upgrade(mut self, upgrade: UpgradeType) -> FeatureUpdate {
        self.upgrade = upgrade;
        self
    }
}

/// The controllers' quorum.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct QuorumDescription {
    /// The active controller.
    pub leader: i32,
    /// Epoch of that.
    pub leader_epoch: i32,
    /// End of what is committed in the metadata log.
    pub high_watermark: i64,
    /// Who votes, by id.
    pub voters: Vec<QuorumReplica>,
    /// Who follows, by id.
    pub observers: Vec<QuorumReplica>,
    /// Where voters listen; not told by brokers before 3.9.
    pub nodes: Vec<QuorumNode>,
}

/// One who has the metadata log.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct QuorumReplica {
    /// Its id.
    pub id: i32,
    /// The id of its directory; zero where that is not told.
    pub directory: Uuid,
    /// End of its log, -1 where that is not known.
    pub log_end_offset: i64,
    /// When it last asked for more, in ms since 1970.
    pub last_fetch: Option<i64>,
    /// When it last had everything, in ms since 1970.
    pub last_caught_up: Option<i64>,
}

/// Where a voter listens.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct QuorumNode {
    /// Its id.
    pub id: i32,
    /// Listeners: name, host, port.
    pub listeners: Vec<(String, String, u16)>,
}

impl Admin {
    /// The cluster and its brokers. Those that are fenced come with `include_fenced`, from brokers
    /// from 4.0 on.
    pub fn describe_cluster(
        &self,
        include_fenced: bool,
    ) -> AdminFuture<'_, Result<ClusterDescription, AdminError>> {
        Box::pin(self.describe_cluster_inner(include_fenced))
    }

    async fn describe_cluster_inner(
        &self,
        include_fenced: bool,
    ) -> Result<ClusterDescription, AdminError> {
        self.settle_one(ApiKey::DESCRIBE_CLUSTER, |_| async move {
            let connection = self.cluster.any().await?;
            let needed = if include_fenced { 2 } else { 0 };
            at_least::<DescribeClusterRequest>(&connection, needed, "showing fenced brokers")?;
            let request = DescribeClusterRequest {
                include_fenced_brokers: include_fenced,
                ..Default::default()
            };
            let response = connection.send(&request).await?;
            let message = response.error_message.as_deref();
            AdminError::check(ApiKey::DESCRIBE_CLUSTER, response.error_code, message)?;
            let brokers = response.brokers.into_iter().map(|broker| BrokerDescription {
                id: broker.broker_id,
                host: broker.host,
                port: broker.port,
                rack: broker.rack,
                is_fenced: broker.is_fenced,
            });
            let mut brokers: Vec<BrokerDescription> = brokers.collect();
            brokers.sort_by_key(|broker| broker.id);
            let controller = (response.controller_id >= 0).then_some(response.controller_id);
            Ok(ClusterDescription { id: response.cluster_id, controller, brokers })
        })
        .await
    }

    /// The ids of the brokers that are alive.
    pub(super) async fn broker_ids(&self, api: ApiKey) -> Result<Vec<i32>, AdminError> {
        self.settle_one(api, |_| async move {
            let (metadata, _) = self.cluster.refresh(&[]).await?;
            let mut ids: Vec<i32> = metadata.brokers.keys().copied().collect();
            ids.sort_unstable();
            Ok(ids)
        })
        .await
    }

    /// What each broker that is alive speaks.
    pub fn broker_versions(
        &self,
    ) -> AdminFuture<'_, Result<Results<i32, BrokerVersions>, AdminError>> {
        Box::pin(self.broker_versions_inner())
    }

    async fn broker_versions_inner(&self) -> Result<Results<i32, BrokerVersions>, AdminError> {
        let api = ApiKey::API_VERSIONS;
        let brokers = self.broker_ids(api).await?;
        let versions = self.settle(api, brokers, |brokers, _| {
            let asking = brokers.into_iter().map(|broker| {
                let cluster = self.cluster.clone();
                async move {
                    let versions = cluster.broker(broker).await.map(|connection| BrokerVersions {
                        address: connection.addr().to_string(),
                        apis: connection.versions().iter().collect(),
                    });
                    (broker, versions.map_err(AdminError::from))
                }
            });
            join(asking.collect::<Vec<_>>())
        });
        Ok(versions.await)
    }

    /// Has the controllers forget a broker that is gone for good: it registers again if it comes back. Replicas that
    /// it had stay assigned to it, so they are given to others first.
    ///
    /// # Errors
    /// [`BROKER_ID_NOT_REGISTERED`](thalweg_wire::ErrorCode::BROKER_ID_NOT_REGISTERED) for one that they do not know.
    pub fn unregister_broker(&self, broker: i32) -> AdminFuture<'_, Result<(), AdminError>> {
        Box::pin(self.unregister_broker_inner(broker))
    }

    async fn unregister_broker_inner(&self, broker: i32) -> Result<(), AdminError> {
        let api = ApiKey::UNREGISTER_BROKER;
        self.settle_one(api, |left| async move {
            let connection = self.controller().await?;
            let request = UnregisterBrokerRequest { broker_id: broker, ..Default::default() };
            let response = connection.send_within(&request, left).await?;
            AdminError::check(api, response.error_code, response.error_message.as_deref())
        })
        .await
    }

    /// Has the controllers forget a controller that is gone for good (KIP-1312): what it could do counts for no upgrade of
    /// a feature any more. Needs Kafka 4.4 and its `metadata.version`, 33.
    ///
    /// # Errors
    /// [`CONTROLLER_ID_NOT_REGISTERED`](thalweg_wire::ErrorCode::CONTROLLER_ID_NOT_REGISTERED) for one that they do not know,
    /// [`INVALID_REQUEST`](thalweg_wire::ErrorCode::INVALID_REQUEST) for the active one.
    pub fn unregister_controller(
        &self,
        controller: i32,
    ) -> AdminFuture<'_, Result<(), AdminError>> {
        Box::pin(self.unregister_controller_inner(controller))
    }

    async fn unregister_controller_inner(&self, controller: i32) -> Result<(), AdminError> {
        let api = ApiKey::UNREGISTER_CONTROLLER;
        self.settle_one(api, |left| async move {
            let connection = self.controller().await?;
            let request =
                UnregisterControllerRequest { controller_id: controller, ..Default::default() };
            let response = connection.send_within(&request, left).await?;
            AdminError::check(api, response.error_code, response.error_message.as_deref())
        })
        .await
    }

    /// The features of the cluster.
    pub fn describe_features(&self) -> AdminFuture<'_, Result<Features, AdminError>> {
        Box::pin(self.describe_features_inner())
    }

    async fn describe_features_inner(&self) -> Result<Features, AdminError> {
        self.settle_one(ApiKey::API_VERSIONS, |_| async move {
            let options = self.cluster.options();
            let request = ApiVersionsRequest {
                client_software_name: options.software_name.to_string(),
                client_software_version: options.software_version.to_string(),
                ..Default::default()
            };
            let response = self.cluster.send_any(&request).await?;
            AdminError::check(ApiKey::API_VERSIONS, response.error_code, None)?;
            let mut features: BTreeMap<String, FeatureRange> = BTreeMap::new();
            for supported in response.supported_features {
                let range = features.entry(supported.name).or_default();
                range.min_supported = Some(supported.min_version);
                range.max_supported = Some(supported.max_version);
            }
            for finalized in response.finalized_features {
                features.entry(finalized.name).or_default().level =
                    Some(finalized.max_version_level);
            }
            let epoch = response.finalized_features_epoch;
            Ok(Features { features, epoch: (epoch >= 0).then_some(epoch) })
        })
        .await
    }

    /// Changes levels of features: all that is asked for or nothing, since Kafka 4.0.
    pub fn update_features(
        &self,
        updates: impl IntoIterator<Item = FeatureUpdate>,
        mode: Mode,
    ) -> AdminFuture<'_, Results<String, ()>> {
        fn boxed(
            admin: &Admin,
            updates: Vec<FeatureUpdate>,
            mode: Mode,
        ) -> AdminFuture<'_, Results<String, ()>> {
            Box::pin(admin.update_features_inner(updates, mode))
        }
        boxed(self, updates.into_iter().collect(), mode)
    }

    async fn update_features_inner(
        &self,
        updates: Vec<FeatureUpdate>,
        mode: Mode,
    ) -> Results<String, ()> {
        let api = ApiKey::UPDATE_FEATURES;
        let updates = &updates;
        self.settle(api, updates.iter().map(|u| u.name.clone()), |names, left| async move {
            let sent = async {
                let connection = self.controller().await?;
                let is_downgrade = |u: &&FeatureUpdate| u.upgrade != UpgradeType::Upgrade;
                let wants_more = mode.is_validation()
                    || updates.iter().any(|u| u.upgrade == UpgradeType::UnsafeDowngrade);
                let needed = if wants_more { 1 } else { 0 };
                let what = "validating, or an unsafe downgrade";
                let version = at_least::<UpdateFeaturesRequest>(&connection, needed, what)?;
                let keys = updates.iter().filter(|update| names.contains(&update.name));
                let keys = keys.map(|update| FeatureUpdateKey {
                    feature: update.name.clone(),
                    max_version_level: update.level,
                    allow_downgrade: version == 0 && is_downgrade(&update),
                    upgrade_type: if version == 0 {
                        1
                    } else {
                        match update.upgrade {
                            UpgradeType::Upgrade => 1,
                            UpgradeType::SafeDowngrade => 2,
                            UpgradeType::UnsafeDowngrade => 3,
                        }
                    },
                    ..Default::default()
                });
                let request = UpdateFeaturesRequest {
                    timeout_ms: millis(left),
                    feature_updates: keys.collect(),
                    validate_only: mode.is_validation(),
                    ..Default::default()
                };
                let response = connection.send_within(&request, left).await?;
                let message = response.error_message.as_deref();
                AdminError::check(api, response.error_code, message)?;
                Ok::<_, AdminError>((version, response.results))
            };
            match sent.await {
                // From version 2 on, and where a broker leaves the results out, no error for all is
                // success for each.
                Ok((version, results)) if version >= 2 || results.is_empty() => {
                    names.into_iter().map(|name| (name, Ok(()))).collect()
                }
                Ok((_, results)) => results
                    .into_iter()
                    .map(|feature| {
                        let message = feature.error_message.as_deref();
                        (feature.feature, AdminError::check(api, feature.error_code, message))
                    })
                    .collect(),
                Err(error) => for_all(names, error),
            }
        })
        .await
    }

    /// The controllers' quorum: who leads it, and how far everybody is.
    pub fn describe_quorum(&self) -> AdminFuture<'_, Result<QuorumDescription, AdminError>> {
        Box::pin(self.describe_quorum_inner())
    }

    async fn describe_quorum_inner(&self) -> Result<QuorumDescription, AdminError> {
        let api = ApiKey::DESCRIBE_QUORUM;
        self.settle_one(api, |_| async move {
            let partition = PartitionData { partition_index: 0, ..Default::default() };
            let request = DescribeQuorumRequest {
                topics: vec![TopicData {
                    topic_name: METADATA_TOPIC.to_owned(),
                    partitions: vec![partition],
                    ..Default::default()
                }],
                ..Default::default()
            };
            let response = self.cluster.send_any(&request).await?;
            AdminError::check(api, response.error_code, response.error_message.as_deref())?;
            let partitions = response.topics.into_iter().flat_map(|topic| topic.partitions);
            let partition = partitions.into_iter().next().ok_or(AdminError::Unanswered(api))?;
            AdminError::check(api, partition.error_code, partition.error_message.as_deref())?;
            let nodes = response.nodes.into_iter().map(|node| {
                let listeners = node.listeners.into_iter();
                let listeners = listeners.map(|l| (l.name, l.host, l.port)).collect();
                QuorumNode { id: node.node_id, listeners }
            });
            Ok(QuorumDescription {
                leader: partition.leader_id,
                leader_epoch: partition.leader_epoch,
                high_watermark: partition.high_watermark,
                voters: replicas(partition.current_voters),
                observers: replicas(partition.observers),
                nodes: nodes.collect(),
            })
        })
        .await
    }
}

fn replicas(states: Vec<ReplicaState>) -> Vec<QuorumReplica> {
    let told = |time: i64| (time >= 0).then_some(time);
    let replicas = states.into_iter().map(|state| QuorumReplica {
        id: state.replica_id,
        directory: state.replica_directory_id,
        log_end_offset: state.log_end_offset,
        last_fetch: told(state.last_fetch_timestamp),
        last_caught_up: told(state.last_caught_up_timestamp),
    });
    let mut replicas: Vec<QuorumReplica> = replicas.collect();
    replicas.sort_by_key(|replica| replica.id);
    replicas
}
