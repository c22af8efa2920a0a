//! UpdateRaftVoterRequest, versions 0 to 0.

use super::prelude::*;

/// `UpdateRaftVoterRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct UpdateRaftVoterRequest {
    pub cluster_id: Option<String>,
    pub current_leader_epoch: i32,
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
    pub listeners: Vec<Listener>,
    pub k_raft_version_feature: KRaftVersionFeature,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for UpdateRaftVoterRequest {
    fn default() -> Self {
        Self {
            cluster_id: Some(String::new()),
            current_leader_epoch: 0,
            voter_id: 0,
            voter_directory_id: Default::default(),
            listeners: Default::default(),
            k_raft_version_feature: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl UpdateRaftVoterRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let cluster_id = r.nullable_string(true)?;
        let current_leader_epoch = r.i32()?;
        let voter_id = r.i32()?;
        let voter_directory_id = r.uuid()?;
        let listeners = r.vec(true, |r| Listener::read(r, version))?;
        let k_raft_version_feature = KRaftVersionFeature::read(r, version)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            cluster_id,
            current_leader_epoch,
            voter_id,
            voter_directory_id,
            listeners,
            k_raft_version_feature,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.nullable_string(true, self.cluster_id.as_deref())?;
        let mut b = [0; 24];
        b[0..4].copy_from_slice(&self.current_leader_epoch.to_be_bytes());
        b[4..8].copy_from_slice(&self.voter_id.to_be_bytes());
        b[8..24].copy_from_slice(&self.voter_directory_id.0);
        w.raw(&b);
        w.array(true, Some(&self.listeners[..]), |w, v| v.write(w, version))?;
        self.k_raft_version_feature.write(w, version)?;
        w.unknown_tags(true, &self.unknown_tags, "UpdateRaftVoterRequest", version)
    }
}

#[cfg(feature = "json")]
impl UpdateRaftVoterRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "clusterId".into(),
            match &self.cluster_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("currentLeaderEpoch".into(), {
            let v = &self.current_leader_epoch;
            (*v).into()
        });
        o.insert("voterId".into(), {
            let v = &self.voter_id;
            (*v).into()
        });
        o.insert("voterDirectoryId".into(), {
            let v = &self.voter_directory_id;
            v.to_string().into()
        });
        o.insert("listeners".into(), {
            let v = &self.listeners;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("kRaftVersionFeature".into(), {
            let v = &self.k_raft_version_feature;
            v.json(version)
        });
        serde_json::Value::Object(o)
    }
}

/// `Listener`, part of UpdateRaftVoterRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Listener {
    pub name: String,
    pub host: String,
    pub port: u16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Listener {
    fn default() -> Self {
        Self { name: String::new(), host: String::new(), port: 0, unknown_tags: RawTags::default() }
    }
}

impl Listener {
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
        w.unknown_tags(true, &self.unknown_tags, "Listener", version)
    }
}

#[cfg(feature = "json")]
impl Listener {
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

/// `KRaftVersionFeature`, part of UpdateRaftVoterRequest.
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

#[cfg(feature = "json")]
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

impl Message for UpdateRaftVoterRequest {
    const NAME: &'static str = "UpdateRaftVoterRequest";
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

#[cfg(feature = "json")]
impl crate::json::ToJson for UpdateRaftVoterRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for UpdateRaftVoterRequest {
    const API_KEY: ApiKey = ApiKey(82);
    type Response = super::update_raft_voter_response::UpdateRaftVoterResponse;
}
