//! UserScramCredentialRecord, versions 0 to 0.

use super::prelude::*;

/// `UserScramCredentialRecord`, message.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct UserScramCredentialRecord {
    pub name: String,
    pub mechanism: i8,
    pub salt: Bytes,
    pub stored_key: Bytes,
    pub server_key: Bytes,
    pub iterations: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for UserScramCredentialRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("UserScramCredentialRecord");
        shown.field("name", &self.name);
        shown.field("mechanism", &self.mechanism);
        shown.field("salt", &self.salt);
        shown.field("stored_key", &crate::secret::HIDDEN);
        shown.field("server_key", &crate::secret::HIDDEN);
        shown.field("iterations", &self.iterations);
        shown.finish_non_exhaustive()
    }
}

impl Default for UserScramCredentialRecord {
    fn default() -> Self {
        Self {
            name: String::new(),
            mechanism: 0,
            salt: Default::default(),
            stored_key: Default::default(),
            server_key: Default::default(),
            iterations: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl UserScramCredentialRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let mechanism = r.i8()?;
        let salt = r.bytes(true)?;
        let stored_key = r.bytes(true)?;
        let server_key = r.bytes(true)?;
        let iterations = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, mechanism, salt, stored_key, server_key, iterations, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.i8(self.mechanism);
        w.bytes(true, &self.salt)?;
        w.bytes(true, &self.stored_key)?;
        w.bytes(true, &self.server_key)?;
        w.i32(self.iterations);
        w.unknown_tags(true, &self.unknown_tags, "UserScramCredentialRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl UserScramCredentialRecord {
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
        o.insert("salt".into(), {
            let v = &self.salt;
            crate::json::base64(v).into()
        });
        o.insert("storedKey".into(), {
            let v = &self.stored_key;
            crate::json::base64(v).into()
        });
        o.insert("serverKey".into(), {
            let v = &self.server_key;
            crate::json::base64(v).into()
        });
        o.insert("iterations".into(), {
            let v = &self.iterations;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for UserScramCredentialRecord {
    const NAME: &'static str = "UserScramCredentialRecord";
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
impl crate::json::ToJson for UserScramCredentialRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl UserScramCredentialRecord {
    /// Number of this record type.
    pub const KEY: i16 = 11;
}
