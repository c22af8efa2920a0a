//! ClientQuotaRecord, versions 0 to 0.

use super::prelude::*;

/// `ClientQuotaRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ClientQuotaRecord {
    pub entity: Vec<EntityData>,
    pub key: String,
    pub value: f64,
    pub remove: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ClientQuotaRecord {
    fn default() -> Self {
        Self {
            entity: Default::default(),
            key: String::new(),
            value: 0.0,
            remove: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ClientQuotaRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let entity = r.vec(true, |r| EntityData::read(r, version))?;
        let key = r.string(true)?;
        let value = r.f64()?;
        let remove = r.bool()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { entity, key, value, remove, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.entity[..]), |w, v| v.write(w, version))?;
        w.string(true, &self.key)?;
        let mut b = [0; 9];
        b[0..8].copy_from_slice(&self.value.to_be_bytes());
        b[8..9].copy_from_slice(&[u8::from(self.remove)]);
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "ClientQuotaRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ClientQuotaRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("entity".into(), {
            let v = &self.entity;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
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

/// `EntityData`, part of ClientQuotaRecord.
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
        let entity_type = r.string(true)?;
        let entity_name = r.nullable_string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { entity_type, entity_name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.entity_type)?;
        w.nullable_string(true, self.entity_name.as_deref())?;
        w.unknown_tags(true, &self.unknown_tags, "EntityData", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
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

impl Message for ClientQuotaRecord {
    const NAME: &'static str = "ClientQuotaRecord";
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
impl crate::json::ToJson for ClientQuotaRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ClientQuotaRecord {
    /// Number of this record type.
    pub const KEY: i16 = 14;
}
