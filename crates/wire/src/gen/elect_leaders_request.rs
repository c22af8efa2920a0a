//! ElectLeadersRequest, versions 0 to 2.

use super::prelude::*;

/// `ElectLeadersRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ElectLeadersRequest {
    pub election_type: i8,
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    pub timeout_ms: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ElectLeadersRequest {
    fn default() -> Self {
        Self {
            election_type: 0,
            topic_partitions: Some(Default::default()),
            timeout_ms: 60000,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ElectLeadersRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let election_type = if version >= 1 { r.i8()? } else { 0 };
        let topic_partitions = r.nullable_vec(flex, |r| TopicPartitions::read(r, version))?;
        let timeout_ms = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { election_type, topic_partitions, timeout_ms, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        if version >= 1 {
            w.i8(self.election_type);
        } else {
            if self.election_type != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "ElectLeadersRequest",
                    field: "ElectionType",
                    version,
                });
            }
        }
        w.array(flex, self.topic_partitions.as_deref(), |w, v| v.write(w, version))?;
        w.i32(self.timeout_ms);
        w.unknown_tags(flex, &self.unknown_tags, "ElectLeadersRequest", version)
    }
}

#[cfg(feature = "json")]
impl ElectLeadersRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("electionType".into(), {
                let v = &self.election_type;
                (*v).into()
            });
        }
        o.insert(
            "topicPartitions".into(),
            match &self.topic_partitions {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        o.insert("timeoutMs".into(), {
            let v = &self.timeout_ms;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicPartitions`, part of ElectLeadersRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicPartitions {
    pub topic: String,
    pub partitions: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicPartitions {
    fn default() -> Self {
        Self {
            topic: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicPartitions {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let topic = r.string(flex)?;
        let partitions = r.vec(flex, |r| r.i32())?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { topic, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.topic)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(flex, &self.unknown_tags, "TopicPartitions", version)
    }
}

#[cfg(feature = "json")]
impl TopicPartitions {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topic".into(), {
            let v = &self.topic;
            v.as_str().into()
        });
        o.insert("partitions".into(), {
            let v = &self.partitions;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ElectLeadersRequest {
    const NAME: &'static str = "ElectLeadersRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
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
impl crate::json::ToJson for ElectLeadersRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ElectLeadersRequest {
    const API_KEY: ApiKey = ApiKey(43);
    type Response = super::elect_leaders_response::ElectLeadersResponse;
}
