//! StreamsGroupMemberMetadataValue, versions 0 to 0.

use super::prelude::*;

/// `StreamsGroupMemberMetadataValue`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StreamsGroupMemberMetadataValue {
    pub instance_id: Option<String>,
    pub rack_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    pub rebalance_timeout_ms: i32,
    pub topology_epoch: i32,
    pub process_id: String,
    pub user_endpoint: Option<Endpoint>,
    pub client_tags: Vec<KeyValue>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for StreamsGroupMemberMetadataValue {
    fn default() -> Self {
        Self {
            instance_id: Some(String::new()),
            rack_id: Some(String::new()),
            client_id: String::new(),
            client_host: String::new(),
            rebalance_timeout_ms: -1,
            topology_epoch: 0,
            process_id: String::new(),
            user_endpoint: None,
            client_tags: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl StreamsGroupMemberMetadataValue {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let instance_id = r.nullable_string(true)?;
        let rack_id = r.nullable_string(true)?;
        let client_id = r.string(true)?;
        let client_host = r.string(true)?;
        let rebalance_timeout_ms = r.i32()?;
        let topology_epoch = r.i32()?;
        let process_id = r.string(true)?;
        let user_endpoint = if r.i8()? >= 0 { Some(Endpoint::read(r, version)?) } else { None };
        let client_tags = r.vec(true, |r| KeyValue::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            instance_id,
            rack_id,
            client_id,
            client_host,
            rebalance_timeout_ms,
            topology_epoch,
            process_id,
            user_endpoint,
            client_tags,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.nullable_string(true, self.instance_id.as_deref())?;
        w.nullable_string(true, self.rack_id.as_deref())?;
        w.string(true, &self.client_id)?;
        w.string(true, &self.client_host)?;
        let mut b = [0; 8];
        b[0..4].copy_from_slice(&self.rebalance_timeout_ms.to_be_bytes());
        b[4..8].copy_from_slice(&self.topology_epoch.to_be_bytes());
        w.raw(&b);
        w.string(true, &self.process_id)?;
        match &self.user_endpoint {
            Some(v) => {
                w.i8(1);
                v.write(w, version)?;
            }
            None => {
                w.i8(-1);
            }
        }
        w.array(true, Some(&self.client_tags[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "StreamsGroupMemberMetadataValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl StreamsGroupMemberMetadataValue {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "instanceId".into(),
            match &self.instance_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert(
            "rackId".into(),
            match &self.rack_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("clientId".into(), {
            let v = &self.client_id;
            v.as_str().into()
        });
        o.insert("clientHost".into(), {
            let v = &self.client_host;
            v.as_str().into()
        });
        o.insert("rebalanceTimeoutMs".into(), {
            let v = &self.rebalance_timeout_ms;
            (*v).into()
        });
        o.insert("topologyEpoch".into(), {
            let v = &self.topology_epoch;
            (*v).into()
        });
        o.insert("processId".into(), {
            let v = &self.process_id;
            v.as_str().into()
        });
        o.insert(
            "userEndpoint".into(),
            match &self.user_endpoint {
                Some(v) => v.json(version),
                None => serde_json::Value::Null,
            },
        );
        o.insert("clientTags".into(), {
            let v = &self.client_tags;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `Endpoint`, part of StreamsGroupMemberMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self { host: String::new(), port: 0, unknown_tags: RawTags::default() }
    }
}

impl Endpoint {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let host = r.string(true)?;
        let port = r.u16()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { host, port, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.host)?;
        w.u16(self.port);
        w.unknown_tags(true, &self.unknown_tags, "Endpoint", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl Endpoint {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("host".into(), {
            let v = &self.host;
            v.as_str().into()
        });
        o.insert("port".into(), {
            let v = &self.port;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `KeyValue`, part of StreamsGroupMemberMetadataValue.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct KeyValue {
    pub key: String,
    pub value: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for KeyValue {
    fn default() -> Self {
        Self { key: String::new(), value: String::new(), unknown_tags: RawTags::default() }
    }
}

impl KeyValue {
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
        w.unknown_tags(true, &self.unknown_tags, "KeyValue", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl KeyValue {
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

impl Message for StreamsGroupMemberMetadataValue {
    const NAME: &'static str = "StreamsGroupMemberMetadataValue";
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
impl crate::json::ToJson for StreamsGroupMemberMetadataValue {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl StreamsGroupMemberMetadataValue {
    /// Number of this record type.
    pub const KEY: i16 = 19;
}
