//! FetchResponse, versions 4 to 18.

use super::prelude::*;

/// `FetchResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub session_id: i32,
    pub responses: Vec<FetchableTopicResponse>,
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FetchResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            session_id: 0,
            responses: Default::default(),
            node_endpoints: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl FetchResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let throttle_time_ms = r.i32()?;
        let error_code = if version >= 7 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let session_id = if version >= 7 { r.i32()? } else { 0 };
        let responses = r.vec(flex, |r| FetchableTopicResponse::read(r, version))?;
        let mut node_endpoints = Default::default();
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 16) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        node_endpoints = r.vec(flex, |r| NodeEndpoint::read(r, version))?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            throttle_time_ms,
            error_code,
            session_id,
            responses,
            node_endpoints,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 7 {
            let mut b = [0; 10];
            b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..10].copy_from_slice(&self.session_id.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.throttle_time_ms);
            if self.session_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "FetchResponse",
                    field: "SessionId",
                    version,
                });
            }
        }
        w.array(flex, Some(&self.responses[..]), |w, v| v.write(w, version))?;
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 16 && !self.node_endpoints.is_empty();
            count += usize::from(tag_0);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.array(flex, Some(&self.node_endpoints[..]), |w, v| v.write(w, version))?;
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "FetchResponse",
                field: "unknown_tags",
                version,
            });
        }
        if !(version >= 16) {
            if !self.node_endpoints.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FetchResponse",
                    field: "NodeEndpoints",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl FetchResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        if version >= 7 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        if version >= 7 {
            o.insert("sessionId".into(), {
                let v = &self.session_id;
                (*v).into()
            });
        }
        o.insert("responses".into(), {
            let v = &self.responses;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 16 {
            if !self.node_endpoints.is_empty() {
                o.insert("nodeEndpoints".into(), {
                    let v = &self.node_endpoints;
                    serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
                });
            }
        }
        serde_json::Value::Object(o)
    }
}

/// `FetchResponse` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct FetchResponseView<'a> {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub session_id: i32,
    pub responses: ArrayView<'a, FetchableTopicResponseView<'a>>,
    pub node_endpoints: ArrayView<'a, NodeEndpointView<'a>>,
}

impl Default for FetchResponseView<'_> {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            session_id: 0,
            responses: Default::default(),
            node_endpoints: Default::default(),
        }
    }
}

impl<'a> ViewElement<'a> for FetchResponseView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        m.throttle_time_ms = r.i32()?;
        if version >= 7 {
            m.error_code = ErrorCode(r.i16()?);
        }
        if version >= 7 {
            m.session_id = r.i32()?;
        }
        m.responses = r.array_view(flex, version)?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 16) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        m.node_endpoints = r.array_view(flex, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 12;
        r.skip(4)?;
        if version >= 7 {
            r.skip(6)?;
        }
        r.skip_array::<FetchableTopicResponseView<'a>>(flex, version, false)?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 16) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        r.skip_array::<NodeEndpointView<'a>>(flex, version, false)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(())
    }
}

