//! ConsumerGroupHeartbeatRequest, versions 0 to 1.

use super::prelude::*;

/// `ConsumerGroupHeartbeatRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerGroupHeartbeatRequest {
    pub group_id: String,
    pub member_id: String,
    pub member_epoch: i32,
    pub instance_id: Option<String>,
    pub rack_id: Option<String>,
    pub rebalance_timeout_ms: i32,
    pub subscribed_topic_names: Option<Vec<String>>,
    pub subscribed_topic_regex: Option<String>,
    pub server_assignor: Option<String>,
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ConsumerGroupHeartbeatRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            member_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            subscribed_topic_names: None,
            subscribed_topic_regex: None,
            server_assignor: None,
            topic_partitions: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ConsumerGroupHeartbeatRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(true)?;
        let member_id = r.string(true)?;
        let member_epoch = r.i32()?;
        let instance_id = r.nullable_string(true)?;
        let rack_id = r.nullable_string(true)?;
        let rebalance_timeout_ms = r.i32()?;
        let subscribed_topic_names = r.nullable_vec(true, |r| r.string(true))?;
        let subscribed_topic_regex = if version >= 1 { r.nullable_string(true)? } else { None };
        let server_assignor = r.nullable_string(true)?;
        let topic_partitions = r.nullable_vec(true, |r| TopicPartitions::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            group_id,
            member_id,
            member_epoch,
            instance_id,
            rack_id,
            rebalance_timeout_ms,
            subscribed_topic_names,
            subscribed_topic_regex,
            server_assignor,
            topic_partitions,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.group_id)?;
        w.string(true, &self.member_id)?;
        w.i32(self.member_epoch);
        w.nullable_string(true, self.instance_id.as_deref())?;
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.i32(self.rebalance_timeout_ms);
        w.array(true, self.subscribed_topic_names.as_deref(), |w, v| w.string(true, v))?;
        if version >= 1 {
            w.nullable_string(true, self.subscribed_topic_regex.as_deref())?;
        } else {
            if self.subscribed_topic_regex.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "ConsumerGroupHeartbeatRequest",
                    field: "SubscribedTopicRegex",
                    version,
                });
            }
        }
        w.nullable_string(true, self.server_assignor.as_deref())?;
        w.array(true, self.topic_partitions.as_deref(), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ConsumerGroupHeartbeatRequest", version)
    }
}

#[cfg(feature = "json")]
impl ConsumerGroupHeartbeatRequest {
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
            "subscribedTopicNames".into(),
            match &self.subscribed_topic_names {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect()),
                None => serde_json::Value::Null,
            },
        );
        if version >= 1 {
            o.insert(
                "subscribedTopicRegex".into(),
                match &self.subscribed_topic_regex {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        o.insert(
            "serverAssignor".into(),
            match &self.server_assignor {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "topicPartitions".into(),
            match &self.topic_partitions {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `TopicPartitions`, part of ConsumerGroupHeartbeatRequest.
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

impl Message for ConsumerGroupHeartbeatRequest {
    const NAME: &'static str = "ConsumerGroupHeartbeatRequest";
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
impl crate::json::ToJson for ConsumerGroupHeartbeatRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ConsumerGroupHeartbeatRequest {
    const API_KEY: ApiKey = ApiKey(68);
    type Response = super::consumer_group_heartbeat_response::ConsumerGroupHeartbeatResponse;
}
