//! FetchRequest, versions 4 to 18.

use super::prelude::*;

/// `FetchRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchRequest {
    pub cluster_id: Option<String>,
    pub replica_id: i32,
    pub replica_state: ReplicaState,
    pub max_wait_ms: i32,
    pub min_bytes: i32,
    pub max_bytes: i32,
    pub isolation_level: i8,
    pub session_id: i32,
    pub session_epoch: i32,
    pub topics: Vec<FetchTopic>,
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    pub rack_id: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FetchRequest {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_state: Default::default(),
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: 0x7fffffff,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Default::default(),
            forgotten_topics_data: Default::default(),
            rack_id: String::new(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl FetchRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let replica_id = if version <= 14 { r.i32()? } else { -1 };
        let max_wait_ms = r.i32()?;
        let min_bytes = r.i32()?;
        let max_bytes = r.i32()?;
        let isolation_level = r.i8()?;
        let session_id = if version >= 7 { r.i32()? } else { 0 };
        let session_epoch = if version >= 7 { r.i32()? } else { -1 };
        let topics = r.vec(flex, |r| FetchTopic::read(r, version))?;
        let forgotten_topics_data = if version >= 7 {
            r.vec(flex, |r| ForgottenTopic::read(r, version))?
        } else {
            Default::default()
        };
        let rack_id = if version >= 11 { r.string(flex)? } else { String::new() };
        let mut cluster_id = None;
        let mut replica_state = Default::default();
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        cluster_id = r.nullable_string(flex)?;
                    }
                    1 => {
                        if !(version >= 15) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        replica_state = ReplicaState::read(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            cluster_id,
            replica_id,
            replica_state,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data,
            rack_id,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version <= 14 {
            w.i32(self.replica_id);
        } else {
            if self.replica_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "FetchRequest",
                    field: "ReplicaId",
                    version,
                });
            }
        }
        if version >= 7 {
            let mut b = [0; 21];
            b[0..4].copy_from_slice(&self.max_wait_ms.to_be_bytes());
            b[4..8].copy_from_slice(&self.min_bytes.to_be_bytes());
            b[8..12].copy_from_slice(&self.max_bytes.to_be_bytes());
            b[12..13].copy_from_slice(&self.isolation_level.to_be_bytes());
            b[13..17].copy_from_slice(&self.session_id.to_be_bytes());
            b[17..21].copy_from_slice(&self.session_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 13];
            b[0..4].copy_from_slice(&self.max_wait_ms.to_be_bytes());
            b[4..8].copy_from_slice(&self.min_bytes.to_be_bytes());
            b[8..12].copy_from_slice(&self.max_bytes.to_be_bytes());
            b[12..13].copy_from_slice(&self.isolation_level.to_be_bytes());
            w.raw(&b);
        }
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        if version >= 7 {
            w.array(flex, Some(&self.forgotten_topics_data[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.forgotten_topics_data.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FetchRequest",
                    field: "ForgottenTopicsData",
                    version,
                });
            }
        }
        if version >= 11 {
            w.string(flex, &self.rack_id)?;
        }
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 12 && self.cluster_id.is_some();
            count += usize::from(tag_0);
            let tag_1 = version >= 15 && self.replica_state != Default::default();
            count += usize::from(tag_1);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.nullable_string(flex, self.cluster_id.as_deref())?;
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(1), &mut raw)?;
                if tag_1 {
                    let at = w.begin_tag(1);
                    self.replica_state.write(w, version)?;
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "FetchRequest",
                field: "unknown_tags",
                version,
            });
        }
        if !(version >= 15) {
            if self.replica_state != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "FetchRequest",
                    field: "ReplicaState",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl FetchRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 12 {
            if self.cluster_id.is_some() {
                o.insert(
                    "clusterId".into(),
                    match &self.cluster_id {
                        Some(v) => v.as_str().into(),
                        None => serde_json::Value::Null,
                    },
                );
            }
        }
        if version <= 14 {
            o.insert("replicaId".into(), {
                let v = &self.replica_id;
                (*v).into()
            });
        }
        if version >= 15 {
            if self.replica_state != Default::default() {
                o.insert("replicaState".into(), {
                    let v = &self.replica_state;
                    v.json(version)
                });
            }
        }
        o.insert("maxWaitMs".into(), {
            let v = &self.max_wait_ms;
            (*v).into()
        });
        o.insert("minBytes".into(), {
            let v = &self.min_bytes;
            (*v).into()
        });
        o.insert("maxBytes".into(), {
            let v = &self.max_bytes;
            (*v).into()
        });
        o.insert("isolationLevel".into(), {
            let v = &self.isolation_level;
            (*v).into()
        });
        if version >= 7 {
            o.insert("sessionId".into(), {
                let v = &self.session_id;
                (*v).into()
            });
        }
        if version >= 7 {
            o.insert("sessionEpoch".into(), {
                let v = &self.session_epoch;
                (*v).into()
            });
        }
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 7 {
            o.insert("forgottenTopicsData".into(), {
                let v = &self.forgotten_topics_data;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if version >= 11 {
            o.insert("rackId".into(), {
                let v = &self.rack_id;
                v.as_str().into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `FetchRequest` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct FetchRequestView<'a> {
    pub cluster_id: Option<&'a str>,
    pub replica_id: i32,
    pub replica_state: ReplicaStateView<'a>,
    pub max_wait_ms: i32,
    pub min_bytes: i32,
    pub max_bytes: i32,
    pub isolation_level: i8,
    pub session_id: i32,
    pub session_epoch: i32,
    pub topics: ArrayView<'a, FetchTopicView<'a>>,
    pub forgotten_topics_data: ArrayView<'a, ForgottenTopicView<'a>>,
    pub rack_id: &'a str,
}

impl Default for FetchRequestView<'_> {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_state: Default::default(),
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: 0x7fffffff,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Default::default(),
            forgotten_topics_data: Default::default(),
            rack_id: "",
        }
    }
}

impl<'a> ViewElement<'a> for FetchRequestView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        if version <= 14 {
            m.replica_id = r.i32()?;
        }
        m.max_wait_ms = r.i32()?;
        m.min_bytes = r.i32()?;
        m.max_bytes = r.i32()?;
        m.isolation_level = r.i8()?;
        if version >= 7 {
            m.session_id = r.i32()?;
        }
        if version >= 7 {
            m.session_epoch = r.i32()?;
        }
        m.topics = r.array_view(flex, version)?;
        if version >= 7 {
            m.forgotten_topics_data = r.array_view(flex, version)?;
        }
        if version >= 11 {
            m.rack_id = r.str(flex)?;
        }
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        m.cluster_id = r.nullable_str(flex)?;
                    }
                    1 => {
                        if !(version >= 15) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        m.replica_state = ReplicaStateView::read(r, version)?;
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
        if version <= 14 {
            r.skip(4)?;
        }
        r.skip(13)?;
        if version >= 7 {
            r.skip(8)?;
        }
        r.skip_array::<FetchTopicView<'a>>(flex, version, false)?;
        if version >= 7 {
            r.skip_array::<ForgottenTopicView<'a>>(flex, version, false)?;
        }
        if version >= 11 {
            r.skip_str(flex, false)?;
        }
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        r.skip_str(flex, true)?;
                    }
                    1 => {
                        if !(version >= 15) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        ReplicaStateView::skip(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(())
    }
}

impl FetchRequestView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> FetchRequest {
        FetchRequest {
            cluster_id: self.cluster_id.map(|v| v.to_owned()),
            replica_id: self.replica_id,
            replica_state: self.replica_state.owned(),
            max_wait_ms: self.max_wait_ms,
            min_bytes: self.min_bytes,
            max_bytes: self.max_bytes,
            isolation_level: self.isolation_level,
            session_id: self.session_id,
            session_epoch: self.session_epoch,
            topics: self.topics.iter().map(|v| v.owned()).collect(),
            forgotten_topics_data: self.forgotten_topics_data.iter().map(|v| v.owned()).collect(),
            rack_id: self.rack_id.to_owned(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl<'a> FetchRequestView<'a> {
    /// Reads and checks the whole message in place; no allocation.
    pub fn parse(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        FetchRequest::check_version(version)?;
        <Self as ViewElement>::read(r, version)
    }
}

impl<'a> FetchRequestView<'a> {
    /// Reads and checks the whole message in place and hands out every `FetchPartition` on the way, in
    /// one walk over the bytes. The `FetchTopic` beside it is filled as far as it stands in front of
    /// its `FetchPartition`s. After an error the message is not valid, whatever was handed out.
    pub fn parse_each(
        r: &mut Reader<'a>,
        version: i16,
        mut each: impl FnMut(&FetchTopicView<'a>, FetchPartitionView<'a>),
    ) -> Decoded<Self> {
        FetchRequest::check_version(version)?;
        let flex = version >= 12;
        let mut m = Self::default();
        if version <= 14 {
            m.replica_id = r.i32()?;
        }
        m.max_wait_ms = r.i32()?;
        m.min_bytes = r.i32()?;
        m.max_bytes = r.i32()?;
        m.isolation_level = r.i8()?;
        if version >= 7 {
            m.session_id = r.i32()?;
        }
        if version >= 7 {
            m.session_epoch = r.i32()?;
        }
        m.topics =
            r.array_view_each(flex, version, |r| FetchTopicView::walk(r, version, &mut each))?;
        if version >= 7 {
            m.forgotten_topics_data = r.array_view(flex, version)?;
        }
        if version >= 11 {
            m.rack_id = r.str(flex)?;
        }
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 12) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        m.cluster_id = r.nullable_str(flex)?;
                    }
                    1 => {
                        if !(version >= 15) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        m.replica_state = ReplicaStateView::read(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(m)
    }
}

impl<'a> FetchTopicView<'a> {
    #[inline]
    fn walk(
        r: &mut Reader<'a>,
        version: i16,
        each: &mut impl FnMut(&Self, FetchPartitionView<'a>),
    ) -> Decoded<()> {
        let flex = version >= 12;
        let mut m = Self::default();
        if version <= 12 {
            m.topic = r.str(flex)?;
        }
        if version >= 13 {
            m.topic_id = r.uuid()?;
        }
        r.array_view_each::<FetchPartitionView<'a>>(flex, version, |r| {
            each(&m, FetchPartitionView::read(r, version)?);
            Ok(())
        })?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

/// `FetchRequest` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchRequestRef<'a> {
    pub cluster_id: Option<&'a str>,
    pub replica_id: i32,
    pub replica_state: ReplicaStateRef<'a>,
    pub max_wait_ms: i32,
    pub min_bytes: i32,
    pub max_bytes: i32,
    pub isolation_level: i8,
    pub session_id: i32,
    pub session_epoch: i32,
    pub topics: &'a [FetchTopicRef<'a>],
    pub forgotten_topics_data: &'a [ForgottenTopicRef<'a>],
    pub rack_id: &'a str,
}

impl Default for FetchRequestRef<'_> {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_state: Default::default(),
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: 0x7fffffff,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: &[],
            forgotten_topics_data: &[],
            rack_id: "",
        }
    }
}