impl FetchResponseView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> FetchResponse {
        FetchResponse {
            throttle_time_ms: self.throttle_time_ms,
            error_code: self.error_code,
            session_id: self.session_id,
            responses: self.responses.iter().map(|v| v.owned()).collect(),
            node_endpoints: self.node_endpoints.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl<'a> FetchResponseView<'a> {
    /// Reads and checks the whole message in place; no allocation.
    pub fn parse(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        FetchResponse::check_version(version)?;
        <Self as ViewElement>::read(r, version)
    }
}

impl<'a> FetchResponseView<'a> {
    /// Reads and checks the whole message in place and hands out every `PartitionData` on the way, in
    /// one walk over the bytes. The `FetchableTopicResponse` beside it is filled as far as it stands in front of
    /// its `PartitionData`s. After an error the message is not valid, whatever was handed out.
    pub fn parse_each(
        r: &mut Reader<'a>,
        version: i16,
        mut each: impl FnMut(&FetchableTopicResponseView<'a>, PartitionDataView<'a>),
    ) -> Decoded<Self> {
        FetchResponse::check_version(version)?;
        let flex = version >= 12;
        let mut m = Self::default();
        m.throttle_time_ms = r.i32()?;
        if version >= 7 {
            m.error_code = ErrorCode(r.i16()?);
        }
        if version >= 7 {
            m.session_id = r.i32()?;
        }
        m.responses = r.array_view_each(flex, version, |r| {
            FetchableTopicResponseView::walk(r, version, &mut each)
        })?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 16) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        m.node_endpoints = r.array_view(flex, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(m)
    }
}

impl<'a> FetchableTopicResponseView<'a> {
    #[inline]
    fn walk(
        r: &mut Reader<'a>,
        version: i16,
        each: &mut impl FnMut(&Self, PartitionDataView<'a>),
    ) -> Decoded<()> {
        let flex = version >= 12;
        let mut m = Self::default();
        if version <= 12 {
            m.topic = r.str(flex)?;
        }
        if version >= 13 {
            m.topic_id = r.uuid()?;
        }
        r.array_view_each::<PartitionDataView<'a>>(flex, version, |r| {
            each(&m, PartitionDataView::read(r, version)?);
            Ok(())
        })?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

/// `FetchResponse` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchResponseRef<'a> {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub session_id: i32,
    pub responses: &'a [FetchableTopicResponseRef<'a>],
    pub node_endpoints: &'a [NodeEndpointRef<'a>],
}

impl Default for FetchResponseRef<'_> {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            session_id: 0,
            responses: &[],
            node_endpoints: &[],
        }
    }
}

impl FetchResponseRef<'_> {
    /// Appends the message in `version`'s form.
    pub fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        FetchResponse::check_written_version(version)?;
        self.write(w, version)
    }
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 7 {
            let mut b = [0; 10];
            b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..10].copy_from_slice(&self.session_id.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.throttle_time_ms);
            if self.session_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "FetchResponse",
                    field: "SessionId",
                    version,
                });
            }
        }
        w.array(flex, Some(self.responses), |w, v| v.write(w, version))?;
        if flex {
            let mut count = 0;
            let tag_0 = version >= 16 && !self.node_endpoints.is_empty();
            count += usize::from(tag_0);
            w.uvarint(count as u32);
            if count > 0 {
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.array(flex, Some(self.node_endpoints), |w, v| v.write(w, version))?;
                    w.end_tag(at);
                }
            }
        }
        if !(version >= 16) {
            if !self.node_endpoints.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FetchResponse",
                    field: "NodeEndpoints",
                    version,
                });
            }
        }
        Ok(())
    }
}

