//! FindCoordinatorRequest, versions 0 to 6.

use super::prelude::*;

/// `FindCoordinatorRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FindCoordinatorRequest {
    pub key: String,
    pub key_type: i8,
    pub coordinator_keys: Vec<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FindCoordinatorRequest {
    fn default() -> Self {
        Self {
            key: String::new(),
            key_type: 0,
            coordinator_keys: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl FindCoordinatorRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let key = if version <= 3 { r.string(flex)? } else { String::new() };
        let key_type = if version >= 1 { r.i8()? } else { 0 };
        let coordinator_keys =
            if version >= 4 { r.vec(flex, |r| r.string(flex))? } else { Default::default() };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { key, key_type, coordinator_keys, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version <= 3 {
            w.string(flex, &self.key)?;
        } else {
            if !self.key.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FindCoordinatorRequest",
                    field: "Key",
                    version,
                });
            }
        }
        if version >= 1 {
            w.i8(self.key_type);
        } else {
            if self.key_type != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "FindCoordinatorRequest",
                    field: "KeyType",
                    version,
                });
            }
        }
        if version >= 4 {
            w.array(flex, Some(&self.coordinator_keys[..]), |w, v| w.string(flex, v))?;
        } else {
            if !self.coordinator_keys.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FindCoordinatorRequest",
                    field: "CoordinatorKeys",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "FindCoordinatorRequest", version)
    }
}

#[cfg(feature = "json")]
impl FindCoordinatorRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version <= 3 {
            o.insert("key".into(), {
                let v = &self.key;
                v.as_str().into()
            });
        }
        if version >= 1 {
            o.insert("keyType".into(), {
                let v = &self.key_type;
                (*v).into()
            });
        }
        if version >= 4 {
            o.insert("coordinatorKeys".into(), {
                let v = &self.coordinator_keys;
                serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for FindCoordinatorRequest {
    const NAME: &'static str = "FindCoordinatorRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 6;
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
impl crate::json::ToJson for FindCoordinatorRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for FindCoordinatorRequest {
    const API_KEY: ApiKey = ApiKey(10);
    type Response = super::find_coordinator_response::FindCoordinatorResponse;
}
