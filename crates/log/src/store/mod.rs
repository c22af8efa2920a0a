//! All logs of a node: taking log directories into use, making, moving and deleting partitions,
//! checkpoints and other housekeeping.

pub(crate) mod changes;
mod cleaning;
pub(crate) mod config;
pub(crate) mod create;
pub(crate) mod dir;
pub(crate) mod dirs;
pub(crate) mod error;
pub(crate) mod future;
pub(crate) mod futures;
pub(crate) mod housekeeping;
pub(crate) mod load;
pub(crate) mod logs;
pub(crate) mod manager;
pub(crate) mod removal;
mod start;
pub(crate) mod survey;
