//! ProduceRequest, versions 3 to 13.

use super::prelude::*;

/// `ProduceRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ProduceRequest {
    pub transactional_id: Option<String>,
    pub acks: i16,
    pub timeout_ms: i32,
    pub topic_data: Vec<TopicProduceData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ProduceRequest {
    fn default() -> Self {
        Self {
            transactional_id: None,
            acks: 0,
            timeout_ms: 0,
            topic_data: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ProduceRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let transactional_id = r.nullable_string(flex)?;
        let acks = r.i16()?;
        let timeout_ms = r.i32()?;
        let topic_data = r.vec(flex, |r| TopicProduceData::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { transactional_id, acks, timeout_ms, topic_data, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        w.nullable_string(flex, self.transactional_id.as_deref())?;
        let mut b = [0; 6];
        b[0..2].copy_from_slice(&self.acks.to_be_bytes());
        b[2..6].copy_from_slice(&self.timeout_ms.to_be_bytes());
        w.raw(&b);
        w.array(flex, Some(&self.topic_data[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "ProduceRequest", version)
    }
}

#[cfg(feature = "json")]
impl ProduceRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "transactionalId".into(),
            match &self.transactional_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("acks".into(), {
            let v = &self.acks;
            (*v).into()
        });
        o.insert("timeoutMs".into(), {
            let v = &self.timeout_ms;
            (*v).into()
        });
        o.insert("topicData".into(), {
            let v = &self.topic_data;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ProduceRequest` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ProduceRequestView<'a> {
    pub transactional_id: Option<&'a str>,
    pub acks: i16,
    pub timeout_ms: i32,
    pub topic_data: ArrayView<'a, TopicProduceDataView<'a>>,
}

impl Default for ProduceRequestView<'_> {
    fn default() -> Self {
        Self { transactional_id: None, acks: 0, timeout_ms: 0, topic_data: Default::default() }
    }
}

impl<'a> ViewElement<'a> for ProduceRequestView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let mut m = Self::default();
        m.transactional_id = r.nullable_str(flex)?;
        m.acks = r.i16()?;
        m.timeout_ms = r.i32()?;
        m.topic_data = r.array_view(flex, version)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 9;
        r.skip_str(flex, true)?;
        r.skip(6)?;
        r.skip_array::<TopicProduceDataView<'a>>(flex, version, false)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl ProduceRequestView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> ProduceRequest {
        ProduceRequest {
            transactional_id: self.transactional_id.map(|v| v.to_owned()),
            acks: self.acks,
            timeout_ms: self.timeout_ms,
            topic_data: self.topic_data.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl<'a> ProduceRequestView<'a> {
    /// Reads and checks the whole message in place; no allocation.
    pub fn parse(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        ProduceRequest::check_version(version)?;
        <Self as ViewElement>::read(r, version)
    }
}

impl<'a> ProduceRequestView<'a> {
    /// Reads and checks the whole message in place and hands out every `PartitionProduceData` on the way, in
    /// one walk over the bytes. The `TopicProduceData` beside it is filled as far as it stands in front of
    /// its `PartitionProduceData`s. After an error the message is not valid, whatever was handed out.
    pub fn parse_each(
        r: &mut Reader<'a>,
        version: i16,
        mut each: impl FnMut(&TopicProduceDataView<'a>, PartitionProduceDataView<'a>),
    ) -> Decoded<Self> {
        ProduceRequest::check_version(version)?;
        let flex = version >= 9;
        let mut m = Self::default();
        m.transactional_id = r.nullable_str(flex)?;
        m.acks = r.i16()?;
        m.timeout_ms = r.i32()?;
        m.topic_data = r.array_view_each(flex, version, |r| {
            TopicProduceDataView::walk(r, version, &mut each)
        })?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }
}

impl<'a> TopicProduceDataView<'a> {
    #[inline]
    fn walk(
        r: &mut Reader<'a>,
        version: i16,
        each: &mut impl FnMut(&Self, PartitionProduceDataView<'a>),
    ) -> Decoded<()> {
        let flex = version >= 9;
        let mut m = Self::default();
        if version <= 12 {
            m.name = r.str(flex)?;
        }
        if version >= 13 {
            m.topic_id = r.uuid()?;
        }
        r.array_view_each::<PartitionProduceDataView<'a>>(flex, version, |r| {
            each(&m, PartitionProduceDataView::read(r, version)?);
            Ok(())
        })?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

/// `ProduceRequest` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ProduceRequestRef<'a> {
    pub transactional_id: Option<&'a str>,
    pub acks: i16,
    pub timeout_ms: i32,
    pub topic_data: &'a [TopicProduceDataRef<'a>],
}

impl Default for ProduceRequestRef<'_> {
    fn default() -> Self {
        Self { transactional_id: None, acks: 0, timeout_ms: 0, topic_data: &[] }
    }
}

impl ProduceRequestRef<'_> {
    /// Appends the message in `version`'s form.
    pub fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        ProduceRequest::check_written_version(version)?;
        self.write(w, version)
    }
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        w.nullable_string(flex, self.transactional_id)?;
        let mut b = [0; 6];
        b[0..2].copy_from_slice(&self.acks.to_be_bytes());
        b[2..6].copy_from_slice(&self.timeout_ms.to_be_bytes());
        w.raw(&b);
        w.array(flex, Some(self.topic_data), |w, v| v.write(w, version))?;
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// `TopicProduceData`, part of ProduceRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicProduceData {
    pub name: String,
    pub topic_id: Uuid,
    pub partition_data: Vec<PartitionProduceData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicProduceData {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Default::default(),
            partition_data: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicProduceData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let name = if version <= 12 { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 13 { r.uuid()? } else { Default::default() };
        let partition_data = r.vec(flex, |r| PartitionProduceData::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, topic_id, partition_data, unknown_tags })
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
        w.array(flex, Some(&self.partition_data[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "TopicProduceData", version)
    }
}

#[cfg(feature = "json")]
impl TopicProduceData {
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
        o.insert("partitionData".into(), {
            let v = &self.partition_data;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicProduceData` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct TopicProduceDataView<'a> {
    pub name: &'a str,
    pub topic_id: Uuid,
    pub partition_data: ArrayView<'a, PartitionProduceDataView<'a>>,
}

impl Default for TopicProduceDataView<'_> {
    fn default() -> Self {
        Self { name: "", topic_id: Default::default(), partition_data: Default::default() }
    }
}

impl<'a> ViewElement<'a> for TopicProduceDataView<'a> {
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
        m.partition_data = r.array_view(flex, version)?;
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
        r.skip_array::<PartitionProduceDataView<'a>>(flex, version, false)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl TopicProduceDataView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> TopicProduceData {
        TopicProduceData {
            name: self.name.to_owned(),
            topic_id: self.topic_id,
            partition_data: self.partition_data.iter().map(|v| v.owned()).collect(),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `TopicProduceData` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicProduceDataRef<'a> {
    pub name: &'a str,
    pub topic_id: Uuid,
    pub partition_data: &'a [PartitionProduceDataRef<'a>],
}

impl Default for TopicProduceDataRef<'_> {
    fn default() -> Self {
        Self { name: "", topic_id: Default::default(), partition_data: &[] }
    }
}

impl TopicProduceDataRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version <= 12 {
            w.string(flex, self.name)?;
        }
        if version >= 13 {
            w.uuid(self.topic_id);
        }
        w.array(flex, Some(self.partition_data), |w, v| v.write(w, version))?;
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// `PartitionProduceData`, part of ProduceRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionProduceData {
    pub index: i32,
    pub records: Option<Bytes>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionProduceData {
    fn default() -> Self {
        Self { index: 0, records: None, unknown_tags: RawTags::default() }
    }
}

impl PartitionProduceData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let index = r.i32()?;
        let records = r.nullable_bytes(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { index, records, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        w.i32(self.index);
        w.shared_bytes(flex, self.records.as_ref())?;
        w.unknown_tags(flex, &self.unknown_tags, "PartitionProduceData", version)
    }
}

#[cfg(feature = "json")]
impl PartitionProduceData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("index".into(), {
            let v = &self.index;
            (*v).into()
        });
        match &self.records {
            Some(v) => o.insert("recordsSizeInBytes".into(), v.len().into()),
            None => o.insert("records".into(), serde_json::Value::Null),
        };
        serde_json::Value::Object(o)
    }
}

/// `PartitionProduceData` read in place, nothing copied.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct PartitionProduceDataView<'a> {
    pub index: i32,
    pub records: Option<&'a [u8]>,
}

