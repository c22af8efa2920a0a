//! Records of Kafka's own topics as JSON.

use bytes::Bytes;
use clap::ValueEnum;
use serde_json::{Value, json};
use thalweg_wire::{Reader, json as wire_json};

/// What records are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Decoder {
    /// Anything: text where it is text
    Plain,
    /// Those of __consumer_offsets
    Groups,
    /// Those of __transaction_state
    Transactions,
    /// Those of __share_group_state
    Shares,
    /// Those of __cluster_metadata, and of its snapshots
    Metadata,
}

impl Decoder {
    /// By the name of a partition's directory.
    pub(super) fn of_directory(name: &str) -> Decoder {
        match name.rsplit_once('-').map(|(topic, _)| topic) {
            Some("__consumer_offsets") => Decoder::Groups,
            Some("__transaction_state") => Decoder::Transactions,
            Some("__share_group_state") => Decoder::Shares,
            Some("__cluster_metadata") => Decoder::Metadata,
            _ => Decoder::Plain,
        }
    }

    /// The message that a key of a type begins, and that of the value.
    fn names(self, kind: i16) -> Option<&'static str> {
        match self {
            Decoder::Groups => name_of(&GROUP_RECORDS, kind),
            Decoder::Transactions => name_of(&[(0, "TransactionLog")], kind),
            Decoder::Shares => name_of(&[(0, "ShareSnapshot"), (1, "ShareUpdate")], kind),
            Decoder::Metadata | Decoder::Plain => None,
        }
    }

    /// Key and value of a record, as JSON.
    pub(super) fn record(self, key: Option<&[u8]>, value: Option<&[u8]>) -> (Value, Value) {
        match self {
            Decoder::Plain => (plain(key), plain(value)),
            Decoder::Metadata => (plain(key), metadata(value)),
            Decoder::Groups | Decoder::Transactions | Decoder::Shares => {
                self.coordinator(key, value)
            }
        }
    }

    fn coordinator(self, key: Option<&[u8]>, value: Option<&[u8]>) -> (Value, Value) {
        let Some((kind, body)) = key.and_then(split_i16) else { return (plain(key), plain(value)) };
        let Some(name) = self.names(kind) else {
            let unknown = json!({"type": kind, "unknown": base64(body)});
            return (unknown, plain(value));
        };
        let key = message(&format!("{name}Key"), 0, body);
        let value = match value {
            None => Value::Null,
            Some(value) => match split_i16(value) {
                Some((version, body)) => message(&format!("{name}Value"), version, body),
                None => plain(Some(value)),
            },
        };
        (key, value)
    }
}

const GROUP_RECORDS: [(i16, &str); 22] = [
    (0, "LegacyOffsetCommit"),
    (1, "OffsetCommit"),
    (2, "GroupMetadata"),
    (3, "ConsumerGroupMetadata"),
    (4, "ConsumerGroupPartitionMetadata"),
    (5, "ConsumerGroupMemberMetadata"),
    (6, "ConsumerGroupTargetAssignmentMetadata"),
    (7, "ConsumerGroupTargetAssignmentMember"),
    (8, "ConsumerGroupCurrentMemberAssignment"),
    (10, "ShareGroupMemberMetadata"),
    (11, "ShareGroupMetadata"),
    (12, "ShareGroupTargetAssignmentMetadata"),
    (13, "ShareGroupTargetAssignmentMember"),
    (14, "ShareGroupCurrentMemberAssignment"),
    (15, "ShareGroupStatePartitionMetadata"),
    (16, "ConsumerGroupRegularExpression"),
    (17, "StreamsGroupMetadata"),
    (19, "StreamsGroupMemberMetadata"),
    (20, "StreamsGroupTargetAssignmentMetadata"),
    (21, "StreamsGroupTargetAssignmentMember"),
    (22, "StreamsGroupCurrentMemberAssignment"),
    (23, "StreamsGroupTopology"),
];

const METADATA_RECORDS: [(i16, &str); 27] = [
    (0, "RegisterBrokerRecord"),
    (1, "UnregisterBrokerRecord"),
    (2, "TopicRecord"),
    (3, "PartitionRecord"),
    (4, "ConfigRecord"),
    (5, "PartitionChangeRecord"),
    (7, "FenceBrokerRecord"),
    (8, "UnfenceBrokerRecord"),
    (9, "RemoveTopicRecord"),
    (10, "DelegationTokenRecord"),
    (11, "UserScramCredentialRecord"),
    (12, "FeatureLevelRecord"),
    (14, "ClientQuotaRecord"),
    (15, "ProducerIdsRecord"),
    (17, "BrokerRegistrationChangeRecord"),
    (18, "AccessControlEntryRecord"),
    (19, "RemoveAccessControlEntryRecord"),
    (20, "NoOpRecord"),
    (21, "ZkMigrationStateRecord"),
    (22, "RemoveUserScramCredentialRecord"),
    (23, "BeginTransactionRecord"),
    (24, "EndTransactionRecord"),
    (25, "AbortTransactionRecord"),
    (26, "RemoveDelegationTokenRecord"),
    (27, "RegisterControllerRecord"),
    (28, "ClearElrRecord"),
    (29, "UnregisterControllerRecord"),
];

