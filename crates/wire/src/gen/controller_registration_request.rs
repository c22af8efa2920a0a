//! ControllerRegistrationRequest, versions 0 to 0.

use super::prelude::*;

/// `ControllerRegistrationRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ControllerRegistrationRequest {
    pub controller_id: i32,
    pub incarnation_id: Uuid,
    pub zk_migration_ready: bool,
    pub listeners: Vec<Listener>,
    pub features: Vec<Feature>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ControllerRegistrationRequest {
    fn default() -> Self {
        Self {
            controller_id: 0,
            incarnation_id: Default::default(),
            zk_migration_ready: false,
            listeners: Default::default(),
            features: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ControllerRegistrationRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let controller_id = r.i32()?;
        let incarnation_id = r.uuid()?;
        let zk_migration_ready = r.bool()?;
        let listeners = r.vec(true, |r| Listener::read(r, version))?;
        let features = r.vec(true, |r| Feature::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            controller_id,
            incarnation_id,
            zk_migration_ready,
            listeners,
            features,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 21];
        b[0..4].copy_from_slice(&self.controller_id.to_be_bytes());
        b[4..20].copy_from_slice(&self.incarnation_id.0);
        b[20..21].copy_from_slice(&[u8::from(self.zk_migration_ready)]);
        w.raw(&b);
        w.array(true, Some(&self.listeners[..]), |w, v| v.write(w, version))?;
        w.array(true, Some(&self.features[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "ControllerRegistrationRequest", version)
    }
}

#[cfg(feature = "json")]
impl ControllerRegistrationRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("controllerId".into(), {
            let v = &self.controller_id;
            (*v).into()
        });
        o.insert("incarnationId".into(), {
            let v = &self.incarnation_id;
            v.to_string().into()
        });
        o.insert("zkMigrationReady".into(), {
            let v = &self.zk_migration_ready;
            (*v).into()
        });
        o.insert("listeners".into(), {
            let v = &self.listeners;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("features".into(), {
            let v = &self.features;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `Listener`, part of ControllerRegistrationRequest.
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

/// `Feature`, part of ControllerRegistrationRequest.
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

impl Message for ControllerRegistrationRequest {
    const NAME: &'static str = "ControllerRegistrationRequest";
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

#[cfg(feature = "json")]
impl crate::json::ToJson for ControllerRegistrationRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ControllerRegistrationRequest {
    const API_KEY: ApiKey = ApiKey(70);
    type Response = super::controller_registration_response::ControllerRegistrationResponse;
}