impl FetchRequestRef<'_> {
    /// Appends the message in `version`'s form.
    pub fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        FetchRequest::check_written_version(version)?;
        self.write(w, version)
    }
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version <= 14 {
            w.i32(self.replica_id);
        } else {
            if self.replica_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "FetchRequest",
                    field: "ReplicaId",
                    version,
                });
            }
        }
        if version >= 7 {
            let mut b = [0; 21];
            b[0..4].copy_from_slice(&self.max_wait_ms.to_be_bytes());
            b[4..8].copy_from_slice(&self.min_bytes.to_be_bytes());
            b[8..12].copy_from_slice(&self.max_bytes.to_be_bytes());
            b[12..13].copy_from_slice(&self.isolation_level.to_be_bytes());
            b[13..17].copy_from_slice(&self.session_id.to_be_bytes());
            b[17..21].copy_from_slice(&self.session_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 13];
            b[0..4].copy_from_slice(&self.max_wait_ms.to_be_bytes());
            b[4..8].copy_from_slice(&self.min_bytes.to_be_bytes());
            b[8..12].copy_from_slice(&self.max_bytes.to_be_bytes());
            b[12..13].copy_from_slice(&self.isolation_level.to_be_bytes());
            w.raw(&b);
        }
        w.array(flex, Some(self.topics), |w, v| v.write(w, version))?;
        if version >= 7 {
            w.array(flex, Some(self.forgotten_topics_data), |w, v| v.write(w, version))?;
        } else {
            if !self.forgotten_topics_data.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FetchRequest",
                    field: "ForgottenTopicsData",
                    version,
                });
            }
        }
        if version >= 11 {
            w.string(flex, self.rack_id)?;
        }
        if flex {
            let mut count = 0;
            let tag_0 = version >= 12 && self.cluster_id.is_some();
            count += usize::from(tag_0);
            let tag_1 = version >= 15 && self.replica_state != Default::default();
            count += usize::from(tag_1);
            w.uvarint(count as u32);
            if count > 0 {
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.nullable_string(flex, self.cluster_id)?;
                    w.end_tag(at);
                }
                if tag_1 {
                    let at = w.begin_tag(1);
                    self.replica_state.write(w, version)?;
                    w.end_tag(at);
                }
            }
        }
        if !(version >= 15) {
            if self.replica_state != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "FetchRequest",
                    field: "ReplicaState",
                    version,
                });
            }
        }
        Ok(())
    }
}

