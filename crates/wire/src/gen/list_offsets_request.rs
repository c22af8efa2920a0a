//! ListOffsetsRequest, versions 1 to 11.

use super::prelude::*;

/// `ListOffsetsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListOffsetsRequest {
    pub replica_id: i32,
    pub isolation_level: i8,
    pub topics: Vec<ListOffsetsTopic>,
    pub timeout_ms: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListOffsetsRequest {
    fn default() -> Self {
        Self {
            replica_id: 0,
            isolation_level: 0,
            topics: Default::default(),
            timeout_ms: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListOffsetsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let replica_id = r.i32()?;
        let isolation_level = if version >= 2 { r.i8()? } else { 0 };
        let topics = r.vec(flex, |r| ListOffsetsTopic::read(r, version))?;
        let timeout_ms = if version >= 10 { r.i32()? } else { 0 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { replica_id, isolation_level, topics, timeout_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version >= 2 {
            let mut b = [0; 5];
            b[0..4].copy_from_slice(&self.replica_id.to_be_bytes());
            b[4..5].copy_from_slice(&self.isolation_level.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.replica_id);
            if self.isolation_level != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "ListOffsetsRequest",
                    field: "IsolationLevel",
                    version,
                });
            }
        }
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        if version >= 10 {
            w.i32(self.timeout_ms);
        }
        w.unknown_tags(flex, &self.unknown_tags, "ListOffsetsRequest", version)
    }
}

#[cfg(feature = "json")]
impl ListOffsetsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("replicaId".into(), {
            let v = &self.replica_id;
            (*v).into()
        });
        if version >= 2 {
            o.insert("isolationLevel".into(), {
                let v = &self.isolation_level;
                (*v).into()
            });
        }
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 10 {
            o.insert("timeoutMs".into(), {
                let v = &self.timeout_ms;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `ListOffsetsRequest` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ListOffsetsRequestView<'a> {
    pub replica_id: i32,
    pub isolation_level: i8,
    pub topics: ArrayView<'a, ListOffsetsTopicView<'a>>,
    pub timeout_ms: i32,
}

impl Default for ListOffsetsRequestView<'_> {
    fn default() -> Self {
        Self { replica_id: 0, isolation_level: 0, topics: Default::default(), timeout_ms: 0 }
    }
}

impl<'a> ViewElement<'a> for ListOffsetsRequestView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let mut m = Self::default();
        m.replica_id = r.i32()?;
        if version >= 2 {
            m.isolation_level = r.i8()?;
        }
        m.topics = r.array_view(flex, version)?;
        if version >= 10 {
            m.timeout_ms = r.i32()?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 6;
        r.skip(4)?;
        if version >= 2 {
            r.skip(1)?;
        }
        r.skip_array::<ListOffsetsTopicView<'a>>(flex, version, false)?;
        if version >= 10 {
            r.skip(4)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl ListOffsetsRequestView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> ListOffsetsRequest {
        ListOffsetsRequest {
            replica_id: self.replica_id,
            isolation_level: self.isolation_level,
            topics: self.topics.iter().map(|v| v.owned()).collect(),
            timeout_ms: self.timeout_ms,
            unknown_tags: RawTags::default(),
        }
    }
}

impl<'a> ListOffsetsRequestView<'a> {
    /// Reads and checks the whole message in place; no allocation.
    pub fn parse(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        ListOffsetsRequest::check_version(version)?;
        <Self as ViewElement>::read(r, version)
    }
}

impl<'a> ListOffsetsRequestView<'a> {
    /// Reads and checks the whole message in place and hands out every `ListOffsetsPartition` on the way, in
    /// one walk over the bytes. The `ListOffsetsTopic` beside it is filled as far as it stands in front of
    /// its `ListOffsetsPartition`s. After an error the message is not valid, whatever was handed out.
    pub fn parse_each(
        r: &mut Reader<'a>,
        version: i16,
        mut each: impl FnMut(&ListOffsetsTopicView<'a>, ListOffsetsPartitionView<'a>),
    ) -> Decoded<Self> {
        ListOffsetsRequest::check_version(version)?;
        let flex = version >= 6;
        let mut m = Self::default();
        m.replica_id = r.i32()?;
        if version >= 2 {
            m.isolation_level = r.i8()?;
        }
        m.topics = r.array_view_each(flex, version, |r| {
            ListOffsetsTopicView::walk(r, version, &mut each)
        })?;
        if version >= 10 {
            m.timeout_ms = r.i32()?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }
}

impl<'a> ListOffsetsTopicView<'a> {
    #[inline]
    fn walk(
        r: &mut Reader<'a>,
        version: i16,
        each: &mut impl FnMut(&Self, ListOffsetsPartitionView<'a>),
    ) -> Decoded<()> {
        let flex = version >= 6;
        let mut m = Self::default();
        m.name = r.str(flex)?;
        r.array_view_each::<ListOffsetsPartitionView<'a>>(flex, version, |r| {
            each(&m, ListOffsetsPartitionView::read(r, version)?);
            Ok(())
        })?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

/// `ListOffsetsTopic`, part of ListOffsetsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListOffsetsTopic {
    pub name: String,
    pub partitions: Vec<ListOffsetsPartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListOffsetsTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListOffsetsTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let name = r.string(flex)?;
        let partitions = r.vec(flex, |r| ListOffsetsPartition::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        w.string(flex, &self.name)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "ListOffsetsTopic", version)
    }
}

#[cfg(feature = "json")]
impl ListOffsetsTopic {
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

/// `ListOffsetsTopic` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ListOffsetsTopicView<'a> {
    pub name: &'a str,
    pub partitions: ArrayView<'a, ListOffsetsPartitionView<'a>>,
}

impl Default for ListOffsetsTopicView<'_> {
    fn default() -> Self {
        Self { name: "", partitions: Default::default() }
    }
}

impl<'a> ViewElement<'a> for ListOffsetsTopicView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let mut m = Self::default();
        m.name = r.str(flex)?;
        m.partitions = r.array_view(flex, version)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 6;
        r.skip_str(flex, false)?;
        r.skip_array::<ListOffsetsPartitionView<'a>>(flex, version, false)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl ListOffsetsTopicView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> ListOffsetsTopic {
        ListOffsetsTopic {
            name: self.name.to_owned(),
            partitions: self.partitions.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `ListOffsetsPartition`, part of ListOffsetsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListOffsetsPartition {
    pub partition_index: i32,
    pub current_leader_epoch: i32,
    pub timestamp: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListOffsetsPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            current_leader_epoch: -1,
            timestamp: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListOffsetsPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let partition_index = r.i32()?;
        let current_leader_epoch = if version >= 4 { r.i32()? } else { -1 };
        let timestamp = r.i64()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, current_leader_epoch, timestamp, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version >= 4 {
            let mut b = [0; 8];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..8].copy_from_slice(&self.current_leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.partition_index);
        }
        w.i64(self.timestamp);
        w.unknown_tags(flex, &self.unknown_tags, "ListOffsetsPartition", version)
    }
}

