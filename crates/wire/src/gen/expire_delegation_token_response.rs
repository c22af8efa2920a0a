//! ExpireDelegationTokenResponse, versions 1 to 2.

use super::prelude::*;

/// `ExpireDelegationTokenResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ExpireDelegationTokenResponse {
    pub error_code: ErrorCode,
    pub expiry_timestamp_ms: i64,
    pub throttle_time_ms: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ExpireDelegationTokenResponse {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            expiry_timestamp_ms: 0,
            throttle_time_ms: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ExpireDelegationTokenResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let error_code = ErrorCode(r.i16()?);
        let expiry_timestamp_ms = r.i64()?;
        let throttle_time_ms = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { error_code, expiry_timestamp_ms, throttle_time_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        let mut b = [0; 14];
        b[0..2].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[2..10].copy_from_slice(&self.expiry_timestamp_ms.to_be_bytes());
        b[10..14].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "ExpireDelegationTokenResponse", version)
    }
}

#[cfg(feature = "json")]
impl ExpireDelegationTokenResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("expiryTimestampMs".into(), {
            let v = &self.expiry_timestamp_ms;
            (*v).into()
        });
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ExpireDelegationTokenResponse {
    const NAME: &'static str = "ExpireDelegationTokenResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for ExpireDelegationTokenResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
