//! DescribeClientQuotasRequest, versions 0 to 1.

use super::prelude::*;

/// `DescribeClientQuotasRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeClientQuotasRequest {
    pub components: Vec<ComponentData>,
    pub strict: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeClientQuotasRequest {
    fn default() -> Self {
        Self { components: Default::default(), strict: false, unknown_tags: RawTags::default() }
    }
}

impl DescribeClientQuotasRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let components = r.vec(flex, |r| ComponentData::read(r, version))?;
        let strict = r.bool()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { components, strict, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.array(flex, Some(&self.components[..]), |w, v| v.write(w, version))?;
        w.bool(self.strict);
        w.unknown_tags(flex, &self.unknown_tags, "DescribeClientQuotasRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeClientQuotasRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("components".into(), {
            let v = &self.components;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("strict".into(), {
            let v = &self.strict;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `ComponentData`, part of DescribeClientQuotasRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ComponentData {
    pub entity_type: String,
    pub match_type: i8,
    pub match_: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ComponentData {
    fn default() -> Self {
        Self {
            entity_type: String::new(),
            match_type: 0,
            match_: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ComponentData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let entity_type = r.string(flex)?;
        let match_type = r.i8()?;
        let match_ = r.nullable_string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { entity_type, match_type, match_, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.string(flex, &self.entity_type)?;
        w.i8(self.match_type);
        w.nullable_string(flex, self.match_.as_deref())?;
        w.unknown_tags(flex, &self.unknown_tags, "ComponentData", version)
    }
}

#[cfg(feature = "json")]
impl ComponentData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("entityType".into(), {
            let v = &self.entity_type;
            v.as_str().into()
        });
        o.insert("matchType".into(), {
            let v = &self.match_type;
            (*v).into()
        });
        o.insert(
            "match".into(),
            match &self.match_ {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeClientQuotasRequest {
    const NAME: &'static str = "DescribeClientQuotasRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FLEXIBLE_FROM: i16 = 1;
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
impl crate::json::ToJson for DescribeClientQuotasRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeClientQuotasRequest {
    const API_KEY: ApiKey = ApiKey(48);
    type Response = super::describe_client_quotas_response::DescribeClientQuotasResponse;
}
