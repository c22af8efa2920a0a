//! DescribeTopicPartitionsRequest, versions 0 to 0.

use super::prelude::*;

/// `DescribeTopicPartitionsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeTopicPartitionsRequest {
    pub topics: Vec<TopicRequest>,
    pub response_partition_limit: i32,
    pub cursor: Option<Cursor>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeTopicPartitionsRequest {
    fn default() -> Self {
        Self {
            topics: Default::default(),
            response_partition_limit: 2000,
            cursor: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeTopicPartitionsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topics = r.vec(true, |r| TopicRequest::read(r, version))?;
        let response_partition_limit = r.i32()?;
        let cursor = if r.i8()? >= 0 { Some(Cursor::read(r, version)?) } else { None };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topics, response_partition_limit, cursor, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.i32(self.response_partition_limit);
        match &self.cursor {
            Some(v) => {
                w.i8(1);
                v.write(w, version)?;
            }
            None => {
                w.i8(-1);
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "DescribeTopicPartitionsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeTopicPartitionsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("responsePartitionLimit".into(), {
            let v = &self.response_partition_limit;
            (*v).into()
        });
        o.insert(
            "cursor".into(),
            match &self.cursor {
                Some(v) => v.json(version),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `TopicRequest`, part of DescribeTopicPartitionsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicRequest {
    pub name: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicRequest {
    fn default() -> Self {
        Self { name: String::new(), unknown_tags: RawTags::default() }
    }
}

impl TopicRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.unknown_tags(true, &self.unknown_tags, "TopicRequest", version)
    }
}

#[cfg(feature = "json")]
impl TopicRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

/// `Cursor`, part of DescribeTopicPartitionsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Cursor {
    pub topic_name: String,
    pub partition_index: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Cursor {
    fn default() -> Self {
        Self { topic_name: String::new(), partition_index: 0, unknown_tags: RawTags::default() }
    }
}

impl Cursor {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_name = r.string(true)?;
        let partition_index = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_name, partition_index, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic_name)?;
        w.i32(self.partition_index);
        w.unknown_tags(true, &self.unknown_tags, "Cursor", version)
    }
}

#[cfg(feature = "json")]
impl Cursor {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicName".into(), {
            let v = &self.topic_name;
            v.as_str().into()
        });
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeTopicPartitionsRequest {
    const NAME: &'static str = "DescribeTopicPartitionsRequest";
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
impl crate::json::ToJson for DescribeTopicPartitionsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeTopicPartitionsRequest {
    const API_KEY: ApiKey = ApiKey(75);
    type Response = super::describe_topic_partitions_response::DescribeTopicPartitionsResponse;
}
