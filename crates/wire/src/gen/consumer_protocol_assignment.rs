//! ConsumerProtocolAssignment, versions 0 to 3.

use super::prelude::*;

/// `ConsumerProtocolAssignment`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerProtocolAssignment {
    pub assigned_partitions: Vec<TopicPartition>,
    pub user_data: Option<Bytes>,
}

impl Default for ConsumerProtocolAssignment {
    fn default() -> Self {
        Self { assigned_partitions: Default::default(), user_data: None }
    }
}

impl ConsumerProtocolAssignment {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let assigned_partitions = r.vec(false, |r| TopicPartition::read(r, version))?;
        let user_data = r.nullable_bytes(false)?;
        Ok(Self { assigned_partitions, user_data })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(false, Some(&self.assigned_partitions[..]), |w, v| v.write(w, version))?;
        w.nullable_bytes(false, self.user_data.as_deref())?;
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ConsumerProtocolAssignment {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("assignedPartitions".into(), {
            let v = &self.assigned_partitions;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert(
            "userData".into(),
            match &self.user_data {
                Some(v) => crate::json::base64(v).into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `TopicPartition`, part of ConsumerProtocolAssignment.
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
        let topic = r.string(false)?;
        let partitions = r.vec(false, |r| r.i32())?;
        Ok(Self { topic, partitions })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(false, &self.topic)?;
        w.array(false, Some(&self.partitions[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicPartition {
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

impl Message for ConsumerProtocolAssignment {
    const NAME: &'static str = "ConsumerProtocolAssignment";
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
impl crate::json::ToJson for ConsumerProtocolAssignment {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
