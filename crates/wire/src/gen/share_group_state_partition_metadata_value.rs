//! ShareGroupStatePartitionMetadataValue, versions 0 to 0.

use super::prelude::*;

/// `ShareGroupStatePartitionMetadataValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareGroupStatePartitionMetadataValue {
    pub initializing_topics: Vec<TopicPartitionsInfo>,
    pub initialized_topics: Vec<TopicPartitionsInfo>,
    pub deleting_topics: Vec<TopicInfo>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareGroupStatePartitionMetadataValue {
    fn default() -> Self {
        Self {
            initializing_topics: Default::default(),
            initialized_topics: Default::default(),
            deleting_topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ShareGroupStatePartitionMetadataValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let initializing_topics = r.vec(true, |r| TopicPartitionsInfo::read(r, version))?;
        let initialized_topics = r.vec(true, |r| TopicPartitionsInfo::read(r, version))?;
        let deleting_topics = r.vec(true, |r| TopicInfo::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { initializing_topics, initialized_topics, deleting_topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.initializing_topics[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.initialized_topics[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.deleting_topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ShareGroupStatePartitionMetadataValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ShareGroupStatePartitionMetadataValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("initializingTopics".into(), {
            let v = &self.initializing_topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("initializedTopics".into(), {
            let v = &self.initialized_topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("deletingTopics".into(), {
            let v = &self.deleting_topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicPartitionsInfo`, part of ShareGroupStatePartitionMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicPartitionsInfo {
    pub topic_id: Uuid,
    pub topic_name: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicPartitionsInfo {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            topic_name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicPartitionsInfo {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let topic_name = r.string(true)?;
        let partitions = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, topic_name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.string(true, &self.topic_name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "TopicPartitionsInfo", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicPartitionsInfo {
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
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicInfo`, part of ShareGroupStatePartitionMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicInfo {
    pub topic_id: Uuid,
    pub topic_name: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicInfo {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            topic_name: String::new(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicInfo {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let topic_name = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, topic_name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.string(true, &self.topic_name)?;
        w.unknown_tags(true, &self.unknown_tags, "TopicInfo", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicInfo {
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
        serde_json::Value::Object(o)
    }
}

impl Message for ShareGroupStatePartitionMetadataValue {
    const NAME: &'static str = "ShareGroupStatePartitionMetadataValue";
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
impl crate::json::ToJson for ShareGroupStatePartitionMetadataValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ShareGroupStatePartitionMetadataValue {
    /// Number of this record type.
    pub const KEY: i16 = 15;
}
