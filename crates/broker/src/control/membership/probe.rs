//! What is asked of the controllers before this broker tells them anything: which cluster it would join, and
//! whether it can.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thalweg_connection::ApiVersions;
use thalweg_metadata::config::BrokerConfig;
use thalweg_metadata::features::{self, METADATA_VERSION, MetadataVersion};
use thalweg_replication::observer::Endpoint;
use thalweg_wire::ErrorCode;
use thalweg_wire::messages::DescribeClusterRequest;
use tokio::time::Instant;

use crate::net::outgoing::{Outgoing, OutgoingError, Timeouts};

/// Controllers are asked for themselves, not for the brokers.
const CONTROLLERS: i8 = 2;
/// Has a broker join that cannot be cordoned.
const ALLOW: &str = "thalweg.join.with.unserved.features";
/// Pause before the addresses are tried once more.
const RETRY: Duration = Duration::from_millis(200);

/// A cluster as its controllers describe it.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) id: String,
    /// The controllers that are known.
    pub(crate) controllers: BTreeMap<i32, Endpoint>,
    /// Levels of the features that are in use.
    pub(crate) features: BTreeMap<String, i16>,
    /// What the controller that was asked speaks.
    pub(crate) versions: Arc<ApiVersions>,
}

/// Asks the addresses in turn until one answers, or for so long.
pub(crate) async fn describe(
    addresses: &[Endpoint],
    client_id: &Arc<str>,
    timeouts: Timeouts,
    within: Duration,
) -> Result<Cluster, String> {
    let until = Instant::now() + within;
    let mut last = "there is no address".to_owned();
    loop {
        for address in addresses {
            match describe_at(address, client_id, timeouts).await {
                Ok(cluster) => return Ok(cluster),
                // Asking again changes nothing about that.
                Err(ProbeError::Refused(ErrorCode::UNSUPPORTED_VERSION)) => {
                    return Err(format!(
                        "{address} answers nobody but controllers and brokers that it knows: metadata.version of the \
                         cluster is below 15 (3.7-IV0, KIP-919); raise it first (kafka-features.sh upgrade)"
                    ));
                }
                Err(error) => last = format!("{address}: {error}"),
            }
        }
        if Instant::now() >= until {
            return Err(format!(
                "no controller answers at controller.quorum.bootstrap.servers or controller.quorum.voters; {last}"
            ));
        }
        tokio::time::sleep(RETRY).await;
    }
}

#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error(transparent)]
    Outgoing(#[from] OutgoingError),
    #[error("{0}")]
    Refused(ErrorCode),
    #[error("it has not read the cluster's metadata yet")]
    NotReady,
}

async fn describe_at(
    address: &Endpoint,
    client_id: &Arc<str>,
    timeouts: Timeouts,
) -> Result<Cluster, ProbeError> {
    let mut connection = Outgoing::open(address, client_id, timeouts).await?;
    // What it says of itself before it has read the log's beginning is no cluster's: metadata.version 7, no other feature, and
    // that it answers nobody. Brokers that start with the controllers of a new cluster meet it so.
    if connection.versions().features_epoch() < 0 {
        return Err(ProbeError::NotReady);
    }
    let request = DescribeClusterRequest { endpoint_type: CONTROLLERS, ..Default::default() };
    let answer = connection.call(&request).await?;
    if answer.error_code.is_err() {
        return Err(ProbeError::Refused(answer.error_code));
    }
    let controller =
        |node: thalweg_wire::messages::describe_cluster_response::DescribeClusterBroker| {
            let port = u16::try_from(node.port).unwrap_or(0);
            (node.broker_id, Endpoint { host: node.host, port })
        };
    Ok(Cluster {
        id: answer.cluster_id,
        controllers: answer.brokers.into_iter().map(controller).collect(),
        features: connection
            .versions()
            .features()
            .map(|(name, level)| (name.to_owned(), level))
            .collect(),
        versions: Arc::new(connection.versions().clone()),
    })
}

impl Cluster {
    /// Why this broker cannot be part of it, if so. `cluster_id` is the one that its directories belong to.
    pub(crate) fn check(
        &self,
        config: &BrokerConfig,
        cluster_id: Option<&str>,
    ) -> Result<(), String> {
        if let Some(unserved) = self.unserved()
            && config.join_with_unserved_features()
        {
            tracing::warn!(
                "{unserved}; {ALLOW}=true: where this broker leads, share and streams groups are refused"
            );
        }
        self.refusals(config, cluster_id).into_iter().next().map_or(Ok(()), Err)
    }