/// `ReplicaState`, part of FetchRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReplicaState {
    pub replica_id: i32,
    pub replica_epoch: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self { replica_id: -1, replica_epoch: -1, unknown_tags: RawTags::default() }
    }
}

impl ReplicaState {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let replica_id = if version >= 15 { r.i32()? } else { -1 };
        let replica_epoch = if version >= 15 { r.i64()? } else { -1 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { replica_id, replica_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 15 {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.replica_id.to_be_bytes());
            b[4..12].copy_from_slice(&self.replica_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            if self.replica_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "ReplicaState",
                    field: "ReplicaId",
                    version,
                });
            }
            if self.replica_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "ReplicaState",
                    field: "ReplicaEpoch",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "ReplicaState", version)
    }
}

#[cfg(feature = "json")]
impl ReplicaState {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 15 {
            o.insert("replicaId".into(), {
                let v = &self.replica_id;
                (*v).into()
            });
        }
        if version >= 15 {
            o.insert("replicaEpoch".into(), {
                let v = &self.replica_epoch;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `ReplicaState` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ReplicaStateView<'a> {
    pub replica_id: i32,
    pub replica_epoch: i64,
    _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for ReplicaStateView<'_> {
    fn default() -> Self {
        Self { replica_id: -1, replica_epoch: -1, _lifetime: std::marker::PhantomData }
    }
}

impl<'a> ViewElement<'a> for ReplicaStateView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        if version >= 15 {
            m.replica_id = r.i32()?;
        }
        if version >= 15 {
            m.replica_epoch = r.i64()?;
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
        if version >= 15 {
            r.skip(12)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl ReplicaStateView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> ReplicaState {
        ReplicaState {
            replica_id: self.replica_id,
            replica_epoch: self.replica_epoch,
            unknown_tags: RawTags::default(),
        }
    }
}

/// `ReplicaState` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReplicaStateRef<'a> {
    pub replica_id: i32,
    pub replica_epoch: i64,
    #[doc(hidden)]
    pub _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for ReplicaStateRef<'_> {
    fn default() -> Self {
        Self { replica_id: -1, replica_epoch: -1, _lifetime: std::marker::PhantomData }
    }
}

impl ReplicaStateRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 15 {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.replica_id.to_be_bytes());
            b[4..12].copy_from_slice(&self.replica_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            if self.replica_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "ReplicaState",
                    field: "ReplicaId",
                    version,
                });
            }
            if self.replica_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "ReplicaState",
                    field: "ReplicaEpoch",
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

/// `FetchTopic`, part of FetchRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchTopic {
    pub topic: String,
    pub topic_id: Uuid,
    pub partitions: Vec<FetchPartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FetchTopic {
    fn default() -> Self {
        Self {
            topic: String::new(),
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl FetchTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let topic = if version <= 12 { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 13 { r.uuid()? } else { Default::default() };
        let partitions = r.vec(flex, |r| FetchPartition::read(r, version))?;
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
        w.unknown_tags(flex, &self.unknown_tags, "FetchTopic", version)
    }
}

#[cfg(feature = "json")]
impl FetchTopic {
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

/// `FetchTopic` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct FetchTopicView<'a> {
    pub topic: &'a str,
    pub topic_id: Uuid,
    pub partitions: ArrayView<'a, FetchPartitionView<'a>>,
}

impl Default for FetchTopicView<'_> {
    fn default() -> Self {
        Self { topic: "", topic_id: Default::default(), partitions: Default::default() }
    }
}

impl<'a> ViewElement<'a> for FetchTopicView<'a> {
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
        r.skip_array::<FetchPartitionView<'a>>(flex, version, false)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl FetchTopicView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> FetchTopic {
        FetchTopic {
            topic: self.topic.to_owned(),
            topic_id: self.topic_id,
            partitions: self.partitions.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `FetchTopic` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchTopicRef<'a> {
    pub topic: &'a str,
    pub topic_id: Uuid,
    pub partitions: &'a [FetchPartitionRef<'a>],
}

impl Default for FetchTopicRef<'_> {
    fn default() -> Self {
        Self { topic: "", topic_id: Default::default(), partitions: &[] }
    }
}

