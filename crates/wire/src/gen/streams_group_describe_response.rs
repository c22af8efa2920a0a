//! StreamsGroupDescribeResponse, versions 0 to 1.

use super::prelude::*;

/// `StreamsGroupDescribeResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupDescribeResponse {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupDescribeResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, groups: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl StreamsGroupDescribeResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let groups = r.vec(true, |r| DescribedGroup::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, groups, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.throttle_time_ms);
        w.array(true, Some(&self.groups[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "StreamsGroupDescribeResponse", version)
    }
}

#[cfg(feature = "json")]
impl StreamsGroupDescribeResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("groups".into(), {
            let v = &self.groups;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribedGroup`, part of StreamsGroupDescribeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribedGroup {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub group_id: String,
    pub group_state: String,
    pub group_epoch: i32,
    pub assignment_epoch: i32,
    pub topology: Option<Topology>,
    pub members: Vec<Member>,
    pub authorized_operations: i32,
    pub topology_description: Option<TopologyDescription>,
    pub topology_description_status: i8,
    pub assignor_name: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            group_epoch: 0,
            assignment_epoch: 0,
            topology: None,
            members: Default::default(),
            authorized_operations: -2147483648,
            topology_description: None,
            topology_description_status: 0,
            assignor_name: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribedGroup {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let group_id = r.string(true)?;
        let group_state = r.string(true)?;
        let group_epoch = r.i32()?;
        let assignment_epoch = r.i32()?;
        let topology = if r.i8()? >= 0 { Some(Topology::read(r, version)?) } else { None };
        let members = r.vec(true, |r| Member::read(r, version))?;
        let authorized_operations = r.i32()?;
        let topology_description = if version >= 1 {
            if r.i8()? >= 0 { Some(TopologyDescription::read(r, version)?) } else { None }
        } else {
            None
        };
        let topology_description_status = if version >= 1 { r.i8()? } else { 0 };
        let assignor_name = if version >= 1 { r.nullable_string(true)? } else { None };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            error_code,
            error_message,
            group_id,
            group_state,
            group_epoch,
            assignment_epoch,
            topology,
            members,
            authorized_operations,
            topology_description,
            topology_description_status,
            assignor_name,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i16(self.error_code.0);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.string(true, &self.group_id)?;
        w.string(true, &self.group_state)?;
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.group_epoch.to_be_bytes());
        b[4..8].copy_from_slice(&self.assignment_epoch.to_be_bytes());
        w.raw(&b);
        match &self.topology {
            Some(v) => {
                w.i8(1);
                v.write(w, version)?;
            }
            None => {
                w.i8(-1);
            }
        }
        w.array(true, Some(&self.members[..]), |w, v| v.write(w, version))?;
        w.i32(self.authorized_operations);
        if version >= 1 {
            match &self.topology_description {
                Some(v) => {
                    w.i8(1);
                    v.write(w, version)?;
                }
                None => {
                    w.i8(-1);
                }
            }
        } else {
            if self.topology_description.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "DescribedGroup",
                    field: "TopologyDescription",
                    version,
                });
            }
        }
        if version >= 1 {
            w.i8(self.topology_description_status);
        } else {
            if self.topology_description_status != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "DescribedGroup",
                    field: "TopologyDescriptionStatus",
                    version,
                });
            }
        }
        if version >= 1 {
            w.nullable_string(true, self.assignor_name.as_deref())?;
        }
        w.unknown_tags(true, &self.unknown_tags, "DescribedGroup", version)
    }
}

#[cfg(feature = "json")]
impl DescribedGroup {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("groupState".into(), {
            let v = &self.group_state;
            v.as_str().into()
        });
        o.insert("groupEpoch".into(), {
            let v = &self.group_epoch;
            (*v).into()
        });
        o.insert("assignmentEpoch".into(), {
            let v = &self.assignment_epoch;
            (*v).into()
        });
        o.insert(
            "topology".into(),
            match &self.topology {
                Some(v) => v.json(version),
                None => serde_json::Value::Null,
            },
        );
        o.insert("members".into(), {
            let v = &self.members;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("authorizedOperations".into(), {
            let v = &self.authorized_operations;
            (*v).into()
        });
        if version >= 1 {
            o.insert(
                "topologyDescription".into(),
                match &self.topology_description {
                    Some(v) => v.json(version),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 1 {
            o.insert("topologyDescriptionStatus".into(), {
                let v = &self.topology_description_status;
                (*v).into()
            });
        }
        if version >= 1 {
            o.insert(
                "assignorName".into(),
                match &self.assignor_name {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `Topology`, part of StreamsGroupDescribeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Topology {
    pub epoch: i32,
    pub subtopologies: Option<Vec<Subtopology>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Topology {
    fn default() -> Self {
        Self { epoch: 0, subtopologies: None, unknown_tags: RawTags::default() }
    }
}

impl Topology {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let epoch = r.i32()?;
        let subtopologies = r.nullable_vec(true, |r| Subtopology::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { epoch, subtopologies, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.epoch);
        w.array(true, self.subtopologies.as_deref(), |w, v| v.write(w, version))?;
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
        o.insert(
            "subtopologies".into(),
            match &self.subtopologies {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `Subtopology`, part of StreamsGroupDescribeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Subtopology {
    pub subtopology_id: String,
    pub source_topics: Vec<String>,
    pub repartition_sink_topics: Vec<String>,
    pub state_changelog_topics: Vec<TopicInfo>,
    pub repartition_source_topics: Vec<TopicInfo>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Subtopology {
    fn default() -> Self {
        Self {
            subtopology_id: String::new(),
            source_topics: Default::default(),
            repartition_sink_topics: Default::default(),
            state_changelog_topics: Default::default(),
            repartition_source_topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl Subtopology {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let subtopology_id = r.string(true)?;
        let source_topics = r.vec(true, |r| r.string(true))?;
        let repartition_sink_topics = r.vec(true, |r| r.string(true))?;
        let state_changelog_topics = r.vec(true, |r| TopicInfo::read(r, version))?;
        let repartition_source_topics = r.vec(true, |r| TopicInfo::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            subtopology_id,
            source_topics,
            repartition_sink_topics,
            state_changelog_topics,
            repartition_source_topics,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.subtopology_id)?;
        w.array(true, Some(&self.source_topics[..]), |w, v| w.string(true, v))?;
        w.array(true, Some(&self.repartition_sink_topics[..]), |w, v| w.string(true, v))?;
        w.array(true, Some(&self.state_changelog_topics[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.repartition_source_topics[..]), |w, v| v.write(w, version))?;
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
        o.insert("repartitionSinkTopics".into(), {
            let v = &self.repartition_sink_topics;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("stateChangelogTopics".into(), {
            let v = &self.state_changelog_topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("repartitionSourceTopics".into(), {
            let v = &self.repartition_source_topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `Member`, part of StreamsGroupDescribeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Member {
    pub member_id: String,
    pub member_epoch: i32,
    pub instance_id: Option<String>,
    pub rack_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    pub topology_epoch: i32,
    pub process_id: String,
    pub user_endpoint: Option<Endpoint>,
    pub client_tags: Vec<KeyValue>,
    pub task_offsets: Vec<TaskOffset>,
    pub task_end_offsets: Vec<TaskOffset>,
    pub assignment: Assignment,
    pub target_assignment: Assignment,
    pub is_classic: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Member {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            member_epoch: 0,
            instance_id: None,
            rack_id: None,
            client_id: String::new(),
            client_host: String::new(),
            topology_epoch: 0,
            process_id: String::new(),
            user_endpoint: None,
            client_tags: Default::default(),
            task_offsets: Default::default(),
            task_end_offsets: Default::default(),
            assignment: Default::default(),
            target_assignment: Default::default(),
            is_classic: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl Member {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let member_id = r.string(true)?;
        let member_epoch = r.i32()?;
        let instance_id = r.nullable_string(true)?;
        let rack_id = r.nullable_string(true)?;
        let client_id = r.string(true)?;
        let client_host = r.string(true)?;
        let topology_epoch = r.i32()?;
        let process_id = r.string(true)?;
        let user_endpoint = if r.i8()? >= 0 { Some(Endpoint::read(r, version)?) } else { None };
        let client_tags = r.vec(true, |r| KeyValue::read(r, version))?;
        let task_offsets = r.vec(true, |r| TaskOffset::read(r, version))?;
        let task_end_offsets = r.vec(true, |r| TaskOffset::read(r, version))?;
        let assignment = Assignment::read(r, version)?;
        let target_assignment = Assignment::read(r, version)?;
        let is_classic = r.bool()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            member_id,
            member_epoch,
            instance_id,
            rack_id,
            client_id,
            client_host,
            topology_epoch,
            process_id,
            user_endpoint,
            client_tags,
            task_offsets,
            task_end_offsets,
            assignment,
            target_assignment,
            is_classic,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.member_id)?;
        w.i32(self.member_epoch);
        w.nullable_string(true, self.instance_id.as_deref())?;
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.string(true, &self.client_id)?;
        w.string(true, &self.client_host)?;
        w.i32(self.topology_epoch);
        w.string(true, &self.process_id)?;
        match &self.user_endpoint {
            Some(v) => {
                w.i8(1);
                v.write(w, version)?;
            }
            None => {
                w.i8(-1);
            }
        }
        w.array(true, Some(&self.client_tags[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.task_offsets[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.task_end_offsets[..]), |w, v| v.write(w, version))?;
        self.assignment.write(w, version)?;
        self.target_assignment.write(w, version)?;
        w.bool(self.is_classic);
        w.unknown_tags(true, &self.unknown_tags, "Member", version)
    }
}

#[cfg(feature = "json")]
impl Member {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        o.insert("memberEpoch".into(), {
            let v = &self.member_epoch;
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
        o.insert("clientId".into(), {
            let v = &self.client_id;
            v.as_str().into()
        });
        o.insert("clientHost".into(), {
            let v = &self.client_host;
            v.as_str().into()
        });
        o.insert("topologyEpoch".into(), {
            let v = &self.topology_epoch;
            (*v).into()
        });
        o.insert("processId".into(), {
            let v = &self.process_id;
            v.as_str().into()
        });
        o.insert(
            "userEndpoint".into(),
            match &self.user_endpoint {
                Some(v) => v.json(version),
                None => serde_json::Value::Null,
            },
        );
        o.insert("clientTags".into(), {
            let v = &self.client_tags;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("taskOffsets".into(), {
            let v = &self.task_offsets;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("taskEndOffsets".into(), {
            let v = &self.task_end_offsets;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("assignment".into(), {
            let v = &self.assignment;
            v.json(version)
        });
        o.insert("targetAssignment".into(), {
            let v = &self.target_assignment;
            v.json(version)
        });
        o.insert("isClassic".into(), {
            let v = &self.is_classic;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `Endpoint`, part of StreamsGroupDescribeResponse.
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

/// `TaskOffset`, part of StreamsGroupDescribeResponse.
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

/// `Assignment`, part of StreamsGroupDescribeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Assignment {
    pub active_tasks: Vec<TaskIds>,
    pub standby_tasks: Vec<TaskIds>,
    pub warmup_tasks: Vec<TaskIds>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Assignment {
    fn default() -> Self {
        Self {
            active_tasks: Default::default(),
            standby_tasks: Default::default(),
            warmup_tasks: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl Assignment {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let active_tasks = r.vec(true, |r| TaskIds::read(r, version))?;
        let standby_tasks = r.vec(true, |r| TaskIds::read(r, version))?;
        let warmup_tasks = r.vec(true, |r| TaskIds::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { active_tasks, standby_tasks, warmup_tasks, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.active_tasks[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.standby_tasks[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.warmup_tasks[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "Assignment", version)
    }
}

#[cfg(feature = "json")]
impl Assignment {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("activeTasks".into(), {
            let v = &self.active_tasks;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("standbyTasks".into(), {
            let v = &self.standby_tasks;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("warmupTasks".into(), {
            let v = &self.warmup_tasks;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TaskIds`, part of StreamsGroupDescribeResponse.
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

/// `KeyValue`, part of StreamsGroupDescribeResponse.
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

/// `TopicInfo`, part of StreamsGroupDescribeResponse.
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

/// `TopologyDescription`, part of StreamsGroupDescribeResponse.
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
        let subtopologies = if version >= 1 {
            r.vec(true, |r| TopologyDescriptionSubtopology::read(r, version))?
        } else {
            Default::default()
        };
        let global_stores = if version >= 1 {
            r.vec(true, |r| TopologyDescriptionGlobalStore::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { subtopologies, global_stores, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            w.array(true, Some(&self.subtopologies[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.subtopologies.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescription",
                    field: "Subtopologies",
                    version,
                });
            }
        }
        if version >= 1 {
            w.array(true, Some(&self.global_stores[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.global_stores.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescription",
                    field: "GlobalStores",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "TopologyDescription", version)
    }
}

#[cfg(feature = "json")]
impl TopologyDescription {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("subtopologies".into(), {
                let v = &self.subtopologies;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if version >= 1 {
            o.insert("globalStores".into(), {
                let v = &self.global_stores;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `TopologyDescriptionSubtopology`, part of StreamsGroupDescribeResponse.
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
        let subtopology_id = if version >= 1 { r.string(true)? } else { String::new() };
        let nodes = if version >= 1 {
            r.vec(true, |r| TopologyDescriptionNode::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { subtopology_id, nodes, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            w.string(true, &self.subtopology_id)?;
        } else {
            if !self.subtopology_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionSubtopology",
                    field: "SubtopologyId",
                    version,
                });
            }
        }
        if version >= 1 {
            w.array(true, Some(&self.nodes[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.nodes.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionSubtopology",
                    field: "Nodes",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "TopologyDescriptionSubtopology", version)
    }
}

#[cfg(feature = "json")]
impl TopologyDescriptionSubtopology {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("subtopologyId".into(), {
                let v = &self.subtopology_id;
                v.as_str().into()
            });
        }
        if version >= 1 {
            o.insert("nodes".into(), {
                let v = &self.nodes;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `TopologyDescriptionNode`, part of StreamsGroupDescribeResponse.
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
        let name = if version >= 1 { r.string(true)? } else { String::new() };
        let node_type = if version >= 1 { r.i8()? } else { 0 };
        let source_topics =
            if version >= 1 { r.vec(true, |r| r.string(true))? } else { Default::default() };
        let sink_topic = if version >= 1 { r.nullable_string(true)? } else { None };
        let stores =
            if version >= 1 { r.vec(true, |r| r.string(true))? } else { Default::default() };
        let successors =
            if version >= 1 { r.vec(true, |r| r.string(true))? } else { Default::default() };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, node_type, source_topics, sink_topic, stores, successors, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            w.string(true, &self.name)?;
        } else {
            if !self.name.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionNode",
                    field: "Name",
                    version,
                });
            }
        }
        if version >= 1 {
            w.i8(self.node_type);
        } else {
            if self.node_type != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionNode",
                    field: "NodeType",
                    version,
                });
            }
        }
        if version >= 1 {
            w.array(true, Some(&self.source_topics[..]), |w, v| w.string(true, v))?;
        } else {
            if !self.source_topics.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionNode",
                    field: "SourceTopics",
                    version,
                });
            }
        }
        if version >= 1 {
            w.nullable_string(true, self.sink_topic.as_deref())?;
        } else {
            if self.sink_topic.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionNode",
                    field: "SinkTopic",
                    version,
                });
            }
        }
        if version >= 1 {
            w.array(true, Some(&self.stores[..]), |w, v| w.string(true, v))?;
        } else {
            if !self.stores.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionNode",
                    field: "Stores",
                    version,
                });
            }
        }
        if version >= 1 {
            w.array(true, Some(&self.successors[..]), |w, v| w.string(true, v))?;
        } else {
            if !self.successors.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionNode",
                    field: "Successors",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "TopologyDescriptionNode", version)
    }
}

