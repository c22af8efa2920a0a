//! DescribeUserScramCredentialsRequest, versions 0 to 0.

use super::prelude::*;

/// `DescribeUserScramCredentialsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeUserScramCredentialsRequest {
    pub users: Option<Vec<UserName>>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeUserScramCredentialsRequest {
    fn default() -> Self {
        Self { users: Some(Default::default()), unknown_tags: RawTags::default() }
    }
}

impl DescribeUserScramCredentialsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let users = r.nullable_vec(true, |r| UserName::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { users, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, self.users.as_deref(), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeUserScramCredentialsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeUserScramCredentialsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert(
            "users".into(),
            match &self.users {
                Some(v) => serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect()),
                None => serde_json::Value::Null,
            },
        );
        serde_json::Value::Object(o)
    }
}

/// `UserName`, part of DescribeUserScramCredentialsRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct UserName {
    pub name: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for UserName {
    fn default() -> Self {
        Self { name: String::new(), unknown_tags: RawTags::default() }
    }
}

impl UserName {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.unknown_tags(true, &self.unknown_tags, "UserName", version)
    }
}

#[cfg(feature = "json")]
impl UserName {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeUserScramCredentialsRequest {
    const NAME: &'static str = "DescribeUserScramCredentialsRequest";
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
impl crate::json::ToJson for DescribeUserScramCredentialsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeUserScramCredentialsRequest {
    const API_KEY: ApiKey = ApiKey(50);
    type Response =
        super::describe_user_scram_credentials_response::DescribeUserScramCredentialsResponse;
}
