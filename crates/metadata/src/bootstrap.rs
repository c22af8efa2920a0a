//! What an empty directory is formatted with: the files that Kafka's `StorageTool format
//! --standalone` writes, so that Java can take the directory over, and the first records that a new
//! controller appends.
//!
//! | file | content |
//! |---|---|
//! | `meta.properties`, in every log directory | [`meta_properties`] |
//! | `bootstrap.checkpoint`, in every log directory | [`bootstrap_checkpoint`] |
//! | `__cluster_metadata-0/00000000000000000000-0000000000.checkpoint` | [`quorum_checkpoint`] |
//!
//! Features begin at the levels of Kafka 4.3, also those that are not served yet: a directory that
//! comes from Java or goes there has them too.

use bytes::Bytes;
use thalweg_wire::Uuid;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::voters_record::{Endpoint, KRaftVersionFeature, Voter, VotersRecord};
use thalweg_wire::messages::{
    AbortTransactionRecord, BeginTransactionRecord, ConfigRecord, EndTransactionRecord,
    FeatureLevelRecord, KRaftVersionRecord, LeaderChangeMessage, SnapshotFooterRecord,
    SnapshotHeaderRecord, leader_change_message,
};

use crate::config::properties;
use crate::config::{BrokerConfig, ConfigError, Properties};
use crate::features::{ELR_VERSION, INITIAL_LEVELS, MetadataVersion};
use crate::image::{MetadataImage, ResourceType, snapshot_records};
use crate::records::{BatchWriter, ControlRecord, RecordError};

/// Name of the checkpoint that makes this node the quorum's only voter.
pub const QUORUM_CHECKPOINT: &str = "00000000000000000000-0000000000.checkpoint";

/// What `meta.properties` says about a log directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaProperties {
    /// Id of the cluster.
    pub cluster_id: String,
    /// Id of the node.
    pub node_id: i32,
    /// Id of the directory.
    pub directory_id: Uuid,
}

/// Why a `meta.properties` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetaPropertiesError {
    /// It is not in the syntax of Java properties.
    #[error(transparent)]
    Syntax(#[from] ConfigError),
    /// A field is missing or malformed.
    #[error("{field} is {value}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it is instead.
        value: String,
    },
}

/// The content of `meta.properties`, without the comments with which Java begins it.
pub fn meta_properties(meta: &MetaProperties) -> String {
    format!(
        "cluster.id={}\ndirectory.id={}\nnode.id={}\nversion=1\n",
        escape(&meta.cluster_id),
        meta.directory_id,
        meta.node_id
    )
}

/// Cluster ids are base64 as a rule, but may be anything.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = [0u16; 2];
    for (at, c) in text.chars().enumerate() {
        match c {
            ' ' if at == 0 => out.push_str("\\ "),
            '\\' | '=' | ':' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
    }
    out
}

/// Reads `meta.properties`. A directory that was formatted before version 1 of the file, or by a
/// release that gave directories no ids, is refused.
pub fn read_meta_properties(bytes: &[u8]) -> Result<MetaProperties, MetaPropertiesError> {
    let fields: Properties = properties::parse(bytes)?;
    let field = |name: &'static str| {
        fields
            .get(name)
            .map(|value| value.trim())
            .ok_or(MetaPropertiesError::Field { field: name, value: "missing".into() })
    };
    let malformed = |name: &'static str, value: &str| MetaPropertiesError::Field {
        field: name,
        value: format!("{value:?}"),
    };
    let version = field("version")?;
    if version != "1" {
        return Err(malformed("version", version));
    }
    let node_id = field("node.id")?;
    let directory_id = field("directory.id")?;
    Ok(MetaProperties {
        cluster_id: field("cluster.id")?.to_owned(),
        node_id: node_id.parse().map_err(|_| malformed("node.id", node_id))?,
        directory_id: Uuid::parse(directory_id)
            .ok_or_else(|| malformed("directory.id", directory_id))?,
    })
}