/// Control records, which are in the logs of partitions, too. A transaction marker's value has its
/// version in front like a coordinator's; the others have it as their first field.
pub(super) fn control(key: &[u8], value: &[u8]) -> Value {
    let kind = split_i16(key).and_then(|(_, rest)| split_i16(rest)).map(|(kind, _)| kind);
    let version = split_i16(value).map_or(0, |(version, _)| version);
    let (name, body) = match kind {
        Some(kind @ (0 | 1)) => {
            let name = if kind == 0 { "ABORT" } else { "COMMIT" };
            let body = split_i16(value).map_or(value, |(_, body)| body);
            return json!({"type": name, "data": message("EndTxnMarker", version, body)});
        }
        Some(2) => ("LeaderChangeMessage", value),
        Some(3) => ("SnapshotHeaderRecord", value),
        Some(4) => ("SnapshotFooterRecord", value),
        Some(5) => ("KRaftVersionRecord", value),
        Some(6) => ("VotersRecord", value),
        _ => return json!({"type": kind, "unknown": base64(value)}),
    };
    message(name, version, body)
}

fn metadata(value: Option<&[u8]>) -> Value {
    let Some(value) = value else { return Value::Null };
    let mut reader = Reader::new(value);
    let mut number = || reader.uvarint().ok().and_then(|n| i16::try_from(n).ok());
    let (Some(1), Some(kind), Some(version)) = (number(), number(), number()) else {
        return json!({"error": "no frame of a metadata record", "unknown": base64(value)});
    };
    let at = value.len().saturating_sub(reader.remaining());
    let body = value.get(at..).unwrap_or_default();
    match name_of(&METADATA_RECORDS, kind) {
        Some(name) => message(name, version, body),
        None => json!({"type": kind, "version": version, "unknown": base64(body)}),
    }
}

fn name_of(names: &[(i16, &'static str)], kind: i16) -> Option<&'static str> {
    names.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name)
}

fn split_i16(bytes: &[u8]) -> Option<(i16, &[u8])> {
    let (head, rest) = bytes.split_first_chunk()?;
    Some((i16::from_be_bytes(*head), rest))
}

fn message(name: &str, version: i16, body: &[u8]) -> Value {
    match wire_json::inspect_record(name, &Bytes::copy_from_slice(body), version) {
        None => json!({"type": name, "version": version, "unknown": base64(body)}),
        Some(Ok((data, _, 0))) => json!({"type": name, "version": version, "data": data}),
        Some(Ok((data, _, left))) => {
            let error = format!("{left} bytes are left over");
            json!({"type": name, "version": version, "data": data, "error": error})
        }
        Some(Err(error)) => json!({
            "type": name,
            "version": version,
            "error": error.to_string(),
            "unknown": base64(body),
        }),
    }
}

/// Text where it is text, and base64 otherwise.
pub(super) fn plain(bytes: Option<&[u8]>) -> Value {
    let Some(bytes) = bytes else { return Value::Null };
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::String(text.to_owned()),
        Err(_) => json!({"base64": base64(bytes)}),
    }
}

fn base64(bytes: &[u8]) -> String {
    wire_json::base64(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_say_what_records_are() {
        assert_eq!(Decoder::of_directory("__consumer_offsets-12"), Decoder::Groups);
        assert_eq!(Decoder::of_directory("__cluster_metadata-0"), Decoder::Metadata);
        assert_eq!(Decoder::of_directory("orders-1"), Decoder::Plain);
    }

    #[test]
    fn names_are_those_of_messages() {
        let known = |name: String| wire_json::MESSAGES.iter().any(|(other, ..)| *other == name);
        for (_, name) in METADATA_RECORDS {
            assert!(known(name.to_owned()), "{name}");
        }
        for (_, name) in GROUP_RECORDS {
            assert!(known(format!("{name}Key")) && known(format!("{name}Value")), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_shown_as_it_is() {
        assert_eq!(plain(Some(b"text")), json!("text"));
        assert_eq!(plain(Some(b"\xff")), json!({"base64": "/w=="}));
        assert_eq!(plain(None), Value::Null);
        let (key, value) = Decoder::Groups.record(Some(&[0, 99, 1]), Some(b"x"));
        assert_eq!((key, value), (json!({"type": 99, "unknown": "AQ=="}), json!("x")));
        let (key, _) = Decoder::Groups.record(Some(&[0, 1, 1]), None);
        assert!(key["error"].is_string(), "{key}");
        assert!(metadata(Some(&[1, 3])).get("error").is_some());
        assert_eq!(metadata(Some(&[1, 99, 0, 7]))["type"], json!(99));
        assert_eq!(control(b"", b"")["type"], Value::Null);
        let marker = control(&[0, 0, 0, 1], &[0, 0, 0, 0, 0, 7]);
        assert_eq!(marker["data"]["data"]["coordinatorEpoch"], json!(7), "{marker}");
    }
}
