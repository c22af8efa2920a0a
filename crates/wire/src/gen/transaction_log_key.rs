//! TransactionLogKey, versions 0 to 0.

use super::prelude::*;

/// `TransactionLogKey`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TransactionLogKey {
    pub transactional_id: String,
}

impl Default for TransactionLogKey {
    fn default() -> Self {
        Self { transactional_id: String::new() }
    }
}

impl TransactionLogKey {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let transactional_id = r.string(false)?;
        Ok(Self { transactional_id })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(false, &self.transactional_id)?;
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl TransactionLogKey {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("transactionalId".into(), {
            let v = &self.transactional_id;
            v.as_str().into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for TransactionLogKey {
    const NAME: &'static str = "TransactionLogKey";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 0;
    const FLEXIBLE_FROM: i16 = 32767;
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
impl crate::json::ToJson for TransactionLogKey {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl TransactionLogKey {
    /// Number of this record type.
    pub const KEY: i16 = 0;
}
