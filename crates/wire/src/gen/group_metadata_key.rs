//! GroupMetadataKey, versions 0 to 0.

use super::prelude::*;

/// `GroupMetadataKey`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct GroupMetadataKey {
    pub group: String,
}

impl Default for GroupMetadataKey {
    fn default() -> Self {
        Self { group: String::new() }
    }
}

impl GroupMetadataKey {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group = r.string(false)?;
        Ok(Self { group })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(false, &self.group)?;
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl GroupMetadataKey {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("group".into(), {
            let v = &self.group;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for GroupMetadataKey {
    const NAME: &'static str = "GroupMetadataKey";
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
impl crate::json::ToJson for GroupMetadataKey {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl GroupMetadataKey {
    /// Number of this record type.
    pub const KEY: i16 = 2;
}
