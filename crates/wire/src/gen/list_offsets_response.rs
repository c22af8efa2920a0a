//! ListOffsetsResponse, versions 1 to 11.

use super::prelude::*;

/// `ListOffsetsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListOffsetsResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<ListOffsetsTopicResponse>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListOffsetsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl ListOffsetsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let throttle_time_ms = if version >= 2 { r.i32()? } else { 0 };
        let topics = r.vec(flex, |r| ListOffsetsTopicResponse::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version >= 2 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "ListOffsetsResponse", version)
    }
}

#[cfg(feature = "json")]
impl ListOffsetsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 2 {
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

/// `ListOffsetsTopicResponse`, part of ListOffsetsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListOffsetsTopicResponse {
    pub name: String,
    pub partitions: Vec<ListOffsetsPartitionResponse>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListOffsetsTopicResponse {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListOffsetsTopicResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let name = r.string(flex)?;
        let partitions = r.vec(flex, |r| ListOffsetsPartitionResponse::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        w.string(flex, &self.name)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "ListOffsetsTopicResponse", version)
    }
}

#[cfg(feature = "json")]
impl ListOffsetsTopicResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ListOffsetsPartitionResponse`, part of ListOffsetsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListOffsetsPartitionResponse {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub timestamp: i64,
    pub offset: i64,
    pub leader_epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListOffsetsPartitionResponse {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode(0),
            timestamp: -1,
            offset: -1,
            leader_epoch: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListOffsetsPartitionResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let timestamp = r.i64()?;
        let offset = r.i64()?;
        let leader_epoch = if version >= 4 { r.i32()? } else { -1 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, error_code, timestamp, offset, leader_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version >= 4 {
            let mut b = [0; 26];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.timestamp.to_be_bytes());
            b[14..22].copy_from_slice(&self.offset.to_be_bytes());
            b[22..26].copy_from_slice(&self.leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 22];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.timestamp.to_be_bytes());
            b[14..22].copy_from_slice(&self.offset.to_be_bytes());
            w.raw(&b);
            if self.leader_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "ListOffsetsPartitionResponse",
                    field: "LeaderEpoch",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "ListOffsetsPartitionResponse", version)
    }
}

#[cfg(feature = "json")]
impl ListOffsetsPartitionResponse {
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
        o.insert("timestamp".into(), {
            let v = &self.timestamp;
            (*v).into()
        });
        o.insert("offset".into(), {
            let v = &self.offset;
            (*v).into()
        });
        if version >= 4 {
            o.insert("leaderEpoch".into(), {
                let v = &self.leader_epoch;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ListOffsetsResponse {
    const NAME: &'static str = "ListOffsetsResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 11;
    const FLEXIBLE_FROM: i16 = 6;
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
impl crate::json::ToJson for ListOffsetsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