impl FetchTopicRef<'_> {
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

/// `FetchPartition`, part of FetchRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchPartition {
    pub partition: i32,
    pub current_leader_epoch: i32,
    pub fetch_offset: i64,
    pub last_fetched_epoch: i32,
    pub log_start_offset: i64,
    pub partition_max_bytes: i32,
    pub replica_directory_id: Uuid,
    pub high_watermark: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FetchPartition {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            fetch_offset: 0,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: 0,
            replica_directory_id: Default::default(),
            high_watermark: 9223372036854775807,
            unknown_tags: RawTags::default(),
        }
    }
}

impl FetchPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let partition = r.i32()?;
        let current_leader_epoch = if version >= 9 { r.i32()? } else { -1 };
        let fetch_offset = r.i64()?;
        let last_fetched_epoch = if version >= 12 { r.i32()? } else { -1 };
        let log_start_offset = if version >= 5 { r.i64()? } else { -1 };
        let partition_max_bytes = r.i32()?;
        let mut replica_directory_id = Default::default();
        let mut high_watermark = 9223372036854775807;
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 17) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        replica_directory_id = r.uuid()?;
                    }
                    1 => {
                        if !(version >= 18) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        high_watermark = r.i64()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            log_start_offset,
            partition_max_bytes,
            replica_directory_id,
            high_watermark,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 9 {
            let mut b = [0; 8];
            b[0..4].copy_from_slice(&self.partition.to_be_bytes());
            b[4..8].copy_from_slice(&self.current_leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.partition);
        }
        if version >= 12 {
            let mut b = [0; 12];
            b[0..8].copy_from_slice(&self.fetch_offset.to_be_bytes());
            b[8..12].copy_from_slice(&self.last_fetched_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            w.i64(self.fetch_offset);
            if self.last_fetched_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "FetchPartition",
                    field: "LastFetchedEpoch",
                    version,
                });
            }
        }
        if version >= 5 {
            w.i64(self.log_start_offset);
        }
        w.i32(self.partition_max_bytes);
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 17 && !self.replica_directory_id.is_zero();
            count += usize::from(tag_0);
            let tag_1 = version >= 18 && self.high_watermark != 9223372036854775807;
            count += usize::from(tag_1);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.uuid(self.replica_directory_id);
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(1), &mut raw)?;
                if tag_1 {
                    let at = w.begin_tag(1);
                    w.i64(self.high_watermark);
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "FetchPartition",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl FetchPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        if version >= 9 {
            o.insert("currentLeaderEpoch".into(), {
                let v = &self.current_leader_epoch;
                (*v).into()
            });
        }
        o.insert("fetchOffset".into(), {
            let v = &self.fetch_offset;
            (*v).into()
        });
        if version >= 12 {
            o.insert("lastFetchedEpoch".into(), {
                let v = &self.last_fetched_epoch;
                (*v).into()
            });
        }
        if version >= 5 {
            o.insert("logStartOffset".into(), {
                let v = &self.log_start_offset;
                (*v).into()
            });
        }
        o.insert("partitionMaxBytes".into(), {
            let v = &self.partition_max_bytes;
            (*v).into()
        });
        if version >= 17 {
            if !self.replica_directory_id.is_zero() {
                o.insert("replicaDirectoryId".into(), {
                    let v = &self.replica_directory_id;
                    v.to_string().into()
                });
            }
        }
        if version >= 18 {
            if self.high_watermark != 9223372036854775807 {
                o.insert("highWatermark".into(), {
                    let v = &self.high_watermark;
                    (*v).into()
                });
            }
        }
        serde_json::Value::Object(o)
    }
}

