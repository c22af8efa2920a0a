//! DescribeUserScramCredentialsResponse, versions 0 to 0.

use super::prelude::*;

/// `DescribeUserScramCredentialsResponse`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeUserScramCredentialsResponse {
    pub throttle_time_ms: i32,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub results: Vec<DescribeUserScramCredentialsResult>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeUserScramCredentialsResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            results: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeUserScramCredentialsResponse {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let throttle_time_ms = r.i32()?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let results = r.vec(true, |r| DescribeUserScramCredentialsResult::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { throttle_time_ms, error_code, error_message, results, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 6];
        b[0..4].copy_from_slice(&self.throttle_time_ms.to_be_bytes());
        b[4..6].copy_from_slice(&self.error_code.0.to_be_bytes());
        w.raw(&b);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.array(true, Some(&self.results[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeUserScramCredentialsResponse", version)
    }
}

#[cfg(feature = "json")]
impl DescribeUserScramCredentialsResponse {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("throttleTimeMs".into(), {
            let v = &self.throttle_time_ms;
            (*v).into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("results".into(), {
            let v = &self.results;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `DescribeUserScramCredentialsResult`, part of DescribeUserScramCredentialsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeUserScramCredentialsResult {
    pub user: String,
    pub error_code: ErrorCode,
    pub error_message: Option<String>,
    pub credential_infos: Vec<CredentialInfo>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeUserScramCredentialsResult {
    fn default() -> Self {
        Self {
            user: String::new(),
            error_code: ErrorCode(0),
            error_message: Some(String::new()),
            credential_infos: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DescribeUserScramCredentialsResult {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let user = r.string(true)?;
        let error_code = ErrorCode(r.i16()?);
        let error_message = r.nullable_string(true)?;
        let credential_infos = r.vec(true, |r| CredentialInfo::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { user, error_code, error_message, credential_infos, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.user)?;
        w.i16(self.error_code.0);
        w.nullable_string(true, self.error_message.as_deref())?;
        w.array(true, Some(&self.credential_infos[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeUserScramCredentialsResult", version)
    }
}

#[cfg(feature = "json")]
impl DescribeUserScramCredentialsResult {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("user".into(), {
            let v = &self.user;
            v.as_str().into()
        });
        o.insert("errorCode".into(), {
            let v = &self.error_code;
            v.0.into()
        });
        o.insert(
            "errorMessage".into(),
            match &self.error_message {
                Some(v) => v.as_str().into(),
                None => serde_json::Value::Null,
            },
        );
        o.insert("credentialInfos".into(), {
            let v = &self.credential_infos;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `CredentialInfo`, part of DescribeUserScramCredentialsResponse.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct CredentialInfo {
    pub mechanism: i8,
    pub iterations: i32,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for CredentialInfo {
    fn default() -> Self {
        Self { mechanism: 0, iterations: 0, unknown_tags: RawTags::default() }
    }
}

impl CredentialInfo {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let mechanism = r.i8()?;
        let iterations = r.i32()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { mechanism, iterations, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 5];
        b[0..1].copy_from_slice(&self.mechanism.to_be_bytes());
        b[1..5].copy_from_slice(&self.iterations.to_be_bytes());
        w.raw(&b);
        w.unknown_tags(true, &self.unknown_tags, "CredentialInfo", version)
    }
}

#[cfg(feature = "json")]
impl CredentialInfo {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("mechanism".into(), {
            let v = &self.mechanism;
            (*v).into()
        });
        o.insert("iterations".into(), {
            let v = &self.iterations;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeUserScramCredentialsResponse {
    const NAME: &'static str = "DescribeUserScramCredentialsResponse";
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
    fn throttle_time_ms(&self) -> i32 {
        self.throttle_time_ms
    }
}

#[cfg(feature = "json")]
impl crate::json::ToJson for DescribeUserScramCredentialsResponse {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
