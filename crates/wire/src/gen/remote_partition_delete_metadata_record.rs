//! RemotePartitionDeleteMetadataRecord, versions 0 to 0.

use super::prelude::*;

/// `RemotePartitionDeleteMetadataRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemotePartitionDeleteMetadataRecord {
    pub topic_id_partition: TopicIdPartitionEntry,
    pub broker_id: i32,
    pub event_timestamp_ms: i64,
    pub remote_partition_delete_state: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemotePartitionDeleteMetadataRecord {
    fn default() -> Self {
        Self {
            topic_id_partition: Default::default(),
            broker_id: 0,
            event_timestamp_ms: 0,
            remote_partition_delete_state: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl RemotePartitionDeleteMetadataRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id_partition = TopicIdPartitionEntry::read(r, version)?;
        let broker_id = r.i32()?;
        let event_timestamp_ms = r.i64()?;
        let remote_partition_delete_state = r.i8()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            topic_id_partition,
            broker_id,
            event_timestamp_ms,
            remote_partition_delete_state,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        self.topic_id_partition.write(w, version)?;
        let mut b = [0; 13];
        b[0..4].copy_from_slice(&self.broker_id.to_be_bytes());
        b[4..12].copy_from_slice(&self.event_timestamp_ms.to_be_bytes());
        b[12..13].copy_from_slice(&self.remote_partition_delete_state.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "RemotePartitionDeleteMetadataRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RemotePartitionDeleteMetadataRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicIdPartition".into(), {
            let v = &self.topic_id_partition;
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
        o.insert("remotePartitionDeleteState".into(), {
            let v = &self.remote_partition_delete_state;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicIdPartitionEntry`, part of RemotePartitionDeleteMetadataRecord.
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

impl Message for RemotePartitionDeleteMetadataRecord {
    const NAME: &'static str = "RemotePartitionDeleteMetadataRecord";
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
impl crate::json::ToJson for RemotePartitionDeleteMetadataRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl RemotePartitionDeleteMetadataRecord {
    /// Number of this record type.
    pub const KEY: i16 = 2;
}
