//! InitProducerIdResponse, versions 0 to 6.

use super::prelude::*;

/// `InitProducerIdResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct InitProducerIdResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub ongoing_txn_producer_id: i64,
    pub ongoing_txn_producer_epoch: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for InitProducerIdResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            producer_id: -1,
            producer_epoch: 0,
            ongoing_txn_producer_id: -1,
            ongoing_txn_producer_epoch: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl InitProducerIdResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let ongoing_txn_producer_id = if version >= 6 { r.i64()? } else { -1 };
        let ongoing_txn_producer_epoch = if version >= 6 { r.i16()? } else { -1 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            throttle_time_ms,
            error_code,
            producer_id,
            producer_epoch,
            ongoing_txn_producer_id,
            ongoing_txn_producer_epoch,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        if version >= 6 {
            let mut b = [0; 26];
            b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.producer_id.to_be_bytes());
            b[14..16].copy_from_slice(&self.producer_epoch.to_be_bytes());
            b[16..24].copy_from_slice(&self.ongoing_txn_producer_id.to_be_bytes());
            b[24..26].copy_from_slice(&self.ongoing_txn_producer_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 16];
            b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[6..14].copy_from_slice(&self.producer_id.to_be_bytes());
            b[14..16].copy_from_slice(&self.producer_epoch.to_be_bytes());
            w.raw(&b);
            if self.ongoing_txn_producer_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "InitProducerIdResponse",
                    field: "OngoingTxnProducerId",
                    version,
                });
            }
            if self.ongoing_txn_producer_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "InitProducerIdResponse",
                    field: "OngoingTxnProducerEpoch",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "InitProducerIdResponse", version)
    }
}

#[cfg(feature = "json")]
impl InitProducerIdResponse {
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
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("producerEpoch".into(), {
            let v = &self.producer_epoch;
            (*v).into()
        });
        if version >= 6 {
            o.insert("ongoingTxnProducerId".into(), {
                let v = &self.ongoing_txn_producer_id;
                (*v).into()
            });
        }
        if version >= 6 {
            o.insert("ongoingTxnProducerEpoch".into(), {
                let v = &self.ongoing_txn_producer_epoch;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for InitProducerIdResponse {
    const NAME: &'static str = "InitProducerIdResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for InitProducerIdResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
