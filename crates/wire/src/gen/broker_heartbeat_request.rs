//! BrokerHeartbeatRequest, versions 0 to 2.

use super::prelude::*;

/// `BrokerHeartbeatRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BrokerHeartbeatRequest {
    pub broker_id: i32,
    pub broker_epoch: i64,
    pub current_metadata_offset: i64,
    pub want_fence: bool,
    pub want_shut_down: bool,
    pub offline_log_dirs: Vec<Uuid>,
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BrokerHeartbeatRequest {
    fn default() -> Self {
        Self {
            broker_id: 0,
            broker_epoch: -1,
            current_metadata_offset: 0,
            want_fence: false,
            want_shut_down: false,
            offline_log_dirs: Default::default(),
            cordoned_log_dirs: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl BrokerHeartbeatRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let broker_id = r.i32()?;
        let broker_epoch = r.i64()?;
        let current_metadata_offset = r.i64()?;
        let want_fence = r.bool()?;
        let want_shut_down = r.bool()?;
        let mut offline_log_dirs = Default::default();
        let mut cordoned_log_dirs = None;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 1) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        offline_log_dirs = r.vec(true, |r| r.uuid())?;
                    }
                    1 => {
                        if !(version >= 2) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
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
            current_metadata_offset,
            want_fence,
            want_shut_down,
            offline_log_dirs,
            cordoned_log_dirs,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 22];
        b[0..4].copy_from_slice(&self.broker_id.to_be_bytes());
        b[4..12].copy_from_slice(&self.broker_epoch.to_be_bytes());
        b[12..20].copy_from_slice(&self.current_metadata_offset.to_be_bytes());
        b[20..21].copy_from_slice(&[u8::from(self.want_fence)]);
        b[21..22].copy_from_slice(&[u8::from(self.want_shut_down)]);
        w.raw(&b);
        let mut count = self.unknown_tags.len();
        let tag_0 = version >= 1 && !self.offline_log_dirs.is_empty();
        count += usize::from(tag_0);
        let tag_1 = version >= 2 && self.cordoned_log_dirs.is_some();
        count += usize::from(tag_1);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.array(true, Some(&self.offline_log_dirs[..]), |w, v| {
                    w.uuid(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(Some(1), &mut raw)?;
            if tag_1 {
                let at = w.begin_tag(1);
                w.array(true, self.cordoned_log_dirs.as_deref(), |w, v| {
                    w.uuid(*v);
                    Ok(())
                })?;
                w.end_tag(at);
            }
            w.raw_tags_below(None, &mut raw)?;
        }

        if !(version >= 1) {
            if !self.offline_log_dirs.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "BrokerHeartbeatRequest",
                    field: "OfflineLogDirs",
                    version,
                });
            }
        }
        if !(version >= 2) {
            if self.cordoned_log_dirs.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "BrokerHeartbeatRequest",
                    field: "CordonedLogDirs",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl BrokerHeartbeatRequest {
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
        o.insert("currentMetadataOffset".into(), {
            let v = &self.current_metadata_offset;
            (*v).into()
        });
        o.insert("wantFence".into(), {
            let v = &self.want_fence;
            (*v).into()
        });
        o.insert("wantShutDown".into(), {
            let v = &self.want_shut_down;
            (*v).into()
        });
        if version >= 1 {
            if !self.offline_log_dirs.is_empty() {
                o.insert("offlineLogDirs".into(), {
                    let v = &self.offline_log_dirs;
                    serde_json::Value::Array(v.iter().map(|v| v.to_string().into()).collect())
                });
            }
        }
        if version >= 2 {
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

impl Message for BrokerHeartbeatRequest {
    const NAME: &'static str = "BrokerHeartbeatRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
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

#[cfg(feature = "json")]
impl crate::json::ToJson for BrokerHeartbeatRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for BrokerHeartbeatRequest {
    const API_KEY: ApiKey = ApiKey(63);
    type Response = super::broker_heartbeat_response::BrokerHeartbeatResponse;
}
