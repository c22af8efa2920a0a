//! OffsetFetchResponse, versions 1 to 10.

use super::prelude::*;

/// `OffsetFetchResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<OffsetFetchResponseTopic>,
    pub error_code: ErrorCode,
    pub groups: Vec<OffsetFetchResponseGroup>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            topics: Default::default(),
            error_code: ErrorCode(0),
            groups: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let throttle_time_ms = if version >= 3 { r.i32()? } else { 0 };
        let topics = if version <= 7 {
            r.vec(flex, |r| OffsetFetchResponseTopic::read(r, version))?
        } else {
            Default::default()
        };
        let error_code =
            if (2..=7).contains(&version) { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let groups = if version >= 8 {
            r.vec(flex, |r| OffsetFetchResponseGroup::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, topics, error_code, groups, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version >= 3 {
            w.i32(self.throttle_time_ms);
        }
        if version <= 7 {
            w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.topics.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponse",
                    field: "Topics",
                    version,
                });
            }
        }
        if (2..=7).contains(&version) {
            w.i16(self.error_code.0);
        }
        if version >= 8 {
            w.array(flex, Some(&self.groups[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.groups.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponse",
                    field: "Groups",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchResponse", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert("throttleTimeMs".into(), {
                let v = &self.throttle_time_ms;
                (*v).into()
            });
        }
        if version <= 7 {
            o.insert("topics".into(), {
                let v = &self.topics;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if (2..=7).contains(&version) {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        if version >= 8 {
            o.insert("groups".into(), {
                let v = &self.groups;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `OffsetFetchResponseTopic`, part of OffsetFetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchResponseTopic {
    pub name: String,
    pub partitions: Vec<OffsetFetchResponsePartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchResponseTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchResponseTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let name = if version <= 7 { r.string(flex)? } else { String::new() };
        let partitions = if version <= 7 {
            r.vec(flex, |r| OffsetFetchResponsePartition::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version <= 7 {
            w.string(flex, &self.name)?;
        } else {
            if !self.name.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponseTopic",
                    field: "Name",
                    version,
                });
            }
        }
        if version <= 7 {
            w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.partitions.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponseTopic",
                    field: "Partitions",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchResponseTopic", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchResponseTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 7 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version <= 7 {
            o.insert("partitions".into(), {
                let v = &self.partitions;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `OffsetFetchResponsePartition`, part of OffsetFetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchResponsePartition {
    pub partition_index: i32,
    pub committed_offset: i64,
    pub committed_leader_epoch: i32,
    pub metadata: Option<String>,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchResponsePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: Some(String::new()),
            error_code: ErrorCode(0),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchResponsePartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let partition_index = if version <= 7 { r.i32()? } else { 0 };
        let committed_offset = if version <= 7 { r.i64()? } else { 0 };
        let committed_leader_epoch = if (5..=7).contains(&version) { r.i32()? } else { -1 };
        let metadata = if version <= 7 { r.nullable_string(flex)? } else { Some(String::new()) };
        let error_code = if version <= 7 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            partition_index,
            committed_offset,
            committed_leader_epoch,
            metadata,
            error_code,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version <= 7 {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..12].copy_from_slice(&self.committed_offset.to_be_bytes());
            w.raw(&b);
        } else {
            if self.partition_index != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponsePartition",
                    field: "PartitionIndex",
                    version,
                });
            }
            if self.committed_offset != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponsePartition",
                    field: "CommittedOffset",
                    version,
                });
            }
        }
        if (5..=7).contains(&version) {
            w.i32(self.committed_leader_epoch);
        }
        if version <= 7 {
            w.nullable_string(flex, self.metadata.as_deref())?;
        } else {
            if !self.metadata.as_ref().is_some_and(|v| v.is_empty()) {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponsePartition",
                    field: "Metadata",
                    version,
                });
            }
        }
        if version <= 7 {
            w.i16(self.error_code.0);
        } else {
            if self.error_code != ErrorCode(0) {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponsePartition",
                    field: "ErrorCode",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchResponsePartition", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchResponsePartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 7 {
            o.insert("partitionIndex".into(), {
                let v = &self.partition_index;
                (*v).into()
            });
        }
        if version <= 7 {
            o.insert("committedOffset".into(), {
                let v = &self.committed_offset;
                (*v).into()
            });
        }
        if (5..=7).contains(&version) {
            o.insert("committedLeaderEpoch".into(), {
                let v = &self.committed_leader_epoch;
                (*v).into()
            });
        }
        if version <= 7 {
            o.insert(
                "metadata".into(),
                match &self.metadata {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version <= 7 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `OffsetFetchResponseGroup`, part of OffsetFetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchResponseGroup {
    pub group_id: String,
    pub topics: Vec<OffsetFetchResponseTopics>,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchResponseGroup {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Default::default(),
            error_code: ErrorCode(0),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchResponseGroup {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let group_id = if version >= 8 { r.string(flex)? } else { String::new() };
        let topics = if version >= 8 {
            r.vec(flex, |r| OffsetFetchResponseTopics::read(r, version))?
        } else {
            Default::default()
        };
        let error_code = if version >= 8 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { group_id, topics, error_code, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version >= 8 {
            w.string(flex, &self.group_id)?;
        } else {
            if !self.group_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponseGroup",
                    field: "GroupId",
                    version,
                });
            }
        }
        if version >= 8 {
            w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.topics.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponseGroup",
                    field: "Topics",
                    version,
                });
            }
        }
        if version >= 8 {
            w.i16(self.error_code.0);
        } else {
            if self.error_code != ErrorCode(0) {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponseGroup",
                    field: "ErrorCode",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchResponseGroup", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchResponseGroup {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 8 {
            o.insert("groupId".into(), {
                let v = &self.group_id;
                v.as_str().into()
            });
        }
        if version >= 8 {
            o.insert("topics".into(), {
                let v = &self.topics;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if version >= 8 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `OffsetFetchResponseTopics`, part of OffsetFetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchResponseTopics {
    pub name: String,
    pub topic_id: Uuid,
    pub partitions: Vec<OffsetFetchResponsePartitions>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchResponseTopics {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchResponseTopics {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let name = if (8..=9).contains(&version) { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 10 { r.uuid()? } else { Default::default() };
        let partitions = if version >= 8 {
            r.vec(flex, |r| OffsetFetchResponsePartitions::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if (8..=9).contains(&version) {
            w.string(flex, &self.name)?;
        }
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        if version >= 8 {
            w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.partitions.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponseTopics",
                    field: "Partitions",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchResponseTopics", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchResponseTopics {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if (8..=9).contains(&version) {
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
        if version >= 8 {
            o.insert("partitions".into(), {
                let v = &self.partitions;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `OffsetFetchResponsePartitions`, part of OffsetFetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchResponsePartitions {
    pub partition_index: i32,
    pub committed_offset: i64,
    pub committed_leader_epoch: i32,
    pub metadata: Option<String>,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchResponsePartitions {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            metadata: Some(String::new()),
            error_code: ErrorCode(0),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchResponsePartitions {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let partition_index = if version >= 8 { r.i32()? } else { 0 };
        let committed_offset = if version >= 8 { r.i64()? } else { 0 };
        let committed_leader_epoch = if version >= 8 { r.i32()? } else { -1 };
        let metadata = if version >= 8 { r.nullable_string(flex)? } else { Some(String::new()) };
        let error_code = if version >= 8 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            partition_index,
            committed_offset,
            committed_leader_epoch,
            metadata,
            error_code,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version >= 8 {
            let mut b = [0; 16];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..12].copy_from_slice(&self.committed_offset.to_be_bytes());
            b[12..16].copy_from_slice(&self.committed_leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            if self.partition_index != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponsePartitions",
                    field: "PartitionIndex",
                    version,
                });
            }
            if self.committed_offset != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponsePartitions",
                    field: "CommittedOffset",
                    version,
                });
            }
        }
        if version >= 8 {
            w.nullable_string(flex, self.metadata.as_deref())?;
        } else {
            if !self.metadata.as_ref().is_some_and(|v| v.is_empty()) {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponsePartitions",
                    field: "Metadata",
                    version,
                });
            }
        }
        if version >= 8 {
            w.i16(self.error_code.0);
        } else {
            if self.error_code != ErrorCode(0) {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchResponsePartitions",
                    field: "ErrorCode",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchResponsePartitions", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchResponsePartitions {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 8 {
            o.insert("partitionIndex".into(), {
                let v = &self.partition_index;
                (*v).into()
            });
        }
        if version >= 8 {
            o.insert("committedOffset".into(), {
                let v = &self.committed_offset;
                (*v).into()
            });
        }
        if version >= 8 {
            o.insert("committedLeaderEpoch".into(), {
                let v = &self.committed_leader_epoch;
                (*v).into()
            });
        }
        if version >= 8 {
            o.insert(
                "metadata".into(),
                match &self.metadata {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 8 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for OffsetFetchResponse {
    const NAME: &'static str = "OffsetFetchResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 10;
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
impl crate::json::ToJson for OffsetFetchResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
