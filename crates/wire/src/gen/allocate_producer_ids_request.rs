//! AllocateProducerIdsRequest, versions 0 to 0.

use super::prelude::*;

/// `AllocateProducerIdsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AllocateProducerIdsRequest {
    pub broker_id: i32,
    pub broker_epoch: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AllocateProducerIdsRequest {
    fn default() -> Self {
        Self { broker_id: 0, broker_epoch: -1, unknown_tags: RawTags::default() }
    }
}

impl AllocateProducerIdsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let broker_id = r.i32()?;
        let broker_epoch = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { broker_id, broker_epoch, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.broker_id.to_be_bytes());
        b[4..12].copy_from_slice(&self.broker_epoch.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "AllocateProducerIdsRequest", version)
    }
}

#[cfg(feature = "json")]
impl AllocateProducerIdsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("brokerId".into(), {
            let v = &self.broker_id;
            (*v).into()
        });
        o.insert("brokerEpoch".into(), {
            let v = &self.broker_epoch;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AllocateProducerIdsRequest {
    const NAME: &'static str = "AllocateProducerIdsRequest";
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
impl crate::json::ToJson for AllocateProducerIdsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AllocateProducerIdsRequest {
    const API_KEY: ApiKey = ApiKey(67);
    type Response = super::allocate_producer_ids_response::AllocateProducerIdsResponse;
}
