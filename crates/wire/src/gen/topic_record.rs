//! TopicRecord, versions 0 to 0.

use super::prelude::*;

/// `TopicRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicRecord {
    pub name: String,
    pub topic_id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicRecord {
    fn default() -> Self {
        Self { name: String::new(), topic_id: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl TopicRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let topic_id = r.uuid()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, topic_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.uuid(self.topic_id);
        w.unknown_tags(true, &self.unknown_tags, "TopicRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for TopicRecord {
    const NAME: &'static str = "TopicRecord";
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
impl crate::json::ToJson for TopicRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl TopicRecord {
    /// Number of this record type.
    pub const KEY: i16 = 2;
}
