//! AccessControlEntryRecord, versions 0 to 0.

use super::prelude::*;

/// `AccessControlEntryRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AccessControlEntryRecord {
    pub id: Uuid,
    pub resource_type: i8,
    pub resource_name: String,
    pub pattern_type: i8,
    pub principal: String,
    pub host: String,
    pub operation: i8,
    pub permission_type: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AccessControlEntryRecord {
    fn default() -> Self {
        Self {
            id: Default::default(),
            resource_type: 0,
            resource_name: String::new(),
            pattern_type: 0,
            principal: String::new(),
            host: String::new(),
            operation: 0,
            permission_type: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl AccessControlEntryRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let id = r.uuid()?;
        let resource_type = r.i8()?;
        let resource_name = r.string(true)?;
        let pattern_type = r.i8()?;
        let principal = r.string(true)?;
        let host = r.string(true)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            id,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 17];
        b[0..16].copy_from_slice(&self.id.0);
        b[16..17].copy_from_slice(&self.resource_type.to_be_bytes());
        w.raw(&b);
        w.string(true, &self.resource_name)?;
        w.i8(self.pattern_type);
        w.string(true, &self.principal)?;
        w.string(true, &self.host)?;
        let mut b = [0; 2];
        b[0..1].copy_from_slice(&self.operation.to_be_bytes());
        b[1..2].copy_from_slice(&self.permission_type.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "AccessControlEntryRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl AccessControlEntryRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("id".into(), {
            let v = &self.id;
            v.to_string().into()
        });
        o.insert("resourceType".into(), {
            let v = &self.resource_type;
            (*v).into()
        });
        o.insert("resourceName".into(), {
            let v = &self.resource_name;
            v.as_str().into()
        });
        o.insert("patternType".into(), {
            let v = &self.pattern_type;
            (*v).into()
        });
        o.insert("principal".into(), {
            let v = &self.principal;
            v.as_str().into()
        });
        o.insert("host".into(), {
            let v = &self.host;
            v.as_str().into()
        });
        o.insert("operation".into(), {
            let v = &self.operation;
            (*v).into()
        });
        o.insert("permissionType".into(), {
            let v = &self.permission_type;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for AccessControlEntryRecord {
    const NAME: &'static str = "AccessControlEntryRecord";
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
impl crate::json::ToJson for AccessControlEntryRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl AccessControlEntryRecord {
    /// Number of this record type.
    pub const KEY: i16 = 18;
}
