//! ControlRecordTypeSchema, versions 0 to 0.

use super::prelude::*;

/// `ControlRecordTypeSchema`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ControlRecordTypeSchema {
    pub type_: i16,
}

impl Default for ControlRecordTypeSchema {
    fn default() -> Self {
        Self { type_: 0 }
    }
}

impl ControlRecordTypeSchema {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let type_ = r.i16()?;
        Ok(Self { type_ })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i16(self.type_);
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ControlRecordTypeSchema {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("type".into(), {
            let v = &self.type_;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ControlRecordTypeSchema {
    const NAME: &'static str = "ControlRecordTypeSchema";
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
impl crate::json::ToJson for ControlRecordTypeSchema {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
