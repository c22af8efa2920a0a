//! DescribeGroupsRequest, versions 0 to 6.

use super::prelude::*;

/// `DescribeGroupsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeGroupsRequest {
    pub groups: Vec<String>,
    pub include_authorized_operations: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeGroupsRequest {
    fn default() -> Self {
        Self {
            groups: Default::default(),
            include_authorized_operations: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeGroupsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let groups = r.vec(flex, |r| r.string(flex))?;
        let include_authorized_operations = if version >= 3 { r.bool()? } else { false };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { groups, include_authorized_operations, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        w.array(flex, Some(&self.groups[..]), |w, v| w.string(flex, v))?;
        if version >= 3 {
            w.bool(self.include_authorized_operations);
        } else {
            if self.include_authorized_operations {
                return Err(EncodeError::NotInVersion {
                    message: "DescribeGroupsRequest",
                    field: "IncludeAuthorizedOperations",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "DescribeGroupsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeGroupsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groups".into(), {
            let v = &self.groups;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        if version >= 3 {
            o.insert("includeAuthorizedOperations".into(), {
                let v = &self.include_authorized_operations;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeGroupsRequest {
    const NAME: &'static str = "DescribeGroupsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FLEXIBLE_FROM: i16 = 5;
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
impl crate::json::ToJson for DescribeGroupsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeGroupsRequest {
    const API_KEY: ApiKey = ApiKey(15);
    type Response = super::describe_groups_response::DescribeGroupsResponse;
}
