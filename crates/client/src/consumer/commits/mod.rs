//! Commits: their offsets, the requests to a coordinator and its answers, and when they are tried again.
//!
//! A commit names offsets with what they rest on ([`offsets`]). Offsets of a partition that was lost since, or of a
//! topic that was created again, are refused without a request.

pub(super) mod automatic;
pub(super) mod commit;
pub(super) mod offsets;
pub(super) mod pending;
