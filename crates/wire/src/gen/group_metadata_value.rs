//! GroupMetadataValue, versions 0 to 4.

use super::prelude::*;

/// `GroupMetadataValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct GroupMetadataValue {
    pub protocol_type: String,
    pub generation: i32,
    pub protocol: Option<String>,
    pub leader: Option<String>,
    pub current_state_timestamp: i64,
    pub members: Vec<MemberMetadata>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for GroupMetadataValue {
    fn default() -> Self {
        Self {
            protocol_type: String::new(),
            generation: 0,
            protocol: Some(String::new()),
            leader: Some(String::new()),
            current_state_timestamp: -1,
            members: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl GroupMetadataValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let protocol_type = r.string(flex)?;
        let generation = r.i32()?;
        let protocol = r.nullable_string(flex)?;
        let leader = r.nullable_string(flex)?;
        let current_state_timestamp = if version >= 2 { r.i64()? } else { -1 };
        let members = r.vec(flex, |r| MemberMetadata::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            protocol_type,
            generation,
            protocol,
            leader,
            current_state_timestamp,
            members,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.protocol_type)?;
        w.i32(self.generation);
        w.nullable_string(flex, self.protocol.as_deref())?;
        w.nullable_string(flex, self.leader.as_deref())?;
        if version >= 2 {
            w.i64(self.current_state_timestamp);
        }
        w.array(flex, Some(&self.members[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "GroupMetadataValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl GroupMetadataValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("protocolType".into(), {
            let v = &self.protocol_type;
            v.as_str().into()
        });
        o.insert("generation".into(), {
            let v = &self.generation;
            (*v).into()
        });
        o.insert(
            "protocol".into(),
            match &self.protocol {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "leader".into(),
            match &self.leader {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        if version >= 2 {
            o.insert("currentStateTimestamp".into(), {
                let v = &self.current_state_timestamp;
                (*v).into()
            });
        }
        o.insert("members".into(), {
            let v = &self.members;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `MemberMetadata`, part of GroupMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct MemberMetadata {
    pub member_id: String,
    pub group_instance_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    pub rebalance_timeout: i32,
    pub session_timeout: i32,
    pub subscription: Bytes,
    pub assignment: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for MemberMetadata {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            group_instance_id: None,
            client_id: String::new(),
            client_host: String::new(),
            rebalance_timeout: -1,
            session_timeout: 0,
            subscription: Default::default(),
            assignment: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl MemberMetadata {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let member_id = r.string(flex)?;
        let group_instance_id = if version >= 3 { r.nullable_string(flex)? } else { None };
        let client_id = r.string(flex)?;
        let client_host = r.string(flex)?;
        let rebalance_timeout = if version >= 1 { r.i32()? } else { -1 };
        let session_timeout = r.i32()?;
        let subscription = r.bytes(flex)?;
        let assignment = r.bytes(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            member_id,
            group_instance_id,
            client_id,
            client_host,
            rebalance_timeout,
            session_timeout,
            subscription,
            assignment,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.member_id)?;
        if version >= 3 {
            w.nullable_string(flex, self.group_instance_id.as_deref())?;
        }
        w.string(flex, &self.client_id)?;
        w.string(flex, &self.client_host)?;
        if version >= 1 {
            w.i32(self.rebalance_timeout);
        }
        w.i32(self.session_timeout);
        w.bytes(flex, &self.subscription)?;
        w.bytes(flex, &self.assignment)?;
        w.unknown_tags(flex, &self.unknown_tags, "MemberMetadata", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl MemberMetadata {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
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
        o.insert("clientId".into(), {
            let v = &self.client_id;
            v.as_str().into()
        });
        o.insert("clientHost".into(), {
            let v = &self.client_host;
            v.as_str().into()
        });
        if version >= 1 {
            o.insert("rebalanceTimeout".into(), {
                let v = &self.rebalance_timeout;
                (*v).into()
            });
        }
        o.insert("sessionTimeout".into(), {
            let v = &self.session_timeout;
            (*v).into()
        });
        o.insert("subscription".into(), {
            let v = &self.subscription;
            crate::json::base64(v).into()
        });
        o.insert("assignment".into(), {
            let v = &self.assignment;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for GroupMetadataValue {
    const NAME: &'static str = "GroupMetadataValue";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 4;
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

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for GroupMetadataValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl GroupMetadataValue {
    /// Number of this record type.
    pub const KEY: i16 = 2;
}
