//! ConsumerGroupPartitionMetadataValue, versions 0 to 0.

use super::prelude::*;

/// `ConsumerGroupPartitionMetadataValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerGroupPartitionMetadataValue {
    pub topics: Vec<TopicMetadata>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ConsumerGroupPartitionMetadataValue {
    fn default() -> Self {
        Self { topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl ConsumerGroupPartitionMetadataValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topics = r.vec(true, |r| TopicMetadata::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ConsumerGroupPartitionMetadataValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ConsumerGroupPartitionMetadataValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicMetadata`, part of ConsumerGroupPartitionMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicMetadata {
    pub topic_id: Uuid,
    pub topic_name: String,
    pub num_partitions: i32,
    pub partition_metadata: Vec<PartitionMetadata>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicMetadata {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            topic_name: String::new(),
            num_partitions: 0,
            partition_metadata: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicMetadata {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let topic_name = r.string(true)?;
        let num_partitions = r.i32()?;
        let partition_metadata = r.vec(true, |r| PartitionMetadata::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, topic_name, num_partitions, partition_metadata, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.string(true, &self.topic_name)?;
        w.i32(self.num_partitions);
        w.array(true, Some(&self.partition_metadata[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "TopicMetadata", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicMetadata {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        o.insert("topicName".into(), {
            let v = &self.topic_name;
            v.as_str().into()
        });
        o.insert("numPartitions".into(), {
            let v = &self.num_partitions;
            (*v).into()
        });
        o.insert("partitionMetadata".into(), {
            let v = &self.partition_metadata;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `PartitionMetadata`, part of ConsumerGroupPartitionMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionMetadata {
    pub partition: i32,
    pub racks: Vec<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionMetadata {
    fn default() -> Self {
        Self { partition: 0, racks: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl PartitionMetadata {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition = r.i32()?;
        let racks = r.vec(true, |r| r.string(true))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { partition, racks, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.partition);
        w.array(true, Some(&self.racks[..]), |w, v| w.string(true, v))?;
        w.unknown_tags(true, &self.unknown_tags, "PartitionMetadata", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl PartitionMetadata {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        o.insert("racks".into(), {
            let v = &self.racks;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ConsumerGroupPartitionMetadataValue {
    const NAME: &'static str = "ConsumerGroupPartitionMetadataValue";
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
impl crate::json::ToJson for ConsumerGroupPartitionMetadataValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ConsumerGroupPartitionMetadataValue {
    /// Number of this record type.
    pub const KEY: i16 = 4;
}
