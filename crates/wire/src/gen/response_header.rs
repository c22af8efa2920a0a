//! ResponseHeader, versions 0 to 1.

use super::prelude::*;

/// `ResponseHeader`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ResponseHeader {
    pub correlation_id: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ResponseHeader {
    fn default() -> Self {
        Self { correlation_id: 0, unknown_tags: RawTags::default() }
    }
}

impl ResponseHeader {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 1;
        let correlation_id = r.i32()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { correlation_id, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 1;
        w.i32(self.correlation_id);
        w.unknown_tags(flex, &self.unknown_tags, "ResponseHeader", version)
    }
}

#[cfg(feature = "json")]
impl ResponseHeader {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("correlationId".into(), {
            let v = &self.correlation_id;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ResponseHeader {
    const NAME: &'static str = "ResponseHeader";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FLEXIBLE_FROM: i16 = 1;
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
impl crate::json::ToJson for ResponseHeader {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
