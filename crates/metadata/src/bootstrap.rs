//! What an empty directory is formatted with: the files that `StorageTool format --standalone` of
//! Kafka 4.3 writes, so that Java can take the directory over, and the first records that a new
//! controller appends. Kafka 4.4 reads them, too; it writes the records of the first file into the second one, where
//! Kafka 4.3 does not look for them.
//!
//! | file | content |
//! |---|---|
//! | `bootstrap.checkpoint`, in every log directory | [`bootstrap_checkpoint`] |
//! | `__cluster_metadata-0/00000000000000000000-0000000000.checkpoint` | [`quorum_checkpoint`] |
//!
//! Features begin at the levels of the release in `thalweg.format.release.version`, also those that are not served
//! yet: a directory that comes from Java or goes there has them too.

use bytes::Bytes;
use thalweg_wire::Uuid;
use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::voters_record::{Endpoint, KRaftVersionFeature, Voter, VotersRecord};
use thalweg_wire::messages::{
    AbortTransactionRecord, BeginTransactionRecord, ConfigRecord, EndTransactionRecord,
    FeatureLevelRecord, KRaftVersionRecord, LeaderChangeMessage, SnapshotFooterRecord,
    SnapshotHeaderRecord, leader_change_message,
};

use crate::config::BrokerConfig;
use crate::features::{ELR_VERSION, MetadataVersion, initial_levels};
use crate::image::{MetadataImage, ResourceType, snapshot_records};
use crate::records::{BatchWriter, ControlRecord, RecordError};

/// Name of the checkpoint that makes this node the quorum's only voter.
pub const QUORUM_CHECKPOINT: &str = "00000000000000000000-0000000000.checkpoint";

/// The records of `bootstrap.checkpoint`: the levels the cluster's features begin with, as those of a release that
/// has this level of `metadata.version`.
pub fn bootstrap_records(version: MetadataVersion) -> Vec<MetadataRecord> {
    initial_levels(version)
        .into_iter()
        .map(|(name, level)| {
            FeatureLevelRecord {
                name: name.to_owned(),
                feature_level: level,
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
            // Directory ids came with version 1, which Kafka 4.4 does not write yet.
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
pub fn bootstrap_checkpoint(
    version: MetadataVersion,
    now_ms: i64,
) -> Result<Vec<Bytes>, RecordError> {
    let records = bootstrap_records(version);
    let writer = BatchWriter { epoch: 0, timestamp_ms: now_ms, metadata_version: version };
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

#[cfg(test)]
mod tests {
    use thalweg_records::Decompressor;

    use super::*;
    use crate::config::broker::{Mode, embedded_defaults};
    use crate::image::{Delta, Loader, Provenance, SnapshotReader};
    use crate::records::Batch;

    fn voter() -> SoleVoter {
        SoleVoter {
            node_id: 3,
            directory_id: Uuid::from_u128(0x0102_0304_0506_4708_890a_0b0c_0d0e_0f10),
            listener: "CONTROLLER".into(),
            host: "localhost".into(),
            port: 9093,
        }
    }

    #[test]
    fn the_first_records_make_a_cluster_at_kafkas_levels() {
        let config = BrokerConfig::new(embedded_defaults(), Mode::Embedded).expect("defaults");
        let writer =
            BatchWriter { epoch: 1, timestamp_ms: 5, metadata_version: MetadataVersion::LATEST };
        let mut decompressor = Decompressor::new();
        let mut loader = Loader::new(MetadataImage::empty());
        let first = writer.control(0, &voter().first_epoch_records()).expect("a batch");
        loader.load(&Batch::read(&first, &mut decompressor).expect("a batch")).expect("it fits");
        let records =
            activation_records(&config, &bootstrap_records(MetadataVersion::LATEST), false);
        let second = writer.data(3, &records).expect("a batch");
        let batch = Batch::read(&second, &mut decompressor).expect("a batch");
        assert_eq!(loader.load(&batch).expect("it fits").len(), 1);
        let image = loader.image();
        assert_eq!(image.metadata_version(), MetadataVersion::LATEST);
        for (name, level) in initial_levels(MetadataVersion::LATEST) {
            assert_eq!(image.features.level(name), level, "{name}");
        }
        let defaults = image.configs.properties(&crate::image::ConfigResource::broker_defaults());
        assert_eq!(defaults.get("min.insync.replicas").map(String::as_str), Some("1"));
        // An attempt that broke off is dropped first.
        let again = activation_records(&config, &bootstrap_records(MetadataVersion::LATEST), true);
        assert!(matches!(again.first(), Some(MetadataRecord::AbortTransaction(_))));
        assert_eq!(&again[1..], &records[..]);
    }

    #[test]
    fn checkpoints_can_be_read() {
        let mut decompressor = Decompressor::new();
        let mut read = |batches: Vec<Bytes>| {
            let mut reader = SnapshotReader::new(MetadataImage::empty());
            for bytes in batches {
                let batch = Batch::read(&bytes, &mut decompressor).expect("a batch");
                reader.load(&batch).expect("it fits");
            }
            reader
        };
        let reader = read(quorum_checkpoint(&voter(), 9).expect("batches"));
        assert_eq!(reader.voters(), Some(&voter().voters_record()));
        assert!(reader.finish(0, 0).expect("an image").0.is_empty());

        let (image, _) = read(bootstrap_checkpoint(MetadataVersion::LATEST, 9).expect("batches"))
            .finish(1, 0)
            .expect("one");
        assert_eq!(image.metadata_version(), MetadataVersion::LATEST);

        let provenance = Provenance { offset: 41, epoch: 2, timestamp_ms: 7 };
        let image = Delta::new(image).apply(provenance).0;
        let voters = voter().voters_record();
        let reader = read(snapshot_batches(&image, 1, Some(&voters), 9).expect("batches"));
        assert_eq!(reader.voters(), Some(&voters));
        assert_eq!(reader.finish(42, 2).expect("an image").0, image);
    }

    #[test]
    fn half_a_snapshot_is_none() {
        let batches = bootstrap_checkpoint(MetadataVersion::LATEST, 9).expect("batches");
        let read = |which: &[usize]| {
            let mut reader = SnapshotReader::new(MetadataImage::empty());
            for at in which {
                let bytes = &batches[*at];
                reader.load(&Batch::read(bytes, &mut Decompressor::new()).expect("a batch"))?;
            }
            reader.finish(1, 0)
        };
        use crate::image::SnapshotError;
        assert_eq!(read(&[0, 1]).expect_err("cut off"), SnapshotError::NoFooter);
        assert_eq!(read(&[1, 2]).expect_err("no header"), SnapshotError::NoHeader);
        assert_eq!(read(&[0, 2, 1]).expect_err("behind"), SnapshotError::BehindFooter);
        assert!(read(&[0, 1, 2]).is_ok());
    }
}
