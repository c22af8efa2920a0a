//! AlterPartitionRequest, versions 2 to 3.

use super::prelude::*;

/// `AlterPartitionRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterPartitionRequest {
    pub broker_id: i32,
    pub broker_epoch: i64,
    pub topics: Vec<TopicData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterPartitionRequest {
    fn default() -> Self {
        Self {
            broker_id: 0,
            broker_epoch: -1,
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterPartitionRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let broker_id = r.i32()?;
        let broker_epoch = r.i64()?;
        let topics = r.vec(true, |r| TopicData::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { broker_id, broker_epoch, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.broker_id.to_be_bytes());
        b[4..12].copy_from_slice(&self.broker_epoch.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "AlterPartitionRequest", version)
    }
}

#[cfg(feature = "json")]
impl AlterPartitionRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("brokerId".into(), {
            let v = &self.broker_id;
            (*v).into()
        });
        o.insert("brokerEpoch".into(), {
            let v = &self.broker_epoch;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicData`, part of AlterPartitionRequest.
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

/// `PartitionData`, part of AlterPartitionRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionData {
    pub partition_index: i32,
    pub leader_epoch: i32,
    pub new_isr: Vec<i32>,
    pub new_isr_with_epochs: Vec<BrokerState>,
    pub leader_recovery_state: i8,
    pub partition_epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            leader_epoch: 0,
            new_isr: Default::default(),
            new_isr_with_epochs: Default::default(),
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
        let leader_epoch = r.i32()?;
        let new_isr = if version <= 2 { r.vec(true, |r| r.i32())? } else { Default::default() };
        let new_isr_with_epochs = if version >= 3 {
            r.vec(true, |r| BrokerState::read(r, version))?
        } else {
            Default::default()
        };
        let leader_recovery_state = r.i8()?;
        let partition_epoch = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            partition_index,
            leader_epoch,
            new_isr,
            new_isr_with_epochs,
            leader_recovery_state,
            partition_epoch,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
        w.raw(&b);
        if version <= 2 {
            w.array(true, Some(&self.new_isr[..]), |w, v| {
                w.i32(*v);
                Ok(())
            })?;
        } else {
            if !self.new_isr.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "NewIsr",
                    version,
                });
            }
        }
        if version >= 3 {
            w.array(true, Some(&self.new_isr_with_epochs[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.new_isr_with_epochs.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionData",
                    field: "NewIsrWithEpochs",
                    version,
                });
            }
        }
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
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        if version <= 2 {
            o.insert("newIsr".into(), {
                let v = &self.new_isr;
                serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
            });
        }
        if version >= 3 {
            o.insert("newIsrWithEpochs".into(), {
                let v = &self.new_isr_with_epochs;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
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

/// `BrokerState`, part of AlterPartitionRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BrokerState {
    pub broker_id: i32,
    pub broker_epoch: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BrokerState {
    fn default() -> Self {
        Self { broker_id: 0, broker_epoch: -1, unknown_tags: RawTags::default() }
    }
}

impl BrokerState {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let broker_id = if version >= 3 { r.i32()? } else { 0 };
        let broker_epoch = if version >= 3 { r.i64()? } else { -1 };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { broker_id, broker_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 3 {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.broker_id.to_be_bytes());
            b[4..12].copy_from_slice(&self.broker_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            if self.broker_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "BrokerState",
                    field: "BrokerId",
                    version,
                });
            }
            if self.broker_epoch != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "BrokerState",
                    field: "BrokerEpoch",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "BrokerState", version)
    }
}

#[cfg(feature = "json")]
impl BrokerState {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert("brokerId".into(), {
                let v = &self.broker_id;
                (*v).into()
            });
        }
        if version >= 3 {
            o.insert("brokerEpoch".into(), {
                let v = &self.broker_epoch;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for AlterPartitionRequest {
    const NAME: &'static str = "AlterPartitionRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for AlterPartitionRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AlterPartitionRequest {
    const API_KEY: ApiKey = ApiKey(56);
    type Response = super::alter_partition_response::AlterPartitionResponse;
}
