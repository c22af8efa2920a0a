//! PartitionChangeRecord, versions 0 to 2.

use super::prelude::*;

/// `PartitionChangeRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PartitionChangeRecord {
    pub partition_id: i32,
    pub topic_id: Uuid,
    pub isr: Option<Vec<i32>>,
    pub leader: i32,
    pub replicas: Option<Vec<i32>>,
    pub removing_replicas: Option<Vec<i32>>,
    pub adding_replicas: Option<Vec<i32>>,
    pub leader_recovery_state: i8,
    pub directories: Option<Vec<Uuid>>,
    pub eligible_leader_replicas: Option<Vec<i32>>,
    pub last_known_elr: Option<Vec<i32>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PartitionChangeRecord {
    fn default() -> Self {
        Self {
            partition_id: -1,
            topic_id: Default::default(),
            isr: None,
            leader: -2,
            replicas: None,
            removing_replicas: None,
            adding_replicas: None,
            leader_recovery_state: -1,
            directories: None,
            eligible_leader_replicas: None,
            last_known_elr: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl PartitionChangeRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_id = r.i32()?;
        let topic_id = r.uuid()?;
        let mut isr = None;
        let mut leader = -2;
        let mut replicas = None;
        let mut removing_replicas = None;
        let mut adding_replicas = None;
        let mut leader_recovery_state = -1;
        let mut directories = None;
        let mut eligible_leader_replicas = None;
        let mut last_known_elr = None;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        isr = r.nullable_vec(true, |r| r.i32())?;
                    }
                    1 => {
                        leader = r.i32()?;
                    }
                    2 => {
                        replicas = r.nullable_vec(true, |r| r.i32())?;
                    }
                    3 => {
                        removing_replicas = r.nullable_vec(true, |r| r.i32())?;
                    }
                    4 => {
                        adding_replicas = r.nullable_vec(true, |r| r.i32())?;
                    }
                    5 => {
                        leader_recovery_state = r.i8()?;
                    }
                    8 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 8, version });
                        }
                        directories = r.nullable_vec(true, |r| r.uuid())?;
                    }
                    6 => {
                        if !(version >= 2) {
                            return Err(DecodeError::TagNotInVersion { tag: 6, version });
                        }
                        eligible_leader_replicas = r.nullable_vec(true, |r| r.i32())?;
                    }
                    7 => {
                        if !(version >= 2) {
                            return Err(DecodeError::TagNotInVersion { tag: 7, version });
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
            isr,
            leader,
            replicas,
            removing_replicas,
            adding_replicas,
            leader_recovery_state,
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
        let mut count = self.unknown_tags.len();
        let tag_0 = self.isr.is_some();
        count += usize::from(tag_0);
        let tag_1 = self.leader != -2;
        count += usize::from(tag_1);
        let tag_2 = self.replicas.is_some();
        count += usize::from(tag_2);
        let tag_3 = self.removing_replicas.is_some();
        count += usize::from(tag_3);
        let tag_4 = self.adding_replicas.is_some();
        count += usize::from(tag_4);
        let tag_5 = self.leader_recovery_state != -1;
        count += usize::from(tag_5);
        let tag_6 = version >= 2 && self.eligible_leader_replicas.is_some();
        count += usize::from(tag_6);
        let tag_7 = version >= 2 && self.last_known_elr.is_some();
        count += usize::from(tag_7);
        let tag_8 = version >= 1 && self.directories.is_some();
        count += usize::from(tag_8);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.array(true, self.isr.as_deref(), |w, v| {
                    w.i32(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(1), &mut raw)?;
            if tag_1 {
                let at = w.begin_tag(1);
                w.i32(self.leader);
                w.end_tag(at);
            }
            w.raw_tags_below(Some(2), &mut raw)?;
            if tag_2 {
                let at = w.begin_tag(2);
                w.array(true, self.replicas.as_deref(), |w, v| {
                    w.i32(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(3), &mut raw)?;
            if tag_3 {
                let at = w.begin_tag(3);
                w.array(true, self.removing_replicas.as_deref(), |w, v| {
                    w.i32(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(4), &mut raw)?;
            if tag_4 {
                let at = w.begin_tag(4);
                w.array(true, self.adding_replicas.as_deref(), |w, v| {
                    w.i32(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(5), &mut raw)?;
            if tag_5 {
                let at = w.begin_tag(5);
                w.i8(self.leader_recovery_state);
                w.end_tag(at);
            }
            w.raw_tags_below(Some(6), &mut raw)?;
            if tag_6 {
                let at = w.begin_tag(6);
                w.array(true, self.eligible_leader_replicas.as_deref(), |w, v| {
                    w.i32(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(7), &mut raw)?;
            if tag_7 {
                let at = w.begin_tag(7);
                w.array(true, self.last_known_elr.as_deref(), |w, v| {
                    w.i32(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(8), &mut raw)?;
            if tag_8 {
                let at = w.begin_tag(8);
                w.array(true, self.directories.as_deref(), |w, v| {
                    w.uuid(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        if !(version >= 2) {
            if self.eligible_leader_replicas.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionChangeRecord",
                    field: "EligibleLeaderReplicas",
                    version,
                });
            }
        }
        if !(version >= 2) {
            if self.last_known_elr.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionChangeRecord",
                    field: "LastKnownElr",
                    version,
                });
            }
        }
        if !(version >= 1) {
            if self.directories.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "PartitionChangeRecord",
                    field: "Directories",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl PartitionChangeRecord {
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
        if self.isr.is_some() {
            o.insert(
                "isr".into(),
                match &self.isr {
                    Some(v) => serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect()),
                    None => serde_json::Value::Null,
                },
            );
        }
        if self.leader != -2 {
            o.insert("leader".into(), {
                let v = &self.leader;
                (*v).into()
            });
        }
        if self.replicas.is_some() {
            o.insert(
                "replicas".into(),
                match &self.replicas {
                    Some(v) => serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect()),
                    None => serde_json::Value::Null,
                },
            );
        }
        if self.removing_replicas.is_some() {
            o.insert(
                "removingReplicas".into(),
                match &self.removing_replicas {
                    Some(v) => serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect()),
                    None => serde_json::Value::Null,
                },
            );
        }
        if self.adding_replicas.is_some() {
            o.insert(
                "addingReplicas".into(),
                match &self.adding_replicas {
                    Some(v) => serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect()),
                    None => serde_json::Value::Null,
                },
            );
        }
        if self.leader_recovery_state != -1 {
            o.insert("leaderRecoveryState".into(), {
                let v = &self.leader_recovery_state;
                (*v).into()
            });
        }
        if version >= 1 {
            if self.directories.is_some() {
                o.insert(
                    "directories".into(),
                    match &self.directories {
                        Some(v) => serde_json::Value::Array(
                            v.iter().map(|v| v.to_string().into()).collect(),
                        ),
                        None => serde_json::Value::Null,
                    },
                );
            }
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

impl Message for PartitionChangeRecord {
    const NAME: &'static str = "PartitionChangeRecord";
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
impl crate::json::ToJson for PartitionChangeRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl PartitionChangeRecord {
    /// Number of this record type.
    pub const KEY: i16 = 5;
}
