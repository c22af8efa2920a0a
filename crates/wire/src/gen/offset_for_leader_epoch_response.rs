//! OffsetForLeaderEpochResponse, versions 2 to 4.

use super::prelude::*;

/// `OffsetForLeaderEpochResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetForLeaderEpochResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<OffsetForLeaderTopicResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetForLeaderEpochResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl OffsetForLeaderEpochResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let throttle_time_ms = r.i32()?;
        let topics = r.vec(flex, |r| OffsetForLeaderTopicResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "OffsetForLeaderEpochResponse", version)
    }
}

#[cfg(feature = "json")]
impl OffsetForLeaderEpochResponse {
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

/// `OffsetForLeaderTopicResult`, part of OffsetForLeaderEpochResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetForLeaderTopicResult {
    pub topic: String,
    pub partitions: Vec<EpochEndOffset>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetForLeaderTopicResult {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetForLeaderTopicResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let topic = r.string(flex)?;
        let partitions = r.vec(flex, |r| EpochEndOffset::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.topic)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "OffsetForLeaderTopicResult", version)
    }
}

#[cfg(feature = "json")]
impl OffsetForLeaderTopicResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topic".into(), {
            let v = &self.topic;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `EpochEndOffset`, part of OffsetForLeaderEpochResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EpochEndOffset {
    pub error_code: ErrorCode,
    pub partition: i32,
    pub leader_epoch: i32,
    pub end_offset: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            partition: 0,
            leader_epoch: -1,
            end_offset: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl EpochEndOffset {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let error_code = ErrorCode(r.i16()?);
        let partition = r.i32()?;
        let leader_epoch = r.i32()?;
        let end_offset = r.i64()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { error_code, partition, leader_epoch, end_offset, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        let mut b = [0; 18];
        b[0..2].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[2..6].copy_from_slice(&self.partition.to_be_bytes());
        b[6..10].copy_from_slice(&self.leader_epoch.to_be_bytes());
        b[10..18].copy_from_slice(&self.end_offset.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "EpochEndOffset", version)
    }
}

#[cfg(feature = "json")]
impl EpochEndOffset {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        o.insert("endOffset".into(), {
            let v = &self.end_offset;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for OffsetForLeaderEpochResponse {
    const NAME: &'static str = "OffsetForLeaderEpochResponse";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 4;
    const FLEXIBLE_FROM: i16 = 4;
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
impl crate::json::ToJson for OffsetForLeaderEpochResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
