//! Identity of jobs.

/// Tells the jobs of a shard apart. A result counts only while its group still waits for the job.
pub(crate) type JobId = u64;
