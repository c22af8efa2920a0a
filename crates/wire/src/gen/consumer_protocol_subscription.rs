//! ConsumerProtocolSubscription, versions 0 to 3.

use super::prelude::*;

/// `ConsumerProtocolSubscription`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerProtocolSubscription {
    pub topics: Vec<String>,
    pub user_data: Option<Bytes>,
    pub owned_partitions: Vec<TopicPartition>,
    pub generation_id: i32,
    pub rack_id: Option<String>,
}

impl Default for ConsumerProtocolSubscription {
    fn default() -> Self {
        Self {
            topics: Default::default(),
            user_data: None,
            owned_partitions: Default::default(),
            generation_id: -1,
            rack_id: None,
        }
    }
}

impl ConsumerProtocolSubscription {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topics = r.vec(false, |r| r.string(false))?;
        let user_data = r.nullable_bytes(false)?;
        let owned_partitions = if version >= 1 {
            r.vec(false, |r| TopicPartition::read(r, version))?
        } else {
            Default::default()
        };
        let generation_id = if version >= 2 { r.i32()? } else { -1 };
        let rack_id = if version >= 3 { r.nullable_string(false)? } else { None };
        Ok(Self { topics, user_data, owned_partitions, generation_id, rack_id })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(false, Some(&self.topics[..]), |w, v| w.string(false, v))?;
        w.nullable_bytes(false, self.user_data.as_deref())?;
        if version >= 1 {
            w.array(false, Some(&self.owned_partitions[..]), |w, v| v.write(w, version))?;
        }
        if version >= 2 {
            w.i32(self.generation_id);
        }
        if version >= 3 {
            w.nullable_string(false, self.rack_id.as_deref())?;
        }
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ConsumerProtocolSubscription {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert(
            "userData".into(),
            match &self.user_data {
                Some(v) => crate::json::base64(v).into(),
                None => serde_json::Value::Null,
            },
        );
        if version >= 1 {
            o.insert("ownedPartitions".into(), {
                let v = &self.owned_partitions;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        if version >= 2 {
            o.insert("generationId".into(), {
                let v = &self.generation_id;
                (*v).into()
            });
        }
        if version >= 3 {
            o.insert(
                "rackId".into(),
                match &self.rack_id {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

/// `TopicPartition`, part of ConsumerProtocolSubscription.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicPartition {
    pub topic: String,
    pub partitions: Vec<i32>,
}

impl Default for TopicPartition {
    fn default() -> Self {
        Self { topic: String::new(), partitions: Default::default() }
    }
}

impl TopicPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic = if version >= 1 { r.string(false)? } else { String::new() };
        let partitions = if version >= 1 { r.vec(false, |r| r.i32())? } else { Default::default() };
        Ok(Self { topic, partitions })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 1 {
            w.string(false, &self.topic)?;
        } else {
            if !self.topic.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopicPartition",
                    field: "Topic",
                    version,
                });
            }
        }
        if version >= 1 {
            w.array(false, Some(&self.partitions[..]), |w, v| {
                w.i32(*v);
                Ok(())
            })?;
        } else {
            if !self.partitions.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "TopicPartition",
                    field: "Partitions",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("topic".into(), {
                let v = &self.topic;
                v.as_str().into()
            });
        }
        if version >= 1 {
            o.insert("partitions".into(), {
                let v = &self.partitions;
                serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ConsumerProtocolSubscription {
    const NAME: &'static str = "ConsumerProtocolSubscription";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 3;
    const FLEXIBLE_FROM: i16 = 32767;
    fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        Self::check_version(version)?;
        Self::read(r, version)
    }
    fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        Self::check_written_version(version)?;
        self.write(w, version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for ConsumerProtocolSubscription {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
