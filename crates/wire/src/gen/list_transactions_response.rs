//! ListTransactionsResponse, versions 0 to 2.

use super::prelude::*;

/// `ListTransactionsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListTransactionsResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub unknown_state_filters: Vec<String>,
    pub transaction_states: Vec<TransactionState>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListTransactionsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            unknown_state_filters: Default::default(),
            transaction_states: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListTransactionsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let unknown_state_filters = r.vec(true, |r| r.string(true))?;
        let transaction_states = r.vec(true, |r| TransactionState::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            unknown_state_filters,
            transaction_states,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.unknown_state_filters[..]), |w, v| w.string(true, v))?;
        w.array(true, Some(&self.transaction_states[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ListTransactionsResponse", version)
    }
}

#[cfg(feature = "json")]
impl ListTransactionsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("unknownStateFilters".into(), {
            let v = &self.unknown_state_filters;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("transactionStates".into(), {
            let v = &self.transaction_states;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TransactionState`, part of ListTransactionsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TransactionState {
    pub transactional_id: String,
    pub producer_id: i64,
    pub transaction_state: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TransactionState {
    fn default() -> Self {
        Self {
            transactional_id: String::new(),
            producer_id: 0,
            transaction_state: String::new(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TransactionState {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let transactional_id = r.string(true)?;
        let producer_id = r.i64()?;
        let transaction_state = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { transactional_id, producer_id, transaction_state, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.transactional_id)?;
        w.i64(self.producer_id);
        w.string(true, &self.transaction_state)?;
        w.unknown_tags(true, &self.unknown_tags, "TransactionState", version)
    }
}

#[cfg(feature = "json")]
impl TransactionState {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("transactionalId".into(), {
            let v = &self.transactional_id;
            v.as_str().into()
        });
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("transactionState".into(), {
            let v = &self.transaction_state;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ListTransactionsResponse {
    const NAME: &'static str = "ListTransactionsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
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
impl crate::json::ToJson for ListTransactionsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
