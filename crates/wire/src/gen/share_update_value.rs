//! ShareUpdateValue, versions 0 to 0.

use super::prelude::*;

/// `ShareUpdateValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareUpdateValue {
    pub snapshot_epoch: i32,
    pub leader_epoch: i32,
    pub start_offset: i64,
    pub delivery_complete_count: i32,
    pub state_batches: Vec<StateBatch>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareUpdateValue {
    fn default() -> Self {
        Self {
            snapshot_epoch: 0,
            leader_epoch: 0,
            start_offset: 0,
            delivery_complete_count: -1,
            state_batches: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ShareUpdateValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let snapshot_epoch = r.i32()?;
        let leader_epoch = r.i32()?;
        let start_offset = r.i64()?;
        let state_batches = r.vec(true, |r| StateBatch::read(r, version))?;
        let mut delivery_complete_count = -1;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        delivery_complete_count = r.i32()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            snapshot_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count,
            state_batches,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 16];
        b[0..4].copy_from_slice(&self.snapshot_epoch.to_be_bytes());
        b[4..8].copy_from_slice(&self.leader_epoch.to_be_bytes());
        b[8..16].copy_from_slice(&self.start_offset.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.state_batches[..]), |w, v| v.write(w, version))?;
        let mut count = self.unknown_tags.len();
        let tag_0 = self.delivery_complete_count != -1;
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.i32(self.delivery_complete_count);
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ShareUpdateValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("snapshotEpoch".into(), {
            let v = &self.snapshot_epoch;
            (*v).into()
        });
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        o.insert("startOffset".into(), {
            let v = &self.start_offset;
            (*v).into()
        });
        if self.delivery_complete_count != -1 {
            o.insert("deliveryCompleteCount".into(), {
                let v = &self.delivery_complete_count;
                (*v).into()
            });
        }
        o.insert("stateBatches".into(), {
            let v = &self.state_batches;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `StateBatch`, part of ShareUpdateValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StateBatch {
    pub first_offset: i64,
    pub last_offset: i64,
    pub delivery_state: i8,
    pub delivery_count: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StateBatch {
    fn default() -> Self {
        Self {
            first_offset: 0,
            last_offset: 0,
            delivery_state: 0,
            delivery_count: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl StateBatch {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let first_offset = r.i64()?;
        let last_offset = r.i64()?;
        let delivery_state = r.i8()?;
        let delivery_count = r.i16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { first_offset, last_offset, delivery_state, delivery_count, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 19];
        b[0..8].copy_from_slice(&self.first_offset.to_be_bytes());
        b[8..16].copy_from_slice(&self.last_offset.to_be_bytes());
        b[16..17].copy_from_slice(&self.delivery_state.to_be_bytes());
        b[17..19].copy_from_slice(&self.delivery_count.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "StateBatch", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl StateBatch {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("firstOffset".into(), {
            let v = &self.first_offset;
            (*v).into()
        });
        o.insert("lastOffset".into(), {
            let v = &self.last_offset;
            (*v).into()
        });
        o.insert("deliveryState".into(), {
            let v = &self.delivery_state;
            (*v).into()
        });
        o.insert("deliveryCount".into(), {
            let v = &self.delivery_count;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ShareUpdateValue {
    const NAME: &'static str = "ShareUpdateValue";
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
impl crate::json::ToJson for ShareUpdateValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl ShareUpdateValue {
    /// Number of this record type.
    pub const KEY: i16 = 1;
}
