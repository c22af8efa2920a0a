//! AddRaftVoterRequest, versions 0 to 1.

use super::prelude::*;

/// `AddRaftVoterRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AddRaftVoterRequest {
    pub cluster_id: Option<String>,
    pub timeout_ms: i32,
    pub voter_id: i32,
    pub voter_directory_id: Uuid,
    pub listeners: Vec<Listener>,
    pub ack_when_committed: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AddRaftVoterRequest {
    fn default() -> Self {
        Self {
            cluster_id: Some(String::new()),
            timeout_ms: 0,
            voter_id: 0,
            voter_directory_id: Default::default(),
            listeners: Default::default(),
            ack_when_committed: true,
            unknown_tags: RawTags::default(),
        }
    }
}

impl AddRaftVoterRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let cluster_id = r.nullable_string(true)?;
        let timeout_ms = r.i32()?;
        let voter_id = r.i32()?;
        let voter_directory_id = r.uuid()?;
        let listeners = r.vec(true, |r| Listener::read(r, version))?;
        let ack_when_committed = if version >= 1 { r.bool()? } else { true };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            cluster_id,
            timeout_ms,
            voter_id,
            voter_directory_id,
            listeners,
            ack_when_committed,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.nullable_string(true, self.cluster_id.as_deref())?;
        let mut b = [0; 24];
        b[0..4].copy_from_slice(&self.timeout_ms.to_be_bytes());
        b[4..8].copy_from_slice(&self.voter_id.to_be_bytes());
        b[8..24].copy_from_slice(&self.voter_directory_id.0);
        w.raw(&b);
        w.array(true, Some(&self.listeners[..]), |w, v| v.write(w, version))?;
        if version >= 1 {
            w.bool(self.ack_when_committed);
        } else {
            if !self.ack_when_committed {
                return Err(EncodeError::NotInVersion {
                    message: "AddRaftVoterRequest",
                    field: "AckWhenCommitted",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "AddRaftVoterRequest", version)
    }
}

#[cfg(feature = "json")]
impl AddRaftVoterRequest {
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
        o.insert("timeoutMs".into(), {
            let v = &self.timeout_ms;
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
        if version >= 1 {
            o.insert("ackWhenCommitted".into(), {
                let v = &self.ack_when_committed;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `Listener`, part of AddRaftVoterRequest.
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

impl Message for AddRaftVoterRequest {
    const NAME: &'static str = "AddRaftVoterRequest";
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

#[cfg(feature = "json")]
impl crate::json::ToJson for AddRaftVoterRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AddRaftVoterRequest {
    const API_KEY: ApiKey = ApiKey(80);
    type Response = super::add_raft_voter_response::AddRaftVoterResponse;
}