#[cfg(feature = "json")]
impl TopologyDescriptionNode {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 1 {
            o.insert("nodeType".into(), {
                let v = &self.node_type;
                (*v).into()
            });
        }
        if version >= 1 {
            o.insert("sourceTopics".into(), {
                let v = &self.source_topics;
                serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
            });
        }
        if version >= 1 {
            o.insert(
                "sinkTopic".into(),
                match &self.sink_topic {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 1 {
            o.insert("stores".into(), {
                let v = &self.stores;
                serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
            });
        }
        if version >= 1 {
            o.insert("successors".into(), {
                let v = &self.successors;
                serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `TopologyDescriptionGlobalStore`, part of StreamsGroupDescribeResponse.
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
        let source = if version >= 1 {
            TopologyDescriptionNode::read(r, version)?
        } else {
            Default::default()
        };
        let processor = if version >= 1 {
            TopologyDescriptionNode::read(r, version)?
        } else {
            Default::default()
        };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { source, processor, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            self.source.write(w, version)?;
        } else {
            if self.source != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionGlobalStore",
                    field: "Source",
                    version,
                });
            }
        }
        if version >= 1 {
            self.processor.write(w, version)?;
        } else {
            if self.processor != Default::default() {
                return Err(EncodeError::NotInVersion {
                    message: "TopologyDescriptionGlobalStore",
                    field: "Processor",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "TopologyDescriptionGlobalStore", version)
    }
}

#[cfg(feature = "json")]
impl TopologyDescriptionGlobalStore {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("source".into(), {
                let v = &self.source;
                v.json(version)
            });
        }
        if version >= 1 {
            o.insert("processor".into(), {
                let v = &self.processor;
                v.json(version)
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for StreamsGroupDescribeResponse {
    const NAME: &'static str = "StreamsGroupDescribeResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for StreamsGroupDescribeResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
