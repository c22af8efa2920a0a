//! RemoveUserScramCredentialRecord, versions 0 to 0.

use super::prelude::*;

/// `RemoveUserScramCredentialRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemoveUserScramCredentialRecord {
    pub name: String,
    pub mechanism: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemoveUserScramCredentialRecord {
    fn default() -> Self {
        Self { name: String::new(), mechanism: 0, unknown_tags: RawTags::default() }
    }
}

impl RemoveUserScramCredentialRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let mechanism = r.i8()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, mechanism, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.i8(self.mechanism);
        w.unknown_tags(true, &self.unknown_tags, "RemoveUserScramCredentialRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RemoveUserScramCredentialRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("mechanism".into(), {
            let v = &self.mechanism;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for RemoveUserScramCredentialRecord {
    const NAME: &'static str = "RemoveUserScramCredentialRecord";
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
impl crate::json::ToJson for RemoveUserScramCredentialRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl RemoveUserScramCredentialRecord {
    /// Number of this record type.
    pub const KEY: i16 = 22;
}
