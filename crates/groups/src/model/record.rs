//! The records of `__consumer_offsets`: offsets and classic groups here, groups of other types in their
//! own modules.
//!
//! Records of types that this release does not know may stand in the same log (it may come from a later
//! one): they are skipped and never removed.

use thalweg_coordinator::{CoordinatorRecord, KeyValue};
use thalweg_wire::messages::group_metadata_value::MemberMetadata;
use thalweg_wire::messages::{
    GroupMetadataKey, GroupMetadataValue, LegacyOffsetCommitKey, LegacyOffsetCommitValue,
    OffsetCommitKey, OffsetCommitValue,
};
use thalweg_wire::{DecodeError, EncodeError, Message as _, Reader};

use super::consumer_record::ConsumerGroupRecord;
use super::encoding::{key_bytes, read_value, value_bytes};
use super::reserved::ReservedRecord;

const LEGACY_OFFSET_COMMIT: i16 = 0;
const OFFSET_COMMIT: i16 = 1;
const GROUP_METADATA: i16 = 2;

/// The value version Kafka 4.4 writes; it reads one more.
const GROUP_METADATA_VALUE_VERSION: i16 = 3;
const OFFSET_COMMIT_VALUE_VERSION: i16 = 4;
/// The only version with an explicit expiry.
const OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY: i16 = 1;

/// A record of a group coordinator's partition. No value is a tombstone.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupRecord {
    /// A committed offset.
    OffsetCommit {
        /// Group, topic and partition.
        key: OffsetCommitKey,
        /// The offset.
        value: Option<OffsetCommitValue>,
    },
    /// A classic group as of its last completed rebalance.
    GroupMetadata {
        /// The group.
        key: GroupMetadataKey,
        /// Its generation, protocol and members.
        value: Option<GroupMetadataValue>,
    },
    /// A part of a consumer group.
    ConsumerGroup(Box<ConsumerGroupRecord>),
    /// A part of a group that this release does not run.
    Reserved(Box<ReservedRecord>),
}

impl From<ConsumerGroupRecord> for GroupRecord {
    fn from(record: ConsumerGroupRecord) -> GroupRecord {
        GroupRecord::ConsumerGroup(Box::new(record))
    }
}

impl GroupRecord {
    /// A record of a committed offset, or its tombstone.
    pub fn offset_commit(
        group: &str,
        topic: &str,
        partition: i32,
        value: Option<OffsetCommitValue>,
    ) -> GroupRecord {
        let key = OffsetCommitKey { group: group.into(), topic: topic.into(), partition };
        GroupRecord::OffsetCommit { key, value }
    }

    /// A record of a group, or its tombstone.
    pub fn group_metadata(group: &str, value: Option<GroupMetadataValue>) -> GroupRecord {
        GroupRecord::GroupMetadata { key: GroupMetadataKey { group: group.into() }, value }
    }
}

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The key or value does not parse.
    #[error("group coordinator record of type {record_type}: {error}")]
    Decode {
        /// The record's type; -1 when not even that could be read.
        record_type: i16,
        /// What is wrong.
        error: DecodeError,
    },
    /// A field does not fit into its encoded form.
    #[error("group coordinator record cannot be written: {0}")]
    Encode(#[from] EncodeError),
}

