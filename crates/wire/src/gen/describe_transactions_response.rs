//! DescribeTransactionsResponse, versions 0 to 0.

use super::prelude::*;

/// `DescribeTransactionsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeTransactionsResponse {
    pub throttle_time_ms: i32,
    pub transaction_states: Vec<TransactionState>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeTransactionsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            transaction_states: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeTransactionsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let transaction_states = r.vec(true, |r| TransactionState::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, transaction_states, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.throttle_time_ms);
        w.array(true, Some(&self.transaction_states[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeTransactionsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeTransactionsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("transactionStates".into(), {
            let v = &self.transaction_states;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TransactionState`, part of DescribeTransactionsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TransactionState {
    pub error_code: ErrorCode,
    pub transactional_id: String,
    pub transaction_state: String,
    pub transaction_timeout_ms: i32,
    pub transaction_start_time_ms: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub topics: Vec<TopicData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TransactionState {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            transactional_id: String::new(),
            transaction_state: String::new(),
            transaction_timeout_ms: 0,
            transaction_start_time_ms: 0,
            producer_id: 0,
            producer_epoch: 0,
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TransactionState {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let error_code = ErrorCode(r.i16()?);
        let transactional_id = r.string(true)?;
        let transaction_state = r.string(true)?;
        let transaction_timeout_ms = r.i32()?;
        let transaction_start_time_ms = r.i64()?;
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let topics = r.vec(true, |r| TopicData::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            error_code,
            transactional_id,
            transaction_state,
            transaction_timeout_ms,
            transaction_start_time_ms,
            producer_id,
            producer_epoch,
            topics,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i16(self.error_code.0);
        w.string(true, &self.transactional_id)?;
        w.string(true, &self.transaction_state)?;
        let mut b = [0; 22];
        b[0..4].copy_from_slice(&self.transaction_timeout_ms.to_be_bytes());
        b[4..12].copy_from_slice(&self.transaction_start_time_ms.to_be_bytes());
        b[12..20].copy_from_slice(&self.producer_id.to_be_bytes());
        b[20..22].copy_from_slice(&self.producer_epoch.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "TransactionState", version)
    }
}

#[cfg(feature = "json")]
impl TransactionState {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("transactionalId".into(), {
            let v = &self.transactional_id;
            v.as_str().into()
        });
        o.insert("transactionState".into(), {
            let v = &self.transaction_state;
            v.as_str().into()
        });
        o.insert("transactionTimeoutMs".into(), {
            let v = &self.transaction_timeout_ms;
            (*v).into()
        });
        o.insert("transactionStartTimeMs".into(), {
            let v = &self.transaction_start_time_ms;
            (*v).into()
        });
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("producerEpoch".into(), {
            let v = &self.producer_epoch;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicData`, part of DescribeTransactionsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicData {
    pub topic: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicData {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic = r.string(true)?;
        let partitions = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic)?;
        w.array(true, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "TopicData", version)
    }
}

#[cfg(feature = "json")]
impl TopicData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topic".into(), {
            let v = &self.topic;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeTransactionsResponse {
    const NAME: &'static str = "DescribeTransactionsResponse";
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
impl crate::json::ToJson for DescribeTransactionsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
