//! AlterConfigsRequest, versions 0 to 2.

use super::prelude::*;

/// `AlterConfigsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterConfigsRequest {
    pub resources: Vec<AlterConfigsResource>,
    pub validate_only: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterConfigsRequest {
    fn default() -> Self {
        Self {
            resources: Default::default(),
            validate_only: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterConfigsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let resources = r.vec(flex, |r| AlterConfigsResource::read(r, version))?;
        let validate_only = r.bool()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { resources, validate_only, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.array(flex, Some(&self.resources[..]), |w, v| v.write(w, version))?;
        w.bool(self.validate_only);
        w.unknown_tags(flex, &self.unknown_tags, "AlterConfigsRequest", version)
    }
}

#[cfg(feature = "json")]
impl AlterConfigsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("resources".into(), {
            let v = &self.resources;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("validateOnly".into(), {
            let v = &self.validate_only;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `AlterConfigsResource`, part of AlterConfigsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterConfigsResource {
    pub resource_type: i8,
    pub resource_name: String,
    pub configs: Vec<AlterableConfig>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterConfigsResource {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: String::new(),
            configs: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterConfigsResource {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let resource_type = r.i8()?;
        let resource_name = r.string(flex)?;
        let configs = r.vec(flex, |r| AlterableConfig::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { resource_type, resource_name, configs, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i8(self.resource_type);
        w.string(flex, &self.resource_name)?;
        w.array(flex, Some(&self.configs[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "AlterConfigsResource", version)
    }
}

#[cfg(feature = "json")]
impl AlterConfigsResource {
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
        o.insert("configs".into(), {
            let v = &self.configs;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `AlterableConfig`, part of AlterConfigsRequest.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct AlterableConfig {
    pub name: String,
    pub value: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for AlterableConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("AlterableConfig");
        shown.field("name", &self.name);
        if crate::secret::is_sensitive_name(&self.name) {
            shown.field("value", &crate::secret::HIDDEN);
        } else {
            shown.field("value", &self.value);
        }
        shown.finish_non_exhaustive()
    }
}

impl Default for AlterableConfig {
    fn default() -> Self {
        Self { name: String::new(), value: Some(String::new()), unknown_tags: RawTags::default() }
    }
}

impl AlterableConfig {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let name = r.string(flex)?;
        let value = r.nullable_string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, value, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.name)?;
        w.nullable_string(flex, self.value.as_deref())?;
        w.unknown_tags(flex, &self.unknown_tags, "AlterableConfig", version)
    }
}

#[cfg(feature = "json")]
impl AlterableConfig {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert(
            "value".into(),
            match &self.value {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for AlterConfigsRequest {
    const NAME: &'static str = "AlterConfigsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
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
impl crate::json::ToJson for AlterConfigsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AlterConfigsRequest {
    const API_KEY: ApiKey = ApiKey(33);
    type Response = super::alter_configs_response::AlterConfigsResponse;
}
