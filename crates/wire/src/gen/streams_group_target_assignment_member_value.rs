//! StreamsGroupTargetAssignmentMemberValue, versions 0 to 0.

use super::prelude::*;

/// `StreamsGroupTargetAssignmentMemberValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupTargetAssignmentMemberValue {
    pub active_tasks: Vec<TaskIds>,
    pub standby_tasks: Vec<TaskIds>,
    pub warmup_tasks: Vec<TaskIds>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupTargetAssignmentMemberValue {
    fn default() -> Self {
        Self {
            active_tasks: Default::default(),
            standby_tasks: Default::default(),
            warmup_tasks: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl StreamsGroupTargetAssignmentMemberValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let active_tasks = r.vec(true, |r| TaskIds::read(r, version))?;
        let standby_tasks = r.vec(true, |r| TaskIds::read(r, version))?;
        let warmup_tasks = r.vec(true, |r| TaskIds::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { active_tasks, standby_tasks, warmup_tasks, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.active_tasks[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.standby_tasks[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.warmup_tasks[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "StreamsGroupTargetAssignmentMemberValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl StreamsGroupTargetAssignmentMemberValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
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
        serde_json::Value::Object(o)
    }
}

/// `TaskIds`, part of StreamsGroupTargetAssignmentMemberValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TaskIds {
    pub subtopology_id: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TaskIds {
    fn default() -> Self {
        Self {
            subtopology_id: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TaskIds {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let subtopology_id = r.string(true)?;
        let partitions = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { subtopology_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.subtopology_id)?;
        w.array(true, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "TaskIds", version)
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
        serde_json::Value::Object(o)
    }
}

impl Message for StreamsGroupTargetAssignmentMemberValue {
    const NAME: &'static str = "StreamsGroupTargetAssignmentMemberValue";
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
impl crate::json::ToJson for StreamsGroupTargetAssignmentMemberValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl StreamsGroupTargetAssignmentMemberValue {
    /// Number of this record type.
    pub const KEY: i16 = 21;
}
