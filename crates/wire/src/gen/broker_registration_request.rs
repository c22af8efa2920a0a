//! BrokerRegistrationRequest, versions 0 to 4.

use super::prelude::*;

/// `BrokerRegistrationRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct BrokerRegistrationRequest {
    pub broker_id: i32,
    pub cluster_id: String,
    pub incarnation_id: Uuid,
    pub listeners: Vec<Listener>,
    pub features: Vec<Feature>,
    pub rack: Option<String>,
    pub is_migrating_zk_broker: bool,
    pub log_dirs: Vec<Uuid>,
    pub previous_broker_epoch: i64,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for BrokerRegistrationRequest {
    fn default() -> Self {
        Self {
            broker_id: 0,
            cluster_id: String::new(),
            incarnation_id: Default::default(),
            listeners: Default::default(),
            features: Default::default(),
            rack: Some(String::new()),
            is_migrating_zk_broker: false,
            log_dirs: Default::default(),
            previous_broker_epoch: -1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl BrokerRegistrationRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let broker_id = r.i32()?;
        let cluster_id = r.string(true)?;
        let incarnation_id = r.uuid()?;
        let listeners = r.vec(true, |r| Listener::read(r, version))?;
        let features = r.vec(true, |r| Feature::read(r, version))?;
        let rack = r.nullable_string(true)?;
        let is_migrating_zk_broker = if version >= 1 { r.bool()? } else { false };
        let log_dirs = if version >= 2 { r.vec(true, |r| r.uuid())? } else { Default::default() };
        let previous_broker_epoch = if version >= 3 { r.i64()? } else { -1 };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            broker_id,
            cluster_id,
            incarnation_id,
            listeners,
            features,
            rack,
            is_migrating_zk_broker,
            log_dirs,
            previous_broker_epoch,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.broker_id);
        w.string(true, &self.cluster_id)?;
        w.uuid(self.incarnation_id);
        w.array(true, Some(&self.listeners[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.features[..]), |w, v| v.write(w, version))?;
        w.nullable_string(true, self.rack.as_deref())?;
        if version >= 1 {
            w.bool(self.is_migrating_zk_broker);
        } else {
            if self.is_migrating_zk_broker {
                return Err(EncodeError::NotInVersion {
                    message: "BrokerRegistrationRequest",
                    field: "IsMigratingZkBroker",
                    version,
                });
            }
        }
        if version >= 2 {
            w.array(true, Some(&self.log_dirs[..]), |w, v| {
                w.uuid(*v);
                Ok(())
            })?;
        }
        if version >= 3 {
            w.i64(self.previous_broker_epoch);
        }
        w.unknown_tags(true, &self.unknown_tags, "BrokerRegistrationRequest", version)
    }
}

#[cfg(feature = "json")]
impl BrokerRegistrationRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("brokerId".into(), {
            let v = &self.broker_id;
            (*v).into()
        });
        o.insert("clusterId".into(), {
            let v = &self.cluster_id;
            v.as_str().into()
        });
        o.insert("incarnationId".into(), {
            let v = &self.incarnation_id;
            v.to_string().into()
        });
        o.insert("listeners".into(), {
            let v = &self.listeners;
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
        if version >= 1 {
            o.insert("isMigratingZkBroker".into(), {
                let v = &self.is_migrating_zk_broker;
                (*v).into()
            });
        }
        if version >= 2 {
            o.insert("logDirs".into(), {
                let v = &self.log_dirs;
                serde_json::Value::Array(v.iter().map(|v| v.to_string().into()).collect())
            });
        }
        if version >= 3 {
            o.insert("previousBrokerEpoch".into(), {
                let v = &self.previous_broker_epoch;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `Listener`, part of BrokerRegistrationRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Listener {
    pub name: String,
    pub host: String,
    pub port: u16,
    pub security_protocol: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Listener {
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

impl Listener {
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
        w.unknown_tags(true, &self.unknown_tags, "Listener", version)
    }
}

#[cfg(feature = "json")]
impl Listener {
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

/// `Feature`, part of BrokerRegistrationRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Feature {
    pub name: String,
    pub min_supported_version: i16,
    pub max_supported_version: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Feature {
    fn default() -> Self {
        Self {
            name: String::new(),
            min_supported_version: 0,
            max_supported_version: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl Feature {
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
        w.unknown_tags(true, &self.unknown_tags, "Feature", version)
    }
}

#[cfg(feature = "json")]
impl Feature {
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

impl Message for BrokerRegistrationRequest {
    const NAME: &'static str = "BrokerRegistrationRequest";
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

#[cfg(feature = "json")]
impl crate::json::ToJson for BrokerRegistrationRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for BrokerRegistrationRequest {
    const API_KEY: ApiKey = ApiKey(62);
    type Response = super::broker_registration_response::BrokerRegistrationResponse;
}
