//! OffsetDeleteRequest, versions 0 to 0.

use super::prelude::*;

/// `OffsetDeleteRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetDeleteRequest {
    pub group_id: String,
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

impl Default for OffsetDeleteRequest {
    fn default() -> Self {
        Self { group_id: String::new(), topics: Default::default() }
    }
}

impl OffsetDeleteRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_id = r.string(false)?;
        let topics = r.vec(false, |r| OffsetDeleteRequestTopic::read(r, version))?;
        Ok(Self { group_id, topics })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(false, &self.group_id)?;
        w.array(false, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        Ok(())
    }
}

#[cfg(feature = "json")]
impl OffsetDeleteRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupId".into(), {
            let v = &self.group_id;
            v.as_str().into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `OffsetDeleteRequestTopic`, part of OffsetDeleteRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetDeleteRequestTopic {
    pub name: String,
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

impl Default for OffsetDeleteRequestTopic {
    fn default() -> Self {
        Self { name: String::new(), partitions: Default::default() }
    }
}

impl OffsetDeleteRequestTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(false)?;
        let partitions = r.vec(false, |r| OffsetDeleteRequestPartition::read(r, version))?;
        Ok(Self { name, partitions })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(false, &self.name)?;
        w.array(false, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        Ok(())
    }
}

#[cfg(feature = "json")]
impl OffsetDeleteRequestTopic {
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

/// `OffsetDeleteRequestPartition`, part of OffsetDeleteRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetDeleteRequestPartition {
    pub partition_index: i32,
}

impl Default for OffsetDeleteRequestPartition {
    fn default() -> Self {
        Self { partition_index: 0 }
    }
}

impl OffsetDeleteRequestPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        Ok(Self { partition_index })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.partition_index);
        Ok(())
    }
}

#[cfg(feature = "json")]
impl OffsetDeleteRequestPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for OffsetDeleteRequest {
    const NAME: &'static str = "OffsetDeleteRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
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

#[cfg(feature = "json")]
impl crate::json::ToJson for OffsetDeleteRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for OffsetDeleteRequest {
    const API_KEY: ApiKey = ApiKey(47);
    type Response = super::offset_delete_response::OffsetDeleteResponse;
}
