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
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let mut m = Self::default();
        m.name = r.string(true)?;
        m.feature_level = r.i16()?;
        {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.i16(self.feature_level);
        w.raw_tags(&self.unknown_tags)?;
        Ok(())
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
