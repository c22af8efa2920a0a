//! RemoveTopicRecord, versions 0 to 0.

use super::prelude::*;

/// `RemoveTopicRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemoveTopicRecord {
    pub topic_id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemoveTopicRecord {
    fn default() -> Self {
        Self { topic_id: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl RemoveTopicRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.unknown_tags(true, &self.unknown_tags, "RemoveTopicRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RemoveTopicRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for RemoveTopicRecord {
    const NAME: &'static str = "RemoveTopicRecord";
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
impl crate::json::ToJson for RemoveTopicRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl RemoveTopicRecord {
    /// Number of this record type.
    pub const KEY: i16 = 9;
}
