//! ApiVersionsResponse, versions 0 to 5.

use super::prelude::*;

/// `ApiVersionsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ApiVersionsResponse {
    pub error_code: ErrorCode,
    pub api_keys: Vec<ApiVersion>,
    pub throttle_time_ms: i32,
    pub supported_features: Vec<SupportedFeatureKey>,
    pub finalized_features_epoch: i64,
    pub finalized_features: Vec<FinalizedFeatureKey>,
    pub zk_migration_ready: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ApiVersionsResponse {
    fn default() -> Self {
        Self {
            error_code: ErrorCode(0),
            api_keys: Default::default(),
            throttle_time_ms: 0,
            supported_features: Default::default(),
            finalized_features_epoch: -1,
            finalized_features: Default::default(),
            zk_migration_ready: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ApiVersionsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let error_code = ErrorCode(r.i16()?);
        let api_keys = r.vec(flex, |r| ApiVersion::read(r, version))?;
        let throttle_time_ms = if version >= 1 { r.i32()? } else { 0 };
        let mut supported_features = Default::default();
        let mut finalized_features_epoch = -1;
        let mut finalized_features = Default::default();
        let mut zk_migration_ready = false;
        let mut unknown_tags = RawTags::default();
        if flex {
            r.tags(Some(&mut unknown_tags), |r, tag| {
                match tag {
                    0 => {
                        if !(version >= 3) {
                            return Err(DecodeError::TagNotInVersion { tag: 0, version });
                        }
                        supported_features =
                            r.vec(flex, |r| SupportedFeatureKey::read(r, version))?;
                    }
                    1 => {
                        if !(version >= 3) {
                            return Err(DecodeError::TagNotInVersion { tag: 1, version });
                        }
                        finalized_features_epoch = r.i64()?;
                    }
                    2 => {
                        if !(version >= 3) {
                            return Err(DecodeError::TagNotInVersion { tag: 2, version });
                        }
                        finalized_features =
                            r.vec(flex, |r| FinalizedFeatureKey::read(r, version))?;
                    }
                    3 => {
                        if !(version >= 3) {
                            return Err(DecodeError::TagNotInVersion { tag: 3, version });
                        }
                        zk_migration_ready = r.bool()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(Self {
            error_code,
            api_keys,
            throttle_time_ms,
            supported_features,
            finalized_features_epoch,
            finalized_features,
            zk_migration_ready,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        w.i16(self.error_code.0);
        w.array(flex, Some(&self.api_keys[..]), |w, v| v.write(w, version))?;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        if flex {
            let mut count = self.unknown_tags.len();
            let tag_0 = version >= 3 && !self.supported_features.is_empty();
            count += usize::from(tag_0);
            let tag_1 = version >= 3 && self.finalized_features_epoch != -1;
            count += usize::from(tag_1);
            let tag_2 = version >= 3 && !self.finalized_features.is_empty();
            count += usize::from(tag_2);
            let tag_3 = version >= 3 && self.zk_migration_ready;
            count += usize::from(tag_3);
            w.uvarint(count as u32);
            if count > 0 {
                let mut raw = self.unknown_tags.as_slice();
                w.raw_tags_below(Some(0), &mut raw)?;
                if tag_0 {
                    let at = w.begin_tag(0);
                    w.array(flex, Some(&self.supported_features[..]), |w, v| v.write(w, version))?;
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(1), &mut raw)?;
                if tag_1 {
                    let at = w.begin_tag(1);
                    w.i64(self.finalized_features_epoch);
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(2), &mut raw)?;
                if tag_2 {
                    let at = w.begin_tag(2);
                    w.array(flex, Some(&self.finalized_features[..]), |w, v| v.write(w, version))?;
                    w.end_tag(at);
                }
                w.raw_tags_below(Some(3), &mut raw)?;
                if tag_3 {
                    let at = w.begin_tag(3);
                    w.bool(self.zk_migration_ready);
                    w.end_tag(at);
                }
                w.raw_tags_below(None, &mut raw)?;
            }
        } else if self.unknown_tags.len() > 0 {
            return Err(EncodeError::NotInVersion {
                message: "ApiVersionsResponse",
                field: "unknown_tags",
                version,
            });
        }
        Ok(())
    }
}

#[cfg(feature = "json")]
impl ApiVersionsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert("apiKeys".into(), {
            let v = &self.api_keys;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 1 {
            o.insert("throttleTimeMs".into(), {
                let v = &self.throttle_time_ms;
                (*v).into()
            });
        }
        if version >= 3 {
            if !self.supported_features.is_empty() {
                o.insert("supportedFeatures".into(), {
                    let v = &self.supported_features;
                    serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
                });
            }
        }
        if version >= 3 {
            if self.finalized_features_epoch != -1 {
                o.insert("finalizedFeaturesEpoch".into(), {
                    let v = &self.finalized_features_epoch;
                    (*v).into()
                });
            }
        }
        if version >= 3 {
            if !self.finalized_features.is_empty() {
                o.insert("finalizedFeatures".into(), {
                    let v = &self.finalized_features;
                    serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
                });
            }
        }
        if version >= 3 {
            if self.zk_migration_ready {
                o.insert("zkMigrationReady".into(), {
                    let v = &self.zk_migration_ready;
                    (*v).into()
                });
            }
        }
        serde_json::Value::Object(o)
    }
}

/// `ApiVersion`, part of ApiVersionsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ApiVersion {
    pub api_key: i16,
    pub min_version: i16,
    pub max_version: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ApiVersion {
    fn default() -> Self {
        Self { api_key: 0, min_version: 0, max_version: 0, unknown_tags: RawTags::default() }
    }
}

impl ApiVersion {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let api_key = r.i16()?;
        let min_version = r.i16()?;
        let max_version = r.i16()?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { api_key, min_version, max_version, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        let mut b = [0; 6];
        b[0..2].copy_from_slice(&self.api_key.to_be_bytes());
        b[2..4].copy_from_slice(&self.min_version.to_be_bytes());
        b[4..6].copy_from_slice(&self.max_version.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(flex, &self.unknown_tags, "ApiVersion", version)
    }
}

#[cfg(feature = "json")]
impl ApiVersion {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("apiKey".into(), {
            let v = &self.api_key;
            (*v).into()
        });
        o.insert("minVersion".into(), {
            let v = &self.min_version;
            (*v).into()
        });
        o.insert("maxVersion".into(), {
            let v = &self.max_version;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

/// `SupportedFeatureKey`, part of ApiVersionsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct SupportedFeatureKey {
    pub name: String,
    pub min_version: i16,
    pub max_version: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for SupportedFeatureKey {
    fn default() -> Self {
        Self {
            name: String::new(),
            min_version: 0,
            max_version: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl SupportedFeatureKey {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let name = if version >= 3 { r.string(flex)? } else { String::new() };
        let min_version = if version >= 3 { r.i16()? } else { 0 };
        let max_version = if version >= 3 { r.i16()? } else { 0 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, min_version, max_version, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 3 {
            w.string(flex, &self.name)?;
        } else {
            if !self.name.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "SupportedFeatureKey",
                    field: "Name",
                    version,
                });
            }
        }
        if version >= 3 {
            let mut b = [0; 4];
            b[0..2].copy_from_slice(&self.min_version.to_be_bytes());
            b[2..4].copy_from_slice(&self.max_version.to_be_bytes());
            w.raw(&b);
        } else {
            if self.min_version != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "SupportedFeatureKey",
                    field: "MinVersion",
                    version,
                });
            }
            if self.max_version != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "SupportedFeatureKey",
                    field: "MaxVersion",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "SupportedFeatureKey", version)
    }
}

#[cfg(feature = "json")]
impl SupportedFeatureKey {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 3 {
            o.insert("minVersion".into(), {
                let v = &self.min_version;
                (*v).into()
            });
        }
        if version >= 3 {
            o.insert("maxVersion".into(), {
                let v = &self.max_version;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `FinalizedFeatureKey`, part of ApiVersionsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FinalizedFeatureKey {
    pub name: String,
    pub max_version_level: i16,
    pub min_version_level: i16,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FinalizedFeatureKey {
    fn default() -> Self {
        Self {
            name: String::new(),
            max_version_level: 0,
            min_version_level: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl FinalizedFeatureKey {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 3;
        let name = if version >= 3 { r.string(flex)? } else { String::new() };
        let max_version_level = if version >= 3 { r.i16()? } else { 0 };
        let min_version_level = if version >= 3 { r.i16()? } else { 0 };
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { name, max_version_level, min_version_level, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 3;
        if version >= 3 {
            w.string(flex, &self.name)?;
        } else {
            if !self.name.is_empty() {
                return Err(EncodeError::NotInVersion {
                    message: "FinalizedFeatureKey",
                    field: "Name",
                    version,
                });
            }
        }
        if version >= 3 {
            let mut b = [0; 4];
            b[0..2].copy_from_slice(&self.max_version_level.to_be_bytes());
            b[2..4].copy_from_slice(&self.min_version_level.to_be_bytes());
            w.raw(&b);
        } else {
            if self.max_version_level != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "FinalizedFeatureKey",
                    field: "MaxVersionLevel",
                    version,
                });
            }
            if self.min_version_level != 0 {
                return Err(EncodeError::NotInVersion {
                    message: "FinalizedFeatureKey",
                    field: "MinVersionLevel",
                    version,
                });
            }
        }
        w.unknown_tags(flex, &self.unknown_tags, "FinalizedFeatureKey", version)
    }
}

#[cfg(feature = "json")]
impl FinalizedFeatureKey {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        if version >= 3 {
            o.insert("name".into(), {
                let v = &self.name;
                v.as_str().into()
            });
        }
        if version >= 3 {
            o.insert("maxVersionLevel".into(), {
                let v = &self.max_version_level;
                (*v).into()
            });
        }
        if version >= 3 {
            o.insert("minVersionLevel".into(), {
                let v = &self.min_version_level;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ApiVersionsResponse {
    const NAME: &'static str = "ApiVersionsResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for ApiVersionsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
