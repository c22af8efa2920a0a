//! SyncGroupRequest, versions 0 to 5.

use super::prelude::*;

/// `SyncGroupRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SyncGroupRequest {
    pub group_id: String,
    pub generation_id: i32,
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub protocol_type: Option<String>,
    pub protocol_name: Option<String>,
    pub assignments: Vec<SyncGroupRequestAssignment>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for SyncGroupRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            generation_id: 0,
            member_id: String::new(),
            group_instance_id: None,
            protocol_type: None,
            protocol_name: None,
            assignments: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl SyncGroupRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let group_id = r.string(flex)?;
        let generation_id = r.i32()?;
        let member_id = r.string(flex)?;
        let group_instance_id = if version >= 3 { r.nullable_string(flex)? } else { None };
        let protocol_type = if version >= 5 { r.nullable_string(flex)? } else { None };
        let protocol_name = if version >= 5 { r.nullable_string(flex)? } else { None };
        let assignments = r.vec(flex, |r| SyncGroupRequestAssignment::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            group_id,
            generation_id,
            member_id,
            group_instance_id,
            protocol_type,
            protocol_name,
            assignments,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.group_id)?;
        w.i32(self.generation_id);
        w.string(flex, &self.member_id)?;
        if version >= 3 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        } else {
            if self.group_instance_id.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "SyncGroupRequest",
                    field: "GroupInstanceId",
                    version,
                });
            }
        }
        if version >= 5 {
            w.nullable_string(flex, self.protocol_type.as_deref())?;
        }
        if version >= 5 {
            w.nullable_string(flex, self.protocol_name.as_deref())?;
        }
        w.array(flex, Some(&self.assignments[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "SyncGroupRequest", version)
    }
}

#[cfg(feature = "json")]
impl SyncGroupRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("generationId".into(), {
            let v = &self.generation_id;
            (*v).into()
        });
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
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
                "protocolType".into(),
                match &self.protocol_type {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 5 {
            o.insert(
                "protocolName".into(),
                match &self.protocol_name {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert("assignments".into(), {
            let v = &self.assignments;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `SyncGroupRequestAssignment`, part of SyncGroupRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SyncGroupRequestAssignment {
    pub member_id: String,
    pub assignment: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for SyncGroupRequestAssignment {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            assignment: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl SyncGroupRequestAssignment {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let member_id = r.string(flex)?;
        let assignment = r.bytes(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { member_id, assignment, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.member_id)?;
        w.bytes(flex, &self.assignment)?;
        w.unknown_tags(flex, &self.unknown_tags, "SyncGroupRequestAssignment", version)
    }
}

#[cfg(feature = "json")]
impl SyncGroupRequestAssignment {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        o.insert("assignment".into(), {
            let v = &self.assignment;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for SyncGroupRequest {
    const NAME: &'static str = "SyncGroupRequest";
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
impl crate::json::ToJson for SyncGroupRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for SyncGroupRequest {
    const API_KEY: ApiKey = ApiKey(14);
    type Response = super::sync_group_response::SyncGroupResponse;
}
