//! EndTxnRequest, versions 0 to 5.

use super::prelude::*;

/// `EndTxnRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EndTxnRequest {
    pub transactional_id: String,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub committed: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EndTxnRequest {
    fn default() -> Self {
        Self {
            transactional_id: String::new(),
            producer_id: 0,
            producer_epoch: 0,
            committed: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl EndTxnRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let transactional_id = r.string(flex)?;
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let committed = r.bool()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { transactional_id, producer_id, producer_epoch, committed, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        w.string(flex, &self.transactional_id)?;
        let mut b = [0; 11];
        b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
        b[8..10].copy_from_slice(&self.producer_epoch.to_be_bytes());
        b[10..11].copy_from_slice(&[u8::from(self.committed)]);
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "EndTxnRequest", version)
    }
}

#[cfg(feature = "json")]
impl EndTxnRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("transactionalId".into(), {
            let v = &self.transactional_id;
            v.as_str().into()
        });
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("producerEpoch".into(), {
            let v = &self.producer_epoch;
            (*v).into()
        });
        o.insert("committed".into(), {
            let v = &self.committed;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for EndTxnRequest {
    const NAME: &'static str = "EndTxnRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FLEXIBLE_FROM: i16 = 3;
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
impl crate::json::ToJson for EndTxnRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for EndTxnRequest {
    const API_KEY: ApiKey = ApiKey(26);
    type Response = super::end_txn_response::EndTxnResponse;
}
