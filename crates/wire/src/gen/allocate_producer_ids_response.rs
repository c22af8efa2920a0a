//! AllocateProducerIdsResponse, versions 0 to 0.

use super::prelude::*;

/// `AllocateProducerIdsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AllocateProducerIdsResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub producer_id_start: i64,
    pub producer_id_len: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AllocateProducerIdsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            producer_id_start: 0,
            producer_id_len: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl AllocateProducerIdsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let producer_id_start = r.i64()?;
        let producer_id_len = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, error_code, producer_id_start, producer_id_len, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 18];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[6..14].copy_from_slice(&self.producer_id_start.to_be_bytes());
        b[14..18].copy_from_slice(&self.producer_id_len.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "AllocateProducerIdsResponse", version)
    }
}

#[cfg(feature = "json")]
impl AllocateProducerIdsResponse {
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
        o.insert("producerIdStart".into(), {
            let v = &self.producer_id_start;
            (*v).into()
        });
        o.insert("producerIdLen".into(), {
            let v = &self.producer_id_len;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AllocateProducerIdsResponse {
    const NAME: &'static str = "AllocateProducerIdsResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for AllocateProducerIdsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
