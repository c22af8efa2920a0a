//! DeleteGroupsResponse, versions 0 to 3.

use super::prelude::*;

/// `DeleteGroupsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteGroupsResponse {
    pub throttle_time_ms: i32,
    pub results: Vec<DeletableGroupResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteGroupsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, results: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl DeleteGroupsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let throttle_time_ms = r.i32()?;
        let results = r.vec(flex, |r| DeletableGroupResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, results, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.results[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DeleteGroupsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DeleteGroupsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("results".into(), {
            let v = &self.results;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DeletableGroupResult`, part of DeleteGroupsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeletableGroupResult {
    pub group_id: String,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeletableGroupResult {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            error_code: ErrorCode(0),
            error_message: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DeletableGroupResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let group_id = r.string(flex)?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = if version >= 3 { r.nullable_string(flex)? } else { None };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { group_id, error_code, error_message, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.group_id)?;
        w.i16(self.error_code.0);
        if version >= 3 {
            w.nullable_string(flex, self.error_message.as_deref())?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "DeletableGroupResult", version)
    }
}

#[cfg(feature = "json")]
impl DeletableGroupResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        if version >= 3 {
            o.insert(
                "errorMessage".into(),
                match &self.error_message {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

impl Message for DeleteGroupsResponse {
    const NAME: &'static str = "DeleteGroupsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 3;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for DeleteGroupsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
