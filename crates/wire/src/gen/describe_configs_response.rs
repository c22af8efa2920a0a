//! DescribeConfigsResponse, versions 1 to 4.

use super::prelude::*;

/// `DescribeConfigsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeConfigsResponse {
    pub throttle_time_ms: i32,
    pub results: Vec<DescribeConfigsResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeConfigsResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, results: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl DescribeConfigsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let throttle_time_ms = r.i32()?;
        let results = r.vec(flex, |r| DescribeConfigsResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, results, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.results[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeConfigsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeConfigsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("results".into(), {
            let v = &self.results;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeConfigsResult`, part of DescribeConfigsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeConfigsResult {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub resource_type: i8,
    pub resource_name: String,
    pub configs: Vec<DescribeConfigsResourceResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeConfigsResult {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            resource_type: 0,
            resource_name: String::new(),
            configs: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeConfigsResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let resource_type = r.i8()?;
        let resource_name = r.string(flex)?;
        let configs = r.vec(flex, |r| DescribeConfigsResourceResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { error_code, error_message, resource_type, resource_name, configs, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.i16(self.error_code.0);
        w.nullable_string(flex, self.error_message.as_deref())?;
        w.i8(self.resource_type);
        w.string(flex, &self.resource_name)?;
        w.array(flex, Some(&self.configs[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeConfigsResult", version)
    }
}

#[cfg(feature = "json")]
impl DescribeConfigsResult {
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
        o.insert("configs".into(), {
            let v = &self.configs;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeConfigsResourceResult`, part of DescribeConfigsResponse.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeConfigsResourceResult {
    pub name: String,
    pub value: Option<String>,
    pub read_only: bool,
    pub config_source: i8,
    pub is_sensitive: bool,
    pub synonyms: Vec<DescribeConfigsSynonym>,
    pub config_type: i8,
    pub documentation: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for DescribeConfigsResourceResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("DescribeConfigsResourceResult");
        shown.field("name", &self.name);
        if crate::secret::is_sensitive_name(&self.name) {
            shown.field("value", &crate::secret::HIDDEN);
        } else {
            shown.field("value", &self.value);
        }
        shown.field("read_only", &self.read_only);
        shown.field("config_source", &self.config_source);
        shown.field("is_sensitive", &self.is_sensitive);
        shown.field("synonyms", &self.synonyms);
        shown.field("config_type", &self.config_type);
        shown.field("documentation", &self.documentation);
        shown.finish_non_exhaustive()
    }
}

impl Default for DescribeConfigsResourceResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: Some(String::new()),
            read_only: false,
            config_source: -1,
            is_sensitive: false,
            synonyms: Default::default(),
            config_type: 0,
            documentation: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeConfigsResourceResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let name = r.string(flex)?;
        let value = r.nullable_string(flex)?;
        let read_only = r.bool()?;
        let config_source = r.i8()?;
        let is_sensitive = r.bool()?;
        let synonyms = r.vec(flex, |r| DescribeConfigsSynonym::read(r, version))?;
        let config_type = if version >= 3 { r.i8()? } else { 0 };
        let documentation =
            if version >= 3 { r.nullable_string(flex)? } else { Some(String::new()) };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            name,
            value,
            read_only,
            config_source,
            is_sensitive,
            synonyms,
            config_type,
            documentation,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.name)?;
        w.nullable_string(flex, self.value.as_deref())?;
        let mut b = [0; 3];
        b[0..1].copy_from_slice(&[u8::from(self.read_only)]);
        b[1..2].copy_from_slice(&self.config_source.to_be_bytes());
        b[2..3].copy_from_slice(&[u8::from(self.is_sensitive)]);
        w.raw(&b);
        w.array(flex, Some(&self.synonyms[..]), |w, v| v.write(w, version))?;
        if version >= 3 {
            w.i8(self.config_type);
        }
        if version >= 3 {
            w.nullable_string(flex, self.documentation.as_deref())?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "DescribeConfigsResourceResult", version)
    }
}

#[cfg(feature = "json")]
impl DescribeConfigsResourceResult {
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
        o.insert("readOnly".into(), {
            let v = &self.read_only;
            (*v).into()
        });
        o.insert("configSource".into(), {
            let v = &self.config_source;
            (*v).into()
        });
        o.insert("isSensitive".into(), {
            let v = &self.is_sensitive;
            (*v).into()
        });
        o.insert("synonyms".into(), {
            let v = &self.synonyms;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 3 {
            o.insert("configType".into(), {
                let v = &self.config_type;
                (*v).into()
            });
        }
        if version >= 3 {
            o.insert(
                "documentation".into(),
                match &self.documentation {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `DescribeConfigsSynonym`, part of DescribeConfigsResponse.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeConfigsSynonym {
    pub name: String,
    pub value: Option<String>,
    pub source: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for DescribeConfigsSynonym {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("DescribeConfigsSynonym");
        shown.field("name", &self.name);
        if crate::secret::is_sensitive_name(&self.name) {
            shown.field("value", &crate::secret::HIDDEN);
        } else {
            shown.field("value", &self.value);
        }
        shown.field("source", &self.source);
        shown.finish_non_exhaustive()
    }
}

impl Default for DescribeConfigsSynonym {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: Some(String::new()),
            source: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeConfigsSynonym {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let name = r.string(flex)?;
        let value = r.nullable_string(flex)?;
        let source = r.i8()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, value, source, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        w.string(flex, &self.name)?;
        w.nullable_string(flex, self.value.as_deref())?;
        w.i8(self.source);
        w.unknown_tags(flex, &self.unknown_tags, "DescribeConfigsSynonym", version)
    }
}

#[cfg(feature = "json")]
impl DescribeConfigsSynonym {
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
        o.insert("source".into(), {
            let v = &self.source;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeConfigsResponse {
    const NAME: &'static str = "DescribeConfigsResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for DescribeConfigsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
