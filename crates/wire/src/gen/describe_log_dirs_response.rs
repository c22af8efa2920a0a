//! DescribeLogDirsResponse, versions 1 to 5.

use super::prelude::*;

/// `DescribeLogDirsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeLogDirsResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub results: Vec<DescribeLogDirsResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeLogDirsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            results: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeLogDirsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let throttle_time_ms = r.i32()?;
        let error_code = if version >= 3 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let results = r.vec(flex, |r| DescribeLogDirsResult::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { throttle_time_ms, error_code, results, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        if version >= 3 {
            let mut b = [0; 6];
            b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.throttle_time_ms);
        }
        w.array(flex, Some(&self.results[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeLogDirsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeLogDirsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        if version >= 3 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        o.insert("results".into(), {
            let v = &self.results;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeLogDirsResult`, part of DescribeLogDirsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeLogDirsResult {
    pub error_code: ErrorCode,
    pub log_dir: String,
    pub topics: Vec<DescribeLogDirsTopic>,
    pub total_bytes: i64,
    pub usable_bytes: i64,
    pub is_cordoned: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeLogDirsResult {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            log_dir: String::new(),
            topics: Default::default(),
            total_bytes: -1,
            usable_bytes: -1,
            is_cordoned: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeLogDirsResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let error_code = ErrorCode(r.i16()?);
        let log_dir = r.string(flex)?;
        let topics = r.vec(flex, |r| DescribeLogDirsTopic::read(r, version))?;
        let total_bytes = if version >= 4 { r.i64()? } else { -1 };
        let usable_bytes = if version >= 4 { r.i64()? } else { -1 };
        let is_cordoned = if version >= 5 { r.bool()? } else { false };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            error_code,
            log_dir,
            topics,
            total_bytes,
            usable_bytes,
            is_cordoned,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.i16(self.error_code.0);
        w.string(flex, &self.log_dir)?;
        w.array(flex, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        if version >= 4 {
            let mut b = [0; 16];
            b[0..8].copy_from_slice(&self.total_bytes.to_be_bytes());
            b[8..16].copy_from_slice(&self.usable_bytes.to_be_bytes());
            w.raw(&b);
        }
        if version >= 5 {
            w.bool(self.is_cordoned);
        }
        w.unknown_tags(flex, &self.unknown_tags, "DescribeLogDirsResult", version)
    }
}

#[cfg(feature = "json")]
impl DescribeLogDirsResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("logDir".into(), {
            let v = &self.log_dir;
            v.as_str().into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 4 {
            o.insert("totalBytes".into(), {
                let v = &self.total_bytes;
                (*v).into()
            });
        }
        if version >= 4 {
            o.insert("usableBytes".into(), {
                let v = &self.usable_bytes;
                (*v).into()
            });
        }
        if version >= 5 {
            o.insert("isCordoned".into(), {
                let v = &self.is_cordoned;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `DescribeLogDirsTopic`, part of DescribeLogDirsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeLogDirsTopic {
    pub name: String,
    pub partitions: Vec<DescribeLogDirsPartition>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeLogDirsTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            partitions: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeLogDirsTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let name = r.string(flex)?;
        let partitions = r.vec(flex, |r| DescribeLogDirsPartition::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, partitions, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.name)?;
        w.array(flex, Some(&self.partitions[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeLogDirsTopic", version)
    }
}

#[cfg(feature = "json")]
impl DescribeLogDirsTopic {
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

/// `DescribeLogDirsPartition`, part of DescribeLogDirsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeLogDirsPartition {
    pub partition_index: i32,
    pub partition_size: i64,
    pub offset_lag: i64,
    pub is_future_key: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeLogDirsPartition {
    fn default() -> Self {
        Self {
            partition_index: 0,
            partition_size: 0,
            offset_lag: 0,
            is_future_key: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeLogDirsPartition {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let partition_index = r.i32()?;
        let partition_size = r.i64()?;
        let offset_lag = r.i64()?;
        let is_future_key = r.bool()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { partition_index, partition_size, offset_lag, is_future_key, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        let mut b = [0; 21];
        b[0..4].copy_from_slice(&self.partition_index.to_be_bytes());
        b[4..12].copy_from_slice(&self.partition_size.to_be_bytes());
        b[12..20].copy_from_slice(&self.offset_lag.to_be_bytes());
        b[20..21].copy_from_slice(&[u8::from(self.is_future_key)]);
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "DescribeLogDirsPartition", version)
    }
}

#[cfg(feature = "json")]
impl DescribeLogDirsPartition {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("partitionIndex".into(), {
            let v = &self.partition_index;
            (*v).into()
        });
        o.insert("partitionSize".into(), {
            let v = &self.partition_size;
            (*v).into()
        });
        o.insert("offsetLag".into(), {
            let v = &self.offset_lag;
            (*v).into()
        });
        o.insert("isFutureKey".into(), {
            let v = &self.is_future_key;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeLogDirsResponse {
    const NAME: &'static str = "DescribeLogDirsResponse";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 5;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for DescribeLogDirsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
