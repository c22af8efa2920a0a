//! RemoveDelegationTokenRecord, versions 0 to 0.

use super::prelude::*;

/// `RemoveDelegationTokenRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemoveDelegationTokenRecord {
    pub token_id: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemoveDelegationTokenRecord {
    fn default() -> Self {
        Self { token_id: String::new(), unknown_tags: RawTags::default() }
    }
}

impl RemoveDelegationTokenRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let token_id = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { token_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.token_id)?;
        w.unknown_tags(true, &self.unknown_tags, "RemoveDelegationTokenRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RemoveDelegationTokenRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("tokenId".into(), {
            let v = &self.token_id;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for RemoveDelegationTokenRecord {
    const NAME: &'static str = "RemoveDelegationTokenRecord";
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
impl crate::json::ToJson for RemoveDelegationTokenRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl RemoveDelegationTokenRecord {
    /// Number of this record type.
    pub const KEY: i16 = 26;
}
