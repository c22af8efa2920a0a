//! ShareAcknowledgeRequest, versions 1 to 2.

use super::prelude::*;

/// `ShareAcknowledgeRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareAcknowledgeRequest {
    pub group_id: Option<String>,
    pub member_id: Option<String>,
    pub share_session_epoch: i32,
    pub is_renew_ack: bool,
    pub topics: Vec<AcknowledgeTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareAcknowledgeRequest {
    fn default() -> Self {
        Self {
            group_id: None,
            member_id: Some(String::new()),
            share_session_epoch: 0,
            is_renew_ack: false,
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ShareAcknowledgeRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.nullable_string(true)?;
        let member_id = r.nullable_string(true)?;
        let share_session_epoch = r.i32()?;
        let is_renew_ack = if version >= 2 { r.bool()? } else { false };
        let topics = r.vec(true, |r| AcknowledgeTopic::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { group_id, member_id, share_session_epoch, is_renew_ack, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.nullable_string(true, self.group_id.as_deref())?;
        w.nullable_string(true, self.member_id.as_deref())?;
        if version >= 2 {
            let mut b = [0; 5];
            b[0..4].copy_from_slice(&self.share_session_epoch.to_be_bytes());
            b[4..5].copy_from_slice(&[u8::from(self.is_renew_ack)]);
            w.raw(&b);
        } else {
            w.i32(self.share_session_epoch);
            if self.is_renew_ack {
                return Err(EncodeError::NotInVersion {
                    message: "ShareAcknowledgeRequest",
                    field: "IsRenewAck",
                    version,
                });
            }
        }
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ShareAcknowledgeRequest", version)
    }
}

#[cfg(feature = "json")]
impl ShareAcknowledgeRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "groupId".into(),
            match &self.group_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "memberId".into(),
            match &self.member_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("shareSessionEpoch".into(), {
            let v = &self.share_session_epoch;
            (*v).into()
        });
        if version >= 2 {
            o.insert("isRenewAck".into(), {
                let v = &self.is_renew_ack;
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

/// `AcknowledgeTopic`, part of ShareAcknowledgeRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AcknowledgeTopic {
    pub topic_id: Uuid,
    pub partitions: Vec<AcknowledgePartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AcknowledgeTopic {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AcknowledgeTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let partitions = r.vec(true, |r| AcknowledgePartition::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "AcknowledgeTopic", version)
    }
}

#[cfg(feature = "json")]
impl AcknowledgeTopic {
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

/// `AcknowledgePartition`, part of ShareAcknowledgeRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AcknowledgePartition {
    pub partition_index: i32,
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AcknowledgePartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            acknowledgement_batches: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AcknowledgePartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let acknowledgement_batches = r.vec(true, |r| AcknowledgementBatch::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { partition_index, acknowledgement_batches, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.partition_index);
        w.array(true, Some(&self.acknowledgement_batches[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "AcknowledgePartition", version)
    }
}

#[cfg(feature = "json")]
impl AcknowledgePartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("acknowledgementBatches".into(), {
            let v = &self.acknowledgement_batches;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AcknowledgementBatch`, part of ShareAcknowledgeRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AcknowledgementBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub acknowledge_types: Vec<i8>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AcknowledgementBatch {
    fn default() -> Self {
        Self {
            first_offset: 0,
            last_offset: 0,
            acknowledge_types: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AcknowledgementBatch {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let first_offset = r.i64()?;
        let last_offset = r.i64()?;
        let acknowledge_types = r.vec(true, |r| r.i8())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { first_offset, last_offset, acknowledge_types, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 16];
        b[0..8].copy_from_slice(&self.first_offset.to_be_bytes());
        b[8..16].copy_from_slice(&self.last_offset.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.acknowledge_types[..]), |w, v| {
            w.i8(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "AcknowledgementBatch", version)
    }
}

#[cfg(feature = "json")]
impl AcknowledgementBatch {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("firstOffset".into(), {
            let v = &self.first_offset;
            (*v).into()
        });
        o.insert("lastOffset".into(), {
            let v = &self.last_offset;
            (*v).into()
        });
        o.insert("acknowledgeTypes".into(), {
            let v = &self.acknowledge_types;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ShareAcknowledgeRequest {
    const NAME: &'static str = "ShareAcknowledgeRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for ShareAcknowledgeRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ShareAcknowledgeRequest {
    const API_KEY: ApiKey = ApiKey(79);
    type Response = super::share_acknowledge_response::ShareAcknowledgeResponse;
}