/// The records of `bootstrap.checkpoint`: the levels the cluster's features begin with.
pub fn bootstrap_records() -> Vec<MetadataRecord> {
    INITIAL_LEVELS
        .iter()
        .map(|(name, level)| {
            FeatureLevelRecord {
                name: (*name).to_owned(),
                feature_level: *level,
                ..FeatureLevelRecord::default()
            }
            .into()
        })
        .collect()
}

/// The records a controller appends to an empty log, as one metadata transaction where the level
/// knows them.
///
/// `bootstrap` are the records of `bootstrap.checkpoint`, or [`bootstrap_records`].
/// `unfinished` says that an earlier attempt broke off within its transaction.
pub fn activation_records(
    config: &BrokerConfig,
    bootstrap: &[MetadataRecord],
    unfinished: bool,
) -> Vec<MetadataRecord> {
    let level_of = |wanted: &str| {
        bootstrap.iter().rev().find_map(|record| match record {
            MetadataRecord::FeatureLevel(record) if record.name == wanted => {
                Some(record.feature_level)
            }
            _ => None,
        })
    };
    let metadata_version = level_of(crate::features::METADATA_VERSION)
        .and_then(MetadataVersion::from_level)
        .unwrap_or(MetadataVersion::MINIMUM);
    let in_transaction = metadata_version.has_transactions();
    let mut records: Vec<MetadataRecord> = Vec::new();
    if unfinished {
        records.push(abort_record());
    }
    if in_transaction {
        let name = Some("Bootstrap records".to_owned());
        records.push(BeginTransactionRecord { name, ..Default::default() }.into());
    }
    records.extend(bootstrap.iter().cloned());
    if level_of(ELR_VERSION).is_some_and(|level| level > 0) {
        // With eligible leader replicas all brokers must agree on this one.
        records.push(
            ConfigRecord {
                resource_type: ResourceType::Broker.id(),
                resource_name: String::new(),
                name: "min.insync.replicas".to_owned(),
                value: Some(config.min_insync_replicas().to_string()),
                ..ConfigRecord::default()
            }
            .into(),
        );
    }
    if in_transaction {
        records.push(EndTransactionRecord::default().into());
    }
    records
}

/// The record that drops a metadata transaction which broke off; a controller that finds one open
/// at its start appends it first.
pub fn abort_record() -> MetadataRecord {
    AbortTransactionRecord { reason: Some("Controller failover".to_owned()), ..Default::default() }
        .into()
}

/// The only voter of the embedded controller's quorum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoleVoter {
    /// Id of the node.
    pub node_id: i32,
    /// Id of the directory with the metadata log.
    pub directory_id: Uuid,
    /// Name of the controller's listener.
    pub listener: String,
    /// Host under which the controller would be reached.
    pub host: String,
    /// Port under which the controller would be reached.
    pub port: u16,
}

impl SoleVoter {
    /// The record that makes it the only voter.
    pub fn voters_record(&self) -> VotersRecord {
        VotersRecord {
            version: 0,
            voters: vec![Voter {
                voter_id: self.node_id,
                voter_directory_id: self.directory_id,
                endpoints: vec![Endpoint {
                    name: self.listener.clone(),
                    host: self.host.clone(),
                    port: self.port,
                    ..Endpoint::default()
                }],
                k_raft_version_feature: KRaftVersionFeature {
                    min_supported_version: 0,
                    max_supported_version: 1,
                    ..KRaftVersionFeature::default()
                },
                ..Voter::default()
            }],
            ..VotersRecord::default()
        }
    }

    /// Whether a voter set names this node and this directory, and nobody else. Only then may the
    /// embedded controller write: anything else would fork the cluster's metadata.
    pub fn is_sole_voter_of(&self, voters: &VotersRecord) -> bool {
        match &voters.voters[..] {
            [voter] => {
                voter.voter_id == self.node_id && voter.voter_directory_id == self.directory_id
            }
            _ => false,
        }
    }

