//! ShareGroupDescribeRequest, versions 1 to 1.

use super::prelude::*;

/// `ShareGroupDescribeRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ShareGroupDescribeRequest {
    pub group_ids: Vec<String>,
    pub include_authorized_operations: bool,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ShareGroupDescribeRequest {
    fn default() -> Self {
        Self {
            group_ids: Default::default(),
            include_authorized_operations: false,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ShareGroupDescribeRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let group_ids = r.vec(true, |r| r.string(true))?;
        let include_authorized_operations = r.bool()?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { group_ids, include_authorized_operations, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.group_ids[..]), |w, v| w.string(true, v))?;
        w.bool(self.include_authorized_operations);
        w.unknown_tags(true, &self.unknown_tags, "ShareGroupDescribeRequest", version)
    }
}

#[cfg(feature = "json")]
impl ShareGroupDescribeRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("groupIds".into(), {
            let v = &self.group_ids;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("includeAuthorizedOperations".into(), {
            let v = &self.include_authorized_operations;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ShareGroupDescribeRequest {
    const NAME: &'static str = "ShareGroupDescribeRequest";
    const MIN_VERSION: i16 = 1;
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
impl crate::json::ToJson for ShareGroupDescribeRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ShareGroupDescribeRequest {
    const API_KEY: ApiKey = ApiKey(77);
    type Response = super::share_group_describe_response::ShareGroupDescribeResponse;
}
