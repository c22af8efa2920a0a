//! Positions that change although the application moved nothing.

use std::fmt;

use crate::core::partition::TopicPartition;

/// A position that changed although the application did not move it: records were left out, or come
/// again.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PositionReset {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset where it stood.
    pub from: i64,
    /// The offset where it stands since.
    pub to: i64,
    /// Why.
    pub cause: ResetCause,
}

impl fmt::Display for PositionReset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PositionReset { partition, from, to, cause } = self;
        write!(f, "{partition}: position reset from {from} to {to}: {cause}")
    }
}

/// Why a position changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ResetCause {
    /// The log does not have the offset (`OFFSET_OUT_OF_RANGE`): `auto.offset.reset` decided.
    OffsetOutOfRange,
    /// Records that were read are no longer part of the log (KIP-320).
    Truncated,
    /// The topic was deleted and created again: `auto.offset.reset` decided.
    TopicRecreated,
}

impl fmt::Display for ResetCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ResetCause::OffsetOutOfRange => "the log does not have the offset",
            ResetCause::Truncated => "the log was truncated",
            ResetCause::TopicRecreated => "the topic was deleted and created again",
        })
    }
}
