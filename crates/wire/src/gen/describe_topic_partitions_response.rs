//! DescribeTopicPartitionsResponse, versions 0 to 0.

use super::prelude::*;

/// `DescribeTopicPartitionsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeTopicPartitionsResponse {
    pub throttle_time_ms: i32,
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    pub next_cursor: Option<Cursor>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeTopicPartitionsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            topics: Default::default(),
            next_cursor: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeTopicPartitionsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let topics = r.vec(true, |r| DescribeTopicPartitionsResponseTopic::read(r, version))?;
        let next_cursor = if r.i8()? >= 0 { Some(Cursor::read(r, version)?) } else { None };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, topics, next_cursor, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.throttle_time_ms);
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        match &self.next_cursor {
            Some(v) => {
                w.i8(1);
                v.write(w, version)?;
            }
            None => {
                w.i8(-1);
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "DescribeTopicPartitionsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeTopicPartitionsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert(
            "nextCursor".into(),
            match &self.next_cursor {
                Some(v) => v.json(version),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `DescribeTopicPartitionsResponseTopic`, part of DescribeTopicPartitionsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeTopicPartitionsResponseTopic {
    pub error_code: ErrorCode,
    pub name: Option<String>,
    pub topic_id: Uuid,
    pub is_internal: bool,
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    pub topic_authorized_operations: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeTopicPartitionsResponseTopic {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            name: Some(String::new()),
            topic_id: Default::default(),
            is_internal: false,
            partitions: Default::default(),
            topic_authorized_operations: -2147483648,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeTopicPartitionsResponseTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let error_code = ErrorCode(r.i16()?);
        let name = r.nullable_string(true)?;
        let topic_id = r.uuid()?;
        let is_internal = r.bool()?;
        let partitions =
            r.vec(true, |r| DescribeTopicPartitionsResponsePartition::read(r, version))?;
        let topic_authorized_operations = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            error_code,
            name,
            topic_id,
            is_internal,
            partitions,
            topic_authorized_operations,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i16(self.error_code.0);
        w.nullable_string(true, self.name.as_deref())?;
        let mut b = [0; 17];
        b[0..16].copy_from_slice(&self.topic_id.0);
        b[16..17].copy_from_slice(&[u8::from(self.is_internal)]);
        w.raw(&b);
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.i32(self.topic_authorized_operations);
        w.unknown_tags(true, &self.unknown_tags, "DescribeTopicPartitionsResponseTopic", version)
    }
}

#[cfg(feature = "json")]
impl DescribeTopicPartitionsResponseTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "name".into(),
            match &self.name {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        o.insert("isInternal".into(), {
            let v = &self.is_internal;
            (*v).into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("topicAuthorizedOperations".into(), {
            let v = &self.topic_authorized_operations;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeTopicPartitionsResponsePartition`, part of DescribeTopicPartitionsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeTopicPartitionsResponsePartition {
    pub error_code: ErrorCode,
    pub partition_index: i32,
    pub leader_id: i32,
    pub leader_epoch: i32,
    pub replica_nodes: Vec<i32>,
    pub isr_nodes: Vec<i32>,
    pub eligible_leader_replicas: Option<Vec<i32>>,
    pub last_known_elr: Option<Vec<i32>>,
    pub offline_replicas: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeTopicPartitionsResponsePartition {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            partition_index: 0,
            leader_id: 0,
            leader_epoch: -1,
            replica_nodes: Default::default(),
            isr_nodes: Default::default(),
            eligible_leader_replicas: None,
            last_known_elr: None,
            offline_replicas: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeTopicPartitionsResponsePartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let error_code = ErrorCode(r.i16()?);
        let partition_index = r.i32()?;
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let replica_nodes = r.vec(true, |r| r.i32())?;
        let isr_nodes = r.vec(true, |r| r.i32())?;
        let eligible_leader_replicas = r.nullable_vec(true, |r| r.i32())?;
        let last_known_elr = r.nullable_vec(true, |r| r.i32())?;
        let offline_replicas = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            error_code,
            partition_index,
            leader_id,
            leader_epoch,
            replica_nodes,
            isr_nodes,
            eligible_leader_replicas,
            last_known_elr,
            offline_replicas,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 14];
        b[0..2].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[2..6].copy_from_slice(&self.partition_index.to_be_bytes());
        b[6..10].copy_from_slice(&self.leader_id.to_be_bytes());
        b[10..14].copy_from_slice(&self.leader_epoch.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.replica_nodes[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(true, Some(&self.isr_nodes[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(true, self.eligible_leader_replicas.as_deref(), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(true, self.last_known_elr.as_deref(), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(true, Some(&self.offline_replicas[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(
            true,
            &self.unknown_tags,
            "DescribeTopicPartitionsResponsePartition",
            version,
        )
    }
}

#[cfg(feature = "json")]
impl DescribeTopicPartitionsResponsePartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("leaderId".into(), {
            let v = &self.leader_id;
            (*v).into()
        });
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        o.insert("replicaNodes".into(), {
            let v = &self.replica_nodes;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("isrNodes".into(), {
            let v = &self.isr_nodes;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert(
            "eligibleLeaderReplicas".into(),
            match &self.eligible_leader_replicas {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "lastKnownElr".into(),
            match &self.last_known_elr {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert("offlineReplicas".into(), {
            let v = &self.offline_replicas;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `Cursor`, part of DescribeTopicPartitionsResponse.
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

impl Message for DescribeTopicPartitionsResponse {
    const NAME: &'static str = "DescribeTopicPartitionsResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for DescribeTopicPartitionsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
