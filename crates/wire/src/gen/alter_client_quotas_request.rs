//! AlterClientQuotasRequest, versions 0 to 1.

use super::prelude::*;

/// `AlterClientQuotasRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterClientQuotasRequest {
    pub entries: Vec<EntryData>,
    pub validate_only: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterClientQuotasRequest {
    fn default() -> Self {
        Self { entries: Default::default(), validate_only: false, unknown_tags: RawTags::default() }
    }
}

impl AlterClientQuotasRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let entries = r.vec(flex, |r| EntryData::read(r, version))?;
        let validate_only = r.bool()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { entries, validate_only, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.array(flex, Some(&self.entries[..]), |w, v| v.write(w, version))?;
        w.bool(self.validate_only);
        w.unknown_tags(flex, &self.unknown_tags, "AlterClientQuotasRequest", version)
    }
}

#[cfg(feature = "json")]
impl AlterClientQuotasRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("entries".into(), {
            let v = &self.entries;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("validateOnly".into(), {
            let v = &self.validate_only;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `EntryData`, part of AlterClientQuotasRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EntryData {
    pub entity: Vec<EntityData>,
    pub ops: Vec<OpData>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EntryData {
    fn default() -> Self {
        Self {
            entity: Default::default(),
            ops: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl EntryData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let entity = r.vec(flex, |r| EntityData::read(r, version))?;
        let ops = r.vec(flex, |r| OpData::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { entity, ops, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.array(flex, Some(&self.entity[..]), |w, v| v.write(w, version))?;
        w.array(flex, Some(&self.ops[..]), |w, v| v.write(w, version))?;
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
        o.insert("ops".into(), {
            let v = &self.ops;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `EntityData`, part of AlterClientQuotasRequest.
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

/// `OpData`, part of AlterClientQuotasRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OpData {
    pub key: String,
    pub value: f64,
    pub remove: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OpData {
    fn default() -> Self {
        Self { key: String::new(), value: 0.0, remove: false, unknown_tags: RawTags::default() }
    }
}

impl OpData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let key = r.string(flex)?;
        let value = r.f64()?;
        let remove = r.bool()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { key, value, remove, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.string(flex, &self.key)?;
        let mut b = [0; 9];
        b[0..8].copy_from_slice(&self.value.to_be_bytes());
        b[8..9].copy_from_slice(&[u8::from(self.remove)]);
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "OpData", version)
    }
}

#[cfg(feature = "json")]
impl OpData {
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
        o.insert("remove".into(), {
            let v = &self.remove;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AlterClientQuotasRequest {
    const NAME: &'static str = "AlterClientQuotasRequest";
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
impl crate::json::ToJson for AlterClientQuotasRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AlterClientQuotasRequest {
    const API_KEY: ApiKey = ApiKey(49);
    type Response = super::alter_client_quotas_response::AlterClientQuotasResponse;
}
