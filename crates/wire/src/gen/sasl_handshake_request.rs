//! SaslHandshakeRequest, versions 0 to 1.

use super::prelude::*;

/// `SaslHandshakeRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SaslHandshakeRequest {
    pub mechanism: String,
}

impl Default for SaslHandshakeRequest {
    fn default() -> Self {
        Self { mechanism: String::new() }
    }
}

impl SaslHandshakeRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let mechanism = r.string(false)?;
        Ok(Self { mechanism })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(false, &self.mechanism)?;
        Ok(())
    }
}

#[cfg(feature = "json")]
impl SaslHandshakeRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("mechanism".into(), {
            let v = &self.mechanism;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for SaslHandshakeRequest {
    const NAME: &'static str = "SaslHandshakeRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FLEXIBLE_FROM: i16 = 32767;
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
impl crate::json::ToJson for SaslHandshakeRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for SaslHandshakeRequest {
    const API_KEY: ApiKey = ApiKey(17);
    type Response = super::sasl_handshake_response::SaslHandshakeResponse;
}
