//! FeatureLevelRecord, versions 0 to 0.

use super::prelude::*;

/// `FeatureLevelRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FeatureLevelRecord {
    pub name: String,
    pub feature_level: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FeatureLevelRecord {
    fn default() -> Self {
        Self { name: String::new(), feature_level: 0, unknown_tags: RawTags::default() }
    }
}

impl FeatureLevelRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let feature_level = r.i16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, feature_level, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.i16(self.feature_level);
        w.unknown_tags(true, &self.unknown_tags, "FeatureLevelRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl FeatureLevelRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("featureLevel".into(), {
            let v = &self.feature_level;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for FeatureLevelRecord {
    const NAME: &'static str = "FeatureLevelRecord";
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
impl crate::json::ToJson for FeatureLevelRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl FeatureLevelRecord {
    /// Number of this record type.
    pub const KEY: i16 = 12;
}