    /// The control records of a log's first epoch: beside the leader they say what the checkpoint
    /// says, so that the checkpoint can go.
    pub fn first_epoch_records(&self) -> Vec<ControlRecord> {
        vec![
            self.leader_change(),
            ControlRecord::KRaftVersion(KRaftVersionRecord {
                version: 0,
                k_raft_version: 1,
                ..KRaftVersionRecord::default()
            }),
            ControlRecord::Voters(self.voters_record()),
        ]
    }

    /// The control record with which an epoch of this leader begins.
    pub fn leader_change(&self) -> ControlRecord {
        let voter = leader_change_message::Voter {
            voter_id: self.node_id,
            ..leader_change_message::Voter::default()
        };
        ControlRecord::LeaderChange(LeaderChangeMessage {
            // Directory ids came with version 1, which Kafka 4.3 does not write yet.
            version: 0,
            leader_id: self.node_id,
            voters: vec![voter.clone()],
            granting_voters: vec![voter],
            ..LeaderChangeMessage::default()
        })
    }
}

fn header(timestamp_ms: i64) -> ControlRecord {
    ControlRecord::SnapshotHeader(SnapshotHeaderRecord {
        version: 0,
        last_contained_log_timestamp: timestamp_ms,
        ..SnapshotHeaderRecord::default()
    })
}

fn footer() -> ControlRecord {
    ControlRecord::SnapshotFooter(SnapshotFooterRecord::default())
}

/// The batches of `bootstrap.checkpoint`, one behind the other the file.
pub fn bootstrap_checkpoint(now_ms: i64) -> Result<Vec<Bytes>, RecordError> {
    let records = bootstrap_records();
    let writer =
        BatchWriter { epoch: 0, timestamp_ms: now_ms, metadata_version: MetadataVersion::LATEST };
    Ok(vec![
        writer.control(0, &[header(0)])?,
        writer.data(1, &records)?,
        writer.control(1 + records.len() as i64, &[footer()])?,
    ])
}

/// The batches of the checkpoint that makes this node the quorum's only voter.
pub fn quorum_checkpoint(voter: &SoleVoter, now_ms: i64) -> Result<Vec<Bytes>, RecordError> {
    let writer =
        BatchWriter { epoch: 0, timestamp_ms: now_ms, metadata_version: MetadataVersion::LATEST };
    let first = [
        header(now_ms),
        ControlRecord::KRaftVersion(KRaftVersionRecord {
            version: 0,
            k_raft_version: 1,
            ..KRaftVersionRecord::default()
        }),
        ControlRecord::Voters(voter.voters_record()),
    ];
    Ok(vec![writer.control(0, &first)?, writer.control(first.len() as i64, &[footer()])?])
}

/// The batches of a snapshot of an image. `epoch` is that of the last record it contains.
pub fn snapshot_batches(
    image: &MetadataImage,
    kraft_version: i16,
    voters: Option<&VotersRecord>,
    now_ms: i64,
) -> Result<Vec<Bytes>, RecordError> {
    let writer = BatchWriter {
        epoch: image.provenance.epoch,
        timestamp_ms: now_ms,
        metadata_version: image.metadata_version(),
    };
    let mut first = vec![header(image.provenance.timestamp_ms)];
    if kraft_version >= 1 {
        first.push(ControlRecord::KRaftVersion(KRaftVersionRecord {
            version: 0,
            k_raft_version: kraft_version,
            ..KRaftVersionRecord::default()
        }));
        first.extend(voters.cloned().map(ControlRecord::Voters));
    }
    let mut batches = vec![writer.control(0, &first)?];
    let records = snapshot_records(image);
    let data_from = first.len() as i64;
    let end = data_from + records.len() as i64;
    batches.extend(writer.data_batches(data_from, records)?);
    batches.push(writer.control(end, &[footer()])?);
    Ok(batches)
}
