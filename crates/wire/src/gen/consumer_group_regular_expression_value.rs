//! ConsumerGroupRegularExpressionValue, versions 0 to 0.

use super::prelude::*;

/// `ConsumerGroupRegularExpressionValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerGroupRegularExpressionValue {
    pub topics: Vec<String>,
    pub version: i64,
    pub timestamp: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ConsumerGroupRegularExpressionValue {
    fn default() -> Self {
        Self {
            topics: Default::default(),
            version: 0,
            timestamp: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ConsumerGroupRegularExpressionValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topics = r.vec(true, |r| r.string(true))?;
        let its_version = r.i64()?;
        let timestamp = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topics, version: its_version, timestamp, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.topics[..]), |w, v| w.string(true, v))?;
        let mut b = [0; 16];
        b[0..8].copy_from_slice(&self.version.to_be_bytes());
        b[8..16].copy_from_slice(&self.timestamp.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "ConsumerGroupRegularExpressionValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ConsumerGroupRegularExpressionValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("version".into(), {
            let v = &self.version;
            (*v).into()
        });
        o.insert("timestamp".into(), {
            let v = &self.timestamp;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ConsumerGroupRegularExpressionValue {
    const NAME: &'static str = "ConsumerGroupRegularExpressionValue";
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

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for ConsumerGroupRegularExpressionValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ConsumerGroupRegularExpressionValue {
    /// Number of this record type.
    pub const KEY: i16 = 16;
}
