//! CreateTopicsRequest, versions 2 to 7.

use super::prelude::*;

/// `CreateTopicsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreateTopicsRequest {
    pub topics: Vec<CreatableTopic>,
    pub timeout_ms: i32,
    pub validate_only: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreateTopicsRequest {
    fn default() -> Self {
        Self {
            topics: Default::default(),
            timeout_ms: 60000,
            validate_only: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreateTopicsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let topics = r.vec(flex, |r| CreatableTopic::read(r, version))?;
        let timeout_ms = r.i32()?;
        let validate_only = r.bool()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topics, timeout_ms, validate_only, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        let mut b = [0; 5];
        b[0..4].copy_from_slice(&self.timeout_ms.to_be_bytes());
        b[4..5].copy_from_slice(&[u8::from(self.validate_only)]);
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "CreateTopicsRequest", version)
    }
}

#[cfg(feature = "json")]
impl CreateTopicsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("timeoutMs".into(), {
            let v = &self.timeout_ms;
            (*v).into()
        });
        o.insert("validateOnly".into(), {
            let v = &self.validate_only;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `CreatableTopic`, part of CreateTopicsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreatableTopic {
    pub name: String,
    pub num_partitions: i32,
    pub replication_factor: i16,
    pub assignments: Vec<CreatableReplicaAssignment>,
    pub configs: Vec<CreatableTopicConfig>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreatableTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            num_partitions: 0,
            replication_factor: 0,
            assignments: Default::default(),
            configs: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreatableTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let name = r.string(flex)?;
        let num_partitions = r.i32()?;
        let replication_factor = r.i16()?;
        let assignments = r.vec(flex, |r| CreatableReplicaAssignment::read(r, version))?;
        let configs = r.vec(flex, |r| CreatableTopicConfig::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, num_partitions, replication_factor, assignments, configs, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        w.string(flex, &self.name)?;
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.num_partitions.to_be_bytes());
        b[4..6].copy_from_slice(&self.replication_factor.to_be_bytes());
        w.raw(&b);
        w.array(flex, Some(&self.assignments[..]), |w, v| v.write(w, version))?;
        w.array(flex, Some(&self.configs[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "CreatableTopic", version)
    }
}

#[cfg(feature = "json")]
impl CreatableTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("numPartitions".into(), {
            let v = &self.num_partitions;
            (*v).into()
        });
        o.insert("replicationFactor".into(), {
            let v = &self.replication_factor;
            (*v).into()
        });
        o.insert("assignments".into(), {
            let v = &self.assignments;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("configs".into(), {
            let v = &self.configs;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `CreatableReplicaAssignment`, part of CreateTopicsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreatableReplicaAssignment {
    pub partition_index: i32,
    pub broker_ids: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreatableReplicaAssignment {
    fn default() -> Self {
        Self {
            partition_index: 0,
            broker_ids: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreatableReplicaAssignment {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let partition_index = r.i32()?;
        let broker_ids = r.vec(flex, |r| r.i32())?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, broker_ids, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        w.i32(self.partition_index);
        w.array(flex, Some(&self.broker_ids[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(flex, &self.unknown_tags, "CreatableReplicaAssignment", version)
    }
}

#[cfg(feature = "json")]
impl CreatableReplicaAssignment {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("brokerIds".into(), {
            let v = &self.broker_ids;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `CreatableTopicConfig`, part of CreateTopicsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreatableTopicConfig {
    pub name: String,
    pub value: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreatableTopicConfig {
    fn default() -> Self {
        Self { name: String::new(), value: Some(String::new()), unknown_tags: RawTags::default() }
    }
}

impl CreatableTopicConfig {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 5;
        let name = r.string(flex)?;
        let value = r.nullable_string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, value, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 5;
        w.string(flex, &self.name)?;
        w.nullable_string(flex, self.value.as_deref())?;
        w.unknown_tags(flex, &self.unknown_tags, "CreatableTopicConfig", version)
    }
}

#[cfg(feature = "json")]
impl CreatableTopicConfig {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert(
            "value".into(),
            match &self.value {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for CreateTopicsRequest {
    const NAME: &'static str = "CreateTopicsRequest";
    const MIN_VERSION: i16 = 2;
    const MAX_VERSION: i16 = 7;
    const FLEXIBLE_FROM: i16 = 5;
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
impl crate::json::ToJson for CreateTopicsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for CreateTopicsRequest {
    const API_KEY: ApiKey = ApiKey(19);
    type Response = super::create_topics_response::CreateTopicsResponse;
}
