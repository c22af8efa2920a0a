//! LegacyOffsetCommitKey, versions 0 to 0.

use super::prelude::*;

/// `LegacyOffsetCommitKey`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LegacyOffsetCommitKey {
    pub group: String,
    pub topic: String,
    pub partition: i32,
}

impl Default for LegacyOffsetCommitKey {
    fn default() -> Self {
        Self { group: String::new(), topic: String::new(), partition: 0 }
    }
}

impl LegacyOffsetCommitKey {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group = r.string(false)?;
        let topic = r.string(false)?;
        let partition = r.i32()?;
        Ok(Self { group, topic, partition })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(false, &self.group)?;
        w.string(false, &self.topic)?;
        w.i32(self.partition);
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl LegacyOffsetCommitKey {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("group".into(), {
            let v = &self.group;
            v.as_str().into()
        });
        o.insert("topic".into(), {
            let v = &self.topic;
            v.as_str().into()
        });
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for LegacyOffsetCommitKey {
    const NAME: &'static str = "LegacyOffsetCommitKey";
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
impl crate::json::ToJson for LegacyOffsetCommitKey {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl LegacyOffsetCommitKey {
    /// Number of this record type.
    pub const KEY: i16 = 0;
}