fn read(
    record_type: i16,
    whole_key: &[u8],
    key: &mut Reader<'_>,
    value: Option<&[u8]>,
) -> Result<Option<GroupRecord>, DecodeError> {
    if let Some(record) = ReservedRecord::read(record_type, whole_key, value)? {
        return Ok(Some(GroupRecord::Reserved(Box::new(record))));
    }
    Ok(match record_type {
        LEGACY_OFFSET_COMMIT => {
            let key = LegacyOffsetCommitKey::decode(key, 0)?;
            let value = read_value::<LegacyOffsetCommitValue>(value)?;
            Some(GroupRecord::offset_commit(
                &key.group,
                &key.topic,
                key.partition,
                value.map(|v| OffsetCommitValue {
                    offset: v.offset,
                    metadata: v.metadata,
                    commit_timestamp: v.commit_timestamp,
                    ..Default::default()
                }),
            ))
        }
        OFFSET_COMMIT => Some(GroupRecord::OffsetCommit {
            key: OffsetCommitKey::decode(key, 0)?,
            value: read_value(value)?,
        }),
        GROUP_METADATA => Some(GroupRecord::GroupMetadata {
            key: GroupMetadataKey::decode(key, 0)?,
            value: read_value(value)?,
        }),
        other => ConsumerGroupRecord::read(other, key, value)?.map(GroupRecord::from),
    })
}

impl CoordinatorRecord for GroupRecord {
    type Error = RecordError;

    /// Not offsets: a commit of too many is refused, at the same byte as in Kafka, so that a client that sends
    /// fewer at a time does so with both.
    fn may_be_compressed(&self) -> bool {
        !matches!(self, GroupRecord::OffsetCommit { .. })
    }

    fn size(&self) -> usize {
        let own = size_of::<GroupRecord>();
        match self {
            GroupRecord::OffsetCommit { key, value } => {
                own + key.group.len()
                    + key.topic.len()
                    + value.as_ref().map_or(0, |value| value.metadata.len())
            }
            GroupRecord::GroupMetadata { key, value } => {
                let members = value.iter().flat_map(|value| &value.members);
                let member = |member: &MemberMetadata| {
                    size_of::<MemberMetadata>()
                        + member.member_id.len()
                        + member.group_instance_id.as_ref().map_or(0, String::len)
                        + member.client_id.len()
                        + member.client_host.len()
                        + member.subscription.len()
                        + member.assignment.len()
                };
                own + key.group.len() + members.map(member).sum::<usize>()
            }
            GroupRecord::Reserved(record) => own + size_of::<ReservedRecord>() + record.size(),
            GroupRecord::ConsumerGroup(record) => {
                own + size_of::<ConsumerGroupRecord>() + record.size()
            }
        }
    }

    fn encode(&self) -> Result<KeyValue, RecordError> {
        Ok(match self {
            GroupRecord::OffsetCommit { key, value } => KeyValue {
                key: key_bytes(OFFSET_COMMIT, key)?,
                value: value
                    .as_ref()
                    .map(|value| {
                        let version = if value.expire_timestamp == -1 {
                            OFFSET_COMMIT_VALUE_VERSION
                        } else {
                            OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY
                        };
                        value_bytes(version, value)
                    })
                    .transpose()?,
            },
            GroupRecord::GroupMetadata { key, value } => KeyValue {
                key: key_bytes(GROUP_METADATA, key)?,
                value: value
                    .as_ref()
                    .map(|value| value_bytes(GROUP_METADATA_VALUE_VERSION, value))
                    .transpose()?,
            },
            GroupRecord::Reserved(record) => {
                let (key, value) = record.write();
                KeyValue { key, value }
            }
            GroupRecord::ConsumerGroup(record) => {
                let (key, value) = record.write()?;
                KeyValue { key, value }
            }
        })
    }

    fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<Self>, RecordError> {
        let mut r = Reader::new(key);
        let record_type =
            r.i16().map_err(|error| RecordError::Decode { record_type: -1, error })?;
        read(record_type, key, &mut r, value)
            .map_err(|error| RecordError::Decode { record_type, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use thalweg_wire::Uuid;
    use thalweg_wire::messages::group_metadata_value::MemberMetadata;

    fn round_trip(record: &GroupRecord) -> KeyValue {
        let bytes = record.encode().unwrap();
        let back = GroupRecord::decode(&bytes.key, bytes.value.as_deref()).unwrap();
        assert_eq!(back.as_ref(), Some(record));
        bytes
    }

    #[test]
    fn writes_the_versions_that_kafka_writes() {
        let offset = OffsetCommitValue {
            offset: 42,
            leader_epoch: 7,
            metadata: "m".into(),
            commit_timestamp: 1000,
            topic_id: Uuid::from_u128(9),
            ..Default::default()
        };
        let bytes = round_trip(&GroupRecord::offset_commit("g", "t", 3, Some(offset.clone())));
        assert_eq!(&bytes.key[..], b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x03");
        assert_eq!(bytes.value.unwrap()[..2], [0, 4]);

        // An explicit expiry forces version 1, which has neither leader epoch nor topic id.
        let with_expiry = OffsetCommitValue { expire_timestamp: 5000, ..offset };
        let record = GroupRecord::offset_commit("g", "t", 3, Some(with_expiry.clone()));
        let bytes = record.encode().unwrap();
        assert_eq!(bytes.value.as_ref().unwrap()[..2], [0, 1]);
        let back = GroupRecord::decode(&bytes.key, bytes.value.as_deref()).unwrap().unwrap();
        let expected = OffsetCommitValue { leader_epoch: -1, topic_id: Uuid::ZERO, ..with_expiry };
        assert_eq!(back, GroupRecord::offset_commit("g", "t", 3, Some(expected)));

        let group = GroupMetadataValue {
            protocol_type: "consumer".into(),
            generation: 1,
            protocol: Some("range".into()),
            leader: Some("m-1".into()),
            current_state_timestamp: 5,
            members: vec![MemberMetadata {
                member_id: "m-1".into(),
                group_instance_id: Some("i".into()),
                client_id: "c".into(),
                client_host: "/127.0.0.1".into(),
                rebalance_timeout: 300,
                session_timeout: 45,
                subscription: Bytes::from_static(b"sub"),
                assignment: Bytes::from_static(b"asg"),
                ..Default::default()
            }],
            ..Default::default()
        };
        let bytes = round_trip(&GroupRecord::group_metadata("g", Some(group)));
        assert_eq!(&bytes.key[..], b"\x00\x02\x00\x01g");
        assert_eq!(bytes.value.unwrap()[..2], [0, 3]);

        round_trip(&GroupRecord::group_metadata("g", None));
        round_trip(&GroupRecord::offset_commit("g", "t", 0, None));
    }

    #[test]
    fn reads_legacy_offsets_and_skips_types_it_does_not_know() {
        let key = b"\x00\x00\x00\x01g\x00\x01t\x00\x00\x00\x05";
        let value =
            b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09\x00\x01x\x00\x00\x00\x00\x00\x00\x00\x07";
        let expected = OffsetCommitValue {
            offset: 9,
            metadata: "x".into(),
            commit_timestamp: 7,
            ..Default::default()
        };
        assert_eq!(
            GroupRecord::decode(key, Some(value)).unwrap(),
            Some(GroupRecord::offset_commit("g", "t", 5, Some(expected)))
        );
        for record_type in [9i16, 18, 24, 999, -7] {
            let mut key = record_type.to_be_bytes().to_vec();
            key.extend(b"whatever");
            assert!(GroupRecord::decode(&key, Some(b"x")).unwrap().is_none());
        }
    }

    #[test]
    fn a_value_version_it_does_not_know_is_an_error() {
        let key = b"\x00\x02\x00\x01g";
        for value in [&b"\x00\x05rest"[..], b"\xff\xff", b"\x00", b"", b"\x00\x03\x00"] {
            assert!(GroupRecord::decode(key, Some(value)).is_err(), "{value:?}");
        }
        assert!(GroupRecord::decode(b"", None).is_err());
        assert!(GroupRecord::decode(b"\x00\x02\x00", None).is_err());
        // Text that does not fit a record's length field cannot be written.
        let long = "x".repeat(40_000);
        assert!(GroupRecord::group_metadata(&long, None).encode().is_err());
    }
}
