//! Snapshots: an image as records, and back.

use thalweg_wire::messages::metadata_record::MetadataRecord;
use thalweg_wire::messages::{
    ClientQuotaRecord, ConfigRecord, FeatureLevelRecord, KRaftVersionRecord, ProducerIdsRecord,
    TopicRecord, VotersRecord,
};

use super::{Changes, Delta, MetadataImage, Provenance, ReplayError};
use crate::features::METADATA_VERSION;
use crate::records::{Batch, BatchContents, ControlRecord};

/// The records that say all of an image, in Kafka's order: features, cluster, topics, configs,
/// quotas, producer ids, access control, SCRAM, delegation tokens.
///
/// What the level of `metadata.version` cannot express is left out, as in Kafka.
pub fn snapshot_records(image: &MetadataImage) -> Vec<MetadataRecord> {
    let version = image.metadata_version();
    let mut records: Vec<MetadataRecord> = Vec::new();
    let feature = |name: &str, level| FeatureLevelRecord {
        name: name.to_owned(),
        feature_level: level,
        ..Default::default()
    };
    if let Some(level) = image.features.metadata_version {
        records.push(feature(METADATA_VERSION, level.level()).into());
    }
    for (name, level) in &image.features.levels {
        records.push(feature(name, *level).into());
    }
    for broker in image.cluster.brokers.values() {
        records.push(broker.to_record(version).into());
    }
    if version.has_controller_registration() {
        for controller in image.cluster.controllers.values() {
            records.push(controller.to_record().into());
        }
    }
    for topic in image.topics.iter() {
        records.push(
            TopicRecord { name: topic.name.to_string(), topic_id: topic.id, ..Default::default() }
                .into(),
        );
        for (index, partition) in &topic.partitions {
            records.push(partition.to_record(topic.id, *index, version).into());
        }
    }
    for (resource, configs) in image.configs.iter() {
        for (name, value) in configs.iter() {
            records.push(
                ConfigRecord {
                    resource_type: resource.resource_type.id(),
                    resource_name: resource.name.clone(),
                    name: name.clone(),
                    value: Some(value.clone()),
                    ..Default::default()
                }
                .into(),
            );
        }
    }
    for (entity, quotas) in &image.quotas.entities {
        for (key, value) in quotas {
            records.push(
                ClientQuotaRecord {
                    entity: entity.to_record(),
                    key: key.clone(),
                    value: *value,
                    remove: false,
                    ..Default::default()
                }
                .into(),
            );
        }
    }
    if image.next_producer_id >= 0 {
        records.push(
            ProducerIdsRecord {
                broker_id: -1,
                broker_epoch: -1,
                next_producer_id: image.next_producer_id,
                ..Default::default()
            }
            .into(),
        );
    }
    records.extend(image.acls.values().cloned().map(MetadataRecord::from));
    if version.has_scram() {
        records.extend(image.scram.values().cloned().map(MetadataRecord::from));
    }
    if version.has_delegation_tokens() {
        records.extend(image.tokens.values().cloned().map(MetadataRecord::from));
    }
    records
}

/// Why a snapshot cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// It does not begin with a header.
    #[error("the snapshot does not begin with a header")]
    NoHeader,
    /// It does not end with a footer: it was never finished, or is cut off.
    #[error("the snapshot does not end with a footer")]
    NoFooter,
    /// Something follows the footer.
    #[error("the snapshot goes on behind its footer")]
    BehindFooter,
    /// A record does not fit.
    #[error("snapshot record at offset {offset}: {error}")]
    Replay {
        /// Offset within the snapshot.
        offset: i64,
        /// What is wrong.
        error: ReplayError,
    },
}

/// Takes the batches of a snapshot, gives the image.
#[derive(Debug)]
pub struct SnapshotReader {
    delta: Delta,
    header_timestamp_ms: Option<i64>,
    finished: bool,
    kraft_version: Option<KRaftVersionRecord>,
    voters: Option<VotersRecord>,
}

impl SnapshotReader {
    /// A snapshot that replaces an image.
    pub fn new(base: MetadataImage) -> SnapshotReader {
        SnapshotReader {
            delta: Delta::replacing(base),
            header_timestamp_ms: None,
            finished: false,
            kraft_version: None,
            voters: None,
        }
    }

    /// The level of `kraft.version` in the snapshot.
    pub fn kraft_version(&self) -> Option<&KRaftVersionRecord> {
        self.kraft_version.as_ref()
    }

    /// The voters in the snapshot.
    pub fn voters(&self) -> Option<&VotersRecord> {
        self.voters.as_ref()
    }

    /// Takes the next batch.
    pub fn load(&mut self, batch: &Batch) -> Result<(), SnapshotError> {
        if self.finished {
            return Err(SnapshotError::BehindFooter);
        }
        match &batch.contents {
            BatchContents::Control(records) => {
                for record in records {
                    match record {
                        ControlRecord::SnapshotHeader(header) => {
                            self.header_timestamp_ms = Some(header.last_contained_log_timestamp);
                        }
                        _ if self.header_timestamp_ms.is_none() => {
                            return Err(SnapshotError::NoHeader);
                        }
                        ControlRecord::SnapshotFooter(_) => self.finished = true,
                        ControlRecord::KRaftVersion(record) => {
                            self.kraft_version = Some(record.clone());
                        }
                        ControlRecord::Voters(record) => self.voters = Some(record.clone()),
                        ControlRecord::LeaderChange(_) | ControlRecord::Other(_) => {}
                    }
                }
            }
            BatchContents::Data(records) => {
                if self.header_timestamp_ms.is_none() {
                    return Err(SnapshotError::NoHeader);
                }
                for (offset, record) in (batch.base_offset..).zip(records) {
                    self.delta
                        .replay(record)
                        .map_err(|error| SnapshotError::Replay { offset, error })?;
                }
            }
        }
        Ok(())
    }

    /// The image of the snapshot that contains the log up to, and without, `end_offset`.
    pub fn finish(
        self,
        end_offset: i64,
        epoch: i32,
    ) -> Result<(MetadataImage, Changes), SnapshotError> {
        let timestamp_ms = self.header_timestamp_ms.ok_or(SnapshotError::NoHeader)?;
        if !self.finished {
            return Err(SnapshotError::NoFooter);
        }
        Ok(self.delta.apply(Provenance { offset: end_offset - 1, epoch, timestamp_ms }))
    }
}