/// `FetchPartition` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct FetchPartitionView<'a> {
    pub partition: i32,
    pub current_leader_epoch: i32,
    pub fetch_offset: i64,
    pub last_fetched_epoch: i32,
    pub log_start_offset: i64,
    pub partition_max_bytes: i32,
    pub replica_directory_id: Uuid,
    pub high_watermark: i64,
    _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for FetchPartitionView<'_> {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            fetch_offset: 0,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: 0,
            replica_directory_id: Default::default(),
            high_watermark: 9223372036854775807,
            _lifetime: std::marker::PhantomData,
        }
    }
}

impl<'a> ViewElement<'a> for FetchPartitionView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        m.partition = r.i32()?;
        if version >= 9 {
            m.current_leader_epoch = r.i32()?;
        }
        m.fetch_offset = r.i64()?;
        if version >= 12 {
            m.last_fetched_epoch = r.i32()?;
        }
        if version >= 5 {
            m.log_start_offset = r.i64()?;
        }
        m.partition_max_bytes = r.i32()?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 17) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        m.replica_directory_id = r.uuid()?;
                    }
                    1 => {
                        if !(version >= 18) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        m.high_watermark = r.i64()?;
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
        if version >= 9 {
            r.skip(4)?;
        }
        r.skip(8)?;
        if version >= 12 {
            r.skip(4)?;
        }
        if version >= 5 {
            r.skip(8)?;
        }
        r.skip(4)?;
        if flex {
            r.tags(None, |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 17) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        r.skip(16)?;
                    }
                    1 => {
                        if !(version >= 18) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        r.skip(8)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(())
    }
}

