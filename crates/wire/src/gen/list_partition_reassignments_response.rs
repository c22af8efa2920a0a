//! ListPartitionReassignmentsResponse, versions 0 to 0.

use super::prelude::*;

/// `ListPartitionReassignmentsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListPartitionReassignmentsResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub topics: Vec<OngoingTopicReassignment>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListPartitionReassignmentsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListPartitionReassignmentsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let topics = r.vec(true, |r| OngoingTopicReassignment::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, error_code, error_message, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ListPartitionReassignmentsResponse", version)
    }
}

#[cfg(feature = "json")]
impl ListPartitionReassignmentsResponse {
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
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `OngoingTopicReassignment`, part of ListPartitionReassignmentsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OngoingTopicReassignment {
    pub name: String,
    pub partitions: Vec<OngoingPartitionReassignment>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OngoingTopicReassignment {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OngoingTopicReassignment {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let partitions = r.vec(true, |r| OngoingPartitionReassignment::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "OngoingTopicReassignment", version)
    }
}

#[cfg(feature = "json")]
impl OngoingTopicReassignment {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `OngoingPartitionReassignment`, part of ListPartitionReassignmentsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OngoingPartitionReassignment {
    pub partition_index: i32,
    pub replicas: Vec<i32>,
    pub adding_replicas: Vec<i32>,
    pub removing_replicas: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OngoingPartitionReassignment {
    fn default() -> Self {
        Self {
            partition_index: 0,
            replicas: Default::default(),
            adding_replicas: Default::default(),
            removing_replicas: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OngoingPartitionReassignment {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let replicas = r.vec(true, |r| r.i32())?;
        let adding_replicas = r.vec(true, |r| r.i32())?;
        let removing_replicas = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { partition_index, replicas, adding_replicas, removing_replicas, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.partition_index);
        w.array(true, Some(&self.replicas[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(true, Some(&self.adding_replicas[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.array(true, Some(&self.removing_replicas[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "OngoingPartitionReassignment", version)
    }
}

#[cfg(feature = "json")]
impl OngoingPartitionReassignment {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("replicas".into(), {
            let v = &self.replicas;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("addingReplicas".into(), {
            let v = &self.adding_replicas;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("removingReplicas".into(), {
            let v = &self.removing_replicas;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ListPartitionReassignmentsResponse {
    const NAME: &'static str = "ListPartitionReassignmentsResponse";
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
impl crate::json::ToJson for ListPartitionReassignmentsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
