//! AlterPartitionResponse, versions 2 to 3.

use super::prelude::*;

/// `AlterPartitionResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterPartitionResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub topics: Vec<TopicData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterPartitionResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterPartitionResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let topics = r.vec(true, |r| TopicData::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, error_code, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "AlterPartitionResponse", version)
    }
}

#[cfg(feature = "json")]
impl AlterPartitionResponse {
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
        serde_json::Value::Object(o)
    }
}

/// `TopicData`, part of AlterPartitionResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicData {
    pub topic_id: Uuid,
    pub partitions: Vec<PartitionData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicData {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicData {
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
        w.unknown_tags(true, &self.unknown_tags, "TopicData", version)
    }
}

#[cfg(feature = "json")]
impl TopicData {
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

/// `PartitionData`, part of AlterPartitionResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionData {
    pub partition_index: i32,
    pub error_code: ErrorCode,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub isr: Vec<i32>,
    pub leader_recovery_state: i8,
    pub partition_epoch: i32,
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
            isr: Default::default(),
            leader_recovery_state: 0,
            partition_epoch: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let isr = r.vec(true, |r| r.i32())?;
        let leader_recovery_state = r.i8()?;
        let partition_epoch = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            partition_index,
            error_code,
            leader_id,
            leader_epoch,
            isr,
            leader_recovery_state,
            partition_epoch,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 14];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[6..10].copy_from_slice(&self.leader_id.to_be_bytes());
        b[10..14].copy_from_slice(&self.leader_epoch.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.isr[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        let mut b = [0; 5];
        b[0..1].copy_from_slice(&self.leader_recovery_state.to_be_bytes());
        b[1..5].copy_from_slice(&self.partition_epoch.to_be_bytes());
        w.raw(&b);
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
        o.insert("isr".into(), {
            let v = &self.isr;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("leaderRecoveryState".into(), {
            let v = &self.leader_recovery_state;
            (*v).into()
        });
        o.insert("partitionEpoch".into(), {
            let v = &self.partition_epoch;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AlterPartitionResponse {
    const NAME: &'static str = "AlterPartitionResponse";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 3;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for AlterPartitionResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
