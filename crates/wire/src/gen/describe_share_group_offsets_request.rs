//! DescribeShareGroupOffsetsRequest, versions 0 to 1.

use super::prelude::*;

/// `DescribeShareGroupOffsetsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeShareGroupOffsetsRequest {
    pub groups: Vec<DescribeShareGroupOffsetsRequestGroup>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeShareGroupOffsetsRequest {
    fn default() -> Self {
        Self { groups: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl DescribeShareGroupOffsetsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let groups = r.vec(true, |r| DescribeShareGroupOffsetsRequestGroup::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { groups, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.groups[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeShareGroupOffsetsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeShareGroupOffsetsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groups".into(), {
            let v = &self.groups;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeShareGroupOffsetsRequestGroup`, part of DescribeShareGroupOffsetsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeShareGroupOffsetsRequestGroup {
    pub group_id: String,
    pub topics: Option<Vec<DescribeShareGroupOffsetsRequestTopic>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeShareGroupOffsetsRequestGroup {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeShareGroupOffsetsRequestGroup {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(true)?;
        let topics =
            r.nullable_vec(true, |r| DescribeShareGroupOffsetsRequestTopic::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { group_id, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.group_id)?;
        w.array(true, self.topics.as_deref(), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeShareGroupOffsetsRequestGroup", version)
    }
}

#[cfg(feature = "json")]
impl DescribeShareGroupOffsetsRequestGroup {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert(
            "topics".into(),
            match &self.topics {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `DescribeShareGroupOffsetsRequestTopic`, part of DescribeShareGroupOffsetsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeShareGroupOffsetsRequestTopic {
    pub topic_name: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeShareGroupOffsetsRequestTopic {
    fn default() -> Self {
        Self {
            topic_name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeShareGroupOffsetsRequestTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_name = r.string(true)?;
        let partitions = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic_name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeShareGroupOffsetsRequestTopic", version)
    }
}

#[cfg(feature = "json")]
impl DescribeShareGroupOffsetsRequestTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicName".into(), {
            let v = &self.topic_name;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeShareGroupOffsetsRequest {
    const NAME: &'static str = "DescribeShareGroupOffsetsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
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
impl crate::json::ToJson for DescribeShareGroupOffsetsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeShareGroupOffsetsRequest {
    const API_KEY: ApiKey = ApiKey(90);
    type Response = super::describe_share_group_offsets_response::DescribeShareGroupOffsetsResponse;
}
