//! ProduceResponse, versions 3 to 13.

use super::prelude::*;

/// `ProduceResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ProduceResponse {
    pub responses: Vec<TopicProduceResponse>,
    pub throttle_time_ms: i32,
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ProduceResponse {
    fn default() -> Self {
        Self {
            responses: Default::default(),
            throttle_time_ms: 0,
            node_endpoints: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ProduceResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let responses = r.vec(flex, |r| TopicProduceResponse::read(r, version))?;
        let throttle_time_ms = r.i32()?;
        let mut node_endpoints = Default::default();
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 10) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        node_endpoints = r.vec(flex, |r| NodeEndpoint::read(r, version))?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self { responses, throttle_time_ms, node_endpoints, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        w.array(flex, Some(&self.responses[..]), |w, v| v.write(w, version))?;
        w.i32(self.throttle_time_ms);
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 10 && !self.node_endpoints.is_empty();
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
                message: "ProduceResponse",
                field: "unknown_tags",
                version,
            });
        }
        if !(version >= 10) {
            if !self.node_endpoints.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "ProduceResponse",
                    field: "NodeEndpoints",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl ProduceResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("responses".into(), {
            let v = &self.responses;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        if version >= 10 {
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

/// `ProduceResponse` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ProduceResponseView<'a> {
    pub responses: ArrayView<'a, TopicProduceResponseView<'a>>,
    pub throttle_time_ms: i32,
    pub node_endpoints: ArrayView<'a, NodeEndpointView<'a>>,
}

impl Default for ProduceResponseView<'_> {
    fn default() -> Self {
        Self {
            responses: Default::default(),
            throttle_time_ms: 0,
            node_endpoints: Default::default(),
        }
    }
}

impl<'a> ViewElement<'a> for ProduceResponseView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let mut m = Self::default();
        m.responses = r.array_view(flex, version)?;
        m.throttle_time_ms = r.i32()?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 10) {
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
        let flex = version >= 9;
        r.skip_array::<TopicProduceResponseView<'a>>(flex, version, false)?;
        r.skip(4)?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 10) {
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

impl ProduceResponseView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> ProduceResponse {
        ProduceResponse {
            responses: self.responses.iter().map(|v| v.owned()).collect(),
            throttle_time_ms: self.throttle_time_ms,
            node_endpoints: self.node_endpoints.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl<'a> ProduceResponseView<'a> {
    /// Reads and checks the whole message in place; no allocation.
    pub fn parse(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        ProduceResponse::check_version(version)?;
        <Self as ViewElement>::read(r, version)
    }
}

impl<'a> ProduceResponseView<'a> {
    /// Reads and checks the whole message in place and hands out every `PartitionProduceResponse` on the way, in
    /// one walk over the bytes. The `TopicProduceResponse` beside it is filled as far as it stands in front of
    /// its `PartitionProduceResponse`s. After an error the message is not valid, whatever was handed out.
    pub fn parse_each(
        r: &mut Reader<'a>,
        version: i16,
        mut each: impl FnMut(&TopicProduceResponseView<'a>, PartitionProduceResponseView<'a>),
    ) -> Decoded<Self> {
        ProduceResponse::check_version(version)?;
        let flex = version >= 9;
        let mut m = Self::default();
        m.responses = r.array_view_each(flex, version, |r| {
            TopicProduceResponseView::walk(r, version, &mut each)
        })?;
        m.throttle_time_ms = r.i32()?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 10) {
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

impl<'a> TopicProduceResponseView<'a> {
    #[inline]
    fn walk(
        r: &mut Reader<'a>,
        version: i16,
        each: &mut impl FnMut(&Self, PartitionProduceResponseView<'a>),
    ) -> Decoded<()> {
        let flex = version >= 9;
        let mut m = Self::default();
        if version <= 12 {
            m.name = r.str(flex)?;
        }
        if version >= 13 {
            m.topic_id = r.uuid()?;
        }
        r.array_view_each::<PartitionProduceResponseView<'a>>(flex, version, |r| {
            each(&m, PartitionProduceResponseView::read(r, version)?);
            Ok(())
        })?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

/// `ProduceResponse` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ProduceResponseRef<'a> {
    pub responses: &'a [TopicProduceResponseRef<'a>],
    pub throttle_time_ms: i32,
    pub node_endpoints: &'a [NodeEndpointRef<'a>],
}

impl Default for ProduceResponseRef<'_> {
    fn default() -> Self {
        Self { responses: &[], throttle_time_ms: 0, node_endpoints: &[] }
    }
}

impl ProduceResponseRef<'_> {
    /// Appends the message in `version`'s form.
    pub fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        ProduceResponse::check_written_version(version)?;
        self.write(w, version)
    }
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        w.array(flex, Some(self.responses), |w, v| v.write(w, version))?;
        w.i32(self.throttle_time_ms);
        if flex {
            let mut count = 0;
            let tag_0 = version >= 10 && !self.node_endpoints.is_empty();
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
        if !(version >= 10) {
            if !self.node_endpoints.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "ProduceResponse",
                    field: "NodeEndpoints",
                    version,
                });
            }
        }
        Ok(())
    }
}

