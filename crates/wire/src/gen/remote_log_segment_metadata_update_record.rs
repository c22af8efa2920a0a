//! RemoteLogSegmentMetadataUpdateRecord, versions 0 to 0.

use super::prelude::*;

/// `RemoteLogSegmentMetadataUpdateRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemoteLogSegmentMetadataUpdateRecord {
    pub remote_log_segment_id: RemoteLogSegmentIdEntry,
    pub broker_id: i32,
    pub event_timestamp_ms: i64,
    pub custom_metadata: Option<Bytes>,
    pub remote_log_segment_state: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemoteLogSegmentMetadataUpdateRecord {
    fn default() -> Self {
        Self {
            remote_log_segment_id: Default::default(),
            broker_id: 0,
            event_timestamp_ms: 0,
            custom_metadata: None,
            remote_log_segment_state: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl RemoteLogSegmentMetadataUpdateRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let remote_log_segment_id = RemoteLogSegmentIdEntry::read(r, version)?;
        let broker_id = r.i32()?;
        let event_timestamp_ms = r.i64()?;
        let custom_metadata = r.nullable_bytes(true)?;
        let remote_log_segment_state = r.i8()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            remote_log_segment_id,
            broker_id,
            event_timestamp_ms,
            custom_metadata,
            remote_log_segment_state,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        self.remote_log_segment_id.write(w, version)?;
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.broker_id.to_be_bytes());
        b[4..12].copy_from_slice(&self.event_timestamp_ms.to_be_bytes());
        w.raw(&b);
        w.nullable_bytes(true, self.custom_metadata.as_deref())?;
        w.i8(self.remote_log_segment_state);
        w.unknown_tags(true, &self.unknown_tags, "RemoteLogSegmentMetadataUpdateRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RemoteLogSegmentMetadataUpdateRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("remoteLogSegmentId".into(), {
            let v = &self.remote_log_segment_id;
            v.json(version)
        });
        o.insert("brokerId".into(), {
            let v = &self.broker_id;
            (*v).into()
        });
        o.insert("eventTimestampMs".into(), {
            let v = &self.event_timestamp_ms;
            (*v).into()
        });
        o.insert(
            "customMetadata".into(),
            match &self.custom_metadata {
                Some(v) => crate::json::base64(v).into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("remoteLogSegmentState".into(), {
            let v = &self.remote_log_segment_state;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `RemoteLogSegmentIdEntry`, part of RemoteLogSegmentMetadataUpdateRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemoteLogSegmentIdEntry {
    pub topic_id_partition: TopicIdPartitionEntry,
    pub id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemoteLogSegmentIdEntry {
    fn default() -> Self {
        Self {
            topic_id_partition: Default::default(),
            id: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl RemoteLogSegmentIdEntry {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id_partition = TopicIdPartitionEntry::read(r, version)?;
        let id = r.uuid()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id_partition, id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        self.topic_id_partition.write(w, version)?;
        w.uuid(self.id);
        w.unknown_tags(true, &self.unknown_tags, "RemoteLogSegmentIdEntry", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RemoteLogSegmentIdEntry {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicIdPartition".into(), {
            let v = &self.topic_id_partition;
            v.json(version)
        });
        o.insert("id".into(), {
            let v = &self.id;
            v.to_string().into()
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicIdPartitionEntry`, part of RemoteLogSegmentMetadataUpdateRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicIdPartitionEntry {
    pub name: String,
    pub id: Uuid,
    pub partition: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicIdPartitionEntry {
    fn default() -> Self {
        Self {
            name: String::new(),
            id: Default::default(),
            partition: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicIdPartitionEntry {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let id = r.uuid()?;
        let partition = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, id, partition, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        let mut b = [0; 20];
        b[0..16].copy_from_slice(&self.id.0);
        b[16..20].copy_from_slice(&self.partition.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "TopicIdPartitionEntry", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicIdPartitionEntry {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("id".into(), {
            let v = &self.id;
            v.to_string().into()
        });
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for RemoteLogSegmentMetadataUpdateRecord {
    const NAME: &'static str = "RemoteLogSegmentMetadataUpdateRecord";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FLEXIBLE_FROM: i16 = 0;
    fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        Self::check_version(version)?;
        Self::read(r, version)
    }
    fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        Self::check_written_version(version)?;
        self.write(w, version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for RemoteLogSegmentMetadataUpdateRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl RemoteLogSegmentMetadataUpdateRecord {
    /// Number of this record type.
    pub const KEY: i16 = 1;
}
