//! DefaultPrincipalData, versions 0 to 0.

use super::prelude::*;

/// `DefaultPrincipalData`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DefaultPrincipalData {
    pub type_: String,
    pub name: String,
    pub token_authenticated: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DefaultPrincipalData {
    fn default() -> Self {
        Self {
            type_: String::new(),
            name: String::new(),
            token_authenticated: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl DefaultPrincipalData {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let type_ = r.string(true)?;
        let name = r.string(true)?;
        let token_authenticated = r.bool()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { type_, name, token_authenticated, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.type_)?;
        w.string(true, &self.name)?;
        w.bool(self.token_authenticated);
        w.unknown_tags(true, &self.unknown_tags, "DefaultPrincipalData", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl DefaultPrincipalData {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("type".into(), {
            let v = &self.type_;
            v.as_str().into()
        });
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("tokenAuthenticated".into(), {
            let v = &self.token_authenticated;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DefaultPrincipalData {
    const NAME: &'static str = "DefaultPrincipalData";
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

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for DefaultPrincipalData {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
