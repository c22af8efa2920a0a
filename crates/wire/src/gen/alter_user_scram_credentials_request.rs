//! AlterUserScramCredentialsRequest, versions 0 to 0.

use super::prelude::*;

/// `AlterUserScramCredentialsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterUserScramCredentialsRequest {
    pub deletions: Vec<ScramCredentialDeletion>,
    pub upsertions: Vec<ScramCredentialUpsertion>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterUserScramCredentialsRequest {
    fn default() -> Self {
        Self {
            deletions: Default::default(),
            upsertions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterUserScramCredentialsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let deletions = r.vec(true, |r| ScramCredentialDeletion::read(r, version))?;
        let upsertions = r.vec(true, |r| ScramCredentialUpsertion::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { deletions, upsertions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.deletions[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.upsertions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "AlterUserScramCredentialsRequest", version)
    }
}

#[cfg(feature = "json")]
impl AlterUserScramCredentialsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("deletions".into(), {
            let v = &self.deletions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("upsertions".into(), {
            let v = &self.upsertions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ScramCredentialDeletion`, part of AlterUserScramCredentialsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ScramCredentialDeletion {
    pub name: String,
    pub mechanism: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ScramCredentialDeletion {
    fn default() -> Self {
        Self { name: String::new(), mechanism: 0, unknown_tags: RawTags::default() }
    }
}

impl ScramCredentialDeletion {
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
        w.unknown_tags(true, &self.unknown_tags, "ScramCredentialDeletion", version)
    }
}

#[cfg(feature = "json")]
impl ScramCredentialDeletion {
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

/// `ScramCredentialUpsertion`, part of AlterUserScramCredentialsRequest.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ScramCredentialUpsertion {
    pub name: String,
    pub mechanism: i8,
    pub iterations: i32,
    pub salt: Bytes,
    pub salted_password: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for ScramCredentialUpsertion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("ScramCredentialUpsertion");
        shown.field("name", &self.name);
        shown.field("mechanism", &self.mechanism);
        shown.field("iterations", &self.iterations);
        shown.field("salt", &self.salt);
        shown.field("salted_password", &crate::secret::HIDDEN);
        shown.finish_non_exhaustive()
    }
}

impl Default for ScramCredentialUpsertion {
    fn default() -> Self {
        Self {
            name: String::new(),
            mechanism: 0,
            iterations: 0,
            salt: Default::default(),
            salted_password: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ScramCredentialUpsertion {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let mechanism = r.i8()?;
        let iterations = r.i32()?;
        let salt = r.bytes(true)?;
        let salted_password = r.bytes(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, mechanism, iterations, salt, salted_password, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        let mut b = [0; 5];
        b[0..1].copy_from_slice(&self.mechanism.to_be_bytes());
        b[1..5].copy_from_slice(&self.iterations.to_be_bytes());
        w.raw(&b);
        w.bytes(true, &self.salt)?;
        w.bytes(true, &self.salted_password)?;
        w.unknown_tags(true, &self.unknown_tags, "ScramCredentialUpsertion", version)
    }
}

#[cfg(feature = "json")]
impl ScramCredentialUpsertion {
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
        o.insert("iterations".into(), {
            let v = &self.iterations;
            (*v).into()
        });
        o.insert("salt".into(), {
            let v = &self.salt;
            crate::json::base64(v).into()
        });
        o.insert("saltedPassword".into(), {
            let v = &self.salted_password;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AlterUserScramCredentialsRequest {
    const NAME: &'static str = "AlterUserScramCredentialsRequest";
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

#[cfg(feature = "json")]
impl crate::json::ToJson for AlterUserScramCredentialsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AlterUserScramCredentialsRequest {
    const API_KEY: ApiKey = ApiKey(51);
    type Response = super::alter_user_scram_credentials_response::AlterUserScramCredentialsResponse;
}