/// `FetchableTopicResponse`, part of FetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchableTopicResponse {
    pub topic: String,
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FetchableTopicResponse {
    fn default() -> Self {
        Self {
            topic: String::new(),
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl FetchableTopicResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let topic = if version <= 12 { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 13 { r.uuid()? } else { Default::default() };
        let partitions = r.vec(flex, |r| PartitionData::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic, topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version <= 12 {
            w.string(flex, &self.topic)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "FetchableTopicResponse", version)
    }
}

#[cfg(feature = "json")]
impl FetchableTopicResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 12 {
            o.insert("topic".into(), {
                let v = &self.topic;
                v.as_str().into()
            });
        }
        if version >= 13 {
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

/// `FetchableTopicResponse` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct FetchableTopicResponseView<'a> {
    pub topic: &'a str,
    pub topic_id: Uuid,
    pub partitions: ArrayView<'a, PartitionDataView<'a>>,
}

impl Default for FetchableTopicResponseView<'_> {
    fn default() -> Self {
        Self { topic: "", topic_id: Default::default(), partitions: Default::default() }
    }
}

impl<'a> ViewElement<'a> for FetchableTopicResponseView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        if version <= 12 {
            m.topic = r.str(flex)?;
        }
        if version >= 13 {
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
        let flex = version >= 12;
        if version <= 12 {
            r.skip_str(flex, false)?;
        }
        if version >= 13 {
            r.skip(16)?;
        }
        r.skip_array::<PartitionDataView<'a>>(flex, version, false)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl FetchableTopicResponseView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> FetchableTopicResponse {
        FetchableTopicResponse {
            topic: self.topic.to_owned(),
            topic_id: self.topic_id,
            partitions: self.partitions.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `FetchableTopicResponse` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchableTopicResponseRef<'a> {
    pub topic: &'a str,
    pub topic_id: Uuid,
    pub partitions: &'a [PartitionDataRef<'a>],
}

impl Default for FetchableTopicResponseRef<'_> {
    fn default() -> Self {
        Self { topic: "", topic_id: Default::default(), partitions: &[] }
    }
}

impl FetchableTopicResponseRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version <= 12 {
            w.string(flex, self.topic)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flex, Some(self.partitions), |w, v| v.write(w, version))?;
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// `PartitionData`, part of FetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub high_watermark: i64,
    pub last_stable_offset: i64,
    pub log_start_offset: i64,
    pub diverging_epoch: EpochEndOffset,
    pub current_leader: LeaderIdAndEpoch,
    pub snapshot_id: SnapshotId,
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    pub preferred_read_replica: i32,
    pub records: Option<Bytes>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode(0),
            high_watermark: 0,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: Default::default(),
            current_leader: Default::default(),
            snapshot_id: Default::default(),
            aborted_transactions: Some(Default::default()),
            preferred_read_replica: -1,
            records: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let high_watermark = r.i64()?;
        let last_stable_offset = r.i64()?;
        let log_start_offset = if version >= 5 { r.i64()? } else { -1 };
        let aborted_transactions =
            r.nullable_vec(flex, |r| AbortedTransaction::read(r, version))?;
        let preferred_read_replica = if version >= 11 { r.i32()? } else { -1 };
        let records = r.nullable_bytes(flex)?;
        let mut diverging_epoch = Default::default();
        let mut current_leader = Default::default();
        let mut snapshot_id = Default::default();
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        diverging_epoch = EpochEndOffset::read(r, version)?;
                    }
                    1 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        current_leader = LeaderIdAndEpoch::read(r, version)?;
                    }
                    2 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 2, version });
                        }
                        snapshot_id = SnapshotId::read(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            partition_index,
            error_code,
            high_watermark,
            last_stable_offset,
            log_start_offset,
            diverging_epoch,
            current_leader,
            snapshot_id,
            aborted_transactions,
            preferred_read_replica,
            records,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 5 {
            let mut b = [0; 30];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.high_watermark.to_be_bytes());
            b[14..22].copy_from_slice(&self.last_stable_offset.to_be_bytes());
            b[22..30].copy_from_slice(&self.log_start_offset.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 22];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.high_watermark.to_be_bytes());
            b[14..22].copy_from_slice(&self.last_stable_offset.to_be_bytes());
            w.raw(&b);
        }
        w.array(flex, self.aborted_transactions.as_deref(), |w, v| v.write(w, version))?;
        if version >= 11 {
            w.i32(self.preferred_read_replica);
        } else {
            if self.preferred_read_replica != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "PreferredReadReplica",
                    version,
                });
            }
        }
        w.shared_bytes(flex, self.records.as_ref())?;
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 12 && self.diverging_epoch != Default::default();
            count += usize::from(tag_0);
            let tag_1 = version >= 12 && self.current_leader != Default::default();
            count += usize::from(tag_1);
            let tag_2 = version >= 12 && self.snapshot_id != Default::default();
            count += usize::from(tag_2);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    self.diverging_epoch.write(w, version)?;
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(1), &mut raw)?;
                if tag_1 {
                    let at = w.begin_tag(1);
                    self.current_leader.write(w, version)?;
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(2), &mut raw)?;
                if tag_2 {
                    let at = w.begin_tag(2);
                    self.snapshot_id.write(w, version)?;
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "PartitionData",
                field: "unknown_tags",
                version,
            });
        }
        if !(version >= 12) {
            if self.diverging_epoch != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "DivergingEpoch",
                    version,
                });
            }
        }
        if !(version >= 12) {
            if self.current_leader != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "CurrentLeader",
                    version,
                });
            }
        }
        if !(version >= 12) {
            if self.snapshot_id != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "SnapshotId",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl PartitionData {
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
        o.insert("highWatermark".into(), {
            let v = &self.high_watermark;
            (*v).into()
        });
        o.insert("lastStableOffset".into(), {
            let v = &self.last_stable_offset;
            (*v).into()
        });
        if version >= 5 {
            o.insert("logStartOffset".into(), {
                let v = &self.log_start_offset;
                (*v).into()
            });
        }
        if version >= 12 {
            if self.diverging_epoch != Default::default() {
                o.insert("divergingEpoch".into(), {
                    let v = &self.diverging_epoch;
                    v.json(version)
                });
            }
        }
        if version >= 12 {
            if self.current_leader != Default::default() {
                o.insert("currentLeader".into(), {
                    let v = &self.current_leader;
                    v.json(version)
                });
            }
        }
        if version >= 12 {
            if self.snapshot_id != Default::default() {
                o.insert("snapshotId".into(), {
                    let v = &self.snapshot_id;
                    v.json(version)
                });
            }
        }
        o.insert(
            "abortedTransactions".into(),
            match &self.aborted_transactions {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        if version >= 11 {
            o.insert("preferredReadReplica".into(), {
                let v = &self.preferred_read_replica;
                (*v).into()
            });
        }
        match &self.records {
            Some(v) => o.insert("recordsSizeInBytes".into(), v.len().into()),
            None => o.insert("records".into(), serde_json::Value::Null),
        };
        serde_json::Value::Object(o)
    }
}

/// `PartitionData` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct PartitionDataView<'a> {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub high_watermark: i64,
    pub last_stable_offset: i64,
    pub log_start_offset: i64,
    pub diverging_epoch: EpochEndOffsetView<'a>,
    pub current_leader: LeaderIdAndEpochView<'a>,
    pub snapshot_id: SnapshotIdView<'a>,
    pub aborted_transactions: Option<ArrayView<'a, AbortedTransactionView<'a>>>,
    pub preferred_read_replica: i32,
    pub records: Option<&'a [u8]>,
}

impl Default for PartitionDataView<'_> {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode(0),
            high_watermark: 0,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: Default::default(),
            current_leader: Default::default(),
            snapshot_id: Default::default(),
            aborted_transactions: Some(Default::default()),
            preferred_read_replica: -1,
            records: None,
        }
    }
}

