//! Committing: what is to be committed, what a coordinator is told and answers, and who tries again.
//!
//! A commit names offsets with what they rest on ([`offsets`]): what was lost since, or is of a topic that
//! was created again, is refused here and asked of nobody.

pub(super) mod automatic;
pub(super) mod commit;
pub(super) mod offsets;
pub(super) mod pending;
