//! TransactionLogValue, versions 0 to 1.

use super::prelude::*;

/// `TransactionLogValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TransactionLogValue {
    pub producer_id: i64,
    pub previous_producer_id: i64,
    pub next_producer_id: i64,
    pub producer_epoch: i16,
    pub next_producer_epoch: i16,
    pub transaction_timeout_ms: i32,
    pub transaction_status: i8,
    pub transaction_partitions: Option<Vec<PartitionsSchema>>,
    pub transaction_last_update_timestamp_ms: i64,
    pub transaction_start_timestamp_ms: i64,
    pub client_transaction_version: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TransactionLogValue {
    fn default() -> Self {
        Self {
            producer_id: 0,
            previous_producer_id: -1,
            next_producer_id: -1,
            producer_epoch: 0,
            next_producer_epoch: -1,
            transaction_timeout_ms: 0,
            transaction_status: 0,
            transaction_partitions: Some(Default::default()),
            transaction_last_update_timestamp_ms: 0,
            transaction_start_timestamp_ms: 0,
            client_transaction_version: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl TransactionLogValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let transaction_timeout_ms = r.i32()?;
        let transaction_status = r.i8()?;
        let transaction_partitions =
            r.nullable_vec(flex, |r| PartitionsSchema::read(r, version))?;
        let transaction_last_update_timestamp_ms = r.i64()?;
        let transaction_start_timestamp_ms = r.i64()?;
        let mut previous_producer_id = -1;
        let mut next_producer_id = -1;
        let mut next_producer_epoch = -1;
        let mut client_transaction_version = 0;
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        previous_producer_id = r.i64()?;
                    }
                    1 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        next_producer_id = r.i64()?;
                    }
                    3 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 3, version });
                        }
                        next_producer_epoch = r.i16()?;
                    }
                    2 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 2, version });
                        }
                        client_transaction_version = r.i16()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            producer_id,
            previous_producer_id,
            next_producer_id,
            producer_epoch,
            next_producer_epoch,
            transaction_timeout_ms,
            transaction_status,
            transaction_partitions,
            transaction_last_update_timestamp_ms,
            transaction_start_timestamp_ms,
            client_transaction_version,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        let mut b = [0; 15];
        b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
        b[8..10].copy_from_slice(&self.producer_epoch.to_be_bytes());
        b[10..14].copy_from_slice(&self.transaction_timeout_ms.to_be_bytes());
        b[14..15].copy_from_slice(&self.transaction_status.to_be_bytes());
        w.raw(&b);
        w.array(flex, self.transaction_partitions.as_deref(), |w, v| v.write(w, version))?;
        let mut b = [0; 16];
        b[0..8].copy_from_slice(&self.transaction_last_update_timestamp_ms.to_be_bytes());
        b[8..16].copy_from_slice(&self.transaction_start_timestamp_ms.to_be_bytes());
        w.raw(&b);
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 1 && self.previous_producer_id != -1;
            count += usize::from(tag_0);
            let tag_1 = version >= 1 && self.next_producer_id != -1;
            count += usize::from(tag_1);
            let tag_2 = version >= 1 && self.client_transaction_version != 0;
            count += usize::from(tag_2);
            let tag_3 = version >= 1 && self.next_producer_epoch != -1;
            count += usize::from(tag_3);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.i64(self.previous_producer_id);
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(1), &mut raw)?;
                if tag_1 {
                    let at = w.begin_tag(1);
                    w.i64(self.next_producer_id);
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(2), &mut raw)?;
                if tag_2 {
                    let at = w.begin_tag(2);
                    w.i16(self.client_transaction_version);
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(3), &mut raw)?;
                if tag_3 {
                    let at = w.begin_tag(3);
                    w.i16(self.next_producer_epoch);
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "TransactionLogValue",
                field: "unknown_tags",
                version,
            });
        }
        if !(version >= 1) {
            if self.previous_producer_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "TransactionLogValue",
                    field: "PreviousProducerId",
                    version,
                });
            }
        }
        if !(version >= 1) {
            if self.next_producer_id != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "TransactionLogValue",
                    field: "NextProducerId",
                    version,
                });
            }
        }
        if !(version >= 1) {
            if self.client_transaction_version != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "TransactionLogValue",
                    field: "ClientTransactionVersion",
                    version,
                });
            }
        }
        if !(version >= 1) {
            if self.next_producer_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "TransactionLogValue",
                    field: "NextProducerEpoch",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TransactionLogValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        if version >= 1 {
            if self.previous_producer_id != -1 {
                o.insert("previousProducerId".into(), {
                    let v = &self.previous_producer_id;
                    (*v).into()
                });
            }
        }
        if version >= 1 {
            if self.next_producer_id != -1 {
                o.insert("nextProducerId".into(), {
                    let v = &self.next_producer_id;
                    (*v).into()
                });
            }
        }
        o.insert("producerEpoch".into(), {
            let v = &self.producer_epoch;
            (*v).into()
        });
        if version >= 1 {
            if self.next_producer_epoch != -1 {
                o.insert("nextProducerEpoch".into(), {
                    let v = &self.next_producer_epoch;
                    (*v).into()
                });
            }
        }
        o.insert("transactionTimeoutMs".into(), {
            let v = &self.transaction_timeout_ms;
            (*v).into()
        });
        o.insert("transactionStatus".into(), {
            let v = &self.transaction_status;
            (*v).into()
        });
        o.insert(
            "transactionPartitions".into(),
            match &self.transaction_partitions {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert("transactionLastUpdateTimestampMs".into(), {
            let v = &self.transaction_last_update_timestamp_ms;
            (*v).into()
        });
        o.insert("transactionStartTimestampMs".into(), {
            let v = &self.transaction_start_timestamp_ms;
            (*v).into()
        });
        if version >= 1 {
            if self.client_transaction_version != 0 {
                o.insert("clientTransactionVersion".into(), {
                    let v = &self.client_transaction_version;
                    (*v).into()
                });
            }
        }
        serde_json::Value::Object(o)
    }
}

/// `PartitionsSchema`, part of TransactionLogValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionsSchema {
    pub topic: String,
    pub partition_ids: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionsSchema {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partition_ids: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionsSchema {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let topic = r.string(flex)?;
        let partition_ids = r.vec(flex, |r| r.i32())?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic, partition_ids, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.string(flex, &self.topic)?;
        w.array(flex, Some(&self.partition_ids[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(flex, &self.unknown_tags, "PartitionsSchema", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl PartitionsSchema {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topic".into(), {
            let v = &self.topic;
            v.as_str().into()
        });
        o.insert("partitionIds".into(), {
            let v = &self.partition_ids;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for TransactionLogValue {
    const NAME: &'static str = "TransactionLogValue";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
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

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for TransactionLogValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl TransactionLogValue {
    /// Number of this record type.
    pub const KEY: i16 = 0;
}
