//! OffsetCommitRequest, versions 2 to 10.

use super::prelude::*;

/// `OffsetCommitRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetCommitRequest {
    pub group_id: String,
    pub generation_id_or_member_epoch: i32,
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub retention_time_ms: i64,
    pub topics: Vec<OffsetCommitRequestTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetCommitRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            generation_id_or_member_epoch: -1,
            member_id: String::new(),
            group_instance_id: None,
            retention_time_ms: -1,
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetCommitRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 8;
        let group_id = r.string(flex)?;
        let generation_id_or_member_epoch = r.i32()?;
        let member_id = r.string(flex)?;
        let group_instance_id = if version >= 7 { r.nullable_string(flex)? } else { None };
        let retention_time_ms = if version <= 4 { r.i64()? } else { -1 };
        let topics = r.vec(flex, |r| OffsetCommitRequestTopic::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            group_id,
            generation_id_or_member_epoch,
            member_id,
            group_instance_id,
            retention_time_ms,
            topics,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 8;
        w.string(flex, &self.group_id)?;
        w.i32(self.generation_id_or_member_epoch);
        w.string(flex, &self.member_id)?;
        if version >= 7 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        } else {
            if self.group_instance_id.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetCommitRequest",
                    field: "GroupInstanceId",
                    version,
                });
            }
        }
        if version <= 4 {
            w.i64(self.retention_time_ms);
        }
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "OffsetCommitRequest", version)
    }
}

