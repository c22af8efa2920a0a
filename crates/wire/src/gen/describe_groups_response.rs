//! DescribeGroupsResponse, versions 0 to 6.

use super::prelude::*;

/// `DescribeGroupsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeGroupsResponse {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeGroupsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, groups: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl DescribeGroupsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let throttle_time_ms = if version >= 1 { r.i32()? } else { 0 };
        let groups = r.vec(flex, |r| DescribedGroup::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, groups, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.array(flex, Some(&self.groups[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeGroupsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeGroupsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("throttleTimeMs".into(), {
                let v = &self.throttle_time_ms;
                (*v).into()
            });
        }
        o.insert("groups".into(), {
            let v = &self.groups;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribedGroup`, part of DescribeGroupsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribedGroup {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub group_id: String,
    pub group_state: String,
    pub protocol_type: String,
    pub protocol_data: String,
    pub members: Vec<DescribedGroupMember>,
    pub authorized_operations: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            protocol_type: String::new(),
            protocol_data: String::new(),
            members: Default::default(),
            authorized_operations: -2147483648,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribedGroup {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let error_code = ErrorCode(r.i16()?);
        let error_message = if version >= 6 { r.nullable_string(flex)? } else { None };
        let group_id = r.string(flex)?;
        let group_state = r.string(flex)?;
        let protocol_type = r.string(flex)?;
        let protocol_data = r.string(flex)?;
        let members = r.vec(flex, |r| DescribedGroupMember::read(r, version))?;
        let authorized_operations = if version >= 3 { r.i32()? } else { -2147483648 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            error_code,
            error_message,
            group_id,
            group_state,
            protocol_type,
            protocol_data,
            members,
            authorized_operations,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        w.i16(self.error_code.0);
        if version >= 6 {
            w.nullable_string(flex, self.error_message.as_deref())?;
        } else {
            if self.error_message.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "DescribedGroup",
                    field: "ErrorMessage",
                    version,
                });
            }
        }
        w.string(flex, &self.group_id)?;
        w.string(flex, &self.group_state)?;
        w.string(flex, &self.protocol_type)?;
        w.string(flex, &self.protocol_data)?;
        w.array(flex, Some(&self.members[..]), |w, v| v.write(w, version))?;
        if version >= 3 {
            w.i32(self.authorized_operations);
        } else {
            if self.authorized_operations != -2147483648 {
                return Err(EncodeError::NotInVersion {
                    message: "DescribedGroup",
                    field: "AuthorizedOperations",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "DescribedGroup", version)
    }
}

#[cfg(feature = "json")]
impl DescribedGroup {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        if version >= 6 {
            o.insert(
                "errorMessage".into(),
                match &self.error_message {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("groupState".into(), {
            let v = &self.group_state;
            v.as_str().into()
        });
        o.insert("protocolType".into(), {
            let v = &self.protocol_type;
            v.as_str().into()
        });
        o.insert("protocolData".into(), {
            let v = &self.protocol_data;
            v.as_str().into()
        });
        o.insert("members".into(), {
            let v = &self.members;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 3 {
            o.insert("authorizedOperations".into(), {
                let v = &self.authorized_operations;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `DescribedGroupMember`, part of DescribeGroupsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribedGroupMember {
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    pub member_metadata: Bytes,
    pub member_assignment: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribedGroupMember {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            group_instance_id: None,
            client_id: String::new(),
            client_host: String::new(),
            member_metadata: Default::default(),
            member_assignment: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribedGroupMember {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let member_id = r.string(flex)?;
        let group_instance_id = if version >= 4 { r.nullable_string(flex)? } else { None };
        let client_id = r.string(flex)?;
        let client_host = r.string(flex)?;
        let member_metadata = r.bytes(flex)?;
        let member_assignment = r.bytes(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            member_id,
            group_instance_id,
            client_id,
            client_host,
            member_metadata,
            member_assignment,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        w.string(flex, &self.member_id)?;
        if version >= 4 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        }
        w.string(flex, &self.client_id)?;
        w.string(flex, &self.client_host)?;
        w.bytes(flex, &self.member_metadata)?;
        w.bytes(flex, &self.member_assignment)?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribedGroupMember", version)
    }
}

#[cfg(feature = "json")]
impl DescribedGroupMember {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        if version >= 4 {
            o.insert(
                "groupInstanceId".into(),
                match &self.group_instance_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert("clientId".into(), {
            let v = &self.client_id;
            v.as_str().into()
        });
        o.insert("clientHost".into(), {
            let v = &self.client_host;
            v.as_str().into()
        });
        o.insert("memberMetadata".into(), {
            let v = &self.member_metadata;
            crate::json::base64(v).into()
        });
        o.insert("memberAssignment".into(), {
            let v = &self.member_assignment;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeGroupsResponse {
    const NAME: &'static str = "DescribeGroupsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FLEXIBLE_FROM: i16 = 5;
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
impl crate::json::ToJson for DescribeGroupsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
