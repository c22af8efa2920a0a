//! ConsumerGroupCurrentMemberAssignmentValue, versions 0 to 0.

use super::prelude::*;

/// `ConsumerGroupCurrentMemberAssignmentValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    pub member_epoch: i32,
    pub previous_member_epoch: i32,
    pub state: i8,
    pub assigned_partitions: Vec<TopicPartitions>,
    pub partitions_pending_revocation: Vec<TopicPartitions>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ConsumerGroupCurrentMemberAssignmentValue {
    fn default() -> Self {
        Self {
            member_epoch: 0,
            previous_member_epoch: 0,
            state: 0,
            assigned_partitions: Default::default(),
            partitions_pending_revocation: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ConsumerGroupCurrentMemberAssignmentValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let member_epoch = r.i32()?;
        let previous_member_epoch = r.i32()?;
        let state = r.i8()?;
        let assigned_partitions = r.vec(true, |r| TopicPartitions::read(r, version))?;
        let partitions_pending_revocation = r.vec(true, |r| TopicPartitions::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            member_epoch,
            previous_member_epoch,
            state,
            assigned_partitions,
            partitions_pending_revocation,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 9];
        b[0..4].copy_from_slice(&self.member_epoch.to_be_bytes());
        b[4..8].copy_from_slice(&self.previous_member_epoch.to_be_bytes());
        b[8..9].copy_from_slice(&self.state.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.assigned_partitions[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.partitions_pending_revocation[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(
            true,
            &self.unknown_tags,
            "ConsumerGroupCurrentMemberAssignmentValue",
            version,
        )
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ConsumerGroupCurrentMemberAssignmentValue {
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
        o.insert("partitionsPendingRevocation".into(), {
            let v = &self.partitions_pending_revocation;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicPartitions`, part of ConsumerGroupCurrentMemberAssignmentValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
    pub assignment_epochs: Option<Vec<i32>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicPartitions {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            partitions: Default::default(),
            assignment_epochs: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicPartitions {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let partitions = r.vec(true, |r| r.i32())?;
        let mut assignment_epochs = Some(Default::default());
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        assignment_epochs = r.nullable_vec(true, |r| r.i32())?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self { topic_id, partitions, assignment_epochs, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.array(true, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        let mut count = self.unknown_tags.len();
        let tag_0 = !self.assignment_epochs.as_ref().is_some_and(|v| v.is_empty());
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.array(true, self.assignment_epochs.as_deref(), |w, v| {
                    w.i32(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
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
        if !self.assignment_epochs.as_ref().is_some_and(|v| v.is_empty()) {
            o.insert(
                "assignmentEpochs".into(),
                match &self.assignment_epochs {
                    Some(v) => serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect()),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ConsumerGroupCurrentMemberAssignmentValue {
    const NAME: &'static str = "ConsumerGroupCurrentMemberAssignmentValue";
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
impl crate::json::ToJson for ConsumerGroupCurrentMemberAssignmentValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ConsumerGroupCurrentMemberAssignmentValue {
    /// Number of this record type.
    pub const KEY: i16 = 8;
}
