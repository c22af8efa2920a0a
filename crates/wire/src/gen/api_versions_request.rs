//! ApiVersionsRequest, versions 0 to 5.

use super::prelude::*;

/// `ApiVersionsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ApiVersionsRequest {
    pub client_software_name: String,
    pub client_software_version: String,
    pub cluster_id: Option<String>,
    pub node_id: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ApiVersionsRequest {
    fn default() -> Self {
        Self {
            client_software_name: String::new(),
            client_software_version: String::new(),
            cluster_id: None,
            node_id: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ApiVersionsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let client_software_name = if version >= 3 { r.string(flex)? } else { String::new() };
        let client_software_version = if version >= 3 { r.string(flex)? } else { String::new() };
        let cluster_id = if version >= 5 { r.nullable_string(flex)? } else { None };
        let node_id = if version >= 5 { r.i32()? } else { -1 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            client_software_name,
            client_software_version,
            cluster_id,
            node_id,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 3 {
            w.string(flex, &self.client_software_name)?;
        }
        if version >= 3 {
            w.string(flex, &self.client_software_version)?;
        }
        if version >= 5 {
            w.nullable_string(flex, self.cluster_id.as_deref())?;
        }
        if version >= 5 {
            w.i32(self.node_id);
        }
        w.unknown_tags(flex, &self.unknown_tags, "ApiVersionsRequest", version)
    }
}

#[cfg(feature = "json")]
impl ApiVersionsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert("clientSoftwareName".into(), {
                let v = &self.client_software_name;
                v.as_str().into()
            });
        }
        if version >= 3 {
            o.insert("clientSoftwareVersion".into(), {
                let v = &self.client_software_version;
                v.as_str().into()
            });
        }
        if version >= 5 {
            o.insert(
                "clusterId".into(),
                match &self.cluster_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 5 {
            o.insert("nodeId".into(), {
                let v = &self.node_id;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ApiVersionsRequest {
    const NAME: &'static str = "ApiVersionsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FLEXIBLE_FROM: i16 = 3;
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
impl crate::json::ToJson for ApiVersionsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ApiVersionsRequest {
    const API_KEY: ApiKey = ApiKey(18);
    type Response = super::api_versions_response::ApiVersionsResponse;
}
