//! ConsumerGroupTargetAssignmentMetadataValue, versions 0 to 0.

use super::prelude::*;

/// `ConsumerGroupTargetAssignmentMetadataValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ConsumerGroupTargetAssignmentMetadataValue {
    pub assignment_epoch: i32,
    pub assignment_timestamp: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ConsumerGroupTargetAssignmentMetadataValue {
    fn default() -> Self {
        Self { assignment_epoch: 0, assignment_timestamp: 0, unknown_tags: RawTags::default() }
    }
}

impl ConsumerGroupTargetAssignmentMetadataValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let assignment_epoch = r.i32()?;
        let mut assignment_timestamp = 0;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        assignment_timestamp = r.i64()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self { assignment_epoch, assignment_timestamp, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.assignment_epoch);
        let mut count = self.unknown_tags.len();
        let tag_0 = self.assignment_timestamp != 0;
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.i64(self.assignment_timestamp);
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ConsumerGroupTargetAssignmentMetadataValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("assignmentEpoch".into(), {
            let v = &self.assignment_epoch;
            (*v).into()
        });
        if self.assignment_timestamp != 0 {
            o.insert("assignmentTimestamp".into(), {
                let v = &self.assignment_timestamp;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ConsumerGroupTargetAssignmentMetadataValue {
    const NAME: &'static str = "ConsumerGroupTargetAssignmentMetadataValue";
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
impl crate::json::ToJson for ConsumerGroupTargetAssignmentMetadataValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ConsumerGroupTargetAssignmentMetadataValue {
    /// Number of this record type.
    pub const KEY: i16 = 6;
}
