//! ConsumerGroupHeartbeatResponse, versions 0 to 1.

use super::prelude::*;

/// `ConsumerGroupHeartbeatResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerGroupHeartbeatResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub member_id: Option<String>,
    pub member_epoch: i32,
    pub heartbeat_interval_ms: i32,
    pub assignment: Option<Assignment>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ConsumerGroupHeartbeatResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            error_message: None,
            member_id: None,
            member_epoch: 0,
            heartbeat_interval_ms: 0,
            assignment: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ConsumerGroupHeartbeatResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let member_id = r.nullable_string(true)?;
        let member_epoch = r.i32()?;
        let heartbeat_interval_ms = r.i32()?;
        let assignment = if r.i8()? >= 0 { Some(Assignment::read(r, version)?) } else { None };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            error_message,
            member_id,
            member_epoch,
            heartbeat_interval_ms,
            assignment,
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
        w.nullable_string(true, self.member_id.as_deref())?;
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.member_epoch.to_be_bytes());
        b[4..8].copy_from_slice(&self.heartbeat_interval_ms.to_be_bytes());
        w.raw(&b);
        match &self.assignment {
            Some(v) => {
                w.i8(1);
                v.write(w, version)?;
            }
            None => {
                w.i8(-1);
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "ConsumerGroupHeartbeatResponse", version)
    }
}

#[cfg(feature = "json")]
impl ConsumerGroupHeartbeatResponse {
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
        o.insert(
            "memberId".into(),
            match &self.member_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("memberEpoch".into(), {
            let v = &self.member_epoch;
            (*v).into()
        });
        o.insert("heartbeatIntervalMs".into(), {
            let v = &self.heartbeat_interval_ms;
            (*v).into()
        });
        o.insert(
            "assignment".into(),
            match &self.assignment {
                Some(v) => v.json(version),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `Assignment`, part of ConsumerGroupHeartbeatResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Assignment {
    pub topic_partitions: Vec<TopicPartitions>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Assignment {
    fn default() -> Self {
        Self { topic_partitions: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl Assignment {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_partitions = r.vec(true, |r| TopicPartitions::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.topic_partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "Assignment", version)
    }
}

#[cfg(feature = "json")]
impl Assignment {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicPartitions".into(), {
            let v = &self.topic_partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicPartitions`, part of ConsumerGroupHeartbeatResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicPartitions {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicPartitions {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let partitions = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.array(true, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "TopicPartitions", version)
    }
}

#[cfg(feature = "json")]
impl TopicPartitions {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicId".into(), {
            let v = &self.topic_id;
            v.to_string().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ConsumerGroupHeartbeatResponse {
    const NAME: &'static str = "ConsumerGroupHeartbeatResponse";
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
impl crate::json::ToJson for ConsumerGroupHeartbeatResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
