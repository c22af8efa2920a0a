//! EnvelopeResponse, versions 0 to 0.

use super::prelude::*;

/// `EnvelopeResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EnvelopeResponse {
    pub response_data: Option<Bytes>,
    pub error_code: ErrorCode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EnvelopeResponse {
    fn default() -> Self {
        Self { response_data: None, error_code: ErrorCode(0), unknown_tags: RawTags::default() }
    }
}

impl EnvelopeResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let response_data = r.nullable_bytes(true)?;
        let error_code = ErrorCode(r.i16()?);
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { response_data, error_code, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.nullable_bytes(true, self.response_data.as_deref())?;
        w.i16(self.error_code.0);
        w.unknown_tags(true, &self.unknown_tags, "EnvelopeResponse", version)
    }
}

#[cfg(feature = "json")]
impl EnvelopeResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "responseData".into(),
            match &self.response_data {
                Some(v) => crate::json::base64(v).into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for EnvelopeResponse {
    const NAME: &'static str = "EnvelopeResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FLEXIBLE_FROM: i16 = 0;
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
impl crate::json::ToJson for EnvelopeResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
