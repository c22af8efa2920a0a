//! AlterReplicaLogDirsResponse, versions 1 to 2.

use super::prelude::*;

/// `AlterReplicaLogDirsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterReplicaLogDirsResponse {
    pub throttle_time_ms: i32,
    pub results: Vec<AlterReplicaLogDirTopicResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterReplicaLogDirsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, results: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl AlterReplicaLogDirsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let throttle_time_ms = r.i32()?;
        let results = r.vec(flex, |r| AlterReplicaLogDirTopicResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, results, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.results[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "AlterReplicaLogDirsResponse", version)
    }
}

#[cfg(feature = "json")]
impl AlterReplicaLogDirsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("results".into(), {
            let v = &self.results;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AlterReplicaLogDirTopicResult`, part of AlterReplicaLogDirsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterReplicaLogDirTopicResult {
    pub topic_name: String,
    pub partitions: Vec<AlterReplicaLogDirPartitionResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterReplicaLogDirTopicResult {
    fn default() -> Self {
        Self {
            topic_name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterReplicaLogDirTopicResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let topic_name = r.string(flex)?;
        let partitions = r.vec(flex, |r| AlterReplicaLogDirPartitionResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic_name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.topic_name)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "AlterReplicaLogDirTopicResult", version)
    }
}

#[cfg(feature = "json")]
impl AlterReplicaLogDirTopicResult {
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

/// `AlterReplicaLogDirPartitionResult`, part of AlterReplicaLogDirsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterReplicaLogDirPartitionResult {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterReplicaLogDirPartitionResult {
    fn default() -> Self {
        Self { partition_index: 0, error_code: ErrorCode(0), unknown_tags: RawTags::default() }
    }
}

impl AlterReplicaLogDirPartitionResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, error_code, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "AlterReplicaLogDirPartitionResult", version)
    }
}

#[cfg(feature = "json")]
impl AlterReplicaLogDirPartitionResult {
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

impl Message for AlterReplicaLogDirsResponse {
    const NAME: &'static str = "AlterReplicaLogDirsResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for AlterReplicaLogDirsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
