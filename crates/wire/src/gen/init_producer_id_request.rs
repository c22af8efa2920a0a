//! InitProducerIdRequest, versions 0 to 6.

use super::prelude::*;

/// `InitProducerIdRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct InitProducerIdRequest {
    pub transactional_id: Option<String>,
    pub transaction_timeout_ms: i32,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub enable2_pc: bool,
    pub keep_prepared_txn: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for InitProducerIdRequest {
    fn default() -> Self {
        Self {
            transactional_id: Some(String::new()),
            transaction_timeout_ms: 0,
            producer_id: -1,
            producer_epoch: -1,
            enable2_pc: false,
            keep_prepared_txn: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl InitProducerIdRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let transactional_id = r.nullable_string(flex)?;
        let transaction_timeout_ms = r.i32()?;
        let producer_id = if version >= 3 { r.i64()? } else { -1 };
        let producer_epoch = if version >= 3 { r.i16()? } else { -1 };
        let enable2_pc = if version >= 6 { r.bool()? } else { false };
        let keep_prepared_txn = if version >= 6 { r.bool()? } else { false };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            transactional_id,
            transaction_timeout_ms,
            producer_id,
            producer_epoch,
            enable2_pc,
            keep_prepared_txn,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.nullable_string(flex, self.transactional_id.as_deref())?;
        if version >= 3 {
            let mut b = [0; 14];
            b[0..4].copy_from_slice(&self.transaction_timeout_ms.to_be_bytes());
            b[4..12].copy_from_slice(&self.producer_id.to_be_bytes());
            b[12..14].copy_from_slice(&self.producer_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.transaction_timeout_ms);
            if self.producer_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "InitProducerIdRequest",
                    field: "ProducerId",
                    version,
                });
            }
            if self.producer_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "InitProducerIdRequest",
                    field: "ProducerEpoch",
                    version,
                });
            }
        }
        if version >= 6 {
            let mut b = [0; 2];
            b[0..1].copy_from_slice(&[u8::from(self.enable2_pc)]);
            b[1..2].copy_from_slice(&[u8::from(self.keep_prepared_txn)]);
            w.raw(&b);
        } else {
            if self.enable2_pc {
                return Err(EncodeError::NotInVersion {
                    message: "InitProducerIdRequest",
                    field: "Enable2Pc",
                    version,
                });
            }
            if self.keep_prepared_txn {
                return Err(EncodeError::NotInVersion {
                    message: "InitProducerIdRequest",
                    field: "KeepPreparedTxn",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "InitProducerIdRequest", version)
    }
}

#[cfg(feature = "json")]
impl InitProducerIdRequest {
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
        o.insert("transactionTimeoutMs".into(), {
            let v = &self.transaction_timeout_ms;
            (*v).into()
        });
        if version >= 3 {
            o.insert("producerId".into(), {
                let v = &self.producer_id;
                (*v).into()
            });
        }
        if version >= 3 {
            o.insert("producerEpoch".into(), {
                let v = &self.producer_epoch;
                (*v).into()
            });
        }
        if version >= 6 {
            o.insert("enable2Pc".into(), {
                let v = &self.enable2_pc;
                (*v).into()
            });
        }
        if version >= 6 {
            o.insert("keepPreparedTxn".into(), {
                let v = &self.keep_prepared_txn;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for InitProducerIdRequest {
    const NAME: &'static str = "InitProducerIdRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for InitProducerIdRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for InitProducerIdRequest {
    const API_KEY: ApiKey = ApiKey(22);
    type Response = super::init_producer_id_response::InitProducerIdResponse;
}
