//! ConsumerGroupMetadataValue, versions 0 to 0.

use super::prelude::*;

/// `ConsumerGroupMetadataValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerGroupMetadataValue {
    pub epoch: i32,
    pub metadata_hash: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ConsumerGroupMetadataValue {
    fn default() -> Self {
        Self { epoch: 0, metadata_hash: 0, unknown_tags: RawTags::default() }
    }
}

impl ConsumerGroupMetadataValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let epoch = r.i32()?;
        let mut metadata_hash = 0;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        metadata_hash = r.i64()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self { epoch, metadata_hash, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.epoch);
        let mut count = self.unknown_tags.len();
        let tag_0 = self.metadata_hash != 0;
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.i64(self.metadata_hash);
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ConsumerGroupMetadataValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("epoch".into(), {
            let v = &self.epoch;
            (*v).into()
        });
        if self.metadata_hash != 0 {
            o.insert("metadataHash".into(), {
                let v = &self.metadata_hash;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ConsumerGroupMetadataValue {
    const NAME: &'static str = "ConsumerGroupMetadataValue";
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
impl crate::json::ToJson for ConsumerGroupMetadataValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ConsumerGroupMetadataValue {
    /// Number of this record type.
    pub const KEY: i16 = 3;
}
