//! UnregisterControllerRecord, versions 0 to 0.

use super::prelude::*;

/// `UnregisterControllerRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct UnregisterControllerRecord {
    pub controller_id: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for UnregisterControllerRecord {
    fn default() -> Self {
        Self { controller_id: 0, unknown_tags: RawTags::default() }
    }
}

impl UnregisterControllerRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let controller_id = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { controller_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.controller_id);
        w.unknown_tags(true, &self.unknown_tags, "UnregisterControllerRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl UnregisterControllerRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("controllerId".into(), {
            let v = &self.controller_id;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for UnregisterControllerRecord {
    const NAME: &'static str = "UnregisterControllerRecord";
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
impl crate::json::ToJson for UnregisterControllerRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl UnregisterControllerRecord {
    /// Number of this record type.
    pub const KEY: i16 = 29;
}
