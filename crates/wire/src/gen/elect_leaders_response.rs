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
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let throttle_time_ms = r.i32()?;
        let error_code = if version >= 1 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let replica_election_results = r.vec(flex, |r| ReplicaElectionResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, error_code, replica_election_results, unknown_tags })
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
        w.unknown_tags(flex, &self.unknown_tags, "ElectLeadersResponse", version)
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
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let topic = r.string(flex)?;
        let partition_result = r.vec(flex, |r| PartitionResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic, partition_result, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.topic)?;
        w.array(flex, Some(&self.partition_result[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "ReplicaElectionResult", version)
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
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let partition_id = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_id, error_code, error_message, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_id.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(flex, self.error_message.as_deref())?;
        w.unknown_tags(flex, &self.unknown_tags, "PartitionResult", version)
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for ElectLeadersResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
