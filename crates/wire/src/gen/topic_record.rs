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
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let mut m = Self::default();
        m.name = r.string(true)?;
        m.topic_id = r.uuid()?;
        {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.uuid(self.topic_id);
        w.raw_tags(&self.unknown_tags)?;
        Ok(())
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
