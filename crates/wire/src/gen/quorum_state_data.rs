//! QuorumStateData, versions 0 to 1.

use super::prelude::*;

/// `QuorumStateData`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct QuorumStateData {
    pub cluster_id: String,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub voted_id: i32,
    pub voted_directory_id: Uuid,
    pub applied_offset: i64,
    pub current_voters: Option<Vec<Voter>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for QuorumStateData {
    fn default() -> Self {
        Self {
            cluster_id: String::new(),
            leader_id: -1,
            leader_epoch: -1,
            voted_id: -1,
            voted_directory_id: Default::default(),
            applied_offset: 0,
            current_voters: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl QuorumStateData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let cluster_id = if version <= 0 { r.string(true)? } else { String::new() };
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let voted_id = r.i32()?;
        let voted_directory_id = if version >= 1 { r.uuid()? } else { Default::default() };
        let applied_offset = if version <= 0 { r.i64()? } else { 0 };
        let current_voters = if version <= 0 {
            r.nullable_vec(true, |r| Voter::read(r, version))?
        } else {
            Some(Default::default())
        };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            cluster_id,
            leader_id,
            leader_epoch,
            voted_id,
            voted_directory_id,
            applied_offset,
            current_voters,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version <= 0 {
            w.string(true, &self.cluster_id)?;
        } else {
            if !self.cluster_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "QuorumStateData",
                    field: "ClusterId",
                    version,
                });
            }
        }
        if version >= 1 {
            let mut b = [0; 28];
            b[0..4].copy_from_slice(&self.leader_id.to_be_bytes());
            b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
            b[8..12].copy_from_slice(&self.voted_id.to_be_bytes());
            b[12..28].copy_from_slice(&self.voted_directory_id.0);
            w.raw(&b);
        } else {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.leader_id.to_be_bytes());
            b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
            b[8..12].copy_from_slice(&self.voted_id.to_be_bytes());
            w.raw(&b);
            if !self.voted_directory_id.is_zero() {
                return Err(EncodeError::NotInVersion {
                    message: "QuorumStateData",
                    field: "VotedDirectoryId",
                    version,
                });
            }
        }
        if version <= 0 {
            w.i64(self.applied_offset);
        } else {
            if self.applied_offset != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "QuorumStateData",
                    field: "AppliedOffset",
                    version,
                });
            }
        }
        if version <= 0 {
            w.array(true, self.current_voters.as_deref(), |w, v| v.write(w, version))?;
        } else {
            if !self.current_voters.as_ref().is_some_and(|v| v.is_empty()) {
                return Err(EncodeError::NotInVersion {
                    message: "QuorumStateData",
                    field: "CurrentVoters",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "QuorumStateData", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl QuorumStateData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 0 {
            o.insert("clusterId".into(), {
                let v = &self.cluster_id;
                v.as_str().into()
            });
        }
        o.insert("leaderId".into(), {
            let v = &self.leader_id;
            (*v).into()
        });
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        o.insert("votedId".into(), {
            let v = &self.voted_id;
            (*v).into()
        });
        if version >= 1 {
            o.insert("votedDirectoryId".into(), {
                let v = &self.voted_directory_id;
                v.to_string().into()
            });
        }
        if version <= 0 {
            o.insert("appliedOffset".into(), {
                let v = &self.applied_offset;
                (*v).into()
            });
        }
        if version <= 0 {
            o.insert(
                "currentVoters".into(),
                match &self.current_voters {
                    Some(v) => {
                        serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
                    }
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `Voter`, part of QuorumStateData.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Voter {
    pub voter_id: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Voter {
    fn default() -> Self {
        Self { voter_id: 0, unknown_tags: RawTags::default() }
    }
}

impl Voter {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let voter_id = if version <= 0 { r.i32()? } else { 0 };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { voter_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version <= 0 {
            w.i32(self.voter_id);
        } else {
            if self.voter_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "Voter",
                    field: "VoterId",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "Voter", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl Voter {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 0 {
            o.insert("voterId".into(), {
                let v = &self.voter_id;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for QuorumStateData {
    const NAME: &'static str = "QuorumStateData";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
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
impl crate::json::ToJson for QuorumStateData {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
