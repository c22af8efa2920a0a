//! DescribeConfigsRequest, versions 1 to 4.

use super::prelude::*;

/// `DescribeConfigsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeConfigsRequest {
    pub resources: Vec<DescribeConfigsResource>,
    pub include_synonyms: bool,
    pub include_documentation: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeConfigsRequest {
    fn default() -> Self {
        Self {
            resources: Default::default(),
            include_synonyms: false,
            include_documentation: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeConfigsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let resources = r.vec(flex, |r| DescribeConfigsResource::read(r, version))?;
        let include_synonyms = r.bool()?;
        let include_documentation = if version >= 3 { r.bool()? } else { false };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { resources, include_synonyms, include_documentation, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.array(flex, Some(&self.resources[..]), |w, v| v.write(w, version))?;
        if version >= 3 {
            let mut b = [0; 2];
            b[0..1].copy_from_slice(&[u8::from(self.include_synonyms)]);
            b[1..2].copy_from_slice(&[u8::from(self.include_documentation)]);
            w.raw(&b);
        } else {
            w.bool(self.include_synonyms);
            if self.include_documentation {
                return Err(EncodeError::NotInVersion {
                    message: "DescribeConfigsRequest",
                    field: "IncludeDocumentation",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "DescribeConfigsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeConfigsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("resources".into(), {
            let v = &self.resources;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("includeSynonyms".into(), {
            let v = &self.include_synonyms;
            (*v).into()
        });
        if version >= 3 {
            o.insert("includeDocumentation".into(), {
                let v = &self.include_documentation;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `DescribeConfigsResource`, part of DescribeConfigsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeConfigsResource {
    pub resource_type: i8,
    pub resource_name: String,
    pub configuration_keys: Option<Vec<String>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeConfigsResource {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: String::new(),
            configuration_keys: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeConfigsResource {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let resource_type = r.i8()?;
        let resource_name = r.string(flex)?;
        let configuration_keys = r.nullable_vec(flex, |r| r.string(flex))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { resource_type, resource_name, configuration_keys, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.i8(self.resource_type);
        w.string(flex, &self.resource_name)?;
        w.array(flex, self.configuration_keys.as_deref(), |w, v| w.string(flex, v))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeConfigsResource", version)
    }
}

#[cfg(feature = "json")]
impl DescribeConfigsResource {
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
        o.insert(
            "configurationKeys".into(),
            match &self.configuration_keys {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeConfigsRequest {
    const NAME: &'static str = "DescribeConfigsRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 4;
    const FLEXIBLE_FROM: i16 = 4;
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
impl crate::json::ToJson for DescribeConfigsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeConfigsRequest {
    const API_KEY: ApiKey = ApiKey(32);
    type Response = super::describe_configs_response::DescribeConfigsResponse;
}
