//! EnvelopeRequest, versions 0 to 0.

use super::prelude::*;

/// `EnvelopeRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct EnvelopeRequest {
    pub request_data: Bytes,
    pub request_principal: Option<Bytes>,
    pub client_host_address: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for EnvelopeRequest {
    fn default() -> Self {
        Self {
            request_data: Default::default(),
            request_principal: Some(Default::default()),
            client_host_address: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl EnvelopeRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let request_data = r.bytes(true)?;
        let request_principal = r.nullable_bytes(true)?;
        let client_host_address = r.bytes(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { request_data, request_principal, client_host_address, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.bytes(true, &self.request_data)?;
        w.nullable_bytes(true, self.request_principal.as_deref())?;
        w.bytes(true, &self.client_host_address)?;
        w.unknown_tags(true, &self.unknown_tags, "EnvelopeRequest", version)
    }
}

#[cfg(feature = "json")]
impl EnvelopeRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("requestData".into(), {
            let v = &self.request_data;
            crate::json::base64(v).into()
        });
        o.insert(
            "requestPrincipal".into(),
            match &self.request_principal {
                Some(v) => crate::json::base64(v).into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("clientHostAddress".into(), {
            let v = &self.client_host_address;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for EnvelopeRequest {
    const NAME: &'static str = "EnvelopeRequest";
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
impl crate::json::ToJson for EnvelopeRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for EnvelopeRequest {
    const API_KEY: ApiKey = ApiKey(58);
    type Response = super::envelope_response::EnvelopeResponse;
}
