//! OffsetDeleteResponse, versions 0 to 0.

use super::prelude::*;

/// `OffsetDeleteResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetDeleteResponse {
    pub error_code: ErrorCode,
    pub throttle_time_ms: i32,
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

impl Default for OffsetDeleteResponse {
    fn default() -> Self {
        Self { error_code: ErrorCode(0), throttle_time_ms: 0, topics: Default::default() }
    }
}

impl OffsetDeleteResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let error_code = ErrorCode(r.i16()?);
        let throttle_time_ms = r.i32()?;
        let topics = r.vec(false, |r| OffsetDeleteResponseTopic::read(r, version))?;
        Ok(Self { error_code, throttle_time_ms, topics })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..2].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[2..6].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        w.raw(&b);
        w.array(false, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        Ok(())
    }
}

#[cfg(feature = "json")]
impl OffsetDeleteResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `OffsetDeleteResponseTopic`, part of OffsetDeleteResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetDeleteResponseTopic {
    pub name: String,
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

impl Default for OffsetDeleteResponseTopic {
    fn default() -> Self {
        Self { name: String::new(), partitions: Default::default() }
    }
}

impl OffsetDeleteResponseTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(false)?;
        let partitions = r.vec(false, |r| OffsetDeleteResponsePartition::read(r, version))?;
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
impl OffsetDeleteResponseTopic {
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

/// `OffsetDeleteResponsePartition`, part of OffsetDeleteResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetDeleteResponsePartition {
    pub partition_index: i32,
    pub error_code: ErrorCode,
}

impl Default for OffsetDeleteResponsePartition {
    fn default() -> Self {
        Self { partition_index: 0, error_code: ErrorCode(0) }
    }
}

impl OffsetDeleteResponsePartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let partition_index = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        Ok(Self { partition_index, error_code })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        Ok(())
    }
}

#[cfg(feature = "json")]
impl OffsetDeleteResponsePartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for OffsetDeleteResponse {
    const NAME: &'static str = "OffsetDeleteResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for OffsetDeleteResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