impl FetchPartitionView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> FetchPartition {
        FetchPartition {
            partition: self.partition,
            current_leader_epoch: self.current_leader_epoch,
            fetch_offset: self.fetch_offset,
            last_fetched_epoch: self.last_fetched_epoch,
            log_start_offset: self.log_start_offset,
            partition_max_bytes: self.partition_max_bytes,
            replica_directory_id: self.replica_directory_id,
            high_watermark: self.high_watermark,
            unknown_tags: RawTags::default(),
        }
    }
}

/// `FetchPartition` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchPartitionRef<'a> {
    pub partition: i32,
    pub current_leader_epoch: i32,
    pub fetch_offset: i64,
    pub last_fetched_epoch: i32,
    pub log_start_offset: i64,
    pub partition_max_bytes: i32,
    pub replica_directory_id: Uuid,
    pub high_watermark: i64,
    #[doc(hidden)]
    pub _lifetime: std::marker::PhantomData<&'a ()>,
}

impl Default for FetchPartitionRef<'_> {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            fetch_offset: 0,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: 0,
            replica_directory_id: Default::default(),
            high_watermark: 9223372036854775807,
            _lifetime: std::marker::PhantomData,
        }
    }
}

impl FetchPartitionRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if version >= 9 {
            let mut b = [0; 8];
            b[0..4].copy_from_slice(&self.partition.to_be_bytes());
            b[4..8].copy_from_slice(&self.current_leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.partition);
        }
        if version >= 12 {
            let mut b = [0; 12];
            b[0..8].copy_from_slice(&self.fetch_offset.to_be_bytes());
            b[8..12].copy_from_slice(&self.last_fetched_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            w.i64(self.fetch_offset);
            if self.last_fetched_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "FetchPartition",
                    field: "LastFetchedEpoch",
                    version,
                });
            }
        }
        if version >= 5 {
            w.i64(self.log_start_offset);
        }
        w.i32(self.partition_max_bytes);
        if flex {
            let mut count = 0;
            let tag_0 = version >= 17 && !self.replica_directory_id.is_zero();
            count += usize::from(tag_0);
            let tag_1 = version >= 18 && self.high_watermark != 9223372036854775807;
            count += usize::from(tag_1);
            w.uvarint(count as u32);
            if count > 0 {
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.uuid(self.replica_directory_id);
                    w.end_tag(at);
                }
                if tag_1 {
                    let at = w.begin_tag(1);
                    w.i64(self.high_watermark);
                    w.end_tag(at);
                }
            }
        }
        Ok(())
    }
}

