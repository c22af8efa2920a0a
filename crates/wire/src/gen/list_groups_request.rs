//! ListGroupsRequest, versions 0 to 5.

use super::prelude::*;

/// `ListGroupsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListGroupsRequest {
    pub states_filter: Vec<String>,
    pub types_filter: Vec<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListGroupsRequest {
    fn default() -> Self {
        Self {
            states_filter: Default::default(),
            types_filter: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListGroupsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let states_filter =
            if version >= 4 { r.vec(flex, |r| r.string(flex))? } else { Default::default() };
        let types_filter =
            if version >= 5 { r.vec(flex, |r| r.string(flex))? } else { Default::default() };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { states_filter, types_filter, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 4 {
            w.array(flex, Some(&self.states_filter[..]), |w, v| w.string(flex, v))?;
        } else {
            if !self.states_filter.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "ListGroupsRequest",
                    field: "StatesFilter",
                    version,
                });
            }
        }
        if version >= 5 {
            w.array(flex, Some(&self.types_filter[..]), |w, v| w.string(flex, v))?;
        } else {
            if !self.types_filter.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "ListGroupsRequest",
                    field: "TypesFilter",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "ListGroupsRequest", version)
    }
}

#[cfg(feature = "json")]
impl ListGroupsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 4 {
            o.insert("statesFilter".into(), {
                let v = &self.states_filter;
                serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
            });
        }
        if version >= 5 {
            o.insert("typesFilter".into(), {
                let v = &self.types_filter;
                serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ListGroupsRequest {
    const NAME: &'static str = "ListGroupsRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FLEXIBLE_FROM: i16 = 3;
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
impl crate::json::ToJson for ListGroupsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ListGroupsRequest {
    const API_KEY: ApiKey = ApiKey(16);
    type Response = super::list_groups_response::ListGroupsResponse;
}
