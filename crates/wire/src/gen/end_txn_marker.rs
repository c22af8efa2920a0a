//! EndTxnMarker, versions 0 to 0.

use super::prelude::*;

/// `EndTxnMarker`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EndTxnMarker {
    pub coordinator_epoch: i32,
}

impl Default for EndTxnMarker {
    fn default() -> Self {
        Self { coordinator_epoch: 0 }
    }
}

impl EndTxnMarker {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let coordinator_epoch = r.i32()?;
        Ok(Self { coordinator_epoch })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.coordinator_epoch);
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl EndTxnMarker {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("coordinatorEpoch".into(), {
            let v = &self.coordinator_epoch;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for EndTxnMarker {
    const NAME: &'static str = "EndTxnMarker";
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
impl crate::json::ToJson for EndTxnMarker {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
