//! CreateDelegationTokenResponse, versions 1 to 3.

use super::prelude::*;

/// `CreateDelegationTokenResponse`, message.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct CreateDelegationTokenResponse {
    pub error_code: ErrorCode,
    pub principal_type: String,
    pub principal_name: String,
    pub token_requester_principal_type: String,
    pub token_requester_principal_name: String,
    pub issue_timestamp_ms: i64,
    pub expiry_timestamp_ms: i64,
    pub max_timestamp_ms: i64,
    pub token_id: String,
    pub hmac: Bytes,
    pub throttle_time_ms: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for CreateDelegationTokenResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("CreateDelegationTokenResponse");
        shown.field("error_code", &self.error_code);
        shown.field("principal_type", &self.principal_type);
        shown.field("principal_name", &self.principal_name);
        shown.field("token_requester_principal_type", &self.token_requester_principal_type);
        shown.field("token_requester_principal_name", &self.token_requester_principal_name);
        shown.field("issue_timestamp_ms", &self.issue_timestamp_ms);
        shown.field("expiry_timestamp_ms", &self.expiry_timestamp_ms);
        shown.field("max_timestamp_ms", &self.max_timestamp_ms);
        shown.field("token_id", &self.token_id);
        shown.field("hmac", &crate::secret::HIDDEN);
        shown.field("throttle_time_ms", &self.throttle_time_ms);
        shown.finish_non_exhaustive()
    }
}

impl Default for CreateDelegationTokenResponse {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            principal_type: String::new(),
            principal_name: String::new(),
            token_requester_principal_type: String::new(),
            token_requester_principal_name: String::new(),
            issue_timestamp_ms: 0,
            expiry_timestamp_ms: 0,
            max_timestamp_ms: 0,
            token_id: String::new(),
            hmac: Default::default(),
            throttle_time_ms: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreateDelegationTokenResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let error_code = ErrorCode(r.i16()?);
        let principal_type = r.string(flex)?;
        let principal_name = r.string(flex)?;
        let token_requester_principal_type =
            if version >= 3 { r.string(flex)? } else { String::new() };
        let token_requester_principal_name =
            if version >= 3 { r.string(flex)? } else { String::new() };
        let issue_timestamp_ms = r.i64()?;
        let expiry_timestamp_ms = r.i64()?;
        let max_timestamp_ms = r.i64()?;
        let token_id = r.string(flex)?;
        let hmac = r.bytes(flex)?;
        let throttle_time_ms = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            error_code,
            principal_type,
            principal_name,
            token_requester_principal_type,
            token_requester_principal_name,
            issue_timestamp_ms,
            expiry_timestamp_ms,
            max_timestamp_ms,
            token_id,
            hmac,
            throttle_time_ms,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i16(self.error_code.0);
        w.string(flex, &self.principal_type)?;
        w.string(flex, &self.principal_name)?;
        if version >= 3 {
            w.string(flex, &self.token_requester_principal_type)?;
        } else {
            if !self.token_requester_principal_type.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "CreateDelegationTokenResponse",
                    field: "TokenRequesterPrincipalType",
                    version,
                });
            }
        }
        if version >= 3 {
            w.string(flex, &self.token_requester_principal_name)?;
        } else {
            if !self.token_requester_principal_name.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "CreateDelegationTokenResponse",
                    field: "TokenRequesterPrincipalName",
                    version,
                });
            }
        }
        let mut b = [0; 24];
        b[0..8].copy_from_slice(&self.issue_timestamp_ms.to_be_bytes());
        b[8..16].copy_from_slice(&self.expiry_timestamp_ms.to_be_bytes());
        b[16..24].copy_from_slice(&self.max_timestamp_ms.to_be_bytes());
        w.raw(&b);
        w.string(flex, &self.token_id)?;
        w.bytes(flex, &self.hmac)?;
        w.i32(self.throttle_time_ms);
        w.unknown_tags(flex, &self.unknown_tags, "CreateDelegationTokenResponse", version)
    }
}

#[cfg(feature = "json")]
impl CreateDelegationTokenResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("principalType".into(), {
            let v = &self.principal_type;
            v.as_str().into()
        });
        o.insert("principalName".into(), {
            let v = &self.principal_name;
            v.as_str().into()
        });
        if version >= 3 {
            o.insert("tokenRequesterPrincipalType".into(), {
                let v = &self.token_requester_principal_type;
                v.as_str().into()
            });
        }
        if version >= 3 {
            o.insert("tokenRequesterPrincipalName".into(), {
                let v = &self.token_requester_principal_name;
                v.as_str().into()
            });
        }
        o.insert("issueTimestampMs".into(), {
            let v = &self.issue_timestamp_ms;
            (*v).into()
        });
        o.insert("expiryTimestampMs".into(), {
            let v = &self.expiry_timestamp_ms;
            (*v).into()
        });
        o.insert("maxTimestampMs".into(), {
            let v = &self.max_timestamp_ms;
            (*v).into()
        });
        o.insert("tokenId".into(), {
            let v = &self.token_id;
            v.as_str().into()
        });
        o.insert("hmac".into(), {
            let v = &self.hmac;
            crate::json::base64(v).into()
        });
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for CreateDelegationTokenResponse {
    const NAME: &'static str = "CreateDelegationTokenResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for CreateDelegationTokenResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