/// `ForgottenTopic`, part of FetchRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ForgottenTopic {
    pub topic: String,
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ForgottenTopic {
    fn default() -> Self {
        Self {
            topic: String::new(),
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ForgottenTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let topic = if (7..=12).contains(&version) { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 13 { r.uuid()? } else { Default::default() };
        let partitions = if version >= 7 { r.vec(flex, |r| r.i32())? } else { Default::default() };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic, topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if (7..=12).contains(&version) {
            w.string(flex, &self.topic)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        if version >= 7 {
            w.array(flex, Some(&self.partitions[..]), |w, v| {
                w.i32(*v);
                Ok(())
            })?;
        } else {
            if !self.partitions.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "ForgottenTopic",
                    field: "Partitions",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "ForgottenTopic", version)
    }
}

#[cfg(feature = "json")]
impl ForgottenTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if (7..=12).contains(&version) {
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
        if version >= 7 {
            o.insert("partitions".into(), {
                let v = &self.partitions;
                serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `ForgottenTopic` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ForgottenTopicView<'a> {
    pub topic: &'a str,
    pub topic_id: Uuid,
    pub partitions: ArrayView<'a, i32>,
}

impl Default for ForgottenTopicView<'_> {
    fn default() -> Self {
        Self { topic: "", topic_id: Default::default(), partitions: Default::default() }
    }
}

impl<'a> ViewElement<'a> for ForgottenTopicView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 12;
        let mut m = Self::default();
        if (7..=12).contains(&version) {
            m.topic = r.str(flex)?;
        }
        if version >= 13 {
            m.topic_id = r.uuid()?;
        }
        if version >= 7 {
            m.partitions = r.array_view(flex, version)?;
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
        if (7..=12).contains(&version) {
            r.skip_str(flex, false)?;
        }
        if version >= 13 {
            r.skip(16)?;
        }
        if version >= 7 {
            r.skip_array::<i32>(flex, version, false)?;
        }
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl ForgottenTopicView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> ForgottenTopic {
        ForgottenTopic {
            topic: self.topic.to_owned(),
            topic_id: self.topic_id,
            partitions: self.partitions.iter().collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `ForgottenTopic` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ForgottenTopicRef<'a> {
    pub topic: &'a str,
    pub topic_id: Uuid,
    pub partitions: &'a [i32],
}

impl Default for ForgottenTopicRef<'_> {
    fn default() -> Self {
        Self { topic: "", topic_id: Default::default(), partitions: &[] }
    }
}

impl ForgottenTopicRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 12;
        if (7..=12).contains(&version) {
            w.string(flex, self.topic)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        if version >= 7 {
            w.array(flex, Some(self.partitions), |w, v| {
                w.i32(*v);
                Ok(())
            })?;
        } else {
            if !self.partitions.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "ForgottenTopic",
                    field: "Partitions",
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

impl Message for FetchRequest {
    const NAME: &'static str = "FetchRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for FetchRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for FetchRequest {
    const API_KEY: ApiKey = ApiKey(1);
    type Response = super::fetch_response::FetchResponse;
}
