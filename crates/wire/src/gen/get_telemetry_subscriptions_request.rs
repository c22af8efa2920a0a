//! GetTelemetrySubscriptionsRequest, versions 0 to 0.

use super::prelude::*;

/// `GetTelemetrySubscriptionsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct GetTelemetrySubscriptionsRequest {
    pub client_instance_id: Uuid,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for GetTelemetrySubscriptionsRequest {
    fn default() -> Self {
        Self { client_instance_id: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl GetTelemetrySubscriptionsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let client_instance_id = r.uuid()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { client_instance_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.uuid(self.client_instance_id);
        w.unknown_tags(true, &self.unknown_tags, "GetTelemetrySubscriptionsRequest", version)
    }
}

#[cfg(feature = "json")]
impl GetTelemetrySubscriptionsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("clientInstanceId".into(), {
            let v = &self.client_instance_id;
            v.to_string().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for GetTelemetrySubscriptionsRequest {
    const NAME: &'static str = "GetTelemetrySubscriptionsRequest";
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
impl crate::json::ToJson for GetTelemetrySubscriptionsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for GetTelemetrySubscriptionsRequest {
    const API_KEY: ApiKey = ApiKey(71);
    type Response = super::get_telemetry_subscriptions_response::GetTelemetrySubscriptionsResponse;
}
