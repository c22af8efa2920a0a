//! WriteTxnMarkersRequest, versions 1 to 2.

use super::prelude::*;

/// `WriteTxnMarkersRequest`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WriteTxnMarkersRequest {
    pub markers: Vec<WritableTxnMarker>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for WriteTxnMarkersRequest {
    fn default() -> Self {
        Self { markers: Default::default(), unknown_tags: RawTags::default() }
    }
}

impl WriteTxnMarkersRequest {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let markers = r.vec(true, |r| WritableTxnMarker::read(r, version))?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { markers, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.array(true, Some(&self.markers[..]), |w, v| v.write(w, version))?;
        w.unknown_tags(true, &self.unknown_tags, "WriteTxnMarkersRequest", version)
    }
}

#[cfg(feature = "json")]
impl WriteTxnMarkersRequest {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("markers".into(), {
            let v = &self.markers;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `WritableTxnMarker`, part of WriteTxnMarkersRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WritableTxnMarker {
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub transaction_result: bool,
    pub topics: Vec<WritableTxnMarkerTopic>,
    pub coordinator_epoch: i32,
    pub transaction_version: i8,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for WritableTxnMarker {
    fn default() -> Self {
        Self {
            producer_id: 0,
            producer_epoch: 0,
            transaction_result: false,
            topics: Default::default(),
            coordinator_epoch: 0,
            transaction_version: 0,
            unknown_tags: RawTags::default(),
        }
    }
}

impl WritableTxnMarker {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let transaction_result = r.bool()?;
        let topics = r.vec(true, |r| WritableTxnMarkerTopic::read(r, version))?;
        let coordinator_epoch = r.i32()?;
        let transaction_version = if version >= 2 { r.i8()? } else { 0 };
        let unknown_tags = r.unknown_tags()?;
        Ok(Self {
            producer_id,
            producer_epoch,
            transaction_result,
            topics,
            coordinator_epoch,
            transaction_version,
            unknown_tags,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 11];
        b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
        b[8..10].copy_from_slice(&self.producer_epoch.to_be_bytes());
        b[10..11].copy_from_slice(&[u8::from(self.transaction_result)]);
        w.raw(&b);
        w.array(true, Some(&self.topics[..]), |w, v| v.write(w, version))?;
        if version >= 2 {
            let mut b = [0; 5];
            b[0..4].copy_from_slice(&self.coordinator_epoch.to_be_bytes());
            b[4..5].copy_from_slice(&self.transaction_version.to_be_bytes());
            w.raw(&b);
        } else {
            w.i32(self.coordinator_epoch);
        }
        w.unknown_tags(true, &self.unknown_tags, "WritableTxnMarker", version)
    }
}

#[cfg(feature = "json")]
impl WritableTxnMarker {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("producerEpoch".into(), {
            let v = &self.producer_epoch;
            (*v).into()
        });
        o.insert("transactionResult".into(), {
            let v = &self.transaction_result;
            (*v).into()
        });
        o.insert("topics".into(), {
            let v = &self.topics;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        o.insert("coordinatorEpoch".into(), {
            let v = &self.coordinator_epoch;
            (*v).into()
        });
        if version >= 2 {
            o.insert("transactionVersion".into(), {
                let v = &self.transaction_version;
                (*v).into()
            });
        }
        serde_json::Value::Object(o)
    }
}

/// `WritableTxnMarkerTopic`, part of WriteTxnMarkersRequest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct WritableTxnMarkerTopic {
    pub name: String,
    pub partition_indexes: Vec<i32>,
    /// Tagged fields this version does not know, kept as they came.
    pub unknown_tags: RawTags,
}

impl Default for WritableTxnMarkerTopic {
    fn default() -> Self {
        Self {
            name: String::new(),
            partition_indexes: Default::default(),
            unknown_tags: RawTags::default(),
        }
    }
}

impl WritableTxnMarkerTopic {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let name = r.string(true)?;
        let partition_indexes = r.vec(true, |r| r.i32())?;
        let unknown_tags = r.unknown_tags()?;
        Ok(Self { name, partition_indexes, unknown_tags })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.string(true, &self.name)?;
        w.array(true, Some(&self.partition_indexes[..]), |w, v| {
            w.i32(*v);
            Ok(())
        })?;
        w.unknown_tags(true, &self.unknown_tags, "WritableTxnMarkerTopic", version)
    }
}

#[cfg(feature = "json")]
impl WritableTxnMarkerTopic {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("name".into(), {
            let v = &self.name;
            v.as_str().into()
        });
        o.insert("partitionIndexes".into(), {
            let v = &self.partition_indexes;
            serde_json::Value::Array(v.iter().map(|v| (*v).into()).collect())
        });
        serde_json::Value::Object(o)
    }
}

impl Message for WriteTxnMarkersRequest {
    const NAME: &'static str = "WriteTxnMarkersRequest";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 2;
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
impl crate::json::ToJson for WriteTxnMarkersRequest {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}

impl Request for WriteTxnMarkersRequest {
    const API_KEY: ApiKey = ApiKey(27);
    type Response = super::write_txn_markers_response::WriteTxnMarkersResponse;
}
