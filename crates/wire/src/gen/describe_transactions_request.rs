//! DescribeTransactionsRequest, versions 0 to 0.

use super::prelude::*;

/// `DescribeTransactionsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DescribeTransactionsRequest {
    pub transactional_ids: Vec<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DescribeTransactionsRequest {
    fn default() -> Self {
        Self { transactional_ids: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl DescribeTransactionsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let transactional_ids = r.vec(true, |r| r.string(true))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { transactional_ids, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.transactional_ids[..]), |w, v| w.string(true, v))?;
        w.unknown_tags(true, &self.unknown_tags, "DescribeTransactionsRequest", version)
    }
}

#[cfg(feature = "json")]
impl DescribeTransactionsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("transactionalIds".into(), {
            let v = &self.transactional_ids;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DescribeTransactionsRequest {
    const NAME: &'static str = "DescribeTransactionsRequest";
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
impl crate::json::ToJson for DescribeTransactionsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for DescribeTransactionsRequest {
    const API_KEY: ApiKey = ApiKey(65);
    type Response = super::describe_transactions_response::DescribeTransactionsResponse;
}
