//! AbortedTxn, versions 0 to 0.

use super::prelude::*;

/// `AbortedTxn`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AbortedTxn {
    pub producer_id: i64,
    pub first_offset: i64,
    pub last_offset: i64,
    pub last_stable_offset: i64,
}

impl Default for AbortedTxn {
    fn default() -> Self {
        Self { producer_id: 0, first_offset: 0, last_offset: 0, last_stable_offset: 0 }
    }
}

impl AbortedTxn {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let producer_id = r.i64()?;
        let first_offset = r.i64()?;
        let last_offset = r.i64()?;
        let last_stable_offset = r.i64()?;
        Ok(Self { producer_id, first_offset, last_offset, last_stable_offset })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 32];
        b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
        b[8..16].copy_from_slice(&self.first_offset.to_be_bytes());
        b[16..24].copy_from_slice(&self.last_offset.to_be_bytes());
        b[24..32].copy_from_slice(&self.last_stable_offset.to_be_bytes());
        w.raw(&b);
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl AbortedTxn {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("firstOffset".into(), {
            let v = &self.first_offset;
            (*v).into()
        });
        o.insert("lastOffset".into(), {
            let v = &self.last_offset;
            (*v).into()
        });
        o.insert("lastStableOffset".into(), {
            let v = &self.last_stable_offset;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AbortedTxn {
    const NAME: &'static str = "AbortedTxn";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FLEXIBLE_FROM: i16 = 32767;
    fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        Self::check_version(version)?;
        Self::read(r, version)
    }
    fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        Self::check_written_version(version)?;
        self.write(w, version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for AbortedTxn {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
