//! IncrementalAlterConfigsResponse, versions 0 to 1.

use super::prelude::*;

/// `IncrementalAlterConfigsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct IncrementalAlterConfigsResponse {
    pub throttle_time_ms: i32,
    pub responses: Vec<AlterConfigsResourceResponse>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for IncrementalAlterConfigsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            responses: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl IncrementalAlterConfigsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let throttle_time_ms = r.i32()?;
        let responses = r.vec(flex, |r| AlterConfigsResourceResponse::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, responses, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.responses[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "IncrementalAlterConfigsResponse", version)
    }
}

#[cfg(feature = "json")]
impl IncrementalAlterConfigsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("responses".into(), {
            let v = &self.responses;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AlterConfigsResourceResponse`, part of IncrementalAlterConfigsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterConfigsResourceResponse {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub resource_type: i8,
    pub resource_name: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterConfigsResourceResponse {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            resource_type: 0,
            resource_name: String::new(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterConfigsResourceResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let resource_type = r.i8()?;
        let resource_name = r.string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { error_code, error_message, resource_type, resource_name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.i16(self.error_code.0);
        w.nullable_string(flex, self.error_message.as_deref())?;
        w.i8(self.resource_type);
        w.string(flex, &self.resource_name)?;
        w.unknown_tags(flex, &self.unknown_tags, "AlterConfigsResourceResponse", version)
    }
}

#[cfg(feature = "json")]
impl AlterConfigsResourceResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("resourceType".into(), {
            let v = &self.resource_type;
            (*v).into()
        });
        o.insert("resourceName".into(), {
            let v = &self.resource_name;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for IncrementalAlterConfigsResponse {
    const NAME: &'static str = "IncrementalAlterConfigsResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FLEXIBLE_FROM: i16 = 1;
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
impl crate::json::ToJson for IncrementalAlterConfigsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
