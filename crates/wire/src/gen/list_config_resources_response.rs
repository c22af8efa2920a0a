//! ListConfigResourcesResponse, versions 0 to 1.

use super::prelude::*;

/// `ListConfigResourcesResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListConfigResourcesResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub config_resources: Vec<ConfigResource>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListConfigResourcesResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            config_resources: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListConfigResourcesResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let config_resources = r.vec(true, |r| ConfigResource::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, error_code, config_resources, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.config_resources[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ListConfigResourcesResponse", version)
    }
}

#[cfg(feature = "json")]
impl ListConfigResourcesResponse {
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
        o.insert("configResources".into(), {
            let v = &self.config_resources;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ConfigResource`, part of ListConfigResourcesResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConfigResource {
    pub resource_name: String,
    pub resource_type: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ConfigResource {
    fn default() -> Self {
        Self { resource_name: String::new(), resource_type: 16, unknown_tags: RawTags::default() }
    }
}

impl ConfigResource {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let resource_name = r.string(true)?;
        let resource_type = if version >= 1 { r.i8()? } else { 16 };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { resource_name, resource_type, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.resource_name)?;
        if version >= 1 {
            w.i8(self.resource_type);
        }
        w.unknown_tags(true, &self.unknown_tags, "ConfigResource", version)
    }
}

#[cfg(feature = "json")]
impl ConfigResource {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("resourceName".into(), {
            let v = &self.resource_name;
            v.as_str().into()
        });
        if version >= 1 {
            o.insert("resourceType".into(), {
                let v = &self.resource_type;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ListConfigResourcesResponse {
    const NAME: &'static str = "ListConfigResourcesResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for ListConfigResourcesResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
