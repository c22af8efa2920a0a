//! GetTelemetrySubscriptionsResponse, versions 0 to 0.

use super::prelude::*;

/// `GetTelemetrySubscriptionsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct GetTelemetrySubscriptionsResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub client_instance_id: Uuid,
    pub subscription_id: i32,
    pub accepted_compression_types: Vec<i8>,
    pub push_interval_ms: i32,
    pub telemetry_max_bytes: i32,
    pub delta_temporality: bool,
    pub requested_metrics: Vec<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for GetTelemetrySubscriptionsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            client_instance_id: Default::default(),
            subscription_id: 0,
            accepted_compression_types: Default::default(),
            push_interval_ms: 0,
            telemetry_max_bytes: 0,
            delta_temporality: false,
            requested_metrics: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl GetTelemetrySubscriptionsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let client_instance_id = r.uuid()?;
        let subscription_id = r.i32()?;
        let accepted_compression_types = r.vec(true, |r| r.i8())?;
        let push_interval_ms = r.i32()?;
        let telemetry_max_bytes = r.i32()?;
        let delta_temporality = r.bool()?;
        let requested_metrics = r.vec(true, |r| r.string(true))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            client_instance_id,
            subscription_id,
            accepted_compression_types,
            push_interval_ms,
            telemetry_max_bytes,
            delta_temporality,
            requested_metrics,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 26];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        b[6..22].copy_from_slice(&self.client_instance_id.0);
        b[22..26].copy_from_slice(&self.subscription_id.to_be_bytes());
        w.raw(&b);
        w.array(true, Some(&self.accepted_compression_types[..]), |w, v| {
            w.i8(*v);
            Ok(())
        })?;
        let mut b = [0; 9];
        b[0..4].copy_from_slice(&self.push_interval_ms.to_be_bytes());
        b[4..8].copy_from_slice(&self.telemetry_max_bytes.to_be_bytes());
        b[8..9].copy_from_slice(&[u8::from(self.delta_temporality)]);
        w.raw(&b);
        w.array(true, Some(&self.requested_metrics[..]), |w, v| w.string(true, v))?;
        w.unknown_tags(true, &self.unknown_tags, "GetTelemetrySubscriptionsResponse", version)
    }
}

#[cfg(feature = "json")]
impl GetTelemetrySubscriptionsResponse {
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
        o.insert("clientInstanceId".into(), {
            let v = &self.client_instance_id;
            v.to_string().into()
        });
        o.insert("subscriptionId".into(), {
            let v = &self.subscription_id;
            (*v).into()
        });
        o.insert("acceptedCompressionTypes".into(), {
            let v = &self.accepted_compression_types;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        o.insert("pushIntervalMs".into(), {
            let v = &self.push_interval_ms;
            (*v).into()
        });
        o.insert("telemetryMaxBytes".into(), {
            let v = &self.telemetry_max_bytes;
            (*v).into()
        });
        o.insert("deltaTemporality".into(), {
            let v = &self.delta_temporality;
            (*v).into()
        });
        o.insert("requestedMetrics".into(), {
            let v = &self.requested_metrics;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for GetTelemetrySubscriptionsResponse {
    const NAME: &'static str = "GetTelemetrySubscriptionsResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for GetTelemetrySubscriptionsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
