//! StreamsGroupTopologyValue, versions 0 to 0.

use super::prelude::*;

/// `StreamsGroupTopologyValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupTopologyValue {
    pub epoch: i32,
    pub subtopologies: Vec<Subtopology>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupTopologyValue {
    fn default() -> Self {
        Self { epoch: 0, subtopologies: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl StreamsGroupTopologyValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let epoch = r.i32()?;
        let subtopologies = r.vec(true, |r| Subtopology::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { epoch, subtopologies, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.epoch);
        w.array(true, Some(&self.subtopologies[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "StreamsGroupTopologyValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl StreamsGroupTopologyValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("epoch".into(), {
            let v = &self.epoch;
            (*v).into()
        });
        o.insert("subtopologies".into(), {
            let v = &self.subtopologies;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `Subtopology`, part of StreamsGroupTopologyValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Subtopology {
    pub subtopology_id: String,
    pub source_topics: Vec<String>,
    pub source_topic_regex: Vec<String>,
    pub state_changelog_topics: Vec<TopicInfo>,
    pub repartition_sink_topics: Vec<String>,
    pub repartition_source_topics: Vec<TopicInfo>,
    pub copartition_groups: Vec<CopartitionGroup>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Subtopology {
    fn default() -> Self {
        Self {
            subtopology_id: String::new(),
            source_topics: Default::default(),
            source_topic_regex: Default::default(),
            state_changelog_topics: Default::default(),
            repartition_sink_topics: Default::default(),
            repartition_source_topics: Default::default(),
            copartition_groups: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl Subtopology {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let subtopology_id = r.string(true)?;
        let source_topics = r.vec(true, |r| r.string(true))?;
        let source_topic_regex = r.vec(true, |r| r.string(true))?;
        let state_changelog_topics = r.vec(true, |r| TopicInfo::read(r, version))?;
        let repartition_sink_topics = r.vec(true, |r| r.string(true))?;
        let repartition_source_topics = r.vec(true, |r| TopicInfo::read(r, version))?;
        let copartition_groups = r.vec(true, |r| CopartitionGroup::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            subtopology_id,
            source_topics,
            source_topic_regex,
            state_changelog_topics,
            repartition_sink_topics,
            repartition_source_topics,
            copartition_groups,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.subtopology_id)?;
        w.array(true, Some(&self.source_topics[..]), |w, v| w.string(true, v))?;
        w.array(true, Some(&self.source_topic_regex[..]), |w, v| w.string(true, v))?;
        w.array(true, Some(&self.state_changelog_topics[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.repartition_sink_topics[..]), |w, v| w.string(true, v))?;
        w.array(true, Some(&self.repartition_source_topics[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.copartition_groups[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "Subtopology", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl Subtopology {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("subtopologyId".into(), {
            let v = &self.subtopology_id;
            v.as_str().into()
        });
        o.insert("sourceTopics".into(), {
            let v = &self.source_topics;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("sourceTopicRegex".into(), {
            let v = &self.source_topic_regex;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("stateChangelogTopics".into(), {
            let v = &self.state_changelog_topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("repartitionSinkTopics".into(), {
            let v = &self.repartition_sink_topics;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("repartitionSourceTopics".into(), {
            let v = &self.repartition_source_topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("copartitionGroups".into(), {
            let v = &self.copartition_groups;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `CopartitionGroup`, part of StreamsGroupTopologyValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CopartitionGroup {
    pub source_topics: Vec<i16>,
    pub source_topic_regex: Vec<i16>,
    pub repartition_source_topics: Vec<i16>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CopartitionGroup {
    fn default() -> Self {
        Self {
            source_topics: Default::default(),
            source_topic_regex: Default::default(),
            repartition_source_topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl CopartitionGroup {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let source_topics = r.vec(true, |r| r.i16())?;
        let source_topic_regex = r.vec(true, |r| r.i16())?;
        let repartition_source_topics = r.vec(true, |r| r.i16())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { source_topics, source_topic_regex, repartition_source_topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.source_topics[..]), |w, v| {
            w.i16(*v);
            Ok(())
        })?;
        w.array(true, Some(&self.source_topic_regex[..]), |w, v| {
            w.i16(*v);
            Ok(())
        })?;
        w.array(true, Some(&self.repartition_source_topics[..]), |w, v| {
            w.i16(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "CopartitionGroup", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl CopartitionGroup {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("sourceTopics".into(), {
            let v = &self.source_topics;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("sourceTopicRegex".into(), {
            let v = &self.source_topic_regex;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("repartitionSourceTopics".into(), {
            let v = &self.repartition_source_topics;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicConfig`, part of StreamsGroupTopologyValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicConfig {
    pub key: String,
    pub value: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicConfig {
    fn default() -> Self {
        Self { key: String::new(), value: String::new(), unknown_tags: RawTags::default() }
    }
}

impl TopicConfig {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let key = r.string(true)?;
        let value = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { key, value, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.key)?;
        w.string(true, &self.value)?;
        w.unknown_tags(true, &self.unknown_tags, "TopicConfig", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicConfig {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("key".into(), {
            let v = &self.key;
            v.as_str().into()
        });
        o.insert("value".into(), {
            let v = &self.value;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicInfo`, part of StreamsGroupTopologyValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicInfo {
    pub name: String,
    pub partitions: i32,
    pub replication_factor: i16,
    pub topic_configs: Vec<TopicConfig>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicInfo {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: 0,
            replication_factor: 0,
            topic_configs: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicInfo {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let partitions = r.i32()?;
        let replication_factor = r.i16()?;
        let topic_configs = r.vec(true, |r| TopicConfig::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, partitions, replication_factor, topic_configs, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partitions.to_be_bytes());
        b[4..6].copy_from_slice(&self.replication_factor.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.topic_configs[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "TopicInfo", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicInfo {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            (*v).into()
        });
        o.insert("replicationFactor".into(), {
            let v = &self.replication_factor;
            (*v).into()
        });
        o.insert("topicConfigs".into(), {
            let v = &self.topic_configs;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for StreamsGroupTopologyValue {
    const NAME: &'static str = "StreamsGroupTopologyValue";
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
impl crate::json::ToJson for StreamsGroupTopologyValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl StreamsGroupTopologyValue {
    /// Number of this record type.
    pub const KEY: i16 = 23;
}
