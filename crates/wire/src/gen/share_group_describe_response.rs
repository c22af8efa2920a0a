//! ShareGroupDescribeResponse, versions 1 to 1.

use super::prelude::*;

/// `ShareGroupDescribeResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareGroupDescribeResponse {
    pub throttle_time_ms: i32,
    pub groups: Vec<DescribedGroup>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareGroupDescribeResponse {
    fn default() -> Self {
        Self { throttle_time_ms: 0, groups: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl ShareGroupDescribeResponse {
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
        w.unknown_tags(true, &self.unknown_tags, "ShareGroupDescribeResponse", version)
    }
}

#[cfg(feature = "json")]
impl ShareGroupDescribeResponse {
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

/// `DescribedGroup`, part of ShareGroupDescribeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribedGroup {
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub group_id: String,
    pub group_state: String,
    pub group_epoch: i32,
    pub assignment_epoch: i32,
    pub assignor_name: String,
    pub members: Vec<Member>,
    pub authorized_operations: i32,
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
            assignor_name: String::new(),
            members: Default::default(),
            authorized_operations: -2147483648,
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
        let assignor_name = r.string(true)?;
        let members = r.vec(true, |r| Member::read(r, version))?;
        let authorized_operations = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            error_code,
            error_message,
            group_id,
            group_state,
            group_epoch,
            assignment_epoch,
            assignor_name,
            members,
            authorized_operations,
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
        w.string(true, &self.assignor_name)?;
        w.array(true, Some(&self.members[..]), |w, v| v.write(w, version))?;
        w.i32(self.authorized_operations);
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
        o.insert("assignorName".into(), {
            let v = &self.assignor_name;
            v.as_str().into()
        });
        o.insert("members".into(), {
            let v = &self.members;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("authorizedOperations".into(), {
            let v = &self.authorized_operations;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `Member`, part of ShareGroupDescribeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Member {
    pub member_id: String,
    pub rack_id: Option<String>,
    pub member_epoch: i32,
    pub client_id: String,
    pub client_host: String,
    pub subscribed_topic_names: Vec<String>,
    pub assignment: Assignment,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Member {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            rack_id: None,
            member_epoch: 0,
            client_id: String::new(),
            client_host: String::new(),
            subscribed_topic_names: Default::default(),
            assignment: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl Member {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let member_id = r.string(true)?;
        let rack_id = r.nullable_string(true)?;
        let member_epoch = r.i32()?;
        let client_id = r.string(true)?;
        let client_host = r.string(true)?;
        let subscribed_topic_names = r.vec(true, |r| r.string(true))?;
        let assignment = Assignment::read(r, version)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            member_id,
            rack_id,
            member_epoch,
            client_id,
            client_host,
            subscribed_topic_names,
            assignment,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.member_id)?;
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.i32(self.member_epoch);
        w.string(true, &self.client_id)?;
        w.string(true, &self.client_host)?;
        w.array(true, Some(&self.subscribed_topic_names[..]), |w, v| w.string(true, v))?;
        self.assignment.write(w, version)?;
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
        o.insert(
            "rackId".into(),
            match &self.rack_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("memberEpoch".into(), {
            let v = &self.member_epoch;
            (*v).into()
        });
        o.insert("clientId".into(), {
            let v = &self.client_id;
            v.as_str().into()
        });
        o.insert("clientHost".into(), {
            let v = &self.client_host;
            v.as_str().into()
        });
        o.insert("subscribedTopicNames".into(), {
            let v = &self.subscribed_topic_names;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("assignment".into(), {
            let v = &self.assignment;
            v.json(version)
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicPartitions`, part of ShareGroupDescribeResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicPartitions {
    pub topic_id: Uuid,
    pub topic_name: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicPartitions {
    fn default() -> Self {
        Self {
            topic_id: Default::default(),
            topic_name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicPartitions {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id = r.uuid()?;
        let topic_name = r.string(true)?;
        let partitions = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id, topic_name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.topic_id);
        w.string(true, &self.topic_name)?;
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

/// `Assignment`, part of ShareGroupDescribeResponse.
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

impl Message for ShareGroupDescribeResponse {
    const NAME: &'static str = "ShareGroupDescribeResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 1;
    const FLEXIBLE_FROM: i16 = 1;
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
impl crate::json::ToJson for ShareGroupDescribeResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
