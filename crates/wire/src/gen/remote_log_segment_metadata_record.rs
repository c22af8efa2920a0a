//! RemoteLogSegmentMetadataRecord, versions 0 to 0.

use super::prelude::*;

/// `RemoteLogSegmentMetadataRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemoteLogSegmentMetadataRecord {
    pub remote_log_segment_id: RemoteLogSegmentIdEntry,
    pub start_offset: i64,
    pub end_offset: i64,
    pub broker_id: i32,
    pub max_timestamp_ms: i64,
    pub event_timestamp_ms: i64,
    pub segment_leader_epochs: Vec<SegmentLeaderEpochEntry>,
    pub segment_size_in_bytes: i32,
    pub custom_metadata: Option<Bytes>,
    pub remote_log_segment_state: i8,
    pub txn_index_empty: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemoteLogSegmentMetadataRecord {
    fn default() -> Self {
        Self {
            remote_log_segment_id: Default::default(),
            start_offset: 0,
            end_offset: 0,
            broker_id: 0,
            max_timestamp_ms: 0,
            event_timestamp_ms: 0,
            segment_leader_epochs: Default::default(),
            segment_size_in_bytes: 0,
            custom_metadata: None,
            remote_log_segment_state: 0,
            txn_index_empty: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl RemoteLogSegmentMetadataRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let remote_log_segment_id = RemoteLogSegmentIdEntry::read(r, version)?;
        let start_offset = r.i64()?;
        let end_offset = r.i64()?;
        let broker_id = r.i32()?;
        let max_timestamp_ms = r.i64()?;
        let event_timestamp_ms = r.i64()?;
        let segment_leader_epochs = r.vec(true, |r| SegmentLeaderEpochEntry::read(r, version))?;
        let segment_size_in_bytes = r.i32()?;
        let custom_metadata = r.nullable_bytes(true)?;
        let remote_log_segment_state = r.i8()?;
        let mut txn_index_empty = false;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        txn_index_empty = r.bool()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            remote_log_segment_id,
            start_offset,
            end_offset,
            broker_id,
            max_timestamp_ms,
            event_timestamp_ms,
            segment_leader_epochs,
            segment_size_in_bytes,
            custom_metadata,
            remote_log_segment_state,
            txn_index_empty,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        self.remote_log_segment_id.write(w, version)?;
        let mut b = [0; 36];
        b[0..8].copy_from_slice(&self.start_offset.to_be_bytes());
        b[8..16].copy_from_slice(&self.end_offset.to_be_bytes());
        b[16..20].copy_from_slice(&self.broker_id.to_be_bytes());
        b[20..28].copy_from_slice(&self.max_timestamp_ms.to_be_bytes());
        b[28..36].copy_from_slice(&self.event_timestamp_ms.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.segment_leader_epochs[..]), |w, v| v.write(w, version))?;
        w.i32(self.segment_size_in_bytes);
        w.nullable_bytes(true, self.custom_metadata.as_deref())?;
        w.i8(self.remote_log_segment_state);
        let mut count = self.unknown_tags.len();
        let tag_0 = self.txn_index_empty;
        count += usize::from(tag_0);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.bool(self.txn_index_empty);
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RemoteLogSegmentMetadataRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("remoteLogSegmentId".into(), {
            let v = &self.remote_log_segment_id;
            v.json(version)
        });
        o.insert("startOffset".into(), {
            let v = &self.start_offset;
            (*v).into()
        });
        o.insert("endOffset".into(), {
            let v = &self.end_offset;
            (*v).into()
        });
        o.insert("brokerId".into(), {
            let v = &self.broker_id;
            (*v).into()
        });
        o.insert("maxTimestampMs".into(), {
            let v = &self.max_timestamp_ms;
            (*v).into()
        });
        o.insert("eventTimestampMs".into(), {
            let v = &self.event_timestamp_ms;
            (*v).into()
        });
        o.insert("segmentLeaderEpochs".into(), {
            let v = &self.segment_leader_epochs;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("segmentSizeInBytes".into(), {
            let v = &self.segment_size_in_bytes;
            (*v).into()
        });
        o.insert(
            "customMetadata".into(),
            match &self.custom_metadata {
                Some(v) => crate::json::base64(v).into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("remoteLogSegmentState".into(), {
            let v = &self.remote_log_segment_state;
            (*v).into()
        });
        if self.txn_index_empty {
            o.insert("txnIndexEmpty".into(), {
                let v = &self.txn_index_empty;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `RemoteLogSegmentIdEntry`, part of RemoteLogSegmentMetadataRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RemoteLogSegmentIdEntry {
    pub topic_id_partition: TopicIdPartitionEntry,
    pub id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RemoteLogSegmentIdEntry {
    fn default() -> Self {
        Self {
            topic_id_partition: Default::default(),
            id: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl RemoteLogSegmentIdEntry {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let topic_id_partition = TopicIdPartitionEntry::read(r, version)?;
        let id = r.uuid()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { topic_id_partition, id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        self.topic_id_partition.write(w, version)?;
        w.uuid(self.id);
        w.unknown_tags(true, &self.unknown_tags, "RemoteLogSegmentIdEntry", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RemoteLogSegmentIdEntry {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("topicIdPartition".into(), {
            let v = &self.topic_id_partition;
            v.json(version)
        });
        o.insert("id".into(), {
            let v = &self.id;
            v.to_string().into()
        });
        serde_json::Value::Object(o)
    }
}

/// `TopicIdPartitionEntry`, part of RemoteLogSegmentMetadataRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TopicIdPartitionEntry {
    pub name: String,
    pub id: Uuid,
    pub partition: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for TopicIdPartitionEntry {
    fn default() -> Self {
        Self {
            name: String::new(),
            id: Default::default(),
            partition: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl TopicIdPartitionEntry {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let id = r.uuid()?;
        let partition = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, id, partition, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        let mut b = [0; 20];
        b[0..16].copy_from_slice(&self.id.0);
        b[16..20].copy_from_slice(&self.partition.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "TopicIdPartitionEntry", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TopicIdPartitionEntry {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("id".into(), {
            let v = &self.id;
            v.to_string().into()
        });
        o.insert("partition".into(), {
            let v = &self.partition;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `SegmentLeaderEpochEntry`, part of RemoteLogSegmentMetadataRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SegmentLeaderEpochEntry {
    pub leader_epoch: i32,
    pub offset: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for SegmentLeaderEpochEntry {
    fn default() -> Self {
        Self { leader_epoch: 0, offset: 0, unknown_tags: RawTags::default() }
    }
}

impl SegmentLeaderEpochEntry {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let leader_epoch = r.i32()?;
        let offset = r.i64()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { leader_epoch, offset, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.leader_epoch.to_be_bytes());
        b[4..12].copy_from_slice(&self.offset.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "SegmentLeaderEpochEntry", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl SegmentLeaderEpochEntry {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("leaderEpoch".into(), {
            let v = &self.leader_epoch;
            (*v).into()
        });
        o.insert("offset".into(), {
            let v = &self.offset;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for RemoteLogSegmentMetadataRecord {
    const NAME: &'static str = "RemoteLogSegmentMetadataRecord";
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
impl crate::json::ToJson for RemoteLogSegmentMetadataRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl RemoteLogSegmentMetadataRecord {
    /// Number of this record type.
    pub const KEY: i16 = 0;
}
