//! OffsetFetchRequest, versions 1 to 10.

use super::prelude::*;

/// `OffsetFetchRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchRequest {
    pub group_id: String,
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    pub groups: Vec<OffsetFetchRequestGroup>,
    pub require_stable: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            topics: Some(Default::default()),
            groups: Default::default(),
            require_stable: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let group_id = if version <= 7 { r.string(flex)? } else { String::new() };
        let topics = if version <= 7 {
            non_null_unless(
                version >= 2,
                r.nullable_vec(flex, |r| OffsetFetchRequestTopic::read(r, version))?,
                "Topics",
            )?
        } else {
            Some(Default::default())
        };
        let groups = if version >= 8 {
            r.vec(flex, |r| OffsetFetchRequestGroup::read(r, version))?
        } else {
            Default::default()
        };
        let require_stable = if version >= 7 { r.bool()? } else { false };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { group_id, topics, groups, require_stable, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version <= 7 {
            w.string(flex, &self.group_id)?;
        } else {
            if !self.group_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchRequest",
                    field: "GroupId",
                    version,
                });
            }
        }
        if version <= 7 {
            if self.topics.is_none() && !(version >= 2) {
                return Err(EncodeError::Null {
                    message: "OffsetFetchRequest",
                    field: "Topics",
                    version,
                });
            }
            w.array(flex, self.topics.as_deref(), |w, v| v.write(w, version))?;
        } else {
            if !self.topics.as_ref().is_some_and(|v| v.is_empty()) {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchRequest",
                    field: "Topics",
                    version,
                });
            }
        }
        if version >= 8 {
            w.array(flex, Some(&self.groups[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.groups.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchRequest",
                    field: "Groups",
                    version,
                });
            }
        }
        if version >= 7 {
            w.bool(self.require_stable);
        } else {
            if self.require_stable {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchRequest",
                    field: "RequireStable",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchRequest", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 7 {
            o.insert("groupId".into(), {
                let v = &self.group_id;
                v.as_str().into()
            });
        }
        if version <= 7 {
            o.insert(
                "topics".into(),
                match &self.topics {
                    Some(v) => {
                        serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
                    }
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 8 {
            o.insert("groups".into(), {
                let v = &self.groups;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if version >= 7 {
            o.insert("requireStable".into(), {
                let v = &self.require_stable;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `OffsetFetchRequestTopic`, part of OffsetFetchRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchRequestTopic {
    pub name: String,
    pub partition_indexes: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchRequestTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            partition_indexes: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchRequestTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let name = if version <= 7 { r.string(flex)? } else { String::new() };
        let partition_indexes =
            if version <= 7 { r.vec(flex, |r| r.i32())? } else { Default::default() };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, partition_indexes, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version <= 7 {
            w.string(flex, &self.name)?;
        } else {
            if !self.name.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchRequestTopic",
                    field: "Name",
                    version,
                });
            }
        }
        if version <= 7 {
            w.array(flex, Some(&self.partition_indexes[..]), |w, v| {
                w.i32(*v);
                Ok(())
            })?;
        } else {
            if !self.partition_indexes.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchRequestTopic",
                    field: "PartitionIndexes",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchRequestTopic", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchRequestTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 7 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version <= 7 {
            o.insert("partitionIndexes".into(), {
                let v = &self.partition_indexes;
                serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `OffsetFetchRequestGroup`, part of OffsetFetchRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchRequestGroup {
    pub group_id: String,
    pub member_id: Option<String>,
    pub member_epoch: i32,
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchRequestGroup {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: None,
            member_epoch: -1,
            topics: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchRequestGroup {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let group_id = if version >= 8 { r.string(flex)? } else { String::new() };
        let member_id = if version >= 9 { r.nullable_string(flex)? } else { None };
        let member_epoch = if version >= 9 { r.i32()? } else { -1 };
        let topics = if version >= 8 {
            r.nullable_vec(flex, |r| OffsetFetchRequestTopics::read(r, version))?
        } else {
            Some(Default::default())
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { group_id, member_id, member_epoch, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if version >= 8 {
            w.string(flex, &self.group_id)?;
        } else {
            if !self.group_id.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchRequestGroup",
                    field: "GroupId",
                    version,
                });
            }
        }
        if version >= 9 {
            w.nullable_string(flex, self.member_id.as_deref())?;
        }
        if version >= 9 {
            w.i32(self.member_epoch);
        }
        if version >= 8 {
            w.array(flex, self.topics.as_deref(), |w, v| v.write(w, version))?;
        } else {
            if !self.topics.as_ref().is_some_and(|v| v.is_empty()) {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchRequestGroup",
                    field: "Topics",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchRequestGroup", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchRequestGroup {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 8 {
            o.insert("groupId".into(), {
                let v = &self.group_id;
                v.as_str().into()
            });
        }
        if version >= 9 {
            o.insert(
                "memberId".into(),
                match &self.member_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version >= 9 {
            o.insert("memberEpoch".into(), {
                let v = &self.member_epoch;
                (*v).into()
            });
        }
        if version >= 8 {
            o.insert(
                "topics".into(),
                match &self.topics {
                    Some(v) => {
                        serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
                    }
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `OffsetFetchRequestTopics`, part of OffsetFetchRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetFetchRequestTopics {
    pub name: String,
    pub topic_id: Uuid,
    pub partition_indexes: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetFetchRequestTopics {
    fn default() -> Self {
        Self {
            name: String::new(),
            topic_id: Default::default(),
            partition_indexes: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetFetchRequestTopics {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 6;
        let name = if (8..=9).contains(&version) { r.string(flex)? } else { String::new() };
        let topic_id = if version >= 10 { r.uuid()? } else { Default::default() };
        let partition_indexes =
            if version >= 8 { r.vec(flex, |r| r.i32())? } else { Default::default() };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, topic_id, partition_indexes, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 6;
        if (8..=9).contains(&version) {
            w.string(flex, &self.name)?;
        }
        if version >= 10 {
            w.uuid(self.topic_id);
        }
        if version >= 8 {
            w.array(flex, Some(&self.partition_indexes[..]), |w, v| {
                w.i32(*v);
                Ok(())
            })?;
        } else {
            if !self.partition_indexes.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "OffsetFetchRequestTopics",
                    field: "PartitionIndexes",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "OffsetFetchRequestTopics", version)
    }
}

#[cfg(feature = "json")]
impl OffsetFetchRequestTopics {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if (8..=9).contains(&version) {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 10 {
            o.insert("topicId".into(), {
                let v = &self.topic_id;
                v.to_string().into()
            });
        }
        if version >= 8 {
            o.insert("partitionIndexes".into(), {
                let v = &self.partition_indexes;
                serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for OffsetFetchRequest {
    const NAME: &'static str = "OffsetFetchRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 10;
    const FLEXIBLE_FROM: i16 = 6;
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
impl crate::json::ToJson for OffsetFetchRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for OffsetFetchRequest {
    const API_KEY: ApiKey = ApiKey(9);
    type Response = super::offset_fetch_response::OffsetFetchResponse;
}
