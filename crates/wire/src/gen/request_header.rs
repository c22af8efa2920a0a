//! RequestHeader, versions 1 to 2.

use super::prelude::*;

/// `RequestHeader`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct RequestHeader {
    pub request_api_key: i16,
    pub request_api_version: i16,
    pub correlation_id: i32,
    pub client_id: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for RequestHeader {
    fn default() -> Self {
        Self {
            request_api_key: 0,
            request_api_version: 0,
            correlation_id: 0,
            client_id: Some(String::new()),
            unknown_tags: RawTags::default(),
        }
    }
}

impl RequestHeader {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let request_api_key = r.i16()?;
        let request_api_version = r.i16()?;
        let correlation_id = r.i32()?;
        let client_id = r.nullable_string(false)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { request_api_key, request_api_version, correlation_id, client_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        let mut b = [0; 8];
        b[0..2].copy_from_slice(&self.request_api_key.to_be_bytes());
        b[2..4].copy_from_slice(&self.request_api_version.to_be_bytes());
        b[4..8].copy_from_slice(&self.correlation_id.to_be_bytes());
        w.raw(&b);
        w.nullable_string(false, self.client_id.as_deref())?;
        w.unknown_tags(flex, &self.unknown_tags, "RequestHeader", version)
    }
}

#[cfg(feature = "json")]
impl RequestHeader {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("requestApiKey".into(), {
            let v = &self.request_api_key;
            (*v).into()
        });
        o.insert("requestApiVersion".into(), {
            let v = &self.request_api_version;
            (*v).into()
        });
        o.insert("correlationId".into(), {
            let v = &self.correlation_id;
            (*v).into()
        });
        o.insert(
            "clientId".into(),
            match &self.client_id {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

impl Message for RequestHeader {
    const NAME: &'static str = "RequestHeader";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for RequestHeader {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
