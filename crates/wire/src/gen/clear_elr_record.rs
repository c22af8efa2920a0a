//! ClearElrRecord, versions 0 to 0.

use super::prelude::*;

/// `ClearElrRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ClearElrRecord {
    pub topic_name: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ClearElrRecord {
    fn default() -> Self {
        Self { topic_name: String::new(), unknown_tags: RawTags::default() }
    }
}

impl ClearElrRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_name = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic_name)?;
        w.unknown_tags(true, &self.unknown_tags, "ClearElrRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ClearElrRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicName".into(), {
            let v = &self.topic_name;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ClearElrRecord {
    const NAME: &'static str = "ClearElrRecord";
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
impl crate::json::ToJson for ClearElrRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ClearElrRecord {
    /// Number of this record type.
    pub const KEY: i16 = 28;
}
