//! FindCoordinatorResponse, versions 0 to 6.

use super::prelude::*;

/// `FindCoordinatorResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FindCoordinatorResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub node_id: i32,
    pub host: String,
    pub port: i32,
    pub coordinators: Vec<Coordinator>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FindCoordinatorResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            node_id: 0,
            host: String::new(),
            port: 0,
            coordinators: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl FindCoordinatorResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let throttle_time_ms = if version >= 1 { r.i32()? } else { 0 };
        let error_code = if version <= 3 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let error_message =
            if (1..=3).contains(&version) { r.nullable_string(flex)? } else { Some(String::new()) };
        let node_id = if version <= 3 { r.i32()? } else { 0 };
        let host = if version <= 3 { r.string(flex)? } else { String::new() };
        let port = if version <= 3 { r.i32()? } else { 0 };
        let coordinators = if version >= 4 {
            r.vec(flex, |r| Coordinator::read(r, version))?
        } else {
            Default::default()
        };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self {
            throttle_time_ms,
            error_code,
            error_message,
            node_id,
            host,
            port,
            coordinators,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        if version <= 3 {
            w.i16(self.error_code.0);
        } else {
            if self.error_code != ErrorCode(0) {
                return Err(EncodeError::NotInVersion {
                    message: "FindCoordinatorResponse",
                    field: "ErrorCode",
                    version,
                });
            }
        }
        if (1..=3).contains(&version) {
            w.nullable_string(flex, self.error_message.as_deref())?;
        }
        if version <= 3 {
            w.i32(self.node_id);
        } else {
            if self.node_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "FindCoordinatorResponse",
                    field: "NodeId",
                    version,
                });
            }
        }
        if version <= 3 {
            w.string(flex, &self.host)?;
        } else {
            if !self.host.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FindCoordinatorResponse",
                    field: "Host",
                    version,
                });
            }
        }
        if version <= 3 {
            w.i32(self.port);
        } else {
            if self.port != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "FindCoordinatorResponse",
                    field: "Port",
                    version,
                });
            }
        }
        if version >= 4 {
            w.array(flex, Some(&self.coordinators[..]), |w, v| v.write(w, version))?;
        } else {
            if !self.coordinators.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FindCoordinatorResponse",
                    field: "Coordinators",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "FindCoordinatorResponse", version)
    }
}

#[cfg(feature = "json")]
impl FindCoordinatorResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 1 {
            o.insert("throttleTimeMs".into(), {
                let v = &self.throttle_time_ms;
                (*v).into()
            });
        }
        if version <= 3 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        if (1..=3).contains(&version) {
            o.insert(
                "errorMessage".into(),
                match &self.error_message {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        if version <= 3 {
            o.insert("nodeId".into(), {
                let v = &self.node_id;
                (*v).into()
            });
        }
        if version <= 3 {
            o.insert("host".into(), {
                let v = &self.host;
                v.as_str().into()
            });
        }
        if version <= 3 {
            o.insert("port".into(), {
                let v = &self.port;
                (*v).into()
            });
        }
        if version >= 4 {
            o.insert("coordinators".into(), {
                let v = &self.coordinators;
                serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `Coordinator`, part of FindCoordinatorResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Coordinator {
    pub key: String,
    pub node_id: i32,
    pub host: String,
    pub port: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Coordinator {
    fn default() -> Self {
        Self {
            key: String::new(),
            node_id: 0,
            host: String::new(),
            port: 0,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl Coordinator {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let key = if version >= 4 { r.string(flex)? } else { String::new() };
        let node_id = if version >= 4 { r.i32()? } else { 0 };
        let host = if version >= 4 { r.string(flex)? } else { String::new() };
        let port = if version >= 4 { r.i32()? } else { 0 };
        let error_code = if version >= 4 { ErrorCode(r.i16()?) } else { ErrorCode(0) };
        let error_message =
            if version >= 4 { r.nullable_string(flex)? } else { Some(String::new()) };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { key, node_id, host, port, error_code, error_message, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 4 {
            w.string(flex, &self.key)?;
        } else {
            if !self.key.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "Coordinator",
                    field: "Key",
                    version,
                });
            }
        }
        if version >= 4 {
            w.i32(self.node_id);
        } else {
            if self.node_id != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "Coordinator",
                    field: "NodeId",
                    version,
                });
            }
        }
        if version >= 4 {
            w.string(flex, &self.host)?;
        } else {
            if !self.host.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "Coordinator",
                    field: "Host",
                    version,
                });
            }
        }
        if version >= 4 {
            let mut b = [0; 6];
            b[0..4].copy_from_slice(&self.port.to_be_bytes());
            b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
            w.raw(&b);
        } else {
            if self.port != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "Coordinator",
                    field: "Port",
                    version,
                });
            }
            if self.error_code != ErrorCode(0) {
                return Err(EncodeError::NotInVersion {
                    message: "Coordinator",
                    field: "ErrorCode",
                    version,
                });
            }
        }
        if version >= 4 {
            w.nullable_string(flex, self.error_message.as_deref())?;
        }
        w.unknown_tags(flex, &self.unknown_tags, "Coordinator", version)
    }
}

#[cfg(feature = "json")]
impl Coordinator {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 4 {
            o.insert("key".into(), {
                let v = &self.key;
                v.as_str().into()
            });
        }
        if version >= 4 {
            o.insert("nodeId".into(), {
                let v = &self.node_id;
                (*v).into()
            });
        }
        if version >= 4 {
            o.insert("host".into(), {
                let v = &self.host;
                v.as_str().into()
            });
        }
        if version >= 4 {
            o.insert("port".into(), {
                let v = &self.port;
                (*v).into()
            });
        }
        if version >= 4 {
            o.insert("errorCode".into(), {
                let v = &self.error_code;
                v.0.into()
            });
        }
        if version >= 4 {
            o.insert(
                "errorMessage".into(),
                match &self.error_message {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

impl Message for FindCoordinatorResponse {
    const NAME: &'static str = "FindCoordinatorResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
    const FLEXIBLE_FROM: i16 = 3;
    fn decode(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        Self::check_version(version)?;
        Self::read(r, version)
    }
    fn encode(&self, w: &mut Writer, version: i16) -> Encoded {
        Self::check_written_version(version)?;
        self.write(w, version)
    }
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for FindCoordinatorResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
