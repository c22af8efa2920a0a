//! AddPartitionsToTxnRequest, versions 0 to 5.

use super::prelude::*;

/// `AddPartitionsToTxnRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AddPartitionsToTxnRequest {
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    pub v3_and_below_transactional_id: String,
    pub v3_and_below_producer_id: i64,
    pub v3_and_below_producer_epoch: i16,
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AddPartitionsToTxnRequest {
    fn default() -> Self {
        Self {
            transactions: Default::default(),
            v3_and_below_transactional_id: String::new(),
            v3_and_below_producer_id: 0,
            v3_and_below_producer_epoch: 0,
            v3_and_below_topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AddPartitionsToTxnRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let transactions = if version >= 4 {
            r.vec(flex, |r| AddPartitionsToTxnTransaction::read(r, version))?
        } else {
            Default::default()
        };
        let v3_and_below_transactional_id =
            if version <= 3 { r.string(flex)? } else { String::new() };
        let v3_and_below_producer_id = if version <= 3 { r.i64()? } else { 0 };
        let v3_and_below_producer_epoch = if version <= 3 { r.i16()? } else { 0 };
        let v3_and_below_topics = if version <= 3 {
            r.vec(flex, |r| AddPartitionsToTxnTopic::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            transactions,
            v3_and_below_transactional_id,
            v3_and_below_producer_id,
            v3_and_below_producer_epoch,
            v3_and_below_topics,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 4 {
            w.array(flex, Some(&self.transactions[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.transactions.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnRequest",
                    field: "Transactions",
                    version,
                });
            }
        }
        if version <= 3 {
            w.string(flex, &self.v3_and_below_transactional_id)?;
        } else {
            if !self.v3_and_below_transactional_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnRequest",
                    field: "V3AndBelowTransactionalId",
                    version,
                });
            }
        }
        if version <= 3 {
            let mut b = [0; 10];
            b[0..8].copy_from_slice(&self.v3_and_below_producer_id.to_be_bytes());
            b[8..10].copy_from_slice(&self.v3_and_below_producer_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            if self.v3_and_below_producer_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnRequest",
                    field: "V3AndBelowProducerId",
                    version,
                });
            }
            if self.v3_and_below_producer_epoch != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnRequest",
                    field: "V3AndBelowProducerEpoch",
                    version,
                });
            }
        }
        if version <= 3 {
            w.array(flex, Some(&self.v3_and_below_topics[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.v3_and_below_topics.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnRequest",
                    field: "V3AndBelowTopics",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "AddPartitionsToTxnRequest", version)
    }
}

#[cfg(feature = "json")]
impl AddPartitionsToTxnRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 4 {
            o.insert("transactions".into(), {
                let v = &self.transactions;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if version <= 3 {
            o.insert("v3AndBelowTransactionalId".into(), {
                let v = &self.v3_and_below_transactional_id;
                v.as_str().into()
            });
        }
        if version <= 3 {
            o.insert("v3AndBelowProducerId".into(), {
                let v = &self.v3_and_below_producer_id;
                (*v).into()
            });
        }
        if version <= 3 {
            o.insert("v3AndBelowProducerEpoch".into(), {
                let v = &self.v3_and_below_producer_epoch;
                (*v).into()
            });
        }
        if version <= 3 {
            o.insert("v3AndBelowTopics".into(), {
                let v = &self.v3_and_below_topics;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `AddPartitionsToTxnTransaction`, part of AddPartitionsToTxnRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AddPartitionsToTxnTransaction {
    pub transactional_id: String,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub verify_only: bool,
    pub topics: Vec<AddPartitionsToTxnTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AddPartitionsToTxnTransaction {
    fn default() -> Self {
        Self {
            transactional_id: String::new(),
            producer_id: 0,
            producer_epoch: 0,
            verify_only: false,
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AddPartitionsToTxnTransaction {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let transactional_id = if version >= 4 { r.string(flex)? } else { String::new() };
        let producer_id = if version >= 4 { r.i64()? } else { 0 };
        let producer_epoch = if version >= 4 { r.i16()? } else { 0 };
        let verify_only = if version >= 4 { r.bool()? } else { false };
        let topics = if version >= 4 {
            r.vec(flex, |r| AddPartitionsToTxnTopic::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            transactional_id,
            producer_id,
            producer_epoch,
            verify_only,
            topics,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 4 {
            w.string(flex, &self.transactional_id)?;
        } else {
            if !self.transactional_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnTransaction",
                    field: "TransactionalId",
                    version,
                });
            }
        }
        if version >= 4 {
            let mut b = [0; 11];
            b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
            b[8..10].copy_from_slice(&self.producer_epoch.to_be_bytes());
            b[10..11].copy_from_slice(&[u8::from(self.verify_only)]);
            w.raw(&b);
        } else {
            if self.producer_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnTransaction",
                    field: "ProducerId",
                    version,
                });
            }
            if self.producer_epoch != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnTransaction",
                    field: "ProducerEpoch",
                    version,
                });
            }
            if self.verify_only {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnTransaction",
                    field: "VerifyOnly",
                    version,
                });
            }
        }
        if version >= 4 {
            w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.topics.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnTransaction",
                    field: "Topics",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "AddPartitionsToTxnTransaction", version)
    }
}

#[cfg(feature = "json")]
impl AddPartitionsToTxnTransaction {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 4 {
            o.insert("transactionalId".into(), {
                let v = &self.transactional_id;
                v.as_str().into()
            });
        }
        if version >= 4 {
            o.insert("producerId".into(), {
                let v = &self.producer_id;
                (*v).into()
            });
        }
        if version >= 4 {
            o.insert("producerEpoch".into(), {
                let v = &self.producer_epoch;
                (*v).into()
            });
        }
        if version >= 4 {
            o.insert("verifyOnly".into(), {
                let v = &self.verify_only;
                (*v).into()
            });
        }
        if version >= 4 {
            o.insert("topics".into(), {
                let v = &self.topics;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `AddPartitionsToTxnTopic`, part of AddPartitionsToTxnRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AddPartitionsToTxnTopic {
    pub name: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AddPartitionsToTxnTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AddPartitionsToTxnTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let name = r.string(flex)?;
        let partitions = r.vec(flex, |r| r.i32())?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        w.string(flex, &self.name)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(flex, &self.unknown_tags, "AddPartitionsToTxnTopic", version)
    }
}

#[cfg(feature = "json")]
impl AddPartitionsToTxnTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AddPartitionsToTxnRequest {
    const NAME: &'static str = "AddPartitionsToTxnRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FLEXIBLE_FROM: i16 = 3;
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
impl crate::json::ToJson for AddPartitionsToTxnRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AddPartitionsToTxnRequest {
    const API_KEY: ApiKey = ApiKey(24);
    type Response = super::add_partitions_to_txn_response::AddPartitionsToTxnResponse;
}
