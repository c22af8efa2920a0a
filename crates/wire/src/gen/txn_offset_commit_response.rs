//! TxnOffsetCommitResponse, versions 0 to 6.

use super::prelude::*;

/// `TxnOffsetCommitResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TxnOffsetCommitResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TxnOffsetCommitResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl TxnOffsetCommitResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let throttle_time_ms = r.i32()?;
        let topics = r.vec(flex, |r| TxnOffsetCommitResponseTopic::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "TxnOffsetCommitResponse", version)
    }
}

#[cfg(feature = "json")]
impl TxnOffsetCommitResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TxnOffsetCommitResponseTopic`, part of TxnOffsetCommitResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TxnOffsetCommitResponseTopic {
    pub name: String,
    pub topic_id: Uuid,
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TxnOffsetCommitResponseTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TxnOffsetCommitResponseTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let name = if version <= 5 { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 6 { r.uuid()? } else { Default::default() };
        let partitions = r.vec(flex, |r| TxnOffsetCommitResponsePartition::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version <= 5 {
            w.string(flex, &self.name)?;
        }
        if version >= 6 {
            w.uuid(self.topic_id);
        }
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "TxnOffsetCommitResponseTopic", version)
    }
}

#[cfg(feature = "json")]
impl TxnOffsetCommitResponseTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 5 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 6 {
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

/// `TxnOffsetCommitResponsePartition`, part of TxnOffsetCommitResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TxnOffsetCommitResponsePartition {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TxnOffsetCommitResponsePartition {
    fn default() -> Self {
        Self { partition_index: 0, error_code: ErrorCode(0), unknown_tags: RawTags::default() }
    }
}

impl TxnOffsetCommitResponsePartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, error_code, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "TxnOffsetCommitResponsePartition", version)
    }
}

#[cfg(feature = "json")]
impl TxnOffsetCommitResponsePartition {
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

impl Message for TxnOffsetCommitResponse {
    const NAME: &'static str = "TxnOffsetCommitResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FLEXIBLE_FROM: i16 = 3;
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
impl crate::json::ToJson for TxnOffsetCommitResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
