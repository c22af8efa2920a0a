//! EndQuorumEpochResponse, versions 0 to 1.

use super::prelude::*;

/// `EndQuorumEpochResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EndQuorumEpochResponse {
    pub error_code: ErrorCode,
    pub topics: Vec<TopicData>,
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EndQuorumEpochResponse {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            topics: Default::default(),
            node_endpoints: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl EndQuorumEpochResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let error_code = ErrorCode(r.i16()?);
        let topics = r.vec(flex, |r| TopicData::read(r, version))?;
        let mut node_endpoints = Default::default();
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        node_endpoints = r.vec(flex, |r| NodeEndpoint::read(r, version))?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self { error_code, topics, node_endpoints, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.i16(self.error_code.0);
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 1 && !self.node_endpoints.is_empty();
            count += usize::from(tag_0);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.array(flex, Some(&self.node_endpoints[..]), |w, v| v.write(w, version))?;
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "EndQuorumEpochResponse",
                field: "unknown_tags",
                version,
            });
        }
        if !(version >= 1) {
            if !self.node_endpoints.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "EndQuorumEpochResponse",
                    field: "NodeEndpoints",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl EndQuorumEpochResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 1 {
            if !self.node_endpoints.is_empty() {
                o.insert("nodeEndpoints".into(), {
                    let v = &self.node_endpoints;
                    serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
                });
            }
        }
        serde_json::Value::Object(o)
    }
}

/// `TopicData`, part of EndQuorumEpochResponse.
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
        let flex = version >= 1;
        let topic_name = r.string(flex)?;
        let partitions = r.vec(flex, |r| PartitionData::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic_name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.string(flex, &self.topic_name)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "TopicData", version)
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

/// `PartitionData`, part of EndQuorumEpochResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub leader_id: i32,
    pub leader_epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: ErrorCode(0),
            leader_id: 0,
            leader_epoch: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, error_code, leader_id, leader_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        let mut b = [0; 14];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[6..10].copy_from_slice(&self.leader_id.to_be_bytes());
        b[10..14].copy_from_slice(&self.leader_epoch.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "PartitionData", version)
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

/// `NodeEndpoint`, part of EndQuorumEpochResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct NodeEndpoint {
    pub node_id: i32,
    pub host: String,
    pub port: u16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for NodeEndpoint {
    fn default() -> Self {
        Self { node_id: 0, host: String::new(), port: 0, unknown_tags: RawTags::default() }
    }
}

impl NodeEndpoint {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let node_id = if version >= 1 { r.i32()? } else { 0 };
        let host = if version >= 1 { r.string(flex)? } else { String::new() };
        let port = if version >= 1 { r.u16()? } else { 0 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { node_id, host, port, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        if version >= 1 {
            w.i32(self.node_id);
        } else {
            if self.node_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "NodeId",
                    version,
                });
            }
        }
        if version >= 1 {
            w.string(flex, &self.host)?;
        } else {
            if !self.host.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "Host",
                    version,
                });
            }
        }
        if version >= 1 {
            w.u16(self.port);
        } else {
            if self.port != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "NodeEndpoint",
                    field: "Port",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "NodeEndpoint", version)
    }
}

#[cfg(feature = "json")]
impl NodeEndpoint {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("nodeId".into(), {
                let v = &self.node_id;
                (*v).into()
            });
        }
        if version >= 1 {
            o.insert("host".into(), {
                let v = &self.host;
                v.as_str().into()
            });
        }
        if version >= 1 {
            o.insert("port".into(), {
                let v = &self.port;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for EndQuorumEpochResponse {
    const NAME: &'static str = "EndQuorumEpochResponse";
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

#[cfg(feature = "json")]
impl crate::json::ToJson for EndQuorumEpochResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
