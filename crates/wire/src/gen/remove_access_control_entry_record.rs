//! RemoveAccessControlEntryRecord, versions 0 to 0.

use super::prelude::*;

/// `RemoveAccessControlEntryRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemoveAccessControlEntryRecord {
    pub id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemoveAccessControlEntryRecord {
    fn default() -> Self {
        Self { id: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl RemoveAccessControlEntryRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let id = r.uuid()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.id);
        w.unknown_tags(true, &self.unknown_tags, "RemoveAccessControlEntryRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RemoveAccessControlEntryRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("id".into(), {
            let v = &self.id;
            v.to_string().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for RemoveAccessControlEntryRecord {
    const NAME: &'static str = "RemoveAccessControlEntryRecord";
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
impl crate::json::ToJson for RemoveAccessControlEntryRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl RemoveAccessControlEntryRecord {
    /// Number of this record type.
    pub const KEY: i16 = 19;
}
