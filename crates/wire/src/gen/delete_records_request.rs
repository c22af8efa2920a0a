//! DeleteRecordsRequest, versions 0 to 2.

use super::prelude::*;

/// `DeleteRecordsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteRecordsRequest {
    pub topics: Vec<DeleteRecordsTopic>,
    pub timeout_ms: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteRecordsRequest {
    fn default() -> Self {
        Self { topics: Default::default(), timeout_ms: 0, unknown_tags: RawTags::default() }
    }
}

impl DeleteRecordsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let topics = r.vec(flex, |r| DeleteRecordsTopic::read(r, version))?;
        let timeout_ms = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topics, timeout_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.i32(self.timeout_ms);
        w.unknown_tags(flex, &self.unknown_tags, "DeleteRecordsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DeleteRecordsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("timeoutMs".into(), {
            let v = &self.timeout_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `DeleteRecordsTopic`, part of DeleteRecordsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteRecordsTopic {
    pub name: String,
    pub partitions: Vec<DeleteRecordsPartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteRecordsTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DeleteRecordsTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let name = r.string(flex)?;
        let partitions = r.vec(flex, |r| DeleteRecordsPartition::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.name)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DeleteRecordsTopic", version)
    }
}

#[cfg(feature = "json")]
impl DeleteRecordsTopic {
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

/// `DeleteRecordsPartition`, part of DeleteRecordsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteRecordsPartition {
    pub partition_index: i32,
    pub offset: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteRecordsPartition {
    fn default() -> Self {
        Self { partition_index: 0, offset: 0, unknown_tags: RawTags::default() }
    }
}

impl DeleteRecordsPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let partition_index = r.i32()?;
        let offset = r.i64()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, offset, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..12].copy_from_slice(&self.offset.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "DeleteRecordsPartition", version)
    }
}

#[cfg(feature = "json")]
impl DeleteRecordsPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("offset".into(), {
            let v = &self.offset;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DeleteRecordsRequest {
    const NAME: &'static str = "DeleteRecordsRequest";
    const MIN_VERSION: i16 = 0;
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for DeleteRecordsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DeleteRecordsRequest {
    const API_KEY: ApiKey = ApiKey(21);
    type Response = super::delete_records_response::DeleteRecordsResponse;
}
