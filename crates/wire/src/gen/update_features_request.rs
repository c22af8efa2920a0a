//! UpdateFeaturesRequest, versions 0 to 2.

use super::prelude::*;

/// `UpdateFeaturesRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct UpdateFeaturesRequest {
    pub timeout_ms: i32,
    pub feature_updates: Vec<FeatureUpdateKey>,
    pub validate_only: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for UpdateFeaturesRequest {
    fn default() -> Self {
        Self {
            timeout_ms: 60000,
            feature_updates: Default::default(),
            validate_only: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl UpdateFeaturesRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let timeout_ms = r.i32()?;
        let feature_updates = r.vec(true, |r| FeatureUpdateKey::read(r, version))?;
        let validate_only = if version >= 1 { r.bool()? } else { false };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { timeout_ms, feature_updates, validate_only, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.i32(self.timeout_ms);
        w.array(true, Some(&self.feature_updates[..]), |w, v| v.write(w, version))?;
        if version >= 1 {
            w.bool(self.validate_only);
        } else {
            if self.validate_only {
                return Err(EncodeError::NotInVersion {
                    message: "UpdateFeaturesRequest",
                    field: "ValidateOnly",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "UpdateFeaturesRequest", version)
    }
}

#[cfg(feature = "json")]
impl UpdateFeaturesRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("timeoutMs".into(), {
            let v = &self.timeout_ms;
            (*v).into()
        });
        o.insert("featureUpdates".into(), {
            let v = &self.feature_updates;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        if version >= 1 {
            o.insert("validateOnly".into(), {
                let v = &self.validate_only;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `FeatureUpdateKey`, part of UpdateFeaturesRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FeatureUpdateKey {
    pub feature: String,
    pub max_version_level: i16,
    pub allow_downgrade: bool,
    pub upgrade_type: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for FeatureUpdateKey {
    fn default() -> Self {
        Self {
            feature: String::new(),
            max_version_level: 0,
            allow_downgrade: false,
            upgrade_type: 1,
            unknown_tags: RawTags::default(),
        }
    }
}

impl FeatureUpdateKey {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let feature = r.string(true)?;
        let max_version_level = r.i16()?;
        let allow_downgrade = if version <= 0 { r.bool()? } else { false };
        let upgrade_type = if version >= 1 { r.i8()? } else { 1 };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { feature, max_version_level, allow_downgrade, upgrade_type, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.feature)?;
        if version <= 0 {
            let mut b = [0; 3];
            b[0..2].copy_from_slice(&self.max_version_level.to_be_bytes());
            b[2..3].copy_from_slice(&[u8::from(self.allow_downgrade)]);
            w.raw(&b);
        } else {
            w.i16(self.max_version_level);
            if self.allow_downgrade {
                return Err(EncodeError::NotInVersion {
                    message: "FeatureUpdateKey",
                    field: "AllowDowngrade",
                    version,
                });
            }
        }
        if version >= 1 {
            w.i8(self.upgrade_type);
        } else {
            if self.upgrade_type != 1 {
                return Err(EncodeError::NotInVersion {
                    message: "FeatureUpdateKey",
                    field: "UpgradeType",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "FeatureUpdateKey", version)
    }
}

#[cfg(feature = "json")]
impl FeatureUpdateKey {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("feature".into(), {
            let v = &self.feature;
            v.as_str().into()
        });
        o.insert("maxVersionLevel".into(), {
            let v = &self.max_version_level;
            (*v).into()
        });
        if version <= 0 {
            o.insert("allowDowngrade".into(), {
                let v = &self.allow_downgrade;
                (*v).into()
            });
        }
        if version >= 1 {
            o.insert("upgradeType".into(), {
                let v = &self.upgrade_type;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

impl Message for UpdateFeaturesRequest {
    const NAME: &'static str = "UpdateFeaturesRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 2;
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
impl crate::json::ToJson for UpdateFeaturesRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for UpdateFeaturesRequest {
    const API_KEY: ApiKey = ApiKey(57);
    type Response = super::update_features_response::UpdateFeaturesResponse;
}
