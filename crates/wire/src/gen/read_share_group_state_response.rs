//! ReadShareGroupStateResponse, versions 0 to 0.

use super::prelude::*;

/// `ReadShareGroupStateResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReadShareGroupStateResponse {
    pub results: Vec<ReadStateResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ReadShareGroupStateResponse {
    fn default() -> Self {
        Self { results: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl ReadShareGroupStateResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let results = r.vec(true, |r| ReadStateResult::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { results, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.results[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ReadShareGroupStateResponse", version)
    }
}

#[cfg(feature = "json")]
impl ReadShareGroupStateResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("results".into(), {
            let v = &self.results;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ReadStateResult`, part of ReadShareGroupStateResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReadStateResult {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ReadStateResult {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ReadStateResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let partitions = r.vec(true, |r| PartitionResult::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ReadStateResult", version)
    }
}

#[cfg(feature = "json")]
impl ReadStateResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
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

/// `PartitionResult`, part of ReadShareGroupStateResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionResult {
    pub partition: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub state_epoch: i32,
    pub start_offset: i64,
    pub state_batches: Vec<StateBatch>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionResult {
    fn default() -> Self {
        Self {
            partition: 0,
            error_code: ErrorCode(0),
            error_message: None,
            state_epoch: 0,
            start_offset: 0,
            state_batches: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let state_epoch = r.i32()?;
        let start_offset = r.i64()?;
        let state_batches = r.vec(true, |r| StateBatch::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            partition,
            error_code,
            error_message,
            state_epoch,
            start_offset,
            state_batches,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.error_message.as_deref())?;
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.state_epoch.to_be_bytes());
        b[4..12].copy_from_slice(&self.start_offset.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.state_batches[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "PartitionResult", version)
    }
}

#[cfg(feature = "json")]
impl PartitionResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
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
        o.insert("stateEpoch".into(), {
            let v = &self.state_epoch;
            (*v).into()
        });
        o.insert("startOffset".into(), {
            let v = &self.start_offset;
            (*v).into()
        });
        o.insert("stateBatches".into(), {
            let v = &self.state_batches;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `StateBatch`, part of ReadShareGroupStateResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StateBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub delivery_state: i8,
    pub delivery_count: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StateBatch {
    fn default() -> Self {
        Self {
            first_offset: 0,
            last_offset: 0,
            delivery_state: 0,
            delivery_count: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl StateBatch {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let first_offset = r.i64()?;
        let last_offset = r.i64()?;
        let delivery_state = r.i8()?;
        let delivery_count = r.i16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { first_offset, last_offset, delivery_state, delivery_count, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 19];
        b[0..8].copy_from_slice(&self.first_offset.to_be_bytes());
        b[8..16].copy_from_slice(&self.last_offset.to_be_bytes());
        b[16..17].copy_from_slice(&self.delivery_state.to_be_bytes());
        b[17..19].copy_from_slice(&self.delivery_count.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "StateBatch", version)
    }
}

#[cfg(feature = "json")]
impl StateBatch {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("firstOffset".into(), {
            let v = &self.first_offset;
            (*v).into()
        });
        o.insert("lastOffset".into(), {
            let v = &self.last_offset;
            (*v).into()
        });
        o.insert("deliveryState".into(), {
            let v = &self.delivery_state;
            (*v).into()
        });
        o.insert("deliveryCount".into(), {
            let v = &self.delivery_count;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ReadShareGroupStateResponse {
    const NAME: &'static str = "ReadShareGroupStateResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FLEXIBLE_FROM: i16 = 0;
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
impl crate::json::ToJson for ReadShareGroupStateResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
