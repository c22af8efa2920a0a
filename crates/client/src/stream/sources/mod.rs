//! Where streams begin: what a source hands out, and how it is looked after and ended.

pub(super) mod at_most_once;
pub(super) mod connect;
pub(super) mod control;
pub(super) mod drain;
pub(super) mod external;
pub(super) mod metadata;
pub(super) mod partitioned;
mod reading;
pub(super) mod shape;
pub(super) mod source;
