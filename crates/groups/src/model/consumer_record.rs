//! The records that a consumer group (KIP-848) is made of.

use bytes::Bytes;
use thalweg_wire::messages::consumer_group_target_assignment_member_value::TopicPartition;
use thalweg_wire::messages::{
    ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue, ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue, ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue, ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
};
use thalweg_wire::{DecodeError, EncodeError, Reader, Uuid};

use super::consumer_member::{ConsumerMember, MemberMetadata};
use super::encoding::{key_bytes, read_value, value_bytes};
use crate::assignor::MemberAssignment;
use crate::jobs::ResolvedRegex;

/// The only value version of each of them.
const VALUE_VERSION: i16 = 0;

macro_rules! records {
    ($($(#[$doc:meta])* $name:ident = $number:literal: $key:ident, $value:ident;)*) => {
        /// A record of a consumer group. No value is a tombstone.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ConsumerGroupRecord {
            $($(#[$doc])* $name {
                /// Whose.
                key: $key,
                /// What.
                value: Option<$value>,
            },)*
        }

        impl ConsumerGroupRecord {
            /// The group it belongs to.
            pub fn group_id(&self) -> &str {
                match self {
                    $(ConsumerGroupRecord::$name { key, .. } => &key.group_id,)*
                }
            }

            /// Whether it says that something is gone.
            pub fn is_tombstone(&self) -> bool {
                match self {
                    $(ConsumerGroupRecord::$name { value, .. } => value.is_none(),)*
                }
            }

            /// Reads a record of one of these types; `None` for others.
            pub(crate) fn read(
                record_type: i16,
                key: &mut Reader<'_>,
                value: Option<&[u8]>,
            ) -> Result<Option<ConsumerGroupRecord>, DecodeError> {
                use thalweg_wire::Message as _;
                Ok(Some(match record_type {
                    $($number => ConsumerGroupRecord::$name {
                        key: $key::decode(key, 0)?,
                        value: read_value(value)?,
                    },)*
                    _ => return Ok(None),
                }))
            }

            /// Key and value as they are written.
            pub(crate) fn write(&self) -> Result<(Bytes, Option<Bytes>), EncodeError> {
                Ok(match self {
                    $(ConsumerGroupRecord::$name { key, value } => (
                        key_bytes($number, key)?,
                        value.as_ref().map(|v| value_bytes(VALUE_VERSION, v)).transpose()?,
                    ),)*
                })
            }
        }
    };
}

records! {
    /// The group's epoch and the hash of its topics.
    Metadata = 3: ConsumerGroupMetadataKey, ConsumerGroupMetadataValue;
    /// Topics of the group, as releases before 4.1 wrote them. Only ever removed.
    PartitionMetadata = 4:
        ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue;
    /// What a member said of itself.
    MemberMetadata = 5: ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue;
    /// The epoch of the target assignment.
    TargetAssignmentMetadata = 6:
        ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue;
    /// What a member is to own.
    TargetAssignmentMember = 7:
        ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue;
    /// What a member owns, and gives up.
    CurrentMemberAssignment = 8:
        ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue;
    /// Topics that a regular expression stands for.
    RegularExpression = 16:
        ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue;
}

impl ConsumerGroupRecord {
    /// About how much memory the record takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        use ConsumerGroupRecord as R;
        let held = match self {
            R::Metadata { .. }
            | R::PartitionMetadata { .. }
            | R::TargetAssignmentMetadata { .. } => 0,
            R::MemberMetadata { key, value } => {
                key.member_id.len()
                    + value.as_ref().map_or(0, |v| {
                        let classic =
                            v.classic_member_metadata.iter().flat_map(|c| &c.supported_protocols);
                        v.client_id.len()
                            + v.client_host.len()
                            + v.subscribed_topic_names.iter().map(|t| t.len() + 24).sum::<usize>()
                            + v.subscribed_topic_regex.as_ref().map_or(0, String::len)
                            + classic.map(|p| p.name.len() + p.metadata.len() + 56).sum::<usize>()
                    })
            }
            R::TargetAssignmentMember { key, value } => {
                let topics = value.iter().flat_map(|v| &v.topic_partitions);
                key.member_id.len() + topics.map(|t| t.partitions.len() * 4 + 72).sum::<usize>()
            }
            R::CurrentMemberAssignment { key, value } => {
                let topics = value.iter().flat_map(|v| {
                    v.assigned_partitions.iter().chain(&v.partitions_pending_revocation)
                });
                key.member_id.len() + topics.map(|t| t.partitions.len() * 8 + 96).sum::<usize>()
            }
            R::RegularExpression { key, value } => {
                let topics = value.iter().flat_map(|v| &v.topics);
                key.regular_expression.len() + topics.map(|t| t.len() + 24).sum::<usize>()
            }
        };
        self.group_id().len() + held
    }
}

