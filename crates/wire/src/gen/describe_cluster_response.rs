//! DescribeClusterResponse, versions 0 to 2.

use super::prelude::*;

/// `DescribeClusterResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeClusterResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub endpoint_type: i8,
    pub cluster_id: String,
    pub controller_id: i32,
    pub brokers: Vec<DescribeClusterBroker>,
    pub cluster_authorized_operations: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeClusterResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            error_message: None,
            endpoint_type: 1,
            cluster_id: String::new(),
            controller_id: -1,
            brokers: Default::default(),
            cluster_authorized_operations: -2147483648,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeClusterResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let endpoint_type = if version >= 1 { r.i8()? } else { 1 };
        let cluster_id = r.string(true)?;
        let controller_id = r.i32()?;
        let brokers = r.vec(true, |r| DescribeClusterBroker::read(r, version))?;
        let cluster_authorized_operations = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            error_message,
            endpoint_type,
            cluster_id,
            controller_id,
            brokers,
            cluster_authorized_operations,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.error_message.as_deref())?;
        if version >= 1 {
            w.i8(self.endpoint_type);
        } else {
            if self.endpoint_type != 1 {
                return Err(EncodeError::NotInVersion {
                    message: "DescribeClusterResponse",
                    field: "EndpointType",
                    version,
                });
            }
        }
        w.string(true, &self.cluster_id)?;
        w.i32(self.controller_id);
        w.array(true, Some(&self.brokers[..]), |w, v| v.write(w, version))?;
        w.i32(self.cluster_authorized_operations);
        w.unknown_tags(true, &self.unknown_tags, "DescribeClusterResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeClusterResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        if version >= 1 {
            o.insert("endpointType".into(), {
                let v = &self.endpoint_type;
                (*v).into()
            });
        }
        o.insert("clusterId".into(), {
            let v = &self.cluster_id;
            v.as_str().into()
        });
        o.insert("controllerId".into(), {
            let v = &self.controller_id;
            (*v).into()
        });
        o.insert("brokers".into(), {
            let v = &self.brokers;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("clusterAuthorizedOperations".into(), {
            let v = &self.cluster_authorized_operations;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeClusterBroker`, part of DescribeClusterResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeClusterBroker {
    pub broker_id: i32,
    pub host: String,
    pub port: i32,
    pub rack: Option<String>,
    pub is_fenced: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeClusterBroker {
    fn default() -> Self {
        Self {
            broker_id: 0,
            host: String::new(),
            port: 0,
            rack: None,
            is_fenced: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeClusterBroker {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let broker_id = r.i32()?;
        let host = r.string(true)?;
        let port = r.i32()?;
        let rack = r.nullable_string(true)?;
        let is_fenced = if version >= 2 { r.bool()? } else { false };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { broker_id, host, port, rack, is_fenced, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.broker_id);
        w.string(true, &self.host)?;
        w.i32(self.port);
        w.nullable_string(true, self.rack.as_deref())?;
        if version >= 2 {
            w.bool(self.is_fenced);
        } else {
            if self.is_fenced {
                return Err(EncodeError::NotInVersion {
                    message: "DescribeClusterBroker",
                    field: "IsFenced",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "DescribeClusterBroker", version)
    }
}

#[cfg(feature = "json")]
impl DescribeClusterBroker {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("brokerId".into(), {
            let v = &self.broker_id;
            (*v).into()
        });
        o.insert("host".into(), {
            let v = &self.host;
            v.as_str().into()
        });
        o.insert("port".into(), {
            let v = &self.port;
            (*v).into()
        });
        o.insert(
            "rack".into(),
            match &self.rack {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        if version >= 2 {
            o.insert("isFenced".into(), {
                let v = &self.is_fenced;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeClusterResponse {
    const NAME: &'static str = "DescribeClusterResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for DescribeClusterResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
