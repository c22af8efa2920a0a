//! UnregisterBrokerRequest, versions 0 to 0.

use super::prelude::*;

/// `UnregisterBrokerRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct UnregisterBrokerRequest {
    pub broker_id: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for UnregisterBrokerRequest {
    fn default() -> Self {
        Self { broker_id: 0, unknown_tags: RawTags::default() }
    }
}

impl UnregisterBrokerRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let broker_id = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { broker_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.broker_id);
        w.unknown_tags(true, &self.unknown_tags, "UnregisterBrokerRequest", version)
    }
}

#[cfg(feature = "json")]
impl UnregisterBrokerRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("brokerId".into(), {
            let v = &self.broker_id;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for UnregisterBrokerRequest {
    const NAME: &'static str = "UnregisterBrokerRequest";
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
impl crate::json::ToJson for UnregisterBrokerRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for UnregisterBrokerRequest {
    const API_KEY: ApiKey = ApiKey(64);
    type Response = super::unregister_broker_response::UnregisterBrokerResponse;
}
