//! StreamsGroupHeartbeatRequest, versions 0 to 1.

use super::prelude::*;

/// `StreamsGroupHeartbeatRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupHeartbeatRequest {
    pub group_id: String,
    pub member_id: String,
    pub member_epoch: i32,
    pub endpoint_information_epoch: i32,
    pub instance_id: Option<String>,
    pub rack_id: Option<String>,
    pub rebalance_timeout_ms: i32,
    pub topology: Option<Topology>,
    pub active_tasks: Option<Vec<TaskIds>>,
    pub standby_tasks: Option<Vec<TaskIds>>,
    pub warmup_tasks: Option<Vec<TaskIds>>,
    pub process_id: Option<String>,
    pub user_endpoint: Option<Endpoint>,
    pub client_tags: Option<Vec<KeyValue>>,
    pub task_offsets: Option<Vec<TaskOffset>>,
    pub task_end_offsets: Option<Vec<TaskOffset>>,
    pub shutdown_application: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupHeartbeatRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            member_epoch: 0,
            endpoint_information_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            topology: None,
            active_tasks: None,
            standby_tasks: None,
            warmup_tasks: None,
            process_id: None,
            user_endpoint: None,
            client_tags: None,
            task_offsets: None,
            task_end_offsets: None,
            shutdown_application: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl StreamsGroupHeartbeatRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(true)?;
        let member_id = r.string(true)?;
        let member_epoch = r.i32()?;
        let endpoint_information_epoch = r.i32()?;
        let instance_id = r.nullable_string(true)?;
        let rack_id = r.nullable_string(true)?;
        let rebalance_timeout_ms = r.i32()?;
        let topology = if r.i8()? >= 0 { Some(Topology::read(r, version)?) } else { None };
        let active_tasks = r.nullable_vec(true, |r| TaskIds::read(r, version))?;
        let standby_tasks = r.nullable_vec(true, |r| TaskIds::read(r, version))?;
        let warmup_tasks = r.nullable_vec(true, |r| TaskIds::read(r, version))?;
        let process_id = r.nullable_string(true)?;
        let user_endpoint = if r.i8()? >= 0 { Some(Endpoint::read(r, version)?) } else { None };
        let client_tags = r.nullable_vec(true, |r| KeyValue::read(r, version))?;
        let task_offsets = r.nullable_vec(true, |r| TaskOffset::read(r, version))?;
        let task_end_offsets = r.nullable_vec(true, |r| TaskOffset::read(r, version))?;
        let shutdown_application = r.bool()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            group_id,
            member_id,
            member_epoch,
            endpoint_information_epoch,
            instance_id,
            rack_id,
            rebalance_timeout_ms,
            topology,
            active_tasks,
            standby_tasks,
            warmup_tasks,
            process_id,
            user_endpoint,
            client_tags,
            task_offsets,
            task_end_offsets,
            shutdown_application,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.group_id)?;
        w.string(true, &self.member_id)?;
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.member_epoch.to_be_bytes());
        b[4..8].copy_from_slice(&self.endpoint_information_epoch.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.instance_id.as_deref())?;
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.i32(self.rebalance_timeout_ms);
        match &self.topology {
            Some(v) => {
                w.i8(1);
                v.write(w, version)?;
            }
            None => {
                w.i8(-1);
            }
        }
        w.array(true, self.active_tasks.as_deref(), |w, v| v.write(w, version))?;
        w.array(true, self.standby_tasks.as_deref(), |w, v| v.write(w, version))?;
        w.array(true, self.warmup_tasks.as_deref(), |w, v| v.write(w, version))?;
        w.nullable_string(true, self.process_id.as_deref())?;
        match &self.user_endpoint {
            Some(v) => {
                w.i8(1);
                v.write(w, version)?;
            }
            None => {
                w.i8(-1);
            }
        }
        w.array(true, self.client_tags.as_deref(), |w, v| v.write(w, version))?;
        w.array(true, self.task_offsets.as_deref(), |w, v| v.write(w, version))?;
        w.array(true, self.task_end_offsets.as_deref(), |w, v| v.write(w, version))?;
        w.bool(self.shutdown_application);
        w.unknown_tags(true, &self.unknown_tags, "StreamsGroupHeartbeatRequest", version)
    }
}

