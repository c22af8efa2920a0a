//! ElectLeadersResponse, versions 0 to 2.

use super::prelude::*;

/// `ElectLeadersResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ElectLeadersResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub replica_election_results: Vec<ReplicaElectionResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ElectLeadersResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            replica_election_results: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ElectLeadersResponse {
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let mut m = Self::default();
        m.throttle_time_ms = r.i32()?;
        if version >= 1 {
            m.error_code = ErrorCode(r.i16()?);
        }
        m.replica_election_results = r.vec(flex, |r| ReplicaElectionResult::read(r, version))?;
        if flex {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        if version >= 1 {
            let mut b = [0; 6];
            b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.throttle_time_ms);
            if self.error_code != ErrorCode(0) {
                return Err(EncodeError::NotInVersion {
                    message: "ElectLeadersResponse",
                    field: "ErrorCode",
                    version,
                });
            }
        }
        w.array(flex, Some(&self.replica_election_results[..]), |w, v| v.write(w, version))?;
        if flex {
            w.raw_tags(&self.unknown_tags)?;
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "ElectLeadersResponse",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl ElectLeadersResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        if version >= 1 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        o.insert("replicaElectionResults".into(), {
            let v = &self.replica_election_results;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ReplicaElectionResult`, part of ElectLeadersResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReplicaElectionResult {
    pub topic: String,
    pub partition_result: Vec<PartitionResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ReplicaElectionResult {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partition_result: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ReplicaElectionResult {
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let mut m = Self::default();
        m.topic = r.string(flex)?;
        m.partition_result = r.vec(flex, |r| PartitionResult::read(r, version))?;
        if flex {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.topic)?;
        w.array(flex, Some(&self.partition_result[..]), |w, v| v.write(w, version))?;
        if flex {
            w.raw_tags(&self.unknown_tags)?;
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "ReplicaElectionResult",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl ReplicaElectionResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topic".into(), {
            let v = &self.topic;
            v.as_str().into()
        });
        o.insert("partitionResult".into(), {
            let v = &self.partition_result;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `PartitionResult`, part of ElectLeadersResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionResult {
    pub partition_id: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionResult {
    fn default() -> Self {
        Self {
            partition_id: 0,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionResult {
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let mut m = Self::default();
        m.partition_id = r.i32()?;
        m.error_code = ErrorCode(r.i16()?);
        m.error_message = r.nullable_string(flex)?;
        if flex {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_id.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(flex, self.error_message.as_deref())?;
        if flex {
            w.raw_tags(&self.unknown_tags)?;
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "PartitionResult",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl PartitionResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionId".into(), {
            let v = &self.partition_id;
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

impl Message for ElectLeadersResponse {
    const NAME: &'static str = "ElectLeadersResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
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
impl crate::json::ToJson for ElectLeadersResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
