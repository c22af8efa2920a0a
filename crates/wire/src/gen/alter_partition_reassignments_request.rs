//! AlterPartitionReassignmentsRequest, versions 0 to 1.

use super::prelude::*;

/// `AlterPartitionReassignmentsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct AlterPartitionReassignmentsRequest {
    pub timeout_ms: i32,
    pub allow_replication_factor_change: bool,
    pub topics: Vec<ReassignableTopic>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for AlterPartitionReassignmentsRequest {
    fn default() -> Self {
        Self {
            timeout_ms: 60000,
            allow_replication_factor_change: true,
            topics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl AlterPartitionReassignmentsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let timeout_ms = r.i32()?;
        let allow_replication_factor_change = if version >= 1 { r.bool()? } else { true };
        let topics = r.vec(true, |r| ReassignableTopic::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { timeout_ms, allow_replication_factor_change, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            let mut b = [0; 5];
            b[0..4].copy_from_slice(&self.timeout_ms.to_be_bytes());
            b[4..5].copy_from_slice(&[u8::from(self.allow_replication_factor_change)]);
            w.raw(&b);
        } else {
            w.i32(self.timeout_ms);
            if !self.allow_replication_factor_change {
                return Err(EncodeError::NotInVersion {
                    message: "AlterPartitionReassignmentsRequest",
                    field: "AllowReplicationFactorChange",
                    version,
                });
            }
        }
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "AlterPartitionReassignmentsRequest", version)
    }
}

#[cfg(feature = "json")]
impl AlterPartitionReassignmentsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("timeoutMs".into(), {
            let v = &self.timeout_ms;
            (*v).into()
        });
        if version >= 1 {
            o.insert("allowReplicationFactorChange".into(), {
                let v = &self.allow_replication_factor_change;
                (*v).into()
            });
        }
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ReassignableTopic`, part of AlterPartitionReassignmentsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReassignableTopic {
    pub name: String,
    pub partitions: Vec<ReassignablePartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ReassignableTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ReassignableTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let partitions = r.vec(true, |r| ReassignablePartition::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.array(true, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ReassignableTopic", version)
    }
}

#[cfg(feature = "json")]
impl ReassignableTopic {
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

/// `ReassignablePartition`, part of AlterPartitionReassignmentsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ReassignablePartition {
    pub partition_index: i32,
    pub replicas: Option<Vec<i32>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ReassignablePartition {
    fn default() -> Self {
        Self { partition_index: 0, replicas: None, unknown_tags: RawTags::default() }
    }
}

impl ReassignablePartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let replicas = r.nullable_vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { partition_index, replicas, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.partition_index);
        w.array(true, self.replicas.as_deref(), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "ReassignablePartition", version)
    }
}

#[cfg(feature = "json")]
impl ReassignablePartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert(
            "replicas".into(),
            match &self.replicas {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for AlterPartitionReassignmentsRequest {
    const NAME: &'static str = "AlterPartitionReassignmentsRequest";
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
impl crate::json::ToJson for AlterPartitionReassignmentsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for AlterPartitionReassignmentsRequest {
    const API_KEY: ApiKey = ApiKey(45);
    type Response =
        super::alter_partition_reassignments_response::AlterPartitionReassignmentsResponse;
}
