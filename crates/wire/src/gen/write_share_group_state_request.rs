//! WriteShareGroupStateRequest, versions 0 to 1.

use super::prelude::*;

/// `WriteShareGroupStateRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WriteShareGroupStateRequest {
    pub group_id: String,
    pub topics: Vec<WriteStateData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for WriteShareGroupStateRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl WriteShareGroupStateRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(true)?;
        let topics = r.vec(true, |r| WriteStateData::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { group_id, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.group_id)?;
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "WriteShareGroupStateRequest", version)
    }
}

#[cfg(feature = "json")]
impl WriteShareGroupStateRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `WriteStateData`, part of WriteShareGroupStateRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WriteStateData {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for WriteStateData {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl WriteStateData {
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
        w.unknown_tags(true, &self.unknown_tags, "WriteStateData", version)
    }
}

#[cfg(feature = "json")]
impl WriteStateData {
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

/// `PartitionData`, part of WriteShareGroupStateRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionData {
    pub partition: i32,
    pub state_epoch: i32,
    pub leader_epoch: i32,
    pub start_offset: i64,
    pub delivery_complete_count: i32,
    pub state_batches: Vec<StateBatch>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition: 0,
            state_epoch: 0,
            leader_epoch: 0,
            start_offset: 0,
            delivery_complete_count: -1,
            state_batches: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition = r.i32()?;
        let state_epoch = r.i32()?;
        let leader_epoch = r.i32()?;
        let start_offset = r.i64()?;
        let delivery_complete_count = if version >= 1 { r.i32()? } else { -1 };
        let state_batches = r.vec(true, |r| StateBatch::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            partition,
            state_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count,
            state_batches,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            let mut b = [0; 24];
            b[0..4].copy_from_slice(&self.partition.to_be_bytes());
            b[4..8].copy_from_slice(&self.state_epoch.to_be_bytes());
            b[8..12].copy_from_slice(&self.leader_epoch.to_be_bytes());
            b[12..20].copy_from_slice(&self.start_offset.to_be_bytes());
            b[20..24].copy_from_slice(&self.delivery_complete_count.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 20];
            b[0..4].copy_from_slice(&self.partition.to_be_bytes());
            b[4..8].copy_from_slice(&self.state_epoch.to_be_bytes());
            b[8..12].copy_from_slice(&self.leader_epoch.to_be_bytes());
            b[12..20].copy_from_slice(&self.start_offset.to_be_bytes());
            w.raw(&b);
        }
        w.array(true, Some(&self.state_batches[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "PartitionData", version)
    }
}

#[cfg(feature = "json")]
impl PartitionData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        o.insert("stateEpoch".into(), {
            let v = &self.state_epoch;
            (*v).into()
        });
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        o.insert("startOffset".into(), {
            let v = &self.start_offset;
            (*v).into()
        });
        if version >= 1 {
            o.insert("deliveryCompleteCount".into(), {
                let v = &self.delivery_complete_count;
                (*v).into()
            });
        }
        o.insert("stateBatches".into(), {
            let v = &self.state_batches;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `StateBatch`, part of WriteShareGroupStateRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StateBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub delivery_state: i8,
    pub delivery_count: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StateBatch {
    fn default() -> Self {
        Self {
            first_offset: 0,
            last_offset: 0,
            delivery_state: 0,
            delivery_count: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl StateBatch {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let first_offset = r.i64()?;
        let last_offset = r.i64()?;
        let delivery_state = r.i8()?;
        let delivery_count = r.i16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { first_offset, last_offset, delivery_state, delivery_count, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 19];
        b[0..8].copy_from_slice(&self.first_offset.to_be_bytes());
        b[8..16].copy_from_slice(&self.last_offset.to_be_bytes());
        b[16..17].copy_from_slice(&self.delivery_state.to_be_bytes());
        b[17..19].copy_from_slice(&self.delivery_count.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "StateBatch", version)
    }
}

#[cfg(feature = "json")]
impl StateBatch {
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
        o.insert("deliveryState".into(), {
            let v = &self.delivery_state;
            (*v).into()
        });
        o.insert("deliveryCount".into(), {
            let v = &self.delivery_count;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for WriteShareGroupStateRequest {
    const NAME: &'static str = "WriteShareGroupStateRequest";
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
impl crate::json::ToJson for WriteShareGroupStateRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for WriteShareGroupStateRequest {
    const API_KEY: ApiKey = ApiKey(85);
    type Response = super::write_share_group_state_response::WriteShareGroupStateResponse;
}
