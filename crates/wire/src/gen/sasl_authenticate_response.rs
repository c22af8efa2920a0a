//! SaslAuthenticateResponse, versions 0 to 2.

use super::prelude::*;

/// `SaslAuthenticateResponse`, message.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct SaslAuthenticateResponse {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub auth_bytes: Bytes,
    pub session_lifetime_ms: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for SaslAuthenticateResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("SaslAuthenticateResponse");
        shown.field("error_code", &self.error_code);
        shown.field("error_message", &self.error_message);
        shown.field("auth_bytes", &crate::secret::HIDDEN);
        shown.field("session_lifetime_ms", &self.session_lifetime_ms);
        shown.finish_non_exhaustive()
    }
}

impl Default for SaslAuthenticateResponse {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            auth_bytes: Default::default(),
            session_lifetime_ms: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl SaslAuthenticateResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let auth_bytes = r.bytes(flex)?;
        let session_lifetime_ms = if version >= 1 { r.i64()? } else { 0 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { error_code, error_message, auth_bytes, session_lifetime_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i16(self.error_code.0);
        w.nullable_string(flex, self.error_message.as_deref())?;
        w.bytes(flex, &self.auth_bytes)?;
        if version >= 1 {
            w.i64(self.session_lifetime_ms);
        }
        w.unknown_tags(flex, &self.unknown_tags, "SaslAuthenticateResponse", version)
    }
}

#[cfg(feature = "json")]
impl SaslAuthenticateResponse {
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
        o.insert("authBytes".into(), {
            let v = &self.auth_bytes;
            crate::json::base64(v).into()
        });
        if version >= 1 {
            o.insert("sessionLifetimeMs".into(), {
                let v = &self.session_lifetime_ms;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for SaslAuthenticateResponse {
    const NAME: &'static str = "SaslAuthenticateResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for SaslAuthenticateResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
