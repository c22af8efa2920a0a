//! The lighter check of batches whose offsets are assigned already: what a Raft leader appends, and
//! what a follower gets from its leader. Header and CRC only; records are not looked at.

use super::failure::{Failure, Reason};
use super::head::next_len;
use crate::batch::{self, BatchView, HEADER_LEN};
use crate::checksum::crc32c;

/// Who assigned the offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssignedOrigin {
    /// This node, as leader of a Raft quorum; every batch must carry its epoch.
    RaftLeader {
        /// The leader's epoch.
        leader_epoch: i32,
    },
    /// The partition's leader. Batches of a later epoch than the one the fetch was sent in are
    /// left out, with all that follow them (KAFKA-18723).
    Replication {
        /// The epoch the replica fetched in.
        leader_epoch: i32,
    },
}

/// What the batches' headers say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Analyzed {
    /// Bytes of the accepted batches; an incomplete one behind them is not.
    pub len: usize,
    /// Accepted batches; the offsets below mean nothing without any.
    pub batches: usize,
    /// Base offset of the first batch.
    pub first_offset: i64,
    /// Last offset of the last batch.
    pub last_offset: i64,
    /// Leader epoch of the last batch.
    pub last_leader_epoch: i32,
    /// Largest max timestamp.
    pub max_timestamp: i64,
}

/// Checks the batches in `bytes`. `max_message_bytes` is the limit for one of them; followers have
/// none.
pub fn analyze(
    bytes: &[u8],
    origin: AssignedOrigin,
    max_message_bytes: Option<i32>,
) -> Result<Analyzed, Failure> {
    let mut all = Analyzed {
        len: 0,
        batches: 0,
        first_offset: -1,
        last_offset: -1,
        last_leader_epoch: -1,
        max_timestamp: batch::NONE,
    };
    while let Some(len) = next_len(&bytes[all.len..])? {
        let bytes = &bytes[all.len..all.len + len];
        if len < HEADER_LEN {
            return Err(Reason::HeaderCut(len).into());
        }
        let view = BatchView::parse(bytes).map_err(|error| match error {
            batch::BatchError::BadMagic(magic) => Reason::LegacyMagic(magic),
            _ => Reason::HeaderCut(len),
        })?;
        let found = view.partition_leader_epoch();
        match origin {
            AssignedOrigin::RaftLeader { leader_epoch } if found != leader_epoch => {
                return Err(Reason::LeaderEpoch { found, expected: leader_epoch }.into());
            }
            AssignedOrigin::Replication { leader_epoch } if found > leader_epoch => break,
            _ => {}
        }
        let (last, before) = (view.last_offset(), all.last_offset);
        if let Some(max) = max_message_bytes
            && len > usize::try_from(max).unwrap_or(0)
        {
            return Err(Reason::TooLarge { size: len as u64, max }.into());
        }
        let computed = crc32c(&bytes[batch::ATTRIBUTES_AT..]);
        if view.crc() != computed {
            return Err(Reason::Crc { stored: view.crc(), computed }.into());
        }
        if view.compression().is_none() {
            return Err(Reason::UndefinedCodec((view.attributes() & 0x07) as u8).into());
        }
        if last <= before {
            return Err(Reason::OutOfOrder { last, before }.into());
        }
        if all.batches == 0 {
            all.first_offset = view.base_offset();
        }
        all.len += len;
        all.batches += 1;
        all.last_offset = last;
        all.last_leader_epoch = found;
        all.max_timestamp = all.max_timestamp.max(view.max_timestamp());
    }
    Ok(all)
}
