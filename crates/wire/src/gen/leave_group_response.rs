//! LeaveGroupResponse, versions 0 to 5.

use super::prelude::*;

/// `LeaveGroupResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LeaveGroupResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub members: Vec<MemberResponse>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for LeaveGroupResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            members: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl LeaveGroupResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let throttle_time_ms = if version >= 1 { r.i32()? } else { 0 };
        let error_code = ErrorCode(r.i16()?);
        let members = if version >= 3 {
            r.vec(flex, |r| MemberResponse::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, error_code, members, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.i16(self.error_code.0);
        if version >= 3 {
            w.array(flex, Some(&self.members[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.members.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "LeaveGroupResponse",
                    field: "Members",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "LeaveGroupResponse", version)
    }
}

#[cfg(feature = "json")]
impl LeaveGroupResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("throttleTimeMs".into(), {
                let v = &self.throttle_time_ms;
                (*v).into()
            });
        }
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        if version >= 3 {
            o.insert("members".into(), {
                let v = &self.members;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `MemberResponse`, part of LeaveGroupResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct MemberResponse {
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for MemberResponse {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            group_instance_id: Some(String::new()),
            error_code: ErrorCode(0),
            unknown_tags: RawTags::default(),
        }
    }
}

impl MemberResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let member_id = if version >= 3 { r.string(flex)? } else { String::new() };
        let group_instance_id =
            if version >= 3 { r.nullable_string(flex)? } else { Some(String::new()) };
        let error_code = if version >= 3 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { member_id, group_instance_id, error_code, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        if version >= 3 {
            w.string(flex, &self.member_id)?;
        } else {
            if !self.member_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "MemberResponse",
                    field: "MemberId",
                    version,
                });
            }
        }
        if version >= 3 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        } else {
            if !self.group_instance_id.as_ref().is_some_and(|v| v.is_empty()) {
                return Err(EncodeError::NotInVersion {
                    message: "MemberResponse",
                    field: "GroupInstanceId",
                    version,
                });
            }
        }
        if version >= 3 {
            w.i16(self.error_code.0);
        } else {
            if self.error_code != ErrorCode(0) {
                return Err(EncodeError::NotInVersion {
                    message: "MemberResponse",
                    field: "ErrorCode",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "MemberResponse", version)
    }
}

#[cfg(feature = "json")]
impl MemberResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert("memberId".into(), {
                let v = &self.member_id;
                v.as_str().into()
            });
        }
        if version >= 3 {
            o.insert(
                "groupInstanceId".into(),
                match &self.group_instance_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 3 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for LeaveGroupResponse {
    const NAME: &'static str = "LeaveGroupResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FLEXIBLE_FROM: i16 = 4;
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
impl crate::json::ToJson for LeaveGroupResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