/// `TopicProduceResponse`, part of ProduceResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicProduceResponse {
    pub name: String,
    pub topic_id: Uuid,
    pub partition_responses: Vec<PartitionProduceResponse>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicProduceResponse {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Default::default(),
            partition_responses: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicProduceResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let name = if version <= 12 { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 13 { r.uuid()? } else { Default::default() };
        let partition_responses = r.vec(flex, |r| PartitionProduceResponse::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, topic_id, partition_responses, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version <= 12 {
            w.string(flex, &self.name)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flex, Some(&self.partition_responses[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "TopicProduceResponse", version)
    }
}

#[cfg(feature = "json")]
impl TopicProduceResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 12 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 13 {
            o.insert("topicId".into(), {
                let v = &self.topic_id;
                v.to_string().into()
            });
        }
        o.insert("partitionResponses".into(), {
            let v = &self.partition_responses;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicProduceResponse` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct TopicProduceResponseView<'a> {
    pub name: &'a str,
    pub topic_id: Uuid,
    pub partition_responses: ArrayView<'a, PartitionProduceResponseView<'a>>,
}

impl Default for TopicProduceResponseView<'_> {
    fn default() -> Self {
        Self { name: "", topic_id: Default::default(), partition_responses: Default::default() }
    }
}

impl<'a> ViewElement<'a> for TopicProduceResponseView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let mut m = Self::default();
        if version <= 12 {
            m.name = r.str(flex)?;
        }
        if version >= 13 {
            m.topic_id = r.uuid()?;
        }
        m.partition_responses = r.array_view(flex, version)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 9;
        if version <= 12 {
            r.skip_str(flex, false)?;
        }
        if version >= 13 {
            r.skip(16)?;
        }
        r.skip_array::<PartitionProduceResponseView<'a>>(flex, version, false)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl TopicProduceResponseView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> TopicProduceResponse {
        TopicProduceResponse {
            name: self.name.to_owned(),
            topic_id: self.topic_id,
            partition_responses: self.partition_responses.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `TopicProduceResponse` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicProduceResponseRef<'a> {
    pub name: &'a str,
    pub topic_id: Uuid,
    pub partition_responses: &'a [PartitionProduceResponseRef<'a>],
}

impl Default for TopicProduceResponseRef<'_> {
    fn default() -> Self {
        Self { name: "", topic_id: Default::default(), partition_responses: &[] }
    }
}

impl TopicProduceResponseRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version <= 12 {
            w.string(flex, self.name)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flex, Some(self.partition_responses), |w, v| v.write(w, version))?;
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// `PartitionProduceResponse`, part of ProduceResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionProduceResponse {
    pub index: i32,
    pub error_code: ErrorCode,
    pub base_offset: i64,
    pub log_append_time_ms: i64,
    pub log_start_offset: i64,
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    pub error_message: Option<String>,
    pub current_leader: LeaderIdAndEpoch,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionProduceResponse {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: ErrorCode(0),
            base_offset: 0,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Default::default(),
            error_message: None,
            current_leader: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionProduceResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let base_offset = r.i64()?;
        let log_append_time_ms = r.i64()?;
        let log_start_offset = if version >= 5 { r.i64()? } else { -1 };
        let record_errors = if version >= 8 {
            r.vec(flex, |r| BatchIndexAndErrorMessage::read(r, version))?
        } else {
            Default::default()
        };
        let error_message = if version >= 8 { r.nullable_string(flex)? } else { None };
        let mut current_leader = Default::default();
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 10) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        current_leader = LeaderIdAndEpoch::read(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            current_leader,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version >= 5 {
            let mut b = [0; 30];
            b[0..4].copy_from_slice(&self.index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.base_offset.to_be_bytes());
            b[14..22].copy_from_slice(&self.log_append_time_ms.to_be_bytes());
            b[22..30].copy_from_slice(&self.log_start_offset.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 22];
            b[0..4].copy_from_slice(&self.index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.base_offset.to_be_bytes());
            b[14..22].copy_from_slice(&self.log_append_time_ms.to_be_bytes());
            w.raw(&b);
        }
        if version >= 8 {
            w.array(flex, Some(&self.record_errors[..]), |w, v| v.write(w, version))?;
        }
        if version >= 8 {
            w.nullable_string(flex, self.error_message.as_deref())?;
        }
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 10 && self.current_leader != Default::default();
            count += usize::from(tag_0);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    self.current_leader.write(w, version)?;
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "PartitionProduceResponse",
                field: "unknown_tags",
                version,
            });
        }
        if !(version >= 10) {
            if self.current_leader != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionProduceResponse",
                    field: "CurrentLeader",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl PartitionProduceResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("index".into(), {
            let v = &self.index;
            (*v).into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("baseOffset".into(), {
            let v = &self.base_offset;
            (*v).into()
        });
        o.insert("logAppendTimeMs".into(), {
            let v = &self.log_append_time_ms;
            (*v).into()
        });
        if version >= 5 {
            o.insert("logStartOffset".into(), {
                let v = &self.log_start_offset;
                (*v).into()
            });
        }
        if version >= 8 {
            o.insert("recordErrors".into(), {
                let v = &self.record_errors;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if version >= 8 {
            o.insert(
                "errorMessage".into(),
                match &self.error_message {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 10 {
            if self.current_leader != Default::default() {
                o.insert("currentLeader".into(), {
                    let v = &self.current_leader;
                    v.json(version)
                });
            }
        }
        serde_json::Value::Object(o)
    }
}

/// `PartitionProduceResponse` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct PartitionProduceResponseView<'a> {
    pub index: i32,
    pub error_code: ErrorCode,
    pub base_offset: i64,
    pub log_append_time_ms: i64,
    pub log_start_offset: i64,
    pub record_errors: ArrayView<'a, BatchIndexAndErrorMessageView<'a>>,
    pub error_message: Option<&'a str>,
    pub current_leader: LeaderIdAndEpochView<'a>,
}

impl Default for PartitionProduceResponseView<'_> {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: ErrorCode(0),
            base_offset: 0,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Default::default(),
            error_message: None,
            current_leader: Default::default(),
        }
    }
}

impl<'a> ViewElement<'a> for PartitionProduceResponseView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let mut m = Self::default();
        m.index = r.i32()?;
        m.error_code = ErrorCode(r.i16()?);
        m.base_offset = r.i64()?;
        m.log_append_time_ms = r.i64()?;
        if version >= 5 {
            m.log_start_offset = r.i64()?;
        }
        if version >= 8 {
            m.record_errors = r.array_view(flex, version)?;
        }
        if version >= 8 {
            m.error_message = r.nullable_str(flex)?;
        }
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 10) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        m.current_leader = LeaderIdAndEpochView::read(r, version)?;
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
        let flex = version >= 9;
        r.skip(22)?;
        if version >= 5 {
            r.skip(8)?;
        }
        if version >= 8 {
            r.skip_array::<BatchIndexAndErrorMessageView<'a>>(flex, version, false)?;
        }
        if version >= 8 {
            r.skip_str(flex, true)?;
        }
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 10) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        LeaderIdAndEpochView::skip(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(())
    }
}

impl PartitionProduceResponseView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> PartitionProduceResponse {
        PartitionProduceResponse {
            index: self.index,
            error_code: self.error_code,
            base_offset: self.base_offset,
            log_append_time_ms: self.log_append_time_ms,
            log_start_offset: self.log_start_offset,
            record_errors: self.record_errors.iter().map(|v| v.owned()).collect(),
            error_message: self.error_message.map(|v| v.to_owned()),
            current_leader: self.current_leader.owned(),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `PartitionProduceResponse` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionProduceResponseRef<'a> {
    pub index: i32,
    pub error_code: ErrorCode,
    pub base_offset: i64,
    pub log_append_time_ms: i64,
    pub log_start_offset: i64,
    pub record_errors: &'a [BatchIndexAndErrorMessageRef<'a>],
    pub error_message: Option<&'a str>,
    pub current_leader: LeaderIdAndEpochRef<'a>,
}

impl Default for PartitionProduceResponseRef<'_> {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: ErrorCode(0),
            base_offset: 0,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: &[],
            error_message: None,
            current_leader: Default::default(),
        }
    }
}

impl PartitionProduceResponseRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version >= 5 {
            let mut b = [0; 30];
            b[0..4].copy_from_slice(&self.index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.base_offset.to_be_bytes());
            b[14..22].copy_from_slice(&self.log_append_time_ms.to_be_bytes());
            b[22..30].copy_from_slice(&self.log_start_offset.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 22];
            b[0..4].copy_from_slice(&self.index.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.base_offset.to_be_bytes());
            b[14..22].copy_from_slice(&self.log_append_time_ms.to_be_bytes());
            w.raw(&b);
        }
        if version >= 8 {
            w.array(flex, Some(self.record_errors), |w, v| v.write(w, version))?;
        }
        if version >= 8 {
            w.nullable_string(flex, self.error_message)?;
        }
        if flex {
            let mut count = 0;
            let tag_0 = version >= 10 && self.current_leader != Default::default();
            count += usize::from(tag_0);
            w.uvarint(count as u32);
            if count > 0 {
                if tag_0 {
                    let at = w.begin_tag(0);
                    self.current_leader.write(w, version)?;
                    w.end_tag(at);
                }
            }
        }
        if !(version >= 10) {
            if self.current_leader != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionProduceResponse",
                    field: "CurrentLeader",
                    version,
                });
            }
        }
        Ok(())
    }
}

/// `BatchIndexAndErrorMessage`, part of ProduceResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BatchIndexAndErrorMessage {
    pub batch_index: i32,
    pub batch_index_error_message: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BatchIndexAndErrorMessage {
    fn default() -> Self {
        Self { batch_index: 0, batch_index_error_message: None, unknown_tags: RawTags::default() }
    }
}

impl BatchIndexAndErrorMessage {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let batch_index = if version >= 8 { r.i32()? } else { 0 };
        let batch_index_error_message = if version >= 8 { r.nullable_string(flex)? } else { None };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { batch_index, batch_index_error_message, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version >= 8 {
            w.i32(self.batch_index);
        } else {
            if self.batch_index != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "BatchIndexAndErrorMessage",
                    field: "BatchIndex",
                    version,
                });
            }
        }
        if version >= 8 {
            w.nullable_string(flex, self.batch_index_error_message.as_deref())?;
        } else {
            if self.batch_index_error_message.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "BatchIndexAndErrorMessage",
                    field: "BatchIndexErrorMessage",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "BatchIndexAndErrorMessage", version)
    }
}

#[cfg(feature = "json")]
impl BatchIndexAndErrorMessage {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 8 {
            o.insert("batchIndex".into(), {
                let v = &self.batch_index;
                (*v).into()
            });
        }
        if version >= 8 {
            o.insert(
                "batchIndexErrorMessage".into(),
                match &self.batch_index_error_message {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `BatchIndexAndErrorMessage` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct BatchIndexAndErrorMessageView<'a> {
    pub batch_index: i32,
    pub batch_index_error_message: Option<&'a str>,
}

impl Default for BatchIndexAndErrorMessageView<'_> {
    fn default() -> Self {
        Self { batch_index: 0, batch_index_error_message: None }
    }
}

impl<'a> ViewElement<'a> for BatchIndexAndErrorMessageView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let mut m = Self::default();
        if version >= 8 {
            m.batch_index = r.i32()?;
        }
        if version >= 8 {
            m.batch_index_error_message = r.nullable_str(flex)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 9;
        if version >= 8 {
            r.skip(4)?;
        }
        if version >= 8 {
            r.skip_str(flex, true)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl BatchIndexAndErrorMessageView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> BatchIndexAndErrorMessage {
        BatchIndexAndErrorMessage {
            batch_index: self.batch_index,
            batch_index_error_message: self.batch_index_error_message.map(|v| v.to_owned()),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `BatchIndexAndErrorMessage` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BatchIndexAndErrorMessageRef<'a> {
    pub batch_index: i32,
    pub batch_index_error_message: Option<&'a str>,
}

impl Default for BatchIndexAndErrorMessageRef<'_> {
    fn default() -> Self {
        Self { batch_index: 0, batch_index_error_message: None }
    }
}

impl BatchIndexAndErrorMessageRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version >= 8 {
            w.i32(self.batch_index);
        } else {
            if self.batch_index != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "BatchIndexAndErrorMessage",
                    field: "BatchIndex",
                    version,
                });
            }
        }
        if version >= 8 {
            w.nullable_string(flex, self.batch_index_error_message)?;
        } else {
            if self.batch_index_error_message.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "BatchIndexAndErrorMessage",
                    field: "BatchIndexErrorMessage",
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

/// `LeaderIdAndEpoch`, part of ProduceResponse.
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
        let flex = version >= 9;
        let leader_id = if version >= 10 { r.i32()? } else { -1 };
        let leader_epoch = if version >= 10 { r.i32()? } else { -1 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { leader_id, leader_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version >= 10 {
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
        if version >= 10 {
            o.insert("leaderId".into(), {
                let v = &self.leader_id;
                (*v).into()
            });
        }
        if version >= 10 {
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
        let flex = version >= 9;
        let mut m = Self::default();
        if version >= 10 {
            m.leader_id = r.i32()?;
        }
        if version >= 10 {
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
        let flex = version >= 9;
        if version >= 10 {
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
        let flex = version >= 9;
        if version >= 10 {
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

/// `NodeEndpoint`, part of ProduceResponse.
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
        let flex = version >= 9;
        let node_id = if version >= 10 { r.i32()? } else { 0 };
        let host = if version >= 10 { r.string(flex)? } else { String::new() };
        let port = if version >= 10 { r.i32()? } else { 0 };
        let rack = if version >= 10 { r.nullable_string(flex)? } else { None };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { node_id, host, port, rack, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version >= 10 {
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
        if version >= 10 {
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
        if version >= 10 {
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
        if version >= 10 {
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
        if version >= 10 {
            o.insert("nodeId".into(), {
                let v = &self.node_id;
                (*v).into()
            });
        }
        if version >= 10 {
            o.insert("host".into(), {
                let v = &self.host;
                v.as_str().into()
            });
        }
        if version >= 10 {
            o.insert("port".into(), {
                let v = &self.port;
                (*v).into()
            });
        }
        if version >= 10 {
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
        let flex = version >= 9;
        let mut m = Self::default();
        if version >= 10 {
            m.node_id = r.i32()?;
        }
        if version >= 10 {
            m.host = r.str(flex)?;
        }
        if version >= 10 {
            m.port = r.i32()?;
        }
        if version >= 10 {
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
        let flex = version >= 9;
        if version >= 10 {
            r.skip(4)?;
        }
        if version >= 10 {
            r.skip_str(flex, false)?;
        }
        if version >= 10 {
            r.skip(4)?;
        }
        if version >= 10 {
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
        let flex = version >= 9;
        if version >= 10 {
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
        if version >= 10 {
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
        if version >= 10 {
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
        if version >= 10 {
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

impl Message for ProduceResponse {
    const NAME: &'static str = "ProduceResponse";
    const MIN_VERSION: i16 = 3;
    const MAX_VERSION: i16 = 13;
    const FLEXIBLE_FROM: i16 = 9;
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
impl crate::json::ToJson for ProduceResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
