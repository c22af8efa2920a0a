//! RenewDelegationTokenRequest, versions 1 to 2.

use super::prelude::*;

/// `RenewDelegationTokenRequest`, message.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct RenewDelegationTokenRequest {
    pub hmac: Bytes,
    pub renew_period_ms: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for RenewDelegationTokenRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("RenewDelegationTokenRequest");
        shown.field("hmac", &crate::secret::HIDDEN);
        shown.field("renew_period_ms", &self.renew_period_ms);
        shown.finish_non_exhaustive()
    }
}

impl Default for RenewDelegationTokenRequest {
    fn default() -> Self {
        Self { hmac: Default::default(), renew_period_ms: 0, unknown_tags: RawTags::default() }
    }
}

impl RenewDelegationTokenRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let hmac = r.bytes(flex)?;
        let renew_period_ms = r.i64()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { hmac, renew_period_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.bytes(flex, &self.hmac)?;
        w.i64(self.renew_period_ms);
        w.unknown_tags(flex, &self.unknown_tags, "RenewDelegationTokenRequest", version)
    }
}

#[cfg(feature = "json")]
impl RenewDelegationTokenRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("hmac".into(), {
            let v = &self.hmac;
            crate::json::base64(v).into()
        });
        o.insert("renewPeriodMs".into(), {
            let v = &self.renew_period_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for RenewDelegationTokenRequest {
    const NAME: &'static str = "RenewDelegationTokenRequest";
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
impl crate::json::ToJson for RenewDelegationTokenRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for RenewDelegationTokenRequest {
    const API_KEY: ApiKey = ApiKey(39);
    type Response = super::renew_delegation_token_response::RenewDelegationTokenResponse;
}
