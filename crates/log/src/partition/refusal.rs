//! Why the producers of a log refuse an append, as the error of the append.

use std::sync::Arc;

use crate::partition::error::AppendError;
use crate::partition::producers::ProducerError;

/// The error of an append to this partition.
pub(crate) fn refusal(error: ProducerError, topic: &Arc<str>, partition: i32) -> AppendError {
    let topic = Arc::clone(topic);
    match error {
        ProducerError::OutOfOrderSequence { producer_id, epoch, sequence, expected } => {
            AppendError::OutOfOrderSequence {
                topic,
                partition,
                producer_id,
                producer_epoch: epoch,
                sequence,
                expected,
            }
        }
        ProducerError::InvalidEpoch { producer_id, epoch, current } => {
            AppendError::InvalidProducerEpoch {
                topic,
                partition,
                producer_id,
                producer_epoch: epoch,
                current,
            }
        }
        ProducerError::InvalidTxnState { producer_id, reason } => {
            AppendError::InvalidTxnState { topic, partition, producer_id, reason }
        }
        ProducerError::CoordinatorFenced { producer_id, coordinator_epoch, current } => {
            AppendError::CoordinatorFenced {
                topic,
                partition,
                producer_id,
                coordinator_epoch,
                current,
            }
        }
        ProducerError::Malformed(reason) => {
            AppendError::Corrupt { topic, partition, reason: reason.to_owned() }
        }
    }
}
