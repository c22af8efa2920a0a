//! ShareSnapshotKey, versions 0 to 0.

use super::prelude::*;

/// `ShareSnapshotKey`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareSnapshotKey {
    pub group_id: String,
    pub topic_id: Uuid,
    pub partition: i32,
}

impl Default for ShareSnapshotKey {
    fn default() -> Self {
        Self { group_id: String::new(), topic_id: Default::default(), partition: 0 }
    }
}

impl ShareSnapshotKey {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(false)?;
        let topic_id = r.uuid()?;
        let partition = r.i32()?;
        Ok(Self { group_id, topic_id, partition })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(false, &self.group_id)?;
        let mut b = [0; 20];
        b[0..16].copy_from_slice(&self.topic_id.0);
        b[16..20].copy_from_slice(&self.partition.to_be_bytes());
        w.raw(&b);
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ShareSnapshotKey {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ShareSnapshotKey {
    const NAME: &'static str = "ShareSnapshotKey";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FLEXIBLE_FROM: i16 = 32767;
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
impl crate::json::ToJson for ShareSnapshotKey {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ShareSnapshotKey {
    /// Number of this record type.
    pub const KEY: i16 = 0;
}
