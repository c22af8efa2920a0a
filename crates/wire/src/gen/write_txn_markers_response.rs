//! WriteTxnMarkersResponse, versions 1 to 2.

use super::prelude::*;

/// `WriteTxnMarkersResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WriteTxnMarkersResponse {
    pub markers: Vec<WritableTxnMarkerResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for WriteTxnMarkersResponse {
    fn default() -> Self {
        Self { markers: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl WriteTxnMarkersResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let markers = r.vec(true, |r| WritableTxnMarkerResult::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { markers, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.markers[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "WriteTxnMarkersResponse", version)
    }
}

#[cfg(feature = "json")]
impl WriteTxnMarkersResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("markers".into(), {
            let v = &self.markers;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `WritableTxnMarkerResult`, part of WriteTxnMarkersResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WritableTxnMarkerResult {
    pub producer_id: i64,
    pub topics: Vec<WritableTxnMarkerTopicResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for WritableTxnMarkerResult {
    fn default() -> Self {
        Self { producer_id: 0, topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl WritableTxnMarkerResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let producer_id = r.i64()?;
        let topics = r.vec(true, |r| WritableTxnMarkerTopicResult::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { producer_id, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i64(self.producer_id);
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "WritableTxnMarkerResult", version)
    }
}

#[cfg(feature = "json")]
impl WritableTxnMarkerResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `WritableTxnMarkerTopicResult`, part of WriteTxnMarkersResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WritableTxnMarkerTopicResult {
    pub name: String,
    pub partitions: Vec<WritableTxnMarkerPartitionResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for WritableTxnMarkerTopicResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl WritableTxnMarkerTopicResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let partitions = r.vec(true, |r| WritableTxnMarkerPartitionResult::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "WritableTxnMarkerTopicResult", version)
    }
}

#[cfg(feature = "json")]
impl WritableTxnMarkerTopicResult {
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

/// `WritableTxnMarkerPartitionResult`, part of WriteTxnMarkersResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WritableTxnMarkerPartitionResult {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for WritableTxnMarkerPartitionResult {
    fn default() -> Self {
        Self { partition_index: 0, error_code: ErrorCode(0), unknown_tags: RawTags::default() }
    }
}

impl WritableTxnMarkerPartitionResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { partition_index, error_code, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "WritableTxnMarkerPartitionResult", version)
    }
}

#[cfg(feature = "json")]
impl WritableTxnMarkerPartitionResult {
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
        serde_json::Value::Object(o)
    }
}

impl Message for WriteTxnMarkersResponse {
    const NAME: &'static str = "WriteTxnMarkersResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FLEXIBLE_FROM: i16 = 1;
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
impl crate::json::ToJson for WriteTxnMarkersResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
