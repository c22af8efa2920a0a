//! RegisterBrokerRecord, versions 0 to 4.

use super::prelude::*;

/// `RegisterBrokerRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RegisterBrokerRecord {
    pub broker_id: i32,
    pub is_migrating_zk_broker: bool,
    pub incarnation_id: Uuid,
    pub broker_epoch: i64,
    pub end_points: Vec<BrokerEndpoint>,
    pub features: Vec<BrokerFeature>,
    pub rack: Option<String>,
    pub fenced: bool,
    pub in_controlled_shutdown: bool,
    pub log_dirs: Vec<Uuid>,
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RegisterBrokerRecord {
    fn default() -> Self {
        Self {
            broker_id: 0,
            is_migrating_zk_broker: false,
            incarnation_id: Default::default(),
            broker_epoch: 0,
            end_points: Default::default(),
            features: Default::default(),
            rack: Some(String::new()),
            fenced: true,
            in_controlled_shutdown: false,
            log_dirs: Default::default(),
            cordoned_log_dirs: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl RegisterBrokerRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let broker_id = r.i32()?;
        let is_migrating_zk_broker = if version >= 2 { r.bool()? } else { false };
        let incarnation_id = r.uuid()?;
        let broker_epoch = r.i64()?;
        let end_points = r.vec(true, |r| BrokerEndpoint::read(r, version))?;
        let features = r.vec(true, |r| BrokerFeature::read(r, version))?;
        let rack = r.nullable_string(true)?;
        let fenced = r.bool()?;
        let in_controlled_shutdown = if version >= 1 { r.bool()? } else { false };
        let mut log_dirs = Default::default();
        let mut cordoned_log_dirs = None;
        let mut unknown_tags = RawTags::default();
        {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 3) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        log_dirs = r.vec(true, |r| r.uuid())?;
                    }
                    1 => {
                        if !(version >= 4) {
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
            is_migrating_zk_broker,
            incarnation_id,
            broker_epoch,
            end_points,
            features,
            rack,
            fenced,
            in_controlled_shutdown,
            log_dirs,
            cordoned_log_dirs,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        if version >= 2 {
            let mut b = [0; 5];
            b[0..4].copy_from_slice(&self.broker_id.to_be_bytes());
            b[4..5].copy_from_slice(&[u8::from(self.is_migrating_zk_broker)]);
            w.raw(&b);
        } else {
            w.i32(self.broker_id);
            if self.is_migrating_zk_broker {
                return Err(EncodeError::NotInVersion {
                    message: "RegisterBrokerRecord",
                    field: "IsMigratingZkBroker",
                    version,
                });
            }
        }
        let mut b = [0; 24];
        b[0..16].copy_from_slice(&self.incarnation_id.0);
        b[16..24].copy_from_slice(&self.broker_epoch.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.end_points[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.features[..]), |w, v| v.write(w, version))?;
        w.nullable_string(true, self.rack.as_deref())?;
        if version >= 1 {
            let mut b = [0; 2];
            b[0..1].copy_from_slice(&[u8::from(self.fenced)]);
            b[1..2].copy_from_slice(&[u8::from(self.in_controlled_shutdown)]);
            w.raw(&b);
        } else {
            w.bool(self.fenced);
            if self.in_controlled_shutdown {
                return Err(EncodeError::NotInVersion {
                    message: "RegisterBrokerRecord",
                    field: "InControlledShutdown",
                    version,
                });
            }
        }
        let mut count = self.unknown_tags.len();
        let tag_0 = version >= 3 && !self.log_dirs.is_empty();
        count += usize::from(tag_0);
        let tag_1 = version >= 4 && self.cordoned_log_dirs.is_some();
        count += usize::from(tag_1);
        w.uvarint(count as u32);
        if count > 0 {
            let mut raw = self.unknown_tags.as_slice();
            w.raw_tags_below(Some(0), &mut raw)?;
            if tag_0 {
                let at = w.begin_tag(0);
                w.array(true, Some(&self.log_dirs[..]), |w, v| {
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

        if !(version >= 3) {
            if !self.log_dirs.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "RegisterBrokerRecord",
                    field: "LogDirs",
                    version,
                });
            }
        }
        if !(version >= 4) {
            if self.cordoned_log_dirs.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "RegisterBrokerRecord",
                    field: "CordonedLogDirs",
                    version,
                });
            }
        }
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl RegisterBrokerRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("brokerId".into(), {
            let v = &self.broker_id;
            (*v).into()
        });
        if version >= 2 {
            o.insert("isMigratingZkBroker".into(), {
                let v = &self.is_migrating_zk_broker;
                (*v).into()
            });
        }
        o.insert("incarnationId".into(), {
            let v = &self.incarnation_id;
            v.to_string().into()
        });
        o.insert("brokerEpoch".into(), {
            let v = &self.broker_epoch;
            (*v).into()
        });
        o.insert("endPoints".into(), {
            let v = &self.end_points;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("features".into(), {
            let v = &self.features;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert(
            "rack".into(),
            match &self.rack {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("fenced".into(), {
            let v = &self.fenced;
            (*v).into()
        });
        if version >= 1 {
            o.insert("inControlledShutdown".into(), {
                let v = &self.in_controlled_shutdown;
                (*v).into()
            });
        }
        if version >= 3 {
            if !self.log_dirs.is_empty() {
                o.insert("logDirs".into(), {
                    let v = &self.log_dirs;
                    serde_json::Value::Array(v.iter().map(|v| v.to_string().into()).collect())
                });
            }
        }
        if version >= 4 {
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

/// `BrokerEndpoint`, part of RegisterBrokerRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BrokerEndpoint {
    pub name: String,
    pub host: String,
    pub port: u16,
    pub security_protocol: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BrokerEndpoint {
    fn default() -> Self {
        Self {
            name: String::new(),
            host: String::new(),
            port: 0,
            security_protocol: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl BrokerEndpoint {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let host = r.string(true)?;
        let port = r.u16()?;
        let security_protocol = r.i16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, host, port, security_protocol, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.string(true, &self.host)?;
        let mut b = [0; 4];
        b[0..2].copy_from_slice(&self.port.to_be_bytes());
        b[2..4].copy_from_slice(&self.security_protocol.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "BrokerEndpoint", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl BrokerEndpoint {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("host".into(), {
            let v = &self.host;
            v.as_str().into()
        });
        o.insert("port".into(), {
            let v = &self.port;
            (*v).into()
        });
        o.insert("securityProtocol".into(), {
            let v = &self.security_protocol;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `BrokerFeature`, part of RegisterBrokerRecord.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BrokerFeature {
    pub name: String,
    pub min_supported_version: i16,
    pub max_supported_version: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BrokerFeature {
    fn default() -> Self {
        Self {
            name: String::new(),
            min_supported_version: 0,
            max_supported_version: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl BrokerFeature {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let min_supported_version = r.i16()?;
        let max_supported_version = r.i16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, min_supported_version, max_supported_version, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        let mut b = [0; 4];
        b[0..2].copy_from_slice(&self.min_supported_version.to_be_bytes());
        b[2..4].copy_from_slice(&self.max_supported_version.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "BrokerFeature", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl BrokerFeature {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("minSupportedVersion".into(), {
            let v = &self.min_supported_version;
            (*v).into()
        });
        o.insert("maxSupportedVersion".into(), {
            let v = &self.max_supported_version;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for RegisterBrokerRecord {
    const NAME: &'static str = "RegisterBrokerRecord";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 4;
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
impl crate::json::ToJson for RegisterBrokerRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl RegisterBrokerRecord {
    /// Number of this record type.
    pub const KEY: i16 = 0;
}
