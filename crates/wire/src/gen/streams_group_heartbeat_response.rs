//! StreamsGroupHeartbeatResponse, versions 0 to 1.

use super::prelude::*;

/// `StreamsGroupHeartbeatResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupHeartbeatResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub member_id: String,
    pub member_epoch: i32,
    pub heartbeat_interval_ms: i32,
    pub acceptable_recovery_lag_legacy: i32,
    pub task_offset_interval_ms: i32,
    pub acceptable_recovery_lag: i64,
    pub status: Option<Vec<Status>>,
    pub active_tasks: Option<Vec<TaskIds>>,
    pub standby_tasks: Option<Vec<TaskIds>>,
    pub warmup_tasks: Option<Vec<TaskIds>>,
    pub topology_description_required: bool,
    pub endpoint_information_epoch: i32,
    pub partitions_by_user_endpoint: Option<Vec<EndpointToPartitions>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupHeartbeatResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            error_message: None,
            member_id: String::new(),
            member_epoch: 0,
            heartbeat_interval_ms: 0,
            acceptable_recovery_lag_legacy: 0,
            task_offset_interval_ms: 0,
            acceptable_recovery_lag: -1,
            status: Some(Default::default()),
            active_tasks: None,
            standby_tasks: None,
            warmup_tasks: None,
            topology_description_required: false,
            endpoint_information_epoch: 0,
            partitions_by_user_endpoint: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl StreamsGroupHeartbeatResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let member_id = r.string(true)?;
        let member_epoch = r.i32()?;
        let heartbeat_interval_ms = r.i32()?;
        let acceptable_recovery_lag_legacy = if version <= 0 { r.i32()? } else { 0 };
        let task_offset_interval_ms = r.i32()?;
        let acceptable_recovery_lag = if version >= 1 { r.i64()? } else { -1 };
        let status = r.nullable_vec(true, |r| Status::read(r, version))?;
        let active_tasks = r.nullable_vec(true, |r| TaskIds::read(r, version))?;
        let standby_tasks = r.nullable_vec(true, |r| TaskIds::read(r, version))?;
        let warmup_tasks = r.nullable_vec(true, |r| TaskIds::read(r, version))?;
        let topology_description_required = if version >= 1 { r.bool()? } else { false };
        let endpoint_information_epoch = r.i32()?;
        let partitions_by_user_endpoint =
            r.nullable_vec(true, |r| EndpointToPartitions::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            error_message,
            member_id,
            member_epoch,
            heartbeat_interval_ms,
            acceptable_recovery_lag_legacy,
            task_offset_interval_ms,
            acceptable_recovery_lag,
            status,
            active_tasks,
            standby_tasks,
            warmup_tasks,
            topology_description_required,
            endpoint_information_epoch,
            partitions_by_user_endpoint,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.string(true, &self.member_id)?;
        if version <= 0 {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.member_epoch.to_be_bytes());
            b[4..8].copy_from_slice(&self.heartbeat_interval_ms.to_be_bytes());
            b[8..12].copy_from_slice(&self.acceptable_recovery_lag_legacy.to_be_bytes());
            w.raw(&b);
        } else {
            let mut b = [0; 8];
            b[0..4].copy_from_slice(&self.member_epoch.to_be_bytes());
            b[4..8].copy_from_slice(&self.heartbeat_interval_ms.to_be_bytes());
            w.raw(&b);
            if self.acceptable_recovery_lag_legacy != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "StreamsGroupHeartbeatResponse",
                    field: "AcceptableRecoveryLagLegacy",
                    version,
                });
            }
        }
        if version >= 1 {
            let mut b = [0; 12];
            b[0..4].copy_from_slice(&self.task_offset_interval_ms.to_be_bytes());
            b[4..12].copy_from_slice(&self.acceptable_recovery_lag.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.task_offset_interval_ms);
        }
        w.array(true, self.status.as_deref(), |w, v| v.write(w, version))?;
        w.array(true, self.active_tasks.as_deref(), |w, v| v.write(w, version))?;
        w.array(true, self.standby_tasks.as_deref(), |w, v| v.write(w, version))?;
        w.array(true, self.warmup_tasks.as_deref(), |w, v| v.write(w, version))?;
        if version >= 1 {
            w.bool(self.topology_description_required);
        } else {
            if self.topology_description_required {
                return Err(EncodeError::NotInVersion {
                    message: "StreamsGroupHeartbeatResponse",
                    field: "TopologyDescriptionRequired",
                    version,
                });
            }
        }
        w.i32(self.endpoint_information_epoch);
        w.array(true, self.partitions_by_user_endpoint.as_deref(), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "StreamsGroupHeartbeatResponse", version)
    }
}

