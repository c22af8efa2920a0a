//! OffsetCommitValue, versions 0 to 4.

use super::prelude::*;

/// `OffsetCommitValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct OffsetCommitValue {
    pub offset: i64,
    pub leader_epoch: i32,
    pub metadata: String,
    pub commit_timestamp: i64,
    pub expire_timestamp: i64,
    pub topic_id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for OffsetCommitValue {
    fn default() -> Self {
        Self {
            offset: 0,
            leader_epoch: -1,
            metadata: String::new(),
            commit_timestamp: 0,
            expire_timestamp: -1,
            topic_id: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl OffsetCommitValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 4;
        let offset = r.i64()?;
        let leader_epoch = if version >= 3 { r.i32()? } else { -1 };
        let metadata = r.string(flex)?;
        let commit_timestamp = r.i64()?;
        let expire_timestamp = if version == 1 { r.i64()? } else { -1 };
        let mut topic_id = Default::default();
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 4) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        topic_id = r.uuid()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            offset,
            leader_epoch,
            metadata,
            commit_timestamp,
            expire_timestamp,
            topic_id,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 4;
        if version >= 3 {
            let mut b = [0; 12];
            b[0..8].copy_from_slice(&self.offset.to_be_bytes());
            b[8..12].copy_from_slice(&self.leader_epoch.to_be_bytes());
            w.raw(&b);
        } else {
            w.i64(self.offset);
        }
        w.string(flex, &self.metadata)?;
        if version == 1 {
            let mut b = [0; 16];
            b[0..8].copy_from_slice(&self.commit_timestamp.to_be_bytes());
            b[8..16].copy_from_slice(&self.expire_timestamp.to_be_bytes());
            w.raw(&b);
        } else {
            w.i64(self.commit_timestamp);
        }
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 4 && !self.topic_id.is_zero();
            count += usize::from(tag_0);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.uuid(self.topic_id);
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "OffsetCommitValue",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl OffsetCommitValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("offset".into(), {
            let v = &self.offset;
            (*v).into()
        });
        if version >= 3 {
            o.insert("leaderEpoch".into(), {
                let v = &self.leader_epoch;
                (*v).into()
            });
        }
        o.insert("metadata".into(), {
            let v = &self.metadata;
            v.as_str().into()
        });
        o.insert("commitTimestamp".into(), {
            let v = &self.commit_timestamp;
            (*v).into()
        });
        if version == 1 {
            o.insert("expireTimestamp".into(), {
                let v = &self.expire_timestamp;
                (*v).into()
            });
        }
        if version >= 4 {
            if !self.topic_id.is_zero() {
                o.insert("topicId".into(), {
                    let v = &self.topic_id;
                    v.to_string().into()
                });
            }
        }
        serde_json::Value::Object(o)
    }
}

impl Message for OffsetCommitValue {
    const NAME: &'static str = "OffsetCommitValue";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 4;
    const FLEXIBLE_FROM: i16 = 4;
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
impl crate::json::ToJson for OffsetCommitValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl OffsetCommitValue {
    /// Number of this record type.
    pub const KEY: i16 = 1;
}
