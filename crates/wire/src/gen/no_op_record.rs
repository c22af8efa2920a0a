//! NoOpRecord, versions 0 to 0.

use super::prelude::*;

/// `NoOpRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct NoOpRecord {
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for NoOpRecord {
    fn default() -> Self {
        Self { unknown_tags: RawTags::default() }
    }
}

impl NoOpRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.unknown_tags(true, &self.unknown_tags, "NoOpRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl NoOpRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        serde_json::Value::Object(o)
    }
}

impl Message for NoOpRecord {
    const NAME: &'static str = "NoOpRecord";
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

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for NoOpRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl NoOpRecord {
    /// Number of this record type.
    pub const KEY: i16 = 20;
}