impl<'a> ViewElement<'a> for PartitionDataView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        m.partition_index = r.i32()?;
        m.error_code = ErrorCode(r.i16()?);
        m.high_watermark = r.i64()?;
        m.last_stable_offset = r.i64()?;
        if version >= 5 {
            m.log_start_offset = r.i64()?;
        }
        m.aborted_transactions = r.nullable_array_view(flex, version)?;
        if version >= 11 {
            m.preferred_read_replica = r.i32()?;
        }
        m.records = r.nullable_slice(flex)?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        m.diverging_epoch = EpochEndOffsetView::read(r, version)?;
                    }
                    1 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        m.current_leader = LeaderIdAndEpochView::read(r, version)?;
                    }
                    2 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 2, version });
                        }
                        m.snapshot_id = SnapshotIdView::read(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 12;
        r.skip(22)?;
        if version >= 5 {
            r.skip(8)?;
        }
        r.skip_array::<AbortedTransactionView<'a>>(flex, version, true)?;
        if version >= 11 {
            r.skip(4)?;
        }
        let _: Option<&'a [u8]> = r.nullable_slice(flex)?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        EpochEndOffsetView::skip(r, version)?;
                    }
                    1 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        LeaderIdAndEpochView::skip(r, version)?;
                    }
                    2 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 2, version });
                        }
                        SnapshotIdView::skip(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(())
    }
}

