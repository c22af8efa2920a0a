//! DescribeQuorumResponse, versions 0 to 2.

use super::prelude::*;

/// `DescribeQuorumResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeQuorumResponse {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub topics: Vec<TopicData>,
    pub nodes: Vec<Node>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeQuorumResponse {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            topics: Default::default(),
            nodes: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeQuorumResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let error_code = ErrorCode(r.i16()?);
        let error_message =
            if version >= 2 { r.nullable_string(true)? } else { Some(String::new()) };
        let topics = r.vec(true, |r| TopicData::read(r, version))?;
        let nodes = if version >= 2 {
            r.vec(true, |r| Node::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { error_code, error_message, topics, nodes, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i16(self.error_code.0);
        if version >= 2 {
            w.nullable_string(true, self.error_message.as_deref())?;
        }
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        if version >= 2 {
            w.array(true, Some(&self.nodes[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.nodes.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "DescribeQuorumResponse",
                    field: "Nodes",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "DescribeQuorumResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeQuorumResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        if version >= 2 {
            o.insert(
                "errorMessage".into(),
                match &self.error_message {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 2 {
            o.insert("nodes".into(), {
                let v = &self.nodes;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `TopicData`, part of DescribeQuorumResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicData {
    pub topic_name: String,
    pub partitions: Vec<PartitionData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicData {
    fn default() -> Self {
        Self {
            topic_name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_name = r.string(true)?;
        let partitions = r.vec(true, |r| PartitionData::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic_name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "TopicData", version)
    }
}

#[cfg(feature = "json")]
impl TopicData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicName".into(), {
            let v = &self.topic_name;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `PartitionData`, part of DescribeQuorumResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub high_watermark: i64,
    pub current_voters: Vec<ReplicaState>,
    pub observers: Vec<ReplicaState>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            leader_id: 0,
            leader_epoch: 0,
            high_watermark: 0,
            current_voters: Default::default(),
            observers: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message =
            if version >= 2 { r.nullable_string(true)? } else { Some(String::new()) };
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let high_watermark = r.i64()?;
        let current_voters = r.vec(true, |r| ReplicaState::read(r, version))?;
        let observers = r.vec(true, |r| ReplicaState::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            partition_index,
            error_code,
            error_message,
            leader_id,
            leader_epoch,
            high_watermark,
            current_voters,
            observers,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        if version >= 2 {
            w.nullable_string(true, self.error_message.as_deref())?;
        }
        let mut b = [0; 16];
        b[0..4].copy_from_slice(&self.leader_id.to_be_bytes());
        b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
        b[8..16].copy_from_slice(&self.high_watermark.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.current_voters[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.observers[..]), |w, v| v.write(w, version))?;
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
        if version >= 2 {
            o.insert(
                "errorMessage".into(),
                match &self.error_message {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert("leaderId".into(), {
            let v = &self.leader_id;
            (*v).into()
        });
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        o.insert("highWatermark".into(), {
            let v = &self.high_watermark;
            (*v).into()
        });
        o.insert("currentVoters".into(), {
            let v = &self.current_voters;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("observers".into(), {
            let v = &self.observers;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `Node`, part of DescribeQuorumResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Node {
    pub node_id: i32,
    pub listeners: Vec<Listener>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Node {
    fn default() -> Self {
        Self { node_id: 0, listeners: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl Node {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let node_id = if version >= 2 { r.i32()? } else { 0 };
        let listeners = if version >= 2 {
            r.vec(true, |r| Listener::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { node_id, listeners, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 2 {
            w.i32(self.node_id);
        } else {
            if self.node_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "Node",
                    field: "NodeId",
                    version,
                });
            }
        }
        if version >= 2 {
            w.array(true, Some(&self.listeners[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.listeners.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "Node",
                    field: "Listeners",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "Node", version)
    }
}

#[cfg(feature = "json")]
impl Node {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 2 {
            o.insert("nodeId".into(), {
                let v = &self.node_id;
                (*v).into()
            });
        }
        if version >= 2 {
            o.insert("listeners".into(), {
                let v = &self.listeners;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `Listener`, part of DescribeQuorumResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Listener {
    pub name: String,
    pub host: String,
    pub port: u16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Listener {
    fn default() -> Self {
        Self { name: String::new(), host: String::new(), port: 0, unknown_tags: RawTags::default() }
    }
}

impl Listener {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = if version >= 2 { r.string(true)? } else { String::new() };
        let host = if version >= 2 { r.string(true)? } else { String::new() };
        let port = if version >= 2 { r.u16()? } else { 0 };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, host, port, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 2 {
            w.string(true, &self.name)?;
        } else {
            if !self.name.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "Listener",
                    field: "Name",
                    version,
                });
            }
        }
        if version >= 2 {
            w.string(true, &self.host)?;
        } else {
            if !self.host.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "Listener",
                    field: "Host",
                    version,
                });
            }
        }
        if version >= 2 {
            w.u16(self.port);
        } else {
            if self.port != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "Listener",
                    field: "Port",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "Listener", version)
    }
}

#[cfg(feature = "json")]
impl Listener {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 2 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 2 {
            o.insert("host".into(), {
                let v = &self.host;
                v.as_str().into()
            });
        }
        if version >= 2 {
            o.insert("port".into(), {
                let v = &self.port;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `ReplicaState`, part of DescribeQuorumResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReplicaState {
    pub replica_id: i32,
    pub replica_directory_id: Uuid,
    pub log_end_offset: i64,
    pub last_fetch_timestamp: i64,
    pub last_caught_up_timestamp: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self {
            replica_id: 0,
            replica_directory_id: Default::default(),
            log_end_offset: 0,
            last_fetch_timestamp: -1,
            last_caught_up_timestamp: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ReplicaState {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let replica_id = r.i32()?;
        let replica_directory_id = if version >= 2 { r.uuid()? } else { Default::default() };
        let log_end_offset = r.i64()?;
        let last_fetch_timestamp = if version >= 1 { r.i64()? } else { -1 };
        let last_caught_up_timestamp = if version >= 1 { r.i64()? } else { -1 };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            replica_id,
            replica_directory_id,
            log_end_offset,
            last_fetch_timestamp,
            last_caught_up_timestamp,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 2 {
            let mut b = [0; 20];
            b[0..4].copy_from_slice(&self.replica_id.to_be_bytes());
            b[4..20].copy_from_slice(&self.replica_directory_id.0);
            w.raw(&b);
        } else {
            w.i32(self.replica_id);
            if !self.replica_directory_id.is_zero() {
                return Err(EncodeError::NotInVersion {
                    message: "ReplicaState",
                    field: "ReplicaDirectoryId",
                    version,
                });
            }
        }
        if version >= 1 {
            let mut b = [0; 24];
            b[0..8].copy_from_slice(&self.log_end_offset.to_be_bytes());
            b[8..16].copy_from_slice(&self.last_fetch_timestamp.to_be_bytes());
            b[16..24].copy_from_slice(&self.last_caught_up_timestamp.to_be_bytes());
            w.raw(&b);
        } else {
            w.i64(self.log_end_offset);
        }
        w.unknown_tags(true, &self.unknown_tags, "ReplicaState", version)
    }
}

#[cfg(feature = "json")]
impl ReplicaState {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("replicaId".into(), {
            let v = &self.replica_id;
            (*v).into()
        });
        if version >= 2 {
            o.insert("replicaDirectoryId".into(), {
                let v = &self.replica_directory_id;
                v.to_string().into()
            });
        }
        o.insert("logEndOffset".into(), {
            let v = &self.log_end_offset;
            (*v).into()
        });
        if version >= 1 {
            o.insert("lastFetchTimestamp".into(), {
                let v = &self.last_fetch_timestamp;
                (*v).into()
            });
        }
        if version >= 1 {
            o.insert("lastCaughtUpTimestamp".into(), {
                let v = &self.last_caught_up_timestamp;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeQuorumResponse {
    const NAME: &'static str = "DescribeQuorumResponse";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for DescribeQuorumResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
