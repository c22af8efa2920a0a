//! Compaction: of a log with `cleanup.policy=compact` the last value of each key stays, and what came
//! before it goes.
//!
//! A pass reads the dirty section (what came since the pass before) into an [`offset_map`], and notes
//! which of its own records it replaces ([`marks`]). Then it writes every segment up to there anew without
//! the records that a newer one has replaced ([`filter`], [`transactions`], by [`groups`] of segments, into
//! an [`output`]), and puts the new segments in the place of the old ones ([`swap`]). Which log comes first, and from where to where, is in [`plan`]; [`threads`] does it by
//! the clock. What is kept, and its bytes, is what Kafka 4.4 keeps; `cleaner-offset-checkpoint` is its
//! file.
//!
//! Invariants:
//! - Offsets stay: a record that stays has the offset it had, and offsets that are gone are gaps.
//! - The active segment is never touched, nor anything from the last stable offset on.
//! - A batch of which everything stays keeps its bytes. One that is taken apart had the right checksum.
//! - What makes an older record superfluous is on the disk before that record goes.
//! - Nobody waits for a pass but another pass: truncation, deletion and the close end it
//!   ([`ticket`]), readers keep the files that they have open.
//! - Memory: the offset map and the marks have their share of `log.cleaner.dedupe.buffer.size`, buffers
//!   grow only for a batch that is really there.
//!
//! Not here: messages of magic 0 and 1, which make a log uncleanable; Kafka rewrites them.

mod figures;
mod filter;
mod groups;
mod marks;
mod offset_map;
mod output;
mod pass;
mod plan;
mod swap;
mod threads;
mod throttle;
mod ticket;
mod transactions;

pub use figures::{CleanerMetrics, DirCleanerMetrics};
pub(crate) use threads::Cleaner;
pub use threads::{CleanedLog, CleanerConfig, Clock};
