//! UnregisterControllerRequest, versions 0 to 0.

use super::prelude::*;

/// `UnregisterControllerRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct UnregisterControllerRequest {
    pub controller_id: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for UnregisterControllerRequest {
    fn default() -> Self {
        Self { controller_id: 0, unknown_tags: RawTags::default() }
    }
}

impl UnregisterControllerRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let controller_id = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { controller_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.controller_id);
        w.unknown_tags(true, &self.unknown_tags, "UnregisterControllerRequest", version)
    }
}

#[cfg(feature = "json")]
impl UnregisterControllerRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("controllerId".into(), {
            let v = &self.controller_id;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for UnregisterControllerRequest {
    const NAME: &'static str = "UnregisterControllerRequest";
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
impl crate::json::ToJson for UnregisterControllerRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for UnregisterControllerRequest {
    const API_KEY: ApiKey = ApiKey(94);
    type Response = super::unregister_controller_response::UnregisterControllerResponse;
}
