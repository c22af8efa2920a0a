//! MetadataResponse, versions 0 to 13.

use super::prelude::*;

/// `MetadataResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct MetadataResponse {
    pub throttle_time_ms: i32,
    pub brokers: Vec<MetadataResponseBroker>,
    pub cluster_id: Option<String>,
    pub controller_id: i32,
    pub topics: Vec<MetadataResponseTopic>,
    pub cluster_authorized_operations: i32,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for MetadataResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            brokers: Default::default(),
            cluster_id: None,
            controller_id: -1,
            topics: Default::default(),
            cluster_authorized_operations: -2147483648,
            error_code: ErrorCode(0),
            unknown_tags: RawTags::default(),
        }
    }
}

impl MetadataResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let throttle_time_ms = if version >= 3 { r.i32()? } else { 0 };
        let brokers = r.vec(flex, |r| MetadataResponseBroker::read(r, version))?;
        let cluster_id = if version >= 2 { r.nullable_string(flex)? } else { None };
        let controller_id = if version >= 1 { r.i32()? } else { -1 };
        let topics = r.vec(flex, |r| MetadataResponseTopic::read(r, version))?;
        let cluster_authorized_operations =
            if (8..=10).contains(&version) { r.i32()? } else { -2147483648 };
        let error_code = if version >= 13 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            throttle_time_ms,
            brokers,
            cluster_id,
            controller_id,
            topics,
            cluster_authorized_operations,
            error_code,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version >= 3 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flex, Some(&self.brokers[..]), |w, v| v.write(w, version))?;
        if version >= 2 {
            w.nullable_string(flex, self.cluster_id.as_deref())?;
        }
        if version >= 1 {
            w.i32(self.controller_id);
        }
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        if (8..=10).contains(&version) {
            w.i32(self.cluster_authorized_operations);
        } else {
            if self.cluster_authorized_operations != -2147483648 {
                return Err(EncodeError::NotInVersion {
                    message: "MetadataResponse",
                    field: "ClusterAuthorizedOperations",
                    version,
                });
            }
        }
        if version >= 13 {
            w.i16(self.error_code.0);
        }
        w.unknown_tags(flex, &self.unknown_tags, "MetadataResponse", version)
    }
}

