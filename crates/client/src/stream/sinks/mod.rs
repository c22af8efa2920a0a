//! Where streams end: commits, and records that are produced.

pub(super) mod committer;
pub(super) mod envelope;
pub(super) mod produce;
