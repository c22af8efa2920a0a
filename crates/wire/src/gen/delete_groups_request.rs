//! DeleteGroupsRequest, versions 0 to 2.

use super::prelude::*;

/// `DeleteGroupsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DeleteGroupsRequest {
    pub groups_names: Vec<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DeleteGroupsRequest {
    fn default() -> Self {
        Self { groups_names: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl DeleteGroupsRequest {
    #[allow(unused_variables, clippy::field_reassign_with_default)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let mut m = Self::default();
        m.groups_names = r.vec(flex, |r| r.string(flex))?;
        if flex {
            let mut unknown_tags = RawTags::default();
            r.tags(Some(&mut unknown_tags), |_, _| Ok(false))?;
            m.unknown_tags = unknown_tags;
        }
        Ok(m)
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.array(flex, Some(&self.groups_names[..]), |w, v| w.string(flex, v))?;
        if flex {
            w.raw_tags(&self.unknown_tags)?;
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "DeleteGroupsRequest",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl DeleteGroupsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupsNames".into(), {
            let v = &self.groups_names;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DeleteGroupsRequest {
    const NAME: &'static str = "DeleteGroupsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
    const FLEXIBLE_FROM: i16 = 2;
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
impl crate::json::ToJson for DeleteGroupsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DeleteGroupsRequest {
    const API_KEY: ApiKey = ApiKey(42);
    type Response = super::delete_groups_response::DeleteGroupsResponse;
}
