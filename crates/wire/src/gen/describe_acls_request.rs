//! DescribeAclsRequest, versions 1 to 3.

use super::prelude::*;

/// `DescribeAclsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeAclsRequest {
    pub resource_type_filter: i8,
    pub resource_name_filter: Option<String>,
    pub pattern_type_filter: i8,
    pub principal_filter: Option<String>,
    pub host_filter: Option<String>,
    pub operation: i8,
    pub permission_type: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeAclsRequest {
    fn default() -> Self {
        Self {
            resource_type_filter: 0,
            resource_name_filter: Some(String::new()),
            pattern_type_filter: 3,
            principal_filter: Some(String::new()),
            host_filter: Some(String::new()),
            operation: 0,
            permission_type: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeAclsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let resource_type_filter = r.i8()?;
        let resource_name_filter = r.nullable_string(flex)?;
        let pattern_type_filter = r.i8()?;
        let principal_filter = r.nullable_string(flex)?;
        let host_filter = r.nullable_string(flex)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            resource_type_filter,
            resource_name_filter,
            pattern_type_filter,
            principal_filter,
            host_filter,
            operation,
            permission_type,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i8(self.resource_type_filter);
        w.nullable_string(flex, self.resource_name_filter.as_deref())?;
        w.i8(self.pattern_type_filter);
        w.nullable_string(flex, self.principal_filter.as_deref())?;
        w.nullable_string(flex, self.host_filter.as_deref())?;
        let mut b = [0; 2];
        b[0..1].copy_from_slice(&self.operation.to_be_bytes());
        b[1..2].copy_from_slice(&self.permission_type.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "DescribeAclsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeAclsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("resourceTypeFilter".into(), {
            let v = &self.resource_type_filter;
            (*v).into()
        });
        o.insert(
            "resourceNameFilter".into(),
            match &self.resource_name_filter {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("patternTypeFilter".into(), {
            let v = &self.pattern_type_filter;
            (*v).into()
        });
        o.insert(
            "principalFilter".into(),
            match &self.principal_filter {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "hostFilter".into(),
            match &self.host_filter {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
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

impl Message for DescribeAclsRequest {
    const NAME: &'static str = "DescribeAclsRequest";
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
impl crate::json::ToJson for DescribeAclsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeAclsRequest {
    const API_KEY: ApiKey = ApiKey(29);
    type Response = super::describe_acls_response::DescribeAclsResponse;
}