impl PartitionDataView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> PartitionData {
        PartitionData {
            partition_index: self.partition_index,
            error_code: self.error_code,
            high_watermark: self.high_watermark,
            last_stable_offset: self.last_stable_offset,
            log_start_offset: self.log_start_offset,
            diverging_epoch: self.diverging_epoch.owned(),
            current_leader: self.current_leader.owned(),
            snapshot_id: self.snapshot_id.owned(),
            aborted_transactions: self
                .aborted_transactions
                .map(|v| v.iter().map(|v| v.owned()).collect()),
            preferred_read_replica: self.preferred_read_replica,
            records: self.records.map(|v| Bytes::copy_from_slice(v)),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `PartitionData` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionDataRef<'a> {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub high_watermark: i64,
    pub last_stable_offset: i64,
    pub log_start_offset: i64,
    pub diverging_epoch: EpochEndOffsetRef<'a>,
    pub current_leader: LeaderIdAndEpochRef<'a>,
    pub snapshot_id: SnapshotIdRef<'a>,
    pub aborted_transactions: Option<&'a [AbortedTransactionRef<'a>]>,
    pub preferred_read_replica: i32,
    pub records: RecordsRef<'a>,
}

impl Default for PartitionDataRef<'_> {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode(0),
            high_watermark: 0,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: Default::default(),
            current_leader: Default::default(),
            snapshot_id: Default::default(),
            aborted_transactions: Some(&[]),
            preferred_read_replica: -1,
            records: RecordsRef::Null,
        }
    }
}

impl PartitionDataRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 5 {
            let mut b = [0; 30];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.high_watermark.to_be_bytes());
            b[14..22].copy_from_slice(&self.last_stable_offset.to_be_bytes());
            b[22..30].copy_from_slice(&self.log_start_offset.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 22];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.high_watermark.to_be_bytes());
            b[14..22].copy_from_slice(&self.last_stable_offset.to_be_bytes());
            w.raw(&b);
        }
        w.array(flex, self.aborted_transactions, |w, v| v.write(w, version))?;
        if version >= 11 {
            w.i32(self.preferred_read_replica);
        } else {
            if self.preferred_read_replica != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "PreferredReadReplica",
                    version,
                });
            }
        }
        w.records(flex, &self.records)?;
        if flex {
            let mut count = 0;
            let tag_0 = version >= 12 && self.diverging_epoch != Default::default();
            count += usize::from(tag_0);
            let tag_1 = version >= 12 && self.current_leader != Default::default();
            count += usize::from(tag_1);
            let tag_2 = version >= 12 && self.snapshot_id != Default::default();
            count += usize::from(tag_2);
            w.uvarint(count as u32);
            if count > 0 {
                if tag_0 {
                    let at = w.begin_tag(0);
                    self.diverging_epoch.write(w, version)?;
                    w.end_tag(at);
                }
                if tag_1 {
                    let at = w.begin_tag(1);
                    self.current_leader.write(w, version)?;
                    w.end_tag(at);
                }
                if tag_2 {
                    let at = w.begin_tag(2);
                    self.snapshot_id.write(w, version)?;
                    w.end_tag(at);
                }
            }
        }
        if !(version >= 12) {
            if self.diverging_epoch != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "DivergingEpoch",
                    version,
                });
            }
        }
        if !(version >= 12) {
            if self.current_leader != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "CurrentLeader",
                    version,
                });
            }
        }
        if !(version >= 12) {
            if self.snapshot_id != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "SnapshotId",
                    version,
                });
            }
        }
        Ok(())
    }
}

/// `EpochEndOffset`, part of FetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EpochEndOffset {
    pub epoch: i32,
    pub end_offset: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { epoch: -1, end_offset: -1, unknown_tags: RawTags::default() }
    }
}

impl EpochEndOffset {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let epoch = if version >= 12 { r.i32()? } else { -1 };
        let end_offset = if version >= 12 { r.i64()? } else { -1 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { epoch, end_offset, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 12 {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.epoch.to_be_bytes());
            b[4..12].copy_from_slice(&self.end_offset.to_be_bytes());
            w.raw(&b);
        } else {
            if self.epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "EpochEndOffset",
                    field: "Epoch",
                    version,
                });
            }
            if self.end_offset != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "EpochEndOffset",
                    field: "EndOffset",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "EpochEndOffset", version)
    }
}

