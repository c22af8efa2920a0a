//! The records of `__transaction_state`.

use thalweg_coordinator::{CoordinatorRecord, KeyValue};
use thalweg_wire::messages::transaction_log_value::PartitionsSchema;
use thalweg_wire::messages::{TransactionLogKey, TransactionLogValue};
use thalweg_wire::{DecodeError, EncodeError, Message, Reader, prefixed};

use crate::transaction::NO_PRODUCER_EPOCH;
use crate::{Partitions, Transaction, TransactionState, TransactionVersion};

/// The only type of record.
const TRANSACTION_LOG: i16 = 0;
/// The first value version with tagged fields, and the last that there is.
const TAGGED: i16 = 1;

/// A record: what a transactional id is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRecord {
    /// The transactional id.
    pub transactional_id: String,
    /// Its transaction; `None` is a tombstone.
    pub value: Option<Transaction>,
    /// How it is written: as the finalized `transaction.version` has it.
    pub version: TransactionVersion,
}

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The key or value does not parse.
    #[error("transaction record: {0}")]
    Decode(#[from] DecodeError),
    /// There is no such state.
    #[error("transaction record of {transactional_id}: there is no state {state}")]
    State {
        /// The transactional id.
        transactional_id: String,
        /// The number.
        state: i8,
    },
    /// There is no such transaction version.
    #[error("transaction record of {transactional_id}: there is no transaction version {level}")]
    Version {
        /// The transactional id.
        transactional_id: String,
        /// Its feature level.
        level: i16,
    },
    /// A field does not fit into its encoded form.
    #[error("transaction record cannot be written: {0}")]
    Encode(#[from] EncodeError),
}

fn value_of(transaction: &Transaction) -> TransactionLogValue {
    let partitions = || {
        let topics = transaction.partitions.topics();
        topics
            .map(|(topic, indices)| PartitionsSchema {
                topic: topic.to_string(),
                partition_ids: indices.iter().copied().collect(),
                ..Default::default()
            })
            .collect()
    };
    TransactionLogValue {
        producer_id: transaction.producer_id,
        previous_producer_id: transaction.previous_producer_id,
        next_producer_id: transaction.next_producer_id,
        producer_epoch: transaction.producer_epoch,
        transaction_timeout_ms: transaction.timeout_ms,
        transaction_status: transaction.state.id(),
        transaction_partitions: (transaction.state != TransactionState::Empty).then(partitions),
        transaction_last_update_timestamp_ms: transaction.last_update_ms,
        transaction_start_timestamp_ms: transaction.start_ms,
        client_transaction_version: transaction.client_version.level(),
        ..Default::default()
    }
}

fn transaction_of(
    transactional_id: &str,
    value: &TransactionLogValue,
) -> Result<Transaction, RecordError> {
    let state = TransactionState::from_id(value.transaction_status).ok_or_else(|| {
        let transactional_id = transactional_id.to_owned();
        RecordError::State { transactional_id, state: value.transaction_status }
    })?;
    let level = value.client_transaction_version;
    let client_version = TransactionVersion::from_level(level).ok_or_else(|| {
        let transactional_id = transactional_id.to_owned();
        RecordError::Version { transactional_id, level }
    })?;
    let topics = value.transaction_partitions.iter().flatten();
    let partitions: Partitions = topics
        .filter(|_| state != TransactionState::Empty)
        .flat_map(|topic| topic.partition_ids.iter().map(|index| (&*topic.topic, *index)))
        .collect();
    Ok(Transaction {
        producer_id: value.producer_id,
        previous_producer_id: value.previous_producer_id,
        next_producer_id: value.next_producer_id,
        producer_epoch: value.producer_epoch,
        last_producer_epoch: NO_PRODUCER_EPOCH,
        timeout_ms: value.transaction_timeout_ms,
        state,
        partitions,
        start_ms: value.transaction_start_timestamp_ms,
        last_update_ms: value.transaction_last_update_timestamp_ms,
        client_version,
    })
}

impl CoordinatorRecord for TransactionRecord {
    type Error = RecordError;

    fn size(&self) -> usize {
        const FIXED: usize = 128;
        let topics = self.value.iter().flat_map(|value| value.partitions.topics());
        let partitions = topics.map(|(topic, indices)| topic.len() + 16 + 4 * indices.len());
        FIXED + self.transactional_id.len() + partitions.sum::<usize>()
    }

    /// Kafka's coordinator reads compressed batches, too, but never writes them.
    fn may_be_compressed(&self) -> bool {
        false
    }

    fn encode(&self) -> Result<KeyValue, RecordError> {
        let id = TransactionLogKey { transactional_id: self.transactional_id.clone() };
        let value = match &self.value {
            None => None,
            Some(transaction) => {
                let version = i16::from(self.version >= TransactionVersion::V1) * TAGGED;
                let mut value = value_of(transaction);
                if version < TAGGED {
                    value.previous_producer_id =
                        TransactionLogValue::default().previous_producer_id;
                    value.next_producer_id = TransactionLogValue::default().next_producer_id;
                    value.client_transaction_version = 0;
                }
                Some(prefixed::encode_version(&value, version)?)
            }
        };
        Ok(KeyValue { key: prefixed::encode(TRANSACTION_LOG, &id, 0)?, value })
    }

    /// Records of other types and value versions are skipped, as in Kafka.
    fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<Self>, RecordError> {
        let mut key = Reader::new(key);
        if key.i16()? != TRANSACTION_LOG {
            return Ok(None);
        }
        let transactional_id = TransactionLogKey::decode(&mut key, 0)?.transactional_id;
        let Some(value) = value else {
            let version = TransactionVersion::V0;
            return Ok(Some(TransactionRecord { transactional_id, value: None, version }));
        };
        let mut value = Reader::new(value);
        let version = match value.i16()? {
            0 => TransactionVersion::V0,
            TAGGED => TransactionVersion::V1,
            _ => return Ok(None),
        };
        let value_version = i16::from(version >= TransactionVersion::V1) * TAGGED;
        let value = TransactionLogValue::decode(&mut value, value_version)?;
        let value = Some(transaction_of(&transactional_id, &value)?);
        Ok(Some(TransactionRecord { transactional_id, value, version }))
    }
}
