//! BrokerHeartbeatResponse, versions 0 to 2.

use super::prelude::*;

/// `BrokerHeartbeatResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BrokerHeartbeatResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub is_caught_up: bool,
    pub is_fenced: bool,
    pub should_shut_down: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BrokerHeartbeatResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            is_caught_up: false,
            is_fenced: true,
            should_shut_down: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl BrokerHeartbeatResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let is_caught_up = r.bool()?;
        let is_fenced = r.bool()?;
        let should_shut_down = r.bool()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            is_caught_up,
            is_fenced,
            should_shut_down,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 9];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[6..7].copy_from_slice(&[u8::from(self.is_caught_up)]);
        b[7..8].copy_from_slice(&[u8::from(self.is_fenced)]);
        b[8..9].copy_from_slice(&[u8::from(self.should_shut_down)]);
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "BrokerHeartbeatResponse", version)
    }
}

#[cfg(feature = "json")]
impl BrokerHeartbeatResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("isCaughtUp".into(), {
            let v = &self.is_caught_up;
            (*v).into()
        });
        o.insert("isFenced".into(), {
            let v = &self.is_fenced;
            (*v).into()
        });
        o.insert("shouldShutDown".into(), {
            let v = &self.should_shut_down;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for BrokerHeartbeatResponse {
    const NAME: &'static str = "BrokerHeartbeatResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
    const FLEXIBLE_FROM: i16 = 0;
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
impl crate::json::ToJson for BrokerHeartbeatResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
