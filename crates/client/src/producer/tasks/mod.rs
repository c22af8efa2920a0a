//! What runs for a producer: a task per broker that sends, one for its coordinators, and what has to be
//! looked up.

pub(super) mod connection;
pub(super) mod coordinator;
pub(super) mod lookups;
