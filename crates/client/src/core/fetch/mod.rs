//! Fetching without I/O: which partitions to ask which broker for, what to do with the answers,
//! and which records come next.
//!
//! Invariants:
//! - No complete batch is asked for twice, however often a partition is paused, resumed, or sought
//!   within what is buffered: a partition is asked for from the end of what it has buffered.
//! - A partition buffers at most twice what one request asks of it, and all of them together two
//!   thirds of the budget, so that one that nobody reads never holds up another; the rest is for
//!   what the application holds. Where a partition's share is less than a batch it buffers one
//!   batch: the budget holds, but as many batches as fit into it, which nobody reads, leave no room
//!   for others.
//! - A session (KIP-227) outlives pausing: partitions come and go within it.
//! - Nothing of a partition leaves while it is paused, held or gone.
//! - Work follows what changed: an answer that concerns one of ten thousand partitions costs one.
//!
//! Time is passed in, as milliseconds of any monotonic clock.
//!
//! A [`Fetcher`] has the parts that the other files here are: a cursor per partition, with its buffer, and
//! a source per broker, with its session. The parts know nothing of it.

#![warn(missing_debug_implementations)]

pub mod budget;
mod buffer;
mod cursor;
mod error;
mod fetcher;
mod loan;
pub mod records;
mod resets;
mod session;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod window;

pub use budget::Budget;
pub use buffer::Fault;
pub(crate) use cursor::Passed;
pub use error::{PartitionError, PartitionErrorKind};
pub use fetcher::accept::Accepted;
pub use fetcher::plan::Planned;
pub use fetcher::positions::Unresolved;
pub use fetcher::status::PartitionStatus;
pub use fetcher::{FetchCounts, Fetcher};
pub(crate) use loan::Loan;
pub(crate) use records::Chunk;
pub use records::{ConsumerRecord, OwnedRecord, Records, SharedRecord};
pub use resets::{PositionReset, ResetCause};
pub use settings::{FetchSettings, IsolationLevel, OffsetReset, ReadMode};
