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
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let owner_principal_type =
            if version >= 3 { r.nullable_string(flex)? } else { Some(String::new()) };
        let owner_principal_name =
            if version >= 3 { r.nullable_string(flex)? } else { Some(String::new()) };
        let renewers = r.vec(flex, |r| CreatableRenewers::read(r, version))?;
        let max_lifetime_ms = r.i64()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            owner_principal_type,
            owner_principal_name,
            renewers,
            max_lifetime_ms,
            unknown_tags,
        })
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
        w.unknown_tags(flex, &self.unknown_tags, "CreateDelegationTokenRequest", version)
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
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let principal_type = r.string(flex)?;
        let principal_name = r.string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { principal_type, principal_name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.principal_type)?;
        w.string(flex, &self.principal_name)?;
        w.unknown_tags(flex, &self.unknown_tags, "CreatableRenewers", version)
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
