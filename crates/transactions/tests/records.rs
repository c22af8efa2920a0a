//! Records in their bytes.

use proptest::prelude::*;
use serde_json::json;
use thalweg_coordinator::{CoordinatorRecord as _, KeyValue};
use thalweg_transactions::{
    NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Partitions, RecordError, Transaction, TransactionRecord,
    TransactionState, TransactionVersion,
};

use crate::lock_step::kafka::{Kafka, bytes, hex, list};

/// The key and the value, in version 0, of a producer's first record, as Kafka's serializer writes them.
const EMPTY: [&str; 2] =
    ["0000000161", "000000000000000003e800000000ea6000ffffffff00000000000f4240ffffffffffffffff"];

fn transaction() -> impl Strategy<Value = Transaction> {
    let topic = prop_oneof![Just("t".to_owned()), "[a-z._-]{1,40}", "ä{1,3}"];
    let partitions = proptest::collection::vec((topic, any::<i32>()), 0..6);
    let ids = (any::<i64>(), any::<i64>(), any::<i64>(), any::<i16>());
    let times = (any::<i32>(), any::<i64>(), any::<i64>());
    (ids, times, 0i8..6, partitions, 0i16..3).prop_map(|(ids, times, state, partitions, level)| {
        let state = TransactionState::from_id(state).expect("there is one");
        let partitions: Partitions =
            partitions.iter().map(|(topic, index)| (topic.as_str(), *index)).collect();
        Transaction {
            producer_id: ids.0,
            previous_producer_id: ids.1,
            next_producer_id: ids.2,
            producer_epoch: ids.3,
            last_producer_epoch: NO_PRODUCER_EPOCH,
            timeout_ms: times.0,
            state,
            // There are none in that state, and no place for them.
            partitions: if state == TransactionState::Empty {
                Partitions::default()
            } else {
                partitions
            },
            start_ms: times.1,
            last_update_ms: times.2,
            client_version: TransactionVersion::from_level(level).expect("there is one"),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_written_is_read(
        id in "[a-zäöü]{1,20}",
        value in proptest::option::of(transaction()),
        level in 0i16..3,
    ) {
        let version = TransactionVersion::from_level(level).expect("there is one");
        let record = TransactionRecord { transactional_id: id, value, version };
        let KeyValue { key, value } = record.encode().expect("it can be written");
        prop_assert!(record.size() >= key.len() + value.as_ref().map_or(0, |value| value.len()));
        let read = TransactionRecord::decode(&key, value.as_deref()).expect("it can be read");
        let mut expected = record.clone();
        // Value version 0 has no place for these.
        if let Some(value) = expected.value.as_mut().filter(|_| version == TransactionVersion::V0) {
            value.previous_producer_id = NO_PRODUCER_ID;
            value.next_producer_id = NO_PRODUCER_ID;
            value.client_version = TransactionVersion::V0;
        }
        let read = read.expect("it is known");
        prop_assert_eq!(read.transactional_id, expected.transactional_id);
        prop_assert_eq!(read.value, expected.value);
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        record_type in -1i16..2,
        key in any::<Vec<u8>>(),
        version in -1i16..4,
        value in proptest::option::of(any::<Vec<u8>>()),
    ) {
        let key: Vec<u8> = record_type.to_be_bytes().into_iter().chain(key).collect();
        let value = value.map(|v| version.to_be_bytes().into_iter().chain(v).collect::<Vec<u8>>());
        if let Ok(Some(record)) = TransactionRecord::decode(&key, value.as_deref()) {
            let KeyValue { key, value } = record.encode().expect("what was read can be written");
            let again = TransactionRecord::decode(&key, value.as_deref());
            prop_assert_eq!(again.expect("and read again"), Some(record));
        }
    }
}

fn empty() -> TransactionRecord {
    let value = Transaction {
        producer_id: 1000,
        previous_producer_id: NO_PRODUCER_ID,
        next_producer_id: NO_PRODUCER_ID,
        producer_epoch: 0,
        last_producer_epoch: NO_PRODUCER_EPOCH,
        timeout_ms: 60_000,
        state: TransactionState::Empty,
        partitions: Partitions::default(),
        start_ms: -1,
        last_update_ms: 1_000_000,
        client_version: TransactionVersion::V0,
    };
    let version = TransactionVersion::V0;
    TransactionRecord { transactional_id: "a".into(), value: Some(value), version }
}

#[test]
fn what_is_not_known_is_skipped_or_refused() {
    let KeyValue { key, value } = empty().encode().expect("it can be written");
    let value = value.expect("no tombstone");
    let decode = |key: &[u8], value: &[u8]| TransactionRecord::decode(key, Some(value));
    assert!(decode(&key, &value).expect("it can be read").is_some());
    let mut other_key = key.to_vec();
    other_key[1] = 1;
    assert_eq!(decode(&other_key, &value).expect("it is skipped"), None);
    for version in [2, 3, i16::MAX, -1] {
        let other = [&version.to_be_bytes(), &value[2..]].concat();
        assert_eq!(decode(&key, &other).expect("it is skipped"), None, "value version {version}");
    }
    // The state stands behind the version, the producer and the timeout.
    let state_at = 2 + 8 + 2 + 4;
    for state in [8, 100, -1i8] {
        let mut other = value.to_vec();
        other[state_at] = state as u8;
        let error = decode(&key, &other).expect_err("there is no such state");
        assert!(matches!(error, RecordError::State { state: of, .. } if of == state), "{error}");
    }
    let mut record = TransactionRecord { version: TransactionVersion::V1, ..empty() };
    if let Some(value) = &mut record.value {
        value.client_version = TransactionVersion::V2;
    }
    let KeyValue { key, value } = record.encode().expect("it can be written");
    let mut other = value.expect("no tombstone").to_vec();
    // The transaction version is the last tagged field.
    let last = other.len() - 1;
    assert_eq!(other[last], 2);
    other[last] = 3;
    let error = decode(&key, &other).expect_err("there is no such version");
    assert!(matches!(error, RecordError::Version { level: 3, .. }), "{error}");
}

#[test]
fn bytes_are_those_of_kafkas_serializer() {
    let KeyValue { key, value } = empty().encode().expect("it can be written");
    let ours = [hex(&key), hex(&value.expect("no tombstone"))];
    assert_eq!(ours, EMPTY);
    let Some(mut kafka) = Kafka::start() else { return };
    kafka.result(&json!({"op": "start", "transactionVersion": 0}));
    let answer = kafka.run(&json!({"op": "init", "transactionalId": "a", "timeoutMs": 60_000}));
    let kafkas = bytes(&list(&answer["records"])[0]);
    let kafkas = [hex(&kafkas.key), hex(&kafkas.value.expect("no tombstone"))];
    assert_eq!(ours, kafkas);
    kafka.end();
}
