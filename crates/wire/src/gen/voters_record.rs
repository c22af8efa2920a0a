//! VotersRecord, versions 0 to 0.

use super::prelude::*;

/// `VotersRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct VotersRecord {
    pub version: i16,
    pub voters: Vec<Voter>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for VotersRecord {
    fn default() -> Self {
        Self { version: 0, voters: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl VotersRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let its_version = r.i16()?;
        let voters = r.vec(true, |r| Voter::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { version: its_version, voters, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i16(self.version);
        w.array(true, Some(&self.voters[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "VotersRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl VotersRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("version".into(), {
            let v = &self.version;
            (*v).into()
        });
        o.insert("voters".into(), {
            let v = &self.voters;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `Voter`, part of VotersRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Voter {
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
    pub endpoints: Vec<Endpoint>,
    pub k_raft_version_feature: KRaftVersionFeature,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Voter {
    fn default() -> Self {
        Self {
            voter_id: 0,
            voter_directory_id: Default::default(),
            endpoints: Default::default(),
            k_raft_version_feature: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl Voter {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let voter_id = r.i32()?;
        let voter_directory_id = r.uuid()?;
        let endpoints = r.vec(true, |r| Endpoint::read(r, version))?;
        let k_raft_version_feature = KRaftVersionFeature::read(r, version)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { voter_id, voter_directory_id, endpoints, k_raft_version_feature, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 20];
        b[0..4].copy_from_slice(&self.voter_id.to_be_bytes());
        b[4..20].copy_from_slice(&self.voter_directory_id.0);
        w.raw(&b);
        w.array(true, Some(&self.endpoints[..]), |w, v| v.write(w, version))?;
        self.k_raft_version_feature.write(w, version)?;
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
        o.insert("voterDirectoryId".into(), {
            let v = &self.voter_directory_id;
            v.to_string().into()
        });
        o.insert("endpoints".into(), {
            let v = &self.endpoints;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("kRaftVersionFeature".into(), {
            let v = &self.k_raft_version_feature;
            v.json(version)
        });
        serde_json::Value::Object(o)
    }
}

/// `Endpoint`, part of VotersRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Endpoint {
    pub name: String,
    pub host: String,
    pub port: u16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self { name: String::new(), host: String::new(), port: 0, unknown_tags: RawTags::default() }
    }
}

impl Endpoint {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let host = r.string(true)?;
        let port = r.u16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, host, port, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.string(true, &self.host)?;
        w.u16(self.port);
        w.unknown_tags(true, &self.unknown_tags, "Endpoint", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl Endpoint {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("host".into(), {
            let v = &self.host;
            v.as_str().into()
        });
        o.insert("port".into(), {
            let v = &self.port;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `KRaftVersionFeature`, part of VotersRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct KRaftVersionFeature {
    pub min_supported_version: i16,
    pub max_supported_version: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for KRaftVersionFeature {
    fn default() -> Self {
        Self {
            min_supported_version: 0,
            max_supported_version: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl KRaftVersionFeature {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let min_supported_version = r.i16()?;
        let max_supported_version = r.i16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { min_supported_version, max_supported_version, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 4];
        b[0..2].copy_from_slice(&self.min_supported_version.to_be_bytes());
        b[2..4].copy_from_slice(&self.max_supported_version.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "KRaftVersionFeature", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl KRaftVersionFeature {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("minSupportedVersion".into(), {
            let v = &self.min_supported_version;
            (*v).into()
        });
        o.insert("maxSupportedVersion".into(), {
            let v = &self.max_supported_version;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for VotersRecord {
    const NAME: &'static str = "VotersRecord";
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
impl crate::json::ToJson for VotersRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
