//! DescribeDelegationTokenRequest, versions 1 to 3.

use super::prelude::*;

/// `DescribeDelegationTokenRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeDelegationTokenRequest {
    pub owners: Option<Vec<DescribeDelegationTokenOwner>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeDelegationTokenRequest {
    fn default() -> Self {
        Self { owners: Some(Default::default()), unknown_tags: RawTags::default() }
    }
}

impl DescribeDelegationTokenRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let owners = r.nullable_vec(flex, |r| DescribeDelegationTokenOwner::read(r, version))?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { owners, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.array(flex, self.owners.as_deref(), |w, v| v.write(w, version))?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeDelegationTokenRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeDelegationTokenRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "owners".into(),
            match &self.owners {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `DescribeDelegationTokenOwner`, part of DescribeDelegationTokenRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeDelegationTokenOwner {
    pub principal_type: String,
    pub principal_name: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeDelegationTokenOwner {
    fn default() -> Self {
        Self {
            principal_type: String::new(),
            principal_name: String::new(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeDelegationTokenOwner {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let flex = version >= 2;
        let principal_type = r.string(flex)?;
        let principal_name = r.string(flex)?;
        let unknown_tags = if flex { r.unknown_tags()? } else { RawTags::default() };
        Ok(Self { principal_type, principal_name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let flex = version >= 2;
        w.string(flex, &self.principal_type)?;
        w.string(flex, &self.principal_name)?;
        w.unknown_tags(flex, &self.unknown_tags, "DescribeDelegationTokenOwner", version)
    }
}

#[cfg(feature = "json")]
impl DescribeDelegationTokenOwner {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("principalType".into(), {
            let v = &self.principal_type;
            v.as_str().into()
        });
        o.insert("principalName".into(), {
            let v = &self.principal_name;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeDelegationTokenRequest {
    const NAME: &'static str = "DescribeDelegationTokenRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 3;
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
impl crate::json::ToJson for DescribeDelegationTokenRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeDelegationTokenRequest {
    const API_KEY: ApiKey = ApiKey(41);
    type Response = super::describe_delegation_token_response::DescribeDelegationTokenResponse;
}
