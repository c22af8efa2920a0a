//! ShareGroupCurrentMemberAssignmentValue, versions 0 to 0.

use super::prelude::*;

/// `ShareGroupCurrentMemberAssignmentValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareGroupCurrentMemberAssignmentValue {
    pub member_epoch: i32,
    pub previous_member_epoch: i32,
    pub state: i8,
    pub assigned_partitions: Vec<TopicPartitions>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareGroupCurrentMemberAssignmentValue {
    fn default() -> Self {
        Self {
            member_epoch: 0,
            previous_member_epoch: 0,
            state: 0,
            assigned_partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ShareGroupCurrentMemberAssignmentValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let member_epoch = r.i32()?;
        let previous_member_epoch = r.i32()?;
        let state = r.i8()?;
        let assigned_partitions = r.vec(true, |r| TopicPartitions::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { member_epoch, previous_member_epoch, state, assigned_partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 9];
        b[0..4].copy_from_slice(&self.member_epoch.to_be_bytes());
        b[4..8].copy_from_slice(&self.previous_member_epoch.to_be_bytes());
        b[8..9].copy_from_slice(&self.state.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.assigned_partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ShareGroupCurrentMemberAssignmentValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ShareGroupCurrentMemberAssignmentValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("memberEpoch".into(), {
            let v = &self.member_epoch;
            (*v).into()
        });
        o.insert("previousMemberEpoch".into(), {
            let v = &self.previous_member_epoch;
            (*v).into()
        });
        o.insert("state".into(), {
            let v = &self.state;
            (*v).into()
        });
        o.insert("assignedPartitions".into(), {
            let v = &self.assigned_partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicPartitions`, part of ShareGroupCurrentMemberAssignmentValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicPartitions {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicPartitions {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let partitions = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.array(true, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "TopicPartitions", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicPartitions {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ShareGroupCurrentMemberAssignmentValue {
    const NAME: &'static str = "ShareGroupCurrentMemberAssignmentValue";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
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

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for ShareGroupCurrentMemberAssignmentValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ShareGroupCurrentMemberAssignmentValue {
    /// Number of this record type.
    pub const KEY: i16 = 14;
}
