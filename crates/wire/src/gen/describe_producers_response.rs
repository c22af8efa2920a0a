//! DescribeProducersResponse, versions 0 to 0.

use super::prelude::*;

/// `DescribeProducersResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeProducersResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<TopicResponse>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeProducersResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl DescribeProducersResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let topics = r.vec(true, |r| TopicResponse::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.throttle_time_ms);
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeProducersResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeProducersResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicResponse`, part of DescribeProducersResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicResponse {
    pub name: String,
    pub partitions: Vec<PartitionResponse>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicResponse {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let partitions = r.vec(true, |r| PartitionResponse::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "TopicResponse", version)
    }
}

#[cfg(feature = "json")]
impl TopicResponse {
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

/// `PartitionResponse`, part of DescribeProducersResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionResponse {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub active_producers: Vec<ProducerState>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionResponse {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode(0),
            error_message: None,
            active_producers: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let active_producers = r.vec(true, |r| ProducerState::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { partition_index, error_code, error_message, active_producers, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.array(true, Some(&self.active_producers[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "PartitionResponse", version)
    }
}

#[cfg(feature = "json")]
impl PartitionResponse {
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
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("activeProducers".into(), {
            let v = &self.active_producers;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ProducerState`, part of DescribeProducersResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ProducerState {
    pub producer_id: i64,
    pub producer_epoch: i32,
    pub last_sequence: i32,
    pub last_timestamp: i64,
    pub coordinator_epoch: i32,
    pub current_txn_start_offset: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ProducerState {
    fn default() -> Self {
        Self {
            producer_id: 0,
            producer_epoch: 0,
            last_sequence: -1,
            last_timestamp: -1,
            coordinator_epoch: 0,
            current_txn_start_offset: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ProducerState {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let producer_id = r.i64()?;
        let producer_epoch = r.i32()?;
        let last_sequence = r.i32()?;
        let last_timestamp = r.i64()?;
        let coordinator_epoch = r.i32()?;
        let current_txn_start_offset = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            producer_id,
            producer_epoch,
            last_sequence,
            last_timestamp,
            coordinator_epoch,
            current_txn_start_offset,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 36];
        b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
        b[8..12].copy_from_slice(&self.producer_epoch.to_be_bytes());
        b[12..16].copy_from_slice(&self.last_sequence.to_be_bytes());
        b[16..24].copy_from_slice(&self.last_timestamp.to_be_bytes());
        b[24..28].copy_from_slice(&self.coordinator_epoch.to_be_bytes());
        b[28..36].copy_from_slice(&self.current_txn_start_offset.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "ProducerState", version)
    }
}

#[cfg(feature = "json")]
impl ProducerState {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("producerEpoch".into(), {
            let v = &self.producer_epoch;
            (*v).into()
        });
        o.insert("lastSequence".into(), {
            let v = &self.last_sequence;
            (*v).into()
        });
        o.insert("lastTimestamp".into(), {
            let v = &self.last_timestamp;
            (*v).into()
        });
        o.insert("coordinatorEpoch".into(), {
            let v = &self.coordinator_epoch;
            (*v).into()
        });
        o.insert("currentTxnStartOffset".into(), {
            let v = &self.current_txn_start_offset;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeProducersResponse {
    const NAME: &'static str = "DescribeProducersResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for DescribeProducersResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
