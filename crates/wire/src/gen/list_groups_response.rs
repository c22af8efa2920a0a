//! ListGroupsResponse, versions 0 to 5.

use super::prelude::*;

/// `ListGroupsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListGroupsResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub groups: Vec<ListedGroup>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListGroupsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            groups: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListGroupsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let throttle_time_ms = if version >= 1 { r.i32()? } else { 0 };
        let error_code = ErrorCode(r.i16()?);
        let groups = r.vec(flex, |r| ListedGroup::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, error_code, groups, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.i16(self.error_code.0);
        w.array(flex, Some(&self.groups[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "ListGroupsResponse", version)
    }
}

#[cfg(feature = "json")]
impl ListGroupsResponse {
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
        o.insert("groups".into(), {
            let v = &self.groups;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ListedGroup`, part of ListGroupsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListedGroup {
    pub group_id: String,
    pub protocol_type: String,
    pub group_state: String,
    pub group_type: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListedGroup {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            protocol_type: String::new(),
            group_state: String::new(),
            group_type: String::new(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListedGroup {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let group_id = r.string(flex)?;
        let protocol_type = r.string(flex)?;
        let group_state = if version >= 4 { r.string(flex)? } else { String::new() };
        let group_type = if version >= 5 { r.string(flex)? } else { String::new() };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { group_id, protocol_type, group_state, group_type, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        w.string(flex, &self.group_id)?;
        w.string(flex, &self.protocol_type)?;
        if version >= 4 {
            w.string(flex, &self.group_state)?;
        }
        if version >= 5 {
            w.string(flex, &self.group_type)?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "ListedGroup", version)
    }
}

#[cfg(feature = "json")]
impl ListedGroup {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("protocolType".into(), {
            let v = &self.protocol_type;
            v.as_str().into()
        });
        if version >= 4 {
            o.insert("groupState".into(), {
                let v = &self.group_state;
                v.as_str().into()
            });
        }
        if version >= 5 {
            o.insert("groupType".into(), {
                let v = &self.group_type;
                v.as_str().into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ListGroupsResponse {
    const NAME: &'static str = "ListGroupsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FLEXIBLE_FROM: i16 = 3;
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
impl crate::json::ToJson for ListGroupsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
