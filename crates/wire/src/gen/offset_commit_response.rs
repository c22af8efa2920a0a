//! OffsetCommitResponse, versions 2 to 10.

use super::prelude::*;

/// `OffsetCommitResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetCommitResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<OffsetCommitResponseTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetCommitResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl OffsetCommitResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 8;
        let throttle_time_ms = if version >= 3 { r.i32()? } else { 0 };
        let topics = r.vec(flex, |r| OffsetCommitResponseTopic::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 8;
        if version >= 3 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "OffsetCommitResponse", version)
    }
}

#[cfg(feature = "json")]
impl OffsetCommitResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert("throttleTimeMs".into(), {
                let v = &self.throttle_time_ms;
                (*v).into()
            });
        }
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `OffsetCommitResponseTopic`, part of OffsetCommitResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetCommitResponseTopic {
    pub name: String,
    pub topic_id: Uuid,
    pub partitions: Vec<OffsetCommitResponsePartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetCommitResponseTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetCommitResponseTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 8;
        let name = if version <= 9 { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 10 { r.uuid()? } else { Default::default() };
        let partitions = r.vec(flex, |r| OffsetCommitResponsePartition::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 8;
        if version <= 9 {
            w.string(flex, &self.name)?;
        }
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "OffsetCommitResponseTopic", version)
    }
}

#[cfg(feature = "json")]
impl OffsetCommitResponseTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 9 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 10 {
            o.insert("topicId".into(), {
                let v = &self.topic_id;
                v.to_string().into()
            });
        }
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `OffsetCommitResponsePartition`, part of OffsetCommitResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetCommitResponsePartition {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetCommitResponsePartition {
    fn default() -> Self {
        Self { partition_index: 0, error_code: ErrorCode(0), unknown_tags: RawTags::default() }
    }
}

impl OffsetCommitResponsePartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 8;
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, error_code, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 8;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "OffsetCommitResponsePartition", version)
    }
}

#[cfg(feature = "json")]
impl OffsetCommitResponsePartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for OffsetCommitResponse {
    const NAME: &'static str = "OffsetCommitResponse";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 10;
    const FLEXIBLE_FROM: i16 = 8;
    fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        Self::check_version(version)?;
        Self::read(r, version)
    }
    fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        Self::check_written_version(version)?;
        self.write(w, version)
    }
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for OffsetCommitResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