impl Default for PartitionProduceDataView<'_> {
    fn default() -> Self {
        Self { index: 0, records: None }
    }
}

impl<'a> ViewElement<'a> for PartitionProduceDataView<'a> {
    #[inline]
    #[allow(unused_variables)]
    fn read(r: &mut Reader<'a>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let mut m = Self::default();
        m.index = r.i32()?;
        m.records = r.nullable_slice(flex)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(m)
    }

    #[inline]
    #[allow(unused_variables)]
    fn skip(r: &mut Reader<'a>, version: i16) -> Decoded<()> {
        let flex = version >= 9;
        r.skip(4)?;
        let _: Option<&'a [u8]> = r.nullable_slice(flex)?;
        if flex {
            r.skip_tags()?;
        }
        Ok(())
    }
}

impl PartitionProduceDataView<'_> {
    /// Copies everything out. Tagged fields this version does not know are not in a view.
    pub fn owned(&self) -> PartitionProduceData {
        PartitionProduceData {
            index: self.index,
            records: self.records.map(|v| Bytes::copy_from_slice(v)),
            unknown_tags: RawTags::default(),
        }
    }
}

/// `PartitionProduceData` to be written from borrowed parts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionProduceDataRef<'a> {
    pub index: i32,
    pub records: RecordsRef<'a>,
}

impl Default for PartitionProduceDataRef<'_> {
    fn default() -> Self {
        Self { index: 0, records: RecordsRef::Null }
    }
}

impl PartitionProduceDataRef<'_> {
    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        w.i32(self.index);
        w.records(flex, &self.records)?;
        if flex {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for ProduceRequest {
    const NAME: &'static str = "ProduceRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for ProduceRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ProduceRequest {
    const API_KEY: ApiKey = ApiKey(0);
    type Response = super::produce_response::ProduceResponse;
}
