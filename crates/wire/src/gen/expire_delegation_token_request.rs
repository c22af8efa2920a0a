//! ExpireDelegationTokenRequest, versions 1 to 2.

use super::prelude::*;

/// `ExpireDelegationTokenRequest`, message.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ExpireDelegationTokenRequest {
    pub hmac: Bytes,
    pub expiry_time_period_ms: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for ExpireDelegationTokenRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("ExpireDelegationTokenRequest");
        shown.field("hmac", &crate::secret::HIDDEN);
        shown.field("expiry_time_period_ms", &self.expiry_time_period_ms);
        shown.finish_non_exhaustive()
    }
}

impl Default for ExpireDelegationTokenRequest {
    fn default() -> Self {
        Self {
            hmac: Default::default(),
            expiry_time_period_ms: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ExpireDelegationTokenRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let hmac = r.bytes(flex)?;
        let expiry_time_period_ms = r.i64()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { hmac, expiry_time_period_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.bytes(flex, &self.hmac)?;
        w.i64(self.expiry_time_period_ms);
        w.unknown_tags(flex, &self.unknown_tags, "ExpireDelegationTokenRequest", version)
    }
}

#[cfg(feature = "json")]
impl ExpireDelegationTokenRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("hmac".into(), {
            let v = &self.hmac;
            crate::json::base64(v).into()
        });
        o.insert("expiryTimePeriodMs".into(), {
            let v = &self.expiry_time_period_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ExpireDelegationTokenRequest {
    const NAME: &'static str = "ExpireDelegationTokenRequest";
    const MIN_VERSION: i16 = 1;
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
impl crate::json::ToJson for ExpireDelegationTokenRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ExpireDelegationTokenRequest {
    const API_KEY: ApiKey = ApiKey(40);
    type Response = super::expire_delegation_token_response::ExpireDelegationTokenResponse;
}
