//! OffsetForLeaderEpochRequest, versions 2 to 4.

use super::prelude::*;

/// `OffsetForLeaderEpochRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetForLeaderEpochRequest {
    pub replica_id: i32,
    pub topics: Vec<OffsetForLeaderTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetForLeaderEpochRequest {
    fn default() -> Self {
        Self { replica_id: -2, topics: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl OffsetForLeaderEpochRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let replica_id = if version >= 3 { r.i32()? } else { -2 };
        let topics = r.vec(flex, |r| OffsetForLeaderTopic::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { replica_id, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        if version >= 3 {
            w.i32(self.replica_id);
        }
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "OffsetForLeaderEpochRequest", version)
    }
}

#[cfg(feature = "json")]
impl OffsetForLeaderEpochRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert("replicaId".into(), {
                let v = &self.replica_id;
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

/// `OffsetForLeaderTopic`, part of OffsetForLeaderEpochRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetForLeaderTopic {
    pub topic: String,
    pub partitions: Vec<OffsetForLeaderPartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetForLeaderTopic {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetForLeaderTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let topic = r.string(flex)?;
        let partitions = r.vec(flex, |r| OffsetForLeaderPartition::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.topic)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "OffsetForLeaderTopic", version)
    }
}

#[cfg(feature = "json")]
impl OffsetForLeaderTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topic".into(), {
            let v = &self.topic;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `OffsetForLeaderPartition`, part of OffsetForLeaderEpochRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetForLeaderPartition {
    pub partition: i32,
    pub current_leader_epoch: i32,
    pub leader_epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetForLeaderPartition {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            leader_epoch: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetForLeaderPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let partition = r.i32()?;
        let current_leader_epoch = r.i32()?;
        let leader_epoch = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition, current_leader_epoch, leader_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.partition.to_be_bytes());
        b[4..8].copy_from_slice(&self.current_leader_epoch.to_be_bytes());
        b[8..12].copy_from_slice(&self.leader_epoch.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "OffsetForLeaderPartition", version)
    }
}

#[cfg(feature = "json")]
impl OffsetForLeaderPartition {
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
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for OffsetForLeaderEpochRequest {
    const NAME: &'static str = "OffsetForLeaderEpochRequest";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 4;
    const FLEXIBLE_FROM: i16 = 4;
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
impl crate::json::ToJson for OffsetForLeaderEpochRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for OffsetForLeaderEpochRequest {
    const API_KEY: ApiKey = ApiKey(23);
    type Response = super::offset_for_leader_epoch_response::OffsetForLeaderEpochResponse;
}
