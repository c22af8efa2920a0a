//! CreatePartitionsRequest, versions 0 to 3.

use super::prelude::*;

/// `CreatePartitionsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreatePartitionsRequest {
    pub topics: Vec<CreatePartitionsTopic>,
    pub timeout_ms: i32,
    pub validate_only: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreatePartitionsRequest {
    fn default() -> Self {
        Self {
            topics: Default::default(),
            timeout_ms: 0,
            validate_only: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreatePartitionsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let topics = r.vec(flex, |r| CreatePartitionsTopic::read(r, version))?;
        let timeout_ms = r.i32()?;
        let validate_only = r.bool()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topics, timeout_ms, validate_only, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        let mut b = [0; 5];
        b[0..4].copy_from_slice(&self.timeout_ms.to_be_bytes());
        b[4..5].copy_from_slice(&[u8::from(self.validate_only)]);
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "CreatePartitionsRequest", version)
    }
}

#[cfg(feature = "json")]
impl CreatePartitionsRequest {
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

/// `CreatePartitionsTopic`, part of CreatePartitionsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreatePartitionsTopic {
    pub name: String,
    pub count: i32,
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreatePartitionsTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            count: 0,
            assignments: Some(Default::default()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl CreatePartitionsTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let name = r.string(flex)?;
        let count = r.i32()?;
        let assignments = r.nullable_vec(flex, |r| CreatePartitionsAssignment::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, count, assignments, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.name)?;
        w.i32(self.count);
        w.array(flex, self.assignments.as_deref(), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "CreatePartitionsTopic", version)
    }
}

#[cfg(feature = "json")]
impl CreatePartitionsTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("count".into(), {
            let v = &self.count;
            (*v).into()
        });
        o.insert(
            "assignments".into(),
            match &self.assignments {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `CreatePartitionsAssignment`, part of CreatePartitionsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CreatePartitionsAssignment {
    pub broker_ids: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CreatePartitionsAssignment {
    fn default() -> Self {
        Self { broker_ids: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl CreatePartitionsAssignment {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let broker_ids = r.vec(flex, |r| r.i32())?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { broker_ids, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.array(flex, Some(&self.broker_ids[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(flex, &self.unknown_tags, "CreatePartitionsAssignment", version)
    }
}

#[cfg(feature = "json")]
impl CreatePartitionsAssignment {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("brokerIds".into(), {
            let v = &self.broker_ids;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for CreatePartitionsRequest {
    const NAME: &'static str = "CreatePartitionsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 3;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for CreatePartitionsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for CreatePartitionsRequest {
    const API_KEY: ApiKey = ApiKey(37);
    type Response = super::create_partitions_response::CreatePartitionsResponse;
}
