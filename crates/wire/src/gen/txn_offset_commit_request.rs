//! TxnOffsetCommitRequest, versions 0 to 6.

use super::prelude::*;

/// `TxnOffsetCommitRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TxnOffsetCommitRequest {
    pub transactional_id: String,
    pub group_id: String,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub generation_id_or_member_epoch: i32,
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TxnOffsetCommitRequest {
    fn default() -> Self {
        Self {
            transactional_id: String::new(),
            group_id: String::new(),
            producer_id: 0,
            producer_epoch: 0,
            generation_id_or_member_epoch: -1,
            member_id: String::new(),
            group_instance_id: None,
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TxnOffsetCommitRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let transactional_id = r.string(flex)?;
        let group_id = r.string(flex)?;
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let generation_id_or_member_epoch = if version >= 3 { r.i32()? } else { -1 };
        let member_id = if version >= 3 { r.string(flex)? } else { String::new() };
        let group_instance_id = if version >= 3 { r.nullable_string(flex)? } else { None };
        let topics = r.vec(flex, |r| TxnOffsetCommitRequestTopic::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            transactional_id,
            group_id,
            producer_id,
            producer_epoch,
            generation_id_or_member_epoch,
            member_id,
            group_instance_id,
            topics,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        w.string(flex, &self.transactional_id)?;
        w.string(flex, &self.group_id)?;
        if version >= 3 {
            let mut b = [0; 14];
            b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
            b[8..10].copy_from_slice(&self.producer_epoch.to_be_bytes());
            b[10..14].copy_from_slice(&self.generation_id_or_member_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 10];
            b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
            b[8..10].copy_from_slice(&self.producer_epoch.to_be_bytes());
            w.raw(&b);
            if self.generation_id_or_member_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "TxnOffsetCommitRequest",
                    field: "GenerationIdOrMemberEpoch",
                    version,
                });
            }
        }
        if version >= 3 {
            w.string(flex, &self.member_id)?;
        } else {
            if !self.member_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TxnOffsetCommitRequest",
                    field: "MemberId",
                    version,
                });
            }
        }
        if version >= 3 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        } else {
            if self.group_instance_id.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "TxnOffsetCommitRequest",
                    field: "GroupInstanceId",
                    version,
                });
            }
        }
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "TxnOffsetCommitRequest", version)
    }
}

#[cfg(feature = "json")]
impl TxnOffsetCommitRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("transactionalId".into(), {
            let v = &self.transactional_id;
            v.as_str().into()
        });
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("producerEpoch".into(), {
            let v = &self.producer_epoch;
            (*v).into()
        });
        if version >= 3 {
            o.insert("generationIdOrMemberEpoch".into(), {
                let v = &self.generation_id_or_member_epoch;
                (*v).into()
            });
        }
        if version >= 3 {
            o.insert("memberId".into(), {
                let v = &self.member_id;
                v.as_str().into()
            });
        }
        if version >= 3 {
            o.insert(
                "groupInstanceId".into(),
                match &self.group_instance_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TxnOffsetCommitRequestTopic`, part of TxnOffsetCommitRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TxnOffsetCommitRequestTopic {
    pub name: String,
    pub topic_id: Uuid,
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TxnOffsetCommitRequestTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TxnOffsetCommitRequestTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let name = if version <= 5 { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 6 { r.uuid()? } else { Default::default() };
        let partitions = r.vec(flex, |r| TxnOffsetCommitRequestPartition::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version <= 5 {
            w.string(flex, &self.name)?;
        }
        if version >= 6 {
            w.uuid(self.topic_id);
        }
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "TxnOffsetCommitRequestTopic", version)
    }
}

#[cfg(feature = "json")]
impl TxnOffsetCommitRequestTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 5 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 6 {
            o.insert("topicId".into(), {
                let v = &self.topic_id;
                v.to_string().into()
            });
        }
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TxnOffsetCommitRequestPartition`, part of TxnOffsetCommitRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TxnOffsetCommitRequestPartition {
    pub partition_index: i32,
    pub committed_offset: i64,
    pub committed_leader_epoch: i32,
    pub committed_metadata: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TxnOffsetCommitRequestPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            committed_offset: 0,
            committed_leader_epoch: -1,
            committed_metadata: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TxnOffsetCommitRequestPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let partition_index = r.i32()?;
        let committed_offset = r.i64()?;
        let committed_leader_epoch = if version >= 2 { r.i32()? } else { -1 };
        let committed_metadata = r.nullable_string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            partition_index,
            committed_offset,
            committed_leader_epoch,
            committed_metadata,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 2 {
            let mut b = [0; 16];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..12].copy_from_slice(&self.committed_offset.to_be_bytes());
            b[12..16].copy_from_slice(&self.committed_leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
            b[4..12].copy_from_slice(&self.committed_offset.to_be_bytes());
            w.raw(&b);
        }
        w.nullable_string(flex, self.committed_metadata.as_deref())?;
        w.unknown_tags(flex, &self.unknown_tags, "TxnOffsetCommitRequestPartition", version)
    }
}

#[cfg(feature = "json")]
impl TxnOffsetCommitRequestPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("committedOffset".into(), {
            let v = &self.committed_offset;
            (*v).into()
        });
        if version >= 2 {
            o.insert("committedLeaderEpoch".into(), {
                let v = &self.committed_leader_epoch;
                (*v).into()
            });
        }
        o.insert(
            "committedMetadata".into(),
            match &self.committed_metadata {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for TxnOffsetCommitRequest {
    const NAME: &'static str = "TxnOffsetCommitRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FLEXIBLE_FROM: i16 = 3;
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
impl crate::json::ToJson for TxnOffsetCommitRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for TxnOffsetCommitRequest {
    const API_KEY: ApiKey = ApiKey(28);
    type Response = super::txn_offset_commit_response::TxnOffsetCommitResponse;
}