#[cfg(feature = "json")]
impl MetadataResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert("throttleTimeMs".into(), {
                let v = &self.throttle_time_ms;
                (*v).into()
            });
        }
        o.insert("brokers".into(), {
            let v = &self.brokers;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 2 {
            o.insert(
                "clusterId".into(),
                match &self.cluster_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 1 {
            o.insert("controllerId".into(), {
                let v = &self.controller_id;
                (*v).into()
            });
        }
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if (8..=10).contains(&version) {
            o.insert("clusterAuthorizedOperations".into(), {
                let v = &self.cluster_authorized_operations;
                (*v).into()
            });
        }
        if version >= 13 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `MetadataResponseBroker`, part of MetadataResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct MetadataResponseBroker {
    pub node_id: i32,
    pub host: String,
    pub port: i32,
    pub rack: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for MetadataResponseBroker {
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

impl MetadataResponseBroker {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let node_id = r.i32()?;
        let host = r.string(flex)?;
        let port = r.i32()?;
        let rack = if version >= 1 { r.nullable_string(flex)? } else { None };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { node_id, host, port, rack, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        w.i32(self.node_id);
        w.string(flex, &self.host)?;
        w.i32(self.port);
        if version >= 1 {
            w.nullable_string(flex, self.rack.as_deref())?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "MetadataResponseBroker", version)
    }
}

#[cfg(feature = "json")]
impl MetadataResponseBroker {
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
        if version >= 1 {
            o.insert(
                "rack".into(),
                match &self.rack {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `MetadataResponseTopic`, part of MetadataResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct MetadataResponseTopic {
    pub error_code: ErrorCode,
    pub name: Option<String>,
    pub topic_id: Uuid,
    pub is_internal: bool,
    pub partitions: Vec<MetadataResponsePartition>,
    pub topic_authorized_operations: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for MetadataResponseTopic {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            name: Some(String::new()),
            topic_id: Default::default(),
            is_internal: false,
            partitions: Default::default(),
            topic_authorized_operations: -2147483648,
            unknown_tags: RawTags::default(),
        }
    }
}

impl MetadataResponseTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let error_code = ErrorCode(r.i16()?);
        let name = non_null_unless(version >= 12, r.nullable_string(flex)?, "Name")?;
        let topic_id = if version >= 10 { r.uuid()? } else { Default::default() };
        let is_internal = if version >= 1 { r.bool()? } else { false };
        let partitions = r.vec(flex, |r| MetadataResponsePartition::read(r, version))?;
        let topic_authorized_operations = if version >= 8 { r.i32()? } else { -2147483648 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            error_code,
            name,
            topic_id,
            is_internal,
            partitions,
            topic_authorized_operations,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        w.i16(self.error_code.0);
        if self.name.is_none() && !(version >= 12) {
            return Err(EncodeError::Null {
                message: "MetadataResponseTopic",
                field: "Name",
                version,
            });
        }
        w.nullable_string(flex, self.name.as_deref())?;
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        if version >= 1 {
            w.bool(self.is_internal);
        }
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        if version >= 8 {
            w.i32(self.topic_authorized_operations);
        } else {
            if self.topic_authorized_operations != -2147483648 {
                return Err(EncodeError::NotInVersion {
                    message: "MetadataResponseTopic",
                    field: "TopicAuthorizedOperations",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "MetadataResponseTopic", version)
    }
}

#[cfg(feature = "json")]
impl MetadataResponseTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "name".into(),
            match &self.name {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        if version >= 10 {
            o.insert("topicId".into(), {
                let v = &self.topic_id;
                v.to_string().into()
            });
        }
        if version >= 1 {
            o.insert("isInternal".into(), {
                let v = &self.is_internal;
                (*v).into()
            });
        }
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 8 {
            o.insert("topicAuthorizedOperations".into(), {
                let v = &self.topic_authorized_operations;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `MetadataResponsePartition`, part of MetadataResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct MetadataResponsePartition {
    pub error_code: ErrorCode,
    pub partition_index: i32,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub replica_nodes: Vec<i32>,
    pub isr_nodes: Vec<i32>,
    pub offline_replicas: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for MetadataResponsePartition {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Default::default(),
            isr_nodes: Default::default(),
            offline_replicas: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl MetadataResponsePartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 9;
        let error_code = ErrorCode(r.i16()?);
        let partition_index = r.i32()?;
        let leader_id = r.i32()?;
        let leader_epoch = if version >= 7 { r.i32()? } else { -1 };
        let replica_nodes = r.vec(flex, |r| r.i32())?;
        let isr_nodes = r.vec(flex, |r| r.i32())?;
        let offline_replicas =
            if version >= 5 { r.vec(flex, |r| r.i32())? } else { Default::default() };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            offline_replicas,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 9;
        if version >= 7 {
            let mut b = [0; 14];
            b[0..2].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[2..6].copy_from_slice(&self.partition_index.to_be_bytes());
            b[6..10].copy_from_slice(&self.leader_id.to_be_bytes());
            b[10..14].copy_from_slice(&self.leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 10];
            b[0..2].copy_from_slice(&self.error_code.0.to_be_bytes());
            b[2..6].copy_from_slice(&self.partition_index.to_be_bytes());
            b[6..10].copy_from_slice(&self.leader_id.to_be_bytes());
            w.raw(&b);
        }
        w.array(flex, Some(&self.replica_nodes[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(flex, Some(&self.isr_nodes[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        if version >= 5 {
            w.array(flex, Some(&self.offline_replicas[..]), |w, v| {
                w.i32(*v);
                Ok(())
            })?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "MetadataResponsePartition", version)
    }
}

#[cfg(feature = "json")]
impl MetadataResponsePartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("leaderId".into(), {
            let v = &self.leader_id;
            (*v).into()
        });
        if version >= 7 {
            o.insert("leaderEpoch".into(), {
                let v = &self.leader_epoch;
                (*v).into()
            });
        }
        o.insert("replicaNodes".into(), {
            let v = &self.replica_nodes;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("isrNodes".into(), {
            let v = &self.isr_nodes;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        if version >= 5 {
            o.insert("offlineReplicas".into(), {
                let v = &self.offline_replicas;
                serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for MetadataResponse {
    const NAME: &'static str = "MetadataResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 13;
    const FLEXIBLE_FROM: i16 = 9;
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
impl crate::json::ToJson for MetadataResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
