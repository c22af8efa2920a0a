//! FetchSnapshotRequest, versions 0 to 1.

use super::prelude::*;

/// `FetchSnapshotRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FetchSnapshotRequest {
    pub cluster_id: Option<String>,
    pub replica_id: i32,
    pub max_bytes: i32,
    pub topics: Vec<TopicSnapshot>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FetchSnapshotRequest {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            max_bytes: 0x7fffffff,
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl FetchSnapshotRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let replica_id = r.i32()?;
        let max_bytes = r.i32()?;
        let topics = r.vec(true, |r| TopicSnapshot::read(r, version))?;
        let mut cluster_id = None;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        cluster_id = r.nullable_string(true)?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self { cluster_id, replica_id, max_bytes, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.replica_id.to_be_bytes());
        b[4..8].copy_from_slice(&self.max_bytes.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        let mut count = self.unknown_tags.len();
        let tag_0 = self.cluster_id.is_some();
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.nullable_string(true, self.cluster_id.as_deref())?;
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
    }
}

#[cfg(feature = "json")]
impl FetchSnapshotRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if self.cluster_id.is_some() {
            o.insert(
                "clusterId".into(),
                match &self.cluster_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert("replicaId".into(), {
            let v = &self.replica_id;
            (*v).into()
        });
        o.insert("maxBytes".into(), {
            let v = &self.max_bytes;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicSnapshot`, part of FetchSnapshotRequest.
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

/// `PartitionSnapshot`, part of FetchSnapshotRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionSnapshot {
    pub partition: i32,
    pub current_leader_epoch: i32,
    pub snapshot_id: SnapshotId,
    pub position: i64,
    pub replica_directory_id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionSnapshot {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: 0,
            snapshot_id: Default::default(),
            position: 0,
            replica_directory_id: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionSnapshot {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition = r.i32()?;
        let current_leader_epoch = r.i32()?;
        let snapshot_id = SnapshotId::read(r, version)?;
        let position = r.i64()?;
        let mut replica_directory_id = Default::default();
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        replica_directory_id = r.uuid()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            partition,
            current_leader_epoch,
            snapshot_id,
            position,
            replica_directory_id,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.partition.to_be_bytes());
        b[4..8].copy_from_slice(&self.current_leader_epoch.to_be_bytes());
        w.raw(&b);
        self.snapshot_id.write(w, version)?;
        w.i64(self.position);
        let mut count = self.unknown_tags.len();
        let tag_0 = version >= 1 && !self.replica_directory_id.is_zero();
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.uuid(self.replica_directory_id);
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
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        o.insert("currentLeaderEpoch".into(), {
            let v = &self.current_leader_epoch;
            (*v).into()
        });
        o.insert("snapshotId".into(), {
            let v = &self.snapshot_id;
            v.json(version)
        });
        o.insert("position".into(), {
            let v = &self.position;
            (*v).into()
        });
        if version >= 1 {
            if !self.replica_directory_id.is_zero() {
                o.insert("replicaDirectoryId".into(), {
                    let v = &self.replica_directory_id;
                    v.to_string().into()
                });
            }
        }
        serde_json::Value::Object(o)
    }
}

/// `SnapshotId`, part of FetchSnapshotRequest.
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

impl Message for FetchSnapshotRequest {
    const NAME: &'static str = "FetchSnapshotRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for FetchSnapshotRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for FetchSnapshotRequest {
    const API_KEY: ApiKey = ApiKey(59);
    type Response = super::fetch_snapshot_response::FetchSnapshotResponse;
}