impl ConsumerGroupRecord {
    pub(crate) fn metadata(group: &str, value: Option<(i32, i64)>) -> ConsumerGroupRecord {
        ConsumerGroupRecord::Metadata {
            key: ConsumerGroupMetadataKey { group_id: group.to_owned() },
            value: value.map(|(epoch, metadata_hash)| ConsumerGroupMetadataValue {
                epoch,
                metadata_hash,
                ..Default::default()
            }),
        }
    }

    pub(crate) fn no_partition_metadata(group: &str) -> ConsumerGroupRecord {
        ConsumerGroupRecord::PartitionMetadata {
            key: ConsumerGroupPartitionMetadataKey { group_id: group.to_owned() },
            value: None,
        }
    }

    pub(crate) fn member_metadata(
        group: &str,
        member: &str,
        said: Option<&MemberMetadata>,
    ) -> ConsumerGroupRecord {
        ConsumerGroupRecord::MemberMetadata {
            key: ConsumerGroupMemberMetadataKey {
                group_id: group.to_owned(),
                member_id: member.to_owned(),
            },
            value: said.map(MemberMetadata::to_record),
        }
    }

    /// The epoch of a target assignment, and when it was computed.
    pub(crate) fn target_epoch(group: &str, value: Option<(i32, i64)>) -> ConsumerGroupRecord {
        ConsumerGroupRecord::TargetAssignmentMetadata {
            key: ConsumerGroupTargetAssignmentMetadataKey { group_id: group.to_owned() },
            value: value.map(|(assignment_epoch, assignment_timestamp)| {
                ConsumerGroupTargetAssignmentMetadataValue {
                    assignment_epoch,
                    assignment_timestamp,
                    ..Default::default()
                }
            }),
        }
    }

    pub(crate) fn target_assignment(
        group: &str,
        member: &str,
        target: Option<&MemberAssignment>,
    ) -> ConsumerGroupRecord {
        let topic = |(topic_id, partitions): (Uuid, &[i32])| TopicPartition {
            topic_id,
            partitions: partitions.to_vec(),
            ..Default::default()
        };
        ConsumerGroupRecord::TargetAssignmentMember {
            key: ConsumerGroupTargetAssignmentMemberKey {
                group_id: group.to_owned(),
                member_id: member.to_owned(),
            },
            value: target.map(|target| ConsumerGroupTargetAssignmentMemberValue {
                topic_partitions: target.iter().map(topic).collect(),
                ..Default::default()
            }),
        }
    }

    pub(crate) fn current_assignment(
        group: &str,
        member_id: &str,
        member: Option<&ConsumerMember>,
    ) -> ConsumerGroupRecord {
        ConsumerGroupRecord::CurrentMemberAssignment {
            key: ConsumerGroupCurrentMemberAssignmentKey {
                group_id: group.to_owned(),
                member_id: member_id.to_owned(),
            },
            value: member.map(ConsumerMember::assignment_record),
        }
    }

    pub(crate) fn regex(
        group: &str,
        regex: &str,
        resolved: Option<&ResolvedRegex>,
    ) -> ConsumerGroupRecord {
        ConsumerGroupRecord::RegularExpression {
            key: ConsumerGroupRegularExpressionKey {
                group_id: group.to_owned(),
                regular_expression: regex.to_owned(),
            },
            value: resolved.map(|resolved| ConsumerGroupRegularExpressionValue {
                topics: resolved.topics.iter().map(ToString::to_string).collect(),
                version: resolved.version,
                timestamp: resolved.timestamp_ms,
                ..Default::default()
            }),
        }
    }
}