#[cfg(feature = "json")]
impl EpochEndOffset {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 12 {
            o.insert("epoch".into(), {
                let v = &self.epoch;
                (*v).into()
            });
        }
        if version >= 12 {
            o.insert("endOffset".into(), {
                let v = &self.end_offset;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `EpochEndOffset` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct EpochEndOffsetView<'a> {
    pub epoch: i32,
    pub end_offset: i64,
    _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for EpochEndOffsetView<'_> {
    fn default() -> Self {
        Self { epoch: -1, end_offset: -1, _lifetime: std::marker::PhantomData }
    }
}

impl<'a> ViewElement<'a> for EpochEndOffsetView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        if version >= 12 {
            m.epoch = r.i32()?;
        }
        if version >= 12 {
            m.end_offset = r.i64()?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 12;
        if version >= 12 {
            r.skip(12)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl EpochEndOffsetView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> EpochEndOffset {
        EpochEndOffset {
            epoch: self.epoch,
            end_offset: self.end_offset,
            unknown_tags: RawTags::default(),
        }
    }
}

/// `EpochEndOffset` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EpochEndOffsetRef<'a> {
    pub epoch: i32,
    pub end_offset: i64,
    #[doc(hidden)]
    pub _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for EpochEndOffsetRef<'_> {
    fn default() -> Self {
        Self { epoch: -1, end_offset: -1, _lifetime: std::marker::PhantomData }
    }
}

impl EpochEndOffsetRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 12 {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.epoch.to_be_bytes());
            b[4..12].copy_from_slice(&self.end_offset.to_be_bytes());
            w.raw(&b);
        } else {
            if self.epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "EpochEndOffset",
                    field: "Epoch",
                    version,
                });
            }
            if self.end_offset != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "EpochEndOffset",
                    field: "EndOffset",
                    version,
                });
            }
        }
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// `LeaderIdAndEpoch`, part of FetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LeaderIdAndEpoch {
    pub leader_id: i32,
    pub leader_epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1, unknown_tags: RawTags::default() }
    }
}

impl LeaderIdAndEpoch {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let leader_id = if version >= 12 { r.i32()? } else { -1 };
        let leader_epoch = if version >= 12 { r.i32()? } else { -1 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { leader_id, leader_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 12 {
            let mut b = [0; 8];
            b[0..4].copy_from_slice(&self.leader_id.to_be_bytes());
            b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            if self.leader_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "LeaderIdAndEpoch",
                    field: "LeaderId",
                    version,
                });
            }
            if self.leader_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "LeaderIdAndEpoch",
                    field: "LeaderEpoch",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "LeaderIdAndEpoch", version)
    }
}

#[cfg(feature = "json")]
impl LeaderIdAndEpoch {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 12 {
            o.insert("leaderId".into(), {
                let v = &self.leader_id;
                (*v).into()
            });
        }
        if version >= 12 {
            o.insert("leaderEpoch".into(), {
                let v = &self.leader_epoch;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `LeaderIdAndEpoch` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct LeaderIdAndEpochView<'a> {
    pub leader_id: i32,
    pub leader_epoch: i32,
    _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for LeaderIdAndEpochView<'_> {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1, _lifetime: std::marker::PhantomData }
    }
}

impl<'a> ViewElement<'a> for LeaderIdAndEpochView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        if version >= 12 {
            m.leader_id = r.i32()?;
        }
        if version >= 12 {
            m.leader_epoch = r.i32()?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 12;
        if version >= 12 {
            r.skip(8)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl LeaderIdAndEpochView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> LeaderIdAndEpoch {
        LeaderIdAndEpoch {
            leader_id: self.leader_id,
            leader_epoch: self.leader_epoch,
            unknown_tags: RawTags::default(),
        }
    }
}

/// `LeaderIdAndEpoch` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LeaderIdAndEpochRef<'a> {
    pub leader_id: i32,
    pub leader_epoch: i32,
    #[doc(hidden)]
    pub _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for LeaderIdAndEpochRef<'_> {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1, _lifetime: std::marker::PhantomData }
    }
}

impl LeaderIdAndEpochRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 12 {
            let mut b = [0; 8];
            b[0..4].copy_from_slice(&self.leader_id.to_be_bytes());
            b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            if self.leader_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "LeaderIdAndEpoch",
                    field: "LeaderId",
                    version,
                });
            }
            if self.leader_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "LeaderIdAndEpoch",
                    field: "LeaderEpoch",
                    version,
                });
            }
        }
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// `SnapshotId`, part of FetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SnapshotId {
    pub end_offset: i64,
    pub epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for SnapshotId {
    fn default() -> Self {
        Self { end_offset: -1, epoch: -1, unknown_tags: RawTags::default() }
    }
}

