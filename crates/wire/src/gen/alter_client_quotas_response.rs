//! AlterClientQuotasResponse, versions 0 to 1.

use super::prelude::*;

/// `AlterClientQuotasResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterClientQuotasResponse {
    pub throttle_time_ms: i32,
    pub entries: Vec<EntryData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterClientQuotasResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, entries: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl AlterClientQuotasResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let throttle_time_ms = r.i32()?;
        let entries = r.vec(flex, |r| EntryData::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, entries, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.i32(self.throttle_time_ms);
        w.array(flex, Some(&self.entries[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "AlterClientQuotasResponse", version)
    }
}

#[cfg(feature = "json")]
impl AlterClientQuotasResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("entries".into(), {
            let v = &self.entries;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `EntryData`, part of AlterClientQuotasResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EntryData {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub entity: Vec<EntityData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EntryData {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            entity: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl EntryData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let entity = r.vec(flex, |r| EntityData::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { error_code, error_message, entity, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.i16(self.error_code.0);
        w.nullable_string(flex, self.error_message.as_deref())?;
        w.array(flex, Some(&self.entity[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "EntryData", version)
    }
}

#[cfg(feature = "json")]
impl EntryData {
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
        o.insert("entity".into(), {
            let v = &self.entity;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `EntityData`, part of AlterClientQuotasResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EntityData {
    pub entity_type: String,
    pub entity_name: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EntityData {
    fn default() -> Self {
        Self {
            entity_type: String::new(),
            entity_name: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl EntityData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let entity_type = r.string(flex)?;
        let entity_name = r.nullable_string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { entity_type, entity_name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.string(flex, &self.entity_type)?;
        w.nullable_string(flex, self.entity_name.as_deref())?;
        w.unknown_tags(flex, &self.unknown_tags, "EntityData", version)
    }
}

#[cfg(feature = "json")]
impl EntityData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("entityType".into(), {
            let v = &self.entity_type;
            v.as_str().into()
        });
        o.insert(
            "entityName".into(),
            match &self.entity_name {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for AlterClientQuotasResponse {
    const NAME: &'static str = "AlterClientQuotasResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for AlterClientQuotasResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