    /// All that keeps this broker from being part of it.
    pub(crate) fn refusals(&self, config: &BrokerConfig, cluster_id: Option<&str>) -> Vec<String> {
        let node_id = config.node_id();
        let mut refusals = Vec::new();
        if let Some(own) = cluster_id.filter(|own| *own != self.id) {
            refusals.push(format!(
                "the log directories belong to cluster {own}, the controllers to cluster {}",
                self.id
            ));
        }
        if self.controllers.contains_key(&node_id) {
            refusals.push(format!(
                "node.id={node_id} is a controller's: every node needs an id of its own"
            ));
        }
        let uncovered: Vec<String> = self
            .features
            .iter()
            .filter(|(_, level)| **level > 0)
            .filter_map(|(name, level)| match features::supported(name) {
                Some(range) if (range.min..=range.max).contains(level) => None,
                Some(range) => {
                    Some(format!("{name} at {level} (supported: {} to {})", range.min, range.max))
                }
                None => Some(format!("{name} at {level} (not known here)")),
            })
            .collect();
        if !uncovered.is_empty() {
            refusals.push(format!(
                "the cluster has features in use that this broker does not support: {}",
                uncovered.join(", ")
            ));
        }
        if let Some(unserved) = self.unserved()
            && !config.join_with_unserved_features()
        {
            refusals.push(format!(
                "{unserved}. With {ALLOW}=true it joins nevertheless, and what is placed here is not served fully"
            ));
        }
        refusals
    }

    /// What this broker would be asked for and cannot do, where it cannot be cordoned either.
    pub(crate) fn unserved(&self) -> Option<String> {
        let level = self.metadata_version();
        let levels = self.features.iter().map(|(name, level)| (&**name, *level));
        let can_be_cordoned =
            level.and_then(MetadataVersion::from_level).is_some_and(|it| it.has_cordoned_dirs());
        (super::duties::must_be_cordoned(levels) && !can_be_cordoned).then(|| {
            format!(
                "share groups or streams groups are in use, which this broker does not coordinate yet, \
                 and metadata.version of the cluster is {}: below 30 (4.3-IV0) it cannot be cordoned",
                level.map_or("unknown".into(), |level| level.to_string())
            )
        })
    }

    /// Level of `metadata.version`, if it is known.
    pub(crate) fn metadata_version(&self) -> Option<i16> {
        self.features.get(METADATA_VERSION).copied()
    }
}

#[cfg(test)]
mod tests {
    use thalweg_metadata::config::broker::Mode;
    use thalweg_wire::messages::api_versions_response::{ApiVersion, FinalizedFeatureKey};
    use thalweg_wire::messages::{ApiVersionsResponse, DescribeClusterResponse};
    use thalweg_wire::{ApiKey, Message, Writer};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(60);

    fn cluster(features: &[(&str, i16)]) -> Cluster {
        let endpoint = Endpoint { host: "controller".into(), port: 9093 };
        Cluster {
            id: "one".into(),
            controllers: [(100, endpoint)].into(),
            features: features.iter().map(|(name, level)| ((*name).to_owned(), *level)).collect(),
            versions: Arc::default(),
        }
    }

    fn config(node_id: i32, joins_with_unserved: bool) -> BrokerConfig {
        let props = [
            ("process.roles", "broker".to_owned()),
            ("node.id", node_id.to_string()),
            ("controller.quorum.bootstrap.servers", "controller:9093".to_owned()),
            ("controller.listener.names", "CONTROLLER".to_owned()),
            (
                "listener.security.protocol.map",
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT".to_owned(),
            ),
            ("listeners", "PLAINTEXT://127.0.0.1:9092".to_owned()),
            (ALLOW, joins_with_unserved.to_string()),
        ];
        let props = props.map(|(name, value)| (name.to_owned(), value)).into();
        BrokerConfig::new(props, Mode::Embedded).unwrap()
    }

