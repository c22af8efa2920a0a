//! KRaftVersionRecord, versions 0 to 0.

use super::prelude::*;

/// `KRaftVersionRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct KRaftVersionRecord {
    pub version: i16,
    pub k_raft_version: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for KRaftVersionRecord {
    fn default() -> Self {
        Self { version: 0, k_raft_version: 0, unknown_tags: RawTags::default() }
    }
}

impl KRaftVersionRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let its_version = r.i16()?;
        let k_raft_version = r.i16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { version: its_version, k_raft_version, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 4];
        b[0..2].copy_from_slice(&self.version.to_be_bytes());
        b[2..4].copy_from_slice(&self.k_raft_version.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "KRaftVersionRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl KRaftVersionRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("version".into(), {
            let v = &self.version;
            (*v).into()
        });
        o.insert("kRaftVersion".into(), {
            let v = &self.k_raft_version;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for KRaftVersionRecord {
    const NAME: &'static str = "KRaftVersionRecord";
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
impl crate::json::ToJson for KRaftVersionRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
