//! CreateAclsRequest, versions 1 to 3.

use super::prelude::*;

/// `CreateAclsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreateAclsRequest {
    pub creations: Vec<AclCreation>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreateAclsRequest {
    fn default() -> Self {
        Self { creations: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl CreateAclsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let creations = r.vec(flex, |r| AclCreation::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { creations, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.array(flex, Some(&self.creations[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "CreateAclsRequest", version)
    }
}

#[cfg(feature = "json")]
impl CreateAclsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("creations".into(), {
            let v = &self.creations;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AclCreation`, part of CreateAclsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AclCreation {
    pub resource_type: i8,
    pub resource_name: String,
    pub resource_pattern_type: i8,
    pub principal: String,
    pub host: String,
    pub operation: i8,
    pub permission_type: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AclCreation {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: String::new(),
            resource_pattern_type: 3,
            principal: String::new(),
            host: String::new(),
            operation: 0,
            permission_type: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl AclCreation {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let resource_type = r.i8()?;
        let resource_name = r.string(flex)?;
        let resource_pattern_type = r.i8()?;
        let principal = r.string(flex)?;
        let host = r.string(flex)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            resource_type,
            resource_name,
            resource_pattern_type,
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
        w.i8(self.resource_type);
        w.string(flex, &self.resource_name)?;
        w.i8(self.resource_pattern_type);
        w.string(flex, &self.principal)?;
        w.string(flex, &self.host)?;
        let mut b = [0; 2];
        b[0..1].copy_from_slice(&self.operation.to_be_bytes());
        b[1..2].copy_from_slice(&self.permission_type.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "AclCreation", version)
    }
}

#[cfg(feature = "json")]
impl AclCreation {
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
        o.insert("resourcePatternType".into(), {
            let v = &self.resource_pattern_type;
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

impl Message for CreateAclsRequest {
    const NAME: &'static str = "CreateAclsRequest";
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
impl crate::json::ToJson for CreateAclsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for CreateAclsRequest {
    const API_KEY: ApiKey = ApiKey(30);
    type Response = super::create_acls_response::CreateAclsResponse;
}
