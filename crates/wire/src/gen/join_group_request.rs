//! JoinGroupRequest, versions 0 to 9.

use super::prelude::*;

/// `JoinGroupRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct JoinGroupRequest {
    pub group_id: String,
    pub session_timeout_ms: i32,
    pub rebalance_timeout_ms: i32,
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub protocol_type: String,
    pub protocols: Vec<JoinGroupRequestProtocol>,
    pub reason: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for JoinGroupRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            session_timeout_ms: 0,
            rebalance_timeout_ms: -1,
            member_id: String::new(),
            group_instance_id: None,
            protocol_type: String::new(),
            protocols: Default::default(),
            reason: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl JoinGroupRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let group_id = r.string(flex)?;
        let session_timeout_ms = r.i32()?;
        let rebalance_timeout_ms = if version >= 1 { r.i32()? } else { -1 };
        let member_id = r.string(flex)?;
        let group_instance_id = if version >= 5 { r.nullable_string(flex)? } else { None };
        let protocol_type = r.string(flex)?;
        let protocols = r.vec(flex, |r| JoinGroupRequestProtocol::read(r, version))?;
        let reason = if version >= 8 { r.nullable_string(flex)? } else { None };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            group_id,
            session_timeout_ms,
            rebalance_timeout_ms,
            member_id,
            group_instance_id,
            protocol_type,
            protocols,
            reason,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        w.string(flex, &self.group_id)?;
        if version >= 1 {
            let mut b = [0; 8];
            b[0..4].copy_from_slice(&self.session_timeout_ms.to_be_bytes());
            b[4..8].copy_from_slice(&self.rebalance_timeout_ms.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.session_timeout_ms);
        }
        w.string(flex, &self.member_id)?;
        if version >= 5 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        } else {
            if self.group_instance_id.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "JoinGroupRequest",
                    field: "GroupInstanceId",
                    version,
                });
            }
        }
        w.string(flex, &self.protocol_type)?;
        w.array(flex, Some(&self.protocols[..]), |w, v| v.write(w, version))?;
        if version >= 8 {
            w.nullable_string(flex, self.reason.as_deref())?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "JoinGroupRequest", version)
    }
}

#[cfg(feature = "json")]
impl JoinGroupRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("sessionTimeoutMs".into(), {
            let v = &self.session_timeout_ms;
            (*v).into()
        });
        if version >= 1 {
            o.insert("rebalanceTimeoutMs".into(), {
                let v = &self.rebalance_timeout_ms;
                (*v).into()
            });
        }
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        if version >= 5 {
            o.insert(
                "groupInstanceId".into(),
                match &self.group_instance_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert("protocolType".into(), {
            let v = &self.protocol_type;
            v.as_str().into()
        });
        o.insert("protocols".into(), {
            let v = &self.protocols;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 8 {
            o.insert(
                "reason".into(),
                match &self.reason {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `JoinGroupRequestProtocol`, part of JoinGroupRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct JoinGroupRequestProtocol {
    pub name: String,
    pub metadata: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for JoinGroupRequestProtocol {
    fn default() -> Self {
        Self { name: String::new(), metadata: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl JoinGroupRequestProtocol {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let name = r.string(flex)?;
        let metadata = r.bytes(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, metadata, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        w.string(flex, &self.name)?;
        w.bytes(flex, &self.metadata)?;
        w.unknown_tags(flex, &self.unknown_tags, "JoinGroupRequestProtocol", version)
    }
}

#[cfg(feature = "json")]
impl JoinGroupRequestProtocol {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("metadata".into(), {
            let v = &self.metadata;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for JoinGroupRequest {
    const NAME: &'static str = "JoinGroupRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 9;
    const FLEXIBLE_FROM: i16 = 6;
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
impl crate::json::ToJson for JoinGroupRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for JoinGroupRequest {
    const API_KEY: ApiKey = ApiKey(11);
    type Response = super::join_group_response::JoinGroupResponse;
}
