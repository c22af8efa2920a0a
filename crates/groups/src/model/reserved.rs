//! Groups of the types that this release does not run: share and streams groups that a Java broker has
//! left in the log.
//!
//! Their ids are taken. Nobody joins or deletes them, their offsets do not expire, and their records
//! stay as they are, so that a broker that runs them finds them again.

use bytes::Bytes;
use thalweg_wire::messages::list_groups_response::ListedGroup;
use thalweg_wire::{DecodeError, Reader};

/// A type of groups that this release does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservedType {
    /// Share groups (KIP-932).
    Share,
    /// Streams groups (KIP-1071).
    Streams,
}

impl ReservedType {
    /// Its name in ListGroups, both as the type of a group and as that of its protocol.
    pub fn name(self) -> &'static str {
        match self {
            ReservedType::Share => "share",
            ReservedType::Streams => "streams",
        }
    }

    fn of_record(record_type: i16) -> Option<ReservedType> {
        match record_type {
            10..=15 => Some(ReservedType::Share),
            17 | 19..=23 => Some(ReservedType::Streams),
            _ => None,
        }
    }

    /// Type of the record that a group of this type has exactly one of.
    fn group_record(self) -> i16 {
        match self {
            ReservedType::Share => 11,
            ReservedType::Streams => 17,
        }
    }
}

/// A record of such a group, of which only the group is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedRecord {
    /// The group.
    pub group_id: String,
    /// Of which type it is.
    pub group_type: ReservedType,
    record_type: i16,
    key: Bytes,
    value: Option<Bytes>,
}

impl ReservedRecord {
    /// Reads a record of one of these types; `None` for others. `key` is the whole key.
    pub(crate) fn read(
        record_type: i16,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<Option<ReservedRecord>, DecodeError> {
        let Some(group_type) = ReservedType::of_record(record_type) else { return Ok(None) };
        let mut r = Reader::new(key);
        r.i16()?;
        Ok(Some(ReservedRecord {
            group_id: r.string(false)?,
            group_type,
            record_type,
            key: Bytes::copy_from_slice(key),
            value: value.map(Bytes::copy_from_slice),
        }))
    }

    /// Key and value as they were read.
    pub(crate) fn write(&self) -> (Bytes, Option<Bytes>) {
        (self.key.clone(), self.value.clone())
    }

    /// Whether it says that something is gone.
    pub(crate) fn is_tombstone(&self) -> bool {
        self.value.is_none()
    }

    /// Whether it is the last record of its group.
    pub(crate) fn ends_group(&self) -> bool {
        self.is_tombstone() && self.record_type == self.group_type.group_record()
    }

    /// About how much memory it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.group_id.len() + self.key.len() + self.value.as_ref().map_or(0, Bytes::len)
    }
}

/// A group's line in ListGroups. How it is doing only a broker that runs it can say.
pub(crate) fn list(group_id: &str, group_type: ReservedType) -> ListedGroup {
    ListedGroup {
        group_id: group_id.to_owned(),
        protocol_type: group_type.name().to_owned(),
        group_state: "Unknown".to_owned(),
        group_type: group_type.name().to_owned(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A streams group's metadata with the epochs of its topology description (KIP-1331) as tagged fields 2 and 3.
    #[test]
    fn reserved_streams_record_keeps_its_tagged_fields() {
        let mut key = 17i16.to_be_bytes().to_vec();
        key.extend(1i16.to_be_bytes());
        key.extend(b"s");
        let mut value = vec![0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 7, 2];
        value.extend([2, 4, 0xff, 0xff, 0xff, 0xfe, 3, 4, 0, 0, 0, 5]);
        let record = ReservedRecord::read(17, &key, Some(&value));
        let record = record.expect("a key").expect("a streams group's record");
        assert_eq!((record.group_id.as_str(), record.group_type), ("s", ReservedType::Streams));
        assert_eq!(record.write(), (Bytes::from(key), Some(Bytes::from(value))));
    }
}