impl SnapshotId {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let end_offset = r.i64()?;
        let epoch = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { end_offset, epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        let mut b = [0; 12];
        b[0..8].copy_from_slice(&self.end_offset.to_be_bytes());
        b[8..12].copy_from_slice(&self.epoch.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "SnapshotId", version)
    }
}

#[cfg(feature = "json")]
impl SnapshotId {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("endOffset".into(), {
            let v = &self.end_offset;
            (*v).into()
        });
        o.insert("epoch".into(), {
            let v = &self.epoch;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `SnapshotId` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct SnapshotIdView<'a> {
    pub end_offset: i64,
    pub epoch: i32,
    _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for SnapshotIdView<'_> {
    fn default() -> Self {
        Self { end_offset: -1, epoch: -1, _lifetime: std::marker::PhantomData }
    }
}

impl<'a> ViewElement<'a> for SnapshotIdView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        m.end_offset = r.i64()?;
        m.epoch = r.i32()?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 12;
        r.skip(12)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl SnapshotIdView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> SnapshotId {
        SnapshotId {
            end_offset: self.end_offset,
            epoch: self.epoch,
            unknown_tags: RawTags::default(),
        }
    }
}

/// `SnapshotId` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SnapshotIdRef<'a> {
    pub end_offset: i64,
    pub epoch: i32,
    #[doc(hidden)]
    pub _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for SnapshotIdRef<'_> {
    fn default() -> Self {
        Self { end_offset: -1, epoch: -1, _lifetime: std::marker::PhantomData }
    }
}

impl SnapshotIdRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        let mut b = [0; 12];
        b[0..8].copy_from_slice(&self.end_offset.to_be_bytes());
        b[8..12].copy_from_slice(&self.epoch.to_be_bytes());
        w.raw(&b);
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// `AbortedTransaction`, part of FetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AbortedTransaction {
    pub producer_id: i64,
    pub first_offset: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AbortedTransaction {
    fn default() -> Self {
        Self { producer_id: 0, first_offset: 0, unknown_tags: RawTags::default() }
    }
}

impl AbortedTransaction {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let producer_id = r.i64()?;
        let first_offset = r.i64()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { producer_id, first_offset, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        let mut b = [0; 16];
        b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
        b[8..16].copy_from_slice(&self.first_offset.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "AbortedTransaction", version)
    }
}

#[cfg(feature = "json")]
impl AbortedTransaction {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("firstOffset".into(), {
            let v = &self.first_offset;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `AbortedTransaction` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct AbortedTransactionView<'a> {
    pub producer_id: i64,
    pub first_offset: i64,
    _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for AbortedTransactionView<'_> {
    fn default() -> Self {
        Self { producer_id: 0, first_offset: 0, _lifetime: std::marker::PhantomData }
    }
}

impl<'a> ViewElement<'a> for AbortedTransactionView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        m.producer_id = r.i64()?;
        m.first_offset = r.i64()?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 12;
        r.skip(16)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl AbortedTransactionView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> AbortedTransaction {
        AbortedTransaction {
            producer_id: self.producer_id,
            first_offset: self.first_offset,
            unknown_tags: RawTags::default(),
        }
    }
}

/// `AbortedTransaction` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AbortedTransactionRef<'a> {
    pub producer_id: i64,
    pub first_offset: i64,
    #[doc(hidden)]
    pub _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for AbortedTransactionRef<'_> {
    fn default() -> Self {
        Self { producer_id: 0, first_offset: 0, _lifetime: std::marker::PhantomData }
    }
}

