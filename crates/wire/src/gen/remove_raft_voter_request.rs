//! RemoveRaftVoterRequest, versions 0 to 0.

use super::prelude::*;

/// `RemoveRaftVoterRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemoveRaftVoterRequest {
    pub cluster_id: Option<String>,
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemoveRaftVoterRequest {
    fn default() -> Self {
        Self {
            cluster_id: Some(String::new()),
            voter_id: 0,
            voter_directory_id: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl RemoveRaftVoterRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let cluster_id = r.nullable_string(true)?;
        let voter_id = r.i32()?;
        let voter_directory_id = r.uuid()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { cluster_id, voter_id, voter_directory_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.nullable_string(true, self.cluster_id.as_deref())?;
        let mut b = [0; 20];
        b[0..4].copy_from_slice(&self.voter_id.to_be_bytes());
        b[4..20].copy_from_slice(&self.voter_directory_id.0);
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "RemoveRaftVoterRequest", version)
    }
}

#[cfg(feature = "json")]
impl RemoveRaftVoterRequest {
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
        o.insert("voterId".into(), {
            let v = &self.voter_id;
            (*v).into()
        });
        o.insert("voterDirectoryId".into(), {
            let v = &self.voter_directory_id;
            v.to_string().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for RemoveRaftVoterRequest {
    const NAME: &'static str = "RemoveRaftVoterRequest";
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
impl crate::json::ToJson for RemoveRaftVoterRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for RemoveRaftVoterRequest {
    const API_KEY: ApiKey = ApiKey(81);
    type Response = super::remove_raft_voter_response::RemoveRaftVoterResponse;
}
