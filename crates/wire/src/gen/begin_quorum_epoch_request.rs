//! BeginQuorumEpochRequest, versions 0 to 1.

use super::prelude::*;

/// `BeginQuorumEpochRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BeginQuorumEpochRequest {
    pub cluster_id: Option<String>,
    pub voter_id: i32,
    pub topics: Vec<TopicData>,
    pub leader_endpoints: Vec<LeaderEndpoint>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BeginQuorumEpochRequest {
    fn default() -> Self {
        Self {
            cluster_id: None,
            voter_id: -1,
            topics: Default::default(),
            leader_endpoints: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl BeginQuorumEpochRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let cluster_id = r.nullable_string(flex)?;
        let voter_id = if version >= 1 { r.i32()? } else { -1 };
        let topics = r.vec(flex, |r| TopicData::read(r, version))?;
        let leader_endpoints = if version >= 1 {
            r.vec(flex, |r| LeaderEndpoint::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { cluster_id, voter_id, topics, leader_endpoints, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.nullable_string(flex, self.cluster_id.as_deref())?;
        if version >= 1 {
            w.i32(self.voter_id);
        }
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        if version >= 1 {
            w.array(flex, Some(&self.leader_endpoints[..]), |w, v| v.write(w, version))?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "BeginQuorumEpochRequest", version)
    }
}

#[cfg(feature = "json")]
impl BeginQuorumEpochRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "clusterId".into(),
            match &self.cluster_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        if version >= 1 {
            o.insert("voterId".into(), {
                let v = &self.voter_id;
                (*v).into()
            });
        }
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 1 {
            o.insert("leaderEndpoints".into(), {
                let v = &self.leader_endpoints;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `TopicData`, part of BeginQuorumEpochRequest.
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

/// `PartitionData`, part of BeginQuorumEpochRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionData {
    pub partition_index: i32,
    pub voter_directory_id: Uuid,
    pub leader_id: i32,
    pub leader_epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            voter_directory_id: Default::default(),
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
        let voter_directory_id = if version >= 1 { r.uuid()? } else { Default::default() };
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, voter_directory_id, leader_id, leader_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        if version >= 1 {
            let mut b = [0; 20];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..20].copy_from_slice(&self.voter_directory_id.0);
            w.raw(&b);
        } else {
            w.i32(self.partition_index);
        }
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.leader_id.to_be_bytes());
        b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
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
        if version >= 1 {
            o.insert("voterDirectoryId".into(), {
                let v = &self.voter_directory_id;
                v.to_string().into()
            });
        }
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

/// `LeaderEndpoint`, part of BeginQuorumEpochRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LeaderEndpoint {
    pub name: String,
    pub host: String,
    pub port: u16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for LeaderEndpoint {
    fn default() -> Self {
        Self { name: String::new(), host: String::new(), port: 0, unknown_tags: RawTags::default() }
    }
}

impl LeaderEndpoint {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let name = if version >= 1 { r.string(flex)? } else { String::new() };
        let host = if version >= 1 { r.string(flex)? } else { String::new() };
        let port = if version >= 1 { r.u16()? } else { 0 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, host, port, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        if version >= 1 {
            w.string(flex, &self.name)?;
        } else {
            if !self.name.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "LeaderEndpoint",
                    field: "Name",
                    version,
                });
            }
        }
        if version >= 1 {
            w.string(flex, &self.host)?;
        } else {
            if !self.host.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "LeaderEndpoint",
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
                    message: "LeaderEndpoint",
                    field: "Port",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "LeaderEndpoint", version)
    }
}

#[cfg(feature = "json")]
impl LeaderEndpoint {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
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

impl Message for BeginQuorumEpochRequest {
    const NAME: &'static str = "BeginQuorumEpochRequest";
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
impl crate::json::ToJson for BeginQuorumEpochRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for BeginQuorumEpochRequest {
    const API_KEY: ApiKey = ApiKey(53);
    type Response = super::begin_quorum_epoch_response::BeginQuorumEpochResponse;
}
