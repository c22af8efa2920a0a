//! DeleteShareGroupOffsetsRequest, versions 0 to 0.

use super::prelude::*;

/// `DeleteShareGroupOffsetsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteShareGroupOffsetsRequest {
    pub group_id: String,
    pub topics: Vec<DeleteShareGroupOffsetsRequestTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteShareGroupOffsetsRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DeleteShareGroupOffsetsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(true)?;
        let topics = r.vec(true, |r| DeleteShareGroupOffsetsRequestTopic::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { group_id, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.group_id)?;
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DeleteShareGroupOffsetsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DeleteShareGroupOffsetsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DeleteShareGroupOffsetsRequestTopic`, part of DeleteShareGroupOffsetsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteShareGroupOffsetsRequestTopic {
    pub topic_name: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteShareGroupOffsetsRequestTopic {
    fn default() -> Self {
        Self { topic_name: String::new(), unknown_tags: RawTags::default() }
    }
}

impl DeleteShareGroupOffsetsRequestTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_name = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic_name)?;
        w.unknown_tags(true, &self.unknown_tags, "DeleteShareGroupOffsetsRequestTopic", version)
    }
}

#[cfg(feature = "json")]
impl DeleteShareGroupOffsetsRequestTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicName".into(), {
            let v = &self.topic_name;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DeleteShareGroupOffsetsRequest {
    const NAME: &'static str = "DeleteShareGroupOffsetsRequest";
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

#[cfg(feature = "json")]
impl crate::json::ToJson for DeleteShareGroupOffsetsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DeleteShareGroupOffsetsRequest {
    const API_KEY: ApiKey = ApiKey(92);
    type Response = super::delete_share_group_offsets_response::DeleteShareGroupOffsetsResponse;
}