#[cfg(feature = "json")]
impl ListOffsetsPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        if version >= 4 {
            o.insert("currentLeaderEpoch".into(), {
                let v = &self.current_leader_epoch;
                (*v).into()
            });
        }
        o.insert("timestamp".into(), {
            let v = &self.timestamp;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `ListOffsetsPartition` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ListOffsetsPartitionView<'a> {
    pub partition_index: i32,
    pub current_leader_epoch: i32,
    pub timestamp: i64,
    _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for ListOffsetsPartitionView<'_> {
    fn default() -> Self {
        Self {
            partition_index: 0,
            current_leader_epoch: -1,
            timestamp: 0,
            _lifetime: std::marker::PhantomData,
        }
    }
}

impl<'a> ViewElement<'a> for ListOffsetsPartitionView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let mut m = Self::default();
        m.partition_index = r.i32()?;
        if version >= 4 {
            m.current_leader_epoch = r.i32()?;
        }
        m.timestamp = r.i64()?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 6;
        r.skip(4)?;
        if version >= 4 {
            r.skip(4)?;
        }
        r.skip(8)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl ListOffsetsPartitionView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> ListOffsetsPartition {
        ListOffsetsPartition {
            partition_index: self.partition_index,
            current_leader_epoch: self.current_leader_epoch,
            timestamp: self.timestamp,
            unknown_tags: RawTags::default(),
        }
    }
}

impl Message for ListOffsetsRequest {
    const NAME: &'static str = "ListOffsetsRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for ListOffsetsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ListOffsetsRequest {
    const API_KEY: ApiKey = ApiKey(2);
    type Response = super::list_offsets_response::ListOffsetsResponse;
}
