//! ShareGroupMetadataValue, versions 0 to 0.

use super::prelude::*;

/// `ShareGroupMetadataValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareGroupMetadataValue {
    pub epoch: i32,
    pub metadata_hash: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareGroupMetadataValue {
    fn default() -> Self {
        Self { epoch: 0, metadata_hash: 0, unknown_tags: RawTags::default() }
    }
}

impl ShareGroupMetadataValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let epoch = r.i32()?;
        let metadata_hash = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { epoch, metadata_hash, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.epoch.to_be_bytes());
        b[4..12].copy_from_slice(&self.metadata_hash.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "ShareGroupMetadataValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ShareGroupMetadataValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("epoch".into(), {
            let v = &self.epoch;
            (*v).into()
        });
        o.insert("metadataHash".into(), {
            let v = &self.metadata_hash;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ShareGroupMetadataValue {
    const NAME: &'static str = "ShareGroupMetadataValue";
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
impl crate::json::ToJson for ShareGroupMetadataValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ShareGroupMetadataValue {
    /// Number of this record type.
    pub const KEY: i16 = 11;
}
