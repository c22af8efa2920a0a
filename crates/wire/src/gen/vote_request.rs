//! VoteRequest, versions 0 to 2.

use super::prelude::*;

/// `VoteRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct VoteRequest {
    pub cluster_id: Option<String>,
    pub voter_id: i32,
    pub topics: Vec<TopicData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for VoteRequest {
    fn default() -> Self {
        Self {
            cluster_id: None,
            voter_id: -1,
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl VoteRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let cluster_id = r.nullable_string(true)?;
        let voter_id = if version >= 1 { r.i32()? } else { -1 };
        let topics = r.vec(true, |r| TopicData::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { cluster_id, voter_id, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.nullable_string(true, self.cluster_id.as_deref())?;
        if version >= 1 {
            w.i32(self.voter_id);
        }
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "VoteRequest", version)
    }
}

#[cfg(feature = "json")]
impl VoteRequest {
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
        serde_json::Value::Object(o)
    }
}

/// `TopicData`, part of VoteRequest.
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

/// `PartitionData`, part of VoteRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionData {
    pub partition_index: i32,
    pub replica_epoch: i32,
    pub replica_id: i32,
    pub replica_directory_id: Uuid,
    pub voter_directory_id: Uuid,
    pub last_offset_epoch: i32,
    pub last_offset: i64,
    pub pre_vote: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            replica_epoch: 0,
            replica_id: 0,
            replica_directory_id: Default::default(),
            voter_directory_id: Default::default(),
            last_offset_epoch: 0,
            last_offset: 0,
            pre_vote: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let replica_epoch = r.i32()?;
        let replica_id = r.i32()?;
        let replica_directory_id = if version >= 1 { r.uuid()? } else { Default::default() };
        let voter_directory_id = if version >= 1 { r.uuid()? } else { Default::default() };
        let last_offset_epoch = r.i32()?;
        let last_offset = r.i64()?;
        let pre_vote = if version >= 2 { r.bool()? } else { false };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            partition_index,
            replica_epoch,
            replica_id,
            replica_directory_id,
            voter_directory_id,
            last_offset_epoch,
            last_offset,
            pre_vote,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            let mut b = [0; 44];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..8].copy_from_slice(&self.replica_epoch.to_be_bytes());
            b[8..12].copy_from_slice(&self.replica_id.to_be_bytes());
            b[12..28].copy_from_slice(&self.replica_directory_id.0);
            b[28..44].copy_from_slice(&self.voter_directory_id.0);
            w.raw(&b);
        } else {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..8].copy_from_slice(&self.replica_epoch.to_be_bytes());
            b[8..12].copy_from_slice(&self.replica_id.to_be_bytes());
            w.raw(&b);
        }
        if version >= 2 {
            let mut b = [0; 13];
            b[0..4].copy_from_slice(&self.last_offset_epoch.to_be_bytes());
            b[4..12].copy_from_slice(&self.last_offset.to_be_bytes());
            b[12..13].copy_from_slice(&[u8::from(self.pre_vote)]);
            w.raw(&b);
        } else {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.last_offset_epoch.to_be_bytes());
            b[4..12].copy_from_slice(&self.last_offset.to_be_bytes());
            w.raw(&b);
            if self.pre_vote {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "PreVote",
                    version,
                });
            }
        }
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
        o.insert("replicaEpoch".into(), {
            let v = &self.replica_epoch;
            (*v).into()
        });
        o.insert("replicaId".into(), {
            let v = &self.replica_id;
            (*v).into()
        });
        if version >= 1 {
            o.insert("replicaDirectoryId".into(), {
                let v = &self.replica_directory_id;
                v.to_string().into()
            });
        }
        if version >= 1 {
            o.insert("voterDirectoryId".into(), {
                let v = &self.voter_directory_id;
                v.to_string().into()
            });
        }
        o.insert("lastOffsetEpoch".into(), {
            let v = &self.last_offset_epoch;
            (*v).into()
        });
        o.insert("lastOffset".into(), {
            let v = &self.last_offset;
            (*v).into()
        });
        if version >= 2 {
            o.insert("preVote".into(), {
                let v = &self.pre_vote;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for VoteRequest {
    const NAME: &'static str = "VoteRequest";
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
impl crate::json::ToJson for VoteRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for VoteRequest {
    const API_KEY: ApiKey = ApiKey(52);
    type Response = super::vote_response::VoteResponse;
}
