//! ProducerSnapshot, versions 1 to 1.

use super::prelude::*;

/// `ProducerSnapshot`, message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ProducerSnapshot {
    pub crc: u32,
    pub producer_entries: Vec<ProducerEntry>,
}

impl Default for ProducerSnapshot {
    fn default() -> Self {
        Self { crc: 0, producer_entries: Default::default() }
    }
}

impl ProducerSnapshot {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let crc = r.u32()?;
        let producer_entries = r.vec(false, |r| ProducerEntry::read(r, version))?;
        Ok(Self { crc, producer_entries })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        w.u32(self.crc);
        w.array(false, Some(&self.producer_entries[..]), |w, v| v.write(w, version))?;
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ProducerSnapshot {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("crc".into(), {
            let v = &self.crc;
            (*v).into()
        });
        o.insert("producerEntries".into(), {
            let v = &self.producer_entries;
            serde_json::Value::Array(v.iter().map(|v| v.json(version)).collect())
        });
        serde_json::Value::Object(o)
    }
}

/// `ProducerEntry`, part of ProducerSnapshot.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ProducerEntry {
    pub producer_id: i64,
    pub epoch: i16,
    pub last_sequence: i32,
    pub last_offset: i64,
    pub offset_delta: i32,
    pub timestamp: i64,
    pub coordinator_epoch: i32,
    pub current_txn_first_offset: i64,
}

impl Default for ProducerEntry {
    fn default() -> Self {
        Self {
            producer_id: 0,
            epoch: 0,
            last_sequence: 0,
            last_offset: 0,
            offset_delta: 0,
            timestamp: 0,
            coordinator_epoch: 0,
            current_txn_first_offset: 0,
        }
    }
}

impl ProducerEntry {
    #[allow(unused_variables)]
    pub(crate) fn read(r: &mut Reader<'_>, version: i16) -> Decoded<Self> {
        let producer_id = r.i64()?;
        let epoch = r.i16()?;
        let last_sequence = r.i32()?;
        let last_offset = r.i64()?;
        let offset_delta = r.i32()?;
        let timestamp = r.i64()?;
        let coordinator_epoch = r.i32()?;
        let current_txn_first_offset = r.i64()?;
        Ok(Self {
            producer_id,
            epoch,
            last_sequence,
            last_offset,
            offset_delta,
            timestamp,
            coordinator_epoch,
            current_txn_first_offset,
        })
    }

    #[allow(unused_variables)]
    pub(crate) fn write(&self, w: &mut Writer, version: i16) -> Encoded {
        let mut b = [0; 46];
        b[0..8].copy_from_slice(&self.producer_id.to_be_bytes());
        b[8..10].copy_from_slice(&self.epoch.to_be_bytes());
        b[10..14].copy_from_slice(&self.last_sequence.to_be_bytes());
        b[14..22].copy_from_slice(&self.last_offset.to_be_bytes());
        b[22..26].copy_from_slice(&self.offset_delta.to_be_bytes());
        b[26..34].copy_from_slice(&self.timestamp.to_be_bytes());
        b[34..38].copy_from_slice(&self.coordinator_epoch.to_be_bytes());
        b[38..46].copy_from_slice(&self.current_txn_first_offset.to_be_bytes());
        w.raw(&b);
        Ok(())
    }
}

#[cfg(any(feature = "json", feature = "record-json"))]
impl ProducerEntry {
    #[allow(unused_variables, unused_mut)]
    pub(crate) fn json(&self, version: i16) -> serde_json::Value {
        let mut o = serde_json::Map::new();
        o.insert("producerId".into(), {
            let v = &self.producer_id;
            (*v).into()
        });
        o.insert("epoch".into(), {
            let v = &self.epoch;
            (*v).into()
        });
        o.insert("lastSequence".into(), {
            let v = &self.last_sequence;
            (*v).into()
        });
        o.insert("lastOffset".into(), {
            let v = &self.last_offset;
            (*v).into()
        });
        o.insert("offsetDelta".into(), {
            let v = &self.offset_delta;
            (*v).into()
        });
        o.insert("timestamp".into(), {
            let v = &self.timestamp;
            (*v).into()
        });
        o.insert("coordinatorEpoch".into(), {
            let v = &self.coordinator_epoch;
            (*v).into()
        });
        o.insert("currentTxnFirstOffset".into(), {
            let v = &self.current_txn_first_offset;
            (*v).into()
        });
        serde_json::Value::Object(o)
    }
}

impl Message for ProducerSnapshot {
    const NAME: &'static str = "ProducerSnapshot";
    const MIN_VERSION: i16 = 1;
    const MAX_VERSION: i16 = 1;
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
impl crate::json::ToJson for ProducerSnapshot {
    fn to_json(&self, version: i16) -> serde_json::Value {
        self.json(version)
    }
}
