//! CreateDelegationTokenRequest, versions 1 to 3.

use super::prelude::*;

/// `CreateDelegationTokenRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreateDelegationTokenRequest {
    pub owner_principal_type: Option<String>,
    pub owner_principal_name: Option<String>,
    pub renewers: Vec<CreatableRenewers>,
    pub max_lifetime_ms: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreateDelegationTokenRequest {
    fn default() -> Self {
        Self {
            owner_principal_type: Some(String::new()),
            owner_principal_name: Some(String::new()),
            renewers: Default::default(),
            max_lifetime_ms: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreateDelegationTokenRequest {
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let mut m = Self::default();
        if version >= 3 {
            m.owner_principal_type = r.nullable_string(flex)?;
        }
        if version >= 3 {
            m.owner_principal_name = r.nullable_string(flex)?;
        }
        m.renewers = r.vec(flex, |r| CreatableRenewers::read(r, version))?;
        m.max_lifetime_ms = r.i64()?;
        if flex {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        if version >= 3 {
            w.nullable_string(flex, self.owner_principal_type.as_deref())?;
        } else {
            if !self.owner_principal_type.as_ref().is_some_and(|v| v.is_empty()) {
                return Err(EncodeError::NotInVersion {
                    message: "CreateDelegationTokenRequest",
                    field: "OwnerPrincipalType",
                    version,
                });
            }
        }
        if version >= 3 {
            w.nullable_string(flex, self.owner_principal_name.as_deref())?;
        } else {
            if !self.owner_principal_name.as_ref().is_some_and(|v| v.is_empty()) {
                return Err(EncodeError::NotInVersion {
                    message: "CreateDelegationTokenRequest",
                    field: "OwnerPrincipalName",
                    version,
                });
            }
        }
        w.array(flex, Some(&self.renewers[..]), |w, v| v.write(w, version))?;
        w.i64(self.max_lifetime_ms);
        if flex {
            w.raw_tags(&self.unknown_tags)?;
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "CreateDelegationTokenRequest",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl CreateDelegationTokenRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert(
                "ownerPrincipalType".into(),
                match &self.owner_principal_type {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 3 {
            o.insert(
                "ownerPrincipalName".into(),
                match &self.owner_principal_name {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert("renewers".into(), {
            let v = &self.renewers;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("maxLifetimeMs".into(), {
            let v = &self.max_lifetime_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `CreatableRenewers`, part of CreateDelegationTokenRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreatableRenewers {
    pub principal_type: String,
    pub principal_name: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreatableRenewers {
    fn default() -> Self {
        Self {
            principal_type: String::new(),
            principal_name: String::new(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreatableRenewers {
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let mut m = Self::default();
        m.principal_type = r.string(flex)?;
        m.principal_name = r.string(flex)?;
        if flex {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.principal_type)?;
        w.string(flex, &self.principal_name)?;
        if flex {
            w.raw_tags(&self.unknown_tags)?;
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "CreatableRenewers",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl CreatableRenewers {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("principalType".into(), {
            let v = &self.principal_type;
            v.as_str().into()
        });
        o.insert("principalName".into(), {
            let v = &self.principal_name;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for CreateDelegationTokenRequest {
    const NAME: &'static str = "CreateDelegationTokenRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 3;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for CreateDelegationTokenRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for CreateDelegationTokenRequest {
    const API_KEY: ApiKey = ApiKey(38);
    type Response = super::create_delegation_token_response::CreateDelegationTokenResponse;
}
