//! JoinGroupResponse, versions 0 to 9.

use super::prelude::*;

/// `JoinGroupResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct JoinGroupResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub generation_id: i32,
    pub protocol_type: Option<String>,
    pub protocol_name: Option<String>,
    pub leader: String,
    pub skip_assignment: bool,
    pub member_id: String,
    pub members: Vec<JoinGroupResponseMember>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for JoinGroupResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            generation_id: -1,
            protocol_type: None,
            protocol_name: Some(String::new()),
            leader: String::new(),
            skip_assignment: false,
            member_id: String::new(),
            members: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl JoinGroupResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let throttle_time_ms = if version >= 2 { r.i32()? } else { 0 };
        let error_code = ErrorCode(r.i16()?);
        let generation_id = r.i32()?;
        let protocol_type = if version >= 7 { r.nullable_string(flex)? } else { None };
        let protocol_name =
            non_null_unless(version >= 7, r.nullable_string(flex)?, "ProtocolName")?;
        let leader = r.string(flex)?;
        let skip_assignment = if version >= 9 { r.bool()? } else { false };
        let member_id = r.string(flex)?;
        let members = r.vec(flex, |r| JoinGroupResponseMember::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            throttle_time_ms,
            error_code,
            generation_id,
            protocol_type,
            protocol_name,
            leader,
            skip_assignment,
            member_id,
            members,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version >= 2 {
            w.i32(self.throttle_time_ms);
        }
        let mut b = [0; 6];
        b[0..2].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[2..6].copy_from_slice(&self.generation_id.to_be_bytes());
        w.raw(&b);
        if version >= 7 {
            w.nullable_string(flex, self.protocol_type.as_deref())?;
        }
        if self.protocol_name.is_none() && !(version >= 7) {
            return Err(EncodeError::Null {
                message: "JoinGroupResponse",
                field: "ProtocolName",
                version,
            });
        }
        w.nullable_string(flex, self.protocol_name.as_deref())?;
        w.string(flex, &self.leader)?;
        if version >= 9 {
            w.bool(self.skip_assignment);
        } else {
            if self.skip_assignment {
                return Err(EncodeError::NotInVersion {
                    message: "JoinGroupResponse",
                    field: "SkipAssignment",
                    version,
                });
            }
        }
        w.string(flex, &self.member_id)?;
        w.array(flex, Some(&self.members[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "JoinGroupResponse", version)
    }
}

#[cfg(feature = "json")]
impl JoinGroupResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 2 {
            o.insert("throttleTimeMs".into(), {
                let v = &self.throttle_time_ms;
                (*v).into()
            });
        }
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("generationId".into(), {
            let v = &self.generation_id;
            (*v).into()
        });
        if version >= 7 {
            o.insert(
                "protocolType".into(),
                match &self.protocol_type {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert(
            "protocolName".into(),
            match &self.protocol_name {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("leader".into(), {
            let v = &self.leader;
            v.as_str().into()
        });
        if version >= 9 {
            o.insert("skipAssignment".into(), {
                let v = &self.skip_assignment;
                (*v).into()
            });
        }
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        o.insert("members".into(), {
            let v = &self.members;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `JoinGroupResponseMember`, part of JoinGroupResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct JoinGroupResponseMember {
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub metadata: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for JoinGroupResponseMember {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            group_instance_id: None,
            metadata: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl JoinGroupResponseMember {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let member_id = r.string(flex)?;
        let group_instance_id = if version >= 5 { r.nullable_string(flex)? } else { None };
        let metadata = r.bytes(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { member_id, group_instance_id, metadata, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        w.string(flex, &self.member_id)?;
        if version >= 5 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        }
        w.bytes(flex, &self.metadata)?;
        w.unknown_tags(flex, &self.unknown_tags, "JoinGroupResponseMember", version)
    }
}

#[cfg(feature = "json")]
impl JoinGroupResponseMember {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
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
        o.insert("metadata".into(), {
            let v = &self.metadata;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for JoinGroupResponse {
    const NAME: &'static str = "JoinGroupResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for JoinGroupResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
