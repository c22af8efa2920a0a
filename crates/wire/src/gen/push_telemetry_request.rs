//! PushTelemetryRequest, versions 0 to 0.

use super::prelude::*;

/// `PushTelemetryRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PushTelemetryRequest {
    pub client_instance_id: Uuid,
    pub subscription_id: i32,
    pub terminating: bool,
    pub compression_type: i8,
    pub metrics: Bytes,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for PushTelemetryRequest {
    fn default() -> Self {
        Self {
            client_instance_id: Default::default(),
            subscription_id: 0,
            terminating: false,
            compression_type: 0,
            metrics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl PushTelemetryRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let client_instance_id = r.uuid()?;
        let subscription_id = r.i32()?;
        let terminating = r.bool()?;
        let compression_type = r.i8()?;
        let metrics = r.bytes(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            client_instance_id,
            subscription_id,
            terminating,
            compression_type,
            metrics,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 22];
        b[0..16].copy_from_slice(&self.client_instance_id.0);
        b[16..20].copy_from_slice(&self.subscription_id.to_be_bytes());
        b[20..21].copy_from_slice(&[u8::from(self.terminating)]);
        b[21..22].copy_from_slice(&self.compression_type.to_be_bytes());
        w.raw(&b);
        w.bytes(true, &self.metrics)?;
        w.unknown_tags(true, &self.unknown_tags, "PushTelemetryRequest", version)
    }
}

#[cfg(feature = "json")]
impl PushTelemetryRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("clientInstanceId".into(), {
            let v = &self.client_instance_id;
            v.to_string().into()
        });
        o.insert("subscriptionId".into(), {
            let v = &self.subscription_id;
            (*v).into()
        });
        o.insert("terminating".into(), {
            let v = &self.terminating;
            (*v).into()
        });
        o.insert("compressionType".into(), {
            let v = &self.compression_type;
            (*v).into()
        });
        o.insert("metrics".into(), {
            let v = &self.metrics;
            crate::json::base64(v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for PushTelemetryRequest {
    const NAME: &'static str = "PushTelemetryRequest";
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
impl crate::json::ToJson for PushTelemetryRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for PushTelemetryRequest {
    const API_KEY: ApiKey = ApiKey(72);
    type Response = super::push_telemetry_response::PushTelemetryResponse;
}
