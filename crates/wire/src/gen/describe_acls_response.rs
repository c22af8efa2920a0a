//! DescribeAclsResponse, versions 1 to 3.

use super::prelude::*;

/// `DescribeAclsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeAclsResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub resources: Vec<DescribeAclsResource>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeAclsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            resources: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeAclsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let resources = r.vec(flex, |r| DescribeAclsResource::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, error_code, error_message, resources, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(flex, self.error_message.as_deref())?;
        w.array(flex, Some(&self.resources[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeAclsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeAclsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
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
        o.insert("resources".into(), {
            let v = &self.resources;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeAclsResource`, part of DescribeAclsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeAclsResource {
    pub resource_type: i8,
    pub resource_name: String,
    pub pattern_type: i8,
    pub acls: Vec<AclDescription>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeAclsResource {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: String::new(),
            pattern_type: 3,
            acls: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeAclsResource {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let resource_type = r.i8()?;
        let resource_name = r.string(flex)?;
        let pattern_type = r.i8()?;
        let acls = r.vec(flex, |r| AclDescription::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { resource_type, resource_name, pattern_type, acls, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i8(self.resource_type);
        w.string(flex, &self.resource_name)?;
        w.i8(self.pattern_type);
        w.array(flex, Some(&self.acls[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeAclsResource", version)
    }
}

#[cfg(feature = "json")]
impl DescribeAclsResource {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
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
        o.insert("acls".into(), {
            let v = &self.acls;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AclDescription`, part of DescribeAclsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AclDescription {
    pub principal: String,
    pub host: String,
    pub operation: i8,
    pub permission_type: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AclDescription {
    fn default() -> Self {
        Self {
            principal: String::new(),
            host: String::new(),
            operation: 0,
            permission_type: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl AclDescription {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let principal = r.string(flex)?;
        let host = r.string(flex)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { principal, host, operation, permission_type, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.principal)?;
        w.string(flex, &self.host)?;
        let mut b = [0; 2];
        b[0..1].copy_from_slice(&self.operation.to_be_bytes());
        b[1..2].copy_from_slice(&self.permission_type.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "AclDescription", version)
    }
}

#[cfg(feature = "json")]
impl AclDescription {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
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

impl Message for DescribeAclsResponse {
    const NAME: &'static str = "DescribeAclsResponse";
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
impl crate::json::ToJson for DescribeAclsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
