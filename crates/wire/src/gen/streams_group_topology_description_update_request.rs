//! StreamsGroupTopologyDescriptionUpdateRequest, versions 0 to 0.

use super::prelude::*;

/// `StreamsGroupTopologyDescriptionUpdateRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupTopologyDescriptionUpdateRequest {
    pub group_id: String,
    pub member_id: String,
    pub topology_epoch: i32,
    pub topology_description: TopologyDescription,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupTopologyDescriptionUpdateRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            topology_epoch: 0,
            topology_description: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl StreamsGroupTopologyDescriptionUpdateRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(true)?;
        let member_id = r.string(true)?;
        let topology_epoch = r.i32()?;
        let topology_description = TopologyDescription::read(r, version)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { group_id, member_id, topology_epoch, topology_description, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.group_id)?;
        w.string(true, &self.member_id)?;
        w.i32(self.topology_epoch);
        self.topology_description.write(w, version)?;
        w.unknown_tags(
            true,
            &self.unknown_tags,
            "StreamsGroupTopologyDescriptionUpdateRequest",
            version,
        )
    }
}

#[cfg(feature = "json")]
impl StreamsGroupTopologyDescriptionUpdateRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        o.insert("topologyEpoch".into(), {
            let v = &self.topology_epoch;
            (*v).into()
        });
        o.insert("topologyDescription".into(), {
            let v = &self.topology_description;
            v.json(version)
        });
        serde_json::Value::Object(o)
    }
}

/// `TopologyDescription`, part of StreamsGroupTopologyDescriptionUpdateRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopologyDescription {
    pub subtopologies: Vec<TopologyDescriptionSubtopology>,
    pub global_stores: Vec<TopologyDescriptionGlobalStore>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopologyDescription {
    fn default() -> Self {
        Self {
            subtopologies: Default::default(),
            global_stores: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopologyDescription {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let subtopologies = r.vec(true, |r| TopologyDescriptionSubtopology::read(r, version))?;
        let global_stores = r.vec(true, |r| TopologyDescriptionGlobalStore::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { subtopologies, global_stores, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.subtopologies[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.global_stores[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "TopologyDescription", version)
    }
}

#[cfg(feature = "json")]
impl TopologyDescription {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("subtopologies".into(), {
            let v = &self.subtopologies;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("globalStores".into(), {
            let v = &self.global_stores;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopologyDescriptionSubtopology`, part of StreamsGroupTopologyDescriptionUpdateRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopologyDescriptionSubtopology {
    pub subtopology_id: String,
    pub nodes: Vec<TopologyDescriptionNode>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopologyDescriptionSubtopology {
    fn default() -> Self {
        Self {
            subtopology_id: String::new(),
            nodes: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopologyDescriptionSubtopology {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let subtopology_id = r.string(true)?;
        let nodes = r.vec(true, |r| TopologyDescriptionNode::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { subtopology_id, nodes, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.subtopology_id)?;
        w.array(true, Some(&self.nodes[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "TopologyDescriptionSubtopology", version)
    }
}

#[cfg(feature = "json")]
impl TopologyDescriptionSubtopology {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("subtopologyId".into(), {
            let v = &self.subtopology_id;
            v.as_str().into()
        });
        o.insert("nodes".into(), {
            let v = &self.nodes;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopologyDescriptionNode`, part of StreamsGroupTopologyDescriptionUpdateRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopologyDescriptionNode {
    pub name: String,
    pub node_type: i8,
    pub source_topics: Vec<String>,
    pub sink_topic: Option<String>,
    pub stores: Vec<String>,
    pub successors: Vec<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopologyDescriptionNode {
    fn default() -> Self {
        Self {
            name: String::new(),
            node_type: 0,
            source_topics: Default::default(),
            sink_topic: None,
            stores: Default::default(),
            successors: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopologyDescriptionNode {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let node_type = r.i8()?;
        let source_topics = r.vec(true, |r| r.string(true))?;
        let sink_topic = r.nullable_string(true)?;
        let stores = r.vec(true, |r| r.string(true))?;
        let successors = r.vec(true, |r| r.string(true))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, node_type, source_topics, sink_topic, stores, successors, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.i8(self.node_type);
        w.array(true, Some(&self.source_topics[..]), |w, v| w.string(true, v))?;
        w.nullable_string(true, self.sink_topic.as_deref())?;
        w.array(true, Some(&self.stores[..]), |w, v| w.string(true, v))?;
        w.array(true, Some(&self.successors[..]), |w, v| w.string(true, v))?;
        w.unknown_tags(true, &self.unknown_tags, "TopologyDescriptionNode", version)
    }
}

#[cfg(feature = "json")]
impl TopologyDescriptionNode {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("nodeType".into(), {
            let v = &self.node_type;
            (*v).into()
        });
        o.insert("sourceTopics".into(), {
            let v = &self.source_topics;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert(
            "sinkTopic".into(),
            match &self.sink_topic {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("stores".into(), {
            let v = &self.stores;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("successors".into(), {
            let v = &self.successors;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopologyDescriptionGlobalStore`, part of StreamsGroupTopologyDescriptionUpdateRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopologyDescriptionGlobalStore {
    pub source: TopologyDescriptionNode,
    pub processor: TopologyDescriptionNode,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopologyDescriptionGlobalStore {
    fn default() -> Self {
        Self {
            source: Default::default(),
            processor: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopologyDescriptionGlobalStore {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let source = TopologyDescriptionNode::read(r, version)?;
        let processor = TopologyDescriptionNode::read(r, version)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { source, processor, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        self.source.write(w, version)?;
        self.processor.write(w, version)?;
        w.unknown_tags(true, &self.unknown_tags, "TopologyDescriptionGlobalStore", version)
    }
}

#[cfg(feature = "json")]
impl TopologyDescriptionGlobalStore {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("source".into(), {
            let v = &self.source;
            v.json(version)
        });
        o.insert("processor".into(), {
            let v = &self.processor;
            v.json(version)
        });
        serde_json::Value::Object(o)
    }
}

impl Message for StreamsGroupTopologyDescriptionUpdateRequest {
    const NAME: &'static str = "StreamsGroupTopologyDescriptionUpdateRequest";
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
impl crate::json::ToJson for StreamsGroupTopologyDescriptionUpdateRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for StreamsGroupTopologyDescriptionUpdateRequest {
    const API_KEY: ApiKey = ApiKey(93);
    type Response = super::streams_group_topology_description_update_response::StreamsGroupTopologyDescriptionUpdateResponse;
}
