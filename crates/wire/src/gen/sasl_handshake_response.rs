//! SaslHandshakeResponse, versions 0 to 1.

use super::prelude::*;

/// `SaslHandshakeResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SaslHandshakeResponse {
    pub error_code: ErrorCode,
    pub mechanisms: Vec<String>,
}

impl Default for SaslHandshakeResponse {
    fn default() -> Self {
        Self { error_code: ErrorCode(0), mechanisms: Default::default() }
    }
}

impl SaslHandshakeResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let error_code = ErrorCode(r.i16()?);
        let mechanisms = r.vec(false, |r| r.string(false))?;
        Ok(Self { error_code, mechanisms })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i16(self.error_code.0);
        w.array(false, Some(&self.mechanisms[..]), |w, v| w.string(false, v))?;
        Ok(())
    }
}

#[cfg(feature = "json")]
impl SaslHandshakeResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("mechanisms".into(), {
            let v = &self.mechanisms;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for SaslHandshakeResponse {
    const NAME: &'static str = "SaslHandshakeResponse";
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
impl crate::json::ToJson for SaslHandshakeResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