impl AbortedTransactionRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        let mut b = [0; 16];
        b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
        b[8..16].copy_from_slice(&self.first_offset.to_be_bytes());
        w.raw(&b);
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// `NodeEndpoint`, part of FetchResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: String,
    pub port: i32,
    pub rack: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for NodeEndpoint {
    fn default() -> Self {
        Self {
            node_id: 0,
            host: String::new(),
            port: 0,
            rack: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl NodeEndpoint {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let node_id = if version >= 16 { r.i32()? } else { 0 };
        let host = if version >= 16 { r.string(flex)? } else { String::new() };
        let port = if version >= 16 { r.i32()? } else { 0 };
        let rack = if version >= 16 { r.nullable_string(flex)? } else { None };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { node_id, host, port, rack, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 16 {
            w.i32(self.node_id);
        } else {
            if self.node_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "NodeId",
                    version,
                });
            }
        }
        if version >= 16 {
            w.string(flex, &self.host)?;
        } else {
            if !self.host.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "Host",
                    version,
                });
            }
        }
        if version >= 16 {
            w.i32(self.port);
        } else {
            if self.port != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "Port",
                    version,
                });
            }
        }
        if version >= 16 {
            w.nullable_string(flex, self.rack.as_deref())?;
        } else {
            if self.rack.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "Rack",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "NodeEndpoint", version)
    }
}

#[cfg(feature = "json")]
impl NodeEndpoint {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 16 {
            o.insert("nodeId".into(), {
                let v = &self.node_id;
                (*v).into()
            });
        }
        if version >= 16 {
            o.insert("host".into(), {
                let v = &self.host;
                v.as_str().into()
            });
        }
        if version >= 16 {
            o.insert("port".into(), {
                let v = &self.port;
                (*v).into()
            });
        }
        if version >= 16 {
            o.insert(
                "rack".into(),
                match &self.rack {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `NodeEndpoint` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct NodeEndpointView<'a> {
    pub node_id: i32,
    pub host: &'a str,
    pub port: i32,
    pub rack: Option<&'a str>,
}

impl Default for NodeEndpointView<'_> {
    fn default() -> Self {
        Self { node_id: 0, host: "", port: 0, rack: None }
    }
}

impl<'a> ViewElement<'a> for NodeEndpointView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        if version >= 16 {
            m.node_id = r.i32()?;
        }
        if version >= 16 {
            m.host = r.str(flex)?;
        }
        if version >= 16 {
            m.port = r.i32()?;
        }
        if version >= 16 {
            m.rack = r.nullable_str(flex)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 12;
        if version >= 16 {
            r.skip(4)?;
        }
        if version >= 16 {
            r.skip_str(flex, false)?;
        }
        if version >= 16 {
            r.skip(4)?;
        }
        if version >= 16 {
            r.skip_str(flex, true)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl NodeEndpointView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> NodeEndpoint {
        NodeEndpoint {
            node_id: self.node_id,
            host: self.host.to_owned(),
            port: self.port,
            rack: self.rack.map(|v| v.to_owned()),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `NodeEndpoint` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct NodeEndpointRef<'a> {
    pub node_id: i32,
    pub host: &'a str,
    pub port: i32,
    pub rack: Option<&'a str>,
}

impl Default for NodeEndpointRef<'_> {
    fn default() -> Self {
        Self { node_id: 0, host: "", port: 0, rack: None }
    }
}

impl NodeEndpointRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 16 {
            w.i32(self.node_id);
        } else {
            if self.node_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "NodeId",
                    version,
                });
            }
        }
        if version >= 16 {
            w.string(flex, self.host)?;
        } else {
            if !self.host.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "Host",
                    version,
                });
            }
        }
        if version >= 16 {
            w.i32(self.port);
        } else {
            if self.port != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "Port",
                    version,
                });
            }
        }
        if version >= 16 {
            w.nullable_string(flex, self.rack)?;
        } else {
            if self.rack.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "Rack",
                    version,
                });
            }
        }
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for FetchResponse {
    const NAME: &'static str = "FetchResponse";
    const MIN_VERSION: i16 = 4;
    const MAX_VERSION: i16 = 18;
    const FLEXIBLE_FROM: i16 = 12;
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
impl crate::json::ToJson for FetchResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
