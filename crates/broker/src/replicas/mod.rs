//! The partitions that this node has: their logs, their leaders and followers, and how an image of the metadata takes
//! effect on them.

pub(crate) mod moves;
pub(crate) mod openings;
pub(crate) mod partition;
mod publisher;
pub(crate) mod replication;
pub(crate) mod topic_settings;
pub(crate) mod topics;
pub(crate) mod wait;