    /// Answers one connection as a controller does that has read the metadata up to an offset; counts the requests.
    async fn serve(mut stream: TcpStream, features_epoch: i64) -> usize {
        let describe = ApiKey::DESCRIBE_CLUSTER;
        for count in 0.. {
            let Ok(size) = stream.read_i32().await else { return count };
            let mut request = vec![0; usize::try_from(size).unwrap()];
            stream.read_exact(&mut request).await.unwrap();
            let [api, version] =
                [0, 2].map(|at| i16::from_be_bytes([request[at], request[at + 1]]));
            let mut body = Writer::new();
            let is_ready = features_epoch >= 0;
            if ApiKey(api) == describe {
                let error_code =
                    if is_ready { ErrorCode::NONE } else { ErrorCode::UNSUPPORTED_VERSION };
                let cluster_id = "one".to_owned();
                let answer =
                    DescribeClusterResponse { error_code, cluster_id, ..Default::default() };
                answer.encode(&mut body, version).unwrap();
            } else {
                let range = |api: ApiKey, min_version, max_version| {
                    let api_key = api.0;
                    ApiVersion { api_key, min_version, max_version, ..Default::default() }
                };
                let level = if is_ready { 30 } else { 7 };
                let answer = ApiVersionsResponse {
                    api_keys: vec![range(describe, 0, 2), range(ApiKey(api), 0, 4)],
                    finalized_features_epoch: features_epoch,
                    finalized_features: vec![FinalizedFeatureKey {
                        name: METADATA_VERSION.to_owned(),
                        max_version_level: level,
                        min_version_level: level,
                        ..Default::default()
                    }],
                    ..Default::default()
                };
                answer.encode(&mut body, version).unwrap();
            }
            // The correlation id, and behind it no tags, where there could be some.
            let mut answer = request[4..8].to_vec();
            if ApiKey(api) == describe {
                answer.push(0);
            }
            answer.extend_from_slice(&body.to_vec());
            stream.write_i32(i32::try_from(answer.len()).unwrap()).await.unwrap();
            stream.write_all(&answer).await.unwrap();
        }
        unreachable!("the requests have an end")
    }

    #[tokio::test]
    async fn a_controller_that_has_read_no_metadata_is_asked_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address =
            Endpoint { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
        let controller = tokio::spawn(async move {
            let mut counts = Vec::new();
            for features_epoch in [-1, -1, 7] {
                let (stream, _) = listener.accept().await.unwrap();
                counts.push(serve(stream, features_epoch).await);
            }
            counts
        });
        let timeouts = Timeouts { connect: DEADLINE, request: DEADLINE, answer_max: 1 << 20 };
        let cluster = describe(&[address], &"probe".into(), timeouts, DEADLINE).await.unwrap();
        assert_eq!(cluster.id, "one");
        assert_eq!(cluster.features[METADATA_VERSION], 30);
        // Those that it does not know the features of are not asked what they would refuse.
        assert_eq!(controller.await.unwrap(), [1, 1, 2]);
    }

    #[test]
    fn what_keeps_a_broker_out_is_named() {
        let (one, hundred) = (config(1, false), config(100, false));
        let fine = cluster(&[("metadata.version", 30), ("share.version", 1), ("some.version", 0)]);
        assert_eq!(fine.check(&one, Some("one")), Ok(()));
        assert_eq!(fine.check(&one, None), Ok(()));
        let other = fine.check(&one, Some("two")).unwrap_err();
        assert!(other.contains("two") && other.contains("one"), "{other}");
        assert!(fine.check(&hundred, None).unwrap_err().contains("node.id=100"));
        let newer = cluster(&[("metadata.version", 34), ("some.version", 2)]);
        let why = newer.check(&one, None).unwrap_err();
        assert!(why.contains("metadata.version at 34 (supported: 7 to 33)"), "{why}");
        assert!(why.contains("some.version at 2 (not known here)"), "{why}");
        let old = |name| cluster(&[("metadata.version", 29), (name, 1)]);
        assert_eq!(old("group.version").check(&one, None), Ok(()));
        let why = old("share.version").check(&one, None).unwrap_err();
        assert!(why.contains("metadata.version of the cluster is 29"), "{why}");
        assert!(why.contains(ALLOW), "{why}");
        assert_eq!(old("share.version").check(&config(1, true), None), Ok(()));
    }
}
