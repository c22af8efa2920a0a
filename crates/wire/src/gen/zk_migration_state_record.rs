//! ZkMigrationStateRecord, versions 0 to 0.

use super::prelude::*;

/// `ZkMigrationStateRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ZkMigrationStateRecord {
    pub zk_migration_state: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ZkMigrationStateRecord {
    fn default() -> Self {
        Self { zk_migration_state: 0, unknown_tags: RawTags::default() }
    }
}

impl ZkMigrationStateRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let zk_migration_state = r.i8()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { zk_migration_state, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i8(self.zk_migration_state);
        w.unknown_tags(true, &self.unknown_tags, "ZkMigrationStateRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ZkMigrationStateRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("zkMigrationState".into(), {
            let v = &self.zk_migration_state;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ZkMigrationStateRecord {
    const NAME: &'static str = "ZkMigrationStateRecord";
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
impl crate::json::ToJson for ZkMigrationStateRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ZkMigrationStateRecord {
    /// Number of this record type.
    pub const KEY: i16 = 21;
}