#[cfg(feature = "json")]
impl OffsetCommitRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("generationIdOrMemberEpoch".into(), {
            let v = &self.generation_id_or_member_epoch;
            (*v).into()
        });
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        if version >= 7 {
            o.insert(
                "groupInstanceId".into(),
                match &self.group_instance_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version <= 4 {
            o.insert("retentionTimeMs".into(), {
                let v = &self.retention_time_ms;
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

/// `OffsetCommitRequest` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct OffsetCommitRequestView<'a> {
    pub group_id: &'a str,
    pub generation_id_or_member_epoch: i32,
    pub member_id: &'a str,
    pub group_instance_id: Option<&'a str>,
    pub retention_time_ms: i64,
    pub topics: ArrayView<'a, OffsetCommitRequestTopicView<'a>>,
}

impl Default for OffsetCommitRequestView<'_> {
    fn default() -> Self {
        Self {
            group_id: "",
            generation_id_or_member_epoch: -1,
            member_id: "",
            group_instance_id: None,
            retention_time_ms: -1,
            topics: Default::default(),
        }
    }
}

impl<'a> ViewElement<'a> for OffsetCommitRequestView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 8;
        let mut m = Self::default();
        m.group_id = r.str(flex)?;
        m.generation_id_or_member_epoch = r.i32()?;
        m.member_id = r.str(flex)?;
        if version >= 7 {
            m.group_instance_id = r.nullable_str(flex)?;
        }
        if version <= 4 {
            m.retention_time_ms = r.i64()?;
        }
        m.topics = r.array_view(flex, version)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 8;
        r.skip_str(flex, false)?;
        r.skip(4)?;
        r.skip_str(flex, false)?;
        if version >= 7 {
            r.skip_str(flex, true)?;
        }
        if version <= 4 {
            r.skip(8)?;
        }
        r.skip_array::<OffsetCommitRequestTopicView<'a>>(flex, version, false)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl OffsetCommitRequestView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> OffsetCommitRequest {
        OffsetCommitRequest {
            group_id: self.group_id.to_owned(),
            generation_id_or_member_epoch: self.generation_id_or_member_epoch,
            member_id: self.member_id.to_owned(),
            group_instance_id: self.group_instance_id.map(|v| v.to_owned()),
            retention_time_ms: self.retention_time_ms,
            topics: self.topics.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl<'a> OffsetCommitRequestView<'a> {
    /// Reads and checks the whole message in place; no allocation.
    pub fn parse(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        OffsetCommitRequest::check_version(version)?;
        <Self as ViewElement>::read(r, version)
    }
}

impl<'a> OffsetCommitRequestView<'a> {
    /// Reads and checks the whole message in place and hands out every `OffsetCommitRequestPartition` on the way, in
    /// one walk over the bytes. The `OffsetCommitRequestTopic` beside it is filled as far as it stands in front of
    /// its `OffsetCommitRequestPartition`s. After an error the message is not valid, whatever was handed out.
    pub fn parse_each(
        r: &mut Reader<'a>,
        version: i16,
        mut each: impl FnMut(&OffsetCommitRequestTopicView<'a>, OffsetCommitRequestPartitionView<'a>),
    ) -> Decoded<Self> {
        OffsetCommitRequest::check_version(version)?;
        let flex = version >= 8;
        let mut m = Self::default();
        m.group_id = r.str(flex)?;
        m.generation_id_or_member_epoch = r.i32()?;
        m.member_id = r.str(flex)?;
        if version >= 7 {
            m.group_instance_id = r.nullable_str(flex)?;
        }
        if version <= 4 {
            m.retention_time_ms = r.i64()?;
        }
        m.topics = r.array_view_each(flex, version, |r| {
            OffsetCommitRequestTopicView::walk(r, version, &mut each)
        })?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }
}

impl<'a> OffsetCommitRequestTopicView<'a> {
    #[inline]
    fn walk(
        r: &mut Reader<'a>,
        version: i16,
        each: &mut impl FnMut(&Self, OffsetCommitRequestPartitionView<'a>),
    ) -> Decoded<()> {
        let flex = version >= 8;
        let mut m = Self::default();
        if version <= 9 {
            m.name = r.str(flex)?;
        }
        if version >= 10 {
            m.topic_id = r.uuid()?;
        }
        r.array_view_each::<OffsetCommitRequestPartitionView<'a>>(flex, version, |r| {
            each(&m, OffsetCommitRequestPartitionView::read(r, version)?);
            Ok(())
        })?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

/// `OffsetCommitRequestTopic`, part of OffsetCommitRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetCommitRequestTopic {
    pub name: String,
    pub topic_id: Uuid,
    pub partitions: Vec<OffsetCommitRequestPartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetCommitRequestTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetCommitRequestTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 8;
        let name = if version <= 9 { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 10 { r.uuid()? } else { Default::default() };
        let partitions = r.vec(flex, |r| OffsetCommitRequestPartition::read(r, version))?;
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
        w.unknown_tags(flex, &self.unknown_tags, "OffsetCommitRequestTopic", version)
    }
}

#[cfg(feature = "json")]
impl OffsetCommitRequestTopic {
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

/// `OffsetCommitRequestTopic` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct OffsetCommitRequestTopicView<'a> {
    pub name: &'a str,
    pub topic_id: Uuid,
    pub partitions: ArrayView<'a, OffsetCommitRequestPartitionView<'a>>,
}

impl Default for OffsetCommitRequestTopicView<'_> {
    fn default() -> Self {
        Self { name: "", topic_id: Default::default(), partitions: Default::default() }
    }
}

impl<'a> ViewElement<'a> for OffsetCommitRequestTopicView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 8;
        let mut m = Self::default();
        if version <= 9 {
            m.name = r.str(flex)?;
        }
        if version >= 10 {
            m.topic_id = r.uuid()?;
        }
        m.partitions = r.array_view(flex, version)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 8;
        if version <= 9 {
            r.skip_str(flex, false)?;
        }
        if version >= 10 {
            r.skip(16)?;
        }
        r.skip_array::<OffsetCommitRequestPartitionView<'a>>(flex, version, false)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl OffsetCommitRequestTopicView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> OffsetCommitRequestTopic {
        OffsetCommitRequestTopic {
            name: self.name.to_owned(),
            topic_id: self.topic_id,
            partitions: self.partitions.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `OffsetCommitRequestPartition`, part of OffsetCommitRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetCommitRequestPartition {
    pub partition_index: i32,
    pub committed_offset: i64,
    pub committed_leader_epoch: i32,
    pub committed_metadata: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetCommitRequestPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetCommitRequestPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 8;
        let partition_index = r.i32()?;
        let committed_offset = r.i64()?;
        let committed_leader_epoch = if version >= 6 { r.i32()? } else { -1 };
        let committed_metadata = r.nullable_string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            partition_index,
            committed_offset,
            committed_leader_epoch,
            committed_metadata,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 8;
        if version >= 6 {
            let mut b = [0; 16];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..12].copy_from_slice(&self.committed_offset.to_be_bytes());
            b[12..16].copy_from_slice(&self.committed_leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..12].copy_from_slice(&self.committed_offset.to_be_bytes());
            w.raw(&b);
        }
        w.nullable_string(flex, self.committed_metadata.as_deref())?;
        w.unknown_tags(flex, &self.unknown_tags, "OffsetCommitRequestPartition", version)
    }
}

#[cfg(feature = "json")]
impl OffsetCommitRequestPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("committedOffset".into(), {
            let v = &self.committed_offset;
            (*v).into()
        });
        if version >= 6 {
            o.insert("committedLeaderEpoch".into(), {
                let v = &self.committed_leader_epoch;
                (*v).into()
            });
        }
        o.insert(
            "committedMetadata".into(),
            match &self.committed_metadata {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `OffsetCommitRequestPartition` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct OffsetCommitRequestPartitionView<'a> {
    pub partition_index: i32,
    pub committed_offset: i64,
    pub committed_leader_epoch: i32,
    pub committed_metadata: Option<&'a str>,
}

impl Default for OffsetCommitRequestPartitionView<'_> {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: Some(""),
        }
    }
}

impl<'a> ViewElement<'a> for OffsetCommitRequestPartitionView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 8;
        let mut m = Self::default();
        m.partition_index = r.i32()?;
        m.committed_offset = r.i64()?;
        if version >= 6 {
            m.committed_leader_epoch = r.i32()?;
        }
        m.committed_metadata = r.nullable_str(flex)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 8;
        r.skip(12)?;
        if version >= 6 {
            r.skip(4)?;
        }
        r.skip_str(flex, true)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl OffsetCommitRequestPartitionView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> OffsetCommitRequestPartition {
        OffsetCommitRequestPartition {
            partition_index: self.partition_index,
            committed_offset: self.committed_offset,
            committed_leader_epoch: self.committed_leader_epoch,
            committed_metadata: self.committed_metadata.map(|v| v.to_owned()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl Message for OffsetCommitRequest {
    const NAME: &'static str = "OffsetCommitRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for OffsetCommitRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for OffsetCommitRequest {
    const API_KEY: ApiKey = ApiKey(8);
    type Response = super::offset_commit_response::OffsetCommitResponse;
}
