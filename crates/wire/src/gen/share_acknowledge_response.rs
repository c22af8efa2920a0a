//! ShareAcknowledgeResponse, versions 1 to 2.

use super::prelude::*;

/// `ShareAcknowledgeResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareAcknowledgeResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub acquisition_lock_timeout_ms: i32,
    pub responses: Vec<ShareAcknowledgeTopicResponse>,
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareAcknowledgeResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            error_message: None,
            acquisition_lock_timeout_ms: 0,
            responses: Default::default(),
            node_endpoints: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ShareAcknowledgeResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let acquisition_lock_timeout_ms = if version >= 2 { r.i32()? } else { 0 };
        let responses = r.vec(true, |r| ShareAcknowledgeTopicResponse::read(r, version))?;
        let node_endpoints = r.vec(true, |r| NodeEndpoint::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            error_message,
            acquisition_lock_timeout_ms,
            responses,
            node_endpoints,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.error_message.as_deref())?;
        if version >= 2 {
            w.i32(self.acquisition_lock_timeout_ms);
        }
        w.array(true, Some(&self.responses[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.node_endpoints[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ShareAcknowledgeResponse", version)
    }
}

#[cfg(feature = "json")]
impl ShareAcknowledgeResponse {
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
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        if version >= 2 {
            o.insert("acquisitionLockTimeoutMs".into(), {
                let v = &self.acquisition_lock_timeout_ms;
                (*v).into()
            });
        }
        o.insert("responses".into(), {
            let v = &self.responses;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("nodeEndpoints".into(), {
            let v = &self.node_endpoints;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ShareAcknowledgeTopicResponse`, part of ShareAcknowledgeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareAcknowledgeTopicResponse {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareAcknowledgeTopicResponse {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ShareAcknowledgeTopicResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let partitions = r.vec(true, |r| PartitionData::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ShareAcknowledgeTopicResponse", version)
    }
}

#[cfg(feature = "json")]
impl ShareAcknowledgeTopicResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `PartitionData`, part of ShareAcknowledgeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub current_leader: LeaderIdAndEpoch,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode(0),
            error_message: None,
            current_leader: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let current_leader = LeaderIdAndEpoch::read(r, version)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { partition_index, error_code, error_message, current_leader, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.error_message.as_deref())?;
        self.current_leader.write(w, version)?;
        w.unknown_tags(true, &self.unknown_tags, "PartitionData", version)
    }
}

#[cfg(feature = "json")]
impl PartitionData {
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
        o.insert("currentLeader".into(), {
            let v = &self.current_leader;
            v.json(version)
        });
        serde_json::Value::Object(o)
    }
}

/// `LeaderIdAndEpoch`, part of ShareAcknowledgeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LeaderIdAndEpoch {
    pub leader_id: i32,
    pub leader_epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: 0, leader_epoch: 0, unknown_tags: RawTags::default() }
    }
}

impl LeaderIdAndEpoch {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { leader_id, leader_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.leader_id.to_be_bytes());
        b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "LeaderIdAndEpoch", version)
    }
}

#[cfg(feature = "json")]
impl LeaderIdAndEpoch {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("leaderId".into(), {
            let v = &self.leader_id;
            (*v).into()
        });
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `NodeEndpoint`, part of ShareAcknowledgeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: String,
    pub port: i32,
    pub rack: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for NodeEndpoint {
    fn default() -> Self {
        Self {
            node_id: 0,
            host: String::new(),
            port: 0,
            rack: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl NodeEndpoint {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let node_id = r.i32()?;
        let host = r.string(true)?;
        let port = r.i32()?;
        let rack = r.nullable_string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { node_id, host, port, rack, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.node_id);
        w.string(true, &self.host)?;
        w.i32(self.port);
        w.nullable_string(true, self.rack.as_deref())?;
        w.unknown_tags(true, &self.unknown_tags, "NodeEndpoint", version)
    }
}

#[cfg(feature = "json")]
impl NodeEndpoint {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("nodeId".into(), {
            let v = &self.node_id;
            (*v).into()
        });
        o.insert("host".into(), {
            let v = &self.host;
            v.as_str().into()
        });
        o.insert("port".into(), {
            let v = &self.port;
            (*v).into()
        });
        o.insert(
            "rack".into(),
            match &self.rack {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for ShareAcknowledgeResponse {
    const NAME: &'static str = "ShareAcknowledgeResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FLEXIBLE_FROM: i16 = 1;
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
impl crate::json::ToJson for ShareAcknowledgeResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
