//! DeleteAclsResponse, versions 1 to 3.

use super::prelude::*;

/// `DeleteAclsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteAclsResponse {
    pub throttle_time_ms: i32,
    pub filter_results: Vec<DeleteAclsFilterResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteAclsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            filter_results: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DeleteAclsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let throttle_time_ms = r.i32()?;
        let filter_results = r.vec(flex, |r| DeleteAclsFilterResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, filter_results, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.filter_results[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DeleteAclsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DeleteAclsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("filterResults".into(), {
            let v = &self.filter_results;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DeleteAclsFilterResult`, part of DeleteAclsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteAclsFilterResult {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub matching_acls: Vec<DeleteAclsMatchingAcl>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteAclsFilterResult {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            matching_acls: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DeleteAclsFilterResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let matching_acls = r.vec(flex, |r| DeleteAclsMatchingAcl::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { error_code, error_message, matching_acls, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i16(self.error_code.0);
        w.nullable_string(flex, self.error_message.as_deref())?;
        w.array(flex, Some(&self.matching_acls[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DeleteAclsFilterResult", version)
    }
}

#[cfg(feature = "json")]
impl DeleteAclsFilterResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("matchingAcls".into(), {
            let v = &self.matching_acls;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DeleteAclsMatchingAcl`, part of DeleteAclsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteAclsMatchingAcl {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub resource_type: i8,
    pub resource_name: String,
    pub pattern_type: i8,
    pub principal: String,
    pub host: String,
    pub operation: i8,
    pub permission_type: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteAclsMatchingAcl {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            resource_type: 0,
            resource_name: String::new(),
            pattern_type: 3,
            principal: String::new(),
            host: String::new(),
            operation: 0,
            permission_type: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DeleteAclsMatchingAcl {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let resource_type = r.i8()?;
        let resource_name = r.string(flex)?;
        let pattern_type = r.i8()?;
        let principal = r.string(flex)?;
        let host = r.string(flex)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            error_code,
            error_message,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i16(self.error_code.0);
        w.nullable_string(flex, self.error_message.as_deref())?;
        w.i8(self.resource_type);
        w.string(flex, &self.resource_name)?;
        w.i8(self.pattern_type);
        w.string(flex, &self.principal)?;
        w.string(flex, &self.host)?;
        let mut b = [0; 2];
        b[0..1].copy_from_slice(&self.operation.to_be_bytes());
        b[1..2].copy_from_slice(&self.permission_type.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "DeleteAclsMatchingAcl", version)
    }
}

#[cfg(feature = "json")]
impl DeleteAclsMatchingAcl {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("resourceType".into(), {
            let v = &self.resource_type;
            (*v).into()
        });
        o.insert("resourceName".into(), {
            let v = &self.resource_name;
            v.as_str().into()
        });
        o.insert("patternType".into(), {
            let v = &self.pattern_type;
            (*v).into()
        });
        o.insert("principal".into(), {
            let v = &self.principal;
            v.as_str().into()
        });
        o.insert("host".into(), {
            let v = &self.host;
            v.as_str().into()
        });
        o.insert("operation".into(), {
            let v = &self.operation;
            (*v).into()
        });
        o.insert("permissionType".into(), {
            let v = &self.permission_type;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DeleteAclsResponse {
    const NAME: &'static str = "DeleteAclsResponse";
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
impl crate::json::ToJson for DeleteAclsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
