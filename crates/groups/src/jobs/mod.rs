//! Computations that take too long for the lock of a shard.
//!
//! Invariant: a job owns what it reads, and decides nothing. The group that started it decides by its epoch
//! whether the result still counts (`step`).

mod claims;
mod id;
mod job;
mod regexes;
mod target;

pub(crate) use claims::has_claims;
pub(crate) use id::JobId;
pub use job::{GroupJob, GroupJobDone};
pub use regexes::{RegexJob, RegexesResolved, ResolvedRegex};
pub(crate) use target::{ChangedTarget, JobMember};
pub use target::{TargetComputed, TargetJob};
