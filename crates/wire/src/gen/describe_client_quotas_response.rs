//! DescribeClientQuotasResponse, versions 0 to 1.

use super::prelude::*;

/// `DescribeClientQuotasResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeClientQuotasResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub entries: Option<Vec<EntryData>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeClientQuotasResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            entries: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeClientQuotasResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(flex)?;
        let entries = r.nullable_vec(flex, |r| EntryData::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, error_code, error_message, entries, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(flex, self.error_message.as_deref())?;
        w.array(flex, self.entries.as_deref(), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeClientQuotasResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeClientQuotasResponse {
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
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "entries".into(),
            match &self.entries {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `EntryData`, part of DescribeClientQuotasResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EntryData {
    pub entity: Vec<EntityData>,
    pub values: Vec<ValueData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EntryData {
    fn default() -> Self {
        Self {
            entity: Default::default(),
            values: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl EntryData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let entity = r.vec(flex, |r| EntityData::read(r, version))?;
        let values = r.vec(flex, |r| ValueData::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { entity, values, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.array(flex, Some(&self.entity[..]), |w, v| v.write(w, version))?;
        w.array(flex, Some(&self.values[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "EntryData", version)
    }
}

#[cfg(feature = "json")]
impl EntryData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("entity".into(), {
            let v = &self.entity;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("values".into(), {
            let v = &self.values;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `EntityData`, part of DescribeClientQuotasResponse.
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

/// `ValueData`, part of DescribeClientQuotasResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ValueData {
    pub key: String,
    pub value: f64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ValueData {
    fn default() -> Self {
        Self { key: String::new(), value: 0.0, unknown_tags: RawTags::default() }
    }
}

impl ValueData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let key = r.string(flex)?;
        let value = r.f64()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { key, value, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.string(flex, &self.key)?;
        w.f64(self.value);
        w.unknown_tags(flex, &self.unknown_tags, "ValueData", version)
    }
}

#[cfg(feature = "json")]
impl ValueData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("key".into(), {
            let v = &self.key;
            v.as_str().into()
        });
        o.insert("value".into(), {
            let v = &self.value;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeClientQuotasResponse {
    const NAME: &'static str = "DescribeClientQuotasResponse";
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
impl crate::json::ToJson for DescribeClientQuotasResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
