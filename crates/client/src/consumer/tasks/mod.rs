//! What runs for a consumer besides fetching: the membership, and what has to be looked up.

pub(super) mod lookups;
pub(super) mod membership;
