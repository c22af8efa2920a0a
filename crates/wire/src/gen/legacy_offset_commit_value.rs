//! LegacyOffsetCommitValue, versions 0 to 0.

use super::prelude::*;

/// `LegacyOffsetCommitValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LegacyOffsetCommitValue {
    pub offset: i64,
    pub metadata: String,
    pub commit_timestamp: i64,
}

impl Default for LegacyOffsetCommitValue {
    fn default() -> Self {
        Self { offset: 0, metadata: String::new(), commit_timestamp: 0 }
    }
}

impl LegacyOffsetCommitValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let offset = r.i64()?;
        let metadata = r.string(false)?;
        let commit_timestamp = r.i64()?;
        Ok(Self { offset, metadata, commit_timestamp })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i64(self.offset);
        w.string(false, &self.metadata)?;
        w.i64(self.commit_timestamp);
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl LegacyOffsetCommitValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("offset".into(), {
            let v = &self.offset;
            (*v).into()
        });
        o.insert("metadata".into(), {
            let v = &self.metadata;
            v.as_str().into()
        });
        o.insert("commitTimestamp".into(), {
            let v = &self.commit_timestamp;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for LegacyOffsetCommitValue {
    const NAME: &'static str = "LegacyOffsetCommitValue";
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
impl crate::json::ToJson for LegacyOffsetCommitValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl LegacyOffsetCommitValue {
    /// Number of this record type.
    pub const KEY: i16 = 0;
}
