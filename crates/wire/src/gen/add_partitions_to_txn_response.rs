//! AddPartitionsToTxnResponse, versions 0 to 5.

use super::prelude::*;

/// `AddPartitionsToTxnResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AddPartitionsToTxnResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AddPartitionsToTxnResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            results_by_transaction: Default::default(),
            results_by_topic_v3_and_below: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AddPartitionsToTxnResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let throttle_time_ms = r.i32()?;
        let error_code = if version >= 4 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let results_by_transaction = if version >= 4 {
            r.vec(flex, |r| AddPartitionsToTxnResult::read(r, version))?
        } else {
            Default::default()
        };
        let results_by_topic_v3_and_below = if version <= 3 {
            r.vec(flex, |r| AddPartitionsToTxnTopicResult::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            throttle_time_ms,
            error_code,
            results_by_transaction,
            results_by_topic_v3_and_below,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 4 {
            let mut b = [0; 6];
            b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.throttle_time_ms);
        }
        if version >= 4 {
            w.array(flex, Some(&self.results_by_transaction[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.results_by_transaction.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnResponse",
                    field: "ResultsByTransaction",
                    version,
                });
            }
        }
        if version <= 3 {
            w.array(flex, Some(&self.results_by_topic_v3_and_below[..]), |w, v| {
                v.write(w, version)
            })?;
        } else {
            if !self.results_by_topic_v3_and_below.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnResponse",
                    field: "ResultsByTopicV3AndBelow",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "AddPartitionsToTxnResponse", version)
    }
}

#[cfg(feature = "json")]
impl AddPartitionsToTxnResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        if version >= 4 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        if version >= 4 {
            o.insert("resultsByTransaction".into(), {
                let v = &self.results_by_transaction;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if version <= 3 {
            o.insert("resultsByTopicV3AndBelow".into(), {
                let v = &self.results_by_topic_v3_and_below;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `AddPartitionsToTxnResult`, part of AddPartitionsToTxnResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AddPartitionsToTxnResult {
    pub transactional_id: String,
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AddPartitionsToTxnResult {
    fn default() -> Self {
        Self {
            transactional_id: String::new(),
            topic_results: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AddPartitionsToTxnResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let transactional_id = if version >= 4 { r.string(flex)? } else { String::new() };
        let topic_results = if version >= 4 {
            r.vec(flex, |r| AddPartitionsToTxnTopicResult::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { transactional_id, topic_results, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 4 {
            w.string(flex, &self.transactional_id)?;
        } else {
            if !self.transactional_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnResult",
                    field: "TransactionalId",
                    version,
                });
            }
        }
        if version >= 4 {
            w.array(flex, Some(&self.topic_results[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.topic_results.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "AddPartitionsToTxnResult",
                    field: "TopicResults",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "AddPartitionsToTxnResult", version)
    }
}

#[cfg(feature = "json")]
impl AddPartitionsToTxnResult {
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
            o.insert("topicResults".into(), {
                let v = &self.topic_results;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `AddPartitionsToTxnTopicResult`, part of AddPartitionsToTxnResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AddPartitionsToTxnTopicResult {
    pub name: String,
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AddPartitionsToTxnTopicResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            results_by_partition: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AddPartitionsToTxnTopicResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let name = r.string(flex)?;
        let results_by_partition =
            r.vec(flex, |r| AddPartitionsToTxnPartitionResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, results_by_partition, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        w.string(flex, &self.name)?;
        w.array(flex, Some(&self.results_by_partition[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "AddPartitionsToTxnTopicResult", version)
    }
}

#[cfg(feature = "json")]
impl AddPartitionsToTxnTopicResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("resultsByPartition".into(), {
            let v = &self.results_by_partition;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AddPartitionsToTxnPartitionResult`, part of AddPartitionsToTxnResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AddPartitionsToTxnPartitionResult {
    pub partition_index: i32,
    pub partition_error_code: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AddPartitionsToTxnPartitionResult {
    fn default() -> Self {
        Self { partition_index: 0, partition_error_code: 0, unknown_tags: RawTags::default() }
    }
}

impl AddPartitionsToTxnPartitionResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let partition_index = r.i32()?;
        let partition_error_code = r.i16()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, partition_error_code, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.partition_error_code.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "AddPartitionsToTxnPartitionResult", version)
    }
}

#[cfg(feature = "json")]
impl AddPartitionsToTxnPartitionResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("partitionErrorCode".into(), {
            let v = &self.partition_error_code;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AddPartitionsToTxnResponse {
    const NAME: &'static str = "AddPartitionsToTxnResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for AddPartitionsToTxnResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
