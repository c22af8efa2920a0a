//! ConfigRecord, versions 0 to 0.

use super::prelude::*;

/// `ConfigRecord`, message.
#[derive(Clone, PartialEq)]
#[allow(missing_docs)]
pub struct ConfigRecord {
    pub resource_type: i8,
    pub resource_name: String,
    pub name: String,
    pub value: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl std::fmt::Debug for ConfigRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("ConfigRecord");
        shown.field("resource_type", &self.resource_type);
        shown.field("resource_name", &self.resource_name);
        shown.field("name", &self.name);
        if crate::secret::is_sensitive_name(&self.name) {
            shown.field("value", &crate::secret::HIDDEN);
        } else {
            shown.field("value", &self.value);
        }
        shown.finish_non_exhaustive()
    }
}

impl Default for ConfigRecord {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: String::new(),
            name: String::new(),
            value: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ConfigRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let resource_type = r.i8()?;
        let resource_name = r.string(true)?;
        let name = r.string(true)?;
        let value = r.nullable_string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { resource_type, resource_name, name, value, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i8(self.resource_type);
        w.string(true, &self.resource_name)?;
        w.string(true, &self.name)?;
        w.nullable_string(true, self.value.as_deref())?;
        w.unknown_tags(true, &self.unknown_tags, "ConfigRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ConfigRecord {
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

impl Message for ConfigRecord {
    const NAME: &'static str = "ConfigRecord";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
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

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for ConfigRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ConfigRecord {
    /// Number of this record type.
    pub const KEY: i16 = 4;
}
