//! AlterPartitionReassignmentsResponse, versions 0 to 1.

use super::prelude::*;

/// `AlterPartitionReassignmentsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterPartitionReassignmentsResponse {
    pub throttle_time_ms: i32,
    pub allow_replication_factor_change: bool,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub responses: Vec<ReassignableTopicResponse>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterPartitionReassignmentsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            allow_replication_factor_change: true,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            responses: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterPartitionReassignmentsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let allow_replication_factor_change = if version >= 1 { r.bool()? } else { true };
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let responses = r.vec(true, |r| ReassignableTopicResponse::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            throttle_time_ms,
            allow_replication_factor_change,
            error_code,
            error_message,
            responses,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            let mut b = [0; 5];
            b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
            b[4..5].copy_from_slice(&[u8::from(self.allow_replication_factor_change)]);
            w.raw(&b);
        } else {
            w.i32(self.throttle_time_ms);
        }
        w.i16(self.error_code.0);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.array(true, Some(&self.responses[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "AlterPartitionReassignmentsResponse", version)
    }
}

#[cfg(feature = "json")]
impl AlterPartitionReassignmentsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        if version >= 1 {
            o.insert("allowReplicationFactorChange".into(), {
                let v = &self.allow_replication_factor_change;
                (*v).into()
            });
        }
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
        o.insert("responses".into(), {
            let v = &self.responses;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ReassignableTopicResponse`, part of AlterPartitionReassignmentsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReassignableTopicResponse {
    pub name: String,
    pub partitions: Vec<ReassignablePartitionResponse>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ReassignableTopicResponse {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ReassignableTopicResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let partitions = r.vec(true, |r| ReassignablePartitionResponse::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ReassignableTopicResponse", version)
    }
}

#[cfg(feature = "json")]
impl ReassignableTopicResponse {
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

/// `ReassignablePartitionResponse`, part of AlterPartitionReassignmentsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReassignablePartitionResponse {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ReassignablePartitionResponse {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ReassignablePartitionResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { partition_index, error_code, error_message, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.unknown_tags(true, &self.unknown_tags, "ReassignablePartitionResponse", version)
    }
}

#[cfg(feature = "json")]
impl ReassignablePartitionResponse {
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
        serde_json::Value::Object(o)
    }
}

impl Message for AlterPartitionReassignmentsResponse {
    const NAME: &'static str = "AlterPartitionReassignmentsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
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
impl crate::json::ToJson for AlterPartitionReassignmentsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
