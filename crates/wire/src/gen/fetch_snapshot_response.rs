//! FetchSnapshotResponse, versions 0 to 1.

use super::prelude::*;

/// `FetchSnapshotResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchSnapshotResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub topics: Vec<TopicSnapshot>,
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FetchSnapshotResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            topics: Default::default(),
            node_endpoints: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl FetchSnapshotResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let topics = r.vec(true, |r| TopicSnapshot::read(r, version))?;
        let mut node_endpoints = Default::default();
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        node_endpoints = r.vec(true, |r| NodeEndpoint::read(r, version))?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self { throttle_time_ms, error_code, topics, node_endpoints, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        let mut count = self.unknown_tags.len();
        let tag_0 = version >= 1 && !self.node_endpoints.is_empty();
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.array(true, Some(&self.node_endpoints[..]), |w, v| v.write(w, version))?;
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        if !(version >= 1) {
            if !self.node_endpoints.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FetchSnapshotResponse",
                    field: "NodeEndpoints",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl FetchSnapshotResponse {
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

/// `TopicSnapshot`, part of FetchSnapshotResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicSnapshot {
    pub name: String,
    pub partitions: Vec<PartitionSnapshot>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicSnapshot {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicSnapshot {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let partitions = r.vec(true, |r| PartitionSnapshot::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "TopicSnapshot", version)
    }
}

#[cfg(feature = "json")]
impl TopicSnapshot {
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

/// `PartitionSnapshot`, part of FetchSnapshotResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionSnapshot {
    pub index: i32,
    pub error_code: ErrorCode,
    pub snapshot_id: SnapshotId,
    pub current_leader: LeaderIdAndEpoch,
    pub size: i64,
    pub position: i64,
    pub unaligned_records: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionSnapshot {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: ErrorCode(0),
            snapshot_id: Default::default(),
            current_leader: Default::default(),
            size: 0,
            position: 0,
            unaligned_records: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionSnapshot {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let snapshot_id = SnapshotId::read(r, version)?;
        let size = r.i64()?;
        let position = r.i64()?;
        let unaligned_records = r.bytes(true)?;
        let mut current_leader = Default::default();
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        current_leader = LeaderIdAndEpoch::read(r, version)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            index,
            error_code,
            snapshot_id,
            current_leader,
            size,
            position,
            unaligned_records,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        self.snapshot_id.write(w, version)?;
        let mut b = [0; 16];
        b[0..8].copy_from_slice(&self.size.to_be_bytes());
        b[8..16].copy_from_slice(&self.position.to_be_bytes());
        w.raw(&b);
        w.shared_bytes(true, Some(&self.unaligned_records))?;
        let mut count = self.unknown_tags.len();
        let tag_0 = self.current_leader != Default::default();
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                self.current_leader.write(w, version)?;
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
    }
}

#[cfg(feature = "json")]
impl PartitionSnapshot {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("index".into(), {
            let v = &self.index;
            (*v).into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("snapshotId".into(), {
            let v = &self.snapshot_id;
            v.json(version)
        });
        if self.current_leader != Default::default() {
            o.insert("currentLeader".into(), {
                let v = &self.current_leader;
                v.json(version)
            });
        }
        o.insert("size".into(), {
            let v = &self.size;
            (*v).into()
        });
        o.insert("position".into(), {
            let v = &self.position;
            (*v).into()
        });
        o.insert("unalignedRecordsSizeInBytes".into(), {
            let v = &self.unaligned_records;
            v.len().into()
        });
        serde_json::Value::Object(o)
    }
}

/// `SnapshotId`, part of FetchSnapshotResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SnapshotId {
    pub end_offset: i64,
    pub epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for SnapshotId {
    fn default() -> Self {
        Self { end_offset: 0, epoch: 0, unknown_tags: RawTags::default() }
    }
}

impl SnapshotId {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let end_offset = r.i64()?;
        let epoch = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { end_offset, epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 12];
        b[0..8].copy_from_slice(&self.end_offset.to_be_bytes());
        b[8..12].copy_from_slice(&self.epoch.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "SnapshotId", version)
    }
}

#[cfg(feature = "json")]
impl SnapshotId {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("endOffset".into(), {
            let v = &self.end_offset;
            (*v).into()
        });
        o.insert("epoch".into(), {
            let v = &self.epoch;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `LeaderIdAndEpoch`, part of FetchSnapshotResponse.
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

/// `NodeEndpoint`, part of FetchSnapshotResponse.
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
        let node_id = if version >= 1 { r.i32()? } else { 0 };
        let host = if version >= 1 { r.string(true)? } else { String::new() };
        let port = if version >= 1 { r.u16()? } else { 0 };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { node_id, host, port, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
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
            w.string(true, &self.host)?;
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
        w.unknown_tags(true, &self.unknown_tags, "NodeEndpoint", version)
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

impl Message for FetchSnapshotResponse {
    const NAME: &'static str = "FetchSnapshotResponse";
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
impl crate::json::ToJson for FetchSnapshotResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
