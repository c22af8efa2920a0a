//! SaslAuthenticateRequest, versions 0 to 2.

use super::prelude::*;

/// `SaslAuthenticateRequest`, message.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct SaslAuthenticateRequest {
    pub auth_bytes: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for SaslAuthenticateRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("SaslAuthenticateRequest");
        shown.field("auth_bytes", &crate::secret::HIDDEN);
        shown.finish_non_exhaustive()
    }
}

impl Default for SaslAuthenticateRequest {
    fn default() -> Self {
        Self { auth_bytes: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl SaslAuthenticateRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let auth_bytes = r.bytes(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { auth_bytes, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.bytes(flex, &self.auth_bytes)?;
        w.unknown_tags(flex, &self.unknown_tags, "SaslAuthenticateRequest", version)
    }
}

#[cfg(feature = "json")]
impl SaslAuthenticateRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("authBytes".into(), {
            let v = &self.auth_bytes;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for SaslAuthenticateRequest {
    const NAME: &'static str = "SaslAuthenticateRequest";
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
impl crate::json::ToJson for SaslAuthenticateRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for SaslAuthenticateRequest {
    const API_KEY: ApiKey = ApiKey(36);
    type Response = super::sasl_authenticate_response::SaslAuthenticateResponse;
}