#[cfg(feature = "json")]
impl StreamsGroupHeartbeatRequest {
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
        o.insert("memberEpoch".into(), {
            let v = &self.member_epoch;
            (*v).into()
        });
        o.insert("endpointInformationEpoch".into(), {
            let v = &self.endpoint_information_epoch;
            (*v).into()
        });
        o.insert(
            "instanceId".into(),
            match &self.instance_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "rackId".into(),
            match &self.rack_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("rebalanceTimeoutMs".into(), {
            let v = &self.rebalance_timeout_ms;
            (*v).into()
        });
        o.insert(
            "topology".into(),
            match &self.topology {
                Some(v) => v.json(version),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "activeTasks".into(),
            match &self.active_tasks {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "standbyTasks".into(),
            match &self.standby_tasks {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "warmupTasks".into(),
            match &self.warmup_tasks {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "processId".into(),
            match &self.process_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "userEndpoint".into(),
            match &self.user_endpoint {
                Some(v) => v.json(version),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "clientTags".into(),
            match &self.client_tags {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "taskOffsets".into(),
            match &self.task_offsets {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "taskEndOffsets".into(),
            match &self.task_end_offsets {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert("shutdownApplication".into(), {
            let v = &self.shutdown_application;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `Topology`, part of StreamsGroupHeartbeatRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Topology {
    pub epoch: i32,
    pub subtopologies: Vec<Subtopology>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Topology {
    fn default() -> Self {
        Self { epoch: 0, subtopologies: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl Topology {
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
        w.unknown_tags(true, &self.unknown_tags, "Topology", version)
    }
}

#[cfg(feature = "json")]
impl Topology {
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

/// `Subtopology`, part of StreamsGroupHeartbeatRequest.
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

#[cfg(feature = "json")]
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

/// `CopartitionGroup`, part of StreamsGroupHeartbeatRequest.
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

#[cfg(feature = "json")]
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

/// `KeyValue`, part of StreamsGroupHeartbeatRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct KeyValue {
    pub key: String,
    pub value: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for KeyValue {
    fn default() -> Self {
        Self { key: String::new(), value: String::new(), unknown_tags: RawTags::default() }
    }
}

impl KeyValue {
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
        w.unknown_tags(true, &self.unknown_tags, "KeyValue", version)
    }
}

#[cfg(feature = "json")]
impl KeyValue {
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

/// `TopicInfo`, part of StreamsGroupHeartbeatRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicInfo {
    pub name: String,
    pub partitions: i32,
    pub replication_factor: i16,
    pub topic_configs: Vec<KeyValue>,
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
        let topic_configs = r.vec(true, |r| KeyValue::read(r, version))?;
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

#[cfg(feature = "json")]
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

/// `Endpoint`, part of StreamsGroupHeartbeatRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self { host: String::new(), port: 0, unknown_tags: RawTags::default() }
    }
}

impl Endpoint {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let host = r.string(true)?;
        let port = r.u16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { host, port, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.host)?;
        w.u16(self.port);
        w.unknown_tags(true, &self.unknown_tags, "Endpoint", version)
    }
}

#[cfg(feature = "json")]
impl Endpoint {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("host".into(), {
            let v = &self.host;
            v.as_str().into()
        });
        o.insert("port".into(), {
            let v = &self.port;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `TaskOffset`, part of StreamsGroupHeartbeatRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TaskOffset {
    pub subtopology_id: String,
    pub partition: i32,
    pub offset: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TaskOffset {
    fn default() -> Self {
        Self {
            subtopology_id: String::new(),
            partition: 0,
            offset: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl TaskOffset {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let subtopology_id = r.string(true)?;
        let partition = r.i32()?;
        let offset = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { subtopology_id, partition, offset, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.subtopology_id)?;
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.partition.to_be_bytes());
        b[4..12].copy_from_slice(&self.offset.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "TaskOffset", version)
    }
}

#[cfg(feature = "json")]
impl TaskOffset {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("subtopologyId".into(), {
            let v = &self.subtopology_id;
            v.as_str().into()
        });
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        o.insert("offset".into(), {
            let v = &self.offset;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `TaskIds`, part of StreamsGroupHeartbeatRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TaskIds {
    pub subtopology_id: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TaskIds {
    fn default() -> Self {
        Self {
            subtopology_id: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TaskIds {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let subtopology_id = r.string(true)?;
        let partitions = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { subtopology_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.subtopology_id)?;
        w.array(true, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "TaskIds", version)
    }
}

#[cfg(feature = "json")]
impl TaskIds {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("subtopologyId".into(), {
            let v = &self.subtopology_id;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for StreamsGroupHeartbeatRequest {
    const NAME: &'static str = "StreamsGroupHeartbeatRequest";
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
impl crate::json::ToJson for StreamsGroupHeartbeatRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for StreamsGroupHeartbeatRequest {
    const API_KEY: ApiKey = ApiKey(88);
    type Response = super::streams_group_heartbeat_response::StreamsGroupHeartbeatResponse;
}
