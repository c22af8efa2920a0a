//! AlterShareGroupOffsetsRequest, versions 0 to 0.

use super::prelude::*;

/// `AlterShareGroupOffsetsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterShareGroupOffsetsRequest {
    pub group_id: String,
    pub topics: Vec<AlterShareGroupOffsetsRequestTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterShareGroupOffsetsRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterShareGroupOffsetsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(true)?;
        let topics = r.vec(true, |r| AlterShareGroupOffsetsRequestTopic::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { group_id, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.group_id)?;
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "AlterShareGroupOffsetsRequest", version)
    }
}

#[cfg(feature = "json")]
impl AlterShareGroupOffsetsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AlterShareGroupOffsetsRequestTopic`, part of AlterShareGroupOffsetsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterShareGroupOffsetsRequestTopic {
    pub topic_name: String,
    pub partitions: Vec<AlterShareGroupOffsetsRequestPartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterShareGroupOffsetsRequestTopic {
    fn default() -> Self {
        Self {
            topic_name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterShareGroupOffsetsRequestTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_name = r.string(true)?;
        let partitions =
            r.vec(true, |r| AlterShareGroupOffsetsRequestPartition::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic_name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "AlterShareGroupOffsetsRequestTopic", version)
    }
}

#[cfg(feature = "json")]
impl AlterShareGroupOffsetsRequestTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicName".into(), {
            let v = &self.topic_name;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AlterShareGroupOffsetsRequestPartition`, part of AlterShareGroupOffsetsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterShareGroupOffsetsRequestPartition {
    pub partition_index: i32,
    pub start_offset: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterShareGroupOffsetsRequestPartition {
    fn default() -> Self {
        Self { partition_index: 0, start_offset: 0, unknown_tags: RawTags::default() }
    }
}

impl AlterShareGroupOffsetsRequestPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let start_offset = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { partition_index, start_offset, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..12].copy_from_slice(&self.start_offset.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "AlterShareGroupOffsetsRequestPartition", version)
    }
}

#[cfg(feature = "json")]
impl AlterShareGroupOffsetsRequestPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("startOffset".into(), {
            let v = &self.start_offset;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AlterShareGroupOffsetsRequest {
    const NAME: &'static str = "AlterShareGroupOffsetsRequest";
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

#[cfg(feature = "json")]
impl crate::json::ToJson for AlterShareGroupOffsetsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AlterShareGroupOffsetsRequest {
    const API_KEY: ApiKey = ApiKey(91);
    type Response = super::alter_share_group_offsets_response::AlterShareGroupOffsetsResponse;
}
