//! DelegationTokenRecord, versions 0 to 0.

use super::prelude::*;

/// `DelegationTokenRecord`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DelegationTokenRecord {
    pub owner: String,
    pub requester: String,
    pub renewers: Vec<String>,
    pub issue_timestamp: i64,
    pub max_timestamp: i64,
    pub expiration_timestamp: i64,
    pub token_id: String,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for DelegationTokenRecord {
    fn default() -> Self {
        Self {
            owner: String::new(),
            requester: String::new(),
            renewers: Default::default(),
            issue_timestamp: 0,
            max_timestamp: 0,
            expiration_timestamp: 0,
            token_id: String::new(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl DelegationTokenRecord {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let owner = r.string(true)?;
        let requester = r.string(true)?;
        let renewers = r.vec(true, |r| r.string(true))?;
        let issue_timestamp = r.i64()?;
        let max_timestamp = r.i64()?;
        let expiration_timestamp = r.i64()?;
        let token_id = r.string(true)?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            owner,
            requester,
            renewers,
            issue_timestamp,
            max_timestamp,
            expiration_timestamp,
            token_id,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.owner)?;
        w.string(true, &self.requester)?;
        w.array(true, Some(&self.renewers[..]), |w, v| w.string(true, v))?;
        let mut b = [0; 24];
        b[0..8].copy_from_slice(&self.issue_timestamp.to_be_bytes());
        b[8..16].copy_from_slice(&self.max_timestamp.to_be_bytes());
        b[16..24].copy_from_slice(&self.expiration_timestamp.to_be_bytes());
        w.raw(&b);
        w.string(true, &self.token_id)?;
        w.unknown_tags(true, &self.unknown_tags, "DelegationTokenRecord", version)
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl DelegationTokenRecord {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("owner".into(), {
            let v = &self.owner;
            v.as_str().into()
        });
        o.insert("requester".into(), {
            let v = &self.requester;
            v.as_str().into()
        });
        o.insert("renewers".into(), {
            let v = &self.renewers;
            serde_json::Value::Array(v.iter().map(|v| v.as_str().into()).collect())
        });
        o.insert("issueTimestamp".into(), {
            let v = &self.issue_timestamp;
            (*v).into()
        });
        o.insert("maxTimestamp".into(), {
            let v = &self.max_timestamp;
            (*v).into()
        });
        o.insert("expirationTimestamp".into(), {
            let v = &self.expiration_timestamp;
            (*v).into()
        });
        o.insert("tokenId".into(), {
            let v = &self.token_id;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for DelegationTokenRecord {
    const NAME: &'static str = "DelegationTokenRecord";
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

#[cfg(any(feature = "json", feature = "record-json"))]
impl crate::json::ToJson for DelegationTokenRecord {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl DelegationTokenRecord {
    /// Number of this record type.
    pub const KEY: i16 = 10;
}
