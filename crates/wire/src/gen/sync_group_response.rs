//! SyncGroupResponse, versions 0 to 5.

use super::prelude::*;

/// `SyncGroupResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SyncGroupResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub protocol_type: Option<String>,
    pub protocol_name: Option<String>,
    pub assignment: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for SyncGroupResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            protocol_type: None,
            protocol_name: None,
            assignment: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl SyncGroupResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let throttle_time_ms = if version >= 1 { r.i32()? } else { 0 };
        let error_code = ErrorCode(r.i16()?);
        let protocol_type = if version >= 5 { r.nullable_string(flex)? } else { None };
        let protocol_name = if version >= 5 { r.nullable_string(flex)? } else { None };
        let assignment = r.bytes(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            throttle_time_ms,
            error_code,
            protocol_type,
            protocol_name,
            assignment,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        w.i16(self.error_code.0);
        if version >= 5 {
            w.nullable_string(flex, self.protocol_type.as_deref())?;
        }
        if version >= 5 {
            w.nullable_string(flex, self.protocol_name.as_deref())?;
        }
        w.bytes(flex, &self.assignment)?;
        w.unknown_tags(flex, &self.unknown_tags, "SyncGroupResponse", version)
    }
}

#[cfg(feature = "json")]
impl SyncGroupResponse {
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
        o.insert("assignment".into(), {
            let v = &self.assignment;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for SyncGroupResponse {
    const NAME: &'static str = "SyncGroupResponse";
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
impl crate::json::ToJson for SyncGroupResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
