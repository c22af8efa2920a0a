//! Why a partition brings nothing, in words.

use std::fmt;

use thalweg_wire::ErrorCode;

use super::Fetcher;
use crate::core::code_name::code_name;
use crate::core::fetch::cursor::Phase;
use crate::core::fetch::error::PartitionErrorKind;
use crate::core::partition::TopicPartition;

/// What a partition is doing, or waiting for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PartitionStatus {
    /// It cannot be read; somebody has to move it.
    Failed(PartitionErrorKind),
    /// It is being revoked.
    Revoking,
    /// It is paused, with so many bytes buffered.
    Paused {
        /// Bytes.
        buffered: usize,
    },
    /// What the group committed is being looked up.
    WaitingForCommitted,
    /// Its beginning or end is being looked up.
    WaitingForOffset,
    /// Records are there; the application has not taken them yet.
    Buffered {
        /// Bytes.
        bytes: usize,
    },
    /// Its topic is not there, or not for this client to see.
    UnknownTopic,
    /// Its topic has fewer partitions.
    UnknownPartition {
        /// How many it has.
        partitions: usize,
    },
    /// Nobody is known to lead it.
    NoLeader,
    /// It is left alone for a moment after an error.
    BackingOff {
        /// What its broker answered; `None` where it could not be asked.
        code: Option<ErrorCode>,
    },
    /// It is asked for, and nothing has come yet.
    Fetching,
    /// It is not asked for: the broker is not connected, or the budget has no room.
    Waiting,
}

impl fmt::Display for PartitionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartitionStatus::Failed(kind) => write!(f, "failed: {kind}"),
            PartitionStatus::Revoking => f.write_str("being revoked"),
            PartitionStatus::Paused { buffered } => {
                write!(f, "paused, {buffered} bytes buffered")
            }
            PartitionStatus::WaitingForCommitted => f.write_str("waiting for its committed offset"),
            PartitionStatus::WaitingForOffset => f.write_str("waiting for its offset"),
            PartitionStatus::Buffered { bytes } => {
                write!(f, "{bytes} bytes are buffered; the application has not polled them")
            }
            PartitionStatus::UnknownTopic => f.write_str("there is no such topic"),
            PartitionStatus::UnknownPartition { partitions } => {
                write!(f, "there is no such partition: the topic has {partitions}")
            }
            PartitionStatus::NoLeader => f.write_str("no leader is known"),
            PartitionStatus::BackingOff { code: None } => {
                f.write_str("waiting a moment after an error")
            }
            PartitionStatus::BackingOff { code: Some(code) } => {
                write!(f, "waiting a moment: the broker answered {}", code_name(*code))
            }
            PartitionStatus::Fetching => f.write_str("asked for; nothing has come yet"),
            PartitionStatus::Waiting => {
                f.write_str("not asked for yet: no connection, or no room in the budget")
            }
        }
    }
}

impl Fetcher {
    /// What each partition is doing, in order. What is missing of the cluster is for the caller to
    /// say: to this there is only no leader.
    pub fn statuses(&self) -> Vec<(TopicPartition, PartitionStatus)> {
        let mut all: Vec<_> = self
            .cursors
            .iter()
            .flatten()
            .filter(|cursor| !cursor.parked)
            .map(|cursor| {
                let in_flight = cursor
                    .source
                    .and_then(|id| self.sources.get(&id))
                    .is_some_and(|source| source.in_flight);
                let bytes = cursor.buffer.left();
                let status = match &cursor.phase {
                    Phase::Failed(kind) => PartitionStatus::Failed(kind.clone()),
                    _ if cursor.held => PartitionStatus::Revoking,
                    _ if cursor.paused => PartitionStatus::Paused { buffered: bytes },
                    Phase::Committed => PartitionStatus::WaitingForCommitted,
                    // Its leader is who would be asked.
                    Phase::Reset(_) if cursor.leader.is_none() => PartitionStatus::NoLeader,
                    Phase::Reset(_) => PartitionStatus::WaitingForOffset,
                    Phase::Fetching if bytes > 0 => PartitionStatus::Buffered { bytes },
                    Phase::Fetching if cursor.leader.is_none() => PartitionStatus::NoLeader,
                    Phase::Fetching if cursor.retry_at.is_some() => {
                        PartitionStatus::BackingOff { code: cursor.refusal }
                    }
                    Phase::Fetching if in_flight => PartitionStatus::Fetching,
                    Phase::Fetching => PartitionStatus::Waiting,
                };
                ((*cursor.partition).clone(), status)
            })
            .collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}
