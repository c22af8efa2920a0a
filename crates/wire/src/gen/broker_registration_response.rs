//! BrokerRegistrationResponse, versions 0 to 4.

use super::prelude::*;

/// `BrokerRegistrationResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BrokerRegistrationResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub broker_epoch: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BrokerRegistrationResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            broker_epoch: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl BrokerRegistrationResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let broker_epoch = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, error_code, broker_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 14];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[6..14].copy_from_slice(&self.broker_epoch.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "BrokerRegistrationResponse", version)
    }
}

#[cfg(feature = "json")]
impl BrokerRegistrationResponse {
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
        o.insert("brokerEpoch".into(), {
            let v = &self.broker_epoch;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for BrokerRegistrationResponse {
    const NAME: &'static str = "BrokerRegistrationResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 4;
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
impl crate::json::ToJson for BrokerRegistrationResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
