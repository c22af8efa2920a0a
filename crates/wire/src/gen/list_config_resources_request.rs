//! ListConfigResourcesRequest, versions 0 to 1.

use super::prelude::*;

/// `ListConfigResourcesRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListConfigResourcesRequest {
    pub resource_types: Vec<i8>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListConfigResourcesRequest {
    fn default() -> Self {
        Self { resource_types: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl ListConfigResourcesRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let resource_types =
            if version >= 1 { r.vec(true, |r| r.i8())? } else { Default::default() };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { resource_types, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            w.array(true, Some(&self.resource_types[..]), |w, v| {
                w.i8(*v);
                Ok(())
            })?;
        } else {
            if !self.resource_types.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "ListConfigResourcesRequest",
                    field: "ResourceTypes",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "ListConfigResourcesRequest", version)
    }
}

#[cfg(feature = "json")]
impl ListConfigResourcesRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("resourceTypes".into(), {
                let v = &self.resource_types;
                serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ListConfigResourcesRequest {
    const NAME: &'static str = "ListConfigResourcesRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
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
impl crate::json::ToJson for ListConfigResourcesRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ListConfigResourcesRequest {
    const API_KEY: ApiKey = ApiKey(74);
    type Response = super::list_config_resources_response::ListConfigResourcesResponse;
}
