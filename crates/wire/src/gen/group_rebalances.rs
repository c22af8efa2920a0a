//! GroupRebalances, versions 0 to 0.

use super::prelude::*;

/// `GroupRebalances`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct GroupRebalances {
    pub mode: String,
    pub reason: String,
    pub rebalances: Vec<GroupRebalance>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for GroupRebalances {
    fn default() -> Self {
        Self {
            mode: String::new(),
            reason: String::new(),
            rebalances: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl GroupRebalances {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let mode = r.string(true)?;
        let reason = r.string(true)?;
        let rebalances = r.vec(true, |r| GroupRebalance::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { mode, reason, rebalances, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.mode)?;
        w.string(true, &self.reason)?;
        w.array(true, Some(&self.rebalances[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "GroupRebalances", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl GroupRebalances {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("mode".into(), {
            let v = &self.mode;
            v.as_str().into()
        });
        o.insert("reason".into(), {
            let v = &self.reason;
            v.as_str().into()
        });
        o.insert("rebalances".into(), {
            let v = &self.rebalances;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `GroupRebalance`, part of GroupRebalances.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct GroupRebalance {
    pub epoch: i32,
    pub began_ms: i64,
    pub assigned_ms: i64,
    pub over_ms: i64,
    pub superseded_by: i32,
    pub members: i32,
    pub triggers: Vec<RebalanceTrigger>,
    pub trigger_count: i32,
    pub moves: Vec<PartitionMove>,
    pub move_count: i32,
    pub waits: Vec<RebalanceWait>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for GroupRebalance {
    fn default() -> Self {
        Self {
            epoch: 0,
            began_ms: 0,
            assigned_ms: -1,
            over_ms: -1,
            superseded_by: -1,
            members: 0,
            triggers: Default::default(),
            trigger_count: 0,
            moves: Default::default(),
            move_count: 0,
            waits: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl GroupRebalance {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let epoch = r.i32()?;
        let began_ms = r.i64()?;
        let assigned_ms = r.i64()?;
        let over_ms = r.i64()?;
        let superseded_by = r.i32()?;
        let members = r.i32()?;
        let triggers = r.vec(true, |r| RebalanceTrigger::read(r, version))?;
        let trigger_count = r.i32()?;
        let moves = r.vec(true, |r| PartitionMove::read(r, version))?;
        let move_count = r.i32()?;
        let waits = r.vec(true, |r| RebalanceWait::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            epoch,
            began_ms,
            assigned_ms,
            over_ms,
            superseded_by,
            members,
            triggers,
            trigger_count,
            moves,
            move_count,
            waits,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 36];
        b[0..4].copy_from_slice(&self.epoch.to_be_bytes());
        b[4..12].copy_from_slice(&self.began_ms.to_be_bytes());
        b[12..20].copy_from_slice(&self.assigned_ms.to_be_bytes());
        b[20..28].copy_from_slice(&self.over_ms.to_be_bytes());
        b[28..32].copy_from_slice(&self.superseded_by.to_be_bytes());
        b[32..36].copy_from_slice(&self.members.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.triggers[..]), |w, v| v.write(w, version))?;
        w.i32(self.trigger_count);
        w.array(true, Some(&self.moves[..]), |w, v| v.write(w, version))?;
        w.i32(self.move_count);
        w.array(true, Some(&self.waits[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "GroupRebalance", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl GroupRebalance {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("epoch".into(), {
            let v = &self.epoch;
            (*v).into()
        });
        o.insert("beganMs".into(), {
            let v = &self.began_ms;
            (*v).into()
        });
        o.insert("assignedMs".into(), {
            let v = &self.assigned_ms;
            (*v).into()
        });
        o.insert("overMs".into(), {
            let v = &self.over_ms;
            (*v).into()
        });
        o.insert("supersededBy".into(), {
            let v = &self.superseded_by;
            (*v).into()
        });
        o.insert("members".into(), {
            let v = &self.members;
            (*v).into()
        });
        o.insert("triggers".into(), {
            let v = &self.triggers;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("triggerCount".into(), {
            let v = &self.trigger_count;
            (*v).into()
        });
        o.insert("moves".into(), {
            let v = &self.moves;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("moveCount".into(), {
            let v = &self.move_count;
            (*v).into()
        });
        o.insert("waits".into(), {
            let v = &self.waits;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `RebalanceTrigger`, part of GroupRebalances.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RebalanceTrigger {
    pub kind: i8,
    pub subject: String,
    pub client_id: String,
    pub reason: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RebalanceTrigger {
    fn default() -> Self {
        Self {
            kind: 0,
            subject: String::new(),
            client_id: String::new(),
            reason: String::new(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl RebalanceTrigger {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let kind = r.i8()?;
        let subject = r.string(true)?;
        let client_id = r.string(true)?;
        let reason = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { kind, subject, client_id, reason, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i8(self.kind);
        w.string(true, &self.subject)?;
        w.string(true, &self.client_id)?;
        w.string(true, &self.reason)?;
        w.unknown_tags(true, &self.unknown_tags, "RebalanceTrigger", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RebalanceTrigger {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("kind".into(), {
            let v = &self.kind;
            (*v).into()
        });
        o.insert("subject".into(), {
            let v = &self.subject;
            v.as_str().into()
        });
        o.insert("clientId".into(), {
            let v = &self.client_id;
            v.as_str().into()
        });
        o.insert("reason".into(), {
            let v = &self.reason;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

/// `PartitionMove`, part of GroupRebalances.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionMove {
    pub topic: String,
    pub partition: i32,
    pub from: Option<String>,
    pub to: Option<String>,
    pub told_ms: i64,
    pub freed_ms: i64,
    pub taken_ms: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionMove {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partition: 0,
            from: None,
            to: None,
            told_ms: -1,
            freed_ms: -1,
            taken_ms: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionMove {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic = r.string(true)?;
        let partition = r.i32()?;
        let from = r.nullable_string(true)?;
        let to = r.nullable_string(true)?;
        let told_ms = r.i64()?;
        let freed_ms = r.i64()?;
        let taken_ms = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic, partition, from, to, told_ms, freed_ms, taken_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic)?;
        w.i32(self.partition);
        w.nullable_string(true, self.from.as_deref())?;
        w.nullable_string(true, self.to.as_deref())?;
        let mut b = [0; 24];
        b[0..8].copy_from_slice(&self.told_ms.to_be_bytes());
        b[8..16].copy_from_slice(&self.freed_ms.to_be_bytes());
        b[16..24].copy_from_slice(&self.taken_ms.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "PartitionMove", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl PartitionMove {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topic".into(), {
            let v = &self.topic;
            v.as_str().into()
        });
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        o.insert(
            "from".into(),
            match &self.from {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "to".into(),
            match &self.to {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("toldMs".into(), {
            let v = &self.told_ms;
            (*v).into()
        });
        o.insert("freedMs".into(), {
            let v = &self.freed_ms;
            (*v).into()
        });
        o.insert("takenMs".into(), {
            let v = &self.taken_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `RebalanceWait`, part of GroupRebalances.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RebalanceWait {
    pub step: i8,
    pub member: String,
    pub ended_ms: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RebalanceWait {
    fn default() -> Self {
        Self { step: 0, member: String::new(), ended_ms: -1, unknown_tags: RawTags::default() }
    }
}

impl RebalanceWait {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let step = r.i8()?;
        let member = r.string(true)?;
        let ended_ms = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { step, member, ended_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i8(self.step);
        w.string(true, &self.member)?;
        w.i64(self.ended_ms);
        w.unknown_tags(true, &self.unknown_tags, "RebalanceWait", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RebalanceWait {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("step".into(), {
            let v = &self.step;
            (*v).into()
        });
        o.insert("member".into(), {
            let v = &self.member;
            v.as_str().into()
        });
        o.insert("endedMs".into(), {
            let v = &self.ended_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for GroupRebalances {
    const NAME: &'static str = "GroupRebalances";
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
impl crate::json::ToJson for GroupRebalances {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
