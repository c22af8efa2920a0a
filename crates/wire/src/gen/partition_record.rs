//! PartitionRecord, versions 0 to 2.

use super::prelude::*;

/// `PartitionRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionRecord {
    pub partition_id: i32,
    pub topic_id: Uuid,
    pub replicas: Vec<i32>,
    pub isr: Vec<i32>,
    pub removing_replicas: Vec<i32>,
    pub adding_replicas: Vec<i32>,
    pub leader: i32,
    pub leader_recovery_state: i8,
    pub leader_epoch: i32,
    pub partition_epoch: i32,
    pub directories: Vec<Uuid>,
    pub eligible_leader_replicas: Option<Vec<i32>>,
    pub last_known_elr: Option<Vec<i32>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionRecord {
    fn default() -> Self {
        Self {
            partition_id: -1,
            topic_id: Default::default(),
            replicas: Default::default(),
            isr: Default::default(),
            removing_replicas: Default::default(),
            adding_replicas: Default::default(),
            leader: -1,
            leader_recovery_state: 0,
            leader_epoch: -1,
            partition_epoch: -1,
            directories: Default::default(),
            eligible_leader_replicas: None,
            last_known_elr: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_id = r.i32()?;
        let topic_id = r.uuid()?;
        let replicas = r.vec(true, |r| r.i32())?;
        let isr = r.vec(true, |r| r.i32())?;
        let removing_replicas = r.vec(true, |r| r.i32())?;
        let adding_replicas = r.vec(true, |r| r.i32())?;
        let leader = r.i32()?;
        let leader_epoch = r.i32()?;
        let partition_epoch = r.i32()?;
        let directories =
            if version >= 1 { r.vec(true, |r| r.uuid())? } else { Default::default() };
        let mut leader_recovery_state = 0;
        let mut eligible_leader_replicas = None;
        let mut last_known_elr = None;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        leader_recovery_state = r.i8()?;
                    }
                    1 => {
                        if !(version >= 2) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        eligible_leader_replicas = r.nullable_vec(true, |r| r.i32())?;
                    }
                    2 => {
                        if !(version >= 2) {
                            return Err(DecodeError::TagNotInVersion { tag: 2, version });
                        }
                        last_known_elr = r.nullable_vec(true, |r| r.i32())?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            partition_id,
            topic_id,
            replicas,
            isr,
            removing_replicas,
            adding_replicas,
            leader,
            leader_recovery_state,
            leader_epoch,
            partition_epoch,
            directories,
            eligible_leader_replicas,
            last_known_elr,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 20];
        b[0..4].copy_from_slice(&self.partition_id.to_be_bytes());
        b[4..20].copy_from_slice(&self.topic_id.0);
        w.raw(&b);
        w.array(true, Some(&self.replicas[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(true, Some(&self.isr[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(true, Some(&self.removing_replicas[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(true, Some(&self.adding_replicas[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.leader.to_be_bytes());
        b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
        b[8..12].copy_from_slice(&self.partition_epoch.to_be_bytes());
        w.raw(&b);
        if version >= 1 {
            w.array(true, Some(&self.directories[..]), |w, v| {
                w.uuid(*v);
                Ok(())
            })?;
        } else {
            if !self.directories.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionRecord",
                    field: "Directories",
                    version,
                });
            }
        }
        let mut count = self.unknown_tags.len();
        let tag_0 = self.leader_recovery_state != 0;
        count += usize::from(tag_0);
        let tag_1 = version >= 2 && self.eligible_leader_replicas.is_some();
        count += usize::from(tag_1);
        let tag_2 = version >= 2 && self.last_known_elr.is_some();
        count += usize::from(tag_2);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.i8(self.leader_recovery_state);
                w.end_tag(at);
            }
            w.raw_tags_below(Some(1), &mut raw)?;
            if tag_1 {
                let at = w.begin_tag(1);
                w.array(true, self.eligible_leader_replicas.as_deref(), |w, v| {
                    w.i32(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(2), &mut raw)?;
            if tag_2 {
                let at = w.begin_tag(2);
                w.array(true, self.last_known_elr.as_deref(), |w, v| {
                    w.i32(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        if !(version >= 2) {
            if self.eligible_leader_replicas.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionRecord",
                    field: "EligibleLeaderReplicas",
                    version,
                });
            }
        }
        if !(version >= 2) {
            if self.last_known_elr.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionRecord",
                    field: "LastKnownElr",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl PartitionRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionId".into(), {
            let v = &self.partition_id;
            (*v).into()
        });
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        o.insert("replicas".into(), {
            let v = &self.replicas;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("isr".into(), {
            let v = &self.isr;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("removingReplicas".into(), {
            let v = &self.removing_replicas;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("addingReplicas".into(), {
            let v = &self.adding_replicas;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("leader".into(), {
            let v = &self.leader;
            (*v).into()
        });
        if self.leader_recovery_state != 0 {
            o.insert("leaderRecoveryState".into(), {
                let v = &self.leader_recovery_state;
                (*v).into()
            });
        }
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        o.insert("partitionEpoch".into(), {
            let v = &self.partition_epoch;
            (*v).into()
        });
        if version >= 1 {
            o.insert("directories".into(), {
                let v = &self.directories;
                serde_json::Value::Array(v.iter().map(|v| v.to_string().into()).collect())
            });
        }
        if version >= 2 {
            if self.eligible_leader_replicas.is_some() {
                o.insert(
                    "eligibleLeaderReplicas".into(),
                    match &self.eligible_leader_replicas {
                        Some(v) => {
                            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
                        }
                        None => serde_json::Value::Null,
                    },
                );
            }
        }
        if version >= 2 {
            if self.last_known_elr.is_some() {
                o.insert(
                    "lastKnownElr".into(),
                    match &self.last_known_elr {
                        Some(v) => {
                            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
                        }
                        None => serde_json::Value::Null,
                    },
                );
            }
        }
        serde_json::Value::Object(o)
    }
}

impl Message for PartitionRecord {
    const NAME: &'static str = "PartitionRecord";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
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
impl crate::json::ToJson for PartitionRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl PartitionRecord {
    /// Number of this record type.
    pub const KEY: i16 = 3;
}
