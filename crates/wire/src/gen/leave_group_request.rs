//! LeaveGroupRequest, versions 0 to 5.

use super::prelude::*;

/// `LeaveGroupRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LeaveGroupRequest {
    pub group_id: String,
    pub member_id: String,
    pub members: Vec<MemberIdentity>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for LeaveGroupRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            members: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl LeaveGroupRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let group_id = r.string(flex)?;
        let member_id = if version <= 2 { r.string(flex)? } else { String::new() };
        let members = if version >= 3 {
            r.vec(flex, |r| MemberIdentity::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { group_id, member_id, members, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.group_id)?;
        if version <= 2 {
            w.string(flex, &self.member_id)?;
        } else {
            if !self.member_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "LeaveGroupRequest",
                    field: "MemberId",
                    version,
                });
            }
        }
        if version >= 3 {
            w.array(flex, Some(&self.members[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.members.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "LeaveGroupRequest",
                    field: "Members",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "LeaveGroupRequest", version)
    }
}

#[cfg(feature = "json")]
impl LeaveGroupRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        if version <= 2 {
            o.insert("memberId".into(), {
                let v = &self.member_id;
                v.as_str().into()
            });
        }
        if version >= 3 {
            o.insert("members".into(), {
                let v = &self.members;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `MemberIdentity`, part of LeaveGroupRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct MemberIdentity {
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub reason: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for MemberIdentity {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            group_instance_id: None,
            reason: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl MemberIdentity {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let member_id = if version >= 3 { r.string(flex)? } else { String::new() };
        let group_instance_id = if version >= 3 { r.nullable_string(flex)? } else { None };
        let reason = if version >= 5 { r.nullable_string(flex)? } else { None };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { member_id, group_instance_id, reason, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        if version >= 3 {
            w.string(flex, &self.member_id)?;
        } else {
            if !self.member_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "MemberIdentity",
                    field: "MemberId",
                    version,
                });
            }
        }
        if version >= 3 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        } else {
            if self.group_instance_id.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "MemberIdentity",
                    field: "GroupInstanceId",
                    version,
                });
            }
        }
        if version >= 5 {
            w.nullable_string(flex, self.reason.as_deref())?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "MemberIdentity", version)
    }
}

#[cfg(feature = "json")]
impl MemberIdentity {
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
        if version >= 5 {
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

impl Message for LeaveGroupRequest {
    const NAME: &'static str = "LeaveGroupRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for LeaveGroupRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for LeaveGroupRequest {
    const API_KEY: ApiKey = ApiKey(13);
    type Response = super::leave_group_response::LeaveGroupResponse;
}
