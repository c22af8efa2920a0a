//! DeleteTopicsResponse, versions 1 to 6.

use super::prelude::*;

/// `DeleteTopicsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteTopicsResponse {
    pub throttle_time_ms: i32,
    pub responses: Vec<DeletableTopicResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteTopicsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            responses: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DeleteTopicsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let throttle_time_ms = r.i32()?;
        let responses = r.vec(flex, |r| DeletableTopicResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, responses, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.responses[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DeleteTopicsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DeleteTopicsResponse {
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

/// `DeletableTopicResult`, part of DeleteTopicsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeletableTopicResult {
    pub name: Option<String>,
    pub topic_id: Uuid,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeletableTopicResult {
    fn default() -> Self {
        Self {
            name: Some(String::new()),
            topic_id: Default::default(),
            error_code: ErrorCode(0),
            error_message: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DeletableTopicResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let name = non_null_unless(version >= 6, r.nullable_string(flex)?, "Name")?;
        let topic_id = if version >= 6 { r.uuid()? } else { Default::default() };
        let error_code = ErrorCode(r.i16()?);
        let error_message = if version >= 5 { r.nullable_string(flex)? } else { None };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, topic_id, error_code, error_message, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        if self.name.is_none() && !(version >= 6) {
            return Err(EncodeError::Null {
                message: "DeletableTopicResult",
                field: "Name",
                version,
            });
        }
        w.nullable_string(flex, self.name.as_deref())?;
        if version >= 6 {
            w.uuid(self.topic_id);
        }
        w.i16(self.error_code.0);
        if version >= 5 {
            w.nullable_string(flex, self.error_message.as_deref())?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "DeletableTopicResult", version)
    }
}

#[cfg(feature = "json")]
impl DeletableTopicResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "name".into(),
            match &self.name {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        if version >= 6 {
            o.insert("topicId".into(), {
                let v = &self.topic_id;
                v.to_string().into()
            });
        }
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        if version >= 5 {
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

impl Message for DeleteTopicsResponse {
    const NAME: &'static str = "DeleteTopicsResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 6;
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
impl crate::json::ToJson for DeleteTopicsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
