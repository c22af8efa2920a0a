//! ListTransactionsRequest, versions 0 to 2.

use super::prelude::*;

/// `ListTransactionsRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ListTransactionsRequest {
    pub state_filters: Vec<String>,
    pub producer_id_filters: Vec<i64>,
    pub duration_filter: i64,
    pub transactional_id_pattern: Option<String>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for ListTransactionsRequest {
    fn default() -> Self {
        Self {
            state_filters: Default::default(),
            producer_id_filters: Default::default(),
            duration_filter: -1,
            transactional_id_pattern: None,
            unknown_tags: RawTags::default(),
        }
    }
}

impl ListTransactionsRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let state_filters = r.vec(true, |r| r.string(true))?;
        let producer_id_filters = r.vec(true, |r| r.i64())?;
        let duration_filter = if version >= 1 { r.i64()? } else { -1 };
        let transactional_id_pattern = if version >= 2 { r.nullable_string(true)? } else { None };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            state_filters,
            producer_id_filters,
            duration_filter,
            transactional_id_pattern,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.state_filters[..]), |w, v| w.string(true, v))?;
        w.array(true, Some(&self.producer_id_filters[..]), |w, v| {
            w.i64(*v);
            Ok(())
        })?;
        if version >= 1 {
            w.i64(self.duration_filter);
        } else {
            if self.duration_filter != -1 {
                return Err(EncodeError::NotInVersion {
                    message: "ListTransactionsRequest",
                    field: "DurationFilter",
                    version,
                });
            }
        }
        if version >= 2 {
            w.nullable_string(true, self.transactional_id_pattern.as_deref())?;
        } else {
            if self.transactional_id_pattern.is_some() {
                return Err(EncodeError::NotInVersion {
                    message: "ListTransactionsRequest",
                    field: "TransactionalIdPattern",
                    version,
                });
            }
        }
        w.unknown_tags(true, &self.unknown_tags, "ListTransactionsRequest", version)
    }
}

#[cfg(feature = "json")]
impl ListTransactionsRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("stateFilters".into(), {
            let v = &self.state_filters;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("producerIdFilters".into(), {
            let v = &self.producer_id_filters;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        if version >= 1 {
            o.insert("durationFilter".into(), {
                let v = &self.duration_filter;
                (*v).into()
            });
        }
        if version >= 2 {
            o.insert(
                "transactionalIdPattern".into(),
                match &self.transactional_id_pattern {
                    Some(v) => v.as_str().into(),
                    None => serde_json::Value::Null,
                },
            );
        }
        serde_json::Value::Object(o)
    }
}

impl Message for ListTransactionsRequest {
    const NAME: &'static str = "ListTransactionsRequest";
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
impl crate::json::ToJson for ListTransactionsRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for ListTransactionsRequest {
    const API_KEY: ApiKey = ApiKey(66);
    type Response = super::list_transactions_response::ListTransactionsResponse;
}
