//! DeleteTopicsRequest, versions 1 to 6.

use super::prelude::*;

/// `DeleteTopicsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteTopicsRequest {
    pub topics: Vec<DeleteTopicState>,
    pub topic_names: Vec<String>,
    pub timeout_ms: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteTopicsRequest {
    fn default() -> Self {
        Self {
            topics: Default::default(),
            topic_names: Default::default(),
            timeout_ms: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DeleteTopicsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let topics = if version >= 6 {
            r.vec(flex, |r| DeleteTopicState::read(r, version))?
        } else {
            Default::default()
        };
        let topic_names =
            if version <= 5 { r.vec(flex, |r| r.string(flex))? } else { Default::default() };
        let timeout_ms = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topics, topic_names, timeout_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        if version >= 6 {
            w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.topics.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "DeleteTopicsRequest",
                    field: "Topics",
                    version,
                });
            }
        }
        if version <= 5 {
            w.array(flex, Some(&self.topic_names[..]), |w, v| w.string(flex, v))?;
        }
        w.i32(self.timeout_ms);
        w.unknown_tags(flex, &self.unknown_tags, "DeleteTopicsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DeleteTopicsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 6 {
            o.insert("topics".into(), {
                let v = &self.topics;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if version <= 5 {
            o.insert("topicNames".into(), {
                let v = &self.topic_names;
                serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
            });
        }
        o.insert("timeoutMs".into(), {
            let v = &self.timeout_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `DeleteTopicState`, part of DeleteTopicsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteTopicState {
    pub name: Option<String>,
    pub topic_id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteTopicState {
    fn default() -> Self {
        Self { name: None, topic_id: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl DeleteTopicState {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let name = if version >= 6 { r.nullable_string(flex)? } else { None };
        let topic_id = if version >= 6 { r.uuid()? } else { Default::default() };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, topic_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        if version >= 6 {
            w.nullable_string(flex, self.name.as_deref())?;
        } else {
            if self.name.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "DeleteTopicState",
                    field: "Name",
                    version,
                });
            }
        }
        if version >= 6 {
            w.uuid(self.topic_id);
        } else {
            if !self.topic_id.is_zero() {
                return Err(EncodeError::NotInVersion {
                    message: "DeleteTopicState",
                    field: "TopicId",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "DeleteTopicState", version)
    }
}

#[cfg(feature = "json")]
impl DeleteTopicState {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 6 {
            o.insert(
                "name".into(),
                match &self.name {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 6 {
            o.insert("topicId".into(), {
                let v = &self.topic_id;
                v.to_string().into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for DeleteTopicsRequest {
    const NAME: &'static str = "DeleteTopicsRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 6;
    const FLEXIBLE_FROM: i16 = 4;
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
impl crate::json::ToJson for DeleteTopicsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DeleteTopicsRequest {
    const API_KEY: ApiKey = ApiKey(20);
    type Response = super::delete_topics_response::DeleteTopicsResponse;
}
