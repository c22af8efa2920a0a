//! The transaction index of a segment: the aborted transactions whose end lies in it.
//!
//! 34-byte entries, in the order of the transactions' ends; the file exists only if there are any.

use std::io;

use crate::fs::disk::OpenFile;
use crate::fs::wait::Wait;

/// One aborted transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbortedTxn {
    /// Whose it was.
    pub producer_id: i64,
    /// Offset of its first record in this partition.
    pub first_offset: i64,
    /// Offset of its marker.
    pub last_offset: i64,
    /// The last stable offset once it was through.
    pub last_stable_offset: i64,
}

const LEN: usize = 34;
/// Bytes of an entry.
pub(crate) const ENTRY_LEN: u64 = LEN as u64;
const VERSION: i16 = 0;

impl AbortedTxn {
    /// Whether a reader of `from..upto` has to be told of it.
    pub(crate) fn overlaps(&self, from: i64, upto: i64) -> bool {
        self.last_offset >= from && self.first_offset < upto
    }

    /// Whether no later entry of the index is of interest to a reader who reads up to `upto`.
    pub(crate) fn is_last_for(&self, upto: i64) -> bool {
        self.last_stable_offset >= upto
    }

    fn encode(&self) -> [u8; LEN] {
        let mut out = [0; LEN];
        out[..2].copy_from_slice(&VERSION.to_be_bytes());
        let fields =
            [self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset];
        for (slot, field) in out[2..].chunks_exact_mut(8).zip(fields) {
            slot.copy_from_slice(&field.to_be_bytes());
        }
        out
    }

    fn decode(entry: &[u8; LEN]) -> Option<AbortedTxn> {
        let (version, fields) = entry.split_at(2);
        if i16::from_be_bytes([version[0], version[1]]) != VERSION {
            return None;
        }
        let mut fields = fields.as_chunks::<8>().0.iter().map(|field| i64::from_be_bytes(*field));
        Some(AbortedTxn {
            producer_id: fields.next()?,
            first_offset: fields.next()?,
            last_offset: fields.next()?,
            last_stable_offset: fields.next()?,
        })
    }
}

/// Reads all entries; also how many bytes are none.
pub(crate) fn decode_all(bytes: &[u8]) -> Result<(Vec<AbortedTxn>, usize), String> {
    let (entries, rest) = bytes.as_chunks::<LEN>();
    let entry = |(at, entry): (usize, &[u8; LEN])| {
        AbortedTxn::decode(entry).ok_or_else(|| format!("entry {at} has an unknown version"))
    };
    let all = entries.iter().enumerate().map(entry).collect::<Result<_, _>>()?;
    Ok((all, rest.len()))
}

/// Adds a transaction to the index of the segment that it was aborted in.
pub(crate) fn append_entry(file: &OpenFile, txn: &AbortedTxn) -> io::Result<()> {
    let entries = file.len()? / LEN as u64;
    file.write_all_at(&txn.encode(), entries * LEN as u64)
}

/// Adds several at once.
pub(crate) fn append_entries(file: &OpenFile, txns: &[AbortedTxn]) -> io::Result<()> {
    let entries = file.len()? / LEN as u64;
    let bytes: Vec<u8> = txns.iter().flat_map(AbortedTxn::encode).collect();
    file.write_all_at(&bytes, entries * LEN as u64)
}

/// Visits the entries of an index in order until `visit` says no. Under [`Wait::Never`] `WouldBlock`
/// where they are not in the page cache.
pub(crate) fn for_each(
    file: &OpenFile,
    wait: Wait,
    mut visit: impl FnMut(u64, AbortedTxn) -> bool,
) -> io::Result<()> {
    let entries = file.len()? / LEN as u64;
    let mut chunk = [0u8; LEN * 64];
    let mut at = 0;
    while at < entries {
        let n = (entries - at).min(64);
        let bytes = &mut chunk[..n as usize * LEN];
        match wait {
            Wait::Allowed => file.read_exact_at(bytes, at * LEN as u64)?,
            Wait::Never => file.read_exact_nowait(bytes, at * LEN as u64)?,
        }
        for (i, entry) in bytes.as_chunks::<LEN>().0.iter().enumerate() {
            let Some(txn) = AbortedTxn::decode(entry) else {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "transaction index has an unknown version",
                ));
            };
            if !visit(at + i as u64, txn) {
                return Ok(());
            }
        }
        at += n;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_as_kafka_has_them() {
        let txn =
            AbortedTxn { producer_id: 1, first_offset: 2, last_offset: 3, last_stable_offset: 4 };
        let bytes = txn.encode();
        assert_eq!(bytes[..2], [0, 0]);
        assert_eq!(bytes[9], 1);
        assert_eq!(bytes[33], 4);
        assert_eq!(AbortedTxn::decode(&bytes), Some(txn));
        for version in [-1i16, 1] {
            let mut other = bytes;
            other[..2].copy_from_slice(&version.to_be_bytes());
            assert_eq!(AbortedTxn::decode(&other), None);
        }
    }
}
