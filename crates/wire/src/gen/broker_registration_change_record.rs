//! BrokerRegistrationChangeRecord, versions 0 to 3.

use super::prelude::*;

/// `BrokerRegistrationChangeRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BrokerRegistrationChangeRecord {
    pub broker_id: i32,
    pub broker_epoch: i64,
    pub fenced: i8,
    pub in_controlled_shutdown: i8,
    pub log_dirs: Vec<Uuid>,
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BrokerRegistrationChangeRecord {
    fn default() -> Self {
        Self {
            broker_id: 0,
            broker_epoch: 0,
            fenced: 0,
            in_controlled_shutdown: 0,
            log_dirs: Default::default(),
            cordoned_log_dirs: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl BrokerRegistrationChangeRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let broker_id = r.i32()?;
        let broker_epoch = r.i64()?;
        let mut fenced = 0;
        let mut in_controlled_shutdown = 0;
        let mut log_dirs = Default::default();
        let mut cordoned_log_dirs = None;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        fenced = r.i8()?;
                    }
                    1 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        in_controlled_shutdown = r.i8()?;
                    }
                    2 => {
                        if !(version >= 2) {
                            return Err(DecodeError::TagNotInVersion { tag: 2, version });
                        }
                        log_dirs = r.vec(true, |r| r.uuid())?;
                    }
                    3 => {
                        if !(version >= 3) {
                            return Err(DecodeError::TagNotInVersion { tag: 3, version });
                        }
                        cordoned_log_dirs = r.nullable_vec(true, |r| r.uuid())?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            broker_id,
            broker_epoch,
            fenced,
            in_controlled_shutdown,
            log_dirs,
            cordoned_log_dirs,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 12];
        b[0..4].copy_from_slice(&self.broker_id.to_be_bytes());
        b[4..12].copy_from_slice(&self.broker_epoch.to_be_bytes());
        w.raw(&b);
        let mut count = self.unknown_tags.len();
        let tag_0 = self.fenced != 0;
        count += usize::from(tag_0);
        let tag_1 = version >= 1 && self.in_controlled_shutdown != 0;
        count += usize::from(tag_1);
        let tag_2 = version >= 2 && !self.log_dirs.is_empty();
        count += usize::from(tag_2);
        let tag_3 = version >= 3 && self.cordoned_log_dirs.is_some();
        count += usize::from(tag_3);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.i8(self.fenced);
                w.end_tag(at);
            }
            w.raw_tags_below(Some(1), &mut raw)?;
            if tag_1 {
                let at = w.begin_tag(1);
                w.i8(self.in_controlled_shutdown);
                w.end_tag(at);
            }
            w.raw_tags_below(Some(2), &mut raw)?;
            if tag_2 {
                let at = w.begin_tag(2);
                w.array(true, Some(&self.log_dirs[..]), |w, v| {
                    w.uuid(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(3), &mut raw)?;
            if tag_3 {
                let at = w.begin_tag(3);
                w.array(true, self.cordoned_log_dirs.as_deref(), |w, v| {
                    w.uuid(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        if !(version >= 1) {
            if self.in_controlled_shutdown != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "BrokerRegistrationChangeRecord",
                    field: "InControlledShutdown",
                    version,
                });
            }
        }
        if !(version >= 2) {
            if !self.log_dirs.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "BrokerRegistrationChangeRecord",
                    field: "LogDirs",
                    version,
                });
            }
        }
        if !(version >= 3) {
            if self.cordoned_log_dirs.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "BrokerRegistrationChangeRecord",
                    field: "CordonedLogDirs",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl BrokerRegistrationChangeRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("brokerId".into(), {
            let v = &self.broker_id;
            (*v).into()
        });
        o.insert("brokerEpoch".into(), {
            let v = &self.broker_epoch;
            (*v).into()
        });
        if self.fenced != 0 {
            o.insert("fenced".into(), {
                let v = &self.fenced;
                (*v).into()
            });
        }
        if version >= 1 {
            if self.in_controlled_shutdown != 0 {
                o.insert("inControlledShutdown".into(), {
                    let v = &self.in_controlled_shutdown;
                    (*v).into()
                });
            }
        }
        if version >= 2 {
            if !self.log_dirs.is_empty() {
                o.insert("logDirs".into(), {
                    let v = &self.log_dirs;
                    serde_json::Value::Array(v.iter().map(|v| v.to_string().into()).collect())
                });
            }
        }
        if version >= 3 {
            if self.cordoned_log_dirs.is_some() {
                o.insert(
                    "cordonedLogDirs".into(),
                    match &self.cordoned_log_dirs {
                        Some(v) => serde_json::Value::Array(
                            v.iter().map(|v| v.to_string().into()).collect(),
                        ),
                        None => serde_json::Value::Null,
                    },
                );
            }
        }
        serde_json::Value::Object(o)
    }
}

impl Message for BrokerRegistrationChangeRecord {
    const NAME: &'static str = "BrokerRegistrationChangeRecord";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 3;
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
impl crate::json::ToJson for BrokerRegistrationChangeRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl BrokerRegistrationChangeRecord {
    /// Number of this record type.
    pub const KEY: i16 = 17;
}