#[cfg(feature = "json")]
impl StreamsGroupHeartbeatResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
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
        o.insert("memberId".into(), {
            let v = &self.member_id;
            v.as_str().into()
        });
        o.insert("memberEpoch".into(), {
            let v = &self.member_epoch;
            (*v).into()
        });
        o.insert("heartbeatIntervalMs".into(), {
            let v = &self.heartbeat_interval_ms;
            (*v).into()
        });
        if version <= 0 {
            o.insert("acceptableRecoveryLagLegacy".into(), {
                let v = &self.acceptable_recovery_lag_legacy;
                (*v).into()
            });
        }
        o.insert("taskOffsetIntervalMs".into(), {
            let v = &self.task_offset_interval_ms;
            (*v).into()
        });
        if version >= 1 {
            o.insert("acceptableRecoveryLag".into(), {
                let v = &self.acceptable_recovery_lag;
                (*v).into()
            });
        }
        o.insert(
            "status".into(),
            match &self.status {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
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
        if version >= 1 {
            o.insert("topologyDescriptionRequired".into(), {
                let v = &self.topology_description_required;
                (*v).into()
            });
        }
        o.insert("endpointInformationEpoch".into(), {
            let v = &self.endpoint_information_epoch;
            (*v).into()
        });
        o.insert(
            "partitionsByUserEndpoint".into(),
            match &self.partitions_by_user_endpoint {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `EndpointToPartitions`, part of StreamsGroupHeartbeatResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EndpointToPartitions {
    pub user_endpoint: Endpoint,
    pub active_partitions: Vec<TopicPartition>,
    pub standby_partitions: Vec<TopicPartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EndpointToPartitions {
    fn default() -> Self {
        Self {
            user_endpoint: Default::default(),
            active_partitions: Default::default(),
            standby_partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl EndpointToPartitions {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let user_endpoint = Endpoint::read(r, version)?;
        let active_partitions = r.vec(true, |r| TopicPartition::read(r, version))?;
        let standby_partitions = r.vec(true, |r| TopicPartition::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { user_endpoint, active_partitions, standby_partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        self.user_endpoint.write(w, version)?;
        w.array(true, Some(&self.active_partitions[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.standby_partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "EndpointToPartitions", version)
    }
}

#[cfg(feature = "json")]
impl EndpointToPartitions {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("userEndpoint".into(), {
            let v = &self.user_endpoint;
            v.json(version)
        });
        o.insert("activePartitions".into(), {
            let v = &self.active_partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("standbyPartitions".into(), {
            let v = &self.standby_partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `Status`, part of StreamsGroupHeartbeatResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Status {
    pub status_code: i8,
    pub status_detail: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Status {
    fn default() -> Self {
        Self { status_code: 0, status_detail: String::new(), unknown_tags: RawTags::default() }
    }
}

impl Status {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let status_code = r.i8()?;
        let status_detail = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { status_code, status_detail, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i8(self.status_code);
        w.string(true, &self.status_detail)?;
        w.unknown_tags(true, &self.unknown_tags, "Status", version)
    }
}

#[cfg(feature = "json")]
impl Status {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("statusCode".into(), {
            let v = &self.status_code;
            (*v).into()
        });
        o.insert("statusDetail".into(), {
            let v = &self.status_detail;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicPartition`, part of StreamsGroupHeartbeatResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicPartition {
    pub topic: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicPartition {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic = r.string(true)?;
        let partitions = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.topic)?;
        w.array(true, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "TopicPartition", version)
    }
}

#[cfg(feature = "json")]
impl TopicPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topic".into(), {
            let v = &self.topic;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TaskIds`, part of StreamsGroupHeartbeatResponse.
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

/// `Endpoint`, part of StreamsGroupHeartbeatResponse.
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

impl Message for StreamsGroupHeartbeatResponse {
    const NAME: &'static str = "StreamsGroupHeartbeatResponse";
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
impl crate::json::ToJson for StreamsGroupHeartbeatResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
