//! ListPartitionReassignmentsRequest, versions 0 to 0.

use super::prelude::*;

/// `ListPartitionReassignmentsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListPartitionReassignmentsRequest {
    pub timeout_ms: i32,
    pub topics: Option<Vec<ListPartitionReassignmentsTopics>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListPartitionReassignmentsRequest {
    fn default() -> Self {
        Self { timeout_ms: 60000, topics: None, unknown_tags: RawTags::default() }
    }
}

impl ListPartitionReassignmentsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let timeout_ms = r.i32()?;
        let topics =
            r.nullable_vec(true, |r| ListPartitionReassignmentsTopics::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { timeout_ms, topics, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.timeout_ms);
        w.array(true, self.topics.as_deref(), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ListPartitionReassignmentsRequest", version)
    }
}

#[cfg(feature = "json")]
impl ListPartitionReassignmentsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("timeoutMs".into(), {
            let v = &self.timeout_ms;
            (*v).into()
        });
        o.insert(
            "topics".into(),
            match &self.topics {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `ListPartitionReassignmentsTopics`, part of ListPartitionReassignmentsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListPartitionReassignmentsTopics {
    pub name: String,
    pub partition_indexes: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListPartitionReassignmentsTopics {
    fn default() -> Self {
        Self {
            name: String::new(),
            partition_indexes: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListPartitionReassignmentsTopics {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let partition_indexes = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, partition_indexes, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.array(true, Some(&self.partition_indexes[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "ListPartitionReassignmentsTopics", version)
    }
}

#[cfg(feature = "json")]
impl ListPartitionReassignmentsTopics {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("partitionIndexes".into(), {
            let v = &self.partition_indexes;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ListPartitionReassignmentsRequest {
    const NAME: &'static str = "ListPartitionReassignmentsRequest";
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
}

#[cfg(feature = "json")]
impl crate::json::ToJson for ListPartitionReassignmentsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ListPartitionReassignmentsRequest {
    const API_KEY: ApiKey = ApiKey(46);
    type Response =
        super::list_partition_reassignments_response::ListPartitionReassignmentsResponse;
}
