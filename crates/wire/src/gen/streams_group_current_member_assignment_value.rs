//! StreamsGroupCurrentMemberAssignmentValue, versions 0 to 0.

use super::prelude::*;

/// `StreamsGroupCurrentMemberAssignmentValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupCurrentMemberAssignmentValue {
    pub member_epoch: i32,
    pub previous_member_epoch: i32,
    pub state: i8,
    pub active_tasks: Vec<TaskIds>,
    pub standby_tasks: Vec<TaskIds>,
    pub warmup_tasks: Vec<TaskIds>,
    pub active_tasks_pending_revocation: Vec<TaskIds>,
    pub standby_tasks_pending_revocation: Vec<TaskIds>,
    pub warmup_tasks_pending_revocation: Vec<TaskIds>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupCurrentMemberAssignmentValue {
    fn default() -> Self {
        Self {
            member_epoch: 0,
            previous_member_epoch: 0,
            state: 0,
            active_tasks: Default::default(),
            standby_tasks: Default::default(),
            warmup_tasks: Default::default(),
            active_tasks_pending_revocation: Default::default(),
            standby_tasks_pending_revocation: Default::default(),
            warmup_tasks_pending_revocation: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl StreamsGroupCurrentMemberAssignmentValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let member_epoch = r.i32()?;
        let previous_member_epoch = r.i32()?;
        let state = r.i8()?;
        let active_tasks = r.vec(true, |r| TaskIds::read(r, version))?;
        let standby_tasks = r.vec(true, |r| TaskIds::read(r, version))?;
        let warmup_tasks = r.vec(true, |r| TaskIds::read(r, version))?;
        let active_tasks_pending_revocation = r.vec(true, |r| TaskIds::read(r, version))?;
        let standby_tasks_pending_revocation = r.vec(true, |r| TaskIds::read(r, version))?;
        let warmup_tasks_pending_revocation = r.vec(true, |r| TaskIds::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            member_epoch,
            previous_member_epoch,
            state,
            active_tasks,
            standby_tasks,
            warmup_tasks,
            active_tasks_pending_revocation,
            standby_tasks_pending_revocation,
            warmup_tasks_pending_revocation,
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
        w.array(true, Some(&self.active_tasks[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.standby_tasks[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.warmup_tasks[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.active_tasks_pending_revocation[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.standby_tasks_pending_revocation[..]), |w, v| {
            v.write(w, version)
        })?;
        w.array(true, Some(&self.warmup_tasks_pending_revocation[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(
            true,
            &self.unknown_tags,
            "StreamsGroupCurrentMemberAssignmentValue",
            version,
        )
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl StreamsGroupCurrentMemberAssignmentValue {
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
        o.insert("activeTasks".into(), {
            let v = &self.active_tasks;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("standbyTasks".into(), {
            let v = &self.standby_tasks;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("warmupTasks".into(), {
            let v = &self.warmup_tasks;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("activeTasksPendingRevocation".into(), {
            let v = &self.active_tasks_pending_revocation;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("standbyTasksPendingRevocation".into(), {
            let v = &self.standby_tasks_pending_revocation;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("warmupTasksPendingRevocation".into(), {
            let v = &self.warmup_tasks_pending_revocation;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TaskIds`, part of StreamsGroupCurrentMemberAssignmentValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TaskIds {
    pub subtopology_id: String,
    pub partitions: Vec<i32>,
    pub assignment_epochs: Option<Vec<i32>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TaskIds {
    fn default() -> Self {
        Self {
            subtopology_id: String::new(),
            partitions: Default::default(),
            assignment_epochs: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TaskIds {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let subtopology_id = r.string(true)?;
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
        Ok(Self { subtopology_id, partitions, assignment_epochs, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.subtopology_id)?;
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
impl TaskIds {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("subtopologyId".into(), {
            let v = &self.subtopology_id;
            v.as_str().into()
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

impl Message for StreamsGroupCurrentMemberAssignmentValue {
    const NAME: &'static str = "StreamsGroupCurrentMemberAssignmentValue";
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
impl crate::json::ToJson for StreamsGroupCurrentMemberAssignmentValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl StreamsGroupCurrentMemberAssignmentValue {
    /// Number of this record type.
    pub const KEY: i16 = 22;
}
