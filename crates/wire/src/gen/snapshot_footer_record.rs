//! SnapshotFooterRecord, versions 0 to 0.

use super::prelude::*;

/// `SnapshotFooterRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SnapshotFooterRecord {
    pub version: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for SnapshotFooterRecord {
    fn default() -> Self {
        Self { version: 0, unknown_tags: RawTags::default() }
    }
}

impl SnapshotFooterRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let its_version = r.i16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { version: its_version, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i16(self.version);
        w.unknown_tags(true, &self.unknown_tags, "SnapshotFooterRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl SnapshotFooterRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("version".into(), {
            let v = &self.version;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for SnapshotFooterRecord {
    const NAME: &'static str = "SnapshotFooterRecord";
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
impl crate::json::ToJson for SnapshotFooterRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
