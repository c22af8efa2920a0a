//! LeaderChangeMessage, versions 0 to 1.

use super::prelude::*;

/// `LeaderChangeMessage`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LeaderChangeMessage {
    pub version: i16,
    pub leader_id: i32,
    pub voters: Vec<Voter>,
    pub granting_voters: Vec<Voter>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for LeaderChangeMessage {
    fn default() -> Self {
        Self {
            version: 0,
            leader_id: 0,
            voters: Default::default(),
            granting_voters: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl LeaderChangeMessage {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let its_version = r.i16()?;
        let leader_id = r.i32()?;
        let voters = r.vec(true, |r| Voter::read(r, version))?;
        let granting_voters = r.vec(true, |r| Voter::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { version: its_version, leader_id, voters, granting_voters, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..2].copy_from_slice(&self.version.to_be_bytes());
        b[2..6].copy_from_slice(&self.leader_id.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.voters[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.granting_voters[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "LeaderChangeMessage", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl LeaderChangeMessage {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("version".into(), {
            let v = &self.version;
            (*v).into()
        });
        o.insert("leaderId".into(), {
            let v = &self.leader_id;
            (*v).into()
        });
        o.insert("voters".into(), {
            let v = &self.voters;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("grantingVoters".into(), {
            let v = &self.granting_voters;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `Voter`, part of LeaderChangeMessage.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Voter {
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Voter {
    fn default() -> Self {
        Self {
            voter_id: 0,
            voter_directory_id: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl Voter {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let voter_id = r.i32()?;
        let voter_directory_id = if version >= 1 { r.uuid()? } else { Default::default() };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { voter_id, voter_directory_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            let mut b = [0; 20];
            b[0..4].copy_from_slice(&self.voter_id.to_be_bytes());
            b[4..20].copy_from_slice(&self.voter_directory_id.0);
            w.raw(&b);
        } else {
            w.i32(self.voter_id);
            if !self.voter_directory_id.is_zero() {
                return Err(EncodeError::NotInVersion {
                    message: "Voter",
                    field: "VoterDirectoryId",
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
        o.insert("voterId".into(), {
            let v = &self.voter_id;
            (*v).into()
        });
        if version >= 1 {
            o.insert("voterDirectoryId".into(), {
                let v = &self.voter_directory_id;
                v.to_string().into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for LeaderChangeMessage {
    const NAME: &'static str = "LeaderChangeMessage";
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
impl crate::json::ToJson for LeaderChangeMessage {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
