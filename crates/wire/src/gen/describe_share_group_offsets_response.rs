//! DescribeShareGroupOffsetsResponse, versions 0 to 1.

use super::prelude::*;

/// `DescribeShareGroupOffsetsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeShareGroupOffsetsResponse {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribeShareGroupOffsetsResponseGroup>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeShareGroupOffsetsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, groups: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl DescribeShareGroupOffsetsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let groups = r.vec(true, |r| DescribeShareGroupOffsetsResponseGroup::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, groups, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.throttle_time_ms);
        w.array(true, Some(&self.groups[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeShareGroupOffsetsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeShareGroupOffsetsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("groups".into(), {
            let v = &self.groups;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeShareGroupOffsetsResponseGroup`, part of DescribeShareGroupOffsetsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeShareGroupOffsetsResponseGroup {
    pub group_id: String,
    pub topics: Vec<DescribeShareGroupOffsetsResponseTopic>,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeShareGroupOffsetsResponseGroup {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Default::default(),
            error_code: ErrorCode(0),
            error_message: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeShareGroupOffsetsResponseGroup {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(true)?;
        let topics = r.vec(true, |r| DescribeShareGroupOffsetsResponseTopic::read(r, version))?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { group_id, topics, error_code, error_message, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.group_id)?;
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.i16(self.error_code.0);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeShareGroupOffsetsResponseGroup", version)
    }
}

#[cfg(feature = "json")]
impl DescribeShareGroupOffsetsResponseGroup {
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
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `DescribeShareGroupOffsetsResponseTopic`, part of DescribeShareGroupOffsetsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeShareGroupOffsetsResponseTopic {
    pub topic_name: String,
    pub topic_id: Uuid,
    pub partitions: Vec<DescribeShareGroupOffsetsResponsePartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeShareGroupOffsetsResponseTopic {
    fn default() -> Self {
        Self {
            topic_name: String::new(),
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeShareGroupOffsetsResponseTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_name = r.string(true)?;
        let topic_id = r.uuid()?;
        let partitions =
            r.vec(true, |r| DescribeShareGroupOffsetsResponsePartition::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_name, topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic_name)?;
        w.uuid(self.topic_id);
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeShareGroupOffsetsResponseTopic", version)
    }
}

#[cfg(feature = "json")]
impl DescribeShareGroupOffsetsResponseTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicName".into(), {
            let v = &self.topic_name;
            v.as_str().into()
        });
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeShareGroupOffsetsResponsePartition`, part of DescribeShareGroupOffsetsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeShareGroupOffsetsResponsePartition {
    pub partition_index: i32,
    pub start_offset: i64,
    pub leader_epoch: i32,
    pub lag: i64,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeShareGroupOffsetsResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            start_offset: 0,
            leader_epoch: 0,
            lag: -1,
            error_code: ErrorCode(0),
            error_message: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeShareGroupOffsetsResponsePartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let start_offset = r.i64()?;
        let leader_epoch = r.i32()?;
        let lag = if version >= 1 { r.i64()? } else { -1 };
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            partition_index,
            start_offset,
            leader_epoch,
            lag,
            error_code,
            error_message,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            let mut b = [0; 24];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..12].copy_from_slice(&self.start_offset.to_be_bytes());
            b[12..16].copy_from_slice(&self.leader_epoch.to_be_bytes());
            b[16..24].copy_from_slice(&self.lag.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 16];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..12].copy_from_slice(&self.start_offset.to_be_bytes());
            b[12..16].copy_from_slice(&self.leader_epoch.to_be_bytes());
            w.raw(&b);
        }
        w.i16(self.error_code.0);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.unknown_tags(
            true,
            &self.unknown_tags,
            "DescribeShareGroupOffsetsResponsePartition",
            version,
        )
    }
}

#[cfg(feature = "json")]
impl DescribeShareGroupOffsetsResponsePartition {
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
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        if version >= 1 {
            o.insert("lag".into(), {
                let v = &self.lag;
                (*v).into()
            });
        }
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeShareGroupOffsetsResponse {
    const NAME: &'static str = "DescribeShareGroupOffsetsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FLEXIBLE_FROM: i16 = 0;
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
impl crate::json::ToJson for DescribeShareGroupOffsetsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
