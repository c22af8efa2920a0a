//! StreamsGroupMetadataValue, versions 0 to 0.

use super::prelude::*;

/// `StreamsGroupMetadataValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupMetadataValue {
    pub epoch: i32,
    pub metadata_hash: i64,
    pub validated_topology_epoch: i32,
    pub last_assignment_configs: Option<Vec<LastAssignmentConfig>>,
    pub stored_description_topology_epoch: i32,
    pub failed_description_topology_epoch: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupMetadataValue {
    fn default() -> Self {
        Self {
            epoch: 0,
            metadata_hash: 0,
            validated_topology_epoch: -1,
            last_assignment_configs: Some(Default::default()),
            stored_description_topology_epoch: -1,
            failed_description_topology_epoch: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl StreamsGroupMetadataValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let epoch = r.i32()?;
        let metadata_hash = r.i64()?;
        let mut validated_topology_epoch = -1;
        let mut last_assignment_configs = Some(Default::default());
        let mut stored_description_topology_epoch = -1;
        let mut failed_description_topology_epoch = -1;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        validated_topology_epoch = r.i32()?;
                    }
                    1 => {
                        last_assignment_configs =
                            r.nullable_vec(true, |r| LastAssignmentConfig::read(r, version))?;
                    }
                    2 => {
                        stored_description_topology_epoch = r.i32()?;
                    }
                    3 => {
                        failed_description_topology_epoch = r.i32()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            epoch,
            metadata_hash,
            validated_topology_epoch,
            last_assignment_configs,
            stored_description_topology_epoch,
            failed_description_topology_epoch,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.epoch.to_be_bytes());
        b[4..12].copy_from_slice(&self.metadata_hash.to_be_bytes());
        w.raw(&b);
        let mut count = self.unknown_tags.len();
        let tag_0 = self.validated_topology_epoch != -1;
        count += usize::from(tag_0);
        let tag_1 = !self.last_assignment_configs.as_ref().is_some_and(|v| v.is_empty());
        count += usize::from(tag_1);
        let tag_2 = self.stored_description_topology_epoch != -1;
        count += usize::from(tag_2);
        let tag_3 = self.failed_description_topology_epoch != -1;
        count += usize::from(tag_3);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.i32(self.validated_topology_epoch);
                w.end_tag(at);
            }
            w.raw_tags_below(Some(1), &mut raw)?;
            if tag_1 {
                let at = w.begin_tag(1);
                w.array(true, self.last_assignment_configs.as_deref(), |w, v| v.write(w, version))?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(2), &mut raw)?;
            if tag_2 {
                let at = w.begin_tag(2);
                w.i32(self.stored_description_topology_epoch);
                w.end_tag(at);
            }
            w.raw_tags_below(Some(3), &mut raw)?;
            if tag_3 {
                let at = w.begin_tag(3);
                w.i32(self.failed_description_topology_epoch);
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl StreamsGroupMetadataValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("epoch".into(), {
            let v = &self.epoch;
            (*v).into()
        });
        o.insert("metadataHash".into(), {
            let v = &self.metadata_hash;
            (*v).into()
        });
        if self.validated_topology_epoch != -1 {
            o.insert("validatedTopologyEpoch".into(), {
                let v = &self.validated_topology_epoch;
                (*v).into()
            });
        }
        if !self.last_assignment_configs.as_ref().is_some_and(|v| v.is_empty()) {
            o.insert(
                "lastAssignmentConfigs".into(),
                match &self.last_assignment_configs {
                    Some(v) => {
                        serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
                    }
                    None => serde_json::Value::Null,
                },
            );
        }
        if self.stored_description_topology_epoch != -1 {
            o.insert("storedDescriptionTopologyEpoch".into(), {
                let v = &self.stored_description_topology_epoch;
                (*v).into()
            });
        }
        if self.failed_description_topology_epoch != -1 {
            o.insert("failedDescriptionTopologyEpoch".into(), {
                let v = &self.failed_description_topology_epoch;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `LastAssignmentConfig`, part of StreamsGroupMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LastAssignmentConfig {
    pub key: String,
    pub value: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for LastAssignmentConfig {
    fn default() -> Self {
        Self { key: String::new(), value: String::new(), unknown_tags: RawTags::default() }
    }
}

impl LastAssignmentConfig {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let key = r.string(true)?;
        let value = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { key, value, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.key)?;
        w.string(true, &self.value)?;
        w.unknown_tags(true, &self.unknown_tags, "LastAssignmentConfig", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl LastAssignmentConfig {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("key".into(), {
            let v = &self.key;
            v.as_str().into()
        });
        o.insert("value".into(), {
            let v = &self.value;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for StreamsGroupMetadataValue {
    const NAME: &'static str = "StreamsGroupMetadataValue";
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
impl crate::json::ToJson for StreamsGroupMetadataValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl StreamsGroupMetadataValue {
    /// Number of this record type.
    pub const KEY: i16 = 17;
}
